"""Transfer entropy of every ordered pair: does it find who drives whom, and how long does it take?

    PYTHONPATH=workflow python -m benchmarks.bench_transfer_entropy truth
    PYTHONPATH=workflow python -m benchmarks.bench_transfer_entropy cpu|cuda

The first writes ``transfer_truth``: area under the precision-recall curve and direction accuracy
(share of the true edges without a reverse one whose score is higher than that of the reverse) on
simulated courses, beside lagged correlation, Granger causality, extra trees (where scikit-learn is
installed) and the kernel estimate of TENET. The second writes ``transfer_entropy``: seconds from
memory (scores of all pairs, at two lags) and from a file to the network, on the clock and, on the
CPU, of all cores together.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pairtile
import pandas as pd
from numpy.typing import NDArray
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs.transfer_entropy import (
    score_transfer,
    statistic,
    target_cells,
)

from benchmarks.machine import timed, write

GENES, SERIES, STEPS = 40, 8, 25
SEEDS = range(5)
Values = NDArray[np.float64]
"""float64 (genes, series, steps)"""


# --- courses --------------------------------------------------------------------------------------


def edges_of(draw: np.random.Generator) -> NDArray[np.bool_]:
    """A random network without loops to itself: bool (sources, targets), two sources a target."""
    edges = np.zeros((GENES, GENES), dtype=bool)
    for target in range(GENES):
        others = np.delete(np.arange(GENES), target)
        edges[draw.choice(others, 2, replace=False), target] = True
    return edges


def autoregressive(draw: np.random.Generator) -> tuple[Values, NDArray[np.bool_]]:
    """Linear: half of its former value, and its two sources one step before."""
    edges = edges_of(draw)
    weights = edges * draw.choice([-0.4, 0.4], edges.shape)
    values = draw.standard_normal((GENES, SERIES, STEPS))
    for t in range(1, STEPS):
        before = values[:, :, t - 1]
        values[:, :, t] = 0.5 * before + weights.T @ before + 0.7 * values[:, :, t]
    return values, edges


def kinetic(draw: np.random.Generator) -> tuple[Values, NDArray[np.bool_]]:
    """Transcription with saturation (Hill exponent 4, both sources together) and decay, Langevin
    noise and a noisy measurement; one sample each quarter of a half-life of two."""
    edges = edges_of(draw)
    activates = draw.random(edges.shape) < 0.5
    x = draw.uniform(0, 1, (GENES, SERIES))
    kept = []
    for t in range(20 * STEPS):
        hill = x**4 / (x**4 + 0.4**4)
        terms = np.where(activates[..., None], hill[:, None], 1 - hill[:, None])
        made = np.prod(np.where(edges[..., None], terms, 1.0), axis=0)
        noise = np.sqrt(0.05) * draw.standard_normal(x.shape) * 0.3
        x = np.clip(x + 0.05 * (made - x) + np.sqrt(0.05 * 2) * noise, 0, None)
        if t % 20 == 19:
            kept.append(x * np.exp(0.05 * draw.standard_normal(x.shape)))
    return np.stack(kept, axis=2), edges


def boolean(draw: np.random.Generator) -> tuple[Values, NDArray[np.bool_]]:
    """``simulate_boolean``: two sources, random functions; 2 % of the levels set at random."""
    made = pairtile.simulate_boolean(
        n_genes=GENES,
        n_series=SERIES,
        n_steps=STEPS,
        perturbation=0.05,
        noise=0.02,
        seed=int(draw.integers(1 << 30)),
    )
    place = {name: k for k, name in enumerate(made.genes)}
    edges = np.zeros((GENES, GENES), dtype=bool)
    edges[made.edges["source"].map(place), made.edges["target"].map(place)] = True
    return made.levels.astype(float).reshape(GENES, SERIES, STEPS), edges


# --- scores: (sources, targets) -------------------------------------------------------------------


def before_and_after(values: Values) -> tuple[Values, Values]:
    return values[:, :, :-1].reshape(GENES, -1), values[:, :, 1:].reshape(GENES, -1)


def transfer_entropy(values: Values) -> Values:
    samples = [f"s{k}" for k in range(SERIES * STEPS)]
    table = pd.DataFrame(values.reshape(GENES, -1), columns=samples)
    table.index = pd.Index([f"g{k}" for k in range(GENES)])
    binary = len(np.unique(values)) == 2
    series = pd.DataFrame({"series": np.repeat(range(SERIES), STEPS)}, index=samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = pairtile.analyse(
            "predictor_pairs",
            **({"levels": table} if binary else {"expression": table}),
            series=series,
            score="transfer_entropy",
            keep={"p_value": 1.0},
            dpi=False,
            backend="cpu",
        ).network
    scores = np.zeros((GENES, GENES))
    source, target = (network[end].str[1:].astype(int) for end in ("source", "target"))
    scores[source, target] = network["te_bits"]
    return scores


def lagged_correlation(values: Values) -> Values:
    before, after = before_and_after(values)
    return np.abs(np.nan_to_num(np.corrcoef(before, after)[:GENES, GENES:]))


def granger(values: Values) -> Values:
    """F of the source beside the target's own past, by least squares."""
    before, after = before_and_after(values)
    scores = np.zeros((GENES, GENES))
    ones = np.ones(before.shape[1])
    for target in range(GENES):
        own = np.stack([ones, before[target]])
        alone = _residual(own, after[target])
        for source in range(GENES):
            both = _residual(np.vstack([own, before[source]]), after[target])
            scores[source, target] = (alone - both) / max(both, 1e-12)
    return scores


def _residual(columns: Values, y: Values) -> float:
    fitted = np.linalg.lstsq(columns.T, y, rcond=None)[0] @ columns
    return float(((y - fitted) ** 2).sum())


def extra_trees(values: Values) -> Values:
    """Importances in predicting the change of each target from all genes, as in dynGENIE3 without
    its decay."""
    from sklearn.ensemble import ExtraTreesRegressor

    before, after = before_and_after(values)
    scores = np.zeros((GENES, GENES))
    for target in range(GENES):
        trees = ExtraTreesRegressor(100, max_features="sqrt", random_state=0)
        trees.fit(before.T, after[target] - before[target])
        scores[:, target] = trees.feature_importances_
    return scores


def tenet(values: Values) -> Values:
    """TENET's definition: transfer entropy with history 1 by a box kernel of half a standard
    deviation to either side (the kernel estimator of JIDT with its width of 0.5, normalised)."""
    before, after = before_and_after(values)
    near_before, near_after = (
        np.abs(v[:, :, None] - v[:, None, :]) <= 0.5 * v.std(axis=1)[:, None, None] + 1e-12
        for v in (before, after)
    )
    scores = np.zeros((GENES, GENES))
    for target in range(GENES):
        past, step = near_before[target], near_before[target] & near_after[target]
        of_past, of_step = past.sum(axis=1), step.sum(axis=1)
        for source in range(GENES):
            joint = (step & near_before[source]).sum(axis=1)
            with_source = (past & near_before[source]).sum(axis=1)
            ratio = joint * of_past / (with_source * of_step)
            scores[source, target] = np.log2(ratio).mean()
    return scores


METHODS: dict[str, Callable[[Values], Values]] = {
    "transfer entropy": transfer_entropy,
    "lagged correlation": lagged_correlation,
    "Granger": granger,
    "extra trees": extra_trees,
    "TENET's kernel": tenet,
}
COURSES = {"autoregressive": autoregressive, "kinetic": kinetic, "Boolean": boolean}


def measures(scores: Values, edges: NDArray[np.bool_]) -> dict[str, float]:
    """AUPR over all ordered pairs (mean precision at each true edge, ties at their mean rank), and
    direction accuracy (a tie counts half)."""
    off = ~np.eye(GENES, dtype=bool)
    score, true = scores[off], edges[off]
    jitter = np.random.default_rng(0).permutation(score.size)  # equal scores: in random order
    order = np.lexsort((jitter, -score))
    hits = np.cumsum(true[order])
    precision = hits / np.arange(1, hits.size + 1)
    one_way = edges & ~edges.T
    right = np.where(scores > scores.T, 1.0, np.where(scores == scores.T, 0.5, 0.0))
    return {
        "aupr": float(precision[true[order]].mean()),
        "direction": float(right[one_way].mean()),
    }


def truth() -> dict[str, Any]:
    """Means over the networks of each kind."""
    found: dict[str, Any] = {"random_aupr": 2 / (GENES - 1)}
    for kind, make in COURSES.items():
        found[kind] = {}
        made = [make(np.random.default_rng([seed, 91])) for seed in SEEDS]
        for name, score in METHODS.items():
            try:
                each = [measures(score(values), edges) for values, edges in made]
            except ModuleNotFoundError:
                continue
            found[kind][name] = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
            print(kind, name, found[kind][name], flush=True)
    return found


# --- speed ----------------------------------------------------------------------------------------


def speed(backend: str) -> dict[str, Any]:
    """Of tables of unrelated levels that stay half of the time."""
    sizes = [1000, 5000] + ([20_000] if backend == "cuda" else [])
    found = {}
    for genes in sizes:
        for levels in (2, 3):
            for samples in (50, 500):
                case = f"{genes} genes, {samples} samples, {levels} levels"
                found[case] = _case(genes, samples, levels, backend)
                print(case, found[case], flush=True)
    return found


def _case(genes: int, samples: int, levels: int, backend: str) -> dict[str, Any]:
    draw = np.random.default_rng(1)
    table = draw.integers(levels, size=(genes, samples)).astype(np.int8)
    for t in range(1, samples):
        stays = draw.random(genes) < 0.5
        table[stays, t] = table[stays, t - 1]
    begin = time.process_time()
    scored = timed(lambda: [*_scores(table, levels, backend)], repeats=1)["seconds"]
    on_cores = (time.process_time() - begin) / 2  # of two calls
    result: dict[str, Any] = {"scores_seconds": scored, "pairs_per_second": genes**2 / scored}
    if backend == "cpu":
        result["pairs_per_core_second"] = genes**2 / on_cores
    if genes > 5000 and samples < 500:
        return result
    with tempfile.TemporaryDirectory() as folder:
        names = [f"g{k}" for k in range(genes)]
        columns = [f"s{k}" for k in range(samples)]
        file = Path(folder) / "levels.parquet"
        pd.DataFrame(table, index=pd.Index(names, name="gene"), columns=columns).to_parquet(file)
        begin, cores_begin = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = pairtile.analyse(
                "predictor_pairs",
                levels=str(file),
                score="transfer_entropy",
                lag=[1, 2],
                backend=backend,
            )
        result["file_to_network_seconds"] = time.perf_counter() - begin
        result["file_to_network_core_seconds"] = time.process_time() - cores_begin
        result["edges"] = len(made.network)
        result["steps"] = {
            name: round(step["seconds"], 2) for name, step in made.summary["steps"].items()
        }
    return result


def _scores(table: NDArray[np.int8], levels: int, backend: str) -> Iterator[None]:
    """Score all pairs, block by block."""
    device = choose(backend)
    cells = target_cells(table[None, :, 1:-1], table[:, 2:], levels)
    sources = np.stack([table[:, 1:-1], table[:, :-2]], axis=1)
    for row in range(0, len(table), 1024):
        for column in range(0, len(table), 4096):
            block = sources[row : row + 1024], cells[column : column + 4096]
            statistic(score_transfer(*block, levels**2, levels, 1, device), device)
            yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["truth", "cpu", "cuda"])
    what = parser.parse_args().what
    if what == "truth":
        print(write("transfer_truth", "cpu", truth()))
    else:
        print(write("transfer_entropy", what, speed(what)))


if __name__ == "__main__":
    main()
