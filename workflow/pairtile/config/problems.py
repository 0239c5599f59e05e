"""From pydantic's list of errors to lines that a person can act on.

Each line is ``PLACE: KEY.PATH: found VALUE; expected WHAT``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pairtile.config.models import ConfigModel, models_in
from pairtile.config.root import METHOD_ERROR, Config, model_of
from pairtile.config.values import EXPECTED, EXPONENT_NUMBER, describe, item_of, join_list, words_of

_MISSING = object()
_SHOWN = 60

Path = tuple[str, ...]


def problems(
    error: ValidationError, raw: object, root: type[ConfigModel] = Config
) -> list[tuple[Path, str]]:
    """Path of the key and ``found ...; expected ...`` for each error of validating ``raw`` by
    ``root``."""
    return list(dict.fromkeys([_problem(e, raw, root) for e in error.errors(include_url=False)]))


def line(place: str, path: Path, text: str) -> str:
    """One line of a message."""
    where = ".".join(part if part.isprintable() else _short(repr(part)) for part in path)
    return f"{place}: {where}: {text}" if where else f"{place}: {text}"


def shown(value: object) -> str:
    """A value as a message shows it: as YAML writes it, and short."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"{str(value).lower()} (YAML reads bare yes, no, on and off so, too)"
    if isinstance(value, Mapping) and not value:
        return "an empty mapping"
    if isinstance(value, str):
        number = re.match(r"^[-+]?[0-9]*\.?[0-9]+$|" + EXPONENT_NUMBER, value)
        return _short(repr(value)) + " (text; a number stands without quotes)" * bool(number)
    if isinstance(value, int):
        # repr of an integer of thousands of digits is refused by Python.
        if abs(value) < 10**_SHOWN:
            return str(value)
        return f"an integer {'above ' if value > 0 else 'below -'}1e{_SHOWN}"
    if isinstance(value, float | list | tuple | Mapping | ConfigModel):
        try:
            return _short(repr(value))
        except ValueError:  # an integer with too many digits inside
            return f"a {type(value).__name__}"
    return f"{_short(str(value))} (a {type(value).__name__}; put it in quotes if text is meant)"


OTHER_NAMES = {
    **dict.fromkeys(("metadata", "sample_sheet", "samplesheet", "coldata"), "samples.annotations"),
    **dict.fromkeys(("covariates", "confounders", "batch_correction"), "preprocess.regress_out"),
    **dict.fromkeys(("tfs", "tf_list", "tf_file", "hubs"), "regulators"),
    **dict.fromkeys(("data", "counts", "matrix", "input", "expression_file"), "expression"),
    **dict.fromkeys(("threshold", "cutoff", "top", "n_edges"), "keep"),
    **dict.fromkeys(("normalization", "normalisation"), "preprocess.normalize"),
    **dict.fromkeys(("structure", "pdb"), "topology"),
    **dict.fromkeys(("utrs", "targets", "genes"), "transcripts"),
    **dict.fromkeys(("threads", "cores", "n_jobs"), "--cores, in the command"),
    **dict.fromkeys(("output", "outdir", "out"), "results, beside analyses"),
    **dict.fromkeys(("gpu", "device"), "backend, beside analyses"),
}
"""What other programs call a key -> where it is here."""


def suggestion(word: str, choices: Sequence[str]) -> str:
    """`` (did you mean ...?)`` where one of the choices is near."""
    small = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(word.lower(), small, n=1, cutoff=0.6)
    return f" (did you mean {small[near[0]]}?)" if near else ""


def _problem(error: ErrorDetails, raw: object, root: type[ConfigModel]) -> tuple[Path, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind == EXPECTED and error["loc"][-1:] == ("[key]",):
        path, _ = _follow(error["loc"][:-2], raw)
        return path, f"found the name {shown(error['input'])}; expected {context['expected']}"
    path, value = _follow(error["loc"], raw, keep_last=kind in ("extra_forbidden", "missing"))
    if context.get("key"):
        key = context["key"]
        for part in key.split("/") if isinstance(key, str) else key:
            path = (*path, part)
            if isinstance(value, list) and part.isdecimal():
                value = value[int(part)]
            else:
                value = value.get(part, _MISSING) if isinstance(value, dict) else _MISSING
        if value is _MISSING:  # the input of this error is the whole section, no default
            return path, f"found no such key; expected {context['expected']}"
    if kind == "extra_forbidden":
        return path, f"found an unknown key; expected {_known_keys(path, raw, root)}"
    if kind == "missing":
        return path, f"found no such key; expected {_of_field(path, raw, root)[0]}"
    if kind == METHOD_ERROR:
        return _method_problem(path, value, context)
    if kind == EXPECTED:
        expected, choices = context["expected"], context.get("choices", "").split()
    else:
        if path and not _type_at(path, raw, root) and _type_at(path[:-1], raw, root):
            path, value = _follow(error["loc"][:-1], raw)  # the last names a form of a union
        expected, choices = _of_field(path, raw, root)
    found = shown(value) if value is not _MISSING else f"{shown(error['input'])} (the default)"
    return path, f"found {found}; expected {expected}{_hint(value, choices)}"


def _method_problem(path: Path, value: object, context: Mapping[str, str]) -> tuple[Path, str]:
    if not isinstance(value, dict):
        return path, f"found {shown(value)}; expected a mapping with method: {context['expected']}"
    if "method" not in value:
        return (*path, "method"), f"found no such key; expected {context['expected']}"
    method = value["method"]
    hint = _hint(method, context["choices"].split())
    return (*path, "method"), f"found {shown(method)}; expected {context['expected']}{hint}"


def _follow(loc: Sequence[str | int], raw: object, keep_last: bool = False) -> tuple[Path, object]:
    """The keys of ``loc`` that ``raw`` has, without the names of forms (``<...>``), and the value
    there. ``keep_last``: the last one is a key whatever it looks like."""
    path: list[str] = []
    value = raw
    for n, part in enumerate(loc):
        last = keep_last and n == len(loc) - 1
        if isinstance(part, str) and part.startswith("<") and part.endswith(">") and not last:
            continue
        if isinstance(value, dict):
            value = value.get(part, _MISSING)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
        elif value is not _MISSING:
            break  # a short form, such as `bootstraps: 5` for a section with `number: 5`
        path.append(str(part))
    return tuple(path), value


class _Type(NamedTuple):
    """The type of a key, what stands beside it, and the model where it is a section."""

    annotation: object
    facts: Sequence[object]
    model: type[ConfigModel] | None


def _type_at(path: Path, raw: object, root: type[ConfigModel]) -> _Type | None:
    """That of a key, or of an item of its list; None where there is none."""
    known, value = _Type(root, [], root), raw
    for n, key in enumerate(path):
        annotation: object = None
        facts: Sequence[object] = []
        if isinstance(value, list):
            annotation, value = item_of(known.annotation), value[int(key)]
        else:
            value = value.get(key) if isinstance(value, dict) else None
            field = known.model.model_fields.get(key) if known.model else None
            if root is Config and n == 1:  # analyses.NAME says its model itself
                annotation = model_of(value)
            elif field is not None:
                annotation, facts = field.annotation, field.metadata
        if annotation is None:
            return None
        models = models_in(annotation)
        if len(models) > 1 and isinstance(value, dict):  # forms that differ in their keys
            models = [m for m in models if set(value) & set(m.model_fields)]
        known = _Type(annotation, facts, models[0] if models else None)
    return known


def _known_keys(path: Path, raw: object, root: type[ConfigModel]) -> str:
    section, unknown = _type_at(path[:-1], raw, root), path[-1]
    if section is None or section.model is None:
        return "no more keys here"
    keys = section.model.model_fields
    outside = f"{unknown}, beside analyses" if unknown in root.model_fields else ""
    other = OTHER_NAMES.get(str(unknown).lower(), outside)
    if other.partition(".")[0] in keys or " " in other:
        return f"{join_list(list(keys))} (did you mean {other}?)"
    for key, field in keys.items():
        if any(unknown in inner.model_fields for inner in models_in(field.annotation)):
            return f"{join_list(list(keys))} (did you mean {key}.{unknown}?)"
    return join_list(list(keys)) + suggestion(unknown, list(keys))


def _of_field(path: Path, raw: object, root: type[ConfigModel]) -> tuple[str, list[str]]:
    """What is allowed at ``path``, in words, and texts among it."""
    known = _type_at(path, raw, root) if path else None
    if known is None:
        return "another value" if path else "a mapping with the key analyses", []
    text = describe(known.annotation, known.facts)
    if not text and known.model:
        text = f"a mapping with keys {join_list(list(known.model.model_fields), 'and')}"
    return text, words_of(known.annotation)


def _hint(value: object, choices: Sequence[str]) -> str:
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value))
    return suggestion(value, choices) if isinstance(value, str) else ""


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
