"""``pairtile compare``: two networks side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from pairtile.errors import InputError
from pairtile.io.adj import is_adj, read_adj
from pairtile.io.networks.table import SCORE_COLUMNS
from pairtile.statistics.comparison import Comparison, compare_networks


def compare(first: Path, second: Path, as_json: bool = False) -> str:
    """Compare two networks; returns what is to be printed.

    Raises
    ------
    InputError
        For a file that is not there or is no network.
    """
    found = compare_networks(read_network(first), read_network(second))
    if as_json:
        return json.dumps(found.as_dict(), indent=2, ensure_ascii=False) + "\n"
    return "\n".join(_lines(found, str(first), str(second))) + "\n"


def read_network(path: Path) -> pd.DataFrame:
    """A network that pairtile or ARACNe (``.adj``) wrote: source, target, score (what ranks it).

    Raises
    ------
    InputError
        As ``compare``.
    """
    file = path / "network.parquet" if path.is_dir() else path
    if is_adj(file):
        rows = [row for _, row in read_adj(file)]
        return pd.DataFrame(rows, columns=["source", "target", "score"]).astype({"score": float})
    try:
        if file.suffix == ".parquet":
            table = pd.read_parquet(file)
        else:
            table = pd.read_csv(file, sep="\t", dtype={"source": str, "target": str})
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError.at(file, "", found, "a network.parquet or network.tsv") from error
    missing = [name for name in ("source", "target") if name not in table]
    score = next((name for name in SCORE_COLUMNS if name in table), None)
    if missing or score is None:
        wanted = f"source, target and one of {', '.join(SCORE_COLUMNS)}"
        raise InputError.at(file, "header", f"columns {', '.join(table.columns)}", wanted)
    return table[["source", "target"]].assign(score=table[score].astype(float))


def _lines(found: Comparison, first: str, second: str) -> list[str]:
    width = max(len(first), len(second))
    sizes = [
        f"{first:{width}}  {found.pairs_first:,} pairs of {found.items_first:,} items",
        f"{second:{width}}  {found.pairs_second:,} pairs of {found.items_second:,} items",
        "",
    ]
    if not found.items_shared:
        return [*sizes, "shared items: none (are the names of both of one kind?)"]
    return [
        *sizes,
        f"shared items: {found.items_shared:,}",
        f"shared pairs: {found.pairs_shared:,} (Jaccard {found.jaccard:.3f}; chance of as many "
        f"or more at random: {found.p_overlap:.2g})",
        f"rank correlation of their scores: {found.rank_correlation:.3f}",
        f"opposite signs: {found.sign_changes:,}",
        f"hubs of both: {', '.join(found.shared_hubs) or 'none'}",
        f"only of {first}: {_rest(found.hubs_first, found.shared_hubs)}",
        f"only of {second}: {_rest(found.hubs_second, found.shared_hubs)}",
    ]


def _rest(hubs: list[str], shared: list[str]) -> str:
    return ", ".join(hub for hub in hubs if hub not in shared) or "none"
