"""The tables and matrices of an analysis of motion, read once for the report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.state import MANIFEST, open_state
from pairtile.errors import StoreError
from pairtile.methods.trajectory_correlation.report_residue_marks import ResidueMarks
from pairtile.report.results import Results

RESIDUES, COMMUNITIES, PATHS = "residues.tsv", "communities.tsv", "paths.tsv"
MATRICES, DIFFERENCE = "matrices.npz", "difference.npz"
METHOD_NAMES = {"leiden": "Leiden", "girvan_newman": "Girvan-Newman"}

_TEXTS = (
    *("name", "chain", "icode", "resname", "atom", "domain", "secondary_structure"),
    *("method", "members", "source", "target", "path"),
)


@dataclass(frozen=True)
class MotionResults:
    """What the report knows of correlated motion, beyond the network.

    ``residues``, ``communities``, ``paths``: the tables of these names; the latter two may be
    empty. Variables are numbered as the rows of ``residues`` and of every matrix.
    """

    folder: Path
    residues: pd.DataFrame
    communities: pd.DataFrame
    paths: pd.DataFrame

    @cached_property
    def marks(self) -> ResidueMarks:
        """What stands along the axes of figures."""
        return ResidueMarks.of(self.residues)

    @property
    def several_chains(self) -> bool:
        """Whether residue numbers alone are no names."""
        return len(set(self.marks.chains)) > 1

    @cached_property
    def number(self) -> dict[str, int]:
        """Row of each variable by its name."""
        return {name: row for row, name in enumerate(self.residues["name"])}

    def matrix(self, name: str) -> NDArray[Any] | None:
        """A matrix of all pairs; None where it was not written or holds no number."""
        return _matrix(self.folder / MATRICES, name)

    def difference(self, name: str) -> NDArray[Any] | None:
        """A matrix of differences from the analysis that this one is compared with."""
        return _matrix(self.folder / DIFFERENCE, f"{name}_difference")

    @cached_property
    def community_methods(self) -> list[str]:
        """How communities were sought, the first first."""
        prefix = "community_"
        return [str(c).removeprefix(prefix) for c in self.residues if str(c).startswith(prefix)]

    def members(self, method: str) -> NDArray[np.int64]:
        """Community of each variable, 0 for none."""
        return self.residues[f"community_{method}"].to_numpy(dtype=np.int64)

    @cached_property
    def places(self) -> NDArray[np.float64] | None:
        """Mean position of each variable, (n, 3) in Angstrom; None where the state is gone or
        positions are not known."""
        if not (self.folder / "state" / MANIFEST).is_file():
            return None
        means = np.asarray(open_state(self.folder / "state")["mean_positions"], dtype=np.float64)
        return (
            means if means.shape == (len(self.residues), 3) and np.isfinite(means).any() else None
        )

    @cached_property
    def interval_ps(self) -> float | None:
        """Time between two frames in picoseconds; None where not known or not one."""
        if not (self.folder / "state" / MANIFEST).is_file():
            return None
        found = np.asarray(open_state(self.folder / "state")["frame_interval_ps"])
        if not found.size or not np.isfinite(found).all() or np.ptp(found) > 1e-6 * found[0]:
            return None
        return float(found[0])

    def far_apart(self, first: NDArray[Any], second: NDArray[Any], least: int = 5) -> NDArray[Any]:
        """Which pairs of variables are no neighbours: another chain, or residues at least ``least``
        apart; of variables without residues, all."""
        if "resid" not in self.residues:
            return np.ones(len(first), dtype=bool)
        resid = self.residues["resid"].to_numpy(dtype=np.int64)
        chain = self.residues["chain"].to_numpy(dtype=object)
        distance = np.abs(resid[first] - resid[second])
        return np.asarray((distance >= least) | (chain[first] != chain[second]))


def read_motion_results(folder: Path) -> MotionResults:
    """Read the tables of ``folder``; ``communities.tsv`` and ``paths.tsv`` where they are there.

    Raises StoreError naming the file when ``residues.tsv`` is missing or a table is not what its
    name says.
    """
    residues = _read(folder / RESIDUES, {"item", "name", "betweenness", "degree"})
    communities = _read(folder / COMMUNITIES, {"method", "community", "members"}, required=False)
    paths = _read(folder / PATHS, {"source", "target", "rank", "path"}, required=False)
    return MotionResults(folder, residues, communities, paths)


def _matrix(path: Path, name: str) -> NDArray[Any] | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        if name not in arrays.files:
            return None
        values: NDArray[Any] = arrays[name]
    return values if np.isfinite(values).any() else None


def _read(path: Path, columns: set[str], required: bool = True) -> pd.DataFrame:
    if not path.is_file():
        if required:
            raise StoreError.at(path, "", "no such file", "the table that the step tables writes")
        return pd.DataFrame(columns=sorted(columns))
    try:
        # A chain may be called NA: texts are texts, and only numbers can be missing.
        header = pd.read_csv(path, sep="\t", nrows=0).columns
        table = pd.read_csv(
            path,
            sep="\t",
            dtype=dict.fromkeys(_TEXTS, str),
            keep_default_na=False,
            na_values={column: [""] for column in header if column not in _TEXTS},
        )
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a table") from error
    missing = sorted(columns - set(table.columns))
    if missing:
        raise StoreError.at(path, "columns", ", ".join(table.columns), ", ".join(missing))
    return table


def motion_results(results: Results) -> MotionResults:
    """The tables and matrices of an analysis, for ``results.cached``."""
    return read_motion_results(results.folder)
