"""The report of ``predictor_pairs``: answers, ties, tables of levels, names, size."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_results import allows
from method_pages import drawn_in, parts_of, tiles_of
from pairtile.errors import StoreError
from pairtile.methods.predictor_pairs.charts import FIGURES, MAX_COURSES
from pairtile.methods.predictor_pairs.report import (
    MAX_ROWS,
    shown_sets,
)
from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.report.results import read_results
from pairtile.runtime.files import read_json, write_json
from pairtile.view.pair_store import open_store
from pairtile.view.server import Server
from predictor_levels import (
    PARTS,
    analysis,
    planted_levels,
    random_levels,
    sets_of,
    varied_best,
)
from report_pages import (
    assert_made_again_alike,
    codes_of,
    page_of,
    part,
    plain_page,
    read_page,
    warnings_of,
)
from result_files import write_results


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the planted genes' report."""
    return analysis(tmp_path_factory.mktemp("predictors"))


def test_page_has_the_parts_of_this_method_and_others_have_not(demo: Path, tmp_path: Path) -> None:
    page = read_page(demo)
    assert parts_of(page) == PARTS
    drawn = drawn_in(demo)
    assert drawn >= {"score_distribution", "p_values", "ties", "joint_prediction", "time_courses"}
    assert not {"samples", "components"} & drawn  # levels are no measurements
    # A table that an analysis of the same name left before is not taken for this one's.
    other = write_results(tmp_path / "other")
    (other / "predictors.tsv").write_bytes((demo / "predictors.tsv").read_bytes())
    assert not {"levels", "predictors"} & set(parts_of(page_of(other)))


def test_targets_and_predictors_are_drawn_along_time(demo: Path) -> None:
    results = read_results(demo)
    made = FIGURES["time_courses"](results)
    clearest = results.cached(predictor_results).clearest(MAX_COURSES)
    assert len(made.figure.axes) == len(clearest)
    levels = planted_levels()
    for panel, row in zip(made.figure.axes, clearest.to_dict("records"), strict=True):
        lines = {line.get_label(): line.get_ydata() for line in panel.get_lines()}
        assert list(lines) == [row["target"], row["predictor_1"], row["predictor_2"]]
        for name, drawn in lines.items():
            values = levels[int(name[1:])]
            np.testing.assert_allclose(drawn, (values - values.mean()) / values.std())
    # Without an order of the samples there is nothing to draw along.
    results.summary["parameters"] |= {"lag": 0}
    assert not allows("time_courses", results)
    results.summary["parameters"] |= {"samples": {"time": "hours"}}
    assert allows("time_courses", results)


def test_findings_agree_with_the_tables(demo: Path) -> None:
    page, best = read_page(demo), varied_best(demo)
    network = pd.read_parquet(demo / "network.parquet")
    tied = int((best["n_ties"] > 1).sum())
    assert 0 < tied < len(best)
    p, q = best["p_value"].astype(float), best["q_value"].astype(float)
    assert tiles_of(page) == {
        "edges": [str(len(network)), f"from {len(best)} pairs"],
        "targets with predictors": [str(network["target"].nunique()), "of 14 searched"],
        "targets with p ≤ 0.05": [str((p <= 0.05).sum()), f"q ≤ 0.05: {(q <= 0.05).sum()}"],
        "targets with one best pair": [str(len(best) - tied), f"tied: {tied}"],
    }
    headline = page.xpath("//*[@class='headline']/a")[0].text
    assert headline.endswith(
        f"predictors of 13 of 14 targets, one best pair for {len(best) - tied}"
    )
    assert "g000 (" in part(page, "findings")
    assert "bits, from g001 and g002)" in part(page, "findings")


def test_who_acts_is_not_told_of_samples_without_time(demo: Path, tmp_path: Path) -> None:
    said = "nothing says which of them acts"
    assert said not in part(read_page(demo), "findings")
    assert said in part(read_page(analysis(tmp_path, lag=0)), "findings")


def test_ties_are_said_at_the_top_and_for_each_target(demo: Path) -> None:
    best = varied_best(demo)
    assert f"For {(best['n_ties'] > 1).sum()} of {len(best)} targets the best pair is one of" in (
        warnings_of(demo)
    )
    page, sets = read_page(demo), sets_of(demo)
    rows = page.xpath("//*[@id='predictors-table']/tbody/tr")
    assert len(rows) == len(sets)
    headings = [th.text_content() for th in page.xpath("//*[@id='predictors-table']/thead//th")]
    shown = pd.DataFrame(
        [[td.text_content().replace("\u00a0", " ") for td in row] for row in rows], columns=headings
    )
    shown = shown.merge(
        sets.astype({"rank": str})[["target", "rank", "predictor_1", "predictor_2", "n_ties"]],
        on=["target", "rank"],
    )
    assert len(shown) == len(sets)
    assert (shown["predictor 1"] == shown["predictor_1"]).all()
    assert (shown["predictor 2"] == shown["predictor_2"]).all()
    expected = ["alone" if n == 1 else f"1 of {n}: arbitrary" for n in shown["n_ties"]]
    assert shown["equal sets"].tolist() == expected
    assert 0 < expected.count("alone") < len(expected)


def test_level_tables_hold_the_counts_of_the_clearest_targets(demo: Path) -> None:
    levels, page = planted_levels(), read_page(demo)
    cards = page.xpath("//*[@class='level-cards']/article")
    best = varied_best(demo).set_index("target")
    shown = [card.xpath("h3")[0].text_content() for card in cards]
    assert shown[0] == "g000"
    assert (best.loc[shown, "n_ties"] == 1).all()
    information = (best["target_entropy_bits"] - best["mce_bits"])[shown]
    assert information.is_monotonic_decreasing
    for card, name in zip(cards, shown, strict=True):
        first, second = (int(best.loc[name, f"predictor_{k}"][1:]) for k in (1, 2))
        counts = np.zeros((2, 2, 2), dtype=int)
        for t in range(40):
            counts[levels[first, t], levels[second, t], levels[int(name[1:]), t + 1]] += 1
        cells = [" ".join(td.text_content().split()) for td in card.xpath(".//tbody//td")]
        assert cells == [
            " | ".join(map(str, counts[a, b])) if counts[a, b].sum() else "not seen"
            for a, b in product((0, 1), repeat=2)
        ]
    assert "Mostly 1 where exactly one is 1 (XOR)." in cards[0].text_content()
    assert f"tells {best.loc['g000', 'mi_bits']:.3f}" in cards[0].text_content().replace(
        "\u00a0", " "
    )


def test_unseen_combinations_are_marked(tmp_path: Path) -> None:
    levels = random_levels(8, 13, 3)
    page = plain_page(analysis(tmp_path, levels, page=False))
    cells = page.xpath("//*[@class='level-cards']//tbody//td")
    unseen = [td for td in cells if td.get("class") == "unseen"]
    assert 0 < len(unseen) < len(cells)
    assert all(td.text_content() == "not seen" and td.get("style") is None for td in unseen)
    assert all(
        sum(map(int, re.findall(r"\d+", td.text_content()))) for td in cells if td not in unseen
    )


def test_without_a_best_set_of_its_own_no_target_gets_a_table(tmp_path: Path) -> None:
    levels = np.repeat(random_levels(3, 30), 3, axis=0)
    page = plain_page(analysis(tmp_path, levels, page=False, estimator={"penalty": "none"}))
    assert not page.xpath("//*[@class='level-cards']")
    assert "No target has a best pair of its own" in part(page, "levels")


def test_the_same_set_of_many_targets_is_shown_once(tmp_path: Path) -> None:
    levels = planted_levels()
    levels[[6, 7]] = levels[0]
    page = plain_page(analysis(tmp_path, levels, page=False))
    cards = [card.text_content() for card in page.xpath("//*[@class='level-cards']/article")]
    [card] = [text for text in cards if "rows: g001" in text and "columns: g002" in text]
    assert "Also the one best pair of 2 other targets." in card


def test_a_missing_table_is_named_and_a_missing_state_costs_the_level_tables(
    tmp_path: Path,
) -> None:
    out = analysis(tmp_path, page=False, null={"permutations": 0})
    (out / "state" / "state.json").unlink()
    page = plain_page(out)
    assert parts_of(page) == [name for name in PARTS if name not in ("figures", "levels")]
    sets_of(out).drop(columns="n_ties").to_csv(out / "predictors.tsv", sep="\t", index=False)
    with pytest.raises(StoreError, match=r"predictors\.tsv.*expected n_ties"):
        plain_page(out)
    (out / "predictors.tsv").unlink()
    with pytest.raises(StoreError, match=r"predictors\.tsv: found no such file"):
        plain_page(out)


def test_a_genome_wide_search_makes_a_page_under_five_megabytes(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "large"
    out.mkdir()
    genes = [f"PF3D7_{k:07d}" for k in range(5188)]
    random = np.random.default_rng(5)
    n = 10 * len(genes)
    rank = np.tile(np.arange(1, 11), len(genes))
    sets = pd.DataFrame({"target": np.repeat(genes, 10), "rank": rank})
    for k in (1, 2):
        sets[f"predictor_{k}"] = random.choice(genes, n)
    numbers = ("mce_bits", "imp_bits", "p_value", "q_value", "mi_bits")
    for column in (*numbers, "gain_1", "gain_2", "spearman_1", "spearman_2"):
        sets[column] = random.random(n)
    sets["target_entropy_bits"], sets["n_samples"] = 1.5, 20
    sets["n_ties"] = random.integers(1, 200_000, n)
    sets.to_csv(out / "predictors.tsv", sep="\t", index=False)
    best = sets[sets["rank"] == 1]
    best.assign(hyperedge=best["target"].index).to_csv(
        out / "hyperedges.tsv", sep="\t", index=False
    )
    items = pd.DataFrame({"name": genes, "kept": True, "reason": ""})
    items.to_parquet(out / "items.parquet")
    edges = pd.DataFrame({"source": best["predictor_1"], "target": best["target"]})
    edges.assign(mi_bits=best["mi_bits"], mce_bits=0.1).to_parquet(out / "network.parquet")
    write_json(out / "summary.json", read_json(demo / "summary.json"))
    page = page_of(out)
    assert (out / "report.html").stat().st_size < 5_000_000
    rows = page.xpath("//*[@id='predictors-table']/tbody/tr")
    assert len(rows) == len(genes) <= MAX_ROWS
    assert "Up to 1 pair for each of 5,188 targets" in part(page, "predictors")
    assert shown_sets(read_results(out).cached(predictor_results).sets)["rank"].max() == 1


def test_same_input_gives_the_same_bytes(demo: Path) -> None:
    assert_made_again_alike(demo)


def test_an_empty_network_says_what_to_do(tmp_path: Path) -> None:
    out = analysis(tmp_path, random_levels(8, 41), page=False, keep={"p_value": 0.0001})
    page = plain_page(out)
    assert page.xpath("//*[@class='headline']/a")[0].text.startswith("No edges")
    assert "no_predictor_sets" in codes_of(out)
    assert page.get_element_by_id("predictors-table") is not None


def test_all_sets_are_looked_up_by_their_target_and_by_their_predictors(demo: Path) -> None:
    store, sets = open_store(demo), sets_of(demo)
    ends = ["target", "predictor_1", "predictor_2"]
    assert (store.rows, store.columns) == (len(sets), tuple(ends))
    for name in {*sets["target"], *sets["predictor_1"]}:
        item = store.number(name)
        assert item is not None
        for least in (0.0, 0.3):
            own = sets[(sets[ends] == name).any(axis=1) & (sets["mi_bits"] >= least)]
            found = list(store.named(store.partners(item, least)))
            assert sorted(names for names, _ in found) == sorted(own[ends].to_numpy().tolist())
            scores = [score for _, score in found]
            np.testing.assert_allclose(scores, own["mi_bits"].sort_values()[::-1], rtol=1e-6)
    assert store.count(0.3) == (sets["mi_bits"] >= 0.3).sum() > 0
    with pytest.raises(ValueError, match="-1"):
        store.snapped(-1.0)


def test_sets_are_served_with_all_their_predictors(demo: Path) -> None:
    sets = sets_of(demo)
    with Server(demo, {"net": demo}) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            answers = [
                urllib.request.urlopen(running.address.replace("/net/", f"/net/{path}")).read()
                for path in ("", "pairs/list?of=g000", "pairs/list.tsv")
            ]
        finally:
            running.shutdown()
            thread.join()
    address, listed, saved = (answer.decode() for answer in answers)
    assert "sets of predictors" in address
    own = (sets[["target", "predictor_1", "predictor_2"]] == "g000").any(axis=1).sum()
    found = json.loads(listed)
    assert found["count"] == own == len(found["rows"])
    assert {len(row) for row in found["rows"]} == {4}
    lines = saved.splitlines()
    assert lines[0].split("\t") == ["target", "predictor_1", "predictor_2", "mi_bits"]
    assert len(lines) == len(sets) + 1
