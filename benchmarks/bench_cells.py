"""Planted regulons in counts of cells: the default network, beside rewrites of GRNBoost2.

    python -m benchmarks.bench_cells

12 regulators, 60 targets of one regulator each and 48 genes of none; three cell types that differ
in a third of the genes, unequal depth, 1.5 counts on average. ``aupr``: of all candidates, ranked.
``fdp``: share of false edges of the default network (and of as many best edges of a peer).
``types given``: their means are taken off (``regress_out``; of peers' logarithms, too), and
``samples.batch`` names them. Writes ``results/cells.MACHINE.json``; a peer that is not installed is
left out.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pairtile
import pandas as pd
from numpy.typing import NDArray

from benchmarks.bench_rankings import aupr
from benchmarks.machine import write
from benchmarks.ranking_tables import Floats, Table
from benchmarks.validity.claims import of_mean

REGULATORS, TARGETS, OTHERS = 12, 60, 48
GENES = REGULATORS + TARGETS + OTHERS
SIZES = {500: 3, 3000: 2, 20_000: 1}
"""Cells, and tables of so many."""


def planted(draw: np.random.Generator, cells: int) -> tuple[Table, NDArray[np.int64]]:
    """Counts (genes, cells), with true edges; and the type of each cell."""
    types = draw.choice(3, cells, p=(0.5, 0.3, 0.2))
    log_rate = draw.normal(0.0, 0.8, (GENES, 1)) + 0.5 * draw.standard_normal((GENES, cells))
    of = draw.integers(REGULATORS, size=TARGETS)
    effect = draw.choice([-1, 1], TARGETS) * draw.uniform(0.4, 1.0, TARGETS)
    active = draw.standard_normal((REGULATORS, cells))
    log_rate[:REGULATORS] += 0.8 * active
    log_rate[REGULATORS : REGULATORS + TARGETS] += effect[:, None] * active[of]
    log_rate += (draw.normal(0.0, 1.0, (GENES, 3)) * (draw.random((GENES, 1)) < 1 / 3))[:, types]
    share = np.exp(log_rate)
    share /= share.sum(axis=0)
    counts = draw.poisson(share * draw.lognormal(np.log(1.5 * GENES), 0.5, cells)).astype(float)
    counts *= draw.random(counts.shape) > 0.1  # dropout beside that of sampling
    edges = np.zeros((REGULATORS, GENES), dtype=bool)
    edges[of, REGULATORS + np.arange(TARGETS)] = True
    return Table(counts, np.arange(REGULATORS), edges), types


def logarithms(table: Table) -> Floats:
    """As peers are given counts: logarithms of counts per 10,000."""
    return np.log1p(1e4 * table.values / np.maximum(table.values.sum(axis=0), 1.0))


def network_scores(table: Table, found: pd.DataFrame) -> Floats:
    """Scores of edges between names ``g0``, ``g1`` ..., (regulators, genes)."""
    scores = np.full(table.edges.shape, -np.inf)
    ends = (found.iloc[:, k].astype(str).str[1:].astype(int).to_numpy() for k in (0, 1))
    scores[tuple(ends)] = found.iloc[:, 2].to_numpy()
    return scores


def without_types(values: Floats, types: NDArray[np.int64]) -> Floats:
    """Each gene less its mean in the cells of the same type."""
    return values - np.array([values[:, types == k].mean(axis=1) for k in range(3)]).T[:, types]


def of_rustscenic(table: Table, values: Floats) -> Floats:
    from rustscenic import grn  # type: ignore[import-not-found]

    frame = pd.DataFrame(values.T, columns=[f"g{k}" for k in range(GENES)])
    listed = [f"g{k}" for k in table.regulators]
    return network_scores(table, grn.infer(frame, listed, verbose=False))


def of_scenic_rs(table: Table, values: Floats) -> Floats:
    import scenic_rs  # type: ignore[import-not-found]

    names = [f"g{k}" for k in range(GENES)]
    listed = [f"g{k}" for k in table.regulators]
    cells = np.ascontiguousarray(values.T, dtype=np.float32)
    found = scenic_rs.grnboost2(cells, names, listed)
    return network_scores(table, pd.DataFrame(found))


PEERS: dict[str, Callable[[Table, Floats], Floats]] = {
    "rustscenic": of_rustscenic,
    "scenic_rs": of_scenic_rs,
}


def share_false(pairs: list[tuple[int, int]], table: Table) -> float:
    """Of edges from regulators to genes."""
    if not pairs:
        return 0.0
    return float(np.mean([not table.edges[one, other] for one, other in pairs]))


def ours(table: Table, types: NDArray[np.int64] | None) -> dict[str, float]:
    """AUPR, false share and recall of the default network."""
    known: dict[str, Any] = {}
    given: Any = table.values
    regulators = table.regulators.tolist()
    if types is not None:
        known = {"batch": types}
        effects = {"type": [f"type {k}" for k in types]}
        given = pairtile.prepare_expression(table.values, regress_out=effects)
        regulators = [str(regulator) for regulator in regulators]  # what is prepared has names
    asked = {"backend": "cpu", **known}
    begin = time.perf_counter()
    network = pairtile.infer_network(given, regulators, **asked)
    seconds = time.perf_counter() - begin
    every = pairtile.infer_network(
        given, regulators, keep="all", dpi=False, permutations=1000, **asked
    )
    scores = np.full(table.edges.shape, -np.inf)
    ends = (every[end].astype(int).to_numpy() for end in ("source", "target"))
    scores[tuple(ends)] = every["combined"]
    pairs = list(zip(network["source"].astype(int), network["target"].astype(int), strict=True))
    return {
        "aupr": aupr(scores, table),
        "fdp": share_false(pairs, table),
        "edges": len(pairs),
        "recall": sum(table.edges[one, other] for one, other in pairs) / TARGETS,
        "seconds": seconds,
    }


def measured(table: Table, types: NDArray[np.int64]) -> dict[str, dict[str, float]]:
    """Of the defaults, with and without the types, and of peers."""
    found = {"pairtile": ours(table, None), "pairtile, types given": ours(table, types)}
    logs = logarithms(table)
    given = {"": logs, ", types given": without_types(logs, types)}
    for name, how in ((name, how) for name in PEERS for how in given):
        if find_spec(name) is None:
            print(f"{name} is not installed, left out")
            continue
        edges = int(found[f"pairtile{how}"]["edges"])
        begin = time.perf_counter()
        scores = PEERS[name](table, given[how])
        seconds = time.perf_counter() - begin
        best = np.argsort(-scores, axis=None)[:edges]
        pairs = [divmod(int(k), GENES) for k in best]
        recall = sum(table.edges[pair] for pair in pairs) / TARGETS
        numbers = {"aupr": aupr(scores, table), "fdp": share_false(pairs, table)}
        found[f"{name}{how}"] = numbers | {"edges": edges, "recall": recall, "seconds": seconds}
    return found


def spread(values: list[float]) -> tuple[float, ...]:
    """95 % of the mean; nothing of one table."""
    return of_mean(values) if len(values) > 1 else ()


def main() -> None:
    """Print and write the table."""
    logging.getLogger("pairtile").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    for cells, tables in SIZES.items():
        made = [planted(np.random.default_rng([seed, cells]), cells) for seed in range(tables)]
        of_tables = [measured(*table) for table in made]
        results[str(cells)] = {"tables": tables}
        for name in of_tables[0]:
            results[str(cells)][name] = {
                what: [round(float(x), 4) for x in (np.mean(values), *spread(values))]
                for what in of_tables[0][name]
                if (values := [one[name][what] for one in of_tables])
            }
            print(cells, name, results[str(cells)][name], flush=True)
        write("cells", "cpu", results)


if __name__ == "__main__":
    main()
