"""Evaluation by the DREAM5 rule against a naive scorer, and what it counts and refuses."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pairtile
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pairtile.statistics.evaluation import evaluate


def naive_curve(scores: Any, truth: Any, judged: Any, top: int) -> np.ndarray:
    """Mean true positives among the first k judged candidates: ties by walking every rank."""
    rows = sorted(zip(scores, truth, judged, strict=True), key=lambda row: -row[0])
    tp, n_seen = [0.0], 0
    while n_seen < min(top, len(rows)):
        tied = [row for row in rows if row[0] == rows[n_seen][0]]
        inside = [row for row in tied if row[2]]
        share = min(1.0, (top - n_seen) / len(tied))
        count = round(share * len(inside))
        rate = sum(row[1] for row in inside) / len(inside) if inside else 0.0
        tp += [tp[-1] + rate * (k + 1) for k in range(count)]
        n_seen += len(tied)
    n_positives, n_judged = sum(truth), sum(judged)
    rest = n_judged - (len(tp) - 1)
    tp += [tp[-1] + (n_positives - tp[-1]) / rest * (k + 1) for k in range(rest)]
    return np.array(tp)


def naive_areas(tp: np.ndarray) -> tuple[float, float]:
    """AUPR by trapezoids over every rank, over 1 - 1/P; AUROC by trapezoids from the origin."""
    ranks, total = np.arange(len(tp)), tp[-1]
    precision, recall = tp[1:] / ranks[1:], tp[1:] / total
    aupr = sum(
        (r1 - r0) * (p0 + p1) / 2
        for (r0, r1), (p0, p1) in zip(pairwise(recall), pairwise(precision), strict=True)
    )
    fp = ranks - tp
    auroc = np.trapezoid(tp / total, fp / fp[-1])
    return aupr / (1 - 1 / total), auroc


@given(
    seed=st.integers(0, 2**32 - 1),
    n_genes=st.integers(4, 12),
    levels=st.sampled_from([2, 5, 1000]),
    top=st.sampled_from([1, 7, 20, 10_000]),
    universe=st.sampled_from(["all", "targets"]),
    some_regulators=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_evaluation_agrees_with_a_naive_scorer(
    seed: int, n_genes: int, levels: int, top: int, universe: str, some_regulators: bool
) -> None:
    random = np.random.default_rng(seed)
    genes = [f"g{k}" for k in range(n_genes)]
    regulators = genes[: n_genes // 2] if some_regulators else None
    edges = [(a, b) for a in regulators or genes for b in genes if a != b]
    true = random.random(len(edges)) < 0.25
    gold = pd.DataFrame(
        [e for e, t in zip(edges, true, strict=True) if t], columns=["source", "target"]
    )
    targets = set(gold["target"])
    judged = [universe == "all" or b in targets for _, b in edges]
    assume(2 <= true.sum() < sum(judged))
    score = random.integers(0, levels, len(edges)) / levels
    ranking = pd.DataFrame(edges, columns=["source", "target"]).assign(score=score)

    shuffled = ranking.sample(frac=1, random_state=seed)
    found = evaluate(shuffled, gold, genes=genes, regulators=regulators, universe=universe, top=top)
    tp = naive_curve(score, true, judged, top)
    aupr, auroc = naive_areas(tp)
    assert found["aupr"] == pytest.approx(aupr, abs=1e-9)
    assert found["auroc"] == pytest.approx(auroc, abs=1e-9)
    assert found["n_candidates"] == sum(judged) == len(tp) - 1
    assert found["n_gold_edges"] == true.sum()
    recall, precision = (np.array(found["curve"][k]) for k in ("recall", "precision"))
    np.testing.assert_allclose(recall, tp[1:] / true.sum(), atol=1e-12)
    np.testing.assert_allclose(precision, tp[1:] / np.arange(1, len(tp)), atol=1e-12)
    pairs: dict[frozenset[str], list[Any]] = {}
    for edge, *row in zip(edges, score, true, judged, strict=True):
        pairs.setdefault(frozenset(edge), []).append(row)
    best = [[max(column) for column in zip(*rows, strict=True)] for rows in pairs.values()]
    tp = naive_curve(*zip(*best, strict=True), top)
    assert found["random_aupr_undirected"] == pytest.approx(tp[-1] / (len(tp) - 1))
    if round(tp[-1]) > 1:  # a sum of expected numbers
        assert found["aupr_undirected"] == pytest.approx(naive_areas(tp)[0], abs=1e-9)
    json.dumps(found, allow_nan=False)


GENES = ["a", "b", "c", "d"]
GOLD = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
PERFECT = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "score": [2.0, 1.0]})


def test_an_empty_ranking_scores_as_chance() -> None:
    found = evaluate(PERFECT[:0], GOLD, genes=GENES)
    assert found["auroc"] == pytest.approx(0.5)
    assert found["n_ranked"] == 0
    assert found["random_aupr"] == pytest.approx(2 / 12)


def test_one_positive_can_be_scored() -> None:
    found = evaluate(PERFECT, GOLD[:1], genes=GENES)
    assert found["aupr"] == pytest.approx(1)


def test_undirected_rows_stand_for_both_directions() -> None:
    both = pd.DataFrame(
        {"source": ["a", "b", "b", "c"], "target": ["b", "a", "c", "b"], "score": [2, 2, 1, 1]}
    )
    undirected = evaluate(PERFECT, GOLD, genes=GENES, directed=False)
    assert undirected == evaluate(both, GOLD, genes=GENES)
    assert undirected["n_ranked"] == 4


def test_undirected_rows_from_a_gene_that_is_no_regulator_go_one_way() -> None:
    found = evaluate(PERFECT, GOLD, genes=GENES, regulators=["a", "b"], directed=False)
    assert found["n_ranked"] == 3  # a-b both ways, b -> c only
    assert found["n_candidates"] == 6


def test_row_numbers_serve_as_names() -> None:
    numbers = PERFECT.assign(source=[0, 1], target=[1, 2])
    assert evaluate(numbers, GOLD, genes=GENES) == evaluate(PERFECT, GOLD, genes=GENES)


def test_rounding_errors_do_not_break_ties() -> None:
    noisy = PERFECT.assign(score=[0.3, 0.1 + 0.2])
    tied = PERFECT.assign(score=[0.3, 0.3])
    gold = GOLD[1:]
    assert evaluate(noisy, gold, genes=GENES) == evaluate(tied, gold, genes=GENES)


def test_gold_edges_that_cannot_be_found_are_counted() -> None:
    gold = pd.DataFrame(
        [("a", "b"), ("a", "b"), ("a", "a"), ("a", "x"), ("y", "y"), ("d", "a")],
        columns=["source", "target"],
    )
    found = evaluate(PERFECT, gold, genes=GENES, regulators=["a", "b"], universe="all")
    counted = {key: value for key, value in found.items() if key.startswith("n_gold")}
    assert counted == {
        "n_gold_read": 6,
        "n_gold_self": 2,
        "n_gold_outside_table": 1,
        "n_gold_source_not_regulator": 1,
        "n_gold_repeated": 1,
        "n_gold_edges": 1,
    }


def test_ranking_rows_that_are_no_candidates_are_counted() -> None:
    ranking = pd.DataFrame(
        [("a", "b", 1.0), ("c", "a", 2.0), ("a", "a", 3.0), ("b", "d", np.nan)],
        columns=["source", "target", "score"],
    )
    found = evaluate(ranking, GOLD, genes=GENES, regulators=["a", "b"])
    assert found["n_ranking_rows_ignored"] == 3
    assert found["n_ranked"] == 1


def test_a_gold_standard_of_few_genes_judges_edges_to_its_targets_only() -> None:
    genes = [f"g{k}" for k in range(20)]
    gold = pd.DataFrame({"source": ["g0", "g0"], "target": ["g1", "g2"]})
    ranking = pd.DataFrame({"source": ["g0"], "target": ["g1"], "score": [1.0]})
    partial = evaluate(ranking, gold, genes=genes)
    assert (partial["universe"], partial["n_candidates"]) == ("targets", 2 * 19)
    whole = evaluate(ranking, gold, genes=genes, universe="all")
    assert (whole["universe"], whole["n_candidates"]) == ("all", 20 * 19)
    assert evaluate(PERFECT, GOLD, genes=GENES)["universe"] == "all"


def test_a_directed_network_is_judged_edge_by_edge() -> None:
    network = pd.DataFrame({"source": ["a", "c", "d"], "target": ["b", "b", "a"]})
    found = evaluate(PERFECT, GOLD, genes=GENES, network=network)["network"]
    assert found == {
        "directed": True,
        "n_edges": 3,
        "n_edges_judged": 3,
        "true_positives": 1,
        "false_positives": 2,
        "false_negatives": 1,
        "true_negatives": 8,
        "precision": pytest.approx(1 / 3),
        "recall": 0.5,
        "sensitivity": 0.5,
        "specificity": 0.8,
        "verdicts": "+--",
    }


def test_each_edge_has_the_verdict_of_what_the_gold_standard_judges() -> None:
    genes = [f"g{k}" for k in range(20)]
    gold = pd.DataFrame({"source": ["g0", "g0"], "target": ["g1", "g2"]})
    network = pd.DataFrame({"source": ["g0", "g1", "g5"], "target": ["g1", "g7", "g2"]})
    found = evaluate(network.assign(score=1.0), gold, genes=genes, network=network)["network"]
    assert found["verdicts"] == "+.-"


def test_an_undirected_network_is_judged_on_pairs() -> None:
    network = pd.DataFrame({"source": ["b", "c", "d"], "target": ["a", "b", "a"]})
    found = evaluate(PERFECT, GOLD, genes=GENES, network=network, network_directed=False)
    found = found["network"]
    assert (found["true_positives"], found["false_positives"]) == (2, 1)
    assert (found["false_negatives"], found["true_negatives"]) == (0, 3)


def test_an_edge_with_several_rows_counts_once() -> None:
    once = pd.DataFrame({"source": ["b", "c", "d"], "target": ["a", "b", "a"]})
    modes = once.iloc[[0, 2, 1, 0]]
    expected = evaluate(PERFECT, GOLD, genes=GENES, network=once, network_directed=False)
    found = evaluate(PERFECT, GOLD, genes=GENES, network=modes, network_directed=False)
    assert expected["network"]["verdicts"] == "++-"
    assert found["network"] == expected["network"] | {"verdicts": "+-++"}


def test_an_empty_network_has_no_precision() -> None:
    found = evaluate(PERFECT, GOLD, genes=GENES, network=PERFECT[:0])["network"]
    assert found["precision"] is None
    assert found["specificity"] == 1
    assert found["verdicts"] == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"gold": GOLD.assign(source="x")},
            r"none of the 2 gold .* \(2 with a name that is not in the table, such as 'x'\)",
        ),
        (
            {"gold": GOLD.rename(columns={"source": "regulator"})},
            "gold standard: found no column source; expected source, target",
        ),
        ({"ranking": PERFECT.drop(columns="score")}, "ranking: found no column score; expected"),
        ({"network": PERFECT[["score"]]}, "network: found no column source, target"),
        ({"ranking": PERFECT.assign(target="x")}, "ranking: target x is not among the genes"),
        ({"network": PERFECT.assign(source=7)}, "network: source 7 is not among the genes"),
        ({"ranking": pd.concat([PERFECT, PERFECT])}, "'a' -> 'b' occurs twice"),
        ({"genes": ["a", "a"]}, "gene 'a' is named twice"),
        ({"universe": "gold"}, "expected one of auto, all, targets"),
        (
            {
                "gold": pd.DataFrame({"source": ["a", "b"], "target": ["b", "a"]}),
                "genes": ["a", "b"],
            },
            "every candidate edge is true",
        ),
    ],
)
def test_bad_evaluation_input_is_refused_with_a_reason(
    change: dict[str, Any], message: str
) -> None:
    valid: dict[str, Any] = {"ranking": PERFECT, "gold": GOLD, "genes": GENES}
    if "genes" in change and "gold" in change:
        valid["ranking"] = PERFECT[:1]
    with pytest.raises(ValueError, match=message):
        evaluate(**(valid | change))


def test_gold_standards_and_regulators_are_found_in_another_spelling() -> None:
    gold = GOLD.assign(source=GOLD["source"].str.upper())
    found = pairtile.evaluate(PERFECT, gold, genes=GENES, regulators=["A", "b"])
    assert found == evaluate(PERFECT, GOLD, genes=GENES, regulators=["a", "b"])
