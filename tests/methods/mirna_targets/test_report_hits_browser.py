"""The table of hits in a real browser: the strongest 20,000, each with its alignment."""

from __future__ import annotations

from pathlib import Path

import lxml.html
import numpy as np
import pandas as pd
import pytest
from browser_page import CHROMIUM, Page, look_at, table_rows
from mirna_results import write_mirna_results
from pairtile.methods.mirna_targets.report_hits import MAX_HITS
from pairtile.report.formats import number
from pairtile.report.packed_columns import to_digits
from report_pages import report
from result_files import AWKWARD
from shared_hits import LINES, write_different

pytestmark = [
    pytest.mark.complete,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]
ROWS = table_rows("hits-table")
INFO = "document.querySelector('#hits .dt-info').textContent"
OPEN_ALL = "document.querySelectorAll('#hits-table .show-alignment').forEach((b) => b.click())"
OPENED = "[...document.querySelectorAll('#hits-table pre')].map((lines) => lines.textContent)"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 60,000 pairs whose hits all have alignments and numbers of their own."""
    folder = tmp_path_factory.mktemp("large") / "demo"
    rng = np.random.default_rng(2)
    write_different(folder, n_mirnas=300, n_transcripts=300, n_pairs=60_000)
    hits = pd.read_parquet(folder / "hits.parquet")
    more = {name: rng.random(len(hits)) for name in ("local_au", "relative_position")}
    more |= {"duplex_energy_kcal_mol": -40 * rng.random(len(hits))}
    more |= {"accessibility": rng.random(len(hits))}
    hits.assign(**more).to_parquet(folder / "hits.parquet")
    report(folder)
    return folder


def strongest(folder: Path) -> pd.DataFrame:
    hits = pd.read_parquet(folder / "hits.parquet")
    by = ["score", "energy_kcal_mol"]
    return hits.sort_values(by, ascending=[False, True], kind="stable").reset_index(drop=True)


def test_a_page_with_the_most_hits_and_edges_is_under_five_megabytes(large: Path) -> None:
    assert (large / "report.html").stat().st_size < 5_000_000


def test_the_last_of_twenty_thousand_hits_is_turned_to_and_opened(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    assert page.ask(INFO) == "rows 1 to 25 of 20,000"
    assert page.ask("document.querySelectorAll('#hits-table tr').length") == 26
    page.ask("document.querySelector('#hits .dt-paging-button.last').focus()")
    page.press("Enter")
    page.wait_for(f"{INFO} === 'rows 19,976 to 20,000 of 20,000'")
    last = strongest(large).iloc[MAX_HITS - 1]
    found = page.ask(ROWS)[-1]
    assert found[:4] == ["20,000", last["mirna"], last["transcript"], "show"]
    assert found[4] == number(to_digits(last["score"]), 4, pad=True)
    assert found[8] == f"{last['site_begin']:,}–{last['site_end']:,}"
    page.ask("[...document.querySelectorAll('.show-alignment')].at(-1).click()")
    [lines] = page.ask(OPENED)
    assert last["reference_alignment"] in lines


def test_a_hit_is_found_by_a_name_among_all_twenty_thousand(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    shown = strongest(large).head(MAX_HITS)
    name = shown["transcript"].iloc[-1]
    page.ask("document.querySelector('#hits .dt-search input').select()")
    page.type(f"{name} 8mer")
    page.wait_for(f"{INFO}.includes('found in 20,000')")
    wanted = shown[(shown["transcript"].str.contains(name)) & (shown["seed_class"] == "8mer")]
    assert page.ask(INFO).endswith(f"of {len(wanted)} (found in 20,000)")


def test_lines_of_pairs_are_read_off_the_letters_as_hits_tsv_has_them(
    tmp_path: Path, page: Page
) -> None:
    folder = write_different(tmp_path / "demo", n_pairs=90)
    page.open(report(folder))
    page.ask(OPEN_ALL)
    texts = page.ask(OPENED)
    hits = strongest(folder).head(25)
    assert len(texts) == 25
    for text, hit in zip(texts, hits[list(LINES)].itertuples(index=False), strict=True):
        above, between, below = text.split("\n")
        assert above == f"miRNA      3' {hit.query_alignment} 5'"
        assert between.rstrip() == (" " * 14 + hit.match_line).rstrip()
        assert below == f"transcript 5' {hit.reference_alignment} 3'"
    assert any(":" in line for line in hits["match_line"])


def test_sites_are_sorted_by_where_they_begin(tmp_path: Path, page: Page) -> None:
    folder = write_different(tmp_path / "demo", n_pairs=90)
    page.open(report(folder))
    heading = "[...document.querySelectorAll('#hits-table th')].find((h) => h.innerText == 'site')"
    page.ask(f"{heading}.querySelector('[tabindex]').focus()")
    page.press("Enter")
    begins = pd.read_parquet(folder / "hits.parquet")["site_begin"].sort_values()
    wanted = [f"{begin:,}–{begin + 21:,}" for begin in begins.head(25)]
    page.wait_for(f"({ROWS})[0][7] === '{wanted[0]}'")  # sorting lets the page draw first
    assert [row[7] for row in page.ask(ROWS)] == wanted


def test_the_rows_of_the_script_are_those_of_the_page_without_script(
    tmp_path: Path, page: Page
) -> None:
    folder = write_different(tmp_path / "demo", names=tuple(AWKWARD), n_pairs=240)
    address = report(folder)
    text = (folder / "report.html").read_text(encoding="utf-8")
    rows = lxml.html.fromstring(text).xpath("//*[@id='hits-table']/tbody/tr")
    assert len(rows) == 25
    page.open(address)
    cells = [[cell for k, cell in enumerate(row) if k != 3] for row in page.ask(ROWS)]
    shown = [[cell.text_content() for k, cell in enumerate(row) if k != 3] for row in rows]
    assert cells == shown
    assert page.ask("document.querySelectorAll('#hits-table td > :not(button, a)').length") == 0


MAP = "#site-map-drawing"
SITES = f"[...document.querySelectorAll('{MAP} .site-map-site title')].map((x) => x.textContent)"


def test_the_sites_of_any_transcript_are_drawn(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    hits = strongest(large).head(MAX_HITS)
    for name in hits["transcript"].drop_duplicates().iloc[[0, 7, -1]]:
        page.ask(
            f"{{const input = document.getElementById('site-map-input'); input.value = '{name}'; "
            "input.dispatchEvent(new Event('change'))}"
        )
        rows = hits[hits["transcript"] == name]
        found = page.ask(SITES)
        assert len(found) == len(rows)
        row = rows.iloc[0]
        wanted = f"{row['mirna']} at {row['site_begin']:,}–{row['site_end']:,}, {row['seed_class']}"
        assert any(text.startswith(wanted.replace("none", "no seed match")) for text in found)
        assert page.ask(f"document.querySelectorAll('{MAP} circle').length") == len(rows)
        assert page.ask(f"document.querySelectorAll('{MAP} rect').length") == len(rows)
    page.ask(
        "{const input = document.getElementById('site-map-input'); input.value = 'nobody'; "
        "input.dispatchEvent(new Event('change'))}"
    )
    assert "No hit on nobody" in page.ask(f"document.querySelector('{MAP}').textContent")
    assert page.complaints == []


def test_the_panel_shows_every_alignment_of_a_pair(tmp_path: Path, page: Page) -> None:
    folder = write_mirna_results(tmp_path / "demo")
    hits = pd.read_parquet(folder / "hits.parquet")
    pair = hits.groupby(["mirna", "transcript"], observed=True).size().idxmax()
    page.open(report(folder))
    text = look_at(page, *pair)
    own = hits[(hits["mirna"] == pair[0]) & (hits["transcript"] == pair[1])]
    assert len(own) > 1
    for hit in own.itertuples():
        assert f"{hit.site_begin:,}–{hit.site_end:,}" in text
        assert hit.query_alignment in text
        assert hit.reference_alignment in text
    # The map of sites follows.
    assert page.ask("document.getElementById('site-map-input').value") == pair[1]
