"""Parts of the section ``method: trajectory_correlation``: frames, tables, estimator, network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
)
from pydantic_core import CoreSchema, core_schema

from pairtile.config.models import ConfigModel
from pairtile.config.values import (
    EXPECTED,
    Expected,
    Exponent,
    Text,
    Value,
    listed,
    model_or_false_form,
    refusal,
)

_PRINTABLE = re.compile(r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$")

DihedralName = Literal["phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4", "chi5"]
DIHEDRALS = get_args(DihedralName)


@dataclass(frozen=True)
class SelectionOrFalse(Value):
    """A selection of atoms, least_moving, or false for none."""

    def allowed(self) -> str:
        return "least_moving, a selection of atoms (text) or false"

    def schema(self) -> CoreSchema:
        text = Text("a selection").schema()
        only_false = core_schema.chain_schema(
            [core_schema.bool_schema(strict=True), core_schema.literal_schema([False])]
        )
        return core_schema.union_schema([only_false, text])


_FRAME = "a frame number (integer; negative counts from the end)"


def _is_path(value: object) -> bool:
    return isinstance(value, str) and bool(_PRINTABLE.match(value))


_RUNS = "a list of paths, one trajectory each, or [part1, part2] in place of one"
_FILES = "a list of paths, one table each"


def _runs(value: object) -> tuple[str | tuple[str, ...], ...]:
    """One path stands for a list of one."""
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple):
        raise refusal(_RUNS)
    runs = []
    for entry in entries:
        parts = list(entry) if isinstance(entry, list | tuple) else [entry]
        if not parts or not all(_is_path(part) for part in parts):
            raise refusal(_RUNS)
        runs.append(tuple(parts) if isinstance(entry, list | tuple) else entry)
    _once([part for run in runs for part in ([run] if isinstance(run, str) else run)])
    return tuple(runs)


def _files(value: object) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or not all(_is_path(path) for path in entries):
        raise refusal(_FILES)
    _once(list(entries))
    return tuple(entries)


def _once(paths: list[str]) -> None:
    repeated = [path for n, path in enumerate(paths) if path in paths[:n]]
    if repeated:
        raise refusal(f"each file once, but {repeated[0]!r} is there twice")


def _dihedrals(value: object) -> tuple[str, ...]:
    form = f"a list of {', '.join(DIHEDRALS)}"
    if not isinstance(value, list | tuple) or not value:
        raise refusal(form)
    if any(name not in DIHEDRALS for name in value):
        raise refusal(form, DIHEDRALS)
    if len(set(value)) < len(value):
        raise refusal("each dihedral once")
    return tuple(value)


def _distances(value: object) -> dict[str, tuple[str, str]]:
    form = "a mapping of NAME: [selection, selection]"
    if not isinstance(value, Mapping):
        raise refusal(form)
    for name, ends in value.items():
        pair = ends if isinstance(ends, list | tuple) else ()
        if not _is_path(name) or len(pair) != 2 or not all(_is_path(end) for end in pair):
            raise refusal(form)
    return {name: tuple(ends) for name, ends in value.items()}


def _domains(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(map(_is_path, [*value, *value.values()])):
        raise refusal("a mapping of NAME: selection")
    return dict(value)


TrajectoryList = Annotated[
    tuple[str | tuple[str, ...], ...],
    BeforeValidator(_runs, json_schema_input_type=str | list[str | list[str]]),
    Expected(_RUNS),
]
FileList = Annotated[
    tuple[str, ...],
    BeforeValidator(_files, json_schema_input_type=str | list[str]),
    Expected(_FILES),
]
DihedralList = Annotated[
    tuple[DihedralName, ...],
    BeforeValidator(_dihedrals, json_schema_input_type=list[DihedralName]),
    Expected(f"a list of {', '.join(DIHEDRALS)}"),
]
DistanceMap = Annotated[
    dict[str, tuple[str, str]],
    BeforeValidator(_distances, json_schema_input_type=dict[str, tuple[str, str]]),
    Expected("a mapping of NAME: [selection, selection]"),
]
DomainMap = Annotated[
    dict[str, str],
    BeforeValidator(_domains, json_schema_input_type=dict[str, str]),
    Expected("a mapping of NAME: selection"),
]


# --- frames, tables -------------------------------------------------------------------------------


_MAX_FRAME = 2**31 - 1


class FramesConfig(ConfigModel):
    """Which frames of each trajectory are used, numbered from 0."""

    start: Annotated[int, Field(ge=-_MAX_FRAME, le=_MAX_FRAME), Expected(_FRAME)] = Field(
        default=0,
        description=(
            "The first frame, to leave out equilibration; negative counts from the end (-500: the "
            "last 500)."
        ),
    )
    stop: Annotated[
        int | None, Field(ge=-_MAX_FRAME, le=_MAX_FRAME), Expected(f"{_FRAME}, or null")
    ] = Field(default=None, description="The frame before which to stop; null: go to the end.")
    step: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="Use every so many frames. Nearby frames add little; they cost time."
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

_BINS = {"dihedral": 12}
_BINS_ELSE = 10


MotionKind = Literal["auto", "ksg", "gaussian", "dcc", "bspline", "dihedral"]


class MotionEstimatorConfig(ConfigModel):
    """The estimator. Each gives mutual information in nats, 0 for independent motions, and from it
    the generalized correlation sqrt(1 - exp(-2 I / d)) for variables of d dimensions (Lange and
    Grubmueller 2006); `dcc` gives the cosine correlation alone."""

    preset: Literal["none", "mdigest", "normi", "dynetan", "netsci"] = Field(
        default="none",
        description=(
            "Numbers as another tool gives them: decides `neighbours`, `variant`, `norm`, `scale` "
            "and `theiler`, whatever stands there. `mdigest`: 5 neighbours, KSG 1, largest "
            "coordinate, as they are, no Theiler window. `normi`: the same, each coordinate "
            "divided by its standard deviation. `dynetan`: 7 neighbours, KSG 2, divided too. "
            "`netsci`: KSG 2, as they are, `neighbours` as given here. Only for `kind: ksg`."
        ),
    )
    kind: MotionKind = Field(
        default="auto",
        description=(
            "`ksg`: nearest neighbours (Kraskov et al. 2004); any dependence, in all dimensions "
            "at once; wants 50 effective frames or more. `gaussian`: as if motions were normally "
            "distributed (linear mutual information); fast, best of fewer frames, blind to curved "
            "dependence. `auto`: `gaussian` where the median variable has fewer than 50 effective "
            "frames in a trajectory, else `ksg`; `ksg` wherever a key of it is not at its default. "
            "`dcc`: cosine (Pearson) correlation of displacements; blind to motions at right "
            "angles. `bspline`: B-spline mutual information, of scalars; of positions the sum over "
            "the nine pairs of coordinates. Frames may be missing, in some variables or all. "
            "`dihedral`: the same of angles, with splines that close at 360 degrees."
        ),
    )
    neighbours: Annotated[int, Field(ge=1, le=64)] = Field(
        default=6,
        description=(
            "Of `ksg`: which nearest neighbour measures the density. Fewer follow finer detail "
            "and scatter more. Usual: 3 to 7."
        ),
    )
    variant: Annotated[int, Field(ge=1, le=2)] = Field(
        default=1,
        description="Of `ksg`: the first or the second estimator of Kraskov et al.",
    )
    norm: Literal["euclidean", "max"] = Field(
        default="euclidean",
        description=(
            "Of `ksg`: how far apart two frames of one variable are. `euclidean`: the distance; "
            "does not depend on how the system is turned. `max`: the largest difference of a "
            "coordinate."
        ),
    )
    scale: Literal["raw", "std"] = Field(
        default="raw",
        description=(
            "Of `ksg`: coordinates as they are (`raw`), or each divided by its own standard "
            "deviation (`std`; no longer independent of how the system is turned)."
        ),
    )
    theiler: Literal["auto"] | Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default="auto",
        description=(
            "Of `ksg`: frames nearer in time than this are no neighbours, because successive "
            "frames are alike whatever the motions have to do with each other. `auto`: twice the "
            "correlation time. 0: all frames count."
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
            "the start) to see what the estimator gives for unrelated motions that are as slow as "
            "these: the null of the p-values. Successive frames are no independent samples, and a "
            "plain permutation would call everything significant. Each costs as much as the "
            "estimate. 0: no p-values."
        ),
    )

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
    def allows_missing(self) -> bool:
        """Whether values may be missing (NaN): joint tables count the frames that both have."""
        return self.kind == "bspline"

    @property
    def single(self) -> bool:
        """Whether coordinates are rounded to float32 first, as NetSci does."""
        return self.preset == "netsci"

    def with_window(self, frames: int) -> Self:
        """The same with a Theiler window in frames."""
        return self.model_copy(update={"theiler": frames})

    @field_validator("neighbours", "variant", "norm", "scale", "theiler")
    @classmethod
    def _as_the_preset_says(cls, value: str | int, info: ValidationInfo) -> str | int:
        preset = PRESETS[info.data.get("preset", "none")]
        return preset.get(str(info.field_name), value)

    @field_validator("kind")
    @classmethod
    def _presets_are_of_ksg(cls, kind: str, info: ValidationInfo) -> str:
        if info.data.get("preset", "none") == "none" or kind == "ksg":
            return kind
        if kind != "auto":
            raise refusal(f"none beside kind: {kind} (presets are of kind: ksg)", key="preset")
        return "ksg"

    @field_validator("bins")
    @classmethod
    def _bins_decided(cls, bins: int | str, info: ValidationInfo) -> int | str:
        return _BINS.get(info.data.get("kind", ""), _BINS_ELSE) if bins == "auto" else bins

    @field_validator("order")
    @classmethod
    def _order_at_most_bins(cls, order: int, info: ValidationInfo) -> int:
        bins = info.data.get("bins")
        if isinstance(bins, int) and order > bins:
            raise refusal(f"an integer between 1 and bins ({bins})")
        return order

    @field_validator("surrogates")
    @classmethod
    def _enough_to_scatter(cls, surrogates: int) -> int:
        if surrogates == 1:
            raise refusal("0 (no p-values), or 2 to 10000: one does not say how far they scatter")
        return surrogates


# --- the network ----------------------------------------------------------------------------------


class KeepMotionConfig(ConfigModel):
    """One rule of ``keep``: its only key names it, its value is the bound."""

    @property
    def rule(self) -> str:
        """``p_value``, ``fdr``, ``correlation`` or ``top_edges``."""
        return next(iter(type(self).model_fields))

    @property
    def bound(self) -> float:
        """The value that pairs are held against, or the number of pairs."""
        value: float = getattr(self, self.rule)
        return value


class KeepMotionPValueConfig(KeepMotionConfig):
    """Keep pairs by p-value."""

    p_value: Annotated[float, Field(gt=0, le=1)] = Field(
        description="Keep pairs whose p-value against time-shifted surrogates is at most this."
    )


class KeepMotionFdrConfig(KeepMotionConfig):
    """Keep pairs by false discovery rate."""

    fdr: Annotated[float, Field(gt=0, le=1)] = Field(
        description=(
            "Keep pairs whose q-value (Benjamini-Hochberg, from those p-values) is at most this."
        )
    )


class KeepMotionCorrelationConfig(KeepMotionConfig):
    """Keep pairs by correlation."""

    correlation: Annotated[float, Field(ge=0, le=1)] = Field(
        description=(
            "Keep pairs whose correlation (its size, where it has a sign) is at least this, "
            "significant or not."
        )
    )


class KeepMotionTopEdgesConfig(KeepMotionConfig):
    """Keep the best so many."""

    top_edges: Annotated[int, Exponent(), Field(ge=1, le=1_000_000_000)] = Field(
        description="Keep this many pairs, those of the strongest correlation."
    )


_KEEP = (
    KeepMotionPValueConfig,
    KeepMotionFdrConfig,
    KeepMotionCorrelationConfig,
    KeepMotionTopEdgesConfig,
)
_KEEP_KEYS = tuple(key for section in _KEEP for key in section.model_fields)
_KEEP_FORMS = listed(["auto", *(f"{{{key}: x}}" for key in _KEEP_KEYS), "all"]) + " (one of them)"


def _keep_form(value: object) -> str | None:
    if isinstance(value, KeepMotionConfig):
        return f"<{value.rule}>"
    if isinstance(value, Mapping):
        key = next(iter(value)) if len(value) == 1 else None
        return f"<{key}>" if key in _KEEP_KEYS else None
    return f"<{value}>" if isinstance(value, str) and value in ("all", "auto") else None


KeepMotion = Annotated[
    Annotated[KeepMotionPValueConfig, Tag("<p_value>")]
    | Annotated[KeepMotionFdrConfig, Tag("<fdr>")]
    | Annotated[KeepMotionCorrelationConfig, Tag("<correlation>")]
    | Annotated[KeepMotionTopEdgesConfig, Tag("<top_edges>")]
    | Annotated[Literal["all"], Tag("<all>")]
    | Annotated[Literal["auto"], Tag("<auto>")],
    Discriminator(
        _keep_form,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={
            "expected": _KEEP_FORMS,
            "choices": " ".join(["auto", *_KEEP_KEYS, "all"]),
        },
    ),
    Expected(_KEEP_FORMS),
]


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


_CONTACTS_FORM = f"auto, {model_or_false_form(ContactsConfig)}"


def _contacts_form(value: object) -> str | None:
    if value is False or (isinstance(value, str) and value == "auto"):
        return f"<{str(value).lower()}>"
    return "<contactsconfig>" if isinstance(value, Mapping | ContactsConfig) else None


Contacts = Annotated[
    Annotated[ContactsConfig, Tag("<contactsconfig>")]
    | Annotated[Literal[False], Tag("<false>")]
    | Annotated[Literal["auto"], Tag("<auto>")],
    Discriminator(
        _contacts_form,
        custom_error_type=EXPECTED,
        custom_error_message="{expected}",
        custom_error_context={"expected": _CONTACTS_FORM, "choices": "auto"},
    ),
    Expected(_CONTACTS_FORM),
]

CommunityMethod = Literal["leiden", "girvan_newman"]


def _methods(value: object) -> tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise refusal("a list of leiden and girvan_newman, or [] for none")
    if len(set(map(str, value))) < len(value):
        raise refusal("each of leiden and girvan_newman at most once")
    return tuple(value)


CommunityList = Annotated[
    tuple[CommunityMethod, ...],
    BeforeValidator(_methods, json_schema_input_type=list[CommunityMethod]),
    Expected("a list of leiden and girvan_newman, or [] for none"),
]


def _ends(value: object) -> tuple[tuple[str, str], ...]:
    form = "a list of [from, to], two names of residues each, such as [[A:LYS13, A:ASP84]]"
    if not isinstance(value, list | tuple):
        raise refusal(form)
    for pair in value:
        names = pair if isinstance(pair, list | tuple) else ()
        if len(names) != 2 or not all(isinstance(name, str) and name for name in names):
            raise refusal(form)
        if names[0] == names[1]:
            raise refusal(f"two residues for a path, but {names[0]!r} is both")
    return tuple(tuple(pair) for pair in value)


PathEnds = Annotated[
    tuple[tuple[str, str], ...],
    BeforeValidator(_ends, json_schema_input_type=list[tuple[str, str]]),
    Expected("a list of [from, to], two names of residues each"),
]
