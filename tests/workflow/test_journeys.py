"""Six analyses from their files to the page, which says nothing that its files do not hold."""

from __future__ import annotations

import logging
import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser_page import CHROMIUM, Page, axe_violations, resize
from journeys import JOURNEYS, run_journey
from pairtile.runtime.files import read_json
from report_pages import read_page

pytestmark = pytest.mark.complete

NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w]*mer|[\w-]*\d?mer)")
NAMES = r"\b[A-Z]+:[A-Z]+\d+|\b(?:miR-|UTR|G|AT1G)\d+|q ≤ 0\.05|q at most 0\.05|.log10|7mer-\w+"
"""Of items and limits, which have digits and are no claims."""


FIRST_SECONDS, EVERY_SECONDS = 0.1, 0.25
"""Of a clock that is twenty times as quick as that by which a line comes every five seconds."""

Lines = list[tuple[float, str]]


@pytest.fixture(scope="module", params=list(JOURNEYS))
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Lines]:
    """The results of one, and the lines of its log, each with the CPU seconds of this thread so
    far: other work on the machine makes no line late."""
    clock, lines = time.pthread_getcpuclockid(threading.get_ident()), []
    heard = logging.Handler()
    heard.emit = lambda record: lines.append((time.clock_gettime(clock), record.getMessage()))  # type: ignore[method-assign]
    log = logging.getLogger("pairtile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairtile.runtime.record.FIRST_SECONDS", FIRST_SECONDS)
        patch.setattr("pairtile.runtime.record.EVERY_SECONDS", EVERY_SECONDS)
        before = log.level
        log.setLevel(logging.INFO)
        log.addHandler(heard)
        try:
            return run_journey(tmp_path_factory.mktemp(request.param), request.param), lines
        finally:
            log.removeHandler(heard)
            log.setLevel(before)


@pytest.fixture(scope="module")
def folder(run: tuple[Path, Lines]) -> Path:
    """The results of one."""
    return run[0]


def test_no_step_is_silent(run: tuple[Path, Lines]) -> None:
    """A line comes within a second, four intervals: that is not shared out by twenty for which a
    library keeps Python's lock, or for which the machine lets the thread wait that says it."""
    times = np.array([seconds for seconds, _ in run[1]])
    assert any("so far" in line for _, line in run[1])
    latest = int(np.argmax(np.diff(times)))
    assert np.diff(times)[latest] <= 1, run[1][latest : latest + 2]


def numbers_in(value: Any) -> list[float]:
    """Every number of what JSON holds, those in its texts too."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in numbers_in(part)]
    if isinstance(value, str):
        return [float(text.replace(",", "")) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", value)]
    return [float(value)] if isinstance(value, int | float) else []


def tables_of(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of an analysis."""
    texts = (path for path in folder.glob("*.tsv") if path.stat().st_size > 1)
    found = {path.name: pd.read_csv(path, sep="\t") for path in texts}
    return found | {path.name: pd.read_parquet(path) for path in folder.glob("*.parquet")}


PROFILES = {"eigengenes.tsv", "module_membership.tsv", "activity.tsv", "activity_viper.tsv"}
"""Tables of so many numbers that any number is among them."""


def claims(folder: Path) -> np.ndarray:
    """What the page may say: numbers of summary.json and evaluation, cells, and counts of rows, of
    equal texts and of different ones, with their shares; sizes alone."""
    numbers = numbers_in(read_json(folder / "summary.json"))
    for name, table in tables_of(folder).items():
        if name in PROFILES or name == "pairs.parquet":
            continue
        numbers.append(len(table))
        for column in (table[name].dropna() for name in table):
            if column.dtype.kind in "iuf":
                numbers += [*column, *(100 * column[column < 1]), column.median()]
            sizes = column.value_counts()
            numbers += [len(sizes), *sizes, *(100 * sizes / len(table))]
        if {"source", "target"} <= {*table}:
            ends = pd.concat([table["source"], table["target"]]).value_counts()
            numbers += [len(ends), *ends]
    if (folder / "scores.npz").is_file():
        with np.load(folder / "scores.npz") as arrays:
            for array in (arrays[name] for name in arrays.files):
                numbers += (
                    array.ravel().tolist() if array.dtype.kind in "iuf" and array.size < 50 else []
                )
    found = np.abs(np.array(numbers, dtype=float))
    return np.unique(found[np.isfinite(found)])


def is_known(text: str, known: np.ndarray) -> bool:
    """Whether a number, as it is written, is one of these rounded so."""
    digits, _, exponent = text.replace(",", "").lstrip("+-−").partition("e")
    scale = 10.0 ** int(exponent or 0)
    half = 0.5000001 * 10.0 ** -len(digits.partition(".")[2])
    return bool((np.abs(known / scale - float(digits)) <= half).any())


def unknown(text: str, known: np.ndarray) -> list[str]:
    """Numbers of a text that are not known, nor the share of one whole number of it in another."""
    written = NUMBER.findall(re.sub(NAMES, " ", text))
    whole = np.array([float(n.replace(",", "")) for n in written if re.fullmatch(r"\d[\d,]*", n)])
    shares = 100 * whole[:, None] / whole[whole > 0]
    return [n for n in written if not is_known(n, np.append(known, shares))]


def test_each_number_of_the_first_screen_is_one_of_its_files(folder: Path) -> None:
    known = claims(folder)
    [first] = read_page(folder).xpath("//section[@id='findings']")
    parts = first.xpath(".//*[@class='tiles']/div | .//*[@class='sentences']/li")
    texts = [" ".join(" ".join(part.itertext()).split()) for part in parts]
    assert len(texts) > 6
    assert {text: wrong for text in texts if (wrong := unknown(text, known))} == {}
    # Not because any number is known.
    assert sum(is_known(str(n), known) for n in range(200, 1000)) < 120


def shared_cells(row: list[str], line: np.ndarray) -> int:
    """How many cells of a row of the page a line of a file has."""
    numbers = np.abs([cell for cell in line if isinstance(cell, int | float)])
    texts = {"–", *map(str, line)}
    return sum(cell in texts or (is_number(cell) and is_known(cell, numbers)) for cell in row)


def is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None


def test_rows_of_the_first_screen_are_rows_of_a_file_in_its_order(folder: Path) -> None:
    [table] = read_page(folder).xpath("//section[@id='findings']//table")
    rows = [[cell.text_content().strip() for cell in row] for row in table.xpath(".//tbody/tr")]
    assert 1 < len(rows) <= 10
    files = tables_of(folder)
    if "targets.tsv" in files:  # the same pairs in the same order
        files["network.tsv"] = pd.concat([files["network.tsv"], files["targets.tsv"]], axis=1)
    names = ("network.tsv", "predictors.tsv", "condition_networks.tsv")
    lines = {
        (name, k): line
        for name in names
        if name in files
        for k, line in enumerate(files[name].astype(object).to_numpy())
    }
    order = []
    for row in rows:
        best = max(lines, key=lambda place: shared_cells(row, lines[place]))
        assert shared_cells(row, lines[best]) == len(row), row
        order.append(best)
    assert len({name for name, _ in order}) == 1
    if order[0][0] == "network.tsv":
        assert [k for _, k in order] == list(range(len(order)))


CONSTANTS = {"1", "2", "8", "95", "1.5", "3.3", "1e-9"}
"""Of definitions: seeds, intervals, outliers, the version of miRanda, equal entropies."""


def test_the_methods_paragraph_says_what_summary_json_has(folder: Path) -> None:
    page, summary = read_page(folder), read_json(folder / "summary.json")
    paragraph = page.xpath("//section[@id='methods']//blockquote | //section[@id='methods']//p")
    text = max((p.text_content() for p in paragraph), key=len)
    assert summary["pairtile_version"] in text
    cited = re.sub(r"[^()]*?\b(?:1[89]|20)\d\d\b(?:;[^()]*)?", " ", text)
    known = np.unique(np.abs(numbers_in(summary)))
    assert [n for n in NUMBER.findall(cited) if n not in CONSTANTS and not is_known(n, known)] == []
    for stage, word in (
        ("modules", "Modules are"),
        ("differential", "Pairs of genes were compared"),
    ):
        assert (word in text) == (stage in summary["steps"])


def test_no_table_is_cut_without_saying_so(folder: Path) -> None:
    page, files, seen = read_page(folder), tables_of(folder), 0
    for section in page.xpath("//main/section[.//table[@data-save]]"):
        file = section.get("id").replace("-", "_") + ".tsv"
        if file not in files:
            continue
        rows = len(section.xpath(".//table[@data-save]/tbody/tr"))
        seen += 1
        assert (
            rows == len(files[file])
            or f"of the {len(files[file]):,} rows" in section.text_content()
        )
    [edges] = page.xpath("//section[@id='edges']") or [None]
    if edges is not None:
        assert f"All {len(files['network.parquet']):,} " in edges.text_content()
    assert seen or edges is not None
    named = page.xpath("//section[@id='files']//th/a/@href")
    assert named
    assert [name for name in named if not (folder / name).is_file()] == []


# Text that its box hides, and what reaches beyond the page and cannot be scrolled to.
CUT = """[...document.querySelectorAll("main *")].filter((e) => {
  const drawing = e.closest("svg, #network-canvas, #structure-canvas");
  if (!e.checkVisibility() || !e.innerText || drawing) return false;
  const hides = (box) => ["hidden", "clip"].includes(getComputedStyle(box).overflowX);
  if (hides(e)) return e.scrollWidth > e.clientWidth + 1;
  for (let box = e.parentElement; box && box !== document.body; box = box.parentElement) {
    if (getComputedStyle(box).overflowX !== "visible") return false;
  }
  return e.getBoundingClientRect().right > innerWidth;
}).map((e) => e.outerHTML.slice(0, 90))"""
# Single words of the first table that stand in two lines.
BROKEN = """[...document.querySelectorAll("#findings table :is(th, td)")].filter((e) => {
  const text = document.createRange();
  text.selectNodeContents(e);
  const lines = new Set([...text.getClientRects()].map((box) => Math.round(box.top)));
  return /^[^ -]+$/.test(e.textContent.trim()) && lines.size > 1;
}).map((e) => e.textContent)"""
HIDE = """Object.assign(document.querySelector("main h2").style,
  {width: "9px", overflow: "hidden", whiteSpace: "pre"})"""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_nothing_is_cut_or_broken_at_any_width(folder: Path, page: Page) -> None:
    page.open((folder / "report.html").as_uri())
    for width in (1400, 1000, 400):
        resize(page, width)
        assert page.ask("document.documentElement.scrollWidth") <= width
        assert page.ask(CUT) == []
        assert page.ask(BROKEN) == []
    assert page.complaints == []
    assert axe_violations(page) == []
    page.ask(HIDE)
    assert page.ask(CUT) != []


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_pairs_that_differ_lead_to_their_samples_by_group(folder: Path, page: Page) -> None:
    page.open((folder / "report.html").as_uri())
    chosen = "document.querySelector('#evidence select').selectedOptions[0].text"
    if (folder / "condition_networks.tsv").is_file():
        page.ask("document.querySelector('.first-rows td:nth-child(3) a').click()")
        conditions = pd.read_csv(folder / "condition_networks.tsv", sep="\t")["condition"]
        assert page.ask(chosen) == conditions[0]
    if not (folder / "differential.tsv").is_file():
        pytest.skip("compares no groups")
    first = pd.read_csv(folder / "differential.tsv", sep="\t").iloc[0]
    page.ask("document.querySelector('#differential-table tbody td:nth-child(3) a').click()")
    ends = [first[f"{end}_symbol"] for end in ("source", "target")]
    assert page.ask("decodeURIComponent(location.hash)") == f"#pair={','.join(ends)}"
    n = len(pd.read_csv(folder.parents[1] / "samples.tsv", sep="\t"))
    assert page.ask("document.querySelectorAll('#evidence circle').length") == n
    assert page.ask(chosen) == "condition"
    legend = page.ask("document.querySelector('#evidence figure .legend').innerText")
    assert legend.split() == ["control", "treated"]


# Rows of the tables of tests: the address of what each compares, and its cells.
TESTED = """[...testRows].map(([address, {row}]) =>
  [decodeURIComponent(address), [...row.cells].map((cell) => cell.textContent.trim())])"""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_rows_of_tests_lead_to_the_samples_that_they_compare(folder: Path, page: Page) -> None:
    page.open((folder / "report.html").as_uri())
    tested = page.ask(TESTED) if (folder / "modules.tsv").is_file() else []
    if not tested:
        pytest.skip("tests no modules")
    profiles = {
        "eigengene of module": pd.read_csv(folder / "eigengenes.tsv", sep="\t", index_col=0),
        "activity of": pd.read_csv(folder / "activity.tsv", sep="\t", index_col=0),
    }
    for words, file in zip(profiles, ("module_traits.tsv", "activity_tests.tsv"), strict=True):
        found = [address for address, _ in tested if address.startswith(f"#pair={words}")]
        assert len(found) == len(pd.read_csv(folder / file, sep="\t"))
        name = found[0].removeprefix(f"#pair={words} ").partition(",")[0]
        values = profiles[words].rename(str).loc[name].sort_values().to_numpy()
        page.ask(
            f"document.querySelector('main td a[href=\"{found[0].replace(' ', '%20')}\"]').click()"
        )
        titles = page.ask(
            "[...document.querySelectorAll('#evidence circle')].map((c) => c.textContent)"
        )
        drawn = sorted(float(title.rpartition(" ")[2]) for title in titles)
        np.testing.assert_allclose(drawn, values, atol=2e-3 * np.ptp(values))
    if not (folder / "enrichment.tsv").is_file():
        return
    address, cells = next((a, c) for a, c in tested if a.startswith("#genes="))
    page.ask(f"document.querySelector('main td a[href=\"{address}\"]').click()")
    panel = page.ask("document.getElementById('evidence').innerText")
    assert set(address.removeprefix("#genes=").split(",")) <= set(re.findall(r"\w+", panel))
    assert cells[2] in panel
    assert axe_violations(page) == []
    # The drawing shows these genes, and the edges to them.
    assert page.ask("document.getElementById('network-canvas').dataset.chosen") == address[7:]
