"""What the report takes from ``hits.parquet`` and ``targets.tsv``: read in parts, however large."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.errors import StoreError
from pairtile.methods.mirna_targets.export_tables import CANONICAL
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.report.results import Results

MAX_HITS = 20_000
"""So many hits are in the page, the strongest: about a megabyte or two of it."""

POSITION_BINS = 40
"""Parts of equal length into which transcripts are divided."""

_WORDS = ("mirna", "transcript", "best_seed_class", "positions")
_WHOLE = ("n_hits", "n_canonical_sites", "transcript_length")
_DECIMAL = (
    "total_score",
    "max_score",
    "total_energy_kcal_mol",
    "min_energy_kcal_mol",
    "max_local_au",
)
# Said beforehand: what Arrow sees first of a column may all be missing.
_TYPES = {
    **dict.fromkeys(_WORDS, pa.string()),
    **dict.fromkeys(_WHOLE, pa.int64()),
    **dict.fromkeys(_DECIMAL, pa.float64()),
}


@dataclass(frozen=True)
class Hits:
    """All hits in numbers, and the strongest as they are.

    ``n``: hits. ``seed_classes``: how many of each class, the most effective first. ``positions``:
    hits by their relative position on the transcript, int64 (2, POSITION_BINS): those with a
    canonical seed site, and the others. ``strongest``: rows of hits.parquet, highest score first,
    then lowest energy, then as in the file.
    """

    n: int
    seed_classes: dict[str, int]
    positions: NDArray[np.int64]
    strongest: pd.DataFrame

    @property
    def canonical(self) -> int:
        """Hits with a canonical seed site: 8mer, 7mer-m8 or 7mer-A1."""
        return sum(self.seed_classes[name] for name in CANONICAL)


@dataclass(frozen=True)
class Targets:
    """All pairs with hits in numbers.

    ``n``: pairs; ``canonical``: those with a canonical seed site. ``mirnas``, ``transcripts``:
    their names (index) and pairs of each (columns ``pairs``, ``canonical``), most pairs first,
    ties by name; only those with a pair.
    """

    n: int
    canonical: int
    mirnas: pd.DataFrame
    transcripts: pd.DataFrame


def read_hits(path: Path, limit: int = MAX_HITS) -> Hits:
    """Read hits.parquet in one pass for the numbers and one for the ``limit`` strongest rows.

    Raises StoreError for a file that is not what its name says.
    """
    classes = np.zeros(len(SEED_CLASSES), dtype=np.int64)
    positions = np.zeros((2, POSITION_BINS), dtype=np.int64)
    canonical = pa.array(CANONICAL)
    # Score, energy and row of the strongest hits so far.
    best = np.empty((3, 0))
    n = 0
    with _stated(path), pq.ParquetFile(path) as file:
        columns = ["score", "energy_kcal_mol", "seed_class", "relative_position"]
        for batch in file.iter_batches(1_000_000, columns=columns):
            kinds = batch["seed_class"]
            found = pc.index_in(kinds, pa.array(SEED_CLASSES)).to_numpy(zero_copy_only=False)
            classes += np.bincount(found.astype(np.int64), minlength=classes.size)
            other = ~np.asarray(pc.is_in(kinds, canonical))
            place = np.floor(_floats(batch["relative_position"]) * POSITION_BINS)
            place = np.clip(place, 0, POSITION_BINS - 1).astype(np.int64)
            cells = np.bincount(other * POSITION_BINS + place, minlength=positions.size)
            positions += cells.reshape(positions.shape)
            best = _strongest(best, batch, n, limit)
            n += len(batch)
        strongest = _taken(file, best[2].astype(np.int64))
    counts = dict(zip(reversed(SEED_CLASSES), classes[::-1].tolist(), strict=True))
    return Hits(n, counts, positions, strongest)


def read_targets(path: Path, items: pd.DataFrame) -> Targets:
    """Read targets.tsv, whose names are those of ``items``.

    Raises StoreError for a file that is not what its name says.
    """
    mirnas, transcripts = _names(items, "mirna"), _names(items, "transcript")
    rows = np.zeros((2, len(mirnas)), dtype=np.int64)
    columns = np.zeros((2, len(transcripts)), dtype=np.int64)
    for batch in _target_batches(path, ("mirna", "transcript", "n_canonical_sites")):
        canonical = _floats(batch["n_canonical_sites"]) > 0
        for counts, name, among in ((rows, "mirna", mirnas), (columns, "transcript", transcripts)):
            item = _places(path, batch[name], among)
            counts[0] += np.bincount(item, minlength=len(among))
            counts[1] += np.bincount(item[canonical], minlength=len(among))
    return Targets(
        n=int(rows[0].sum()),
        canonical=int(rows[1].sum()),
        mirnas=_most(mirnas, rows),
        transcripts=_most(transcripts, columns),
    )


def target_rows(path: Path, pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows of targets.tsv for ``pairs`` (columns ``source``, ``target``), in their order."""
    mirnas = pa.array(pairs["source"].unique().tolist(), pa.string())
    transcripts = pa.array(pairs["target"].unique().tolist(), pa.string())
    wanted = _keys(pa.array(pairs["source"], pa.string()), mirnas) * max(len(transcripts), 1)
    wanted += _keys(pa.array(pairs["target"], pa.string()), transcripts)
    parts = []
    for batch in _target_batches(path, None):
        i, j = _keys(batch["mirna"], mirnas), _keys(batch["transcript"], transcripts)
        key = np.where((i < 0) | (j < 0), -1, i * len(transcripts) + j)
        rows = np.flatnonzero(np.isin(key, wanted))
        if rows.size:
            part = batch.take(pa.array(rows)).to_pandas()
            parts.append(part.set_index(pd.Index(key[rows])))
    if not parts:
        return pd.DataFrame(columns=["mirna", "transcript"], index=range(len(pairs)))
    return pd.concat(parts).reindex(wanted).reset_index(drop=True)


def _strongest(
    best: NDArray[Any], batch: pa.RecordBatch, first: int, limit: int
) -> NDArray[np.float64]:
    """The strongest of ``best`` and a batch whose rows count from ``first``."""
    score, energy = _floats(batch["score"]), np.nan_to_num(_floats(batch["energy_kcal_mol"]))
    least = best[0].min() if best.shape[1] == limit else -np.inf
    if len(score) > limit:
        least = max(least, np.partition(score, len(score) - limit)[len(score) - limit])
    rows = np.flatnonzero(score >= least)
    joined = np.concatenate([best, [score[rows], energy[rows], rows + float(first)]], axis=1)
    return joined[:, np.lexsort((joined[2], joined[1], -joined[0]))[:limit]]


def _taken(file: pq.ParquetFile, rows: NDArray[np.int64]) -> pd.DataFrame:
    """Rows of a file in the order given, a group of rows in memory at a time."""
    parts, first = [file.schema_arrow.empty_table()], 0
    for group in range(file.num_row_groups):
        n = file.metadata.row_group(group).num_rows
        inside = rows[(rows >= first) & (rows < first + n)]
        if inside.size:
            parts.append(file.read_row_group(group).take(pa.array(np.sort(inside) - first)))
        first += n
    table = pa.concat_tables(parts).to_pandas()
    return table.set_index(np.sort(rows)).loc[rows].reset_index(drop=True)


def _target_batches(path: Path, columns: tuple[str, ...] | None) -> Iterator[pa.RecordBatch]:
    convert = pv.ConvertOptions(column_types=_TYPES, include_columns=columns or ())
    with _stated(path):
        parse = pv.ParseOptions(delimiter="\t")
        yield from pv.open_csv(path, parse_options=parse, convert_options=convert)


@contextmanager
def _stated(path: Path) -> Iterator[None]:
    """What Arrow says of a damaged file, said with the file's name."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError) as error:
        found = f"an unreadable file ({error})"
        raise StoreError.at(path, "", found, "the table of an earlier step") from error


def _names(items: pd.DataFrame, kind: str) -> pa.Array:
    chosen = items[(items["kind"] == kind) & items["kept"].astype(bool)]
    return pa.array(chosen["name"].tolist(), pa.string())


def _keys(names: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    """Place of each name, -1 where it is not among them."""
    places = pc.fill_null(pc.index_in(names, among), -1)
    return np.asarray(places).astype(np.int64)


def _places(path: Path, names: pa.Array, among: pa.Array) -> NDArray[np.int64]:
    places = _keys(names, among)
    if (places < 0).any():
        name = names[int(np.argmin(places))].as_py()
        raise StoreError.at(path, f"name {name!r}", "no such item", "the names of items.parquet")
    return places


def _most(names: pa.Array, counts: NDArray[np.int64]) -> pd.DataFrame:
    table = pd.DataFrame({"name": names.to_pylist(), "pairs": counts[0], "canonical": counts[1]})
    table = table[table["pairs"] > 0].sort_values(["pairs", "name"], ascending=[False, True])
    return table.set_index("name")


def _floats(values: pa.Array) -> NDArray[np.float64]:
    return values.to_numpy(zero_copy_only=False).astype(np.float64)


def hits_of(results: Results) -> Hits | None:
    """What hits.parquet of an analysis holds, for ``results.cached``; None where there is none."""
    path = results.folder / "hits.parquet"
    return read_hits(path) if path.is_file() else None


def targets_of(results: Results) -> Targets | None:
    """What targets.tsv of an analysis holds, for ``results.cached``; None where there is none."""
    path = results.folder / "targets.tsv"
    return read_targets(path, results.items) if path.is_file() else None
