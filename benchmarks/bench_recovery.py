"""Are the true predictors of simulated Boolean networks found? ``make quality`` writes the answer.

Networks of 60 genes with two predictors each (``pairtile.simulate``), searched by
``pairtile.predictor_pairs`` with default settings unless a row says otherwise; and the reference
sets bool60 and bool60noisy in ../shared/golden, where they are there.
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pairtile import evaluate, predictor_edges, predictor_pairs, simulate_boolean

from benchmarks.machine import write

GOLDEN = Path(__file__).resolve().parent.parent.parent / "shared/golden/predictor_pairs"
GENES = 60
SEEDS = range(1, 11)
SAMPLES = (25, 50, 100, 200)
NOISE = (0.0, 0.03, 0.1)
STEPS = 5
"""Samples of a series: a long one soon goes round in a circle and tells nothing new."""
PERMUTATIONS = 199
STAY = (0.5, 0.7, 0.85)
"""Chance that an independent gene keeps its level from one sample to the next."""

COURSES: dict[str, dict[str, Any]] = {
    "Erdős-Rényi, series of 5": {},
    "Barabási-Albert, series of 5": {"topology": "barabasi_albert"},
    "Erdős-Rényi, one series": {"steps": None},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "as above": {},
    "`penalty: none`": {"penalty": "none"},
    "`penalty: poor_obs`": {"penalty": "poor_obs"},
    "`alpha: 0.2`": {"alpha": 0.2},
    "`alpha: 5`": {"alpha": 5.0},
    "five series of 10": {"steps": 10},
    "two series of 25": {"steps": 25},
    "one series of 50": {"steps": 50},
    "one series of 50, 2 % random levels": {"steps": 50, "perturbation": 0.02},
    "three levels": {"levels": 3},
    "three levels, `penalty: none`": {"levels": 3, "penalty": "none"},
}
"""With 50 samples and noise 0.03."""

PAIR = ["predictor_1", "predictor_2"]
EXCLUSIVE = ("XOR", "XNOR", "A XOR B", "A XNOR B")


def found(sets: pd.DataFrame, truth: pd.DataFrame) -> dict[str, int]:
    """How many targets have their true pair first, and among the sets reported.

    ``truth``: ``target``, ``predictor_1``, ``predictor_2``, ``function``, labelled as in ``sets``.
    Targets that do not vary over the samples are counted (``constant``) and left out.
    """
    edges = {(t, p) for name in PAIR for t, p in zip(truth["target"], truth[name], strict=True)}
    hits = [
        sum((row[0], predictor) in edges for predictor in row[1:])
        for row in sets[["target", *PAIR]].itertuples(index=False)
    ]
    table = sets.assign(hits=hits)
    table = table[table["target_entropy_bits"] > 0.0]
    best = table[table["rank"] == 1]
    exclusive = best["target"].isin(truth["target"][truth["function"].isin(EXCLUSIVE)])
    return {
        "targets": len(best),
        "constant": len(truth) - len(best),
        "best_is_true": int((best["hits"] == 2).sum()),
        "true_in_top": int(table["target"][table["hits"] == 2].nunique()),
        "one_or_two_right": int((best["hits"] > 0).sum()),
        "exclusive_targets": int(exclusive.sum()),
        "exclusive_best_is_true": int((exclusive & (best["hits"] == 2)).sum()),
        "best_is_tied": int((best["n_ties"] > 1).sum()),
    }


def simulated(
    samples: int = 50,
    noise: float = 0.03,
    topology: str = "erdos_renyi",
    steps: int | None = STEPS,
    levels: int = 2,
    perturbation: float = 0.0,
    **search: Any,
) -> dict[str, float]:
    """``found``, summed over ``SEEDS``, with the mean AUPR of the edges, and what it would be if
    edges were ranked by the information of their set. ``steps`` None: one series, but for new
    starts where it would repeat itself. With permutations, the same of the best sets with a
    q-value of at most 0.05, as ``fdr_...``."""
    steps = steps or samples
    total: dict[str, float] = {}
    for seed in SEEDS:
        simulation = simulate_boolean(
            GENES,
            steps,
            samples // steps,
            topology=topology,
            levels=levels,
            noise=noise,
            perturbation=perturbation,
            seed=seed,
        )
        settings: dict[str, Any] = {"permutations": 0, "backend": "cpu"} | search
        sets = predictor_pairs(levels=simulation, **settings)
        numbers: dict[str, float] = dict(found(sets, simulation.truth))
        edges = predictor_edges(sets, "all")
        for key, score in (("aupr", "score"), ("aupr_by_mi", "mi_bits")):
            ranking = edges.assign(score=edges[score])
            judged = evaluate(ranking, simulation.edges, genes=simulation.genes)
            numbers[key] = judged["aupr"]
        kept = found(sets[sets["q_value"] <= 0.05], simulation.truth)
        numbers |= {f"fdr_{key}": kept[key] for key in ("targets", "one_or_two_right")}
        for key, value in numbers.items():
            total[key] = total.get(key, 0) + value
    for key in ("aupr", "aupr_by_mi"):
        total[key] = round(total[key] / len(SEEDS), 4)
    return total


def information(of: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Mutual information in bits of two-level rows with two-level rows: float64 (of, on)."""
    n, found = of.shape[1], np.zeros((len(of), len(on)))
    for a in (0, 1):
        for b in (0, 1):
            one, other = (of == a).astype(float), (on == b).astype(float)
            joint = one @ other.T / n
            apart = np.outer(one.mean(axis=1), other.mean(axis=1))
            found += joint * np.log2(np.where(joint > 0, joint, 1) / np.where(joint > 0, apart, 1))
    return found


def pairwise(topology: str, steps: int, noise: float, samples: int = 50) -> dict[str, float]:
    """Mean AUPR of edges ranked gene by gene, as minet does (Meyer et al. 2008): by mutual
    information of a gene with the next level of another, CLR of it, ARACNE's pruning of it, and
    MRNET, which takes predictors one after the other, each by what it says of the target less what
    it says on average of those taken; and of those of the best pairs."""
    total = dict.fromkeys(("pairs", "mi", "clr", "aracne", "mrnet"), 0.0)
    for seed in SEEDS:
        made = simulate_boolean(
            GENES, steps, samples // steps, topology=topology, noise=noise, seed=seed
        )
        follows = np.array([a == b for a, b in itertools.pairwise(made.series)])
        now, then = made.levels[:, :-1][:, follows], made.levels[:, 1:][:, follows]
        mi, beside = information(now, then), information(now, now)
        np.fill_diagonal(mi, 0.0)  # a gene is not its own predictor
        z = [
            (mi - mi.mean(axis=k, keepdims=True)) / mi.std(axis=k, keepdims=True).clip(1e-12)
            for k in (0, 1)
        ]
        scores = {"mi": mi, "clr": np.hypot(*(each.clip(0.0) for each in z))}
        # An edge is indirect where another gene says more of both of its ends.
        weaker = np.minimum(beside[:, :, None], mi[None])  # source, third gene, target
        weaker[np.arange(GENES), np.arange(GENES)] = 0.0
        scores["aracne"] = np.where(weaker.max(axis=1) > mi, 0.0, mi)
        scores["mrnet"] = np.stack([mrnet(mi[:, k], beside) for k in range(GENES)], axis=1)
        sets = predictor_pairs(levels=made, permutations=0, backend="cpu")
        rankings = {"pairs": predictor_edges(sets, "all")}
        source, target = np.nonzero(~np.eye(GENES, dtype=bool))
        names = np.array(made.genes)
        for name, score in scores.items():
            edges = {"source": names[source], "target": names[target]}
            table = pd.DataFrame(edges | {"score": score[source, target]})
            rankings[name] = table.sort_values("score", ascending=False, kind="stable")
        for name, ranking in rankings.items():
            judged = evaluate(ranking, made.edges, genes=made.genes)
            total[name] += judged["aupr"] / len(SEEDS)
    return {name: round(value, 4) for name, value in total.items()}


def mrnet(relevance: np.ndarray, redundancy: np.ndarray) -> np.ndarray:
    """Score of each candidate of one target, taken greedily."""
    score, left, taken = np.zeros(relevance.size), list(range(relevance.size)), []
    while left:
        gain = relevance[left]
        if taken:
            gain = gain - redundancy[np.ix_(left, taken)].mean(axis=1)
        best = int(np.argmax(gain))
        score[left[best]] = gain[best]
        taken.append(left.pop(best))
    return score


def independent(stay: float, samples: int, seed: int) -> np.ndarray:
    """Levels of genes that have nothing to do with each other, each going its own way: two levels,
    kept from one sample to the next with this chance. int8 (genes, samples)."""
    random = np.random.default_rng([seed, samples])
    start = random.integers(0, 2, (GENES, 1))
    changes = random.random((GENES, samples - 1)) >= stay
    return np.concatenate([start, start + np.cumsum(changes, axis=1)], axis=1) % 2


def false_positives(stay: float, samples: int) -> dict[str, float]:
    """Share of independent genes whose best pair has p <= 0.05, for each kind of null."""
    shares = {}
    for null in ("permutation", "circular_shift"):
        p_values = [
            predictor_pairs(
                levels=independent(stay, samples, seed),
                null=null,
                permutations=PERMUTATIONS,
                top=1,
                backend="cpu",
            )["p_value"]
            for seed in SEEDS
        ]
        shares[null] = round(float((pd.concat(p_values) <= 0.05).mean()), 4)
    return shares


def reference(name: str) -> dict[str, int]:
    """``found`` for a reference set."""
    table = pd.read_csv(GOLDEN / f"{name}.data.tsv", sep="\t", header=None, index_col=0)
    truth = pd.read_csv(GOLDEN / "bool60.truth.tsv", sep="\t")
    truth = truth.rename(columns={"x1": "predictor_1", "x2": "predictor_2"})
    return found(predictor_pairs(levels=table.to_numpy(), permutations=0, backend="cpu"), truth)


def rankings() -> dict[str, dict[str, float]]:
    """``pairwise`` of the courses, with 50 samples."""
    return {
        f"{topology}, series of {steps}, noise {noise:g}": pairwise(topology, steps, noise)
        for topology, steps in (("erdos_renyi", 5), ("barabasi_albert", 5), ("erdos_renyi", 50))
        for noise in NOISE
    }


def share(numbers: dict[str, float], key: str, of: str = "targets") -> str:
    """A percentage, for the table."""
    return f"{100 * numbers[key] / numbers[of]:.0f}" if numbers[of] else "-"


def row(*cells: str) -> None:
    """A row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """All networks, printed as tables and written to ``results/recovery.MACHINE.json``."""
    warnings.simplefilter("ignore")  # ties and constant genes: the numbers tell
    by_samples: dict[str, Any] = {}
    row("network", "noise", *(f"{n} samples" for n in SAMPLES))
    for name, course in COURSES.items():
        for noise in NOISE:
            numbers = {n: simulated(n, noise, permutations=PERMUTATIONS, **course) for n in SAMPLES}
            by_samples[f"{name}, noise {noise:g}"] = {str(n): v for n, v in numbers.items()}
            first = [share(v, "best_is_true") for v in numbers.values()]
            listed = [share(v, "true_in_top") for v in numbers.values()]
            cells = [f"{a} / {b}" for a, b in zip(first, listed, strict=True)]
            row(name, f"{noise:g}", *cells)
    by_setting: dict[str, Any] = {}
    row("50 samples, noise 0.03", "first", "top 10", "one right", "XOR first", "tied", "AUPR")
    for label, changes in SETTINGS.items():
        value = by_setting[label] = simulated(**changes)
        cells = [share(value, key) for key in ("best_is_true", "true_in_top", "one_or_two_right")]
        cells.append(share(value, "exclusive_best_is_true", "exclusive_targets"))
        row(label, *cells, share(value, "best_is_tied"), f"{value['aupr']:.2f}")
    by_chance: dict[str, Any] = {}
    row("p <= 0.05 of independent genes", "permutation", "circular shift")
    for stay in STAY:
        for samples in SAMPLES[1:]:
            shares = by_chance[f"stay {stay:g}, {samples} samples"] = false_positives(stay, samples)
            row(f"{stay:g}, {samples} samples", *(f"{100 * x:.1f} %" for x in shares.values()))
    results: dict[str, Any] = {"genes": GENES, "seeds": len(SEEDS), "permutations": PERMUTATIONS}
    results |= {"by_samples": by_samples, "by_setting": by_setting, "by_chance": by_chance}
    results["pairwise"] = rankings()
    if GOLDEN.is_dir():
        results["reference"] = {name: reference(name) for name in ("bool60", "bool60noisy")}
        print(results["reference"])
    print(write("recovery", "cpu", results))


if __name__ == "__main__":
    main()
