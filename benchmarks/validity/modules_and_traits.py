"""Whether modules are shown in noise, and p-values of traits hold.

PYTHONPATH=workflow python -m benchmarks.validity modules_and_traits [--quick]
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import find_modules, module_traits
from pairtile.downstream import module_quality

from benchmarks.validity.claims import claim, claim_of_mean, of_share

COMMAND = "python -m benchmarks.validity modules_and_traits"
LEVEL = 0.05
Floats = NDArray[np.float64]


class Noise(NamedTuple):
    """Tables without modules, and how they are searched."""

    name: str
    samples: int
    kind: str
    settings: dict[str, Any]
    batches: int = 0


NOISE = (
    Noise("noise, 200 genes x 14, wgcna of power 2", 14, "t", {"power": 2}),
    Noise("noise, 200 genes x 12, signed wgcna", 12, "normal", {"network_type": "signed"}),
    Noise("skewed noise, 200 genes x 20, wgcna of power 1", 20, "lognormal", {"power": 1}),
    Noise("noise in 4 batches, 200 genes x 32, wgcna of power 3", 32, "normal", {"power": 3}, 4),
)


def noise(draw: np.random.Generator, what: Noise) -> tuple[Floats, NDArray[np.int64] | None]:
    """Unrelated genes; with batches, each shifted by each batch."""
    shape = (200, what.samples)
    values = {"t": draw.standard_t(4, shape), "normal": draw.standard_normal(shape)}.get(what.kind)
    if values is None:
        values = np.exp(draw.standard_normal(shape))
    if not what.batches:
        return values, None
    batch = np.arange(what.samples) * what.batches // what.samples
    return values + draw.standard_normal((200, what.batches))[:, batch], batch


def modules_in_noise(what: Noise, seeds: range) -> list[dict[str, Any]]:
    """Share of tables in which any module is shown, and in which WGCNA's search finds one."""
    shown = searched = 0
    for seed in seeds:
        values, batch = noise(np.random.default_rng([41, seed]), what)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_modules(
                values, batch=batch, seed=seed, max_p=LEVEL, backend="cpu", **what.settings
            )
        shown += len(found.summary) > 0
        searched += len(found.summary) > 0 or bool(found.modules.attrs["removed"])
    n = len(seeds)
    bar = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    stated = {"nominal": LEVEL, "bar": f"at most {bar:.2g}", "passed": shown / n <= bar}
    compare = {"nominal": LEVEL, "bar": "none", "passed": None, "command": COMMAND}
    return [
        claim(
            what.name, "tables with a module", shown / n, of_share(shown, n), **stated,
            command=COMMAND,
        ),
        claim(
            what.name, "the same without the test", searched / n, of_share(searched, n), **compare
        ),
    ]  # fmt: skip


def noise_in_networks(seeds: range) -> dict[str, Any]:
    """Share of tables with a module among the strongest pairs of unrelated genes."""
    shown = 0
    for seed in seeds:
        values = np.random.default_rng([43, seed]).standard_normal((200, 30))
        r = np.corrcoef(values)
        i, j = np.triu_indices(200, 1)
        best = np.argsort(-np.abs(r[i, j]))[:300]
        network = pd.DataFrame({"source": i[best], "target": j[best], "r": r[i, j][best]})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_modules(values, network, weight="r", seed=seed, backend="cpu")
        shown += len(found.summary) > 0
    n = len(seeds)
    bar = LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / n)
    return claim(
        "the 300 strongest of unrelated pairs, 200 genes x 30, leiden", "tables with a module",
        shown / n, of_share(shown, n), nominal=LEVEL, bar=f"at most {bar:.2g}",
        passed=shown / n <= bar, command=COMMAND,
    )  # fmt: skip


def planted_modules(seeds: range) -> dict[str, Any]:
    """Share of genes of planted modules that are in a module that is shown."""
    found_share = []
    for seed in seeds:
        draw = np.random.default_rng([42, seed])
        values = draw.standard_t(5, (400, 30))
        for k, size in enumerate((60, 40, 30)):
            start = (0, 60, 100)[k]
            values[start : start + size] += 1.5 * draw.standard_normal(30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = find_modules(values, seed=seed, backend="cpu")
        module = found.modules.set_index("gene")["module"]
        found_share.append(float((module[range(130)] > 0).mean()))
    return claim_of_mean(
        "3 modules of 60, 40 and 30 of 400 genes x 30, wgcna", "genes of modules in one that is "
        "shown", found_share, 1.0, COMMAND, low=0.8,
    )  # fmt: skip


def skewed(draw: np.random.Generator, n: int) -> Floats:
    return draw.standard_t(4, (5, n))


def numbers(draw: np.random.Generator) -> dict[str, Any]:
    return {"eigengenes": skewed(draw, 30), "trait": draw.exponential(size=30)}


def unequal_groups(draw: np.random.Generator) -> dict[str, Any]:
    group = np.repeat([0, 1], [24, 6])
    return {"eigengenes": skewed(draw, 30), "trait": group.tolist()}


def unequal_spread(draw: np.random.Generator) -> dict[str, Any]:
    group = np.repeat([0, 1, 2], [20, 10, 6])
    return {"eigengenes": skewed(draw, 36) * np.array([1, 1.5, 2])[group], "trait": group.tolist()}


def batches(draw: np.random.Generator) -> dict[str, Any]:
    batch = np.repeat(np.arange(4), 10)
    group = (draw.random(40) < np.array([0.2, 0.4, 0.6, 0.8])[batch]).astype(int)
    group[[0, -1]] = 0, 1
    shifted = skewed(draw, 40) + 2 * draw.standard_normal((5, 4))[:, batch]
    return {"eigengenes": shifted, "trait": group.tolist(), "batch": batch}


def subjects(draw: np.random.Generator) -> dict[str, Any]:
    series = np.repeat(np.arange(16), 3)
    values = 0.5 * skewed(draw, 48) + 2 * draw.standard_normal((5, 16))[:, series]
    return {"eigengenes": values, "trait": (series < 5).astype(int).tolist(), "series": series}


def paired(draw: np.random.Generator) -> dict[str, Any]:
    series = np.repeat(np.arange(12), 2)
    values = 0.5 * skewed(draw, 24) + 2 * draw.standard_normal((5, 12))[:, series]
    return {"eigengenes": values, "trait": np.tile([0, 1], 12).tolist(), "series": series}


def courses(draw: np.random.Generator) -> dict[str, Any]:
    """Autoregressive, 0.6 a step."""
    found = draw.standard_normal((6, 4, 15))
    for t in range(1, 15):
        found[:, :, t] = 0.6 * found[:, :, t - 1] + 0.8 * found[:, :, t]
    flat = found.reshape(6, 60)
    return {"eigengenes": flat[:5], "trait": flat[5], "series": np.repeat(np.arange(4), 15)}


TRAITS = {
    "a skewed number, 30 samples": (numbers, 0.07),
    "groups of 24 and 6": (unequal_groups, 0.07),
    "groups of 20, 10 and 6, their spread 1 to 2": (unequal_spread, 0.07),
    "labels that go with one of 4 batches": (batches, 0.07),
    "subjects of 3 samples, one label each": (subjects, 0.07),
    "subjects of 2 samples, one of each label": (paired, 0.07),
    "4 courses of 15 samples, the trait a course, too": (courses, 0.08),
}


def unrelated_traits(scenario: str, seeds: range) -> dict[str, Any]:
    """Share of modules with p <= 0.05 against a trait that they have nothing to do with."""
    make, bar = TRAITS[scenario]
    shares = []
    for seed in seeds:
        made = make(np.random.default_rng([44, seed]))
        eigengenes = pd.DataFrame(made.pop("eigengenes"))
        tests = module_traits(eigengenes, {"trait": made.pop("trait")}, seed=seed, **made)
        shares.append(float((tests["p_value"] <= LEVEL).mean()))
    what = "modules with p ≤ 0.05"
    return claim_of_mean(f"no relation: {scenario}", what, shares, LEVEL, COMMAND, high=bar)


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All claims. With the fewest permuted tables p is as right as with more, and 0.05 at least."""
    module_quality.MAX_TABLES = module_quality.MIN_TABLES
    few, many = range(20 if quick else 200), range(60 if quick else 400)
    rows = [row for what in NOISE for row in modules_in_noise(what, few)]
    rows += [noise_in_networks(few), planted_modules(range(5 if quick else 20))]
    return rows + [unrelated_traits(scenario, many) for scenario in TRAITS]
