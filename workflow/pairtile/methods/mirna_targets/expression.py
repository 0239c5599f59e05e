"""Expression joined to targets: whether miRNAs and the transcripts with their sites go in opposite
directions, against the transcripts on which shuffled miRNAs have sites.

Where a miRNA represses a transcript, samples with more of the one have less of the other. But
transcripts that are correlated with anything else, such as long ones with many sites of whatever
miRNA, are so, too. So a pair's Spearman correlation is compared with those of the same miRNA's
expression and the transcripts with a canonical site of one of its shuffles: sites of the same
composition, on transcripts that have them by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.expression import Expression, read_expression
from pairtile.io.regulators import hint_of_names
from pairtile.io.table import check_names
from pairtile.methods.mirna_targets.arrays import ExpressionArrays, SequenceArrays
from pairtile.methods.mirna_targets.records import PreparedPart
from pairtile.statistics.correction import known_q_values

message = messages_of(__package__)

MIN_SAMPLES = 5

PAIRS_AT_ONCE = 1 << 15


# --- input ----------------------------------------------------------------------------------------


_GENES = ": state genes: FILE, a table of two columns, transcript and gene"


def prepare_expression(
    paths: tuple[str | PathLike[str], str | PathLike[str]],
    mirnas: Sequence[str],
    transcripts: Sequence[str],
    genes: Mapping[str, str],
    spelled: Callable[[str], str] = str,
) -> PreparedPart[ExpressionArrays]:
    """Read expression of miRNAs and of transcripts, names in rows, the same samples in both.

    paths : of miRNAs, of transcripts. mirnas, transcripts : names, rows as in the state. genes :
    gene of a transcript, by whose name its expression may stand in the table. spelled :
    ``Fasta.spelled`` of the transcripts.

    Raises InputError as ``read_expression``; for tables with other samples, too few of them, or
    without a name that is searched.
    """
    of_mirnas, of_transcripts = (read_expression(path, layer="X") for path in paths)
    for one, other in ((of_transcripts, of_mirnas), (of_mirnas, of_transcripts)):
        known = set(other.samples)
        strange = [name for name in one.samples if name not in known]
        if strange:
            raise InputError.at(
                one.source,
                "header",
                f"{len(strange)} samples that {other.source} has not, such as "
                f"{', '.join(strange[:5])} ({len(one.samples) - len(strange)} are in both)",
                "the same samples in both tables",
            )
    if len(of_mirnas.samples) < MIN_SAMPLES:
        raise InputError.at(
            of_mirnas.source,
            "header",
            f"{len(of_mirnas.samples)} samples",
            f"at least {MIN_SAMPLES}",
        )
    order = pd.Index(of_transcripts.samples).get_indexer(pd.Index(of_mirnas.samples))
    names = list(map(spelled, of_transcripts.genes))
    check_names(of_transcripts.source, "transcript", names)
    of_transcripts = replace(of_transcripts, genes=names, values=of_transcripts.values[:, order])
    messages = [*of_mirnas.notes, *of_transcripts.notes]
    ranks = {
        "mirna": _ranks(of_mirnas, mirnas, "miRNA", messages, {}),
        "transcript": _ranks(of_transcripts, transcripts, "transcript", messages, genes),
    }
    counts = {"expression_samples": len(of_mirnas.samples)}
    for (kind, found), table in zip(ranks.items(), (of_mirnas, of_transcripts), strict=True):
        without = int((~found.any(axis=1)).sum())
        counts[f"{kind}s_with_expression"] = len(found) - without
        if without:
            messages.append(
                message("not_expressed", file=table.source, n=without, of=len(found), kind=kind)
            )
    return PreparedPart(
        {"mirna_ranks": ranks["mirna"], "transcript_ranks": ranks["transcript"]}, counts, messages
    )


def _ranks(
    table: Expression,
    names: Sequence[str],
    kind: str,
    messages: list[Message],
    genes: Mapping[str, str],
) -> NDArray[np.int32]:
    """By their own names, else by those of their ``genes``; adds to the messages."""
    listed = dict.fromkeys([*names, *genes.values()])
    found_names = table.gene_names.find(listed)
    messages += found_names.messages(len(listed), f"{kind}s in {table.source}")
    own_rows = [found_names.rows.get(name, [-1])[0] for name in names]
    gene_rows = [found_names.rows.get(genes.get(name, ""), [-1])[0] for name in names]
    rows = np.where(np.array(own_rows) < 0, gene_rows, own_rows).astype(np.int64)
    if len(names) and (rows < 0).all():
        raise InputError.at(
            table.source,
            "",
            f"no {kind} that is searched ({', '.join(table.genes[:3])}, ...)"
            f"{hint_of_names(table.genes, names, _GENES if kind == 'transcript' else '')}",
            f"names as in the FASTA file: {names[0]}",
        )
    there = np.flatnonzero(rows >= 0)
    there = there[np.isfinite(table.values[rows[there]]).all(axis=1)]
    n_samples = len(table.samples)
    ranks = np.zeros((len(names), n_samples), dtype=np.int32)
    if there.size:
        from scipy.stats import rankdata  # slow to import, and few need it

        of_rows = rankdata(table.values[rows[there]], axis=1)
        ranks[there] = np.rint(2 * of_rows).astype(np.int32) - (n_samples + 1)
    return ranks


# --- correlations ---------------------------------------------------------------------------------


class Correlations:
    """Spearman correlations of miRNAs and transcripts; opened once on the state."""

    def __init__(self, state: SequenceArrays) -> None:
        self.mirnas = np.asarray(state["mirna_ranks"]).astype(np.float64)
        self.transcripts = np.asarray(state["transcript_ranks"])
        # Sums of whole numbers: exact in whatever order they are added.
        self._of_mirnas = np.sqrt((self.mirnas**2).sum(axis=1))
        squares = self.transcripts.astype(np.int64) ** 2
        self._of_transcripts = np.sqrt(squares.sum(axis=1).astype(np.float64))

    def of_pairs(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.float64]:
        """Of pairs of rows; NaN where there is no expression."""
        found = np.empty(len(i))
        for begin in range(0, len(i), PAIRS_AT_ONCE):
            some = slice(begin, begin + PAIRS_AT_ONCE)
            dot = np.einsum("ps,ps->p", self.mirnas[i[some]], self.transcripts[j[some]])
            norms = self._of_mirnas[i[some]] * self._of_transcripts[j[some]]
            found[some] = np.where(norms > 0, dot / np.maximum(norms, 1e-300), np.nan)
        return np.clip(found, -1.0, 1.0)


# --- tables ---------------------------------------------------------------------------------------


def expression_table(sums: NDArray[np.float64], mirnas: Iterable[str]) -> pa.Table:
    """Whether the targets of each miRNA, taken together, go against it more than chance gives.

    Columns are those of ``expression.tsv`` in ``columns.toml``.

    sums : of ``evidence.Evidence``. Shuffles without a pair are left out.
    """
    pairs, total = np.concatenate([sums.sum(axis=0, keepdims=True), sums]).transpose(1, 0, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = total / pairs
        expected = total[:, 1:].sum(axis=1) / pairs[:, 1:].sum(axis=1)
    there = (pairs[:, 1:] > 0).sum(axis=1)
    low = (means[:, 1:] <= means[:, :1] + 1e-12).sum(axis=1)
    p = np.where((pairs[:, 0] > 0) & (there > 0), (1.0 + low) / (1.0 + there), np.nan)
    q = np.append(np.nan, known_q_values(p[1:]))  # all together are no test beside the others
    numbers = {"correlation": means[:, 0], "expected": expected, "p_value": p, "q_value": q}
    names = pa.array(["all", *map(str, mirnas)], pa.string())
    columns = {
        name: pa.array(np.round(values, 6), pa.float64(), from_pandas=True)
        for name, values in numbers.items()
    }
    return pa.table({"mirna": names, "pairs": pairs[:, 0].astype(np.int64), **columns})
