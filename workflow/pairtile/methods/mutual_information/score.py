"""B-spline mutual information of gene pairs (Daub et al. 2004), as one estimator of pairtile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.arrays import DeviceArray
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.chunk_file import (
    PASSED,
    RANK_SCORE,
    Arrays,
    Rows,
    Summaries,
    add_summaries,
)
from pairtile.engine.estimator import (
    Cost,
    Estimator,
    MergedResults,
    PreparedInput,
    Ranking,
    state_bytes,
)
from pairtile.engine.large_table import count
from pairtile.engine.merging import row_order
from pairtile.engine.network import Network
from pairtile.engine.selection import Selection, score_tiles
from pairtile.engine.stages import BootstrapNetwork, Bootstraps, FirstPass, NullStage
from pairtile.engine.state import copy_rows, release
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import Device
from pairtile.methods.mutual_information.arrays import MAX_SAMPLES, SplineArrays
from pairtile.methods.mutual_information.bootstrap import (
    resample_samples,
    rule_of_network,
    undirected_edges,
    unrelated_genes,
)
from pairtile.methods.mutual_information.combined_score import CombinedScore, Sampled, combined_sums
from pairtile.methods.mutual_information.config import (
    AUTO_FDR,
    EDGES_PER_GENE,
    MutualInformationConfig,
)
from pairtile.methods.mutual_information.context_scores import mean_sd
from pairtile.methods.mutual_information.given_scores import state_of_scores
from pairtile.methods.mutual_information.keep import KeepGenePairs
from pairtile.methods.mutual_information.kernels.permuted_rows import Resampling
from pairtile.methods.mutual_information.kernels.permuted_rows_cuda import RowsOnGpu
from pairtile.methods.mutual_information.network import (
    Pairs,
    PairScores,
    build_network,
    choose,
    consensus_network,
    directed_edges,
    n_tests_of,
    null_significance,
    parts_of,
)
from pairtile.methods.mutual_information.null import (
    Null,
    NullGenes,
    class_pairs,
    draw_null,
    drawn_bytes,
    permutations_needed,
)
from pairtile.methods.mutual_information.null_design import (
    check_courses,
    chosen_null,
    null_classes,
    order_matters,
    order_warnings,
    paired_classes,
)
from pairtile.methods.mutual_information.partial_correlation import PartialCorrelation, fit_bytes
from pairtile.methods.mutual_information.prepare import (
    spline_settings,
    spline_state,
)
from pairtile.methods.mutual_information.signs import with_signs
from pairtile.methods.mutual_information.tiles import (
    ScoredTile,
    histogram_sums,
    moment_sums,
    pair_counts,
    score_listed,
    wanted_pairs,
)
from pairtile.preprocess.null_design import NullDesign, inflation, null_design
from pairtile.splines.scorer import BsplineScorer, Weights, weights_bytes
from pairtile.splines.values import marginal_entropies
from pairtile.statistics.dependence import MAX_GENES, evenly_spaced
from pairtile.statistics.hidden_factors import normal_scores, root_of_alike
from pairtile.statistics.ranks import row_orders

message = messages_of(__package__)

KEPT_BYTES = 8 << 30
"""Most weights that a job on the CPU keeps for its next tiles, and asks memory for."""

COMPARED_DRAWS = 10_000
"""Draws of each null, for each pair of classes, where two nulls are compared."""

RELATIVE_MARGIN = 1e-6
"""Chunks keep this much (relative) below a threshold; the network step applies it exactly."""


def _complete(state: SplineArrays) -> bool:
    """Whether nothing is missing. A state on disk says so: it may be too large to look at."""
    z = state["z"]
    if isinstance(z, np.memmap) and "autocorrelation" in state:
        return "observed" not in state
    if "z_source" in state and np.isnan(state["z_source"]).any():
        return False
    if not isinstance(z, np.ndarray):  # of a bootstrap, on the GPU
        return not bool((z != z).any())
    return count(np.isnan, z) == 0


def number_type(config: MutualInformationConfig, backend: str) -> str:
    """In which tiles are computed: ``float64``, or ``mixed``."""
    auto = "mixed" if backend == "cuda" else "float64"
    return auto if config.estimator.precision == "auto" else config.estimator.precision


class MutualInformation(
    NullStage,
    FirstPass[MutualInformationConfig],
    Bootstraps[MutualInformationConfig],
    Estimator[MutualInformationConfig, SplineArrays],
):
    """B-spline mutual information with permutation null; pairs ranked by ``SCORES``."""

    def __init__(
        self,
        config: MutualInformationConfig,
        state: SplineArrays,
        device: Device,
        precision: str,
        seed: int = 0,
    ) -> None:
        super().__init__(config, state, device, precision, seed)
        self.settings = spline_settings(self.config, precision)
        self.scorer = BsplineScorer(self.settings, device, _complete(state))
        self.genes = int(state["z"].shape[0])
        # By which a score is multiplied where it is held against the null.
        self.samples = max(1, int(state["z"].shape[1]))
        # No score is larger than the entropy of equal bins.
        self.top_bits = max(1.0, float(state.get("top_score", np.log2(self.settings.bins))))
        self.is_regulator: NDArray[np.bool_] | None = None
        if state["regulators"].size:
            self.is_regulator = np.zeros(self.genes, dtype=bool)
            self.is_regulator[state["regulators"]] = True
        self.null_design = chosen_null(config, state)
        self.classes = null_classes(state, self.null_design)
        # Of a bootstrap: the values it was drawn from, and how.
        self._original: NDArray[np.float64] | None = None
        self._resampling: Resampling | None = None
        self._order: NDArray[np.int32] | None = None
        self._on_gpu: RowsOnGpu | None = None
        self._given_null: dict[str, NDArray[np.generic]] | None = None
        self._opened_null: tuple[Arrays, Null] | None = None
        self._cache: dict[tuple[str, int], Weights] = {}
        self._opened_scan: tuple[Arrays, CombinedScore] | None = None

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        config: MutualInformationConfig,
        seed: int,
        scratch: Path | None = None,
        sample: bool = False,
    ) -> PreparedInput[SplineArrays]:
        if config.scores is not None:
            return state_of_scores(config, config.scores, scratch)
        return spline_state(config, scratch)

    @classmethod
    def resolve_auto(
        cls, config: MutualInformationConfig, state: SplineArrays
    ) -> tuple[MutualInformationConfig, list[Message]]:
        check_courses(config, state)
        how = dict(
            zip(("bins", "order"), state["bins_order"].tolist(), strict=True),
            transform="rank" if state["by_rank"] else "none",
        )
        decided: dict[str, object] = {
            "estimator": config.estimator.model_copy(update=how),
            "score": config.ranked_by.name,
        }
        if config.keep.rule == "auto":
            fdr = {"fdr": AUTO_FDR} if config.has_p_values else {}
            decided["keep"] = KeepGenePairs(**fdr, top_edges=EDGES_PER_GENE * len(state["z"]))
        said: list[Message] = []
        if config.ranked_by.sums_partial_correlations and "shared_loadings" in state:
            said.append(message("score_given_components", n=state["shared_loadings"].shape[1]))
        return config.model_copy(update=decided), said

    @classmethod
    def validate(
        cls, config: MutualInformationConfig, state: SplineArrays, items: pd.DataFrame
    ) -> None:
        if config.bootstraps.number:
            resample_samples(config, int(state["z"].shape[1]), 0, 0)

    @classmethod
    def space(cls, state: SplineArrays) -> PairSpace:
        genes = int(state["z"].shape[0])
        if state["regulators"].size:
            return PairSpace(
                "rectangle", int(state["regulators"].size), int(state.get("columns", genes))
            )
        return PairSpace("rectangle" if "z_source" in state else "triangle", genes, genes)

    @classmethod
    def cost(
        cls, config: MutualInformationConfig, state: SplineArrays, backend: str, threads: int
    ) -> Cost:
        # Measured: docs/speed.md. The work of a pair grows with samples x order x bins.
        bins, order = config.estimator.bins_order
        samples = int(state["z"].shape[1])
        if backend == "cuda":
            rate = 4e8 / max(1.0, samples * bins * bins / 1e5)
        else:
            rate = threads * 1e6 / max(0.1, (samples * order * bins + 10 * bins * bins) / 9e3)
        draws, nulls = cls._null_draws(config, state)
        if order_matters(config, state):
            draws += 2 * COMPARED_DRAWS
        return Cost(
            rate,
            cls.space(state).pairs_in,
            # A draw takes less than half as long as a pair, of which more is kept (measured).
            null=draws * nulls * cls._null_samples(config, state) // max(1, 2 * samples),
            precision=number_type(config, backend),
        )

    @classmethod
    def _null_samples(cls, config: MutualInformationConfig, state: SplineArrays) -> int:
        """Of how many samples a null is drawn: of many some, where nothing else is exchanged."""
        some = "z_some" in state and chosen_null(config, state).kind == "permutation"
        return int(state["z_some" if some and _complete(state) else "z"].shape[1])

    @classmethod
    def _null_draws(cls, config: MutualInformationConfig, state: SplineArrays) -> tuple[int, int]:
        """Draws of each null distribution, and how many distributions there are."""
        pairs = max(1, cls.space(state).rows * cls.space(state).columns)
        classes = null_classes(state, chosen_null(config, state))
        draws = permutations_needed(config.null.permutations, config.keep, pairs)
        return draws, len(paired_classes(state, classes))

    @classmethod
    def memory(
        cls,
        config: MutualInformationConfig,
        state: SplineArrays,
        backend: str,
        rows: int,
        columns: int,
    ) -> int:
        """Weights of all genes are kept where there is room; a null keeps those of its columns,
        and all that it draws."""
        genes, samples = (int(n) for n in state["z"].shape)
        draws, nulls = cls._null_draws(config, state)
        of_null = cls._null_samples(config, state)
        if backend == "cuda":
            blocks = super().memory(config, state, backend, rows, columns)
            return blocks + drawn_bytes(draws, of_null, nulls, 0)
        fitted = (
            fit_bytes(int(state["regulators"].size), min(samples, MAX_SAMPLES), genes)
            if config.ranked_by.sums_partial_correlations
            else 0
        )
        kept, beside = weights_bytes(*config.estimator.bins_order)
        of_tiles = min(kept * samples * genes, max(KEPT_BYTES, kept * samples * (rows + columns)))
        held = max(of_tiles, drawn_bytes(draws, of_null, nulls, kept))
        return state_bytes(state) + fitted + held + (kept + beside) * samples * max(rows, columns)

    @classmethod
    def chunk_parameters(cls, config: MutualInformationConfig) -> dict[str, object]:
        return {
            "estimator": config.estimator,
            "score": config.score,
            "null": config.null,
            "keep": config.keep,
            "min_samples": config.preprocess.min_samples,
            **({"lag": config.lag} if config.lag else {}),
            "ranking": config.gold_standard is not None,
        }

    @classmethod
    def needs_scan(cls, config: MutualInformationConfig) -> bool:
        return config.ranked_by.of is not None

    def schema(self) -> pa.Schema:
        mi = pa.float32() if self.precision == "mixed" else pa.float64()
        columns = [("i", pa.int32()), ("j", pa.int32()), ("mi_bits", mi), ("n_samples", pa.int32())]
        return pa.schema(columns)

    # --- null and selection ---------------------------------------------------------------------

    def null(self, seed: int) -> dict[str, NDArray[np.generic]]:
        if self._given_null is not None:
            return self._given_null
        config = self.config
        if "null_bits" in self.state:
            return Null([self.state["null_bits"]], self.classes).arrays()
        if config.scores or (self._resampling is not None and not config.keep.by_p_value):
            none = [np.empty(0, dtype=np.float32)] * len(class_pairs(int(self.classes.max()) + 1))
            return Null(none, self.classes).arrays()
        draws = permutations_needed(config.null.permutations, config.keep, self.n_pairs())
        return self._drawn(self.null_design, draws, seed)

    def null_of(self, arrays: Arrays) -> Null:
        """What the arrays of a null describe; opened once, as its tails take time to fit."""
        if self._opened_null is None or self._opened_null[0] is not arrays:
            self._opened_null = arrays, Null.from_arrays(arrays)
        return self._opened_null[1]

    def _drawn(self, design: NullDesign, draws: int, seed: int) -> dict[str, NDArray[np.generic]]:
        z = self.state["z"] if self._original is None else self._original
        factor = inflation(self.state, z.shape[1], design.kind)
        n = self._null_samples(self.config, self.state)
        removed = alike = None
        if self._original is None and design.kind == "permutation" and n < z.shape[1]:
            z, design = self.state["z_some"], NullDesign.permutation(n)
        elif factor != 1.0 and self._resampling is None and "columns" not in self.state:
            removed = self.state.get("removed")  # of two tables each has lost its own
        if self.config.null.samples_alike:
            alike = root_of_alike(
                normal_scores(copy_rows(z, evenly_spaced(len(z), MAX_GENES))),
                float(self.state["correlation_width"][0]),
            )
        return draw_null(
            self.scorer,
            NullGenes(
                np.asarray(z, dtype=np.float64),
                self.state["entropy_bits"] > 0.0,
                self.classes,
                paired_classes(self.state, self.classes),
                "rank" if self.state["by_rank"] else "none",
            ),
            design,
            draws=draws,
            seed=seed,
            min_samples=self.config.preprocess.min_samples,
            resampling=self._resampling,
            removed=removed,
            inflation=factor if removed is None else 1.0,
            alike=alike,
        )

    def null_messages(self, seed: int) -> list[Message]:
        if "scores" in self.state:
            return []
        compared = order_matters(self.config, self.state)
        share = self._share_by_permutation(seed) if compared else 0.0
        return [
            message("null_kind", kind=self.null_design.kind, reason=self.null_design.reason),
            *order_warnings(self.config, self.state, share),
        ]

    def _share_by_permutation(self, seed: int) -> float:
        """Share of pairs of shifted genes that a permutation null gives p <= 0.05."""
        permuted, shifted = (
            Null.from_arrays(self._drawn(design, COMPARED_DRAWS, seed)).statistic
            for design in (
                NullDesign.permutation(self.state["z"].shape[1]),
                null_design("circular_shift", self.state, self.state["z"].shape[1]),
            )
        )
        above = [
            found >= np.quantile(null, 0.95)
            for null, found in zip(permuted, shifted, strict=True)
            if null.size and found.size
        ]
        return float(np.concatenate(above).mean()) if above else 0.0

    def selection(self, null: Arrays) -> Selection:
        keep = self.config.keep
        if keep.rule == "all":
            return Selection(everything=True)
        # Beside a p-value the score alone does not bound what is kept.
        limits, least = None, keep.score if keep.p_value is None else None
        if keep.p_bound > 0.0:
            limits = self.null_of(null).thresholds(keep.p_bound) * (1.0 - RELATIVE_MARGIN)
        if least is not None:
            least -= RELATIVE_MARGIN * max(1.0, abs(least))
        # With a gold standard, the best so many edges are kept for evaluation, as DREAM5 asks.
        ranked = 100_000 if self.config.gold_standard is not None else 0
        return Selection(min_statistic=limits, min_score=least, top=max(ranked, keep.top))

    # --- tiles ----------------------------------------------------------------------------------

    def n_pairs(self) -> int:
        """Unordered pairs of the space; with a lag ordered ones."""
        regulators = int(self.state["regulators"].size)
        if "z_source" in self.state:
            return (regulators or self.genes) * (self.genes - 1)
        if not regulators:
            return self.genes * (self.genes - 1) // 2
        if "columns" in self.state:
            return regulators * int(self.state["columns"])
        return regulators * (self.genes - 1) - regulators * (regulators - 1) // 2

    def _row_items(self, begin: int, end: int) -> NDArray[np.int64]:
        if self.is_regulator is None:
            return np.arange(begin, end)
        return np.asarray(self.state["regulators"][begin:end], dtype=np.int64)

    def _block(self, kind: str, begin: int, end: int) -> Weights:
        lagged = "z_source" in self.state
        key = ("column" if self.is_regulator is None and not lagged else kind, begin)
        if key not in self._cache:
            z = self.state["z_source"] if lagged and kind == "row" else self.state["z"]
            rows: NDArray[np.int64] | slice = (
                self._row_items(begin, end) if kind == "row" else slice(begin, end)
            )
            if kind == "row" and not isinstance(z, np.ndarray):
                rows = self.device.xp.asarray(rows)
            weights = self.scorer.weights(z[rows])
            release(z)
            room = 0.25 * self.device.free_bytes()
            if self.device.backend == "cpu":
                room = min(room, KEPT_BYTES)
            held = sum(kept.nbytes for kept in self._cache.values())
            # The oldest go, but never the last one: it is the other side of this tile.
            while len(self._cache) > 1 and held + 2 * weights.nbytes > room:
                held -= self._cache.pop(next(iter(self._cache))).nbytes
            self._cache[key] = weights
        self._cache[key] = self._cache.pop(key)  # the last one that was asked for
        return self._cache[key]

    def _scored(self, tile: Tile) -> ScoredTile:
        xp = self.device.xp
        rows = self._row_items(tile.row_begin, tile.row_end)
        columns = np.arange(tile.column_begin, tile.column_end)
        lagged = "z_source" in self.state
        all_with_all = self.is_regulator is None and not lagged
        on_diagonal = all_with_all and tile.row_begin == tile.column_begin
        if "scores" in self.state:
            bits, n_samples = xp.asarray(self.state["scores"][rows, tile.columns]), None
        else:
            bits, n_samples = self.scorer.scores(
                self._block("row", tile.row_begin, tile.row_end),
                self._block("column", tile.column_begin, tile.column_end),
                np.arange(rows.size) + 1 if on_diagonal else None,
            )
        scored = None if n_samples is None else n_samples >= self.config.preprocess.min_samples
        statistic = bits * (self.samples if n_samples is None else n_samples)
        within = None if "columns" in self.state else self.is_regulator
        if lagged:  # a gene is not its own target
            wanted = xp.asarray(rows)[:, None] != xp.asarray(columns)
        else:
            wanted = wanted_pairs(xp, rows, columns, on_diagonal, within)
        if wanted is not None:
            scored = wanted if scored is None else wanted & scored
        if "scores" in self.state:  # a pair without one is none
            wanted = scored = bits >= 0.0 if scored is None else scored & (bits >= 0.0)
        return ScoredTile(rows, columns, bits, n_samples, wanted, scored, statistic)

    def scan_tile(self, tile: Tile) -> Summaries:
        scored = self._scored(tile)
        sums = moment_sums(scored, self.genes, self.is_regulator, self.device)
        if not self.config.ranked_by.sums_partial_correlations:
            return sums
        return sums | combined_sums(
            scored, self._partials, self.is_regulator, self._sampled, self.device
        )

    @cached_property
    def _partials(self) -> list[PartialCorrelation]:
        return PartialCorrelation.all_of(self.state, float(self.settings.intervals), self.device)

    @property
    def _sampled(self) -> Sampled:
        return Sampled.of_regulators(
            self.state["regulators"], int(self.state.get("columns", self.genes))
        )

    def combined(self, scan: Arrays) -> CombinedScore:
        """The score from the sums of the first pass; made once."""
        if self._opened_scan is None or self._opened_scan[0] is not scan:
            self._opened_scan = scan, CombinedScore(self._partials, scan, self._sampled)
        return self._opened_scan[1]

    def pair_scores(self, scan: Arrays | None) -> PairScores:
        """What ranks the pairs, ``scan`` being the sums of the first pass where there was one."""
        score = self.config.ranked_by
        known = self.genes, score, self.is_regulator
        if scan is None:
            return PairScores(*known)
        combine = self.combined(scan).of if score.sums_partial_correlations else None
        return PairScores(*known, partial(mean_sd, scan), combine, self.state["entropy_bits"])

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        xp, to_host = self.device.xp, self.device.to_host
        scored = self._scored(tile)
        score = self._ranking_score(scored, selection)
        row_class, column_class = self.classes[scored.rows], self.classes[scored.columns]
        passed = selection.passed(xp, scored.statistic, row_class, column_class, score)
        keep = passed | (score >= selection.cut) if selection.top else passed
        if scored.scored is not None:
            keep = keep & scored.scored
        found = xp.nonzero(keep)
        at_row, at_column = (to_host(place) for place in found)
        rows: dict[str, NDArray[np.generic]] = {
            "i": scored.rows[at_row].astype(np.int32),
            "j": scored.columns[at_column].astype(np.int32),
            "mi_bits": to_host(scored.bits[found]),
            "n_samples": np.full(at_row.size, self.samples, dtype=np.int32)
            if scored.n_samples is None
            else to_host(scored.n_samples[found]),
        }
        if selection.top:
            rows[RANK_SCORE] = to_host(score[found]).astype(np.float64)
            rows[PASSED] = to_host(passed[found])
        if self._resampling is not None:
            return rows, pair_counts(scored)  # no histogram of a bootstrap is shown
        return rows, histogram_sums(scored, self.top_bits, self.device)

    def _ranking_score(self, scored: ScoredTile, selection: Selection) -> DeviceArray:
        """The better of a pair's two directed scores; MI itself where ranking is by MI."""
        needed = selection.top > 0 or selection.min_score is not None
        if selection.scan is None or not needed:
            return scored.bits
        xp, ends = self.device.xp, (scored.rows[:, None], scored.columns[None, :])
        both = self.pair_scores(selection.scan).from_bits(scored.bits, *ends, xp)
        return both[0] if len(both) == 1 else xp.fmax(*both)  # backwards NaN: not allowed

    # --- consensus ------------------------------------------------------------------------------

    def score_pairs(
        self, i: NDArray[np.integer], j: NDArray[np.integer]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """MI in bits and samples of a list of pairs, by the rows they share."""
        return score_listed(self.scorer, self.state["z"], i, j)

    def resampled(self, samples: NDArray[np.int64]) -> MutualInformation:
        """The same analysis on some of the samples (with repetitions: a bootstrap).

        Its null resamples too: permuted genes are drawn from the original samples first, so that
        repeated samples raise the null as they raise the scores.
        """
        original = np.ascontiguousarray(self.state["z"], dtype=np.float64)
        top = float(self.settings.intervals)
        if self._order is None:
            by_rank = self.config.estimator.transform == "rank"
            self._order = row_orders(original if by_rank else np.empty((0, 0)))
            if RowsOnGpu.fit(self.device, original):
                self._on_gpu = RowsOnGpu(self.device, original, self._order, top)
        resampling = Resampling(samples, self._order, top, self._on_gpu)
        z = resampling.rows(original)
        state: SplineArrays = {
            **self.state,
            "z": z,
            "entropy_bits": marginal_entropies(z, self.settings),
        }
        state.pop("z_some", None)
        replicate = MutualInformation(self.config, state, self.device, self.precision)
        replicate._original, replicate._resampling = original, resampling
        replicate.null_design = self.null_design
        return replicate

    # --- network --------------------------------------------------------------------------------

    @classmethod
    def n_bootstraps(cls, config: MutualInformationConfig) -> int:
        return config.bootstraps.number

    def bootstrap(self, tiles: Sequence[Tile], number: int) -> BootstrapNetwork:
        samples = resample_samples(self.config, self.state["z"].shape[1], self.seed, number)
        replicate = self.resampled(samples)
        replicate._given_null = replicate.null(self.seed)
        found = replicate.network(replicate.merged(tiles, self.seed))
        edges = undirected_edges(found, self.is_regulator)
        rule = rule_of_network(self.config.keep, found)
        if self.config.bootstraps.correction != "fdr" or rule is None:
            return BootstrapNetwork(edges, np.empty((2, 0), dtype=np.int32))
        # The same samples of unrelated genes, against the same null and with the same bar.
        opened, group = self._unrelated
        opened.config = self.config.model_copy(update={"keep": rule})
        unrelated = opened.resampled(samples)
        unrelated._given_null = replicate._given_null
        unrelated._opened_null = replicate._opened_null
        unrelated.classes = replicate.classes
        network = unrelated.network(unrelated.merged(tiles, self.seed))
        by_chance = undirected_edges(network, self.is_regulator)
        if group is not None:
            by_chance = by_chance[:, group[by_chance[0]] != group[by_chance[1]]]
        return BootstrapNetwork(edges, by_chance)

    def merged(self, tiles: Sequence[Tile], seed: int) -> MergedResults:
        """What the chunks of all tiles and their merge leave, in memory."""
        null, sums = self.null(seed), Summaries()
        scan: Summaries | None = None
        if self.needs_scan(self.config):
            scan = Summaries()
            for tile in tiles:
                add_summaries(scan, self.scan_tile(tile))
        selection = replace(self.selection(null), scan=scan)
        parts = [rows for _, rows in score_tiles(self.score_tile, tiles, selection, sums)]
        columns = {
            name: np.concatenate([rows[name] for rows in parts]) for name in self.schema().names
        }
        order = row_order([columns[name] for name in self.sort_by])
        pairs = pd.DataFrame({name: values[order] for name, values in columns.items()})
        return MergedResults(pairs, sums, null, scan)

    @cached_property
    def _unrelated(self) -> tuple[MutualInformation, NDArray[np.int32] | None]:
        """The same analysis of unrelated genes, and which of them were moved together."""
        genes = unrelated_genes(np.asarray(self.state["z"]), self.null_design, self.seed)
        state: SplineArrays = {**self.state, "z": genes.z}
        state.pop("z_some", None)
        opened = MutualInformation(self.config, state, self.device, self.precision)
        opened.null_design = self.null_design
        return opened, genes.group

    def unrelated_share(self) -> float:
        """Share of all pairs that count among the unrelated ones of the bootstraps."""
        genes = unrelated_genes(np.asarray(self.state["z"]), self.null_design, self.seed)
        second = np.arange(self.genes) < self.state.get("columns", self.genes)
        first = second if self.is_regulator is None else self.is_regulator
        return genes.share_counted(first, second)

    def network(self, merged: MergedResults) -> Network:
        """That of the consensus where there are bootstraps, else of the merged pairs."""
        result = self._network_of_pairs(merged)
        if merged.bootstraps is not None:
            by_null = self.config.bootstraps.correction == "fdr"
            result = consensus_network(
                self.config.bootstraps,
                self.pair_scores(merged.scan),
                self.score_pairs,
                merged,
                merged.bootstraps,
                result,
                self.unrelated_share() if by_null else 1.0,
            )
        if self._resampling is None and not self.config.scores:
            z = np.asarray(self.state.get("z_some", self.state["z"]))
            expected = self.null_of(merged.null).expected(result.edges) / self.samples
            sources = np.asarray(self.state.get("z_source", z))
            result.edges = with_signs(result.edges, sources, z, expected)
        result.directed = result.directed or "z_source" in self.state
        return result

    def _network_of_pairs(self, merged: MergedResults) -> Network:
        """Of a bootstrap edges are source and target alone, each pair once."""
        keep, pairs, null = self.config.keep, Pairs.of_merged(merged), self.null_of(merged.null)
        scores = self.pair_scores(merged.scan)
        significance = null_significance(pairs, null, max(1, n_tests_of(merged)))
        chosen = choose(pairs, significance, scores, keep)
        result = build_network(
            pairs,
            chosen,
            significance,
            scores,
            dpi=self.config.dpi or None,
            fdr=keep.fdr,
            backend=self.device.backend,
            pairs_only=self._resampling is not None,
        )
        if self._resampling is not None:
            return result
        decided = {"keep": keep.model_dump(mode="json"), "mi_bits": result.threshold_value}
        if not self.config.has_p_values:
            result.threshold = {**decided, "least_score": result.threshold["least_score"]}
            result.edges = result.edges.drop(columns=["p_value", "q_value", "p_method"])
            del result.counts["edges_with_extrapolated_p"]
            return result
        beyond = result.counts["edges_with_extrapolated_p"]
        result.threshold = {
            **decided,
            "p_method": "extrapolated" if beyond else "empirical",
            "permutations": int(sum(s.size for s in null.statistic)),
            **result.threshold,
        }
        share = chosen.significant / significance.n_tests
        # No warning where another says what samples share (the annotations, or that most genes
        # share something), or where a quota keeps the best pairs alone.
        said = "explained" in self.state or self.state["shared_components"] > 0
        if share > 0.2 and 0.0 < keep.p_bound < 1.0 and not (keep.top_edges or said):
            bar = "p" if keep.fdr is None else "q"
            passing = message("most_pairs_pass", share=share, bar=bar, limit=keep.p_bound)
            result.messages.append(passing)
        if beyond:
            resolved = null.resolved / (1.0 + min(s.size for s in null.statistic if s.size))
            result.messages.append(
                message("p_values_extrapolated", edges=beyond, resolved=resolved)
            )
        return result

    def ranking(self, merged: MergedResults) -> Ranking:
        """Every stored pair in its allowed directions, with the score that ranks it."""
        scores = self.pair_scores(merged.scan)
        edges = directed_edges(Pairs.of_merged(merged), scores)
        edges = edges.rename(columns={scores.score.column: "score"})[["source", "target", "score"]]
        return Ranking(edges, scores.directed or "z_source" in self.state)

    def result_arrays(
        self, merged: MergedResults, network: Network
    ) -> dict[str, NDArray[np.generic]]:
        """Histogram of all scores and of the null in the same bins."""
        counts, threshold = merged.sums["histogram"], network.threshold_value
        edges = np.linspace(0.0, self.top_bits, counts.size + 1)
        null_counts = np.zeros(counts.size, dtype=np.int64)
        for draws in Null.from_arrays(merged.null).statistic:
            for part in parts_of(draws.size):
                bits = np.minimum(draws[part] / self.samples, self.top_bits)
                ends = np.searchsorted(bits, edges)  # they ascend: each bin is a stretch
                ends[-1] = np.searchsorted(bits, edges[-1], side="right")
                null_counts += np.diff(ends)
        return {
            "edges": edges,
            "counts": counts,
            "null_counts": null_counts,
            "threshold": np.array(np.nan if threshold is None else threshold),
            "threshold_unit": np.array("bits"),
        }
