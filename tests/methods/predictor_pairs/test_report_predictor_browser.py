"""The report of ``predictor_pairs`` in a real browser: tables at work, nothing blank, no error."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from browser_page import CHROMIUM, DARK, Page, browse, drawn_samples, look_at, opened, resize
from method_pages import assert_columns_can_be_sorted
from predictor_levels import analysis, planted_levels, varied_best

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report with three levels, so that some combinations are not seen."""
    return analysis(tmp_path_factory.mktemp("predictors"), planted_levels(levels=3))


def test_the_table_of_sets_starts_with_the_best_of_each_target(demo: Path, tmp_path: Path) -> None:
    page = opened((demo / "report.html").as_uri(), tmp_path / "profile")
    table = page.get_element_by_id("predictors-table")
    assert table.get("data-enhanced") == "true"
    assert page.get_element_by_id("predictors-filter").get("hidden") is None
    rows = table.xpath("tbody/tr")
    # Thirteen targets with more than one level, and the one that never changes.
    assert len(rows) == len(varied_best(demo)) + 1 == 14
    assert {row.xpath("td[2]")[0].text_content() for row in rows} == {"1"}
    assert "rows 1 to 14 of 14 (found in 140)" in page.text_content()
    numeric = ("rank", "equal sets", "p-value", "q-value", "MCE", "H(Y)", "MI", "IMP")
    assert_columns_can_be_sorted(table, numeric, text="target")


@pytest.mark.complete
def test_the_table_of_sets_fits_a_window_of_1000_pixels(demo: Path, page: Page) -> None:
    page.open((demo / "report.html").as_uri())
    resize(page, 1000)
    for table in ("predictors-table", "edges-table"):
        box = f"document.getElementById('{table}').closest('.dt-layout-table')"
        seen, wide = page.ask(f"[{box}.clientWidth, {box}.scrollWidth]")
        assert 800 < wide <= seen, table


def test_the_panel_shows_predictors_as_much_earlier_as_they_were_read(
    demo: Path, page: Page
) -> None:
    page.open((demo / "report.html").as_uri())
    text = look_at(page, "g001", "g000")
    kept = pd.read_parquet(demo / "items.parquet").query("kept")["name"].tolist()
    state = {
        name: np.load(demo / f"state/{name}.npy")
        for name in ("values", "source_samples", "target_samples")
    }
    expected = [
        state["values"][kept.index("g001"), state["source_samples"]],
        state["values"][kept.index("g000"), state["target_samples"]],
    ]
    np.testing.assert_allclose(drawn_samples(page), np.transpose(expected), atol=1e-3, rtol=1e-3)
    assert page.ask("document.querySelectorAll('#evidence .course').length") == 2
    # The levels of the target by those of its predictors, as further up on the page.
    assert "columns: g002" in text


@pytest.mark.complete
def test_the_panel_shows_a_source_at_the_lag_of_its_edge(tmp_path: Path, page: Page) -> None:
    random = np.random.default_rng(1)
    levels = random.integers(0, 2, (6, 60))
    levels[1, 1:], levels[3, 2:] = levels[0, :-1], levels[2, :-2]
    asked = {"score": "transfer_entropy", "lag": [1, 2], "keep": "best", "preprocess": {}}
    out = analysis(tmp_path, levels, **asked)
    page.open((out / "report.html").as_uri())
    lags = pd.read_csv(out / "network.tsv", sep="\t").set_index(["source", "target"])["lag"]
    values, at = np.load(out / "state/values.npy"), np.load(out / "state/target_samples.npy")
    for source, target, lag in ((0, 1, 1), (2, 3, 2)):
        names = f"g{source:03d}", f"g{target:03d}"
        assert lags[names] == lag
        look_at(page, *names)
        expected = np.transpose([values[source, at - lag], values[target, at]])
        np.testing.assert_allclose(drawn_samples(page), expected, atol=1e-3)


@pytest.mark.parametrize(
    "changes",
    [
        {"null": {"permutations": 0}},
        pytest.param({"estimator": {"cardinality": 1}}, marks=pytest.mark.complete),
        pytest.param({"keep": {"fdr": 1e-9}}, marks=pytest.mark.complete),
    ],
    ids=["no_null", "singles", "no_edges"],
)
def test_no_kind_of_search_makes_the_page_complain(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    out = analysis(tmp_path, **changes)
    opened((out / "report.html").as_uri(), tmp_path / "profile")


@pytest.mark.complete
def test_cells_have_the_colours_of_their_levels(demo: Path, tmp_path: Path) -> None:
    """Blue, green and orange of the three levels are there to see, in both schemes."""
    for name, flags in (("light", []), ("dark", [DARK])):
        shot, address = tmp_path / f"{name}.png", (demo / "report.html").as_uri()
        browse(
            f"{address}#levels", tmp_path / name, "--window-size=1280,5000",
            f"--screenshot={shot}", *flags,
        )  # fmt: skip
        paper = np.array([1.0, 1.0, 1.0] if name == "light" else [0x1B, 0x22, 0x2A])
        paper = paper if name == "light" else paper / 255
        image = matplotlib.image.imread(shot)[..., :3].reshape(-1, 3)
        for colour in ((0, 0x72, 0xB2), (0, 0x9E, 0x73), (0xD5, 0x5E, 0)):
            mixed = 0.55 * np.array(colour) / 255 + 0.45 * paper
            assert (np.abs(image - mixed).max(axis=1) < 0.02).sum() > 500
