"""The tables and matrices of correlated motion, read once for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.arrays import BoolArray
from pairtile.declare.tables import read_result_table
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.differences import LEVEL as LEVEL
from pairtile.methods.trajectory_correlation.kinds import KINDS, Kind
from pairtile.methods.trajectory_correlation.network import MIN_AGREEMENT
from pairtile.methods.trajectory_correlation.residue_marks import ResidueMarks
from pairtile.methods.trajectory_correlation.structures import centred_structure
from pairtile.report.formats import join_list
from pairtile.report.results import Results

METHOD_NAMES = {"leiden": "Leiden", "girvan_newman": "Girvan-Newman"}


@dataclass(frozen=True)
class MotionResults:
    """What the report knows of correlated motion, beyond the network.

    ``residues``, ``communities``, ``paths``: the tables of these names; the latter two may be
    empty. Variables are numbered as the rows of ``residues`` and of every matrix. ``state``: the
    prepared arrays, empty where they are gone.
    """

    folder: Path
    residues: pd.DataFrame
    communities: pd.DataFrame
    paths: pd.DataFrame
    state: Mapping[str, NDArray[np.generic]] = field(default_factory=dict, kw_only=True)

    @cached_property
    def marks(self) -> ResidueMarks:
        """What stands along the axes of figures."""
        return ResidueMarks.of_table(self.residues)

    @property
    def several_chains(self) -> bool:
        """Whether residue numbers alone are no names."""
        return len(set(self.marks.chains)) > 1

    @cached_property
    def number(self) -> dict[str, int]:
        """Row of each variable by its name."""
        return {name: row for row, name in enumerate(self.residues["name"])}

    def path_names(self, items: str) -> str:
        """``A:LYS13 → A:ASP84``: names of items whose numbers are parted by blanks."""
        names = self.residues.set_index("item")["name"]
        return " → ".join(names[[int(number) for number in items.split()]])

    def matrix(self, name: str, file: str = "matrices.npz") -> NDArray[np.floating] | None:
        """A matrix of all pairs, or of ``difference.npz``; None where it was not written or holds
        no number."""
        path = self.folder / file
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            values = arrays.get(name)
        return values if values is not None and np.isfinite(values).any() else None

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
        """Mean position of each variable, (n, 3) in Angstrom; None where not known."""
        means = np.asarray(self.state.get("mean_positions", np.nan), dtype=np.float64)
        known = means.shape == (len(self.residues), 3) and np.isfinite(means).any()
        return means if known else None

    @cached_property
    def structure(self) -> NDArray[np.void] | None:
        """Atoms of the first frame (``residues.STRUCTURE``), as ``structure.pdb`` has them; None of
        tables of time series, and where the state is gone."""
        there = "structure" in self.state
        state = cast(MotionArrays, self.state)
        return np.asarray(centred_structure(state)["structure"]) if there else None

    @cached_property
    def interval_ps(self) -> float | None:
        """Time between two frames in picoseconds; None where not known or not one."""
        found = np.asarray(self.state.get("frame_interval_ps", np.nan)).ravel()
        if not np.isfinite(found).all() or np.ptp(found) > 1e-6 * found[0]:
            return None
        return float(found[0])

    def far_apart(
        self, first: NDArray[np.integer], second: NDArray[np.integer], least: int = 5
    ) -> BoolArray:
        """Which pairs of variables are no neighbours: another chain, or residues at least ``least``
        apart; of variables without residues, all."""
        if "resid" not in self.residues:
            return np.ones(len(first), dtype=bool)
        resid = self.residues["resid"].to_numpy(dtype=np.int64)
        chain = self.residues["chain"].to_numpy(dtype=object)
        distance = np.abs(resid[first] - resid[second])
        return np.asarray((distance >= least) | (chain[first] != chain[second]))


def motion_results(results: Results) -> MotionResults:
    """The tables of an analysis, for ``results.cached``; those of communities and paths are empty
    where it has none.

    Raises StoreError naming the file when ``residues.tsv`` is missing or a table is not what its
    name says.
    """
    residues = read_result_table(results.folder / "residues.tsv", __package__)
    communities, paths = map(results.table, ("communities.tsv", "paths.tsv"))
    return MotionResults(results.folder, residues, communities, paths, state=results.state)


def kind_of(results: Results) -> Kind:
    """The estimator's kind."""
    return KINDS[(results.parameters.get("estimator") or {}).get("kind", "ksg")]


def score_of(results: Results) -> str:
    """The column that ranks pairs."""
    return str(results.parameters.get("score") or "correlation")


def score_name(results: Results) -> str:
    """What the page calls it."""
    return "centred " * (score_of(results) == "correlation_centred") + results.text.score


def agreement_of(results: Results, method: str) -> float:
    """Adjusted Rand index of the communities of two halves of the data; NaN where not tested."""
    return float((results.scores or {}).get(f"community_agreement_{method}", np.nan))


def claimed_communities(results: Results, found: MotionResults) -> list[str]:
    """The methods whose communities were found again, or not tested."""
    return [m for m in found.community_methods if not agreement_of(results, m) < MIN_AGREEMENT]


def ranges(numbers: Sequence[int]) -> str:
    """``1-29, 60-118``: the stretches of some whole numbers."""
    values = np.unique(np.asarray(numbers, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(values) > 1) + 1
    parts = [part for part in np.split(values, breaks) if part.size]
    return ", ".join(str(part[0]) if part.size == 1 else f"{part[0]}–{part[-1]}" for part in parts)


def members_in_words(residues: pd.DataFrame, chains_named: bool, limit: int = 6) -> str:
    """Where variables lie: ``A 1–29, 60–118``; names where there are no residues."""
    if "resid" not in residues:
        names = residues["name"].tolist()
        return join_list(names) if len(names) <= limit else ", ".join(names[:limit]) + ", …"
    parts = []
    for chain, numbers in residues.groupby("chain", sort=False)["resid"]:
        stretches = ranges(numbers.tolist()).split(", ")
        text = ", ".join(stretches[:limit]) + (", …" if len(stretches) > limit else "")
        parts.append(f"{chain} {text}".strip() if chains_named else text)
    return "; ".join(parts)


def difference_of(results: Results, found: MotionResults) -> NDArray[np.floating] | None:
    """The difference from another analysis, of the score where both have it."""
    both = (
        found.matrix(f"{score}_difference", "difference.npz")
        for score in (score_of(results), "correlation")
    )
    return next((matrix for matrix in both if matrix is not None), None)
