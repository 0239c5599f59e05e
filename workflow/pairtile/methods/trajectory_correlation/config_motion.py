"""Which motions are correlated, and how: the keys of trajectories and time series."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from pairtile.config.models import Analysis
from pairtile.config.network import OptionalPath
from pairtile.config.values import Choice, Text, refusal
from pairtile.methods.trajectory_correlation.config_frames import FramesConfig, SeriesTableConfig
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.config_values import (
    DihedralList,
    DistanceMap,
    DomainMap,
    FileList,
    SelectionOrFalse,
    TrajectoryList,
)

_AUTO_VARIABLES = {"bspline": "displacements", "dihedral": "dihedrals"}
_ALLOWED_VARIABLES = {
    "dihedral": ("dihedrals",),
    "bspline": ("displacements", "distances"),
}
_ALLOWED_ELSE = ("positions", "displacements", "distances")


class MotionAnalysis(Analysis):
    """What moves (trajectories of a molecule, or tables of time series), what of it is paired, and
    how correlation is estimated."""

    topology: OptionalPath = Field(
        default=None,
        description=(
            "The system: atoms, residues, chains. Any format that MDAnalysis reads (`.psf` `.pdb` "
            "`.gro` `.tpr` `.prmtop` ...). Give this and `trajectories`, or `time_series`. A "
            "relative path starts at the working directory, not at this file."
        ),
    )
    trajectories: TrajectoryList = Field(
        default=(),
        description=(
            "The trajectories (`.dcd` `.xtc` `.trr` `.nc` ..., all of the same topology). Each is "
            "a replica: estimated by itself, the mean and the spread reported. A list within the "
            "list holds the parts of one run, in order of time. Molecules must be whole (not "
            "broken across the periodic box)."
        ),
    )
    time_series: FileList = Field(
        default=(),
        description=(
            "In place of topology and trajectories: tables of time series, one variable a column, "
            "each table a replica with the same columns."
        ),
    )
    table: SeriesTableConfig = Field(
        default=SeriesTableConfig(), description="How tables of time series are read."
    )
    fit: Annotated[Literal[False] | str, SelectionOrFalse()] = Field(
        default="protein and name CA",
        description=(
            "Atoms on which frames are superposed, to take out the tumbling of the whole (Kabsch, "
            "without weights), as a selection of MDAnalysis. Best the rigid part. `false`: frames "
            "are used as they are, superposed already."
        ),
    )
    reference: Annotated[Literal["first", "average"], Choice()] = Field(
        default="first",
        description=(
            "What frames are superposed on. `first`: the first frame used of the first trajectory. "
            "`average`: the average structure of all frames, which are read once more to find it."
        ),
    )
    select: Annotated[str, Text("a selection of atoms")] = Field(
        default="protein and name CA",
        description=(
            "Atoms whose motion is analysed, as a selection of MDAnalysis; independent of `fit`."
        ),
    )
    positions: Annotated[Literal["atom", "ca", "center_of_mass"], Choice()] = Field(
        default="atom",
        description=(
            "What is one position. `atom`: each selected atom. `ca`: the C-alpha of each residue "
            "with a selected atom. `center_of_mass`: of the selected atoms of each residue."
        ),
    )
    frames: FramesConfig = Field(
        default=FramesConfig(), description="Which frames of each trajectory."
    )
    estimator: MotionEstimatorConfig = Field(
        default=MotionEstimatorConfig(), description="How correlation is estimated."
    )
    variables: Annotated[
        Literal["auto", "positions", "displacements", "dihedrals", "distances", "columns"], Choice()
    ] = Field(
        default="auto",
        description=(
            "What is paired. `positions`: x, y, z of each. `displacements`: the distance of each "
            "from its mean position (a scalar: most of the direction is lost). `dihedrals`: "
            "backbone and side-chain angles of the selected residues, see `dihedrals`. "
            "`distances`: those listed under `distances`. `columns`: of `time_series`. `auto`: "
            "positions; displacements for `kind: bspline`; dihedrals for `kind: dihedral`."
        ),
    )
    dihedrals: DihedralList = Field(
        default=("phi", "psi", "chi1"),
        description="Which angles of each residue are variables, where it has them.",
    )
    distances: DistanceMap = Field(
        default={},
        description=(
            "Distances to pair, by name: each between the geometric centres of two selections. No "
            "superposition is needed."
        ),
    )
    domains: DomainMap = Field(
        default={},
        description=(
            "Parts of the molecule to mark in heat maps and tables: a name, and the residues as a "
            "selection. A residue of two domains belongs to the first."
        ),
    )
    input_keys: ClassVar[tuple[str, ...]] = ("topology", "trajectories", "time_series")

    def input_files(self) -> dict[str, str]:
        """Each file under a key of its own: ``trajectories.0``, or ``trajectories.0.1`` for the
        second part of the first run."""
        files = {} if self.topology is None else {"topology": self.topology}
        for n, run in enumerate(self.trajectories):
            if isinstance(run, str):
                files[f"trajectories.{n}"] = run
            else:
                files |= {f"trajectories.{n}.{k}": part for k, part in enumerate(run)}
        return files | {f"time_series.{n}": path for n, path in enumerate(self.time_series)}

    @property
    def has_residues(self) -> bool:
        """Whether variables belong to a molecule that can be drawn."""
        return not self.time_series

    @field_validator("variables")
    @classmethod
    def _variables_decided(cls, variables: str, info: ValidationInfo) -> str:
        estimator = info.data.get("estimator")
        if variables == "auto" and info.data.get("time_series"):
            return "columns"
        if variables == "auto" and isinstance(estimator, MotionEstimatorConfig):
            return _AUTO_VARIABLES.get(estimator.kind, "positions")
        return variables

    @model_validator(mode="after")
    def _one_kind_of_input(self) -> Self:
        if self.time_series:
            if self.topology is not None or self.trajectories:
                key = "topology" if self.topology is not None else "trajectories"
                raise refusal("none beside time_series (one of them, not both)", key=key)
            if self.domains:
                raise refusal("none beside time_series, which has no residues", key="domains")
        elif self.topology is None:
            raise refusal(
                "the path of a topology here, or tables under time_series", key="topology"
            )
        elif not self.trajectories:
            raise refusal("at least one trajectory of the topology", key="trajectories")
        return self

    @model_validator(mode="after")
    def _variables_fit(self) -> Self:
        kind = self.estimator.kind
        if self.time_series:
            allowed: tuple[str, ...] = ("columns",)
        else:
            allowed = _ALLOWED_VARIABLES.get(kind, _ALLOWED_ELSE)
        if self.variables not in allowed:
            beside = "time_series" if self.time_series else f"estimator.kind: {kind}"
            raise refusal(f"auto or {' or '.join(allowed)} beside {beside}", key="variables")
        if self.variables == "distances" and not self.distances:
            raise refusal("at least one NAME: [selection, selection]", key="distances")
        if self.time_series:
            self._table_fits(kind)
        return self

    def _table_fits(self, kind: str) -> None:
        if (self.table.angles != "none") != (kind == "dihedral"):
            wanted = "angles: radians or degrees" if kind == "dihedral" else "angles: none"
            raise refusal(f"{wanted} beside estimator.kind: {kind}", key="table")
        if kind in ("bspline", "dihedral") and self.table.dimensions != 1:
            raise refusal(f"dimensions: 1 beside estimator.kind: {kind}", key="table")
