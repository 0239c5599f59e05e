"""Errors whose message is written for the person who runs pairtile.

Scripts print such a message alone, without a traceback, and stop with a non-zero exit code.
Anything else that is raised is a defect of pairtile and keeps its traceback.
"""

from __future__ import annotations

from os import PathLike
from typing import Self


class PairtileError(Exception):
    """Base of all errors that a user can cause and mend."""

    @classmethod
    def at(cls, file: str | PathLike[str], place: str, found: str, expected: str) -> Self:
        """Build the message: file, line or item, what was found, what is allowed."""
        where = f"{file}: {place}" if place else f"{file}"
        return cls(f"{where}: found {found}; expected {expected}")


class InputError(PairtileError):
    """An input file that cannot be read, or whose content cannot be used."""


class ConfigError(PairtileError):
    """A configuration with unknown keys, wrong types or impossible values."""


class StoreError(PairtileError):
    """A chunk or result file that is missing, damaged, or belongs to another run."""


class DeviceError(PairtileError):
    """A backend that was asked for and cannot be had."""
