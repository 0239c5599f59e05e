"""Correlated motion in trajectories (Lange & Grubmueller 2006; Kraskov et al. 2004), as one
estimator.

Rows and columns of the
pair space are the variables, in the order of the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from pairtile.arrays import AnyArray, BoolArray, Int64Array, IntegerArray
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
from pairtile.engine.stages import NetworkData
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.arrays import ContactArrays, MotionArrays
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import KEPT_BLOCKS
from pairtile.methods.trajectory_correlation.kinds import KINDS
from pairtile.methods.trajectory_correlation.network import (
    CENTRED,
    COLUMNS,
    TRANSFER,
    WAYS,
    agreement_warnings,
    community_agreement,
    dense_warnings,
    half_networks,
    motion_network,
    path_ends,
)
from pairtile.methods.trajectory_correlation.pair_blocks import MAX_PREPARED, Variables, numbers_of
from pairtile.methods.trajectory_correlation.pair_scores import HALVES, HISTOGRAM_BINS, MotionScores
from pairtile.methods.trajectory_correlation.residues import (
    add_contacts,
    in_contact,
    trajectory_contacts,
)
from pairtile.methods.trajectory_correlation.state import (
    MIN_SURROGATES,
    halves_of,
    replica_weights,
    replicas_of,
    shifts_of,
    trajectory_state,
)
from pairtile.methods.trajectory_correlation.tables import write_trajectory_tables
from pairtile.splines.scorer import weights_bytes

message = messages_of(__package__)

HALF_SURROGATES = 5
"""Of each half of a single trajectory: only their mean is wanted."""

FEWER_FRAMES = 3
"""One frame in so many is what a long analysis is told of as cheaper."""

P_BINS = 40
"""Of the histogram of p-values, from 0 to 1; 0.05 is the edge of one."""


class TrajectoryCorrelation(
    NetworkData[TrajectoryCorrelationConfig], Estimator[TrajectoryCorrelationConfig, MotionArrays]
):
    """Mutual information, generalized correlation and DCC of every two motions."""

    @cached_property
    def n_replicas(self) -> int:
        """Replicas in the state."""
        return len(self.state["replica_offsets"]) - 1

    @cached_property
    def n_surrogates(self) -> int:
        """Surrogates of each pair."""
        return self.config.estimator.surrogates

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        config: TrajectoryCorrelationConfig,
        seed: int,
        scratch: Path | None = None,
        sample: bool = False,
    ) -> PreparedInput[MotionArrays]:
        assert scratch is not None  # given by the step that prepares
        prepared = trajectory_state(config, scratch)
        if config.pairs == "in_contact":
            add_contacts(config, prepared, sample=sample)
        return prepared

    @classmethod
    def resolve_auto(
        cls, config: TrajectoryCorrelationConfig, state: MotionArrays
    ) -> tuple[TrajectoryCorrelationConfig, list[Message]]:
        decided = {"kind": str(state["kind"]), "lag": int(state.get("lag", 0))}
        estimator = config.estimator.model_copy(update=decided)
        return config.model_copy(update={"estimator": estimator}), []

    @classmethod
    def validate(
        cls, config: TrajectoryCorrelationConfig, state: MotionArrays, items: pd.DataFrame
    ) -> None:
        path_ends(items, config.paths)  # they may be others than when it was prepared

    @classmethod
    def network_data(
        cls, config: TrajectoryCorrelationConfig, items: pd.DataFrame
    ) -> tuple[ContactArrays, dict[str, int]]:
        return trajectory_contacts(config, items)

    @classmethod
    def space(cls, state: MotionArrays) -> PairSpace:
        if "only_contacts" in state:
            return PairSpace("rectangle", len(state["contact_i"]), 1)
        variables = int(state["series"].shape[0])
        return PairSpace("triangle", variables, variables)

    @classmethod
    def memory(
        cls,
        config: TrajectoryCorrelationConfig,
        state: MotionArrays,
        backend: str,
        rows: int,
        columns: int,
    ) -> int:
        """Of a block some copies, while it is made ready or shifted (of all series, made ready,
        ``state_bytes`` counts one for the estimator and one for the DCC; on the CPU they are read a
        block at a time, and few of these are kept); or weights of splines, of the last few
        blocks."""
        held = state_bytes(state)
        if backend == "cpu":
            all_series = 3 * int(state["series"].nbytes)
            held += min(all_series, _kept_bytes(config, state)) - all_series
        frames = np.diff(state["replica_offsets"])
        coordinates = max(rows, columns) * int(state["series"].shape[1])
        longest, together = (coordinates * int(n) for n in (frames.max(), frames.sum()))
        # Eight copies of a block of series: read, centred, whitened, shifted, of rows and of
        # columns.
        series = 8 * (8 * longest)
        estimator = config.estimator
        if estimator.surrogates and halves_of(state) is not None:
            # By halves the series are made ready, and their weights kept, once more.
            again = 8 * int(np.prod(state["series"].shape))
            series += again if backend == "cuda" else min(again, _kept_bytes(config, state))
            together *= 2
        if backend == "cuda" or not estimator.facts.splines:
            return held + series
        kept, beside = weights_bytes(estimator.n_bins, estimator.order)
        return held + series + beside * longest + KEPT_BLOCKS * kept * together

    @classmethod
    def cost(
        cls, config: TrajectoryCorrelationConfig, state: MotionArrays, backend: str, threads: int
    ) -> Cost:
        now = pairs_per_second(config, state, backend, threads)
        cheaper: dict[str, float] = {}
        if config.estimator.facts.searches_neighbours:
            gaussian = config.estimator.model_copy(update={"kind": "gaussian"})
            change = "direction: false" if config.direction else "estimator: {kind: gaussian}"
            update = {"direction": False} if config.direction else {"estimator": gaussian}
            other = config.model_copy(update=update)
            fewer: MotionArrays = {
                **state,
                "series": state["series"][:, :, ::FEWER_FRAMES],
                "replica_offsets": np.asarray(state["replica_offsets"]) // FEWER_FRAMES,
            }
            step = FEWER_FRAMES * config.frames.step
            cheaper = {
                change: now / pairs_per_second(other, state, backend, threads),
                f"frames: {{step: {step}}}": now
                / pairs_per_second(config, fewer, backend, threads),
            }
        pairs, edges = cls.space(state).pairs_in, _tile_edges(config, state)
        # Of reading a frame, and of its contacts for each heavy atom.
        elements = state["structure"]["element"] if "structure" in state else np.empty(0)
        data = int(state["replica_offsets"][-1]) * (
            1e-3 + 1.5e-6 * np.count_nonzero(elements != "H")
        )
        return Cost(now, pairs, data_seconds=data, tile_edges=edges, cheaper=cheaper)

    @classmethod
    def chunk_parameters(cls, config: TrajectoryCorrelationConfig) -> dict[str, object]:
        return {"estimator": config.estimator, "direction": config.direction}

    def schema(self) -> pa.Schema:
        real = pa.float64()
        null = [("null_sd", real)] if self.n_surrogates else []
        if self.n_surrogates and not self.config.estimator.facts.signed:
            null += [("mi_centred", real), ("correlation_centred", real)]
        if self.has_halves:
            null += [(name, real) for name in HALVES]
        if self.config.direction:
            null += [(f"{way}{name}", real) for name in TRANSFER for way in WAYS]
        names = (
            ("mi_sd", "correlation_sd", "dcc_sd", "correlation_se") if self.n_replicas > 1 else ()
        )
        return pa.schema(
            [
                ("i", pa.int32()),
                ("j", pa.int32()),
                ("mi_nats", real),
                ("correlation", real),
                ("null_mean", real),
                ("p_value", real),
                ("dcc", real),
                ("n_frames", pa.int32()),
                *null,
                *((name, real) for name in names),
                *((name, pa.float32()) for name in self.replica_columns),
            ]
        )

    @property
    def replica_columns(self) -> list[str]:
        """Columns of single replicas; none where there is one. In single precision, for size."""
        numbers = range(1, self.n_replicas + 1) if self.n_replicas > 1 else ()
        return [
            f"{value}_replica_{k}"
            for value in dict.fromkeys((self.config.estimator.facts.value, "dcc"))
            for k in numbers
        ]

    # --- tiles ----------------------------------------------------------------------------------

    @cached_property
    def scores(self) -> MotionScores:
        """The scores of blocks of variables, opened when first asked for."""
        windows = np.asarray(self.state["theiler"]).tolist()
        return MotionScores(
            replicas_of(self.state),
            [self.config.estimator.model_copy(update={"theiler": window}) for window in windows],
            shifts_of(self.state, self.n_surrogates, self.seed),
            self.device,
            replica_weights(self.state),
        )

    @cached_property
    def transfer_scores(self) -> MotionScores:
        """The scores of transfer entropy from row to column variables."""
        scores, kind = self.scores, {"kind": "transfer_entropy"}
        settings = [one.model_copy(update=kind) for one in scores.settings]
        return MotionScores(scores.replicas, settings, scores.shifts, choose("cpu"), scores.weights)

    @cached_property
    def has_halves(self) -> bool:
        """Whether two halves of the data are scored apart: of replicas, or of the one there is."""
        return self.n_surrogates > 0 and (self.n_replicas > 1 or halves_of(self.state) is not None)

    @cached_property
    def half_scores(self) -> MotionScores | None:
        """The scores of the two halves of a single trajectory; None of replicas."""
        state = halves_of(self.state) if self.has_halves else None
        if state is None:
            return None
        estimator = self.config.estimator
        most = (int(state["replica_offsets"][1]) - estimator.neighbours - 1) // 2
        window = min(int(self.state["theiler"][0]), most)
        return MotionScores(
            replicas_of(state),
            [estimator.model_copy(update={"theiler": window})] * 2,
            shifts_of(state, min(self.n_surrogates, HALF_SURROGATES), self.seed),
            self.device,
        )

    def _cells(self, tile: Tile) -> tuple[Variables, Variables, BoolArray]:
        if "only_contacts" not in self.state:
            above = numbers_of(tile.columns) > numbers_of(tile.rows)[:, None]
            return tile.rows, tile.columns, above
        i, j = (self.state[end][tile.rows] for end in ("contact_i", "contact_j"))
        rows, at_row = np.unique(i, return_inverse=True)
        columns, at_column = np.unique(j, return_inverse=True)
        wanted = np.zeros((rows.size, columns.size), dtype=bool)
        wanted[at_row, at_column] = True
        return rows.astype(np.int64), columns.astype(np.int64), wanted

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        rows, columns, wanted = self._cells(tile)
        everything = None if wanted.all() else wanted
        scored = self.scores.block(rows, columns, everything)
        blocks = dict(scored.blocks)
        if self.half_scores is not None:
            halves = self.half_scores.block(rows, columns, everything).blocks
            blocks |= {name: halves[name] for name in HALVES}
        n_pairs = int(wanted.sum())
        at_row, at_column = np.nonzero(wanted)
        if self.config.direction:
            forth = self.transfer_scores.block(rows, columns, wanted).blocks
            back = self.transfer_scores.block(columns, rows, wanted.T).blocks
            # The cells of a block come row by row.
            place = np.argsort(np.lexsort((at_row, at_column)))
            for name, column in TRANSFER.items():
                blocks[name], blocks[f"reverse_{name}"] = forth[column], back[column][place]
        whole = {
            "i": numbers_of(rows)[at_row].astype(np.int32),
            "j": numbers_of(columns)[at_column].astype(np.int32),
            "n_frames": self.scores.n_frames(rows, columns)[wanted].astype(np.int32),
        }
        real = {
            name: blocks[name].ravel() if name in blocks else np.full(n_pairs, np.nan)
            for name in self.schema().names
            if name not in whole
        }
        known = real["p_value"][~np.isnan(real["p_value"])]
        bins = np.minimum((known * P_BINS).astype(np.int64), P_BINS - 1)
        summaries = {
            "pairs": np.array([n_pairs], dtype=np.int64),
            "correlation_counts": self.scores.histogram(
                scored.blocks["correlation" if self.scores.kind.signed else "mi_nats"]
            ),
            "null_counts": scored.null_counts,
            "p_value_counts": np.bincount(bins, minlength=P_BINS).astype(np.int64),
        }
        return {**whole, **real}, summaries

    # --- network --------------------------------------------------------------------------------

    def in_contact(self, i: IntegerArray, j: IntegerArray) -> BoolArray | None:
        """Which pairs may become edges; None for all."""
        contacts = self.config.contact_rule
        return in_contact(i, j, self.state, contacts.fraction) if contacts else None

    def _stored(self, merged: MergedResults, names: tuple[str, ...]) -> pd.DataFrame:
        # Column by column, each let go once it is copied: there may be tens of millions of rows.
        table = pa.concat_tables(merged.batches(names))
        return table.to_pandas(split_blocks=True, self_destruct=True)

    def network(self, merged: MergedResults) -> Network:
        # Of all pairs only what decides; the rest of those that are kept.
        score, there = self.config.score, self.schema().names
        pairs = self._stored(merged, ("i", "j", score, "p_value"))
        candidate = self.in_contact(pairs["i"].to_numpy(), pairs["j"].to_numpy())
        columns = [name for name in (*COLUMNS, *CENTRED) if name in there]
        take = partial(rows_of, merged, columns)
        result = motion_network(pairs, self.config.keep, candidate, score, take)
        if not len(result.edges) and 0 < self.n_surrogates < MIN_SURROGATES:
            result.messages.append(
                message("empty_by_few_surrogates", n=self.n_surrogates, wanted=MIN_SURROGATES)
            )
        result.messages += dense_warnings(len(result.edges), self.config.communities)
        if self.has_halves and self.config.communities and len(result.edges):
            del pairs
            scores = self._stored(merged, ("i", "j", *HALVES))
            halves = half_networks(scores, candidate, len(result.edges), len(self.state["series"]))
            joined = result.edges[result.edges[score] != 0.0]
            nodes = np.unique(joined[["source", "target"]].to_numpy())
            known: dict[str, float] = {}
            for method in self.config.communities:
                value = community_agreement(halves, nodes, method, self.seed)
                if not np.isnan(value):
                    known[method] = value
                    result.arrays[f"community_agreement_{method}"] = np.array(value)
                    result.messages += agreement_warnings(method, value)
            result.threshold["community_agreement"] = known
        return result

    def ranking(self, merged: MergedResults) -> Ranking:
        pairs = self._stored(merged, ("i", "j", self.config.score))
        edges = pairs.set_axis(["source", "target", "score"], axis=1)
        return Ranking(edges.assign(score=edges["score"].abs()), directed=False)

    def result_arrays(self, merged: MergedResults, network: Network) -> dict[str, AnyArray]:
        by_size = network.threshold["keep"] in ("correlation", "top_edges")
        by_size &= self.config.score == "correlation"  # the histogram is of that
        least = network.threshold["least_correlation"] if by_size else None
        return {
            "edges": np.linspace(-1.0 if self.scores.kind.signed else 0.0, 1.0, HISTOGRAM_BINS + 1),
            "counts": merged.sums["correlation_counts"],
            "null_counts": merged.sums["null_counts"] / max(1, self.n_surrogates),
            "p_value_edges": np.linspace(0.0, 1.0, P_BINS + 1),
            "p_value_counts": merged.sums["p_value_counts"],
            "threshold_unit": np.array("correlation"),
            "threshold": np.array(np.nan if least is None else least),
            **network.arrays,
        }

    def tables(self, merged: MergedResults, items: pd.DataFrame, folder: Path) -> TableSummary:
        return write_trajectory_tables(self, merged, items, folder)


def _tile_edges(config: TrajectoryCorrelationConfig, state: MotionArrays) -> tuple[int, int]:
    """Of pairs in contact, as many as some neighbouring variables have."""
    longest = int(np.diff(state["replica_offsets"]).max())
    edge = tile_edge(config.estimator.kind, int(state["series"].shape[1]), longest)
    if "only_contacts" not in state:
        return edge, edge
    of_a_variable = len(state["contact_i"]) / int(state["series"].shape[0])
    rows = min(edge, config.estimator.facts.contact_rows)
    return max(1, round(rows * of_a_variable)), 1


def _kept_bytes(config: TrajectoryCorrelationConfig, state: MotionArrays) -> int:
    """Of blocks that the CPU keeps ready for the estimator and for the DCC."""
    variables, d, _ = state["series"].shape
    longest = int(np.diff(state["replica_offsets"]).max())
    block = 8 * min(tile_edge(config.estimator.kind, d, longest), variables) * d * longest
    replicas = len(state["replica_offsets"]) - 1
    return 2 * replicas * max(MAX_PREPARED, 2 * block)


# --- costs ----------------------------------------------------------------------------------------


SMALLEST_TILE, LARGEST_TILE = 32, 1024


def rows_of(merged: MergedResults, columns: Sequence[str], numbers: Int64Array) -> pd.DataFrame:
    """Rows of the merged table by their numbers, in this order, read a part at a time."""
    order = np.argsort(numbers, kind="stable")
    wanted = numbers[order]
    parts, begin = [], 0
    for part in merged.batches(columns):
        first, last = np.searchsorted(wanted, [begin, begin + part.num_rows])
        parts.append(part.take(pa.array(wanted[first:last] - begin)))
        begin += part.num_rows
    return pa.concat_tables(parts).to_pandas().iloc[np.argsort(order)]


def tile_edge(kind: str, d: int, frames: int) -> int:
    """Variables along the side of a tile: a power of two, the fewer the longer the series.

    kind : of the estimator. d : coordinates of a variable. frames : of the longest replica.
    """
    room = KINDS[kind].tile_bytes // (8 * d * frames)
    largest = min(KINDS[kind].largest_tile, LARGEST_TILE)
    return 1 << (min(max(room, SMALLEST_TILE), largest).bit_length() - 1)


def pairs_per_second(
    config: TrajectoryCorrelationConfig, state: MotionArrays, backend: str, threads: int
) -> float:
    """Pairs scored in a second, their surrogates and halves included."""
    d = int(state["series"].shape[1])
    seconds = sum(
        seconds_a_pair(config.estimator, d, frames, backend, threads)
        for frames in np.diff(state["replica_offsets"]).tolist()
    )
    if "only_contacts" in state:
        seconds *= config.estimator.facts.contact_factor
        seconds += 1e-6  # of each pair, whatever the series
    if config.direction:  # both ways, on the CPU
        squares = float((np.diff(state["replica_offsets"]).astype(np.float64) ** 2).sum())
        seconds += 2.0 * 1.5e-9 * squares / max(1, threads)
    seconds *= 1 + config.estimator.surrogates
    if config.estimator.surrogates and halves_of(state) is not None:
        half = int(state["series"].shape[2]) // 2
        once = seconds_a_pair(config.estimator, d, half, backend, threads)
        seconds += 2 * (1 + HALF_SURROGATES) * once
    return 1.0 / seconds


def seconds_a_pair(
    estimator: MotionEstimatorConfig, d: int, frames: int, backend: str, threads: int
) -> float:
    """Seconds of one estimate, without surrogates. An order of magnitude is enough.

    estimator : the section of that name. d : coordinates of a variable. Measured: docs/speed.md.
    """
    on_gpu = backend == "cuda"
    cores = 1 if on_gpu else max(1, threads)
    seconds = estimator.facts.seconds(d, frames, estimator.n_bins, backend)
    # What each pair costs whatever the series: sums, histograms, rows of the table.
    return (seconds / cores) + (5e-9 if on_gpu else 2e-8)
