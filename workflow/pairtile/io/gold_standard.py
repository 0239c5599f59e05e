"""Gold standards: the edges that are known to be true."""

from __future__ import annotations

import math
from os import PathLike

import pandas as pd

from pairtile.declare.messages import Message
from pairtile.errors import InputError
from pairtile.io.adj import is_adj, read_adj
from pairtile.io.names import GeneNames
from pairtile.io.text_file import find_delimiter, read_list

_SOURCE_HEADERS = {"source", "regulator", "tf", "from", "tf_name", "gene1", "gene_1"} | {
    *("protein1", "node1", "source_genesymbol", "regulatorygene", "gene_a", "mirna", "microrna"),
}
_TARGET_HEADERS = {"target", "gene", "to", "target_gene", "gene2", "gene_2"} | {
    *("protein2", "node2", "target_genesymbol", "targetgene", "gene_b", "transcript", "mrna"),
}
_SIGNS = {"+", "-", "+-", "?", "activation", "repression", "activator", "repressor", "unknown"} | {
    *("activates", "represses", "inhibition", "dual"),
}
"""What says how an edge acts, in place of a number: it is there."""


def read_gold_standard(path: str | PathLike[str]) -> pd.DataFrame:
    """Read true edges: columns ``source``, ``target`` (str), in file order, each edge once.

    The file has two fields a line, or three: the third is a number (DREAM's 0/1 label, or a
    weight), and rows with 0 are false edges, left out. A header (``source target``, ``regulator
    gene``, ``TF target``...) is optional; lines that start with ``#`` are passed over, and numbers
    of rows before the fields. Instead of a number, the third field may say how the edge acts
    (``+``, ``-``, ``activation``...). Tabs, blanks, or commas by suffix; ``.adj`` holds ARACNe's
    lists, with numbers as weights. Self edges and duplicates are left out. ``attrs`` of the result
    counts: ``n_rows`` read, ``n_false``, ``n_self_edges``, ``n_duplicates``; ``has_header``.

    Raises
    ------
    InputError
        File missing or damaged, another number of fields, an empty name, a third field that is
        no number, or no true edge at all.
    """
    rows = read_adj(path) if is_adj(path) else read_list(path, find_delimiter(path), r"\S+ +\S")
    above = [text.lower().replace(" ", "_") for _, fields in rows[:1] for text in fields[:2]]
    has_header = (
        len(above) > 1
        and not is_adj(path)
        and above[0] in _SOURCE_HEADERS
        and above[1] in _TARGET_HEADERS
    )
    if has_header:
        rows = rows[1:]
    if not rows:
        raise InputError.at(path, "", "no edges", "source and target in each line")
    true = [fields for line, fields in rows if _is_true(path, line, fields, len(rows[0][1]))]
    edges = pd.DataFrame(
        {"source": [f[0] for f in true], "target": [f[1] for f in true]}, dtype=object
    )
    regulating = edges[edges["source"] != edges["target"]]
    result = regulating.drop_duplicates(ignore_index=True)
    if result.empty:
        raise InputError.at(
            path, "", f"no true edge between two names in {len(rows)} rows", "at least one"
        )
    result.attrs = {
        "n_rows": len(rows),
        "n_false": len(rows) - len(true),
        "n_self_edges": len(edges) - len(regulating),
        "n_duplicates": len(regulating) - len(result),
        "has_header": has_header,
    }
    return result


def with_spelling_of(edges: pd.DataFrame, genes: GeneNames) -> tuple[pd.DataFrame, list[Message]]:
    """The edges of a gold standard with names as the genes have them, each edge once,
    and what to say of them. A name of several genes stands for an edge of each; what is no gene
    stays as it is."""
    ends = ["source", "target"]
    spelled, said = genes.spell(edges, ends, "names of the gold standard")
    regulating = spelled[spelled["source"] != spelled["target"]]
    return regulating.drop_duplicates(ends, ignore_index=True), said


def _is_true(path: str | PathLike[str], line: int, fields: list[str], width: int) -> bool:
    if len(fields) not in (2, 3) or len(fields) != width:
        raise InputError.at(
            path,
            f"line {line}",
            f"{len(fields)} field{'s' if len(fields) > 1 else ''}",
            str(width) if width in (2, 3) else "2 (source, target) or 3 (and a 0/1 label)",
        )
    if not fields[0] or not fields[1]:
        raise InputError.at(path, f"line {line}", "an empty name", "source and target")
    if len(fields) == 2:
        return True
    try:
        label = float(fields[2])
    except ValueError:
        label = 1.0 if fields[2].lower() in _SIGNS else math.nan
    if math.isnan(label):
        raise InputError.at(path, f"line {line}", repr(fields[2]), "a number (0: no edge), + or -")
    return label != 0
