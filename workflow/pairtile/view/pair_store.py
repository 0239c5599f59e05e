"""All stored pairs of an analysis: the partners of an item, and the pairs from a score on; or the
sets of predictors that one has in place of pairs.

``pairs.parquet`` is sorted by its first item, so that the pairs in which an item comes first lie
together, and its row groups' statistics find them. Those in which it comes second are everywhere.
An index in the user's cache holds them: the first items and scores of each block of rows, sorted by
the second item. It is made in one pass, in memory that does not grow with the table. What it has of
an item is a few hundred bytes in each block, and all are asked for before the first is read: one
after the other they take a disk seconds, and mapped memory reads megabytes around each.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pairtile.declare.tables import read_result_table
from pairtile.engine.custody import check_finished
from pairtile.errors import StoreError
from pairtile.io.names import GeneNames
from pairtile.io.symbols import unique_labels
from pairtile.method import methods, sign_column, value_columns
from pairtile.runtime.files import read_json, read_table, write_arrays, write_json
from pairtile.runtime.user_cache import user_cache

BLOCK_GROUPS = 4
"""Row groups of about a million rows in a block: of a file of 1e9 pairs, 240 blocks are looked into
for an item; one takes half a gigabyte while the index is made."""

MAX_BEST = 1000
"""Pairs of the whole table that the index lists, the best first."""

INDEXED = np.dtype([("other", np.int32), ("score", np.float32)])
"""A row of the index."""

KEPT_BITS = 11
"""Bits that a score loses, as a float of 32 bits, to become the number of a bin: scores of one bin
differ by less than 1/4096 of themselves."""


class Pairs(NamedTuple):
    """Pairs, the best first: numbers of both items and scores; NaN where there is none, last."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    score: NDArray[np.float32]

    def rows(self, where: slice | NDArray[np.generic]) -> Pairs:
        """Some of them, in the order asked for."""
        return Pairs(self.first[where], self.second[where], self.score[where])


class Store:
    """The stored rows of a finished analysis, from ``results/NAME/``: items.parquet, ``FILE`` and
    summary.json. Raises StoreError where one of them is missing.

    WORDS : for all rows, for those of an item, and for what the page asks.
    """

    FILE: ClassVar[str]
    WORDS: ClassVar[tuple[str, str, str]]

    def __init__(self, folder: Path) -> None:
        for name in ("summary.json", "items.parquet", self.FILE):
            if not (folder / name).is_file():
                raise StoreError(
                    f"{folder} has no {name}: choose the folder of a finished analysis, such as "
                    "results/NAME"
                )
        self.path = folder / self.FILE
        self.stamp = self._stamp()
        self.summary = read_json(folder / "summary.json")
        check_finished(folder, "items.parquet", self.FILE)
        items = read_table(folder / "items.parquet").assign(kept=True)
        self._items = GeneNames.of_items(items, False, False)
        self.labels = unique_labels(items) if "symbol" in items else {}
        self.names = np.array([self.labels.get(name, name) for name in self._items.names])

    def number(self, name: str) -> int | None:
        """The row of an item in items.parquet, by what the page calls it, its name, or a symbol or
        the like that is its alone; None where there is no such item."""
        called = np.flatnonzero(self.names == name).tolist()
        found = called or self._items.find([name]).rows.get(name, [])
        return found[0] if len(found) == 1 else None

    def snapped(self, least: float) -> float:
        """The largest score, not above ``least``, from which on pairs are counted exactly: itself.

        Raises ValueError where ``least`` is negative or not finite.
        """
        if not 0 <= least < np.inf:
            raise ValueError(least)
        return least

    def check_unchanged(self) -> None:
        """Raise StoreError where the file is another than the one that was opened."""
        if not self.path.is_file() or self._stamp() != self.stamp:
            raise StoreError(
                f"{self.path} has changed since it was opened; start pairtile view again"
            )

    def _stamp(self) -> list[int]:
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns, found.st_ino]


class PairStore(Store):
    """The stored pairs of an analysis; raises StoreError where they are not those of two items."""

    FILE, WORDS = "pairs.parquet", ("pairs", "partners", "Partners of")
    columns = ("source", "target")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._file = pq.ParquetFile(self.path)
        self._lock = threading.Lock()  # a ParquetFile serves one reader at a time
        columns = self._file.schema_arrow.names
        method = str(self.summary.get("method", ""))
        self.score = next(iter(value_columns(columns, method)), "")
        if not self.score or "target" in columns:
            raise StoreError(
                f"{self.path}: its rows are not pairs of two items with a score, so that they "
                f"cannot be looked up; {folder / 'report.html'} shows what was found"
            )
        self._signed = sign_column([self.score], method) is not None
        self.rows = self._file.metadata.num_rows
        self._columns = [columns.index(name) for name in ("i", "j", self.score)]
        self.index = self._open_index()

    def partners(self, item: int, least: float = 0.0) -> Pairs:
        """The pairs of an item (its row in items.parquet), the item first."""
        low, high = self._ranges[0]
        own = self._read(np.flatnonzero(~(low > item) & ~(high < item)).tolist())
        here = own.first == item
        begins, ends = (self._begins + self._offsets[:, item + end] for end in (0, 1))
        turned = self._indexed(zip(begins.tolist(), ends.tolist(), strict=True))
        other = np.concatenate([own.second[here], turned["other"]])
        score = np.concatenate([own.score[here], turned["score"]])
        return self._best(Pairs(np.full_like(other, item), other, score), least)

    def named(self, pairs: Pairs, most: int | None = None) -> Iterator[tuple[list[str], float]]:
        """Both names, and the score, of each of the first pairs."""
        for i, j, score in zip(*(part[:most].tolist() for part in pairs), strict=True):
            yield [self.names[i], self.names[j]], score

    def best(self, least: float = 0.0) -> Pairs:
        """The best of all pairs, ``MAX_BEST`` at most."""
        arrays = np.load(self.index / "best.npz")
        return self._best(Pairs(arrays["first"], arrays["second"], arrays["score"]), least)

    def count(self, least: float = 0.0) -> int:
        """Of all pairs, those with a score from ``least`` on; every pair from 0 on."""
        return (
            int(self._counts[_bins(np.array([least], np.float32))[0] :].sum())
            if least
            else self.rows
        )

    def snapped(self, least: float) -> float:
        """As ``Store.snapped``: scores are counted by bins."""
        edge = _bins(np.array([super().snapped(least)], np.float32)) << KEPT_BITS
        return float(edge.view(np.float32)[0])

    def pairs(self, least: float = 0.0) -> Iterator[Pairs]:
        """All pairs with a score from ``least`` on, in the order of the file, in parts."""
        low, high = self._ranges[2]
        highest = np.maximum(np.abs(low), np.abs(high)) if self._signed else high
        for group in np.flatnonzero(~(highest < np.float32(least))).tolist():
            found = self._read([group])
            here = slice(None) if not least else self._strength(found.score) >= np.float32(least)
            yield found.rows(here)

    def _strength(self, score: NDArray[np.float32]) -> NDArray[np.float32]:
        """What pairs are ranked by: a correlation whatever its sign; nothing is below 0."""
        return np.abs(score) if self._signed else np.maximum(score, 0)

    def _best(self, pairs: Pairs, least: float) -> Pairs:
        strength = self._strength(pairs.score)
        order = np.argsort(-strength, kind="stable")
        if least:
            order = order[: np.count_nonzero(strength >= np.float32(least))]
        return pairs.rows(order)

    def _read(self, groups: list[int]) -> Pairs:
        with self._lock:
            rows = self._file.read_row_groups(groups, columns=["i", "j", self.score])
        return Pairs(
            rows["i"].to_numpy(),
            rows["j"].to_numpy(),
            rows[self.score].to_numpy().astype(np.float32),
        )

    def _indexed(self, spans: Iterable[tuple[int, int]]) -> NDArray[np.void]:
        """Rows of the index, from (begin, end) to (begin, end)."""
        file, size = self._rows.fileno(), INDEXED.itemsize
        places = [(size * (end - begin), size * begin) for begin, end in spans if end > begin]
        if hasattr(os, "posix_fadvise"):  # macOS has none
            for length, place in places:
                os.posix_fadvise(file, place, length, os.POSIX_FADV_WILLNEED)
        return np.frombuffer(b"".join(os.pread(file, *place) for place in places), INDEXED)

    @cached_property
    def _ranges(self) -> NDArray[np.float64]:
        """Least and greatest value of each column of ``Pairs`` in each row group, shape (3, 2, row
        groups); NaN where the file does not say."""
        known = np.full((3, 2, self._file.num_row_groups), np.nan)
        for group in range(self._file.num_row_groups):
            for place, column in enumerate(self._columns):
                found = self._file.metadata.row_group(group).column(column).statistics
                if found is not None and found.has_min_max:
                    known[place, :, group] = found.min, found.max
        # Rounded as the scores are: no score is above its group's greatest.
        known[2] = known[2].astype(np.float32)
        return known

    def _open_index(self) -> Path:
        place = hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:16]
        folder = user_cache() / "pairtile-view" / place
        made, whole = (
            folder / "index.json",
            {"layout": 2, "stamp": self.stamp, "path": str(self.path)},
        )
        if not made.is_file() or read_json(made) != whole:
            self._make_index(folder, whole)
        arrays = np.load(folder / "blocks.npz")
        self._offsets, self._begins, self._counts = (
            arrays[name] for name in ("offsets", "begins", "counts")
        )
        self._rows = (folder / "rows").open("rb", buffering=0)
        return folder

    def _make_index(self, folder: Path, whole: dict[str, object]) -> None:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        needed, free = INDEXED.itemsize * self.rows, shutil.disk_usage(folder.parent).free
        if free < 1.1 * needed:
            raise StoreError(
                f"{folder.parent} has {free / 1e9:.1f} GB left, and the index of "
                f"{self.rows:,} pairs takes {needed / 1e9:.1f} GB: set XDG_CACHE_HOME to a folder "
                "with more room"
            )
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            unfinished = Path(temporary) / "index"
            unfinished.mkdir()
            self._write_blocks(unfinished)
            write_json(unfinished / "index.json", whole)
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.rename(folder)

    def _write_blocks(self, folder: Path) -> None:
        n = len(self.names)
        counts = np.zeros(1 << (31 - KEPT_BITS), dtype=np.int64)
        best = Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))
        offsets, begins, rows = [], [], 0
        groups = list(range(self._file.num_row_groups))
        with (folder / "rows").open("wb") as written:
            for group in range(0, len(groups), BLOCK_GROUPS):
                block = self._read(groups[group : group + BLOCK_GROUPS])
                if (np.diff(block.first) < 0).any():
                    raise StoreError(f"{self.path}: column i is not sorted")
                starts = np.searchsorted(block.first, np.arange(n + 1))
                turned = csr_array((block.score, block.second, starts), shape=(n, n)).tocsc()
                indexed = np.empty(len(block.first), INDEXED)
                indexed["other"], indexed["score"] = turned.indices, turned.data
                indexed.tofile(written)
                offsets.append(turned.indptr.astype(np.uint32))
                begins.append(rows)
                rows += len(block.first)
                known = block.score[np.isfinite(block.score)]
                counts += np.bincount(_bins(self._strength(known)), minlength=len(counts))
                cut = self._strength(best.score[-1:]) if len(best.score) == MAX_BEST else [0]
                ends = [best, block.rows(self._strength(block.score) >= cut[0])]
                best = self._best(
                    Pairs(
                        np.concatenate([part.first for part in ends]),
                        np.concatenate([part.second for part in ends]),
                        np.concatenate([part.score for part in ends]),
                    ),
                    0,
                ).rows(slice(MAX_BEST))
        write_arrays(
            folder / "blocks.npz",
            {
                "offsets": np.array(offsets, np.uint32).reshape(-1, n + 1),
                "begins": np.array(begins, np.int64),
                "counts": counts,
            },
        )
        write_arrays(folder / "best.npz", best._asdict())


def _bins(strength: NDArray[np.float32]) -> NDArray[np.int32]:
    """Floats that are not negative are in the order of their bits."""
    # -0 has another sign than 0.
    return (np.asarray(strength, np.float32) + np.float32(0)).view(np.int32) >> KEPT_BITS


class SetStore(Store):
    """The sets that a search for predictors reports, with the answers of ``PairStore``."""

    FILE, WORDS = "predictors.tsv", ("sets of predictors", "sets", "Sets of or with")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        method = self.summary["method"]
        table = read_result_table(self.path, methods()[method].package)
        self.score = value_columns(table, method)[0]
        table = table.sort_values(self.score, ascending=False, kind="stable")
        self.columns = ("target", *(c for c in map(str, table) if c.startswith("predictor_")))
        named = table[[*self.columns]].map(lambda name: self.labels.get(name, name))
        self._sets = named.to_numpy(dtype=str)
        self._score = table[self.score].to_numpy(dtype=np.float32)
        self.rows = len(table)

    def named(self, sets: Pairs, most: int | None = None) -> Iterator[tuple[list[str], float]]:
        """Target and predictors, and the score, of each of the first sets."""
        for row in sets.first[:most].tolist():
            yield self._sets[row].tolist(), float(self._score[row])

    def partners(self, item: int, least: float = 0.0) -> Pairs:
        """The sets of a target or with a predictor, by its row in items.parquet."""
        found = self.best(least)
        return found.rows((self._sets[found.first] == self.names[item]).any(axis=1))

    def best(self, least: float = 0.0) -> Pairs:
        """The sets with a score from ``least`` on, the best first; both items are their rows."""
        rows = np.flatnonzero((self._score >= np.float32(least)) | (not least)).astype(np.int32)
        return Pairs(rows, rows, self._score[rows])

    def pairs(self, least: float = 0.0) -> Iterator[Pairs]:
        """The same, in one part."""
        yield self.best(least)

    def count(self, least: float = 0.0) -> int:
        """How many these are."""
        return len(self.best(least).score)


AnyStore: TypeAlias = PairStore | SetStore


def open_store(folder: Path) -> AnyStore:
    """What an analysis stores: sets where it reports sets, else pairs."""
    return SetStore(folder) if (folder / SetStore.FILE).is_file() else PairStore(folder)
