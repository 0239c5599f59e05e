"""How a network of residues is made of correlated motions: which pairs, contacts, what to draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from pairtile.config.model_or_false import model_or_false, model_or_false_form
from pairtile.config.models import ConfigModel
from pairtile.config.values import EXPECTED, Choice, Form, Number, Whole, listed, refusal


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

    p_value: Annotated[float, Number(above=0, high=1)] = Field(
        description="Keep pairs whose p-value against time-shifted surrogates is at most this."
    )


class KeepMotionFdrConfig(KeepMotionConfig):
    """Keep pairs by false discovery rate."""

    fdr: Annotated[float, Number(above=0, high=1)] = Field(
        description=(
            "Keep pairs whose q-value (Benjamini-Hochberg, from those p-values) is at most this."
        )
    )


class KeepMotionCorrelationConfig(KeepMotionConfig):
    """Keep pairs by correlation."""

    correlation: Annotated[float, Number(low=0, high=1)] = Field(
        description=(
            "Keep pairs whose correlation (its size, where it has a sign) is at least this, "
            "significant or not."
        )
    )


class KeepMotionTopEdgesConfig(KeepMotionConfig):
    """Keep the best so many."""

    top_edges: Annotated[int, Whole(1, 1_000_000_000, exponent=True)] = Field(
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


def _keep_form(value: Any) -> str | None:
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
    Form(_KEEP_FORMS),
]


class ContactsConfig(ConfigModel):
    """Which residues touch: those with heavy atoms near each other in most frames. The usual
    filter of residue networks (4.5 Angstrom in 75 % of the frames): communities and paths then run
    along contacts, and far residues are joined through those between them."""

    cutoff: Annotated[float, Number(above=0, high=100)] = Field(
        default=4.5, description="Distance of two heavy atoms that counts as contact, in Angstrom."
    )
    fraction: Annotated[float, Number(above=0, high=1)] = Field(
        default=0.75, description="Least share of the frames in which two residues touch."
    )


ContactsOrFalse = Annotated[
    Annotated[ContactsConfig, Tag("<contactsconfig>")] | Annotated[Literal[False], Tag("<false>")],
    model_or_false(ContactsConfig),
    Form(model_or_false_form(ContactsConfig)),
]

CommunityMethod = Literal["leiden", "girvan_newman"]


def _methods(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise refusal("a list of leiden and girvan_newman, or [] for none")
    if len(set(map(str, value))) < len(value):
        raise refusal("each of leiden and girvan_newman at most once")
    return tuple(value)


CommunityList = Annotated[
    tuple[Annotated[CommunityMethod, Choice()], ...],
    BeforeValidator(_methods, json_schema_input_type=list[Annotated[CommunityMethod, Choice()]]),
    Form("a list of leiden and girvan_newman, or [] for none"),
]


def _ends(value: Any) -> Any:
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
    Form("a list of [from, to], two names of residues each"),
]
