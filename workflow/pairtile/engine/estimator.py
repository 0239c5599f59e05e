"""The one abstraction: what every method of pairtile must say and do.

An estimator turns an analysis' input into *items* (what is paired) and a *state* (arrays computed
once, stored, memory-mapped by every chunk); states the *shape* of its pair space and the *cost* of
a tile; names the *schema* of its table; and computes *one tile* on the CPU or the GPU. The steps
(pairtile.steps) do everything else and know no method by name.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairtile.config.models import Analysis, InputFile, marked
from pairtile.cpu.compiling import expect
from pairtile.cpu.first_run import read_list
from pairtile.declare.messages import HasMessages, Message, messages_of
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


message = messages_of(__package__)

BLOCK_COPIES, CELL_BYTES, THREAD_BYTES = 16, 512, 64 << 20
"""Of a block of rows made ready for the kernels, a cell of a tile, and a thread: generous, because
a job that asks for too little is killed (``job_memory``)."""


S = TypeVar("S", bound=Mapping[str, Any])
"""The state of a method: its arrays by name, a ``TypedDict``."""


@dataclass(frozen=True)
class PreparedInput(HasMessages, Generic[S]):
    """What ``prepare`` makes of the input files.

    ``parameters``: keys of the section as they were decided (``log2: auto`` -> true), nested as
    there; ``summary.json`` shows them in place of what was asked.
    """

    items: pd.DataFrame
    state: S
    counts: dict[str, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MergedResults:
    """What the chunks of an analysis leave after the merge.

    table : the merged table, or its file; ``pairs`` gives it whole, ``batches`` a part at a time.
    sums, scan : summed summaries of the second and the first pass. null : arrays of the null.
    bootstraps : edges of all bootstraps (bootstrap, i, j), or None. network : for
    ``tables``, the final network with names. scores : for ``tables`` and ``ranking``,
    the arrays of ``result_arrays``.
    """

    table: pd.DataFrame | Path
    sums: Arrays
    null: Arrays
    scan: Arrays | None = None
    bootstraps: pd.DataFrame | None = None
    network: pd.DataFrame | None = None
    scores: Arrays = field(default_factory=dict)

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
class TableSummary(HasMessages):
    """What a method says of the tables it wrote, for the summary."""

    counts: dict[str, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)


@dataclass(frozen=True)
class Cost:
    """How the tiles of an analysis are computed on one backend, and what they cost.

    per_second : work done in a second, on the machines of docs/speed.md. Chunks are cut by it, so
    it must not vary from run to run. tile : work of a tile, which progress counts; in ``unit``.
    null, network : work of the null, and of what the network computes like tiles. data_seconds : of
    what is read for the network alone. tile_edges : rows and columns of a tile. precision : name of
    the number type. cheaper : settings that take less time, as they stand in a configuration: the
    share of the time that all tiles then take.
    """

    per_second: float
    tile: Callable[[Tile], int]
    unit: str = "pairs"
    null: int = 0
    network: int = 0
    data_seconds: float = 0.0
    tile_edges: tuple[int, int] = field(default_factory=lambda: (tiles.TILE_EDGE, tiles.TILE_EDGE))
    precision: str = "float64"
    cheaper: Mapping[str, float] = field(default_factory=dict)


A = TypeVar("A", bound=Analysis)
"""The configuration model of a method."""


class Estimator(ABC, Generic[A, S]):
    """One method, opened on the state of one analysis."""

    sort_by: ClassVar[tuple[str, ...]] = ("i", "j")
    """Columns that order the rows of ``pairs.parquet``."""

    def __init__(self, config: A, state: S, device: Device, precision: str, seed: int = 0) -> None:
        self.config, _ = self.resolve_auto(config, state)
        self.state = state
        self.device = device
        self.precision = precision
        self.seed = seed

    # --- required -------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def prepare(
        cls, config: A, seed: int, scratch: Path | None = None, sample: bool = False
    ) -> PreparedInput[S]:
        """Read and clean the input files that ``config`` names; compute the state.

        Arrays of the state too large for memory may be mapped from ``.npy`` files in ``scratch``,
        a folder that outlives them; ``state.write_state`` moves these. ``sample``: for ``pairtile
        check``: what takes long beside reading (null sequences, contacts) is left out, or made from
        little of the data, as far as the plan does not need it, and a note says so.
        """

    @classmethod
    @abstractmethod
    def space(cls, state: S) -> PairSpace:
        """The shape of the pairs to score."""

    @classmethod
    @abstractmethod
    def cost(cls, config: A, state: S, backend: str, threads: int) -> Cost:
        """How tiles are computed on a backend (``cpu`` or ``cuda``), and what they cost.

        Chunks ask too: their ``config`` lacks the keys that only later steps use.
        """

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of ``pairs.parquet``."""

    @abstractmethod
    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        """A tile's rows, sorted by ``sort_by``, and its summaries.

        Where ``selection.top`` is set, rows carry ``passed`` and ``rank_score`` too.
        """

    @abstractmethod
    def network(self, merged: MergedResults) -> Network:
        """The final network, by the rules of ``self.config``."""

    # --- optional -------------------------------------------------------------------------------

    @classmethod
    def resolve_auto(cls, config: A, state: S) -> tuple[A, list[Message]]:
        """The settings with what their ``auto`` leaves to the data, decided from the state; and
        messages on choices that these do not show."""
        return config, []

    @classmethod
    def validate(cls, config: A, state: S, items: pd.DataFrame) -> None:
        """Refuse, before anything is planned, settings that the prepared data cannot meet, and what
        only a later step reads; ``items``: the items table. An input that is not on this machine
        yet is None. (Gold standard and symbols are looked at for every method.)

        Raises InputError or ConfigError, as that step would.
        """

    @classmethod
    def memory(cls, config: A, state: S, backend: str, rows: int, columns: int) -> int:
        """Host bytes of the state, and of what is made ready of a tile's rows and columns and kept
        for the next.

        Here: some copies of their part of the largest array. A method that holds more, or masks
        with each of its results, says so.
        """
        row_bytes = max(
            (array.itemsize * math.prod(array.shape[1:]) for array in state.values() if array.size),
            default=0,
        )
        return state_bytes(state) + BLOCK_COPIES * (rows + columns) * row_bytes

    @classmethod
    def chunk_parameters(cls, config: A) -> dict[str, object]:
        """The part of the configuration that chunks depend on, for their fingerprint (that of the
        state is there besides). Here: all keys of the step ``score`` but paths."""
        keys, files = config.for_step("score").resolved(), marked(type(config), InputFile)
        return {key: value for key, value in keys.items() if key not in files}

    def ranking(self, merged: MergedResults) -> Ranking:
        """All stored candidates with the score that ranks them, for the evaluation; for methods
        with a ``gold_standard``."""
        raise NotImplementedError(f"{type(self).__name__} has no ranking")

    def result_arrays(self, merged: MergedResults, network: Network) -> Arrays:
        """Arrays of ``scores.npz``: how scores and null are distributed, for the report."""
        return {}

    def tables(self, merged: MergedResults, items: pd.DataFrame, folder: Path) -> TableSummary:
        """Write the files that the model names as ``result_tables`` into ``folder``, each whole or
        not at all. Other analyses' results (``other_results``) lie in ``folder.parent``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no tables of its own")


def decide(method: type[Estimator[A, S]], config: A, state: S) -> tuple[A, list[Message]]:
    """``resolve_auto``, with a message on each setting that was ``auto``."""
    given = config.resolved()
    config, said = method.resolve_auto(config, state)
    decided = {key: value for key, value in config.resolved().items() if value != given[key]}
    chosen = {key: _in_yaml(value) for key, value in decided.items() if given[key] == "auto"}
    return config, [*(message("decided", key=k, value=v) for k, v in chosen.items()), *said]


def _in_yaml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_in_yaml(inner)}" for key, inner in value.items()) + "}"
    return str(value)


def state_bytes(state: Mapping[str, Any]) -> int:
    """Host bytes of a state while tiles are computed: copied once or twice."""
    return 3 * sum(array.nbytes for array in state.values())


def job_memory(
    method: type[Estimator[A, S]],
    config: A,
    state: S,
    backend: str,
    threads: int,
    tile_edges: tuple[int, int],
) -> int:
    """Host bytes that a job needs at most while it computes tiles, for the scheduler.

    The state and what is made ready (``Estimator.memory``), the tile's results, and room for each
    thread.
    """
    space = method.space(state)
    rows, columns = min(tile_edges[0], space.rows), min(tile_edges[1], space.columns)
    start = requests.START_BYTES + (requests.CUDA_BYTES if backend == "cuda" else 0)
    held = method.memory(config, state, backend, rows, columns)
    return start + held + CELL_BYTES * rows * columns + THREAD_BYTES * threads


def estimator_of(method: str, config: Analysis | None = None) -> type[Estimator[Any, Any]]:
    """The class that computes by a method; for a method with several, that of an analysis' settings
    (without them of the default ones).

    Raises
    ------
    KeyError
        For a method that does not exist (the configuration refuses it earlier).
    """
    known = get_method(method)
    expect(read_list(known.folder))
    part = known.part(known.estimator)
    return part if isinstance(part, type) else part(config)
