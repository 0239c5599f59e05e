"""The items of the search of targets: miRNAs, transcripts and, where asked for, genes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.fasta import BadRecord, Fasta
from pairtile.methods.mirna_targets.transcript_genes import read_transcript_genes
from pairtile.preprocess.items import printable, unique_names

MIRNA, TRANSCRIPT, GENE = "mirna", "transcript", "gene"
"""The kinds of item; genes only where transcripts are mapped to them."""


def items_table(mirnas: Fasta, transcripts: Fasta) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """One row for each record: kept miRNAs, kept transcripts, then what was left out.

    | column | meaning |
    |---|---|
    | item | row number, int32; ``i`` and ``j`` of a pairs table are these |
    | name | as in the file; where it is there already, with ``#2``, ``#3``... |
    | kept, reason | whether it is searched; if not, line and fault |
    | kind | ``mirna``, ``transcript`` or ``gene`` |
    | length | letters in the file, before ``trim``, int32; 0 where left out |
    | header | the header line after the name |
    | record | number of the record in its file, from 1, int32 |
    | is_regulator | true for miRNAs: edges point from them |

    Names are unique over both kinds, since networks name their nodes by them. Characters that
    tables cannot hold stand as ``\\x..``. Also returns the names that were changed, (in the file,
    in the table).
    """
    columns: list[dict[str, Any]] = []
    files = ((MIRNA, mirnas), (TRANSCRIPT, transcripts))
    originals = [name for _, fasta in files for name in fasta.names]
    unique = unique_names([printable(name) for name in originals])
    renamed = [(a, b) for a, b in zip(originals, unique, strict=True) if a != b]
    for kind, fasta in files:
        columns.append(
            {
                "kept": np.ones(len(fasta), dtype=bool),
                "reason": [""] * len(fasta),
                "kind": [kind] * len(fasta),
                "length": fasta.lengths.astype(np.int32),
                "header": [printable(header.strip()) for header in fasta.headers],
                "record": fasta.records,
            }
        )
    for kind, fasta in files:
        n_bad = len(fasta.bad)
        columns.append(
            {
                "kept": np.zeros(n_bad, dtype=bool),
                "reason": [_reason(bad) for bad in fasta.bad],
                "kind": [kind] * n_bad,
                "length": np.zeros(n_bad, dtype=np.int32),
                "header": [""] * n_bad,
                "record": np.array([bad.record for bad in fasta.bad], dtype=np.int32),
            }
        )
        unique += [printable(bad.name) for bad in fasta.bad]
    joined = {key: np.concatenate([_column(part[key]) for part in columns]) for key in columns[0]}
    items = pd.DataFrame(
        {
            "item": np.arange(len(unique), dtype=np.int32),
            "name": pd.Series(unique, dtype=object),
            **joined,
            "is_regulator": (joined["kind"] == MIRNA) & joined["kept"],
        }
    )
    return items, renamed


def with_genes(
    items: pd.DataFrame, transcripts: Sequence[str], n_mirnas: int, path: str
) -> tuple[pd.DataFrame, NDArray[np.int32], int]:
    """Add the genes of a table transcript -> gene as items of their own, after all others.

    A gene that is called as a transcript is that item; a transcript without a gene stands for
    itself. Also returns, for the kept transcripts in file order, the item of each one's gene, and
    how many have none.
    """
    genes = read_transcript_genes(path, transcripts)
    kept = items[items["kept"]]
    item_of = dict(zip(kept["name"], kept["item"].tolist(), strict=True))
    named = list(dict.fromkeys(printable(gene) for gene in genes.values()))
    new = [gene for gene in named if gene not in item_of]
    item_of |= {gene: len(items) + k for k, gene in enumerate(new)}
    rows = pd.DataFrame({"name": pd.Series(new, dtype=object), "kept": True, "reason": ""})
    rows = rows.assign(item=np.arange(len(new)) + len(items), kind=GENE, length=0, header="")
    rows = rows.assign(record=0, is_regulator=False)[list(items.columns)]
    itself = range(n_mirnas, n_mirnas + len(transcripts))
    of_transcript = [
        item_of[printable(genes[name])] if name in genes else item
        for name, item in zip(transcripts, itself, strict=True)
    ]
    joined = pd.concat([items, rows.astype(items.dtypes)], ignore_index=True)
    unmapped = sum(name not in genes for name in transcripts)
    return joined, np.array(of_transcript, dtype=np.int32), unmapped


def _column(values: Any) -> NDArray[Any]:
    return np.array(values, dtype=object) if isinstance(values, list) else np.asarray(values)


def _reason(bad: BadRecord) -> str:
    return f"line {bad.line}: {bad.found}"
