"""An alignment that transcripts share is drawn once, and every transcript is accounted for."""

from __future__ import annotations

from pathlib import Path

import lxml.html
import pandas as pd
import pytest
from pairtile.methods.mirna_targets.report_hits import SAME, cards, read_hits, shared_sites
from pairtile.report.page import render_page
from pairtile.report.results import read_results
from report_pages import part
from shared_hits import LINES, share, write_different

ALL_PAIRS = {"n_mirnas": 4, "n_transcripts": 120, "n_pairs": 480}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_different(tmp_path / "demo", **ALL_PAIRS)


def page_of(folder: Path) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(render_page(read_results(folder), []))


def text_of(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def test_isoforms_have_one_drawing_that_names_each_with_its_place(folder: Path) -> None:
    names = [f"tr-{k}" for k in (7, 50, 51, 90)]
    shared = share(folder, "miR-2", names, 500.0)
    page = page_of(folder)
    drawn = page.xpath("//*[@class='alignments']/article")
    assert text_of(drawn[0].xpath("h3")[0]) == "miR-2 on 4 transcripts"
    listed = [text_of(entry) for entry in drawn[0].xpath(".//li")]
    assert listed == [
        f"{hit.transcript} at {hit.site_begin:,}–{hit.site_end:,} of {hit.transcript_length:,}"
        for hit in shared.itertuples()
    ]
    letters = shared["reference_alignment"].iloc[0]
    assert sum(letters in card.text_content() for card in drawn) == 1


def test_the_numbers_of_hits_and_transcripts_that_are_drawn_are_told(folder: Path) -> None:
    share(folder, "miR-2", [f"tr-{k}" for k in range(30)], 500.0)
    share(folder, "miR-1", [f"tr-{k}" for k in range(20, 40)], 490.0)
    found = cards(read_hits(folder / "hits.parquet"))
    assert len(found["cards"]) == 12
    hits = pd.read_parquet(folder / "hits.parquet")
    single = {card["transcript"] for card in found["cards"][2:]}
    n_transcripts = len({f"tr-{k}" for k in range(40)} | single)
    text = part(page_of(folder), "hits")
    assert f": 60 of {len(hits):,} hits, on {n_transcripts} transcripts. What transcripts" in text


def test_a_long_list_is_folded_and_then_cut_with_the_number(folder: Path) -> None:
    share(folder, "miR-0", [f"tr-{k}" for k in range(120)], 500.0)
    [card, *_] = page_of(folder).xpath("//*[@class='alignments']/article")
    assert text_of(card.xpath("h3")[0]) == "miR-0 on 120 transcripts"
    assert len(card.xpath("ul/li")) == 3
    [folded] = card.xpath("details")
    assert not folded.get("open")
    assert text_of(folded.xpath("summary")[0]) == "47 more, and 70 in hits.tsv"
    assert len(folded.xpath(".//li")) == 47


def test_several_places_on_one_transcript_are_told_together(folder: Path) -> None:
    hits = pd.read_parquet(folder / "hits.parquet")
    twice = hits[(hits["mirna"] == "miR-0") & (hits["rank"] == 2)].iloc[0]["transcript"]
    other = "tr-0" if twice != "tr-0" else "tr-1"
    share(folder, "miR-0", sorted([twice, other]), 500.0)
    hits = pd.read_parquet(folder / "hits.parquet")
    rows = hits.index[(hits["mirna"] == "miR-0") & (hits["transcript"] == twice)][:2]
    same = [name for name in SAME if name != "mirna"]
    hits.loc[rows[1], same] = hits.loc[rows[0], same]
    hits.to_parquet(folder / "hits.parquet")
    [card, *_] = cards(read_hits(folder / "hits.parquet"))["cards"]
    assert card["stands_for"] == "The same alignment in 2 transcripts, 3 hits"
    first, second = sorted(hits.loc[rows, "site_begin"])
    place = dict(card["open"])[twice]
    assert place == f"at {first}–{first + 21} and {second}–{second + 21} of 1,000"


def test_where_the_strongest_end_among_equals_the_numbers_are_least_ones(folder: Path) -> None:
    share(folder, "miR-0", [f"tr-{k}" for k in range(120)], 500.0)
    cut = read_hits(folder / "hits.parquet", 100)
    [site] = shared_sites(cut, 12)
    assert (site.complete, len(site.hits)) == (False, 100)
    assert cards(cut)["cards"][0]["stands_for"] == (
        "The same alignment in at least 100 transcripts"
    )
    [site, *_] = shared_sites(read_hits(folder / "hits.parquet", 121), 12)
    assert (site.complete, len(site.hits)) == (True, 120)


@pytest.mark.parametrize("energies", [True, False])
def test_every_pair_is_in_some_site_and_no_alignment_is_drawn_twice(
    tmp_path: Path, energies: bool
) -> None:
    folder = write_different(tmp_path / "demo", energies=energies, n_pairs=200)
    hits = pd.read_parquet(folder / "hits.parquet")
    # One alignment for all hits: most sites have several, also on one transcript.
    hits[list(LINES)] = hits[list(LINES)].iloc[0].tolist()
    hits["energy_kcal_mol"] = hits["energy_kcal_mol"].round(-1)
    hits.to_parquet(folder / "hits.parquet")
    sites = shared_sites(read_hits(folder / "hits.parquet"), len(hits))
    pairs = {
        pair for s in sites for pair in zip(s.hits["mirna"], s.hits["transcript"], strict=True)
    }
    assert pairs == set(zip(hits["mirna"], hits["transcript"], strict=True))
    assert len(sites) < len(pairs)
    keys = [tuple(site.hits[list(SAME)].iloc[0].fillna("none")) for site in sites]
    assert len(set(keys)) == len(keys)
    for site in sites:
        assert all(site.hits[name].nunique(dropna=False) == 1 for name in SAME)
        same = hits[list(SAME)].fillna("none").eq(site.hits[list(SAME)].iloc[0].fillna("none"))
        assert int(same.all(axis=1).sum()) == len(site.hits)
    scores = [site.hits["score"].iloc[0] for site in sites]
    assert scores == sorted(scores, reverse=True)
