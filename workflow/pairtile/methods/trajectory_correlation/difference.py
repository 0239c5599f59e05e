"""How one analysis of motion differs from another: the files ``difference.*``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairtile.engine.estimator import Written
from pairtile.methods.trajectory_correlation.matrices import (
    StreamedPairs,
    write_matrices,
)
from pairtile.methods.trajectory_correlation.motion_difference import (
    VALUES,
    difference,
    matched_items,
)
from pairtile.methods.trajectory_correlation.structures import (
    centred_structure,
    residue_means,
    write_structure_pdb,
)
from pairtile.runtime.files import atomic_path

if TYPE_CHECKING:
    from pairtile.methods.trajectory_correlation.score import TrajectoryCorrelation

MATRICES = [f"{value}_difference" for value in VALUES]


def write_difference(
    opened: TrajectoryCorrelation,
    pairs: StreamedPairs,
    items: pd.DataFrame,
    folder: Path,
    written: Written,
) -> None:
    """Values of this analysis minus those of ``compare``, of all pairs that both have.

    ``difference.parquet``: ``i``, ``j``, ``source``, ``target``, and of ``correlation``,
    ``mi_nats`` and ``dcc`` the value here, ``_other`` there and the ``_difference``.
    ``difference.npz``: the differences as matrices. ``difference.pdb``: the mean difference of the
    correlations of each residue, times 100.

    Raises
    ------
    InputError
        If the two share fewer than two variables.
    """
    name = opened.config.compare
    assert name is not None
    other = folder.parent / name
    columns = ["i", "j", *VALUES]
    mine = pa.concat_tables(pairs.read(columns)).to_pandas()
    theirs = pd.read_parquet(other / "pairs.parquet", columns=columns)
    other_items = pd.read_parquet(other / "items.parquet")
    matched = matched_items(items, other_items, (folder.name, name))
    table = difference(mine, theirs, matched, len(other_items))
    del mine, theirs
    kept = int(items["kept"].sum())
    written.counts["pairs_compared"] = len(table)
    written.counts["variables_compared"] = len(matched)
    lacking = max(kept - len(matched), int(other_items["kept"].sum()) - len(matched))
    if lacking:
        written.warnings.append(
            f"{len(matched)} variables are in {folder.name} and in {name}; up to {lacking} of one "
            "of them are not in the other, and are not compared."
        )
    if (table["correlation"] < 0).any() != (table["correlation_other"] < 0).any():
        written.warnings.append(
            f"Correlations of {name} have a sign and those of {folder.name} have none, or the "
            "other way round: their difference means little."
        )
    _write_table(folder / "difference.parquet", table, items)
    write_matrices(folder / "difference.npz", table, items, names=MATRICES)
    if "structure" in opened.state:
        structure = centred_structure(opened.state)["structure"]
        n_residues = int(structure["residue"].max(initial=-1)) + 1
        write_structure_pdb(
            folder / "difference.pdb",
            structure,
            100.0 * residue_means(items, _item_means(table, len(items)), n_residues),
            np.zeros(n_residues, dtype=np.int32),
            f"100 X MEAN DIFFERENCE OF CORRELATIONS, THIS MINUS {name}",
        )


def _write_table(path: Path, table: pd.DataFrame, items: pd.DataFrame) -> None:
    names = items["name"].to_numpy(dtype=object)
    named = table.assign(source=names[table["i"]], target=names[table["j"]])
    first = ["i", "j", "source", "target"]
    named = named[[*first, *(column for column in named.columns if column not in first)]]
    typed = named.astype({"i": np.int32, "j": np.int32})
    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pandas(typed, preserve_index=False), temporary)


def _item_means(table: pd.DataFrame, n_items: int) -> np.ndarray:
    """Mean difference of the correlations of each item; NaN where none is shared."""
    value = table["correlation_difference"].to_numpy()
    ends = np.concatenate([table["i"].to_numpy(), table["j"].to_numpy()])
    number = np.bincount(ends, minlength=n_items)
    total = np.bincount(ends, np.concatenate([value, value]), minlength=n_items)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
