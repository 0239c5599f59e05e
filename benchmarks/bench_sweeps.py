"""The sweeps of the papers that pairtile follows, on our side, with what they published beside it.

    python -m benchmarks.bench_sweeps [SWEEP ...] [--backend cpu|cuda]

writes ``results/sweep_NAME.DEVICE.json`` for each, prints its table and draws it into
``docs/images/sweep_NAME.svg``; ``--draw`` draws from the files that are there. ``published`` holds
what the papers say, with their hardware; it was not measured here. Everything is the arithmetic
alone, results brought to the host where the workflow does so. On the CPU sizes are tiny, to try the
script, and tables are printed only.

- ``mutual_information``: ten numbers of genes, bins 10 to 20, orders 3 to 5, 1,000 samples, mixed
  precision;
- ``mutual_information_samples``: 100 to 10,000 samples of 4,096 genes, bins 10, 15 and 20 of order
  3, nothing missing and 2 % missing; operations a second as in ``bench_kernel_share``;
- ``mirna_targets``: numbers of miRNAs and lengths of references, and batches of either; the score
  pass on random sequences, 4 million letters of references in all;
- ``predictor_pairs``: genes, targets (all genes where they are fewer) and samples, two and three
  levels, nothing missing and, at one size, 2 %; penalty ``no_obs``;
- ``trajectory_correlation``: angles (cyclic B-splines) and coordinates, 2,048 to 10,240 of them,
  1,000 frames; coordinates with the bins and orders above;
- ``multimodal_correlation``: mixtures of 188 samples, by the genes along the side of a tile, with
  nothing missing and with 0 to 30 % of the samples of a gene missing, these genes in random order
  and sorted by how many.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pairtile.engine.tiles import PairSpace
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.search import SequenceBatch, TargetSearch
from pairtile.methods.multimodal_correlation.mixtures import pair_mixtures
from pairtile.methods.predictor_pairs.search import PredictorSearch, SearchSettings
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import MotionPairs
from pairtile.methods.trajectory_correlation.score import tile_edge
from pairtile.splines.scorer import BsplineScorer, SplineSettings
from pairtile.splines.values import scaled

from benchmarks import bench_mutual_information, bench_pair_mixtures
from benchmarks.bench_mirna_targets import random_sequences, score_pass
from benchmarks.bench_predictor_pairs import levels_of_genes
from benchmarks.bench_trajectory_correlation import moving
from benchmarks.machine import RESULTS, timed, write

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"

Rows = list[dict[str, Any]]

BINS, ORDERS = (10, 12, 14, 16, 18, 20), (3, 4, 5)


def mutual_information(large: bool) -> Rows:
    """Scores of all pairs of genes, left on the device."""
    sizes = range(1_024, 10_241, 1_024) if large else (64, 128)
    samples = 1_000 if large else 50
    device = choose("cuda" if large else "cpu")
    values = bench_mutual_information.expression(max(sizes), samples)
    rows = []
    for bins, order in product(BINS, ORDERS):
        settings = SplineSettings(bins, order, "clamped", "mixed")
        scorer = BsplineScorer(settings, device, complete=True)
        z = scaled(values, settings, "rank")
        blocks = [scorer.weights(z[r : r + 1_024]) for r in range(0, max(sizes), 1_024)]
        for genes in sizes:
            here = blocks[: -(-genes // 1_024)]

            def scores(here: list[Any] = here, scorer: BsplineScorer = scorer) -> None:
                for number, block in enumerate(here):
                    for other in here[number:]:
                        scorer.scores(block, other)

            seconds = timed(scores, repeats=2)["seconds"]
            rows.append({"bins": bins, "order": order, "genes": genes, "seconds": seconds})
    return rows


def mutual_information_samples(large: bool) -> Rows:
    """Scores of all pairs of genes, left on the device, by the number of samples."""
    genes = 4_096 if large else 128
    sizes = (100, 200, 500, 1_000, 2_000, 5_000, 10_000) if large else (50, 100)
    device = choose("cuda" if large else "cpu")
    values = bench_mutual_information.expression(genes, max(sizes))
    without = np.where(np.random.default_rng(3).random(values.shape) < 0.02, np.nan, values)
    rows = []
    for bins, missing, samples in product((10, 15, 20), (0.0, 0.02), sizes):
        settings = SplineSettings(bins, 3, "clamped", "mixed")
        scorer = BsplineScorer(settings, device, complete=not missing)
        z = scaled((without if missing else values)[:, :samples], settings, "rank")
        blocks = [scorer.weights(z[r : r + 1_024]) for r in range(0, genes, 1_024)]

        def scores(blocks: list[Any] = blocks, scorer: BsplineScorer = scorer) -> None:
            for number, block in enumerate(blocks):
                for other in blocks[number:]:
                    scorer.scores(block, other)

        seconds = timed(scores, repeats=2)["seconds"]
        row = {"bins": bins, "missing": missing, "samples": samples, "genes": genes}
        gflops = samples * (genes * bins) ** 2 / seconds / 1e9
        rows.append(row | {"seconds": seconds, "gflops": gflops})
    return rows


def mirna_targets(large: bool) -> Rows:
    """The score pass, its candidates in host memory."""
    queries = (1, 8, 64, 128, 256, 512, 1_024, 2_048) if large else (4, 8)
    lengths = (1_000, 4_000, 16_000, 64_000) if large else (500, 1_000)
    letters = 4_000_000 if large else 4_000
    device = choose("cuda" if large else "cpu")
    candidates, random = score_pass(device), np.random.default_rng(1)
    mirnas = random_sequences(max(queries), 1)[0]
    rows = []

    def cut(sequences: SequenceBatch, count: int, batch: int) -> list[SequenceBatch]:
        firsts = range(0, count, batch)
        return [sequences.block(np.arange(n, min(n + batch, count))) for n in firsts]

    def add(count: int, length: int, batch: int, references_a_batch: int = letters) -> None:
        offsets = np.arange(0, letters + 1, length)
        text = random.choice(np.frombuffer(b"ACGU", dtype=np.uint8), int(offsets[-1]))
        references = SequenceBatch(text, offsets)
        searches = [
            TargetSearch(*block, AlignmentConfig(energies=False), device)
            for block in product(
                cut(mirnas, count, batch), cut(references, len(references), references_a_batch)
            )
        ]

        def score() -> None:
            for search in searches:
                candidates(search.mirnas, search.transcripts, search.scoring)

        seconds = timed(score, repeats=2)["seconds"]
        cells = int(mirnas.offsets[count]) * int(offsets[-1])
        row: dict[str, Any] = {"queries": count, "reference_length": length}
        row["queries_a_batch"] = batch if batch < count else "all"
        in_all = references_a_batch >= len(references)
        row["references_a_batch"] = "all" if in_all else references_a_batch
        rows.append(row | {"seconds": seconds, "gcups": cells / seconds / 1e9})

    for count, length in product(queries, lengths):
        add(count, length, count)
    for batch in queries[-6:-1]:
        add(max(queries), lengths[1], batch)
    for batch in (1, 4, 16, 64, 256, 1_024) if large else (1, 4):
        add(min(256, max(queries)), lengths[0], max(queries), batch)
    return rows


def predictor_pairs(large: bool) -> Rows:
    """The search over all pairs of predictors, the ten best of each target."""
    sizes = (1_024, 2_048, 4_096, 8_192) if large else (32, 64)
    targets = (64, 512, 4_096) if large else (8, 16)
    samples = (20, 50, 100, 200, 500) if large else (20, 50)
    device = choose("cuda" if large else "cpu")
    usual = (sizes[-2], targets[-1], 50)
    wanted = [(genes, *usual[1:], 0.0) for genes in sizes]
    wanted += [(usual[0], n_targets, 50, 0.0) for n_targets in targets]
    wanted += [(*usual[:2], n_samples, 0.0) for n_samples in samples] + [(*usual, 0.02)]
    rows = []
    for n_levels, (genes, most_targets, n_samples, missing) in product(
        (2, 3), dict.fromkeys(wanted)
    ):
        settings = SearchSettings(levels=n_levels, penalty="no_obs", top=10)
        levels = levels_of_genes(genes, n_samples, n_levels, missing=missing, constant=0.0)
        n_targets = min(most_targets, genes)
        search = PredictorSearch(levels, settings, device)
        later = np.roll(levels, -1, axis=1)[:n_targets]
        exclude = np.arange(n_targets, dtype=np.int32)
        seconds = timed(lambda s=search, a=later, b=exclude, n=genes: s.best(a, b, 0, n), repeats=2)
        triples = n_targets * genes * (genes - 1) // 2
        row = {"levels": n_levels, "missing": missing, "genes": genes}
        row |= {"most_targets": most_targets, "samples": n_samples}
        per_second = triples / seconds["seconds"]
        rows.append(row | {"seconds": seconds["seconds"], "triples_a_second": per_second})
    return rows


def trajectory_correlation(large: bool) -> Rows:
    """All pairs of angles, and of coordinates, in the tiles of the workflow, in float64."""
    sizes = (2_048, 4_096, 6_144, 8_192, 10_240) if large else (64, 128)
    frames = 1_000 if large else 50
    device = choose("cuda" if large else "cpu")
    series = moving(max(sizes), 1, frames)
    kinds = [("dihedral", bins, 3) for bins in BINS]
    kinds += [("bspline", bins, order) for bins, order in product(BINS, ORDERS)]
    rows = []
    for (kind, bins, order), variables in product(kinds, sizes):
        settings = MotionEstimatorConfig(kind=kind, bins=bins, order=order, theiler=0)
        pairs = MotionPairs(series[:variables], settings, device)
        tiles = PairSpace("triangle", variables, variables).tiles(tile_edge(kind, 1, frames))

        def score(pairs: Any = pairs, tiles: Any = tiles) -> None:
            for tile in tiles:
                rows_, columns = (
                    (tile.row_begin, tile.row_end),
                    (tile.column_begin, tile.column_end),
                )
                pairs.block(slice(*rows_), slice(*columns))

        pairs.block(slice(0, 64), slice(0, 64))  # compiles
        seconds = timed(score, repeats=1, warm=0)["seconds"]
        row = {"kind": "angles" if kind == "dihedral" else "coordinates", "bins": bins}
        rows.append(row | {"order": order, "variables": variables, "seconds": seconds})
    return rows


def multimodal_correlation(large: bool) -> Rows:
    """Mixtures of the pairs of a tile, K 1 to 5, three starts, and by the rules of KINC."""
    edges = (64, 128, 256, 512, 1_024, 2_048) if large else (8, 16)
    device = choose("cuda" if large else "cpu")
    random = np.random.default_rng(2)
    values = bench_pair_mixtures.expression(max(edges), 188)
    keys = random.integers(0, 2**63, max(edges)).astype(np.uint64)
    share = random.uniform(0.0, 0.3, (max(edges), 1))
    uneven = np.where(random.random(values.shape) < share, np.nan, values)
    kinds = (("none", "random"), ("uneven", "random"), ("uneven", "by missing"))
    rows = []
    for compatibility, (missing, order), edge in product(("none", "kinc"), kinds, edges):
        config = bench_pair_mixtures.mixture_config(compatibility=compatibility)
        table, items = (uneven if missing == "uneven" else values)[:edge], np.arange(edge)
        genes = np.argsort(np.isnan(table).sum(axis=1)) if order == "by missing" else items
        engine = pair_mixtures(table[genes], keys[genes], config, device)
        seconds = timed(lambda e=engine, i=items: e.tile(i, i, upper=True), repeats=1)["seconds"]
        pairs = edge * (edge - 1) // 2
        row = {"compatibility": compatibility, "missing": missing, "order": order}
        row |= {"tile_edge": edge, "pairs": pairs, "seconds": seconds}
        rows.append(row | {"pairs_a_second": pairs / seconds})
    return rows


class Sweep(NamedTuple):
    """How rows are made and drawn: ``value`` along each of ``x``, a line for each of the other
    settings; and what was published, rows with ``hardware`` and ``source``, drawn where they have
    the value and not only how many times faster than a CPU."""

    rows: Callable[[bool], Rows]
    value: str
    x: tuple[str, ...]
    settings: tuple[str, ...]
    published: Rows


CUDA_MI = {
    "times_faster": "up to 82",
    "than": "threads of a quad-core CPU, float64",
    "hardware": "1 GPU",
    "source": "Shi et al. 2011, abstract",
}
PGN_SEARCH = {
    "times_faster": "hundreds",
    "than": "the CPU",
    "hardware": "several GPUs",
    "source": "Borelli et al. 2013, abstract",
}
MULTI_CUDA_MI = {"hardware": "4 C2050", "source": "MULTI-CUDA-MI"}
KINC = {"compatibility": "kinc", "pairs": 24_847_725, "source": "Shealy et al. 2019"}

SWEEPS = {
    "mutual_information": Sweep(
        mutual_information, "seconds", ("genes",), ("bins", "order", "genes"), [CUDA_MI]
    ),
    "mutual_information_samples": Sweep(
        mutual_information_samples, "gflops", ("samples",), ("bins", "missing", "samples"), []
    ),
    "mirna_targets": Sweep(
        mirna_targets,
        "gcups",
        ("queries", "queries_a_batch", "references_a_batch"),
        ("queries", "reference_length", "queries_a_batch", "references_a_batch"),
        [{"gcups": 5.36, "hardware": "4 GPUs", "source": "CUDA-miRanda"}],
    ),
    "predictor_pairs": Sweep(
        predictor_pairs,
        "triples_a_second",
        ("genes", "most_targets", "samples"),
        ("levels", "missing", "genes", "most_targets", "samples"),
        [PGN_SEARCH],
    ),
    "trajectory_correlation": Sweep(
        trajectory_correlation,
        "seconds",
        ("variables",),
        ("bins", "order", "kind", "variables"),
        [{"variables": 10_240, "seconds": 153.0} | MULTI_CUDA_MI],
    ),
    "multimodal_correlation": Sweep(
        multimodal_correlation,
        "pairs_a_second",
        ("tile_edge",),
        ("compatibility", "missing", "order", "tile_edge"),
        [
            KINC | {"seconds": 1334.0, "pairs_a_second": 24_847_725 / 1334.0, "hardware": "1 V100"},
            KINC | {"seconds": 181.0, "pairs_a_second": 24_847_725 / 181.0, "hardware": "8 V100"},
        ],
    ),
}


def draw(name: str, results: dict[str, Any], device: str) -> Path:
    """The sweep as lines, what was published as dashes at its height."""
    from matplotlib.figure import Figure

    sweep = SWEEPS[name]
    # Older files lack what was added since.
    along = [x for x in sweep.x if x in results["rows"][0]]
    figure = Figure(figsize=(6.5, 3.2 * len(along)), layout="constrained")
    figure.suptitle(f"{name}, {device}", fontsize=9)
    for axes, x in zip(figure.subplots(len(along), squeeze=False)[:, 0], along, strict=True):
        _lines(axes, sweep, x, results["rows"])
        drawn = [row for row in results["published"] if sweep.value in row]
        for row, style in zip(drawn, ("--", ":"), strict=False):
            label = f"published: {row['source']}, {row['hardware']}"
            axes.axhline(row[sweep.value], color="black", linestyle=style, lw=1, label=label)
        axes.set(xscale="log", yscale="log", xlabel=x.replace("_", " "))
        ticks = sorted({row[x] for row in results["rows"] if row[x] != "all"})
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=6, rotation=30)
        axes.set_xticks([], minor=True)
        axes.set_ylabel(sweep.value.replace("_", " "))
        axes.legend(fontsize=5, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path = IMAGES / f"sweep_{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


def _lines(axes: Any, sweep: Sweep, x: str, rows: Rows) -> None:
    """Colours by the first setting that differs between lines, dashes by the others."""
    from matplotlib import colormaps

    others = [key for key in sweep.settings if key != x and key in rows[0]]
    found: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        if row[x] != "all":
            found.setdefault(tuple(row[key] for key in others), []).append(row)
    found = {key: points for key, points in found.items() if len(points) > 1}
    first = sorted({key[0] for key in found})
    rest = sorted({key[1:] for key in found}, key=str)
    for key, points in found.items():
        ordered = sorted(points, key=lambda row: row[x])
        color = colormaps["viridis"](first.index(key[0]) / max(1, len(first) - 0.5))
        style = ("-", "--", "-.", ":", (0, (1, 3)))[rest.index(key[1:]) % 5]
        label = ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in zip(others, key, strict=True))
        values = [row[sweep.value] for row in ordered]
        at = [row[x] for row in ordered]
        axes.plot(at, values, color=color, linestyle=style, marker=".", lw=1, label=label)


def table(results: dict[str, Any]) -> str:
    """Rows as Markdown, the published ones at the end."""
    rows = [*results["rows"], *results["published"]]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [
        [
            f"{row[key]:.4g}" if isinstance(row.get(key), float) else str(row.get(key, ""))
            for key in columns
        ]
        for row in rows
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Run and draw the sweeps that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SWEEPS)} (default: all)")
    parser.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--draw", action="store_true", help="draw the files that are there")
    options = parser.parse_args()
    for name in options.names or SWEEPS:
        if options.draw:
            paths = sorted(RESULTS.glob(f"sweep_{name}.*.json"))
        else:
            backend = choose(options.backend).backend
            rows = SWEEPS[name].rows(backend == "cuda")
            results = {"rows": rows, "published": SWEEPS[name].published}
            if backend == "cpu":
                print(table(results), flush=True)
                continue
            paths = [write(f"sweep_{name}", backend, results)]
        for path in paths:
            content = json.loads(path.read_text())
            print(table(content["results"]), flush=True)
            print(path, draw(name, content["results"], content["device"]), flush=True)


if __name__ == "__main__":
    main()
