"""The section of ``method: trajectory_correlation``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from pairtile.config.models import Analysis, InputFile, JobNeeds, Rule, UsedBy
from pairtile.config.network import Chunks, ExportList, OptionalPath, chunks_field, export_field
from pairtile.config.values import Text, join_list
from pairtile.methods.trajectory_correlation.config_sections import (
    CommunityList,
    Contacts,
    ContactsConfig,
    DihedralList,
    DistanceMap,
    DomainMap,
    FileList,
    FramesConfig,
    KeepMotion,
    MotionEstimatorConfig,
    PathEnds,
    SelectionOrFalse,
    SeriesTableConfig,
    TrajectoryList,
)


class TrajectoryCorrelationConfig(Analysis):
    """Correlated motion in molecular dynamics: every pair of atoms or residues, dihedrals or
    distances, by mutual information and displacement correlation, with correlation times and
    time-shifted surrogates; the network of residues, its communities and paths."""

    method: Literal["trajectory_correlation"] = Field(
        description="Which method this analysis runs."
    )
    topology: OptionalPath = Field(
        default=None,
        description=(
            "The system: atoms, residues, chains. Any format that MDAnalysis reads (`.psf` `.pdb` "
            "`.gro` `.tpr` `.prmtop` ...). Give this and `trajectories`, or `time_series`."
        ),
    )
    trajectories: Annotated[TrajectoryList, InputFile()] = Field(
        default=(),
        description=(
            "The trajectories (`.dcd` `.xtc` `.trr` `.nc` ..., all of the same topology). Each is "
            "a replica: estimated by itself, the mean and the spread reported. A list within the "
            "list holds the parts of one run, in order of time. Molecules must be whole (not "
            "broken across the periodic box), or see `unwrap`."
        ),
    )
    unwrap: bool = Field(
        default=False,
        description=(
            "Put together what the periodic box breaks, before anything else: molecules become "
            "whole, and chains that are near each other in the first frame stay so. Of the "
            "residues of `fit`, `select` and `distances`."
        ),
    )
    time_series: Annotated[FileList, InputFile()] = Field(
        default=(),
        description=(
            "In place of topology and trajectories: tables of time series, one variable a column, "
            "each table a replica with the same columns."
        ),
    )
    table: SeriesTableConfig = Field(
        default=SeriesTableConfig(), description="How tables of time series are read."
    )
    fit: SelectionOrFalse = Field(
        default="protein and name CA",
        description=(
            "Atoms on which frames are superposed (Kabsch, without weights), as a selection of "
            "MDAnalysis; best the rigid part. `least_moving`: those of `protein and name CA` that "
            "move least, or all of them where that changes few pairs; the default of two analyses "
            "of which one is to `compare` with the other. `false`: frames are used as they are."
        ),
    )
    reference: Literal["first", "average"] = Field(
        default="first",
        description=(
            "What frames are superposed on. `first`: the first frame used of the first "
            "trajectory. `average`: the average structure of all frames."
        ),
    )
    select: Annotated[str, Text("a selection of atoms")] = Field(
        default="protein and name CA",
        description=(
            "Atoms whose motion is analysed, as a selection of MDAnalysis; independent of `fit`."
        ),
    )
    positions: Literal["atom", "ca", "center_of_mass"] = Field(
        default="atom",
        description=(
            "What is one position. `atom`: each selected atom. `ca`: the C-alpha of each residue "
            "with a selected atom. `center_of_mass`: of the selected atoms of each residue."
        ),
    )
    frames: FramesConfig = Field(
        default=FramesConfig(), description="Which frames of each trajectory."
    )
    ensemble: Literal["auto"] | bool = Field(
        default="auto",
        description=(
            "Whether frames are models without an order in time (NMR): they count as independent, "
            "and the null exchanges them. `auto`: of PDB files that say NMR, or in which a model "
            "is no nearer to the next than to any other."
        ),
    )
    estimator: MotionEstimatorConfig = Field(
        default=MotionEstimatorConfig(), description="How correlation is estimated."
    )
    direction: bool = Field(
        default=False,
        description=(
            "Also the transfer entropy of every ordered pair, who drives whom (`kind: ksg`). Some "
            "eight times the work, on the CPU."
        ),
    )
    variables: Literal[
        "auto",
        "positions",
        "coordinates",
        "displacements",
        "dihedrals",
        "distances",
        "columns",
    ] = Field(
        default="auto",
        description=(
            "What is paired. `positions`: x, y, z of each, together. `coordinates`: each by "
            "itself. `displacements`: the distance of each from its mean position. `dihedrals`: "
            "angles of the selected residues. `distances`: those listed under `distances`. "
            "`columns`: of `time_series`. `auto`: positions; displacements for `kind: bspline`; "
            "dihedrals for `kind: dihedral`."
        ),
    )
    dihedrals: DihedralList = Field(
        default=("phi", "psi", "chi1"),
        description="Which angles of each residue are variables, where it has them.",
    )
    distances: DistanceMap = Field(
        default={},
        description=(
            "Distances to pair, by name: each between the geometric centres of two selections."
        ),
    )
    domains: DomainMap = Field(
        default={},
        description=(
            "Parts of the molecule to mark in heat maps and tables: a name, and the residues as a "
            "selection. A residue of two domains belongs to the first."
        ),
    )
    contacts: Annotated[Contacts, UsedBy("network_data", "network", "tables")] = Field(
        default="auto",
        description=(
            "Keep in the network only pairs of residues that touch. `false`: all, however far "
            "apart. `auto`: `{}` where variables belong to residues, else `false`. All pairs stay "
            "in `pairs.parquet` and `matrices.npz`, unless `pairs` says otherwise."
        ),
    )
    pairs: Literal["all", "in_contact"] = Field(
        default="all",
        description=(
            "Which pairs are scored. `in_contact`: only those of `contacts`, which are found "
            "first, for tens of thousands of atoms; the network is the same. There are then no "
            "matrices and maps of all pairs, and no `compare`."
        ),
    )
    keep: Annotated[KeepMotion, UsedBy("network", "tables")] = Field(
        default=KeepMotion.model_validate("auto"),
        description=(
            "Which pairs become edges; give one form. `auto`: `{fdr: 0.05}`, or `all` under "
            "`surrogates: 0`."
        ),
    )
    score: Annotated[
        Literal["auto", "correlation", "correlation_centred"], UsedBy("network", "tables")
    ] = Field(
        default="auto",
        description=(
            "What ranks pairs, for `keep`, communities, paths, the means of residues and the maps "
            "of the report. `correlation`: as estimated, which slow motions raise. "
            "`correlation_centred`: without the mean of the pair's surrogates, 0 for unrelated "
            "motions. `auto`: that, or `correlation` for `kind: dcc` and under `surrogates: 0`."
        ),
    )
    # The network step says how long communities will take, and whether they are found again.
    communities: Annotated[CommunityList, UsedBy("network", "tables")] = Field(
        default=("leiden",),
        description=(
            "Groups of residues that move together. `leiden`: by modularity. `girvan_newman`: by "
            "taking away the edges with the most shortest paths; slow beyond some thousand edges."
        ),
    )
    paths: Annotated[PathEnds, UsedBy("tables", names_items=True)] = Field(
        default=(),
        description=(
            "Residues between which to find the shortest paths, by their names in "
            "`items.parquet`. Best with `contacts`."
        ),
    )
    suboptimal_paths: Annotated[int, Field(ge=1, le=10_000), UsedBy("tables")] = Field(
        default=20, description="How many paths to report for each of `paths`, shortest first."
    )
    compare: Annotated[
        str | None, Text("the name of another analysis", optional=True), UsedBy("tables")
    ] = Field(
        default=None,
        description=(
            "Another analysis of this configuration with the same variables, such as the molecule "
            "in its other state: adds the difference, this one minus that, tested where both have "
            "two trajectories or more."
        ),
    )
    draw_strongest: Annotated[int, Field(ge=0, le=10_000), UsedBy("tables")] = Field(
        default=50,
        description="How many of the strongest edges the scripts for PyMOL, VMD and ChimeraX draw.",
    )
    g_correlation_text: Annotated[bool, UsedBy("tables")] = Field(
        default=False,
        description="Write the matrix of `score` also as the text that g_correlation writes.",
    )
    chunks: Chunks = chunks_field()
    export: ExportList = export_field()

    node_tables: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "residues.tsv": (
            "name",
            "community_leiden",
            "community_girvan_newman",
            "betweenness",
            "closeness",
            "eigenvector",
        )
    }
    tables: ClassVar[tuple[str, ...]] = (
        "matrices.npz",
        "residues.tsv",
        "communities.tsv",
        "paths.tsv",
        "structure.pdb",
        "structure.pml",
        "structure.vmd",
        "structure.cxc",
        "structure.defattr",
        "domains.tsv",
        "frames.tsv",
        "directions.parquet",
        "directed_network.tsv",
        "g_correlation.txt",
        "difference.parquet",
        "difference.npz",
        "difference.pdb",
        "difference.pml",
        "difference.cxc",
        "difference_network.tsv",
        "difference_residues.tsv",
        "difference_contacts.tsv",
        "difference_domains.tsv",
        "difference_communities.tsv",
        "difference_agreement.tsv",
    )
    jobs: ClassVar[JobNeeds] = JobNeeds(report_state=True, network_gpu=False)

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
    def contact_rule(self) -> ContactsConfig | None:
        """``contacts``, which validation has decided."""
        return self.contacts if isinstance(self.contacts, ContactsConfig) else None

    @property
    def needs_network_data(self) -> bool:
        """Where only residues that touch become edges of all pairs that are scored."""
        return self.contacts is not False and self.pairs == "all"

    def _without(self, keys: Collection[str]) -> Self:
        # What decides which pairs are scored matters to every step.
        decides = {"contacts"} if self.pairs == "in_contact" else set()
        return super()._without(set(keys) - decides)

    def result_tables(self) -> tuple[str, ...]:
        """Without those that are not asked for, or need residues where there are none."""
        molecule = not self.time_series
        asked = {
            "matrices.npz": self.pairs == "all",
            "communities.tsv": bool(self.communities),
            "paths.tsv": bool(self.paths),
            "g_correlation.txt": self.g_correlation_text,
            **dict.fromkeys(
                (name for name in self.tables if name.startswith("difference")),
                self.compare is not None,
            ),
            **dict.fromkeys(
                (name for name in self.tables if name.startswith("structure")), molecule
            ),
            "directions.parquet": self.direction,
            "directed_network.tsv": self.direction,
            "frames.tsv": self.variables == "positions" and molecule,
            "domains.tsv": bool(self.domains) or bool(self.communities),
            **dict.fromkeys(
                ("difference.pdb", "difference.pml", "difference.cxc"),
                self.compare is not None and molecule,
            ),
            "difference_contacts.tsv": self.compare is not None and self.needs_network_data,
            "difference_domains.tsv": self.compare is not None and bool(self.domains),
            **dict.fromkeys(
                ("difference_communities.tsv", "difference_agreement.tsv"),
                self.compare is not None and bool(self.communities),
            ),
        }
        return tuple(name for name in self.tables if asked.get(name, True))

    def other_results(self) -> tuple[str, ...]:
        """Pairs, items and contacts of the analysis to compare with."""
        if self.compare is None:
            return ()
        names = ["items.parquet", "pairs.parquet", *["network_data.npz"] * self.needs_network_data]
        return tuple(f"{self.compare}/{name}" for name in names)

    def requirements_among(self, name: str, others: Mapping[str, Analysis]) -> Iterator[Rule]:
        """``compare`` names another analysis of this method; both have another default ``fit``."""
        same = {n: o for n, o in others.items() if isinstance(o, TrajectoryCorrelationConfig)}
        compared = self.compare is not None or name in (o.compare for o in same.values())
        if "fit" not in self.model_fields_set and compared:
            self.__dict__["fit"] = "least_moving"  # the model is frozen for everyone else
        fitting = tuple(other for other in same if other != name)
        listing = join_list(fitting) or "none: there is no other one"
        unknown = self.compare not in (None, *fitting)
        yield Rule(unknown, "compare", f"another analysis of this method ({listing})", fitting)
        if self.compare is None or unknown:
            return
        other = same[self.compare]
        yield Rule("in_contact" in (self.pairs, other.pairs), "compare", "pairs: all in both")
        yield Rule(
            self.needs_network_data and not other.needs_network_data,
            "compare",
            f"contacts in both or in neither (none in {self.compare})",
        )
        kinds = sorted({self.estimator.kind, other.estimator.kind})
        yield Rule(
            len(kinds) > 1 or "auto" in kinds,
            "compare",
            "the same estimator.kind stated in both, such as estimator: {kind: gaussian} (values "
            f"of two kinds differ, and auto may take another in each; here {join_list(kinds)})",
        )

    def resolve_auto(self) -> Mapping[str, object]:
        """``contacts``, ``variables``, ``keep``, ``score`` where they are ``auto``; the kind of the
        estimator where a direction is asked for."""
        estimator, found = self.estimator, dict[str, object]()
        if self.direction and estimator.kind == "auto":
            found["estimator"] = estimator.model_copy(update={"kind": "ksg"})
        if self.variables == "auto":
            found["variables"] = "columns" if self.time_series else estimator.facts.variables[0]
        if self.contacts == "auto":
            of_residues = not self.time_series and self.variables != "distances"
            found["contacts"] = ContactsConfig() if of_residues else False
        if self.keep.rule == "auto":
            kept = {"fdr": 0.05} if estimator.surrogates else "all"
            found["keep"] = KeepMotion.model_validate(kept)
        if self.score == "auto":
            found["score"] = "correlation_centred" if self._has_centred else "correlation"
        return found

    @property
    def _has_centred(self) -> bool:
        return self.estimator.surrogates > 0 and not self.estimator.facts.signed

    def requirements(self) -> Iterator[Rule]:
        kind, series = self.estimator.facts, bool(self.time_series)
        untested = self.keep.rule in ("p_value", "fdr") and not self.estimator.surrogates
        yield Rule(untested, "keep", "another rule under estimator.surrogates: 0 (no p-values)")
        no_ksg = not (
            kind.searches_neighbours and self.estimator.variant == 1 and self.estimator.surrogates
        )
        expected = "false, or estimator: {kind: ksg, variant: 1} with surrogates"
        yield Rule(self.direction and no_ksg, "direction", expected)
        unknown = self.score == "correlation_centred" and not self._has_centred
        yield Rule(unknown, "score", "auto or correlation under surrogates: 0 and beside kind: dcc")
        expected = "none beside time_series (one of them, not both)"
        yield Rule(series and self.topology is not None, "topology", expected)
        yield Rule(series and self.trajectories, "trajectories", expected)
        yield Rule(series and self.unwrap, "unwrap", "false beside time_series, which have no box")
        yield Rule(
            series and self.domains, "domains", "none beside time_series, which has no residues"
        )
        yield Rule(
            not series and self.topology is None,
            "topology",
            "the path of a topology here, or tables under time_series",
        )
        yield Rule(
            not series and not self.trajectories,
            "trajectories",
            "at least one trajectory of the topology",
        )

        allowed = ("columns",) if series else kind.variables
        expected = f"auto or {' or '.join(allowed)} beside "
        expected += "time_series" if series else f"estimator.kind: {kind.name}"
        yield Rule(self.variables not in allowed, "variables", expected)
        between = self.variables == "distances"
        yield Rule(
            between and not self.distances, "distances", "at least one NAME: [selection, selection]"
        )
        angles = "radians or degrees" if kind.cyclic else "none"
        yield Rule(
            series and (self.table.angles != "none") != kind.cyclic,
            "table",
            f"angles: {angles} beside estimator.kind: {kind.name}",
        )
        several = series and kind.cyclic and self.table.dimensions != 1
        yield Rule(several, "table", f"dimensions: 1 beside estimator.kind: {kind.name}")

        yield Rule(
            self.contacts and series, "contacts", "none beside time_series, which has no residues"
        )
        yield Rule(self.contacts and between, "contacts", "false beside variables: distances")
        touching = self.pairs == "in_contact"
        yield Rule(touching and not self.contacts, "pairs", "all where there are no contacts")
        yield Rule(
            touching and self.g_correlation_text,
            "g_correlation_text",
            "false beside pairs: in_contact",
        )
