"""The one abstraction: what every method of pairtile must say and do.

An estimator turns an analysis' input into *items* (what is paired) and a *state* (arrays computed
once, stored, memory-mapped by every chunk); states the *shape* of its pair space and the *cost* of
a tile; names the *schema* of its table; and computes *one tile* on the CPU or the GPU. The steps
(pairtile.steps) do everything else and know no method by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

# For what its import does: it says when numba compiles.
import pairtile.cpu.compiling  # noqa: F401
from pairtile.config.models import Analysis
from pairtile.engine import tiles
from pairtile.engine.chunk_file import Arrays, Rows, Summaries
from pairtile.engine.selection import Selection
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import Device
from pairtile.method import get_method
from pairtile.runtime import requests
from pairtile.runtime.record import Progress

if TYPE_CHECKING:
    from pairtile.engine.network import Network

State = Arrays

BLOCK_COPIES, CELL_BYTES, THREAD_BYTES = 16, 512, 64 << 20
"""Of a block of rows made ready for the kernels, a cell of a tile, and a thread: generous, because
a job that asks for too little is killed (``Estimator.memory_bytes``)."""


@dataclass(frozen=True)
class PreparedInput:
    """What ``prepare`` makes of the input files.

    ``parameters``: keys of the section as they were decided (``log2: auto`` -> true), nested as
    there; ``summary.json`` shows them in place of what was asked.
    """

    items: pd.DataFrame
    state: dict[str, NDArray[Any]]
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Merged:
    """What the chunks of an analysis leave after the merge.

    table : the merged table, or its file; ``pairs`` gives it whole, ``batches`` a part at a time.
    sums, scan : summed summaries of the second and the first pass. null : arrays of the null.
    bootstraps : edges of all bootstraps (bootstrap, i, j), or None. network : for
    ``write_tables``, the final network with names. scores : for ``write_tables`` and ``ranking``,
    the arrays of ``score_histogram``.
    """

    table: pd.DataFrame | Path
    sums: State
    null: State
    scan: State | None = None
    bootstraps: pd.DataFrame | None = None
    network: pd.DataFrame | None = None
    scores: State = field(default_factory=dict)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The whole merged table."""
        if isinstance(self.table, pd.DataFrame):
            return self.table
        return pq.read_table(self.table).to_pandas()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The merged table in order, as many rows at a time as fit into memory well."""
        if isinstance(self.table, pd.DataFrame):
            part = self.table if columns is None else self.table[list(columns)]
            yield pa.Table.from_pandas(part, preserve_index=False)
            return
        with pq.ParquetFile(self.table) as file:
            progress = Progress(file.metadata.num_rows, "merged rows")
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=columns)
                yield rows
                progress.advance(rows.num_rows)


@dataclass(frozen=True)
class Ranking:
    """Candidate edges with their score: source, target (item numbers), score."""

    edges: pd.DataFrame
    directed: bool
    """Whether a row stands for source -> target only, or for both directions."""


@dataclass(frozen=True)
class Written:
    """What a method says of the tables it wrote, for the summary."""

    counts: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


A = TypeVar("A", bound=Analysis)
"""The configuration model of a method."""


class Estimator(ABC, Generic[A]):
    """One method, opened on the state of one analysis."""

    sort_by: ClassVar[tuple[str, ...]] = ("i", "j")
    work_unit: ClassVar[str] = "pairs"
    """What ``work`` counts."""

    seed: int = 0
    """Of the run, for methods whose tiles draw; set by who opens the estimator."""

    def __init__(self, config: A, state: State, device: Device, precision: str) -> None:
        self.config = self.decided(config, state)
        self.state = state
        self.device = device
        self.precision = precision

    @classmethod
    @abstractmethod
    def prepare(cls, config: A, seed: int, scratch: Path | None = None) -> PreparedInput:
        """Read and clean the input files that ``section`` names; compute the state.

        Arrays of the state too large for memory may be mapped from ``.npy`` files in ``scratch``,
        a folder that outlives them; ``state.write_state`` moves these.
        """

    @classmethod
    def decided(cls, config: A, state: State) -> A:
        """The section with what its ``auto`` leaves to the data, decided from the state."""
        return config

    @classmethod
    def decision_notes(cls, config: A, state: State) -> list[str]:
        """Sentences on what ``auto`` became, for choices that ``decided`` does not show."""
        return []

    @classmethod
    def cheaper(cls, config: A, state: State, backend: str, threads: int) -> dict[str, float]:
        """Settings that take less time, as they stand in a configuration: the share of the time
        that all tiles then take."""
        return {}

    @classmethod
    def check_later_inputs(cls, config: A, state: State, items: pd.DataFrame) -> None:
        """Read what only a later step needs, to find its faults early; ``items``: the items table.
        (The gold standard is looked at for every method.)

        Raises InputError or ConfigError as that step would.
        """

    @classmethod
    def check_settings(cls, config: A, state: State) -> None:
        """Refuse settings that the prepared data cannot meet, before anything is planned.

        Raises InputError or ConfigError.
        """

    @classmethod
    @abstractmethod
    def space(cls, state: State) -> PairSpace:
        """The shape of the pairs to score."""

    @classmethod
    def tile_edges(cls, config: A, state: State) -> tuple[int, int]:
        """Rows and columns of a tile."""
        return tiles.TILE_EDGE, tiles.TILE_EDGE

    @classmethod
    def work(cls, state: State, tile: Tile) -> int:
        """How much there is to do in a tile, in ``work_unit``: its cost, and what progress
        counts."""
        return cls.space(state).pairs_in(tile)

    @classmethod
    @abstractmethod
    def work_per_second(cls, config: A, state: State, backend: str, threads: int) -> float:
        """Cost model: ``work`` done in a second, on the machines of docs/speed.md.

        Chunks are cut by it, so it must not vary from run to run; what people are told is measured
        beside it (``time_estimate``).
        """

    @classmethod
    def null_work(cls, config: A, state: State) -> int:
        """What ``null`` computes, in ``work_unit``."""
        return 0

    @classmethod
    def network_work(cls, config: A, state: State) -> int:
        """What ``network`` computes like tiles, in ``work_unit``."""
        return 0

    @classmethod
    def memory_bytes(cls, config: A, state: State, backend: str, threads: int) -> int:
        """Host memory that a job needs at most while it computes tiles, for the scheduler.

        The state, copied once or twice; what ``tile_memory_bytes`` says; the tile's results; and
        room for each thread.
        """
        space = cls.space(state)
        row_edge, column_edge = cls.tile_edges(config, state)
        rows, columns = min(row_edge, space.rows), min(column_edge, space.columns)
        start = requests.START_BYTES + (requests.CUDA_BYTES if backend == "cuda" else 0)
        return (
            start
            + 3 * sum(array.nbytes for array in state.values())
            + cls.tile_memory_bytes(config, state, backend, rows, columns)
            + CELL_BYTES * rows * columns
            + THREAD_BYTES * threads
        )

    @classmethod
    def tile_memory_bytes(
        cls, config: A, state: State, backend: str, rows: int, columns: int
    ) -> int:
        """Host memory for what is made ready of a tile's rows and columns, and kept for the next.

        Here: some copies of their part of the largest array. A method that holds more, or masks
        with each of its results, says so.
        """
        of_a_row = max(
            (array.itemsize * math.prod(array.shape[1:]) for array in state.values() if array.size),
            default=0,
        )
        return BLOCK_COPIES * (rows + columns) * of_a_row

    @classmethod
    def resolve_precision(cls, config: A, backend: str) -> str:
        """Name of the precision that tiles are computed in on a backend."""
        return "float64"

    @classmethod
    def chunk_parameters(cls, config: A) -> dict[str, Any]:
        """The part of the configuration that chunks depend on, for their fingerprint (that of the
        state is there besides). Here: all keys of the step ``score`` but paths."""
        keys = config.for_step("score").resolved()
        return {key: value for key, value in keys.items() if key not in config.input_keys}

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of ``pairs.parquet``."""

    @abstractmethod
    def network(self, merged: Merged) -> Network:
        """The final network, by the section's rules."""

    def ranking(self, merged: Merged) -> Ranking:
        """All stored candidates with the score that ranks them, for the evaluation; for methods
        with a ``gold_standard``."""
        raise NotImplementedError(f"{type(self).__name__} has no ranking")

    def score_histogram(self, merged: Merged, network: Network) -> dict[str, NDArray[Any]]:
        """Arrays of ``scores.npz``: how scores and null are distributed, for the report."""
        return {}

    def write_tables(self, merged: Merged, items: pd.DataFrame, folder: Path) -> Written:
        """Write the files that the section's model names as ``result_tables`` into ``folder``, each
        whole or not at all. Other analyses' results (``other_results``) lie in ``folder.parent``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no tables of its own")

    @abstractmethod
    def compute_tile(
        self, tile: Tile, selection: Selection, scan: State | None, cut: float
    ) -> tuple[Rows, Summaries]:
        """A tile's rows, sorted by ``sort_by``, and its summaries.

        ``cut`` is the lowest ranking score that can still be among the best ``selection.top``;
        where ``selection.top`` is set, rows carry ``passed`` and ``rank_score`` too.
        """


def estimator_of(method: str) -> type[Estimator[Any]]:
    """The class that computes by a method.

    Raises
    ------
    KeyError
        For a method that does not exist (the configuration refuses it earlier).
    """
    known = get_method(method)
    found: type[Estimator[Any]] = known.part(known.estimator)
    return found
