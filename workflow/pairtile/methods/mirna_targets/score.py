"""Targets of miRNAs by the rules of miRanda 3.3a (Enright et al. 2003), as one estimator.

State: sequences as ``prepare`` lays them out: miRNAs in file order, transcripts by length. Rows of
the pair space are miRNAs, columns are transcripts; long transcripts are cut into windows inside a
tile, where overlapping windows meet again.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.columns import declared_columns
from pairtile.declare.messages import messages_of
from pairtile.engine.chunk_file import Rows, Summaries
from pairtile.engine.estimator import (
    Cost,
    Estimator,
    MergedResults,
    PreparedInput,
    Ranking,
    TableSummary,
)
from pairtile.engine.network import Network
from pairtile.engine.selection import Selection
from pairtile.engine.tiles import PairSpace, Tile
from pairtile.gpu.device import DeviceArray
from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import Conservation
from pairtile.methods.mirna_targets.evidence import (
    Evidence,
    collect_evidence,
    correlation_p_values,
    joint_gains,
    joint_log_p,
    score_slope,
)
from pairtile.methods.mirna_targets.expression import Correlations
from pairtile.methods.mirna_targets.kernels.pair_scores import PAIR_BINS, PAIR_STEP
from pairtile.methods.mirna_targets.null import (
    NullCounts,
    PairNull,
    class_table,
    count_shapes,
    prepare_null,
)
from pairtile.methods.mirna_targets.prepare import prepare_sequences
from pairtile.methods.mirna_targets.scoring import reverse_cumsum, state_sequences
from pairtile.methods.mirna_targets.search import ALIGNMENT, ROWS, TargetSearch
from pairtile.methods.mirna_targets.seed_sites import SeedIndex, SeedSites, class_counts
from pairtile.methods.mirna_targets.tables import rows_by_length, whole_pairs
from pairtile.methods.mirna_targets.transcript_model import read_transcript_models
from pairtile.statistics.correction import benjamini_hochberg, known_q_values

message = messages_of(__package__)

MIRNAS_OF_A_TILE, TRANSCRIPTS_OF_A_TILE = 512, 256
"""A tile of mature miRNAs on human transcripts is some 1e10 cells: seconds on a CPU."""

HIT_RATE_AT_SCORE_140, MAX_HIT_RATE, HIT_BYTES = 1.2e-4, 0.05, 750
"""Hits for each letter of a transcript and miRNA: at the usual score, and at any; memory for one.
Measured on random letters, of which 1 in 90 begins a hit of a score of 90."""

SHUFFLED_HITS_AT_ONCE = 500_000
"""Hits of shuffled miRNAs in memory, about."""

SCORE_STEP, SCORE_BINS = 5.0, 200
ENERGY_STEP, ENERGY_BINS = 0.5, 160
"""Histograms of the summary: alignment scores from 0, energies from 0 downwards."""

ALPHA = 0.05
"""q up to which a pair counts as found."""

EDGES = [name for some in declared_columns(__package__, "network.parquet") for name in some.names]
"""All columns of edges that there may be, in their order."""


class MirnaTargets(Estimator[MirnaTargetsConfig, SequenceArrays]):
    """Alignment, filters and duplex energies of every miRNA on every transcript."""

    sort_by: ClassVar[tuple[str, ...]] = ("i", "j", "rank")

    @cached_property
    def n_mirnas(self) -> int:
        """miRNAs that are searched with."""
        return len(self.state["mirna_offsets"]) - 1

    # --- what the plan needs --------------------------------------------------------------------

    @classmethod
    def prepare(
        cls,
        config: MirnaTargetsConfig,
        seed: int,
        scratch: Path | None = None,
        sample: bool = False,
    ) -> PreparedInput[SequenceArrays]:
        prepared = prepare_sequences(config)
        if not config.shuffles:
            return prepared
        if sample:
            note = message("shuffles_by_run", n=config.shuffles)
            return replace(prepared, messages=[*prepared.messages, note])
        null = prepare_null(prepared.state, config.estimator, config.shuffles, seed)
        state: SequenceArrays = {**prepared.state, **null.state}
        return replace(prepared, state=state, messages=prepared.messages + null.messages)

    @classmethod
    def validate(
        cls, config: MirnaTargetsConfig, state: SequenceArrays, items: pd.DataFrame
    ) -> None:
        if config.annotation is not None:
            read_transcript_models(config.annotation)

    @classmethod
    def space(cls, state: SequenceArrays) -> PairSpace:
        return PairSpace(
            "rectangle", len(state["mirna_offsets"]) - 1, len(state["transcript_offsets"]) - 1
        )

    @classmethod
    def memory(
        cls,
        config: MirnaTargetsConfig,
        state: SequenceArrays,
        backend: str,
        rows: int,
        columns: int,
    ) -> int:
        """Hits of a tile of the longest transcripts, with their alignments, among random letters:
        their number rises tenfold with each 23 that the least score falls."""
        lengths = np.sort(np.diff(state["transcript_offsets"]))[::-1]
        hits = rows * float(lengths[:columns].sum()) * _hit_rate(config)
        blocks = super().memory(config, state, backend, rows, columns)
        return blocks + int(HIT_BYTES * (hits + bool(config.shuffles) * SHUFFLED_HITS_AT_ONCE))

    @classmethod
    def cost(
        cls, config: MirnaTargetsConfig, state: SequenceArrays, backend: str, threads: int
    ) -> Cost:
        # Measured: docs/speed.md. With energies, hits cost more than the score pass.
        energies = 3.0 if config.estimator.energies else 1.0
        return Cost(
            (1e12 if backend == "cuda" else 3e9 * threads) / (energies + config.shuffles),
            partial(cells_in, state),
            unit="cells",
            tile_edges=(MIRNAS_OF_A_TILE, TRANSCRIPTS_OF_A_TILE),
            precision="integer",
        )

    @classmethod
    def chunk_parameters(cls, config: MirnaTargetsConfig) -> dict[str, object]:
        return {"estimator": config.estimator, **({"null": config.null} if config.null else {})}

    def schema(self) -> pa.Schema:
        # With a null, the score of the hit's pair, too (kernels.pair_scores).
        pair_score = pa.field("pair_score", pa.float32())
        return ROWS if self.config.null is False else ROWS.append(pair_score)

    # --- tiles ----------------------------------------------------------------------------------

    @cached_property
    def search(self) -> TargetSearch:
        """The search over all sequences, opened when first asked for."""
        mirnas, transcripts = state_sequences(self.state)
        return TargetSearch(mirnas, transcripts, self.config.estimator, self.device)

    def score_tile(self, tile: Tile, selection: Selection) -> tuple[Rows, Summaries]:
        columns = np.arange(tile.column_begin, tile.column_end)
        allowed = self._allowed(tile)
        if self.config.null is False:
            return self._hits(tile, columns, allowed)
        mirnas = range(tile.row_begin, tile.row_end)
        letters = int(self.search.transcripts.lengths[columns].sum())
        null = self.null_counts
        # A GPU counts them where it finds them, and so takes eight times as many.
        at_once = SHUFFLED_HITS_AT_ONCE * (1 if null.counter is None else 8)
        at_once = max(int(at_once / max(1.0, letters * _hit_rate(self.config))), 16)
        shuffled = partial(null.of_shuffles, mirnas, columns, allowed, at_once)
        with ThreadPoolExecutor(1) as pool, null.ahead:
            counting = pool.submit(shuffled) if null.only_gpu else None
            rows, summaries = self._hits(tile, columns, allowed)
            scores, counts = null.of_mirnas(mirnas, columns, allowed)
            counts |= counting.result() if counting else shuffled()
        j = rows_by_length(self.state)[rows["j"] - self.n_mirnas]
        rows["pair_score"] = scores[rows["i"] - tile.row_begin, j - tile.column_begin]
        return rows, summaries | counts

    def _hits(
        self, tile: Tile, columns: NDArray[np.int64], allowed: NDArray[np.bool_] | None
    ) -> tuple[dict[str, DeviceArray], Summaries]:
        hits = self.search.hits(tile.row_begin, tile.row_end, columns, allowed)
        order = np.asarray(self.state["transcript_order"])
        j = (order[hits["j"].to_numpy()] + self.n_mirnas).astype(np.int32)
        sorting = np.lexsort((hits["rank"].to_numpy(), j, hits["i"].to_numpy()))
        hits = hits.set_column(1, "j", pa.array(j)).take(pa.array(sorting))
        rows = {
            name: hits[name].combine_chunks() if name in ALIGNMENT else hits[name].to_numpy()
            for name in ROWS.names
        }
        scanned = tile.cells if allowed is None else int(allowed.sum())
        energies = -np.minimum(hits["energy_kcal_mol"].to_numpy().astype(np.float64), 0.0)
        summaries = {
            "pairs_scored": np.array([scanned], dtype=np.int64),
            "hits": np.array([len(hits)], dtype=np.int64),
            "score_counts": _counts(hits["score"].to_numpy(), SCORE_STEP, SCORE_BINS),
            "energy_counts": _counts(energies, ENERGY_STEP, ENERGY_BINS),
        }
        return rows, summaries

    @cached_property
    def null_counts(self) -> NullCounts:
        """The search of miRNAs and their shuffles for counts, opened when first asked for."""
        transcripts, shuffles = self.search.transcripts, self.config.shuffles
        return NullCounts(self.state, self.config.estimator, transcripts, shuffles, self.device)

    def _allowed(self, tile: Tile) -> NDArray[np.bool_] | None:
        """Which pairs of a tile the restrict list names; None for all."""
        if "restrict" not in self.state:
            return None
        mirnas, transcripts = np.asarray(self.state["restrict"]).T
        shape = (tile.row_end - tile.row_begin, tile.column_end - tile.column_begin)
        row = mirnas - tile.row_begin
        column = rows_by_length(self.state)[transcripts] - tile.column_begin
        inside = (row >= 0) & (row < shape[0]) & (column >= 0) & (column < shape[1])
        found = np.zeros(shape, dtype=bool)
        found[row[inside], column[inside]] = True
        return found

    # --- network and tables ---------------------------------------------------------------------

    def network(self, merged: MergedResults) -> Network:
        by_transcript = self.ranked_pairs(merged)
        edges = self._of_genes(by_transcript)
        edges = edges[[name for name in EDGES if name in edges]]
        if not self.config.estimator.energies:
            edges = edges.drop(columns=["energy_kcal_mol", "total_energy_kcal_mol"])
        genes = {"genes_with_sites": int(edges["target"].nunique())}
        return Network(
            edges,
            directed=True,
            counts={
                **(genes if "gene_items" in self.state else {}),
                "edges": len(edges),
                "mirnas_with_targets": int(edges["source"].nunique()),
                "transcripts_with_sites": by_transcript[
                    by_transcript["n_hits"] > 0
                ].target.nunique(),
                **(
                    {"edges_q_below_0.05": int((edges["joint_q_value"] <= ALPHA).sum())}
                    if "joint_q_value" in edges
                    else {}
                ),
            },
            threshold={
                "score": float(self.config.estimator.score),
                "energy_kcal_mol": float(self.config.estimator.energy)
                if self.config.estimator.energies
                else None,
            },
        )

    def ranked_pairs(self, merged: MergedResults) -> pd.DataFrame:
        """Each pair with a hit, and with ``seed_sites`` each with a seed match, best first: the
        order of the network, of ``targets.tsv`` and of the evaluation.

        ``source``, ``target`` (items), columns of the network; with ``seed_sites`` sites by class,
        with expression correlations, as in ``targets.tsv``.
        """
        scores = [] if self.config.null is False else ["pair_score"]
        columns = ["i", "j", "score", "energy_kcal_mol", *scores]
        parts = [
            target_edges(batch.to_pandas(), ("i", "j"))
            for batch in whole_pairs(merged.batches(columns))
        ]
        pairs = pd.concat(parts, ignore_index=True)
        if self.config.estimator.seed_sites:
            counts = self._by_items(class_counts(self.seed_sites))
            # Pairs without a hit have a score of 0 and no energy.
            whole = ["n_hits", *counts.columns[2:]]
            pairs = (
                pairs.merge(counts, "outer", on=["source", "target"])
                .fillna(dict.fromkeys([*whole, *scores, "score", "total_score"], 0))
                .astype(dict.fromkeys(whole, np.int32))
            )
        return _ranked(pairs if self.config.null is False else self._tested(pairs, merged))

    def _tested(self, pairs: pd.DataFrame, merged: MergedResults) -> pd.DataFrame:
        """With scores, p and q (Benjamini and Hochberg 1995, over all pairs scanned; those that are
        not in the table have p = 1)."""
        evidence = self.evidence
        shuffles, counts = self.config.shuffles, evidence.counts
        if self.config.estimator.seed_sites:
            shuffles, of_own = evidence.shuffles, evidence.own["seed_score"]
        else:
            counts, of_own = (
                self.all_null_counts(merged)["null_pair_score_counts"],
                pairs["pair_score"],
            )
        gain, share = joint_gains(evidence, score_slope(of_own.to_numpy(np.float64), counts))
        own = evidence.own.assign(gain=gain, correlation_p_value=correlation_p_values(evidence))
        own = self._by_items(own[["i", "j", "seed_score", "gain", "correlation_p_value"]])
        pairs = pairs.merge(own, "left", on=["source", "target"])
        if self.config.estimator.seed_sites:
            pairs["pair_score"] = pairs["seed_score"].fillna(0.0)
        null = PairNull.of_counts(counts, shuffles * self._pairs_of_mirnas())
        i, score = pairs["source"].to_numpy(), pairs["pair_score"].to_numpy(np.float64)
        total = score + pairs["gain"].fillna(0.0).to_numpy()
        pairs = pairs.assign(pair_score=score.round(4), joint_score=total.round(4))
        n_tests = int(self._pairs_of_mirnas().sum())
        log_p = {"": null.log_p(i, score), "joint_": joint_log_p(share, null, i, total)}
        for name, values in log_p.items():
            pairs[f"{name}p_value"] = 10.0**values
            pairs[f"{name}q_value"] = benjamini_hochberg(10.0**values, n_tests)
        if "mirna_ranks" in self.state:
            j = rows_by_length(self.state)[pairs["target"] - self.n_mirnas]
            pairs = pairs.assign(
                correlation=Correlations(self.state).of_pairs(i, j).round(6),
                correlation_q_value=known_q_values(pairs["correlation_p_value"]),
            )
        return pairs

    def _by_items(self, pairs: pd.DataFrame) -> pd.DataFrame:
        """Pairs by rows of the state, ``i`` and ``j``, as pairs of items."""
        j = np.asarray(self.state["transcript_order"])[pairs.pop("j")] + self.n_mirnas
        pairs.insert(0, "source", pairs.pop("i").astype(np.int32))
        pairs.insert(1, "target", j.astype(np.int32))
        return pairs

    @cached_property
    def seed_sites(self) -> SeedSites:
        """All seed matches of the pairs that are scanned (``seed_sites``)."""
        mirnas, transcripts = state_sequences(self.state)
        sites = SeedIndex(transcripts).sites(mirnas)
        listed = self._restricted_rows()
        if listed is None:
            return sites
        keys = listed[:, 0] << 32 | listed[:, 1]
        return sites.taken(np.isin(sites.i << 32 | sites.j, keys))

    @cached_property
    def evidence(self) -> Evidence:
        """What speaks for pairs beside their hits, with a null (``evidence``)."""
        listed, scored = self._restricted_rows(), self.config.estimator.seed_sites
        return collect_evidence(self.state, self.config.shuffles, listed, scored)

    def all_null_counts(self, merged: MergedResults) -> dict[str, NDArray[np.int64]]:
        """What the tiles counted, added up, with a null (``null.count_shapes``)."""
        shapes = count_shapes(self.state, self.config.shuffles, self.conservation)
        return {
            name: merged.sums.get(name, np.zeros(shape, np.int64)) for name, shape in shapes.items()
        }

    @cached_property
    def conservation(self) -> Conservation | None:
        """Which species keep sites; None without orthologs."""
        return Conservation(self.state) if "ortholog_codes" in self.state else None

    def _restricted_pairs(self) -> NDArray[np.int64] | None:
        """The pairs of the restrict list, each once: int64 (pairs, 2); None without."""
        if "restrict" not in self.state:
            return None
        return np.unique(np.asarray(self.state["restrict"], dtype=np.int64), axis=0)

    def _restricted_rows(self) -> NDArray[np.int64] | None:
        """The same by rows of the state, sorted by miRNA."""
        listed = self._restricted_pairs()
        if listed is None:
            return None
        return np.stack([listed[:, 0], rows_by_length(self.state)[listed[:, 1]]], axis=1)

    def _pairs_of_mirnas(self) -> NDArray[np.int64]:
        listed = self._restricted_pairs()
        if listed is None:
            return np.full(self.n_mirnas, len(self.state["transcript_offsets"]) - 1)
        return np.bincount(listed[:, 0], minlength=self.n_mirnas)

    def _transcripts_of_genes(self, edges: pd.DataFrame) -> tuple[NDArray[np.int64], int]:
        """Of each edge to a gene, how many transcripts were scanned; how many such pairs there are
        with or without a hit."""
        genes = np.asarray(self.state["gene_items"], dtype=np.int64)
        listed = self._restricted_pairs()
        if listed is None:
            gene_counts = np.bincount(genes)
            return gene_counts[edges["target"].to_numpy()], self.n_mirnas * int(
                (gene_counts > 0).sum()
            )
        keys, number = np.unique(listed[:, 0] << 32 | genes[listed[:, 1]], return_counts=True)
        wanted = edges["source"].to_numpy(np.int64) << 32 | edges["target"].to_numpy(np.int64)
        return number[np.searchsorted(keys, wanted)], len(keys)

    def _of_genes(self, edges: pd.DataFrame) -> pd.DataFrame:
        """Edges to transcripts, best first, as edges to genes by the best transcript of each.

        p of a gene is that of its best transcript times the number of its transcripts that were
        scanned (Bonferroni).
        """
        if "gene_items" not in self.state:
            return edges
        edges = edges.copy()
        genes = np.asarray(self.state["gene_items"])
        edges["target"] = genes[edges["target"].to_numpy() - self.n_mirnas]
        edges["n_transcripts"] = (
            edges.groupby(["source", "target"])["score"].transform("size").astype(np.int32)
        )
        edges = edges.drop_duplicates(["source", "target"]).reset_index(drop=True)
        if "p_value" not in edges:
            return edges
        n_scanned, n_tests = self._transcripts_of_genes(edges)
        for name in ("", "joint_"):
            p = np.minimum(edges[f"{name}p_value"].to_numpy() * n_scanned, 1.0)
            edges[f"{name}p_value"], edges[f"{name}q_value"] = p, benjamini_hochberg(p, n_tests)
        return _ranked(edges)

    def ranking(self, merged: MergedResults) -> Ranking:
        edges = self._of_genes(self.ranked_pairs(merged))
        if self.config.null is False:
            score = edges["total_score"]
        else:
            # Their order, equals in one place.
            ranks = edges[["joint_p_value", "joint_score"]]
            score = -(ranks != ranks.shift()).any(axis=1).cumsum().astype(np.float64)
        return Ranking(edges[["source", "target"]].assign(score=score), directed=True)

    def result_arrays(
        self, merged: MergedResults, network: Network
    ) -> dict[str, NDArray[np.generic]]:
        null: dict[str, NDArray[np.generic]] = {}
        if self.config.null is not False:  # what chance gives, beside what there is
            sums = self.all_null_counts(merged)
            drawn = sums["null_site_counts"]
            table = class_table(sums["site_counts"].sum(axis=1), drawn.sum(axis=2))
            pairs, expected = (
                reverse_cumsum(sums[f"{of}pair_score_counts"].sum(axis=0)) for of in ("", "null_")
            )
            null = {f"null_{name}": values for name, values in table.items()} | {
                "null_pair_scores": np.arange(PAIR_BINS) * PAIR_STEP,
                "null_pairs": pairs,
                "null_pairs_expected": expected / len(drawn),
            }
        return null | {
            "edges": np.arange(SCORE_BINS + 1) * SCORE_STEP,
            "counts": merged.sums.get("score_counts", np.zeros(SCORE_BINS, dtype=np.int64)),
            "threshold_unit": np.array("alignment score"),
            "threshold": np.array(float(self.config.estimator.score)),
            "energy_edges": -np.arange(ENERGY_BINS + 1)[::-1] * ENERGY_STEP,
            "energy_counts": merged.sums.get(
                "energy_counts", np.zeros(ENERGY_BINS, dtype=np.int64)
            )[::-1],
        }

    def tables(self, merged: MergedResults, items: pd.DataFrame, folder: Path) -> TableSummary:
        from pairtile.methods.mirna_targets.export import null_tables, write_target_tables

        pairs, counts, tables = self.ranked_pairs(merged), None, {}
        if self.config.null is not False:
            counts, sums = self.all_null_counts(merged), self.evidence.sums
            tables = null_tables(counts, items, self.config, self.conservation, sums)
        seed_sites = self.seed_sites if self.config.estimator.seed_sites else None
        return write_target_tables(self, merged, items, folder, pairs, counts, tables, seed_sites)


def cells_in(state: SequenceArrays, tile: Tile) -> int:
    """Cells of a tile's alignments: letters of the miRNAs times letters of the transcripts."""
    mirnas, transcripts = state["mirna_offsets"], state["transcript_offsets"]
    rows = int(mirnas[tile.row_end] - mirnas[tile.row_begin])
    return rows * int(transcripts[tile.column_end] - transcripts[tile.column_begin])


def _hit_rate(config: MirnaTargetsConfig) -> float:
    """Hits for each letter of a transcript and miRNA, among random letters."""
    rate = HIT_RATE_AT_SCORE_140 * np.exp(0.1 * (140.0 - config.estimator.score))
    return float(min(rate, MAX_HIT_RATE))


def _counts(values: NDArray[np.float64], step: float, bins: int) -> NDArray[np.int64]:
    place = np.clip((values / step).astype(np.int64), 0, bins - 1)
    return np.bincount(place, minlength=bins).astype(np.int64)


def _ranked(edges: pd.DataFrame) -> pd.DataFrame:
    """Lowest joint p first, where there is one; then highest score and lowest energy."""
    by = {"score": False, "energy_kcal_mol": True, "source": True, "target": True}
    if "joint_p_value" in edges:
        by = {"joint_p_value": True, "joint_score": False} | by
        edges = edges.assign(neg_log10_p=-np.log10(edges["joint_p_value"]))
    return edges.sort_values(list(by), ascending=list(by.values()), ignore_index=True)


def target_edges(hits: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """Add up the hits of each pair, in order of the pairs' first hits.

    hits : columns ``score``, ``energy_kcal_mol`` and both of ``pair``, which name miRNA and
    transcript, one row for each hit.

    Returns ``source``, ``target``, ``score`` (greatest), ``energy_kcal_mol`` (lowest), ``n_hits``
    int32, ``total_score``, ``total_energy_kcal_mol``. Energies are rounded to the 0.01 kcal/mol in
    which they are counted.
    """
    edges = (
        hits.assign(energy_kcal_mol=hits["energy_kcal_mol"].astype(np.float64).round(2))
        .groupby(list(pair), sort=False)
        .agg(
            score=("score", "max"),
            energy_kcal_mol=("energy_kcal_mol", "min"),
            n_hits=("score", "size"),
            total_score=("score", "sum"),
            total_energy_kcal_mol=("energy_kcal_mol", "sum"),
            **({"pair_score": ("pair_score", "first")} if "pair_score" in hits else {}),
        )
        .reset_index()
        .rename(columns=dict(zip(pair, ("source", "target"), strict=True)))
        .astype({"n_hits": np.int32})
    )
    edges["total_energy_kcal_mol"] = edges["total_energy_kcal_mol"].round(2)
    return edges
