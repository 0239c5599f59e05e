"""AUPR without a list of regulators, where ``auto`` takes ``combined``.

    python -m benchmarks.bench_without_list [--processes N]

Every gene is a candidate. ``undirected``: a pair has the better of its two scores and is true if
either direction is; ``directed``: ordered pairs (all but ``target_z`` give both directions one
score). ``partial``: shrunken partial correlation of all genes, which ``multimodal_correlation``
offers. ``network``: F1 of the pairs of the default network. ``behind``: how far the undirected AUPR
of ``auto`` is behind that of the best score of this method, and behind ``partial``. Writes
``results/without_list.MACHINE.json``.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pairtile
import pandas as pd
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.partial_correlation import PartialCorrelations

from benchmarks.bench_quality import DATA
from benchmarks.bench_rankings import table_of
from benchmarks.machine import write
from benchmarks.published_simulators import MODELS, curated, sergio
from benchmarks.ranking_tables import KINDS, Floats, Table
from benchmarks.validity.claims import of_mean

Score = Literal["clr", "target_z", "combined"]
SCORES: tuple[Score, ...] = ("clr", "target_z", "combined")
RANKINGS = (*SCORES, "mi", "partial")
PAGE = Path(__file__).resolve().parent.parent / "docs/quality.md"
BEGIN, END = "<!-- table: without list -->", "<!-- end of without list -->"
SEEDS = range(2000, 2001)
PUBLIC = ("syntren300", *(f"dream4/net{n}" for n in range(1, 6)))
RAW: dict[str, Any] = {"log2": False, "normalize": "none"}


def tables() -> Iterator[tuple[str, str, Table, dict[str, Any]]]:
    """Family, kind, table, and how it is prepared."""
    for seed in SEEDS:
        for number, model in enumerate(MODELS):
            for lost in (0.0, 0.5):
                draw = np.random.default_rng([seed, number, int(10 * lost)])
                yield "curated", model, curated(draw, model, 500, lost), RAW
        for cells in (200, 500):
            for technical in (False, True):
                draw = np.random.default_rng([seed, cells, technical])
                kind = "SERGIO, technical noise" if technical else "SERGIO"
                made = sergio(draw, cells, technical=technical)
                yield "sergio", kind, made, {} if technical else RAW
        for kind in KINDS:
            yield "simulated", kind, table_of(kind, 100, seed), RAW
        for samples in (100, 300):
            for share in (0.15, 0.3, 0.5):
                draw = np.random.default_rng([seed, samples, int(100 * share)])
                kind = f"{share:.0%} of the variance, {samples} samples"
                yield "one factor", kind, one_factor(draw, samples, share), RAW
            for network in ("chains", "modules", "kinetic", "parabola"):
                draw = np.random.default_rng([seed, samples, 30, list(KINDS).index(network)])
                kind = f"{network}, 30% of the variance, {samples} samples"
                yield "one factor", kind, one_factor(draw, samples, 0.3, network), RAW
    for name in PUBLIC:
        if (DATA / name).is_dir():
            yield "public", name.split("/")[0], public(name), {}


def one_factor(
    draw: np.random.Generator, samples: int, share: float, network: str = "linear"
) -> Table:
    """A network, and a factor with this share of the variance, unequal among genes."""
    table = KINDS[network](draw, samples)
    loadings = draw.standard_normal((len(table.values), 1))
    held = np.minimum(share * loadings**2 / np.mean(loadings**2), 0.9)
    factor = np.sign(loadings) * draw.standard_normal(samples)
    own = table.values - table.values.mean(axis=1, keepdims=True)
    own /= own.std(axis=1, keepdims=True)
    return table._replace(values=np.sqrt(1.0 - held) * own + np.sqrt(held) * factor)


def public(name: str) -> Table:
    """A set of ``bench_quality`` whose every edge is known."""
    source = DATA / name
    table = pd.read_csv(next(source.glob("expression.tsv*")), sep="\t", index_col=0)
    gold = pd.read_csv(source / "gold_standard.tsv", sep="\t")
    place = {str(gene): k for k, gene in enumerate(table.index)}
    edges = np.zeros((len(place), len(place)), dtype=bool)
    for source_gene, target in zip(
        gold.iloc[:, 0].astype(str), gold.iloc[:, 1].astype(str), strict=True
    ):
        edges[place[source_gene], place[target]] = True
    return Table(table.to_numpy(dtype=float), np.arange(len(place)), edges)


def true_edges(table: Table) -> Floats:
    """Of all genes with all: bool (genes, genes)."""
    found = np.zeros((len(table.values),) * 2, dtype=bool)
    found[table.regulators] = table.edges
    return found


def average_precision(scores: Floats, true: Floats) -> float:
    """Equal scores in the order of a random draw."""
    order = np.lexsort((np.random.default_rng(0).random(scores.size), -scores))
    hits = true[order]
    precision = np.cumsum(hits) / np.arange(1, hits.size + 1)
    return float(precision[hits].mean())


def both_ways(scores: Floats, table: Table) -> dict[str, float]:
    """AUPR of a matrix of scores, (sources, targets)."""
    true = true_edges(table)
    upper, off = np.triu_indices(len(true), 1), ~np.eye(len(true), dtype=bool)
    pairs = np.maximum(scores, scores.T)[upper]
    return {
        "undirected": average_precision(pairs, (true | true.T)[upper]),
        "directed": average_precision(scores[off], true[off]),
    }


def measured(table: Table, preprocess: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Of each score."""
    found: dict[str, dict[str, float]] = {}
    true = true_edges(table)
    for score in SCORES:
        asked = {"score": score, "preprocess": preprocess, "backend": "cpu"}
        every = pairtile.infer_network(
            table.values, keep="all", dpi=False, permutations=1000, **asked
        )
        ends = every["source"].to_numpy(), every["target"].to_numpy()
        scores = np.full(true.shape, -np.inf)
        scores[ends] = every[score]
        if score != "target_z":
            scores = np.maximum(scores, scores.T)
        found[score] = both_ways(scores, table)
        if score == "clr":
            scores[ends] = every["mi_bits"]
            found["mi"] = both_ways(np.maximum(scores, scores.T), table)
        network = pairtile.infer_network(table.values, permutations=100_000, **asked)
        pairs = np.zeros_like(true)
        pairs[network["source"].to_numpy(int), network["target"].to_numpy(int)] = True
        pairs, wanted = np.triu(pairs | pairs.T, 1), np.triu(true | true.T, 1)
        found[score]["network"] = 2 * (pairs & wanted).sum() / max(1, pairs.sum() + wanted.sum())
    prepared = pairtile.prepare_expression(table.values, **preprocess)
    rows, kept = (
        PartialCorrelations(prepared.values, choose("cpu")).rows,
        list(map(int, prepared.genes)),
    )
    scores = np.full(true.shape, -np.inf)
    scores[np.ix_(kept, kept)] = np.abs(rows @ rows.T)
    found["partial"] = both_ways(scores, table)
    return found


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Of each kind, family and of all: mean of ``clr``, and of the others the mean difference to it
    with half of its 95 %."""
    groups = {
        f"{family}: {kind}": here for (family, kind), here in rows.groupby(["family", "kind"])
    }
    groups |= {f"all {family}": here for family, here in rows.groupby("family")}
    groups["all"] = rows
    result: dict[str, Any] = {}
    for name, here in groups.items():
        offered = here[[f"{score} undirected" for score in (*SCORES, "mi")]].mean()
        auto = float(offered["combined undirected"])
        result[name] = {
            "tables": len(here),
            "behind": round(float(offered.max()) - auto, 4),
            "behind_partial": round(float(here["partial undirected"].mean()) - auto, 4),
        }
        for what in ("undirected", "directed", "network"):
            base = here[f"clr {what}"]
            result[name][what] = {"clr": round(float(base.mean()), 4)}
            for score in RANKINGS[1:]:
                if f"{score} {what}" not in here:
                    continue
                gain = (here[f"{score} {what}"] - base).tolist()
                half = (
                    round((of_mean(gain)[1] - of_mean(gain)[0]) / 2, 4) if len(gain) > 1 else None
                )
                result[name][what][score] = [round(float(np.mean(gain)), 4), half]
    return result


def markdown(results: dict[str, Any]) -> str:
    """The table of the page."""
    shown = [("undirected", score) for score in (*SCORES, "partial")]
    shown += [("directed", score) for score in ("clr", "target_z")]
    columns = [*(f"{what}, {score}" for what, score in shown), "auto is behind"]
    lines = [f"| tables | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
    for name, found in results.items():
        # Few tables, or what families happen to be measured: in the file.
        if name.startswith(("curated:", "simulated:", "one factor:")) or name == "all":
            continue
        cells = [f"{name} ({found['tables']})"]
        for what, score in shown:
            if score == "clr":
                cells.append(f"{found[what]['clr']:.4f}")
                continue
            gain, half = found[what][score]
            interval = what == "undirected" and half is not None
            cells.append(f"{gain:+.4f} ± {half:.4f}" if interval else f"{gain:+.4f}")
        cells.append(f"{found['behind']:.4f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def of_table(given: tuple[str, str, Table, dict[str, Any]]) -> dict[str, Any]:
    """All numbers of one table, as ``tables`` gives it."""
    logging.getLogger("pairtile").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    family, kind, table, preprocess = given
    found = measured(table, preprocess)
    flat = {f"{s} {what}": value for s, of in found.items() for what, value in of.items()}
    return {"family": family, "kind": kind, **flat}


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1)
    rows = []
    with multiprocessing.get_context("spawn").Pool(parser.parse_args().processes) as pool:
        for row in pool.imap(of_table, tables()):
            rows.append(row)
            print(row, flush=True)
    results = summary(pd.DataFrame(rows))
    print(markdown(results))
    path = write("without_list", "cpu", results)
    head, _, rest = PAGE.read_text().partition(BEGIN)
    text = f"From `{path.name}`:\n\n{markdown(results)}"
    PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
