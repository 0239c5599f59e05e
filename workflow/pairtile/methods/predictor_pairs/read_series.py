"""Which time series each sample belongs to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.io.text_file import open_rows
from pairtile.io.text_table import find_delimiter

_SAMPLE_HEADERS = {"sample", "samples", "sample_id", "sample_name", "column"}
_SHOWN = 3


@dataclass(frozen=True)
class Series:
    """The series of samples.

    ``numbers``: int32, shape (samples,), the position in ``names`` for each sample of the table.
    ``names``: in the order in which their first samples stand in the table. ``n_unused``: samples
    of the file that are not in the table.
    """

    numbers: NDArray[np.int32]
    names: list[str]
    n_unused: int


def read_series(path: str | PathLike[str], samples: Sequence[str]) -> Series:
    """Read a table of sample and series, two fields a line, for the ``samples`` of a table.

    A header (``sample series``) is optional: a first line is taken for one if its first field is
    ``sample`` or the like, and no sample has that name. Lines that start with ``#`` are passed
    over. Tabs, or commas by suffix; plain or gzip. A sample may stand there twice with the same
    series.

    Raises:
        InputError: file missing or damaged; another number of fields; an empty name; a sample with
            two series; samples of the table without a series.
    """
    series_of: dict[str, tuple[str, int]] = {}
    with open_rows(path, find_delimiter(path)) as rows:
        first = True
        for line, raw in rows:
            fields = [text.strip() for text in raw]
            if fields[0].startswith("#"):
                continue
            is_first, first = first, False
            if len(fields) != 2:
                found = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
                raise InputError.at(path, f"line {line}", found, "2 (sample, series)")
            sample, series = fields
            if is_first and sample.lower() in _SAMPLE_HEADERS and sample not in samples:
                continue
            if not sample or not series:
                raise InputError.at(path, f"line {line}", "an empty name", "sample and series")
            before = series_of.setdefault(sample, (series, line))
            if before[0] != series:
                raise InputError.at(
                    path,
                    f"line {line}",
                    f"sample {sample!r} in series {series!r}, but in {before[0]!r} in line "
                    f"{before[1]}",
                    "each sample in one series",
                )
    absent = [name for name in samples if name not in series_of]
    if absent:
        raise _absent(path, absent, samples, series_of)
    names = list(dict.fromkeys(series_of[sample][0] for sample in samples))
    position = {name: k for k, name in enumerate(names)}
    numbers = np.array([position[series_of[sample][0]] for sample in samples], dtype=np.int32)
    return Series(numbers, names, len(set(series_of) - set(samples)))


def _absent(
    path: str | PathLike[str],
    absent: Sequence[str],
    samples: Sequence[str],
    listed: Collection[str],
) -> InputError:
    shown = ", ".join(repr(name) for name in absent[:_SHOWN])
    more = ", ..." if len(absent) > _SHOWN else ""
    if len(absent) == len(samples) and listed:
        hint = f"; the file names {', '.join(repr(name) for name in list(listed)[:_SHOWN])}, ..."
    else:
        hint = ""
    return InputError.at(
        path,
        "",
        f"no series for {len(absent)} of {len(samples)} samples ({shown}{more}){hint}",
        "a line for every sample of the table, named as there",
    )
