"""The section of ``method: trajectory_correlation``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from pairtile.config.models import Analysis, Fault
from pairtile.config.network import Chunks, ExportList, chunks_field, export_field
from pairtile.config.values import Choice, Switch, Text, Whole, listed, refusal
from pairtile.methods.trajectory_correlation.config_motion import MotionAnalysis
from pairtile.methods.trajectory_correlation.config_network import (
    CommunityList,
    ContactsOrFalse,
    KeepMotion,
    KeepMotionConfig,
    KeepMotionPValueConfig,
    PathEnds,
)
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig


class TrajectoryCorrelationConfig(MotionAnalysis):
    """Correlated motion in molecular dynamics: every pair of atoms or residues, dihedrals or
    distances, by mutual information and displacement correlation, with correlation times and
    time-shifted surrogates; the network of residues, its communities and paths."""

    method: Annotated[Literal["trajectory_correlation"], Choice()] = Field(
        description="Which method this analysis runs."
    )
    contacts: ContactsOrFalse = Field(
        default=False,
        description=(
            "Keep in the network only pairs of residues that touch. `false`: all, however far "
            "apart. Values of all pairs stay in `pairs.parquet` and `matrices.npz`."
        ),
    )
    keep: KeepMotion = Field(
        default="auto",
        description=(
            "Which pairs become edges; give one form. `auto`: `{p_value: 0.05}`, or `all` under "
            "`surrogates: 0`. `{p_value: x}`: p-value at most x. `{fdr: x}`: q-value at most x. "
            "`{correlation: x}`: correlation at least x. `{top_edges: n}`: the n strongest. `all`."
        ),
    )
    communities: CommunityList = Field(
        default=("leiden",),
        description=(
            "Groups of residues that move together, found in the network. `leiden`: by modularity, "
            "fast. `girvan_newman`: by taking away the edges with the most shortest paths; slow "
            "beyond some thousand edges."
        ),
    )
    paths: PathEnds = Field(
        default=(),
        description=(
            "Residues between which to find the shortest paths (an edge is as long as -ln of its "
            "correlation), by their names in `items.parquet`. Best with `contacts`."
        ),
    )
    suboptimal_paths: Annotated[int, Whole(1, 10_000)] = Field(
        default=20, description="How many paths to report for each of `paths`, shortest first."
    )
    compare: Annotated[str | None, Text("the name of another analysis", optional=True)] = Field(
        default=None,
        description=(
            "Another analysis of this configuration with the same variables, such as the molecule "
            "in its other state: adds the difference, this one minus that. null: none."
        ),
    )
    draw_strongest: Annotated[int, Whole(0, 10_000)] = Field(
        default=50,
        description="How many of the strongest edges the PyMOL and VMD scripts draw.",
    )
    g_correlation_text: Annotated[bool, Switch()] = Field(
        default=False,
        description="Write the matrix of correlations also as the text that g_correlation writes.",
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field()

    names_of_items: ClassVar[tuple[str, ...]] = ("paths",)
    tables: ClassVar[tuple[str, ...]] = (
        "matrices.npz",
        "residues.tsv",
        "communities.tsv",
        "paths.tsv",
        "structure.pdb",
        "structure.pml",
        "structure.vmd",
        "g_correlation.txt",
        "difference.parquet",
        "difference.npz",
        "difference.pdb",
    )
    report_needs_state: ClassVar[bool] = True
    used_by: ClassVar[Mapping[str, frozenset[str]]] = {
        "contacts": frozenset({"network_data", "network", "tables"}),
        "keep": frozenset({"network", "tables"}),
        # The network step says how long communities will take.
        "communities": frozenset({"network", "tables"}),
        **dict.fromkeys(
            (
                "paths",
                "suboptimal_paths",
                "compare",
                "draw_strongest",
                "g_correlation_text",
            ),
            frozenset({"tables"}),
        ),
        "chunks": frozenset({"plan"}),
        "export": frozenset(),
    }

    @property
    def needs_network_data(self) -> bool:
        """Where only residues that touch become edges."""
        return self.contacts is not False

    def result_tables(self) -> tuple[str, ...]:
        """Without those that are not asked for, or need residues where there are none."""
        asked = {
            "communities.tsv": bool(self.communities),
            "paths.tsv": bool(self.paths),
            "g_correlation.txt": self.g_correlation_text,
            **dict.fromkeys(("difference.parquet", "difference.npz"), self.compare is not None),
            **dict.fromkeys(("structure.pdb", "structure.pml", "structure.vmd"), self.has_residues),
            "difference.pdb": self.compare is not None and self.has_residues,
        }
        return tuple(name for name in self.tables if asked.get(name, True))

    def other_results(self) -> tuple[str, ...]:
        """Pairs and items of the analysis to compare with."""
        if self.compare is None:
            return ()
        return (f"{self.compare}/items.parquet", f"{self.compare}/pairs.parquet")

    def validate_against(self, name: str, others: Mapping[str, Analysis]) -> Fault | None:
        """``compare`` names another analysis of this method."""
        if self.compare is None:
            return None
        fitting = [
            other for other in others if isinstance(others[other], TrajectoryCorrelationConfig)
        ]
        fitting = [other for other in fitting if other != name]
        if self.compare in fitting:
            return None
        listing = listed(fitting) if fitting else "none: there is no other one"
        return Fault("compare", f"another analysis of this method ({listing})", tuple(fitting))

    @field_validator("keep")
    @classmethod
    def _keep_decided(cls, keep: Any, info: ValidationInfo) -> Any:
        estimator = info.data.get("estimator")
        if not isinstance(estimator, MotionEstimatorConfig):
            return keep
        if keep == "auto":
            return KeepMotionPValueConfig(p_value=0.05) if estimator.surrogates else "all"
        by_p_value = isinstance(keep, KeepMotionConfig) and keep.rule in ("p_value", "fdr")
        if by_p_value and not estimator.surrogates:
            raise refusal("another rule under estimator.surrogates: 0 (no p-values)")
        return keep

    @model_validator(mode="after")
    def _contacts_have_residues(self) -> Self:
        if self.contacts and self.time_series:
            raise refusal("none beside time_series, which has no residues", key="contacts")
        if self.contacts and self.variables == "distances":
            raise refusal("false beside variables: distances", key="contacts")
        return self
