"""Truth tables of kept predictor sets: a network of rules, its attractors and its course; BoolNet
and SBML-qual.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pairtile.declare.messages import messages_of
from pairtile.engine.estimator import TableSummary
from pairtile.io.names import numbered
from pairtile.methods.predictor_pairs.network import members
from pairtile.runtime.files import write_text
from pairtile.runtime.page_templates import page_templates

message = messages_of(__package__)

MAX_STATES = 1 << 20
"""States of a network whose attractors are searched: 20 genes of two levels, 12 of three."""

MAX_STEPS = 1024
"""Of paths on which a solver looks for cycles: some are longer than there is time for."""

MAX_ROWS = 10_000
"""Rows of ``attractors.tsv``: of the attractors with the largest basins."""

ATTRACTOR_COLUMNS = ["attractor", "step", "length", "basin", "basin_share"]

Levels = NDArray[np.int8]


@dataclass(frozen=True)
class RuleNetwork:
    """Genes and how each follows from others one step before.

    ``genes`` int64 (n,): item numbers. ``names``: theirs. ``inputs``: of each gene the places in
    ``genes`` of its predictors (with several ``lags``: times their number, and the place of the
    lag); none: nothing is known of it, and it keeps its level. ``tables``:
    its next level for each combination of levels of these, int8 (levels,) * inputs. ``unseen``:
    combinations that were never observed, for which the gene's most frequent level stands.
    """

    genes: NDArray[np.int64]
    names: list[str]
    n_levels: int
    inputs: list[tuple[int, ...]]
    tables: list[Levels]
    unseen: int
    lags: tuple[int, ...] = (1,)

    def step(self, levels: Levels) -> Levels:
        """The next levels, all genes at once: int8 (genes, any); -1 where an input is unknown.
        levels : int8 (genes x lags, any)."""
        result = levels[:: len(self.lags)].copy()
        for gene, (inputs, table) in enumerate(zip(self.inputs, self.tables, strict=True)):
            if inputs:
                before = levels[list(inputs)]
                known = (before >= 0).all(axis=0)
                result[gene] = np.where(known, table[tuple(np.maximum(before, 0))], -1)
        return result

    def of_one_step(self) -> RuleNetwork:
        """The same network without longer lags: further genes hold the levels of former steps."""
        if len(self.lags) == 1:
            return self
        names, inputs, tables = list(self.names), list(self.inputs), list(self.tables)
        held: dict[tuple[int, int], int] = {}

        def holder(gene: int, lag: int) -> int:
            if lag > 1 and (gene, lag) not in held:
                held[gene, lag] = len(names)
                names.append(f"{self.names[gene]}_{lag - 1}_before")
                tables.append(np.arange(self.n_levels, dtype=np.int8))
                inputs.append(())
                inputs[held[gene, lag]] = (holder(gene, lag - 1),)
            return held.get((gene, lag), gene)

        for target, of_target in enumerate(self.inputs):
            pairs = [divmod(k, len(self.lags)) for k in of_target]
            inputs[target] = tuple(holder(gene, self.lags[place]) for gene, place in pairs)
        return replace(self, names=names, inputs=inputs, tables=tables, lags=(1,))


def level_counts(
    predictors: NDArray[np.integer], target: NDArray[np.integer], n_levels: int
) -> NDArray[np.int64]:
    """How often the target is at each level, for every combination of the predictors' levels.

    predictors : int (c, n_samples). target : int (n_samples,). -1 where missing.

    Returns int64 (q, ..., q) with c + 1 axes, the target's last. Samples in which any of the levels
    is missing are left out.

    Examples
    --------
    >>> level_counts(np.array([[0, 1, 1, 0]]), np.array([0, 1, 1, -1]), 2)
    array([[1, 0],
           [0, 2]])
    """
    together = np.vstack([predictors, target]).astype(np.int64)
    together = together[:, (together >= 0).all(axis=0)]
    counts = np.zeros((n_levels,) * len(together), dtype=np.int64)
    np.add.at(counts, tuple(together), 1)
    return counts


def rule_network(
    sets: pd.DataFrame,
    names: Sequence[str],
    before: Levels,
    after: Levels,
    n_levels: int,
    lags: Sequence[int] = (1,),
) -> RuleNetwork:
    """The rules of the best set of each target.

    sets : ``target``, ``rank`` and ``predictor_1`` ..., item numbers, -1 where there is none. names
    : of all items. before, after : int8 (items, transitions), levels of each item before and after
    each transition, -1 where missing; ``before`` of each item at each of ``lags``. A rule gives
    the most frequent level after those levels of the predictors; of equally frequent ones the one
    that is more frequent in all, then the lower.
    """
    best = sets.sort_values(["target", "rank"], kind="stable").drop_duplicates("target")
    columns = members(sets)
    used = best[["target", *columns]].to_numpy(dtype=np.int64, copy=True)
    genes = np.unique(used[used >= 0])
    used[:, 1:] *= len(lags)
    if len(lags) > 1:
        of_lag = [column.replace("predictor", "lag") for column in columns]
        used[:, 1:] += np.searchsorted(lags, best.reindex(columns=of_lag, fill_value=0))
    place = {int(gene): k for k, gene in enumerate(genes)}
    inputs: list[tuple[int, ...]] = [()] * genes.size
    tables: list[Levels] = [np.empty(0, dtype=np.int8)] * genes.size
    unseen = 0
    for target, *predictors in used.tolist():
        chosen = [predictor for predictor in predictors if predictor >= 0]
        seen = level_counts(before[chosen], after[target], n_levels)
        in_all = seen.reshape(-1, n_levels).sum(axis=0)
        unseen += int((seen.sum(axis=-1) == 0).sum())
        # Less than a half of one observation: ties alone are decided by it.
        table = (seen + in_all / (2 * in_all.sum() + 1)).argmax(axis=-1)
        places = (divmod(predictor, len(lags)) for predictor in chosen)
        inputs[place[target]] = tuple(place[item] * len(lags) + lag for item, lag in places)
        tables[place[target]] = table.astype(np.int8)
    known = [names[g] for g in genes]
    return RuleNetwork(genes, known, n_levels, inputs, tables, unseen, tuple(lags))


class Core(NamedTuple):
    """What decides the attractors of a network, and the levels of the other genes.

    ``network``: of the genes in ``kept``. ``fixed``: levels of genes that stay at one. ``outputs``:
    genes that act on none of those before them.
    """

    network: RuleNetwork
    kept: list[int]
    fixed: dict[int, int]
    outputs: list[int]

    def with_all_genes(self, table: pd.DataFrame, network: RuleNetwork) -> pd.DataFrame:
        """The attractors of the core, with the levels of all genes of ``network``."""
        before = np.arange(len(table)) - 1
        before[table["step"] == 0] += table["length"][table["step"] == 0]
        levels = {
            **{gene: np.full(len(table), level) for gene, level in self.fixed.items()},
            **{gene: table[network.names[gene]].to_numpy(np.int64) for gene in self.kept},
        }
        for gene in reversed(self.outputs):
            inputs = tuple(levels[k][before] for k in network.inputs[gene])
            levels[gene] = network.tables[gene][inputs]
        columns = {name: levels[gene] for gene, name in enumerate(network.names)}
        return table[ATTRACTOR_COLUMNS].assign(**columns)


def core_of(network: RuleNetwork, usual: Sequence[int]) -> Core:
    """Genes without a rule held at their ``usual`` levels, what follows from these (percolation:
    Klarner, Bockmayr & Siebert 2015), and genes that act on no other taken out."""
    fixed = {k: int(usual[k]) for k, inputs in enumerate(network.inputs) if not inputs}
    tables = dict(enumerate(network.tables))
    found = True
    while found:
        found = False
        for gene in tables.keys() - fixed.keys():
            known = tuple(fixed.get(k, slice(None)) for k in network.inputs[gene])
            tables[gene] = left = network.tables[gene][known]
            if left.min() == left.max():
                fixed[gene], found = int(left.min()), True
    inputs = {
        gene: tuple(k for k in network.inputs[gene] if k not in fixed)
        for gene in sorted(tables.keys() - fixed.keys())
    }
    outputs: list[int] = []
    while unused := sorted(
        inputs.keys() - {k for gene_inputs in inputs.values() for k in gene_inputs}
    ):
        outputs += unused
        for gene in unused:
            del inputs[gene]
    kept = list(inputs)
    core = replace(
        network,
        names=[network.names[gene] for gene in kept],
        inputs=[tuple(kept.index(k) for k in inputs[gene]) for gene in kept],
        tables=[tables[gene] for gene in kept],
    )
    return Core(core, kept, fixed, outputs)


def attractors(network: RuleNetwork) -> pd.DataFrame | None:
    """Cycles of states that all others lead to under synchronous updates; None for more than
    ``MAX_STATES`` states.

    Columns: ``attractor`` (1 has the largest basin), ``step``, ``length`` (1: a fixed point),
    ``basin`` (states that lead to it, its own included), ``basin_share``, and the level of each
    gene: a row for each state of each attractor.
    """
    n, q = len(network.names), network.n_levels
    if n * np.log2(q) > np.log2(MAX_STATES) + 1e-9:
        return None
    weights = q ** np.arange(n, dtype=np.int64)
    states = np.arange(q**n, dtype=np.int64)
    following = network.step((states // weights[:, None] % q).astype(np.int8))
    after = weights @ following.astype(np.int64)
    # Every state leads to one other, so each connected part has one cycle.
    graph = scipy.sparse.coo_array(
        (np.ones(states.size, dtype=np.int8), (states, after)), shape=(states.size, states.size)
    )
    _, part = scipy.sparse.csgraph.connected_components(graph.tocsr(), directed=False)
    basin = np.bincount(part)
    on_cycle = after
    for _ in range(int(states.size).bit_length() + 1):
        on_cycle = on_cycle[on_cycle]  # 2, 4, 8, ... steps on
    first = np.full(basin.size, states.size)
    np.minimum.at(first, part, on_cycle)
    cycles: list[Levels] = []
    order = np.lexsort((first, -basin))
    for k in order[:MAX_ROWS]:
        cycle = [first[k]]
        while (found := after[cycle[-1]]) != cycle[0]:
            cycle.append(found)
        cycles.append((np.array(cycle)[:, None] // weights % q).astype(np.int8))
    return _table_of(network, cycles, basin[order].tolist())


def _table_of(
    network: RuleNetwork, cycles: Sequence[Levels], basins: Sequence[float]
) -> pd.DataFrame:
    """A row for each state; whole attractors, of ``MAX_ROWS`` rows or the last that goes beyond."""
    n_states = network.n_levels ** len(network.names)
    n = int(np.searchsorted(np.cumsum([len(cycle) for cycle in cycles]), MAX_ROWS)) + 1
    rows = [
        (number, step, len(cycle), basin, basin / n_states, *state)
        for number, (cycle, basin) in enumerate(zip(cycles[:n], basins[:n], strict=True), start=1)
        for step, state in enumerate(cycle.tolist())
    ]
    return pd.DataFrame(rows, columns=[*ATTRACTOR_COLUMNS, *network.names])


def attractors_by_solver(network: RuleNetwork) -> tuple[pd.DataFrame, bool] | None:
    """Cycles of states of any number of genes, as ``attractors`` but without basins, by a SAT
    solver on paths of 1, 2, 4 ... steps.

    A path that ends in a state that it had before holds a cycle, in whose states no further path
    may end; once no path is left, all are known (Dubrova and Teslenko 2011, IEEE/ACM Trans Comput
    Biol Bioinform 8:1393).

    Also returns whether they are all: paths have at most ``MAX_STEPS`` steps, and cycles
    ``MAX_ROWS`` states together. None without the package python-sat. Every gene has a rule.
    """
    try:
        from pysat.solvers import Cadical153
    except ImportError:
        return None
    n, q = len(network.names), network.n_levels
    genes, levels = range(n), range(q)
    cycles: list[Levels] = []
    with Cadical153() as solver:

        def is_at(gene: int, level: int, step: int) -> int:
            return 1 + (step * n + gene) * q + level

        def add_step(step: int) -> None:
            for gene, (inputs, table) in enumerate(
                zip(network.inputs, network.tables, strict=True)
            ):
                at_levels = [is_at(gene, level, step) for level in levels]
                solver.append_formula(
                    [at_levels, *([-a, -b] for a, b in combinations(at_levels, 2))]
                )
                for cell in np.ndindex(*table.shape if step else (0,)):
                    before = [-is_at(k, x, step - 1) for k, x in zip(inputs, cell, strict=True)]
                    solver.add_clause([*before, is_at(gene, int(table[cell]), step)])

        def forbid(cycle: Levels, step: int) -> None:
            for state in cycle.tolist():
                solver.add_clause([-is_at(gene, state[gene], step) for gene in genes])

        add_step(0)
        add_step(last := 1)
        while there := solver.solve():
            true = np.array(solver.get_model()[: (last + 1) * n * q]) > 0
            path = true.reshape(last + 1, n, q).argmax(axis=2).astype(np.int8)
            before = np.flatnonzero((path[:-1] == path[-1]).all(axis=1))
            if before.size:
                cycle = path[before[-1] : last]
                cycles.append(np.roll(cycle, -int(np.lexsort(cycle.T[::-1])[0]), axis=0))
                forbid(cycles[-1], last)
            elif last < MAX_STEPS:
                for step in range(last + 1, 2 * last + 1):
                    add_step(step)
                last *= 2
                for cycle in cycles:
                    forbid(cycle, last)
            if sum(map(len, cycles)) >= MAX_ROWS or not (before.size or last < MAX_STEPS):
                break
    cycles.sort(key=lambda cycle: (len(cycle), cycle.tolist()))
    return _table_of(network, cycles, [np.nan] * len(cycles)), not there


def simulated_course(
    network: RuleNetwork, levels: Levels, source: NDArray[np.int32], target: NDArray[np.int32]
) -> Levels:
    """The course that the rules give from the first sample of each series on.

    Genes without a rule have their measured levels throughout. levels : int8 (items, samples);
    source, target : samples of each transition (source: of each lag), in the order of time within a
    series.

    Returns int8 (genes, samples); -1 where an input is not known.
    """
    result = levels[network.genes].copy()
    ruled = np.array([bool(inputs) for inputs in network.inputs], dtype=bool)
    for before, after in zip(np.atleast_2d(source).T, target, strict=True):
        result[ruled, after] = network.step(result[:, before].reshape(-1, 1))[ruled, 0]
    return result


def write_rules(
    network: RuleNetwork,
    levels: Levels,
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    folder: Path,
) -> TableSummary:
    """Write ``network.bnet``, ``network.sbml``, ``attractors.tsv`` and ``rules.tsv``."""
    written = TableSummary(
        {
            "rules": sum(map(bool, network.inputs)),
            "rules_combinations_unseen": network.unseen,
        }
    )
    if network.unseen:
        combinations = sum(table.size for table in network.tables)
        written.messages.append(message("rules_unseen", n=network.unseen, of=combinations))
    single = network.of_one_step()
    searched, core, found = single, None, pd.DataFrame(columns=ATTRACTOR_COLUMNS)
    of_searched = attractors(single) if single.names else None
    if single.names and of_searched is None:  # too many states
        seen = [(levels[network.genes] == level).sum(axis=1) for level in range(network.n_levels)]
        core = core_of(single, np.argmax(seen, axis=0).tolist())
        searched, code = core.network, "attractors_of_core"
        of_searched = attractors(searched)
        if of_searched is None:
            solved = attractors_by_solver(searched)
            of_searched, whole = solved or (None, False)
            code = "attractors_by_solver" if whole else "attractors_in_part"
            code = "no_attractors" if solved is None else code
        written.messages.append(
            message(
                code,
                n=len(network.names),
                levels=network.n_levels,
                limit=MAX_STATES,
                left=len(searched.names),
            )
        )
    if of_searched is not None:
        found = of_searched if core is None else core.with_all_genes(of_searched, single)
        found = found[[*ATTRACTOR_COLUMNS, *network.names]]
        written.counts["attractors"] = int(found["attractor"].max()) if len(found) else 0
        written.counts["attractor_states"] = network.n_levels ** len(searched.names)
    agreement = _agreement(network, levels, source, target)
    texts = {
        "attractors.tsv": found.to_csv(sep="\t", index=False, lineterminator="\n"),
        "rules.tsv": agreement.to_csv(sep="\t", index=False, lineterminator="\n"),
        "network.bnet": boolnet(network),
        "network.sbml": sbml_qual(single),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return written


def _agreement(
    network: RuleNetwork, levels: Levels, source: NDArray[np.int32], target: NDArray[np.int32]
) -> pd.DataFrame:
    """How often each rule gives what was measured: a step on, and all along the course."""
    measured = levels[network.genes]
    after = measured[:, target]
    before = measured[:, np.atleast_2d(source)].reshape(-1, len(target))
    one_step = network.step(before)
    course = simulated_course(network, levels, source, target)[:, target]
    rows = []
    for gene, inputs in enumerate(network.inputs):
        if inputs:
            known = after[gene] >= 0
            count = np.bincount(after[gene][known], minlength=network.n_levels)
            rows.append(
                {
                    "target": network.names[gene],
                    "rule": _formula(network, gene, network.names),
                    "transitions": int(known.sum()),
                    "one_step": float((one_step[gene] == after[gene])[known].mean()),
                    "course": float((course[gene] == after[gene])[known].mean()),
                    "constant": float(count.max() / max(known.sum(), 1)),
                }
            )
    return pd.DataFrame(
        rows, columns=["target", "rule", "transitions", "one_step", "course", "constant"]
    )


def identifiers(names: Sequence[str]) -> list[str]:
    """Names as programs take them, letters, digits and underscores, all different."""
    plain = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in names]
    begun = [name if re.match(r"[A-Za-z_]", name) else f"x{name}" for name in plain]
    return numbered(begun, ignore_case=True)


def minimal_terms(table: Levels, level: int) -> list[tuple[int | None, ...]]:
    """The fewest terms that are true just where a table has this level (Quine 1952); in each the
    level that an input must have, None: any. Exact up to 12 prime implicants, else all of these.
    """
    wanted = frozenset(map(tuple, np.argwhere(table == level).tolist()))
    covers = {}
    for term in product((None, *range(max(table.shape))), repeat=table.ndim):
        axes = [range(q) if x is None else (x,) for x, q in zip(term, table.shape, strict=True)]
        if wanted.issuperset(cells := frozenset(product(*axes))):
            covers[term] = cells
    primes = [term for term, cells in covers.items() if not any(cells < c for c in covers.values())]
    for n in range(1, len(primes) if len(primes) <= 12 else 1):
        for terms in combinations(primes, n):
            if frozenset().union(*(covers[term] for term in terms)) == wanted:
                return list(terms)
    return primes


def _formula(network: RuleNetwork, gene: int, names: Sequence[str]) -> str:
    """Two levels: in the operators of BoolNet (``gene[-2]``: two steps before); more: ``level:
    combinations`` of each level."""
    inputs, table, binary = network.inputs[gene], network.tables[gene], network.n_levels == 2
    labels = [f"{name}[-{lag}]" if lag > 1 else name for name in names for lag in network.lags]
    if binary and (not table.any() or table.all()):
        return str(int(table.all()))
    formulas = {}
    for level in np.unique(table[table > 0]).tolist():
        terms = []
        for term in minimal_terms(table, level):
            fixed = [(labels[k], x) for k, x in zip(inputs, term, strict=True) if x is not None]
            factors = [
                f"{label}={x}" if not binary else label if x else f"!{label}" for label, x in fixed
            ]
            joined = " & ".join(factors) or "always"
            terms.append(f"({joined})" if binary and len(factors) > 1 else joined)
        formulas[level] = " | ".join(terms)
    return formulas[1] if binary else "; ".join(f"{k}: {text}" for k, text in formulas.items())


def boolnet(network: RuleNetwork) -> str:
    """The text that BoolNet's ``loadNetwork`` and pyboolnet read, of a network of two levels."""
    if network.n_levels > 2:
        return f"# {network.n_levels} levels: see network.sbml\n"
    names = identifiers(network.names)
    lines = [
        f"{names[k]}, {_formula(network, k, names) if inputs else names[k]}"
        for k, inputs in enumerate(network.inputs)
    ]
    return "\n".join(["targets, factors", *lines]) + "\n"


def sbml_qual(network: RuleNetwork) -> str:
    """The network as SBML level 3 with the package qual (Chaouiya et al. 2013, BMC Syst Biol
    7:135), of any number of levels."""
    ids = identifiers(network.names)
    genes = []
    for key, name, inputs, table in zip(
        ids, network.names, network.inputs, network.tables, strict=True
    ):
        default = int(np.bincount(table.ravel()).argmax()) if inputs else 0
        terms = {
            int(level): [
                [(ids[k], x) for k, x in zip(inputs, term, strict=True) if x is not None]
                for term in minimal_terms(table, level)
            ]
            for level in np.unique(table)
            if inputs and level != default
        }
        names = [ids[k] for k in dict.fromkeys(inputs)]
        genes.append({"id": key, "name": name, "inputs": names, "default": default, "terms": terms})
    template = page_templates(Path(__file__).parent / "templates").get_template("network.sbml.j2")
    return template.render(genes=genes, top=network.n_levels - 1) + "\n"
