"""Which order of miRNA-target pairs finds targets that were measured?

    python -m benchmarks.fetch_data mirtarbase
    python -m benchmarks.bench_mirna_truth [--mirnas mature.fa] [--transcripts rna.fna.gz]

Two kinds of measured pairs of miRTarBase, on the human genes of a FASTA file:

- ``reporter_assays``: pairs with a reporter assay that worked, on 3' UTRs. Most pairs were tried
  because a program had predicted a site in them: seed matches are favoured.
- ``clash``: miRNAs ligated to the messenger they were bound to (Helwak et al. 2013), on whole
  messengers. No prediction came before; but bound is not repressed.

Each miRNA and each gene with one such pair or more: the pairs of all these miRNAs with all these
genes are ranked, and what was not measured counts as no target. So no order can reach a precision
near 1; orders can be compared. Intervals: 2.5 and 97.5 % quantiles, genes drawn with replacement.

Sequences: miRNAs of miRBase; messengers of RefSeq with ``(SYMBOL), mRNA`` in the header, as the
NCBI writes them. Those of ``../shared/data/mirna`` (miRBase 18, chromosome 22) where they are,
or your own (ncbi.nlm.nih.gov/datasets, RNA of GRCh38; mirbase.org, mature.fa). Of each gene the
longest messenger is taken; its 3' UTR is what follows the longest open reading frame.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pairtile import mirna_signal
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.statistics.evaluation import ranking_curve

from benchmarks.fetch_data import BESIDE, data_folder, mirtarbase
from benchmarks.machine import write

SHUFFLES, DRAWS = 100, 500
SHORTEST_UTR = 50
TENTH = 0.1
OURS = "p of pairtile"

OPEN_FRAME = re.compile(r"(?=(ATG(?:...)*?(?:TAA|TAG|TGA)))")


def messengers(path: str | Path) -> dict[str, str]:
    """The longest messenger of each gene: symbol -> letters, upper case, T."""
    fasta = read_fasta(path, "transcripts")
    found: dict[str, str] = {}
    for k, header in enumerate(fasta.headers):
        symbols = re.findall(r"\(([^()]+)\),[^()]* ?mRNA", header)
        text = fasta.letters.sequence(k).upper().replace("U", "T")
        if symbols and len(text) > len(found.get(symbols[-1], "")):
            found[symbols[-1]] = text
    return found


def behind_longest_frame(text: str) -> str:
    """The 3' UTR: what follows the longest open reading frame; nothing where there is none."""
    frames = [match.group(1) for match in OPEN_FRAME.finditer(text)]
    if not frames:
        return ""
    longest = max(frames, key=len)
    return text[text.index(longest) + len(longest) :]


def measured(table: pd.DataFrame, kind: str) -> set[tuple[str, str]]:
    """Pairs of miRNA and gene of miRTarBase with evidence of a kind."""
    how = table["Experiments"].fillna("")
    if kind == "clash":
        known = how.str.contains("CLASH", regex=False)
    else:
        known = how.str.contains("reporter assay") & (table["Support Type"] == "Functional MTI")
    return set(table.loc[known, ["miRNA", "Target Gene"]].itertuples(index=False, name=None))


def orders(targets: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Of pairs with a hit: what each order ranks by, higher first."""
    classes = {name: k for k, name in enumerate(SEED_CLASSES)}
    context = -targets["total_context_score"]
    return {
        OURS: -np.arange(len(targets), dtype=np.float64),  # the table has this order
        "greatest score (miRanda)": targets["max_score"],
        "total score (miRanda)": targets["total_score"],
        "lowest energy (miRanda)": -targets["min_energy_kcal_mol"],
        "total energy (miRanda)": -targets["total_energy_kcal_mol"],
        "seed class, then number of canonical sites": targets["best_seed_class"].map(classes)
        + targets["n_canonical_sites"] / 1000,
        "length of the sequence": targets["transcript_length"],
        "total context score": context.fillna(context.min() - 1),
    }


def figures(
    score: NDArray[np.float64], known: NDArray[np.bool_], candidates: int, positives: int
) -> tuple[float, float]:
    """AUPR, and how many times as many targets as by chance are in the first tenth of the pairs."""
    curve, _ = ranking_curve(
        score,
        np.ones(len(score), dtype=bool),
        known,
        top=len(score),
        n_candidates=candidates,
        n_positives=positives,
    )
    at = np.interp(TENTH * candidates, curve.ranks, curve.true_positives)
    return curve.aupr(), float(at / (TENTH * positives))


def compare(
    targets: pd.DataFrame, truth: set[tuple[str, str]], genes: list[str], n_mirnas: int
) -> dict[str, Any]:
    """Both figures of each order, with intervals, and those of our order less the other's.

    targets : a row for each pair with a hit; the other pairs follow in random order.
    """
    number = {gene: k for k, gene in enumerate(genes)}
    gene = targets["transcript"].map(number).to_numpy()
    pairs = zip(targets["mirna"], targets["transcript"], strict=True)
    known = np.array([pair in truth for pair in pairs])
    of_gene = np.bincount([number[name] for _, name in truth], minlength=len(genes))
    candidates = len(genes) * n_mirnas
    by = {name: np.asarray(values, np.float64) for name, values in orders(targets).items()}
    draw = np.random.default_rng(1)
    drawn: dict[str, list[tuple[float, float]]] = {name: [] for name in by}
    for _ in range(DRAWS):
        times = np.bincount(draw.integers(len(genes), size=len(genes)), minlength=len(genes))
        rows = np.repeat(np.arange(len(targets)), times[gene])
        positives = int(times @ of_gene)
        for name, values in by.items():
            drawn[name].append(figures(values[rows], known[rows], candidates, positives))
    found = {}
    for name, values in by.items():
        row: dict[str, Any] = {}
        parts = figures(values, known, candidates, len(truth))
        for k, what in enumerate(("aupr", "enrichment_first_tenth")):
            of_draws, ours = (np.array(drawn[which])[:, k] for which in (name, OURS))
            row[what] = rounded([parts[k], *np.quantile(of_draws, [0.025, 0.975])])
            if name != OURS:
                more = np.quantile(ours - of_draws, [0.025, 0.975])
                row[f"{what}_ours_more"] = rounded([np.mean(ours - of_draws), *more])
        found[name] = row
    return found


def rounded(values: list[Any]) -> list[float]:
    """A figure and its interval, to four digits."""
    return [float(f"{value:.4g}") for value in values]


def run(mirnas: Path, transcripts: Path) -> dict[str, Any]:
    """All figures of both kinds of measured pairs."""
    table = pd.read_csv(mirtarbase(data_folder()))
    fasta = read_fasta(mirnas, "mirnas")
    sequences = {name: fasta.letters.sequence(k) for k, name in enumerate(fasta.names)}
    whole = messengers(transcripts)
    tails = {gene: behind_longest_frame(text) for gene, text in whole.items()}
    tails = {gene: text for gene, text in tails.items() if len(text) >= SHORTEST_UTR}
    results = {}
    for kind, searched in (("reporter_assays", tails), ("clash", whole)):
        of_genes = {pair for pair in measured(table, kind) if pair[1] in searched}
        truth = {pair for pair in of_genes if pair[0] in sequences}
        genes = sorted({gene for _, gene in truth})
        asked = sorted({mirna for mirna, _ in truth})
        found = mirna_signal(
            {name: sequences[name] for name in asked},
            {name: searched[name] for name in genes},
            shuffles=SHUFFLES,
            extras={"context": True},
        )
        pairs = zip(found.targets["mirna"], found.targets["transcript"], strict=True)
        results[kind] = {
            "mirnas": len(asked),
            "genes": len(genes),
            "pairs": len(asked) * len(genes),
            "measured": len(truth),
            "measured_of_unknown_mirnas": len(of_genes - truth),
            "measured_with_a_hit": sum(pair in truth for pair in pairs),
            "pairs_with_a_hit": len(found.targets),
            "orders": compare(found.targets, truth, genes, len(asked)),
        }
    return results


def main() -> None:
    """Write ``results/mirna_truth.DEVICE.json``."""
    beside = BESIDE / "mirna"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirnas", type=Path, default=beside / "human_mature_mirna.fa")
    parser.add_argument(
        "--transcripts", type=Path, default=beside / "human_chr22_transcripts.fa.gz"
    )
    given = parser.parse_args()
    results = run(given.mirnas, given.transcripts)
    print(json.dumps(results, indent=2))
    print(write("mirna_truth", "cpu", results))


if __name__ == "__main__":
    main()
