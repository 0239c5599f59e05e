"""Read tables of time series: one frame a line, one column a coordinate; text or NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import ConfigError, InputError
from pairtile.io.in_memory import unless_in_memory
from pairtile.io.names import join_first
from pairtile.io.text_file import check_file, is_number, open_lines

_TIME_NAMES = {"time", "frame", "step", "t", "time_ps", "time_ns", "frame_number", "index"}
_XVG_LEGEND = re.compile(r'^@\s+s\d+\s+legend\s+"(.*)"')
_PLUMED_FIELDS = "#! FIELDS"
_MISSING = {"", "na", "nan", "null", "none", "-"}
MAX_VALUE = 1e30
"""Squares of larger values, summed over frames, are beyond what numbers can hold."""

_COORDINATE = re.compile(r"[._:\s-]?(x|y|z|[0-2])$", re.IGNORECASE)

EXPECTED = f"a finite number, of at most {MAX_VALUE:g} in size"


@dataclass(frozen=True)
class SeriesTable:
    """One table. ``names``: of the variables; each has ``dimensions`` columns in a row.

    ``blocks(n_frames, missing)`` gives the frames ``used`` in order, at most ``n_frames`` at a
    time, as float64 (frames, variables, dimensions). ``missing``: whether values may be missing
    (empty, NA, NaN, ...); they become NaN. Raises ``InputError`` for fields that are no finite
    numbers, naming line and column.
    """

    path: str
    names: list[str]
    dimensions: int
    used: range
    blocks: Callable[[int, bool], Iterator[NDArray[np.float64]]] = field(repr=False)


@unless_in_memory
def open_series_table(
    path: str,
    dimensions: int = 1,
    time: str | None = "auto",
    start: int = 0,
    stop: int | None = None,
    step: int = 1,
) -> SeriesTable:
    """Look at a table: its variables and number of frames. Values are read by ``blocks``.

    Text: fields parted by tabs, commas, semicolons or blanks (by what the first line of data
    holds); a first line of names is optional; lines with ``#`` are passed over; GROMACS ``.xvg``
    (names from its legends) and PLUMED (``#! FIELDS``) are known by their content; plain or gzip.
    ``.npy``: (frames, columns) or (frames, variables, dimensions).

    Raises
    ------
    InputError
        File missing or damaged; columns that are no multiple of ``dimensions``; no frame left.
    ConfigError
        If there is no column of the name ``time``.
    """
    check_file(path)
    opened = _Array(path) if Path(path).suffix.lower() == ".npy" else _Text(path, time)
    names, d = _variables(opened, path, dimensions)
    used = range(opened.n_frames)[slice(start, stop, step)]
    if not used:
        wanted = f"start: {start}, stop: {'null' if stop is None else stop}, step: {step}"
        raise InputError.at(
            path, "", f"no frame for frames {{{wanted}}}", f"some of its {opened.n_frames} frames"
        )

    def blocks(n: int, missing: bool) -> Iterator[NDArray[np.float64]]:
        for block in opened.blocks(used, n, missing):
            yield block.reshape(len(block), len(names), d)

    return SeriesTable(path, names, d, used, blocks)


def _variables(opened: _Text | _Array, path: str, dimensions: int) -> tuple[list[str], int]:
    if isinstance(opened, _Array) and opened.shape[2:]:
        return opened.columns, opened.shape[2]
    columns = opened.columns
    if not columns or len(columns) % dimensions:
        raise InputError.at(
            path, "", f"{len(columns)} columns of values", f"a multiple of {dimensions}"
        )
    firsts = (
        columns[::dimensions]
        if isinstance(opened, _Text)
        else columns[: len(columns) // dimensions]  # an array's number its variables
    )
    # x of p.x and q.x is a coordinate; 1 and 0 of column_1 and column_40 are none.
    if dimensions > 1 and len({name[-1:].lower() for name in firsts}) == 1:
        firsts = [_COORDINATE.sub("", name) or name for name in firsts]
    repeated = [name for n, name in enumerate(firsts) if name in firsts[:n]]
    if repeated:
        raise InputError.at(path, "", f"two variables named {repeated[0]!r}", "names that differ")
    return firsts, dimensions


class _Array:
    def __init__(self, path: str) -> None:
        self.path = path
        values = self._opened()
        shaped = values.ndim in (2, 3) and max(values.shape[2:], default=1) <= 3
        if not shaped or values.dtype.kind not in "fiu" or 0 in values.shape:
            raise InputError.at(
                path,
                "",
                f"an array of shape {values.shape} and type {values.dtype}",
                "numbers of shape (frames, columns) or (frames, variables, dimensions) with 1 to 3 "
                "dimensions (NumPy's transpose exchanges axes)",
            )
        self.shape = values.shape
        self.n_frames = values.shape[0]
        self.columns = [f"variable_{k + 1}" for k in range(values.shape[1])]

    def blocks(self, used: range, n: int, missing: bool) -> Iterator[NDArray[np.float64]]:
        for first in range(0, len(used), n):
            part = used[first : first + n]
            block = self._opened()[part.start : part.stop : part.step].astype(np.float64)
            bad = np.argwhere(unusable(block, missing))
            if bad.size:
                frame, column = part[int(bad[0][0])], int(bad[0][1])
                place, value = f"frame {frame}, column {column}", float(block[tuple(bad[0])])
                raise InputError.at(self.path, place, f"{value:g}", EXPECTED)
            yield block

    def _opened(self) -> NDArray:
        try:
            return np.asanyarray(np.load(self.path, mmap_mode="r", allow_pickle=False))
        except Exception as error:  # a damaged header may make NumPy raise anything
            why = str(error) or type(error).__name__
            raise InputError.at(self.path, "", f"no sound .npy file ({why})", "one") from error


class _Text:
    """A text file: a first pass finds names, columns and the number of frames."""

    def __init__(self, path: str, time: str | None) -> None:
        self.path = path
        names: list[str] = []
        legends: list[str] = []
        header: list[str] | None = None
        self.delimiter: str | None = None
        self.n_fields = self.n_frames = self.header_line = 0
        with open_lines(path) as lines:
            for number, line in lines:
                text = line.strip()
                legend = _XVG_LEGEND.match(text)
                if legend:
                    legends.append(legend[1])
                if text.startswith(_PLUMED_FIELDS) and not names:
                    names = text.removeprefix(_PLUMED_FIELDS).split()
                if _skipped(text):
                    continue
                if not self.n_fields:
                    self.delimiter = next((mark for mark in "\t,;" if mark in text), None)
                    fields = self.split(line)
                    self.n_fields = len(fields)
                    if not any(is_number(text) for text in fields):
                        header, self.header_line = fields, number
                        continue
                self.n_frames += 1
        if not self.n_frames:
            raise InputError.at(path, "", "no line of numbers", "one line for each frame")
        if header is None and legends:  # .xvg: the first column has no legend
            names = ["time"] * (self.n_fields == len(legends) + 1) + legends
        all_names = header or (names if len(names) == self.n_fields else None)
        all_names = all_names or [f"column_{k + 1}" for k in range(self.n_fields)]
        first = all_names[0].lower().split(" ")[0].split("(")[0]
        self.time_column = 0 if time == "auto" and first in _TIME_NAMES else None
        if time not in ("auto", None):
            if time not in all_names:
                raise ConfigError.at(
                    "table.time", "", repr(time), f"a column of {path} ({join_first(all_names)})"
                )
            self.time_column = all_names.index(time)
        self.columns = [n for k, n in enumerate(all_names) if k != self.time_column]

    def blocks(self, used: range, n: int, missing: bool) -> Iterator[NDArray[np.float64]]:
        row = np.dtype((np.float64, len(self.columns)))
        with open_lines(self.path) as lines:
            frames = (
                (number, line)
                for number, line in lines
                if not _skipped(line.strip()) and number != self.header_line
            )
            chosen = islice(frames, used.start, used.stop, used.step)
            for _ in range(0, len(used), n):
                part = islice(chosen, n)
                yield np.fromiter((self._values(*line, missing) for line in part), row)

    def split(self, line: str) -> list[str]:
        fields = line.strip().split() if self.delimiter is None else line.split(self.delimiter)
        return [text.strip().strip('"') for text in fields]

    def _values(self, number: int, line: str, missing: bool) -> list[float]:
        fields = self.split(line)
        if len(fields) != self.n_fields:
            raise InputError.at(
                self.path,
                f"line {number}",
                f"{len(fields)} field{'s' if len(fields) != 1 else ''}",
                f"{self.n_fields}, as above",
            )
        if self.time_column is not None:
            del fields[self.time_column]
        if missing:
            fields = ["nan" if text.lower() in _MISSING else text for text in fields]
        try:
            values = [float(text) for text in fields]
            if not unusable(np.array(values), missing).any():
                return values
        except ValueError:
            pass
        bad = next(
            k
            for k, text in enumerate(fields)
            if not is_number(text) or unusable(np.array(float(text)), missing)
        )
        raise InputError.at(
            self.path,
            f"line {number}, column {self.columns[bad]!r}",
            "a missing value" if fields[bad].lower() in _MISSING else repr(fields[bad]),
            f"{EXPECTED}, in every frame (kind: bspline also goes without some)",
        )


def unusable(values: NDArray[np.float64], missing: bool) -> NDArray[np.bool_]:
    """What is no finite number, or too large; ``missing``: whether NaN may be."""
    sound: NDArray[np.bool_] = np.abs(values) <= MAX_VALUE
    return ~(sound | np.isnan(values)) if missing else ~sound


def _skipped(text: str) -> bool:
    return not text or text[0] in "#@&"
