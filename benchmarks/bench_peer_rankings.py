"""AUPR beside other programs on tables that did not choose how ``combined`` is made, in one run.

    python -m benchmarks.bench_peer_rankings

Beside ``pairtile``'s scores: GENIE3 (scenic-rs), LightGBM as GRNBoost2, rustscenic and scenic-rs
(GRNBoost2 rewritten), PORTIA, the graphical lasso and WGCNA's adjacency (absolute
correlation to a power, whose ranking is that of the correlation), each where it is installed.
Regulators are those of each table; of curated models and DREAM4 every gene. The slowest programs
(``SLOW``) rank the curated models alone, so that all of it takes 20 minutes. Writes
``results/peer_rankings.MACHINE.json`` and its table of ``docs/quality.md``.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pairtile
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.bench_quality import DATA
from benchmarks.bench_rankings import aupr, partial_correlation, table_of
from benchmarks.bench_without_list import RAW, public
from benchmarks.machine import write
from benchmarks.published_simulators import MODELS, curated, sergio
from benchmarks.ranking_tables import HELD_OUT, Floats, Table

PAGE = Path(__file__).resolve().parent.parent / "docs/quality.md"
BEGIN, END = "<!-- table: peers -->", "<!-- end of peers -->"
INTRODUCTION = """## Other programs

<!-- given -->

Mean AUPR of each kind of table (how many), and 95 % of the mean difference to `combined`, by
resampling tables; of two tables that is their range. None of the tables chose how `combined` is
made. The slowest programs rank the curated models alone
(`python -m benchmarks.bench_peer_rankings`, one core):"""

SEEDS = range(3000, 3002)
RESAMPLES = 2000

Given = tuple[str, Table, dict[str, Any]]
"""Family, table, and how ``pairtile`` prepares it."""


def tables() -> Iterator[Given]:
    """One of each family in turn, so that a run that is stopped has some of all."""
    turns = zip_longest(curated_models(), sergios(), held_out(), dream4())
    return (given for given in chain.from_iterable(turns) if given is not None)


def curated_models() -> Iterator[Given]:
    for number, model in enumerate(MODELS):
        made = curated(np.random.default_rng([SEEDS[0], number]), model, 500, 0.3)
        yield "curated models, 500 cells", made, RAW


def sergios() -> Iterator[Given]:
    for seed in SEEDS:
        for technical in (False, True):
            made = sergio(np.random.default_rng([seed, technical]), 500, technical=technical)
            if technical:
                yield "SERGIO, technical noise, 500 cells", made, {}
            else:
                yield "SERGIO, 500 cells", made, RAW


def held_out() -> Iterator[Given]:
    for kind in HELD_OUT:
        yield "five kinds, 100 samples", table_of(kind.__name__, 100, SEEDS[0]), RAW


def dream4() -> Iterator[Given]:
    for number in range(1, 6):
        if (DATA / f"dream4/net{number}").is_dir():
            yield "DREAM4, 100 samples", public(f"dream4/net{number}"), {}


def scaled(table: Table) -> Floats:
    """As peers are given a table: logarithms of shares where it holds counts."""
    values = table.values
    if (values == np.round(values)).all():
        return np.log1p(1e4 * values / np.maximum(values.sum(axis=0), 1.0))
    return values


def of_pairtile(score: str) -> Callable[[Table, dict[str, Any]], Floats]:
    def rank(table: Table, preprocess: dict[str, Any]) -> Floats:
        asked: dict[str, Any] = {"score": score, "preprocess": preprocess, "permutations": 1000}
        every = pairtile.infer_network(
            table.values, table.regulators, keep="all", dpi=False, backend="cpu", **asked
        )
        place = np.full(len(table.values), -1)
        place[table.regulators] = np.arange(table.regulators.size)
        scores = np.full(table.edges.shape, -np.inf)
        ends = place[every["source"].to_numpy(int)], every["target"].to_numpy(int)
        scores[ends] = every[score]
        return scores

    return rank


def of_names(table: Table, found: pd.DataFrame) -> Floats:
    """Scores between names ``g0``, ``g1`` ..."""
    place = {regulator: k for k, regulator in enumerate(table.regulators.tolist())}
    scores = np.full(table.edges.shape, -np.inf)
    one, other = (found.iloc[:, k].astype(str).str[1:].astype(int) for k in (0, 1))
    scores[[place[k] for k in one], other] = found.iloc[:, 2].to_numpy()
    return scores


def rustscenic(table: Table) -> Floats:
    from rustscenic import grn  # type: ignore[import-not-found]

    frame = pd.DataFrame(scaled(table).T, columns=[f"g{k}" for k in range(len(table.values))])
    return of_names(table, grn.infer(frame, [f"g{k}" for k in table.regulators], verbose=False))


def scenic_rs(which: str) -> Callable[[Table], Floats]:
    def rank(table: Table) -> Floats:
        import scenic_rs as program  # type: ignore[import-not-found]

        names = [f"g{k}" for k in range(len(table.values))]
        values = np.ascontiguousarray(scaled(table).T, dtype=np.float32)
        listed = [f"g{k}" for k in table.regulators]
        return of_names(table, getattr(program, which)(values, names, listed))

    return rank


def portia(table: Table) -> Floats:
    import portia as program  # type: ignore[import-not-found]

    data = program.GeneExpressionDataset()
    for number, sample in enumerate(scaled(table).T):
        data.add(program.Experiment(number, sample))
    found = program.run(data, tf_idx=list(map(int, table.regulators)), verbose=False)
    return np.asarray(found)[table.regulators]


def lightgbm(table: Table) -> Floats:
    from benchmarks.peers import trees

    return np.asarray(trees.importances(trees.boosting, scaled(table), table.regulators))


def graphical_lasso(table: Table) -> Floats:
    """Absolute partial correlations, by a penalty of .1 on the correlations of all genes."""
    from sklearn.covariance import graphical_lasso as fit

    values = scaled(table)
    values = values[:, :] - values.mean(axis=1, keepdims=True)
    correlation = values @ values.T / values.shape[1]
    spread = np.sqrt(np.maximum(np.diag(correlation), 1e-12))
    correlation /= np.outer(spread, spread)
    np.fill_diagonal(correlation, 1.0)
    precision = fit(0.9 * correlation + 0.1 * np.eye(len(correlation)), 0.1, max_iter=50, tol=1e-3)[
        1
    ]
    size = np.sqrt(np.diag(precision))
    return np.asarray(np.abs(precision / np.outer(size, size))[table.regulators])


def wgcna(table: Table) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(np.corrcoef(scaled(table)))[table.regulators])


def spearman(table: Table) -> Floats:
    return np.nan_to_num(np.abs(spearmanr(scaled(table).T).statistic)[table.regulators])


def partial(table: Table) -> Floats:
    return partial_correlation(table._replace(values=scaled(table)))


PEERS: dict[str, tuple[str, Callable[[Table], Floats]]] = {
    "partial correlation": ("numpy", partial),
    "WGCNA adjacency": ("numpy", wgcna),
    "Spearman": ("numpy", spearman),
    "graphical lasso": ("sklearn", graphical_lasso),
    "PORTIA": ("portia", portia),
    "rustscenic": ("rustscenic", rustscenic),
    "scenic-rs, GRNBoost2": ("scenic_rs", scenic_rs("grnboost2")),
    "scenic-rs, GENIE3": ("scenic_rs", scenic_rs("genie3")),
    "LightGBM": ("lightgbm", lightgbm),
}
OURS = ("combined", "target_z", "clr")
SLOW, MAX_GENES = ("scenic-rs, GENIE3", "LightGBM"), 30
"""Programs that are given tables of so many genes at most."""


def measured() -> Iterator[pd.DataFrame]:
    """AUPR: a row for each table that is done."""
    peers = {name: rank for name, (module, rank) in PEERS.items() if find_spec(module)}
    print("left out, not installed:", sorted(PEERS.keys() - peers.keys()))
    rows, seconds = [], dict.fromkeys((*OURS, *peers), 0.0)
    for family, table, preprocess in tables():
        varied = table.values.std(axis=1) > 0.0
        if not varied.all():  # a gene that never moves has no edge that could be found
            kept = varied[table.regulators]
            place = np.cumsum(varied) - 1
            edges = table.edges[kept][:, varied]
            table = Table(table.values[varied], place[table.regulators[kept]], edges)
        row: dict[str, Any] = {"family": family}
        for name in (*OURS, *peers):
            if name in SLOW and len(table.values) > MAX_GENES:
                continue
            begin = time.perf_counter()
            try:
                scores = (
                    peers[name](table) if name in peers else of_pairtile(name)(table, preprocess)
                )
                row[name] = aupr(np.nan_to_num(scores, nan=-np.inf), table)
            except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
                print(f"{family}: {name} failed: {error}")
            seconds[name] += time.perf_counter() - begin
        rows.append(row)
        print(row, {name: round(value, 1) for name, value in seconds.items()}, flush=True)
        yield pd.DataFrame(rows)


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Mean AUPR, the mean difference to ``combined``, and 95 % of it by resampling tables."""
    groups = {family: rows[rows["family"] == family] for family in sorted(rows["family"].unique())}
    groups["all"] = rows
    random = np.random.default_rng(1)
    result: dict[str, Any] = {}
    for family, here in groups.items():
        result[family] = {"tables": len(here)}
        for name in here.columns.drop("family"):
            both = here[[name, "combined"]].dropna().to_numpy()
            if not len(both) or (name in SLOW and len(both) < len(here)):
                continue
            gain = both[:, 0] - both[:, 1]
            means = gain[random.integers(len(gain), size=(RESAMPLES, len(gain)))].mean(axis=1)
            numbers = (both[:, 0].mean(), gain.mean(), *np.quantile(means, (0.025, 0.975)))
            result[family][name] = [round(float(number), 4) for number in numbers]
    return result


def markdown(results: dict[str, Any]) -> str:
    """The table of the page, a row for each program."""
    names = dict.fromkeys(name for found in results.values() for name in found)
    del names["tables"]
    head = [f"{family} ({found['tables']})" for family, found in results.items()]
    lines = [f"| ranking | {' | '.join(head)} |", "| --- " * (len(head) + 1) + "|"]
    for name in names:
        cells = []
        for found in results.values():
            if name not in found:
                cells.append("")
                continue
            mean, _, low, high = found[name]
            beside = "" if name == "combined" else f" ({low:+.3f} to {high:+.3f})"
            cells.append(f"{mean:.3f}{beside}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print and write the table."""
    logging.getLogger("pairtile").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    for rows in measured():
        results = summary(rows)
        path = write("peer_rankings", "cpu", results)
    print(markdown(results))
    head, begin, rest = PAGE.read_text().partition(BEGIN)
    if begin:
        text = f"{INTRODUCTION}\n`{path.name}`.\n\n{markdown(results)}"
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
