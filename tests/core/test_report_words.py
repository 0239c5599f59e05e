"""Numbers as words, settings as written, and sentences that must not claim too much."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.io.networks.drawing import place_nodes
from pairtile.report import formats
from pairtile.report.results import Results, read_results
from pairtile.report.sections.run import flattened
from pairtile.report.text import page_text
from pairtile.runtime.files import read_json, write_json
from result_files import write_results


@pytest.mark.parametrize(
    ("degrees", "named", "more"),
    [
        ([9, 7, 4, 3, 2, 1, 1], 5, ""),
        ([9, 4, 4, 4, 4, 4, 4, 4], 5, "3 more with 4 edges"),
        ([6] * 12 + [1], 5, "7 more with 6 edges"),
        ([2, 2, 1], 3, ""),
        ([30], 1, ""),
    ],
)
def test_hubs_that_are_as_large_as_the_last_one_named_are_counted(
    degrees: list[int], named: int, more: str
) -> None:
    text = formats.largest({f"g{k}": n for k, n in enumerate(degrees)}, "edge")
    assert text.count("(") == named
    assert text.endswith(more or ")")
    unique = degrees[1:2] != degrees[:1]
    sentence = formats.largest_hub({f"g{k}": n for k, n in enumerate(degrees)}, "edge")
    assert ("g0" in sentence) == unique


@pytest.mark.parametrize("degrees", [[], [1, 1], [3] * 40])
def test_no_gene_is_a_hub_where_all_have_as_many_edges(degrees: list[int]) -> None:
    assert formats.largest({f"g{k}": n for k, n in enumerate(degrees)}, "edge") == ""


@pytest.mark.parametrize("keep", [{"fdr": 0.01, "top_edges": 6000}, {"top_edges": 6000}])
@pytest.mark.parametrize("kept", [0, 367, 6000])
def test_a_limit_of_edges_is_no_number_of_edges(
    tmp_path: Path, keep: dict[str, float], kept: int
) -> None:
    folder = write_results(tmp_path / "demo")
    summary = read_json(folder / "summary.json")
    summary["parameters"]["keep"] = keep
    summary["counts"] |= {"pairs_scored": 10_000, "pairs_kept": kept}
    write_json(folder / "summary.json", summary)
    results = read_results(folder)
    sentences = [*page_text(results).lines("findings"), page_text(results).text("methods")]
    said = [text for text in sentences if "6,000" in text]
    assert len(said) == 2
    assert all("at most 6,000" in text for text in said)
    assert f"{kept:,} of 10,000" in said[0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"), (0.213412, "0.213"), (1e-5, "1e-5"), (1.234e-12, "1.23e-12"), (None, "–"),
        (float("nan"), "–"), (12.0, "12.0"), (-0.5, "-0.500"), (123456, "123,456"),
        (float("inf"), "∞"), (0.99999, "1.000"),
    ],
)  # fmt: skip
def test_number(value: float | None, shown: str) -> None:
    assert formats.number(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_shown_number_is_within_its_digits(value: float) -> None:
    shown = float(formats.number(value, 4).replace(",", ""))
    assert math.isclose(shown, value, rel_tol=6e-4, abs_tol=0)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0341, "34 ms"), (0.9999, "1.0 s"), (59.99, "1 min 0 s"), (75, "1 min 15 s"),
     (7260, "2 h 1 min")],
)  # fmt: skip
def test_duration(seconds: float, shown: str) -> None:
    assert formats.duration(seconds) == shown


@pytest.mark.parametrize(
    ("size", "shown"),
    [(12, "12 B"), (1536, "1.5 KiB"), (123 << 20, "123 MiB"), (3 << 40, "3.0 TiB")],
)
def test_memory(size: int, shown: str) -> None:
    assert formats.memory(size) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0%"), (0.0001, "under 0.1%"), (0.666, "67%"), (0.9999, "over 99.9%"), (1, "100%")],
)
def test_percent_is_never_rounded_to_all_or_nothing(share: float, shown: str) -> None:
    assert formats.percent(share) == shown


def test_lists_and_counts_read_as_sentences() -> None:
    assert formats.join_list([]) == ""
    assert formats.join_list(["a"]) == "a"
    assert formats.join_list(["a", "b", "c"]) == "a, b and c"
    assert formats.pluralise(1, "edge") == "1 edge"
    assert formats.pluralise(1200, "entry", "entries") == "1,200 entries"


def test_parameters_are_written_as_in_the_configuration() -> None:
    settings = {
        "log2": {"on": True},
        "keep": {"p_value": 1e-5},
        "list": ["a"],
        "none": None,
        "e": {},
    }
    assert flattened(settings) == [
        ("log2.on", "true"), ("keep.p_value", "1.0e-05"), ("list", '["a"]'), ("none", "null"),
        ("e", "{}"),
    ]  # fmt: skip


def test_unknown_methods_and_keys_get_plain_words() -> None:
    words = Results(Path(), pd.DataFrame(), pd.DataFrame(), {"method": "some_new_method"}).text
    assert words.title == "some new method"
    assert words.column("n_samples") == "n samples"


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
        )
    )
)
def test_every_gene_gets_a_place_of_its_own_and_always_the_same(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    n, edges = graph
    places = place_nodes(n, edges)
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(3), axis=0)) == n
    np.testing.assert_array_equal(places, place_nodes(n, edges))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(140, "140"), (-9, "−9"), (0.5, "0.5"), (1e-5, "1e-5"), (0.01, "0.01"), (-2.5e-7, "−2.5e-7")],
)
def test_settings_are_written_as_one_would_write_them(value: float, shown: str) -> None:
    assert formats.format_number(value) == shown


def test_genes_of_a_large_network_stand_apart() -> None:
    # Ten hubs and 150 leaves each; igraph's grid variant pulls leaves towards their hubs.
    edges = [(hub, 10 + 150 * hub + leaf) for hub in range(10) for leaf in range(150)]
    edges += [(hub, hub + 1) for hub in range(9)]
    places = place_nodes(1510, edges)
    ends = np.array(edges)
    lengths = np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1)
    assert np.quantile(lengths, 0.01) > 0.3 * np.median(lengths)
