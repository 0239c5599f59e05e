"""Correlation in each of a gene pair's modes (Gaussian mixtures; Shealy et al. 2019), as one
estimator of pairtile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.chunk_file import Rows, Summaries
from pairtile.engine.estimator import (
    Cost,
    Estimator,
    MergedResults,
    PreparedInput,
    Ranking,
    TableSummary,
    state_bytes,
)
from pairtile.engine.network import Network
from pairtile.engine.selection import Selection
from pairtile.engine.stages import ReusableTiles
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.errors import InputError
from pairtile.gpu.device import Device
from pairtile.io.names import GeneNames
from pairtile.io.regulators import FoundRegulators, find_regulators
from pairtile.io.sparse_rows import stored_values
from pairtile.methods.multimodal_correlation.arrays import ModeArrays, lagged_of
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.mixtures import (
    FIT,
    NUMBERS,
    MixturesCpu,
    MixturesCuda,
    Modes,
)
from pairtile.methods.multimodal_correlation.mode_scores import ScoredModes
from pairtile.methods.multimodal_correlation.network import (
    COUNT,
    annotations_of,
    multimodal_network,
    pairs_permuted,
    strongest_modes,
)
from pairtile.methods.multimodal_correlation.null import partial_spread
from pairtile.methods.multimodal_correlation.p_values import correlation_p_value
from pairtile.methods.multimodal_correlation.partial_correlation import NullSpread
from pairtile.methods.multimodal_correlation.plain_correlation import (
    PlainCorrelation,
    PlainPartial,
    pair_scorer,
)
from pairtile.methods.multimodal_correlation.tables import write_tables
from pairtile.preprocess.expression import Prepared, prepare_expression
from pairtile.preprocess.null_design import (
    dependence_arrays,
    null_design,
    order_autocorrelation,
    shift_warnings,
)
from pairtile.preprocess.samples import SampleDesign, dependence_warnings, read_arranged
from pairtile.preprocess.two_tables import read_two_tables
from pairtile.preprocess.value_kind import measure_scale, whole_counts
from pairtile.statistics.counting_noise import name_keys

message = messages_of(__package__)

MIXTURE_TILE_EDGE = 256
"""Genes along each side of a tile of mixtures: 65,000 pairs, some seconds on a few cores."""

MODE_COPIES, MODE_BYTES = 3, 100
"""Of a mode that is kept: joined from strips, made a table, written; beside its two masks."""


class MultimodalCorrelation(ReusableTiles, Estimator[MultimodalCorrelationConfig, ModeArrays]):
    """Modes of every pair of genes, and the correlation in each; or plain correlation."""

    sort_by: ClassVar[tuple[str, ...]] = ("i", "j", "cluster")

    def __init__(
        self,
        config: MultimodalCorrelationConfig,
        state: ModeArrays,
        device: Device,
        precision: str,
        seed: int = 0,
    ) -> None:
        super().__init__(config, state, device, precision, seed)
        self.genes, self.n_samples = (int(n) for n in state["values"].shape)

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        config: MultimodalCorrelationConfig,
        seed: int,
        scratch: Path | None = None,
        sample: bool = False,
    ) -> PreparedInput[ModeArrays]:
        if config.other_expression is not None:
            prepared, rows, parameters = read_two_tables(config, scratch)
            found, raw = FoundRegulators(rows, {}, []), None
        else:
            expression, design = read_arranged(config, scratch)
            scale = measure_scale(stored_values(expression.values))
            # Before they are overwritten.
            raw = whole_counts(expression.values, scratch, scale)
            prepared = prepare_expression(
                expression, config.preprocess, True, design, scratch, scale=scale
            )
            parameters = {"preprocess": prepared.parameters}
            if raw is not None:
                kept = pd.Index(expression.genes).get_indexer(pd.Index(prepared.genes))
                for begin, row in enumerate(kept):  # each moves up: the first rows of its file
                    raw[begin] = raw[row]
                raw = raw[: kept.size]
            genes = GeneNames.of_items(prepared.items, config.ignore_case, config.ignore_versions)
            found = find_regulators(config.regulators, genes)
        regulators, counts, absent = found
        state, warnings = state_of(prepared, prepared.design, config, regulators, raw)
        prepared.items.loc[regulators, "is_regulator"] = True
        counts, messages = {**prepared.counts, **counts}, [*prepared.messages, *absent, *warnings]
        return PreparedInput(prepared.items, state, counts, messages, parameters)

    @classmethod
    def validate(
        cls, config: MultimodalCorrelationConfig, state: ModeArrays, items: pd.DataFrame
    ) -> None:
        samples, least = int(state["values"].shape[1]), config.estimator.min_samples
        found = f"{samples} samples"
        if (lagged := lagged_of(state, config.expression)) is not None:
            samples = lagged.source.size
            found = f"{samples} pairs of samples {config.lag} steps apart in one series"
        if samples < least:
            expected = f"at least estimator.min_samples ({least}): no mode can have as many"
            raise InputError.at(config.expression, "", found, expected)
        annotations_of(config, state)

    @classmethod
    def space(cls, state: ModeArrays) -> PairSpace:
        genes, regulators = int(state["values"].shape[0]), int(state["regulators"].size)
        if "columns" in state:
            return PairSpace("rectangle", regulators, int(state["columns"]))
        return PairSpace("rectangle" if "lag" in state else "triangle", regulators or genes, genes)

    @classmethod
    def memory(
        cls,
        config: MultimodalCorrelationConfig,
        state: ModeArrays,
        backend: str,
        rows: int,
        columns: int,
    ) -> int:
        """All genes are made ready together; each mode that is kept brings its masks."""
        values = state["values"]
        estimator = config.estimator
        mixtures = estimator.clustering == "gmm"
        # Memory for genes made ready (values, ranks, marks) and while they are, as copies
        # of the table beyond the three of state_bytes.
        ready = {"gmm": 5, "none": 2}[estimator.clustering] * values.nbytes
        modes = rows * columns * (min(2, estimator.max_clusters) if mixtures else 1)
        # How many are kept is not known beforehand: where close correlations are common, this part.
        all_first = mixtures and not estimator.facts.product_moment
        kept = modes if all_first else modes * (1.0 - estimator.min_correlation)
        masks = 2 * (values.shape[1] // 8 + 1)
        return ready + state_bytes(state) + int(MODE_COPIES * kept * (masks + MODE_BYTES))

    @classmethod
    def cost(
        cls, config: MultimodalCorrelationConfig, state: ModeArrays, backend: str, threads: int
    ) -> Cost:
        # Measured: docs/speed.md. Work grows with samples, and with all the components of all fits.
        estimator, facts = config.estimator, config.estimator.facts
        genes, samples = (int(n) for n in state["values"].shape)
        # A chunk does not have the key, nor needs to know.
        network = pairs_permuted(config, genes) if "threshold" in vars(config) else 0
        pairs = cls.space(state).pairs_in
        if estimator.clustering == "none":
            rate = 2e9 if backend == "cuda" else facts.pairs_per_second * threads
            return Cost(rate / max(1.0, samples / 100) ** facts.growth, pairs, network=network)
        low, high = estimator.min_clusters, estimator.max_clusters
        components = sum(range(max(low, 2), high + 1)) or 1
        starts = 1.0 if config.compatibility == "kinc" else (1 + estimator.restarts) / 4
        cost = max(0.05, components / 14 * starts * samples / 200)
        rate = (1e6 if backend == "cuda" else 4e3 * threads) / cost
        if not facts.product_moment:  # by the host, whatever finds the modes
            rate = min(rate, 4e3 * threads / (samples / 400) ** facts.growth)
        return Cost(
            rate,
            pairs,
            network=network,
            tile_edges=(MIXTURE_TILE_EDGE, MIXTURE_TILE_EDGE),
            precision="float32",
        )

    @classmethod
    def chunk_parameters(cls, config: MultimodalCorrelationConfig) -> dict[str, object]:
        keys = ("estimator", "compatibility", "lag")
        return {key: getattr(config, key) for key in keys if key != "lag" or config.lag}

    def schema(self) -> pa.Schema:
        types = (
            (pa.int32(), ("i", "j", "cluster", "n_clusters", "n_samples")),
            (pa.float32(), ("correlation",)),
            (pa.binary((self.n_samples + 7) // 8), ("samples", "outliers")),
            (pa.int32(), ("n_modes", "n_usable")),
            (pa.float32(), (*NUMBERS[1:], *FIT)),
            (pa.float64(), ("p_value",)),
        )
        return pa.schema([(name, kind) for kind, names in types for name in names])

    # --- tiles ----------------------------------------------------------------------------------

    @cached_property
    def engine(self) -> MixturesCpu | MixturesCuda | ScoredModes | PlainCorrelation:
        """What finds the modes of the pairs of a tile."""
        # The seed is part of the chunks' fingerprint; draws are keyed on it and on both genes.
        values, keys = np.asarray(self.state["values"]), np.asarray(self.state["keys"])
        return pair_scorer(self.config, values, keys, self.device, self.seed, lagged_of(self.state))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The genes as the pair space numbers them: regulators first, so that its first rows with
        all later columns are the pairs with a regulator, each once."""
        regulators = np.asarray(self.state["regulators"], dtype=np.int64)
        others = np.delete(np.arange(self.genes), regulators)
        return np.concatenate([regulators, others])

    def _items(self, block: slice, columns: bool) -> NDArray[np.int64]:
        across = columns and "columns" in self.state
        return np.arange(self.genes)[block] if across else self.order[block]

    def block_arrays(self, begin: int, end: int, columns: bool) -> Sequence[NDArray[np.generic]]:
        if self.config.estimator.facts.given_all_genes:
            return ()
        items = self._items(slice(begin, end), columns)
        series = [np.asarray(self.state["sample_series"])] if "sample_series" in self.state else []
        return [items, self.state["values"][items], self.state["keys"][items], *series]

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        rows = self._items(tile.rows, columns=False)
        columns = self._items(tile.columns, columns=True)
        both_ways = "columns" in self.state or "lag" in self.state
        upper = tile.row_begin == tile.column_begin and not both_ways
        modes = self.engine.tile(rows, columns, upper)
        sums: Summaries = {
            **{COUNT + name: np.array([n], dtype=np.int64) for name, n in modes.counts.items()},
            "pairs_by_modes": modes.histogram_k,
            "modes_by_correlation": modes.histogram_r,
        }
        found: dict[str, NDArray[np.generic]] = {
            "i": rows[modes.row].astype(np.int32),
            "j": columns[modes.column].astype(np.int32),
            "p_value": self._p_values(modes, rows, columns),
        }
        found |= {name: getattr(modes, name) for name in self.schema().names if name not in found}
        sorted_rows = np.lexsort([found[name] for name in reversed(self.sort_by)])
        return {name: values[sorted_rows] for name, values in found.items()}, sums

    def _p_values(
        self, modes: Modes, rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        if isinstance(self.engine, MixturesCpu | MixturesCuda):
            return correlation_p_value(modes.correlation, modes.n_samples)
        if not isinstance(self.engine, PlainPartial):
            return self.engine.p_values(modes, rows, columns)
        gene_spread = self.engine.partial.spread
        x, y = gene_spread[rows[modes.row]], gene_spread[columns[modes.column]]
        return self._spread.p_values(modes.correlation, x, y)

    @cached_property
    def _spread(self) -> NullSpread:
        """Of partial correlations."""
        assert isinstance(self.engine, PlainPartial)
        return partial_spread(self.state, self.engine, self.seed)

    # --- network --------------------------------------------------------------------------------

    def network(self, merged: MergedResults) -> Network:
        return multimodal_network(self.config, self.state, merged, self.device, seed=self.seed)

    def ranking(self, merged: MergedResults) -> Ranking:
        edges = strongest_modes(merged.batches(["i", "j", "correlation"]))
        names = {"i": "source", "j": "target", "correlation": "score"}
        edges = edges.rename(columns=names)[list(names.values())]
        return Ranking(edges, directed=bool(self.config.lag))

    def result_arrays(
        self, merged: MergedResults, network: Network
    ) -> dict[str, NDArray[np.generic]]:
        return {
            "edges": np.linspace(-1.0, 1.0, merged.sums["modes_by_correlation"].size + 1),
            "counts": merged.sums["modes_by_correlation"],
            "pairs_by_modes": merged.sums["pairs_by_modes"],
            **network.arrays,
        }

    def tables(self, merged: MergedResults, items: pd.DataFrame, folder: Path) -> TableSummary:
        return write_tables(self.config, self.state, merged, items, folder)


def state_of(
    prepared: Prepared,
    design: SampleDesign,
    config: MultimodalCorrelationConfig,
    regulators: NDArray[np.int32],
    counts: NDArray[np.unsignedinteger] | None,
) -> tuple[ModeArrays, list[Message]]:
    """The state of prepared values, and what needs attention in their samples. ``counts``: whole
    numbers (genes, samples) that the values were made from."""
    found, measured = dependence_arrays(prepared.values, design.state)
    state: ModeArrays = {
        "values": np.require(prepared.values, np.float64, "C"),
        "keys": name_keys(prepared.genes),
        "samples": np.array(prepared.samples, dtype=np.str_),
        "regulators": regulators,
        **design.state,
        **measured,
        **prepared.quality.state(prepared.values),
    }
    if config.lag:
        state["lag"] = np.array(config.lag)
    if config.other_expression is not None:
        state["columns"] = np.array(regulators[0])
    if counts is not None and prepared.quality.is_counts:
        state |= {"counts": counts, "effects_removed": np.array("degrees_given_up" in state)}
    warnings = dependence_warnings(found, config)
    if null_design("auto", state, len(prepared.samples)).kind == "circular_shift":
        if not (design.series.size or design.batch.size):
            warnings.append(message("order_of_samples", **order_autocorrelation(state)))
        warnings += shift_warnings(state)
    return state, warnings
