"""Made by `python -m pairtile.config.describe` from the models."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

class MirnaSignalKeywords(TypedDict, total=False):
    shuffles: int
    seed: int
    reference_species: str | None
    species_tree: str | PathLike[str] | None
    mirna_expression: str | PathLike[str] | None
    transcript_expression: str | PathLike[str] | None
    score: float
    energy: float
    scale: float
    gap_open: float
    gap_extend: float
    strict: bool
    energies: bool
    seed_sites: bool
    trim: int | None
    species: Sequence[Any] | None
    mirna_names: str | Sequence[Any] | None
    ignore_versions: bool
    extras: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]

class MirnaTargetsKeywords(TypedDict, total=False):
    score: float
    energy: float
    scale: float
    gap_open: float
    gap_extend: float
    strict: bool
    energies: bool
    seed_sites: bool
    trim: int | None
    species: Sequence[Any] | None
    mirna_names: str | Sequence[Any] | None
    ignore_versions: bool
    extras: Mapping[str, Any] | None
    backend: Literal["auto", "cpu", "cuda"]
    on_bad_record: Literal["error", "skip"]
