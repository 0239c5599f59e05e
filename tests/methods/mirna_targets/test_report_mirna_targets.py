"""The report of miRNA targets: its words and tables, and the page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lxml.html
import pandas as pd
import pytest
from browser_page import CHROMIUM, Page
from message_codes import codes
from method_pages import parts_of
from mirna_results import write_mirna_results
from pairtile.methods.mirna_targets.report_hits import hits_of, read_hits
from pairtile.report.results import read_results, warnings_of_results
from report_pages import assert_made_again_alike, edge_rows, page_of, part, read_page, report
from result_files import AWKWARD

ALL_PARTS = [
    "findings", "hits", "network", "edges", "figures", "trust", "cleaning", "files", "run",
    "methods",
]  # fmt: skip
FIGURES = [
    "energy_distribution", "most_pairs", "relative_positions", "score_distribution",
    "seed_classes", "site_map", "target_map",
]  # fmt: skip
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with its report written."""
    folder = write_mirna_results(tmp_path_factory.mktemp("results") / "demo", bad=2)
    page_of(folder)
    return folder


def codes_of(folder: Path) -> list[str]:
    """Codes of what the results give rise to."""
    results = read_results(folder)
    results.summary["warnings"] = []
    return codes(warnings_of_results(results))


# --- the page -----------------------------------------------------------------------------------


def test_the_page_has_its_parts_and_names_columns_by_their_headings(demo: Path) -> None:
    page = read_page(demo)
    assert parts_of(page) == ALL_PARTS
    headings = [th.text_content() for th in page.xpath("//*[@id='edges-table']//th")]
    assert len(headings) > 10
    assert all("_" not in heading for heading in headings)


def test_findings_agree_with_the_tables(demo: Path) -> None:
    page = read_page(demo)
    hits = pd.read_parquet(demo / "hits.parquet")
    network = pd.read_parquet(demo / "network.parquet")
    mirnas, transcripts = network["source"].nunique(), network["target"].nunique()
    headline = f"{len(hits)} hits of {mirnas} miRNAs on {transcripts} transcripts"
    assert page.xpath("//*[@class='headline']/a")[0].text == headline
    text = part(page, "findings")
    best = hits.sort_values(["score", "energy_kcal_mol"], ascending=[False, True]).iloc[0]
    assert (
        f"Strongest by score: {best['mirna']} on {best['transcript']} (score {best['score']:g}"
        in text
    )
    most = hits.drop_duplicates(["mirna", "transcript"])["mirna"].value_counts()
    assert f"({most.iloc[0]} transcripts)" in text
    canonical = hits["seed_class"].isin(["8mer", "7mer-m8", "7mer-A1"]).sum()
    assert f"{canonical} of {len(hits)} hits" in text
    assert "2 transcripts left out as unusable" in text
    assert "90 of 240" in text
    rows = [row.text_content() for row in page.xpath("//*[@id='dropped-table']/tbody/tr")]
    assert rows == ["bad-0line 7: no letters", "bad-1line 7: no letters"]


def test_pairs_are_ordered_by_score_then_energy_and_tell_of_their_sites(demo: Path) -> None:
    rows = edge_rows(read_page(demo))
    network = pd.read_parquet(demo / "network.parquet")
    shown = [(row[0], row[1]) for row in rows]
    assert shown == list(zip(network["source"], network["target"], strict=True))
    targets = pd.read_csv(demo / "targets.tsv", sep="\t").set_index(["mirna", "transcript"])
    for row in rows[:5]:
        target = targets.loc[(row[0], row[1])]
        assert row[5] == target["n_canonical_sites"]
        assert row[6] == target["best_seed_class"]
        assert row[11].split(";")[0] == target["positions"].split()[0]


def test_alignments_are_shown_with_their_seed(demo: Path) -> None:
    page = read_page(demo)
    cards = page.xpath("//*[@class='alignments']/article")
    assert len(cards) == 12
    lines = cards[0].xpath("pre")[0].text_content().split("\n")
    assert lines[0] == "miRNA      3' ugagugUGGAUCCAAG-----GUUCCUAa 5'"
    assert lines[2] == "transcript 5' ugaguaACUUUGUUUCAUAAUCAAGGAUg 3'"
    seeds = [span.text for span in cards[0].xpath("pre/span[@class='seed']")]
    assert seeds == ["GUUCCUA", "|||||||", "CAAGGAU"]
    pairs = [card.xpath("h3")[0].text_content() for card in cards]
    assert len(set(pairs)) == 12


def test_figures_are_made_and_described(demo: Path) -> None:
    written = sorted(path.name for path in (demo / "figures").iterdir())
    assert written == [f"{name}{suffix}" for name in FIGURES for suffix in (".png", ".svg")]
    for image in read_page(demo).xpath("//*[@id='figures']//img"):
        assert len(image.get("alt")) > 60


def test_without_energies_the_page_shows_scores(tmp_path: Path) -> None:
    folder = write_mirna_results(tmp_path / "demo", energies=False)
    page = page_of(folder)
    assert parts_of(page) == [name for name in ALL_PARTS if name != "cleaning"]
    assert "no_energies" in codes_of(folder)
    assert "kcal/mol" not in part(page, "hits")
    assert not page.xpath("//*[@id='figure-energy_distribution']")


def test_no_hit_at_all_makes_a_page_of_few_parts(tmp_path: Path) -> None:
    folder = write_mirna_results(tmp_path / "demo", n_pairs=0)
    page = page_of(folder)
    assert parts_of(page) == ["findings", "network", "trust", "files", "run", "methods"]
    assert "no_hits" in codes_of(folder)
    assert (folder / "report.html").stat().st_size < 300_000


@pytest.mark.complete
def test_half_a_million_pairs_make_a_small_page(tmp_path: Path) -> None:
    folder = write_mirna_results(
        tmp_path / "demo", n_mirnas=1000, n_transcripts=1000, n_pairs=500_000
    )
    page = page_of(folder)
    assert (folder / "report.html").stat().st_size < 4_000_000
    assert len(page.xpath("//*[@id='hits-table']/tbody/tr")) == 25
    n = len(pd.read_parquet(folder / "hits.parquet", columns=["rank"]))
    sentence = f"The 20,000 of {n:,} hits with the highest scores; the other {n - 20_000:,} are in"
    assert sentence in part(page, "hits")
    assert len(edge_rows(page)) == 50_000
    assert "The 50,000 strongest of 500,000 pairs" in part(page, "edges")


def test_the_report_of_a_real_run_agrees_with_its_files(tmp_path: Path) -> None:
    pytest.importorskip("RNA", reason="needs the package ViennaRNA")
    from mirna_sequences import plain, write_random
    from workflow_runs import Analysis

    write_random(tmp_path)
    analysis = Analysis(tmp_path, plain()).all().report()
    page = read_page(analysis.out)
    assert parts_of(page) == ALL_PARTS
    hits = pd.read_csv(analysis.out / "hits.tsv", sep="\t")
    assert page.xpath("//*[@class='headline']/a")[0].text.startswith(f"{len(hits)} hits of ")
    results = read_results(analysis.out)
    assert results.cached(hits_of) is not None
    assert results.cached(hits_of).n == len(hits)
    assert results.scores is not None
    assert results.scores["energy_counts"].sum() == len(hits)
    for name in ("hits.tsv", "hits.parquet", "targets.tsv", "hits.bed", "hits.gff3", "miranda.txt"):
        assert name in part(page, "files")
    seeds = [span.text for span in page.xpath("//article[1]/pre/span[@class='seed']")]
    assert seeds[1] == "|||||||"


# --- in the browser -----------------------------------------------------------------------------


@pytest.mark.browser
@needs_browser
def test_tables_network_and_alignments_work_in_the_browser(tmp_path: Path, page: Page) -> None:
    folder = write_mirna_results(tmp_path / "demo", names=tuple(AWKWARD), n_pairs=120)
    hits = read_hits(folder / "hits.parquet")
    page.open(report(folder) + "#hit=33")
    page.wait_for("document.querySelector('#hits-table pre') !== null")
    shown = lxml.html.fromstring(page.ask("document.documentElement.outerHTML"))
    for name in ("hits-table", "edges-table"):
        assert shown.get_element_by_id(name).get("data-enhanced") == "true"
    # Row 33 is on the second page of 25, and its alignment is open.
    rows = shown.xpath("//*[@id='hits-table']/tbody/tr")
    assert [row.get("class") or "" for row in rows].count("alignment-row") <= 1
    buttons = shown.xpath("//*[@id='hits-table']//button[@class='show-alignment']")
    assert [button.get("data-hit") for button in buttons] == [str(k) for k in range(25, 50)]
    assert [b.get("data-hit") for b in buttons if b.get("aria-expanded") == "true"] == ["32"]
    [lines] = shown.xpath("//*[@id='hits-table']//pre")
    assert hits.strongest["reference_alignment"][32] in lines.text_content()
    assert lines.xpath("string(span[@class='seed'])") == "GUUCCUA"
    canvas = shown.get_element_by_id("network-canvas")
    assert int(canvas.get("data-edges")) == 120


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(
    "settings", [{"n_pairs": 0}, {"n_pairs": 1}, {"energies": False, "names": tuple(AWKWARD)}]
)
def test_no_kind_of_results_makes_the_page_complain(
    tmp_path: Path, page: Page, settings: dict[str, Any]
) -> None:
    page.open(report(write_mirna_results(tmp_path / "demo", **settings)))


@pytest.mark.complete
def test_same_results_give_the_same_bytes(demo: Path) -> None:
    assert_made_again_alike(demo)
