"""Whether p- and q-values of ``predictor_pairs`` hold, and drifts are warned of.

PYTHONPATH=workflow python -m benchmarks.validity predictor_pairs [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import predictor_pairs

from benchmarks.validity.claims import claim, claim_of_mean, of_share
from benchmarks.validity.unstated import hidden

COMMAND = "python -m benchmarks.validity predictor_pairs"
GENES, SAMPLES = 40, 100
LEVEL, BAR = 0.05, 0.07


def levels(draw: np.random.Generator, stays: float) -> pd.DataFrame:
    """Unrelated binary genes that keep their level at a step with this chance."""
    changes = draw.random((GENES, SAMPLES)) >= stays
    return named((np.cumsum(changes, axis=1) + draw.integers(2, size=(GENES, 1))) % 2)


def short_series(draw: np.random.Generator, stays: float) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Unrelated genes of three levels in eight series of twelve samples."""
    fresh = draw.integers(3, size=(GENES, 8, 12))
    fresh[..., 1:][draw.random((GENES, 8, 11)) < stays] = -1
    for t in range(1, 12):
        fresh[..., t] = np.where(fresh[..., t] < 0, fresh[..., t - 1], fresh[..., t])
    return named(fresh.reshape(GENES, -1)), np.repeat(np.arange(8), 12)


def drifting(draw: np.random.Generator, size: float) -> pd.DataFrame:
    """Unrelated genes that rise or fall all along, by so many SD up and down."""
    drift = np.linspace(-size, size, SAMPLES) * draw.choice([-1, 1], size=(GENES, 1))
    return named((draw.standard_normal((GENES, SAMPLES)) + drift > 0).astype(int))


def replicates(
    draw: np.random.Generator, number: int, steps: int, driven: int = 0
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Genes that respond smoothly to one stimulus, 70 % of their variance, in so many replicates;
    what is left of the last ``driven`` genes follows that of the first ones a step later."""
    time = np.linspace(0.0, 1.0, steps)
    smooth = np.exp(-((time[:, None] - time) ** 2) / (2 * 0.25**2)) + 1e-6 * np.eye(steps)
    response = draw.standard_normal((GENES, steps)) @ np.linalg.cholesky(smooth).T
    response -= response.mean(axis=1, keepdims=True)
    response /= response.std(axis=1, keepdims=True)
    own = draw.standard_normal((GENES, number, steps))
    for k in range(driven):
        own[-1 - k, :, 1:] = 0.8 * own[k, :, :-1] + 0.6 * own[-1 - k, :, 1:]
    values = np.sqrt(0.7) * response[:, None] + np.sqrt(0.3) * own
    return named(values.reshape(GENES, -1)), np.repeat(np.arange(number), steps)


def named(values: NDArray[Any]) -> pd.DataFrame:
    return pd.DataFrame(values, index=[f"g{k}" for k in range(len(values))])


def false_positives(
    scenario: str, tables: list[dict[str, Any]], bar: float | None = BAR
) -> dict[str, Any]:
    """Share of targets whose best pair has p <= 0.05, mean of tables; without a bar it is shown."""
    shares = []
    for seed, table in enumerate(tables):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = predictor_pairs(**table, top=1, seed=seed, backend="cpu")
        best = found.drop_duplicates("target")
        shares.append(float((best["p_value"] <= LEVEL).mean()))
    return claim_of_mean(scenario, "targets with p ≤ 0.05", shares, LEVEL, COMMAND, high=bar)


def found_among_replicates(seeds: range) -> dict[str, Any]:
    """Share of driven targets that are found where replicates respond to one stimulus."""
    driven, found = 10, []
    for seed in seeds:
        table, series = replicates(np.random.default_rng([seed, 11]), 8, 12, driven)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sets = predictor_pairs(table, series=series, top=1, seed=seed, backend="cpu")
        p = sets.set_index("target")["p_value"]
        found.append(float((p[table.index[-driven:]] <= LEVEL).mean()))
    scenario = "8 replicates of 12 samples of one stimulus, 10 of 40 genes driven by another"
    return claim_of_mean(scenario, "driven targets with p ≤ 0.05", found, 1.0, COMMAND)


def driven_by_pairs(
    draw: np.random.Generator, stays: float, bystanders: int
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Five series of 15 binary samples: ten genes are AND, OR or XOR of two others each, one or two
    steps before; bystanders keep their level with this chance, and nothing acts on them."""
    fresh = draw.integers(2, size=(30 + bystanders, 5, 15))
    for t in range(1, 15):
        kept = draw.random(fresh.shape[:2]) < stays
        fresh[..., t] = np.where(kept, fresh[..., t - 1], fresh[..., t])
    for k in range(10):
        a, b, lag = fresh[10 + 2 * k], fresh[11 + 2 * k], 1 + k % 2
        fresh[k, :, lag:] = [a & b, a | b, a ^ b][k % 3][:, :-lag]
    return named(fresh.reshape(len(fresh), -1)), np.repeat(np.arange(5), 15)


def false_discoveries(seeds: range, stays: float, bystanders: int) -> list[dict[str, Any]]:
    """Share of bystanders among the targets with q <= 0.05, and of driven genes found; two lags."""
    false, found = [], []
    for seed in seeds:
        table, series = driven_by_pairs(np.random.default_rng([seed, 41]), stays, bystanders)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sets = predictor_pairs(levels=table, series=series, lag=[1, 2], top=1, seed=seed)
        kept = sets[sets["q_value"] <= LEVEL]
        number = kept["target"].str[1:].astype(int)
        false.append(float((number >= 30).sum() / max(len(kept), 1)))
        pairs = zip(number, kept["predictor_1"], kept["predictor_2"], strict=True)
        right = [(k, f"g{10 + 2 * k}", f"g{11 + 2 * k}") for k in range(10)]
        found.append(len(set(pairs) & set(right)) / 10)
    scenario = f"10 genes of {30 + bystanders} driven by pairs, lags 1 and 2, levels kept {stays}"
    what = "bystanders among targets with q ≤ 0.05"
    return [
        claim_of_mean(scenario, what, false, LEVEL, COMMAND, high=0.06),
        claim_of_mean(scenario, "driven genes with their pair, q ≤ 0.05", found, 1.0, COMMAND),
    ]


def warned_of(scenario: str, tables: list[pd.DataFrame]) -> dict[str, Any]:
    """Tables whose drifts are warned of."""
    warned = 0
    for seed, table in enumerate(tables):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            predictor_pairs(levels=table, top=1, seed=seed, backend="cpu")
        warned += any("drift along their series" in str(w.message) for w in caught)
    return claim(
        scenario,
        "tables that are warned of",
        warned / len(tables),
        of_share(warned, len(tables)),
        nominal=1.0,
        bar="1",
        passed=warned == len(tables),
        command=COMMAND,
    )


def run(quick: bool) -> list[dict[str, Any]]:
    """All claims, ``quick`` or not: they take a minute, and fewer tables would fail by chance."""
    seeds = range(10)
    rows = []
    for stays in (0.5, 0.7, 0.85, 0.95):
        draws = [np.random.default_rng([seed, int(100 * stays)]) for seed in seeds]
        scenario = f"unrelated binary genes, level kept with chance {stays}"
        tables = [{"levels": levels(d, stays)} for d in draws]
        rows.append(false_positives(scenario, tables))
        permuted = [table | {"null": "permutation"} for table in tables]
        rows.append(false_positives(f"{scenario}, levels permuted", permuted, bar=None))
    for stays in (0.5, 0.7):
        courses = [short_series(np.random.default_rng([s, int(100 * stays)]), stays) for s in seeds]
        scenario = f"eight series of 12 samples, three levels, kept with chance {stays}"
        rows.append(false_positives(scenario, [{"levels": a, "series": b} for a, b in courses]))
    for number, steps in ((5, 8), (6, 5), (5, 12), (3, 8), (3, 12)):
        courses = [replicates(np.random.default_rng([s, steps, 31]), number, steps) for s in seeds]
        scenario = f"{number} replicates of {steps} samples, unrelated genes that respond alike"
        tables = [{"expression": a, "series": b} for a, b in courses]
        rows.append(false_positives(scenario, tables))
    rows.append(found_among_replicates(seeds))
    tables = range(10 if quick else 40)
    for stays, bystanders in ((0.5, 50), (0.7, 50), (0.7, 170)):
        rows += false_discoveries(tables, stays, bystanders)
    for kind in ("a hidden factor", "8 batches"):
        draws = [np.random.default_rng([seed, 22]) for seed in seeds]
        values = [named(hidden(d, d.standard_normal((60, SAMPLES)), kind)) for d in draws]
        asked = {"lag": 0, "preprocess": {"hidden_factors": "auto"}}
        scenario = f"{kind}, 60 unrelated genes, hidden_factors: auto"
        rows.append(false_positives(scenario, [{"expression": v} | asked for v in values]))
    for size, how in ((2.0, "far"), (1.0, "a little")):
        drifts = [drifting(np.random.default_rng(seed), size) for seed in seeds]
        rows.append(warned_of(f"unrelated genes that drift {how} (SD {size:g})", drifts))
    return rows
