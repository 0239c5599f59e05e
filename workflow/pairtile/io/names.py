"""Names in one file as they are spelled in another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from os import PathLike

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError

message = messages_of(__package__)

_SHOWN = 5
_VERSION = re.compile(r"(?<=.)\.\d+$")
_R_RESERVED = {"if", "else", "repeat", "while", "function", "for", "next", "break", "in"} | {
    *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA"),
}


def some(names: Sequence[str], limit: int = _SHOWN) -> str:
    """The first few names."""
    return ", ".join(names[:limit]) + (", ..." if len(names) > limit else "")


def without_version(name: str) -> str:
    """ENSG00000141510 of ENSG00000141510.18: the name without the number after its last point."""
    return _VERSION.sub("", name)


def r_name(name: str) -> str:
    """The name that R's ``make.names`` gives to a column: points for blanks and dashes, and an X
    before a digit."""
    found = re.sub(r"[^\w.]", ".", name)
    if not re.match(r"[^\W\d_]|\.(?!\d)", found):
        found = "X" + found
    return found + "." if found in _R_RESERVED else found


def spelled_alike(
    names: Iterable[str], others: Sequence[str], spelling: Callable[[str], str]
) -> dict[str, list[str]]:
    """For each name those of ``others`` that are the same, or else have the same ``spelling``."""
    exact = set(others)
    alike: dict[str, list[str]] = {}
    for other in dict.fromkeys(others):
        alike.setdefault(spelling(other), []).append(other)
    return {name: [name] if name in exact else alike.get(spelling(name), []) for name in names}


def match_samples(
    samples: Sequence[str], listed: Sequence[str], source: str | PathLike[str]
) -> tuple[dict[str, str], list[Message]]:
    """What the samples of a table are called in a list, and a note where R changed the names.

    A sample that is not listed is looked for under the name that R gives to columns (``Sample.1``
    for ``Sample 1`` and ``Sample-1``, ``X1h`` for ``1h``). Those that the list lacks are not in the
    result. Raises InputError where several names stand for one sample, or one for several.
    """
    found = spelled_alike(samples, listed, r_name)
    matched: dict[str, str] = {}
    taken: dict[str, str] = {}
    for sample, names in found.items():
        twice = [sample, taken[names[0]]] if names and names[0] in taken else []
        if len(names) > 1 or twice:
            several = twice or names
            raise InputError.at(
                source,
                f"sample {(names if twice else [sample])[0]!r}",
                f"{several[0]!r} and {several[1]!r}, which are the same to R's make.names",
                "the same names of samples in both files",
            )
        if names:
            matched[sample] = names[0]
            taken[names[0]] = sample
    changed = [(sample, name) for sample, name in matched.items() if sample != name]
    if not changed:
        return matched, []
    sample, name = changed[0]
    return matched, [message("r_names", n=len(changed), sample=sample, name=name)]
