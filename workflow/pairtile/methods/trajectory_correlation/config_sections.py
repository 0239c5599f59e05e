"""Parts of the section ``method: trajectory_correlation``: frames, tables, estimator, network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    Strict,
    Tag,
)

from pairtile.config.keep import Keep, Share, TopEdges
from pairtile.config.models import ConfigModel, Rule
from pairtile.config.values import (
    Expected,
    FullDescription,
    Text,
    as_list,
    each_once,
    model_or_false,
    model_or_false_form,
    validation_error,
)
from pairtile.methods.trajectory_correlation.kinds import KINDS, Kind

DihedralName = Literal["phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4", "chi5"]
DIHEDRALS = get_args(DihedralName)


SelectionOrFalse = Annotated[
    Literal[False] | Annotated[str, Text("a selection")],
    FullDescription("least_moving, a selection of atoms (text) or false"),
]

_FRAME = "a frame number (integer; negative counts from the end)"


Word = Annotated[str, Text("a path, a name or a selection")]
_Parts = Annotated[tuple[Word, ...], Strict(False), Field(min_length=1)]
_Runs = Annotated[tuple[Word | _Parts, ...], Strict(False)]


def _each_file_once(runs: tuple[str | tuple[str, ...], ...]) -> tuple[str | tuple[str, ...], ...]:
    each_once([part for run in runs for part in ([run] if isinstance(run, str) else run)])
    return runs


TrajectoryList = Annotated[
    _Runs,
    FullDescription("a list of paths, one trajectory each, or [part1, part2] in place of one"),
    AfterValidator(_each_file_once),
    BeforeValidator(as_list, json_schema_input_type=str | list[str | list[str]]),
]
FileList = Annotated[
    Annotated[tuple[Word, ...], Strict(False)],
    FullDescription("a list of paths, one table each"),
    AfterValidator(each_once),
    BeforeValidator(as_list, json_schema_input_type=str | list[str]),
]
DihedralList = Annotated[
    Annotated[tuple[DihedralName, ...], Strict(False), Field(min_length=1)],
    FullDescription(f"a list of {', '.join(DIHEDRALS)}"),
    AfterValidator(each_once),
]
DistanceMap = Annotated[
    dict[Word, Annotated[tuple[Word, Word], Strict(False)]],
    FullDescription("a mapping of NAME: [selection, selection]"),
]
DomainMap = Annotated[dict[Word, Word], FullDescription("a mapping of NAME: selection")]


# --- frames, tables -------------------------------------------------------------------------------


_MAX_FRAME = 2**31 - 1


class FramesConfig(ConfigModel):
    """Which frames of each trajectory are used, numbered from 0."""

    start: Annotated[int, Field(ge=-_MAX_FRAME, le=_MAX_FRAME), Expected(_FRAME)] = Field(
        default=0,
        description=("The first frame, to leave out equilibration; -500: the last 500."),
    )
    stop: Annotated[
        int | None, Field(ge=-_MAX_FRAME, le=_MAX_FRAME), Expected(f"{_FRAME}, or null")
    ] = Field(default=None, description="The frame before which to stop; null: go to the end.")
    step: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="Use every so many frames."
    )

    @property
    def as_slice(self) -> slice:
        """The same as a slice of Python."""
        return slice(self.start, self.stop, self.step)


class SeriesTableConfig(ConfigModel):
    """How tables of time series are read: text with one frame a line (tabs, commas or blanks;
    `.gz`; GROMACS `.xvg`; PLUMED `COLVAR`), or NumPy `.npy`."""

    dimensions: Annotated[int, Field(ge=1, le=3)] = Field(
        default=1,
        description=(
            "Columns of a variable: 1, or 2 or 3 columns in a row that belong together, such as x, "
            "y, z. A `.npy` of three dimensions (frames, variables, dimensions) needs none."
        ),
    )
    angles: Literal["none", "radians", "degrees"] = Field(
        default="none",
        description="Whether the values are angles, for `kind: dihedral`, and in which unit.",
    )
    time: Annotated[str | None, Text("auto, or the name of a column", optional=True)] = Field(
        default="auto",
        description=(
            "The column that is no variable but the time. `auto`: a first column named time, "
            "frame, step or the like. null: none."
        ),
    )


# --- the estimator --------------------------------------------------------------------------------


_KSG_RAW: Mapping[str, str | int] = {"variant": 1, "norm": "max", "scale": "raw", "theiler": 0}

PRESETS: Mapping[str, Mapping[str, str | int]] = {
    "none": {},
    "mdigest": {**_KSG_RAW, "neighbours": 5},
    "normi": {**_KSG_RAW, "neighbours": 5, "scale": "std"},
    "dynetan": {**_KSG_RAW, "neighbours": 7, "variant": 2, "scale": "std"},
    "netsci": {**_KSG_RAW, "variant": 2},
}
"""What other tools do: keys of ``estimator`` that a preset decides."""


class MotionEstimatorConfig(ConfigModel):
    """The estimator. Each gives mutual information in nats, 0 for independent motions, and from it
    the generalized correlation sqrt(1 - exp(-2 I / d)) for variables of d dimensions (Lange and
    Grubmueller 2006); `dcc` gives the cosine correlation alone."""

    preset: Literal["none", "mdigest", "normi", "dynetan", "netsci"] = Field(
        default="none",
        description=(
            "Of `ksg`: numbers as another tool gives them; decides `neighbours`, `variant`, "
            "`norm`, `scale` and `theiler` (of `netsci` not `neighbours`), whatever stands there: "
            "docs/methods/trajectory_correlation.md lists them."
        ),
    )
    kind: Literal["auto", "ksg", "gaussian", "dcc", "bspline", "dihedral"] = Field(
        default="auto",
        description=" ".join(
            f"`{kind.name}`: {kind.description}" for kind in KINDS.values() if kind.description
        ),
    )
    neighbours: Annotated[int, Field(ge=1, le=64)] = Field(
        default=6,
        description=("Of `ksg`: which nearest neighbour measures the density. Usual: 3 to 7."),
    )
    variant: Annotated[int, Field(ge=1, le=2)] = Field(
        default=1,
        description="Of `ksg`: the first or the second estimator of Kraskov et al.",
    )
    norm: Literal["euclidean", "max"] = Field(
        default="euclidean",
        description=(
            "Of `ksg`: how far apart two frames of one variable are. `euclidean`: the distance. "
            "`max`: the largest difference of a coordinate, which depends on how the system is "
            "turned."
        ),
    )
    scale: Literal["raw", "std"] = Field(
        default="raw",
        description=(
            "Of `ksg`: coordinates as they are (`raw`), or each divided by its own standard "
            "deviation (`std`)."
        ),
    )
    theiler: Literal["auto"] | Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default="auto",
        description=(
            "Of `ksg`: frames nearer in time than this are no neighbours, since successive frames "
            "are alike. `auto`: twice the correlation time. 0: all frames count."
        ),
    )
    lag: Literal["auto"] | Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default="auto",
        description=(
            "Of `direction`: frames from source to target. `auto`: the median correlation time."
        ),
    )
    corrected: bool = Field(
        default=True,
        description=(
            "Of `gaussian`: take away the bias of few frames (exact for independent frames): "
            "about 0.05 nats for two atoms and 100 frames."
        ),
    )
    bins: Literal["auto"] | Annotated[int, Field(ge=2, le=64)] = Field(
        default="auto",
        description="Of `bspline` and `dihedral`: bins of a variable. `auto`: 10, for angles 12.",
    )
    order: Annotated[int, Field(ge=1, le=10), Expected("an integer between 1 and bins")] = Field(
        default=3,
        description="Of `bspline` and `dihedral`: spline order. 1: plain histogram; 3: usual.",
    )
    transform: Literal["rank", "none"] = Field(
        default="rank",
        description=(
            "Of `bspline`: values are replaced by their ranks, so that every bin is used and "
            "outliers do no harm, or are taken as they are, from the least to the greatest."
        ),
    )
    surrogates: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=20,
        description=(
            "How many times one motion of each pair is shifted in time (the end comes back in at "
            "the start): the null of the p-values, of unrelated motions that are as slow. Each "
            "costs as much as the estimate. 0: no p-values."
        ),
    )

    @property
    def facts(self) -> Kind:
        """What is known of its kind."""
        return KINDS[self.kind]

    @property
    def keys_of_ksg(self) -> list[str]:
        """Keys that only ``ksg`` reads and that are not at their defaults."""
        keys = ("neighbours", "variant", "norm", "scale", "theiler")
        defaults = type(self).model_fields
        return [key for key in keys if getattr(self, key) != defaults[key].default]

    @property
    def window(self) -> int:
        """The Theiler window in frames, once it is decided; ``auto`` is a ValueError."""
        if self.theiler == "auto":
            raise ValueError("theiler: found auto; expected a number of frames")
        return self.theiler

    @property
    def n_bins(self) -> int:
        """``bins``, which validation has decided."""
        assert self.bins != "auto"
        return self.bins

    @property
    def single(self) -> bool:
        """Whether coordinates are rounded to float32 first, as NetSci does."""
        return self.preset == "netsci"

    def resolve_auto(self) -> Mapping[str, object]:
        kind = "ksg" if self.preset != "none" and self.kind == "auto" else self.kind
        bins = KINDS[kind].bins if self.bins == "auto" else self.bins
        return {**PRESETS[self.preset], "kind": kind, "bins": bins}

    def requirements(self) -> Iterator[Rule]:
        other = self.preset != "none" and self.kind != "ksg"
        yield Rule(other, "preset", f"none beside kind: {self.kind} (presets are of kind: ksg)")
        yield Rule(
            self.order > self.n_bins, "order", f"an integer between 1 and bins ({self.n_bins})"
        )
        yield Rule(
            self.surrogates == 1,
            "surrogates",
            "0 (no p-values), or 2 to 10000: one does not say how far they scatter",
        )


# --- the network ----------------------------------------------------------------------------------


class KeepMotion(Keep):
    """Which pairs of motions become edges."""

    words: ClassVar[tuple[str, ...]] = ("all", "auto")
    forms: ClassVar[tuple[str, ...]] = ("p_value", "fdr", "correlation", "top_edges")

    p_value: Share = Field(
        default=None,
        description="Keep pairs whose p-value against time-shifted surrogates is at most this.",
    )
    fdr: Share = Field(
        default=None,
        description=(
            "Keep pairs whose q-value (Benjamini-Hochberg, from those p-values) is at most this."
        ),
    )
    correlation: Annotated[
        float | None, Field(ge=0, le=1), Expected("a number of at least 0 and at most 1")
    ] = Field(
        default=None,
        description=(
            "Keep pairs whose correlation (its size, where it has a sign) is at least this, "
            "significant or not."
        ),
    )
    top_edges: TopEdges = Field(
        default=None, description="Keep this many pairs, those of the strongest correlation."
    )


class ContactsConfig(ConfigModel):
    """Which residues touch: those with heavy atoms near each other in most frames. The usual
    filter of residue networks (4.5 Angstrom in 75 % of the frames): communities and paths then run
    along contacts, and far residues are joined through those between them."""

    cutoff: Literal["auto"] | Annotated[float, Field(gt=0, le=100)] = Field(
        default="auto",
        description=(
            "Distance of two heavy atoms that counts as contact, in Angstrom. `auto`: 4.5, or 8 "
            "where most residues are a single atom (C-alpha models)."
        ),
    )
    fraction: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.75, description="Least share of the frames in which two residues touch."
    )


Contacts = Annotated[
    Annotated[ContactsConfig, Tag("<contactsconfig>")]
    | Annotated[Literal[False], Tag("<false>")]
    | Annotated[Literal["auto"], Tag("<auto>")],
    model_or_false(ContactsConfig, "auto"),
    Expected(model_or_false_form(ContactsConfig, "auto")),
]

CommunityList = Annotated[
    Annotated[tuple[Literal["leiden", "girvan_newman"], ...], Strict(False)],
    Expected("a list of leiden and girvan_newman, or [] for none"),
    AfterValidator(each_once),
]


def _two_ends(paths: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    for a, b in paths:
        if a == b:
            raise validation_error(f"two residues for a path, but {a!r} is both")
    return paths


_Name = Annotated[str, Field(min_length=1)]
PathEnds = Annotated[
    Annotated[tuple[Annotated[tuple[_Name, _Name], Strict(False)], ...], Strict(False)],
    FullDescription(
        "a list of [from, to], two names of residues each, such as [[A:LYS13, A:ASP84]]"
    ),
    AfterValidator(_two_ends),
]
