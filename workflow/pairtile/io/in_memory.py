"""Inputs that are in memory: readers give them in place of the file that a configuration names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from os import PathLike
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="str | PathLike[str]")

_GIVEN: ContextVar[Mapping[str, object] | None] = ContextVar("inputs in memory", default=None)


@contextmanager
def inputs_in_memory(given: Mapping[str, object]) -> Iterator[None]:
    """Inside, readers find these: what stands in the configuration for the path -> what its reader
    would give."""
    token = _GIVEN.set(given)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def in_memory(path: str | PathLike[str]) -> Any:
    """What stands for the file of this path; None where it is to be read."""
    return (_GIVEN.get() or {}).get(str(path))


def unless_in_memory(
    read: Callable[Concatenate[F, P], R],
) -> Callable[Concatenate[F, P], R]:
    """A reader that gives what is in memory for its path, where there is such."""

    @wraps(read)
    def found_or_read(path: F, /, *args: P.args, **kwargs: P.kwargs) -> R:
        held: R | None = in_memory(path)
        return read(path, *args, **kwargs) if held is None else held

    return found_or_read
