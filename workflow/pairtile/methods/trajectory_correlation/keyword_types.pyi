"""Made by `python -m pairtile.config.describe` from the models."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

class TrajectoryCorrelationKeywords(TypedDict, total=False):
    preset: Literal["none", "mdigest", "normi", "dynetan", "netsci"]
    kind: Literal["auto", "ksg", "gaussian", "dcc", "bspline", "dihedral"]
    neighbours: int
    variant: int
    norm: Literal["euclidean", "max"]
    scale: Literal["raw", "std"]
    theiler: Literal["auto"] | int
    corrected: bool
    bins: Literal["auto"] | int
    order: int
    transform: Literal["rank", "none"]
    surrogates: int
    unwrap: bool
    fit: bool | str | None
    reference: Literal["first", "average"] | None
    select: str | None
    positions: Literal["atom", "ca", "center_of_mass"] | None
    dihedrals: Sequence[Any] | None
    distances: Mapping[str, Any] | None
    domains: Mapping[str, Any] | None
    variables: Literal[
        "auto",
        "positions",
        "coordinates",
        "displacements",
        "dihedrals",
        "distances",
        "columns",
    ]
    frames: Mapping[str, Any] | None
    ensemble: Literal["auto"] | bool
    contacts: Mapping[str, Any] | bool | Literal["auto"]
    pairs: Literal["all", "in_contact"]
    keep: Mapping[str, Any] | str
    score: Literal["auto", "correlation", "correlation_centred"]
    seed: int
    backend: Literal["auto", "cpu", "cuda"]
