"""Steps of its own that a method may have between plan and network: a null before the tiles, a
first pass over them, a merge of candidates, bootstraps, data for the network alone.

A method adds those that it has beside ``Estimator``; the steps ask by ``isinstance``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.config.models import Analysis
from pairtile.declare.messages import Message
from pairtile.engine.chunk_file import Arrays, Summaries
from pairtile.engine.selection import Selection
from pairtile.engine.tiles import Tile

A_contra = TypeVar("A_contra", bound=Analysis, contravariant=True)
"""The configuration model of a method."""


class NullStage(ABC):
    """A null distribution, computed before the tiles, so that chunks write only what can
    survive."""

    @abstractmethod
    def null(self, seed: int) -> dict[str, NDArray[np.generic]]:
        """Arrays that describe the null distribution."""

    def null_messages(self, seed: int) -> list[Message]:
        """What there is to say of the null distribution."""
        return []

    @abstractmethod
    def selection(self, null: Arrays) -> Selection:
        """Which rows chunks write, from the settings and the null."""


class FirstPass(ABC, Generic[A_contra]):
    """A pass over all tiles that gathers sums, before rows can be chosen in a second."""

    @classmethod
    @abstractmethod
    def needs_scan(cls, config: A_contra) -> bool:
        """Whether these settings ask for the pass."""

    @abstractmethod
    def scan_tile(self, tile: Tile) -> Summaries:
        """A tile's sums only."""


class ReusableTiles(ABC):
    """Tiles, without a null, that may depend on nothing but settings and arrays of their own
    items: others' chunk files may hold them (``earlier_tiles``)."""

    @abstractmethod
    def block_arrays(self, begin: int, end: int, columns: bool) -> Sequence[NDArray[np.generic]]:
        """All arrays that rows and sums of a tile with these rows, or columns, depend on, item
        numbers among them; none where a tile depends on other items, too."""


class CandidateMerge(ABC):
    """Tiles that each bring candidates for the same item, the best so many of each row."""

    @abstractmethod
    def reduce_band(self, rows: pa.Table) -> pa.Table:
        """The rows of all tiles of one band, joined in order, to those of the result; the same for
        any order of the rows."""


class BootstrapNetwork(NamedTuple):
    """Edges of a bootstrap network, and of one made in the same way of unrelated items (none where
    the method has no such null): int32 (2, edges), i and j as in the merged table, sorted."""

    edges: NDArray[np.int32]
    unrelated: NDArray[np.int32]


class Bootstraps(ABC, Generic[A_contra]):
    """A network made from networks of resampled data."""

    @classmethod
    @abstractmethod
    def n_bootstraps(cls, config: A_contra) -> int:
        """How many; 0: the network is made from the data."""

    @abstractmethod
    def bootstrap(self, tiles: Sequence[Tile], number: int) -> BootstrapNetwork:
        """The network of bootstrap ``number``.

        Draws are keyed on the seed and ``number`` alone. Raises InputError where samples do not
        suffice.
        """


class NetworkData(ABC, Generic[A_contra]):
    """Input that only network and tables need, for analyses that say ``needs_network_data``."""

    @classmethod
    @abstractmethod
    def network_data(
        cls, config: A_contra, items: pd.DataFrame
    ) -> tuple[Mapping[str, Any], dict[str, int]]:
        """Arrays from the input files, and counts for the summary.

        Network and tables find the arrays in their state; scores do not depend on them. ``items``:
        the items table. Raises InputError or ConfigError, as ``prepare``.
        """


def selection_of(opened: object, null: Arrays) -> Selection:
    """Which rows the chunks of an opened method write: all, where it has no null."""
    return opened.selection(null) if isinstance(opened, NullStage) else Selection(everything=True)


def needs_scan(method: type, config: Analysis) -> bool:
    """Whether a method has a first pass with these settings."""
    return issubclass(method, FirstPass) and method.needs_scan(config)


def n_bootstraps(method: type, config: Analysis) -> int:
    """How many bootstraps a method makes with these settings."""
    return method.n_bootstraps(config) if issubclass(method, Bootstraps) else 0
