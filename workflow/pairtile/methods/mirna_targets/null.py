"""The sites that chance gives: shuffled miRNAs, searched as the miRNAs are.

Each miRNA has shuffles of its own that keep its dinucleotides and whose seeds are to be expected in
these transcripts as often as its own (after Lewis et al. 2005, Cell 120:15, and Friedman et al.
2009, Genome Res. 19:92): of many shuffles, those nearest in the expected number of canonical
sites. What is to be expected comes from a Markov chain of second order, not from the number of
matches, which is what is tested.

Of the shuffles only counts are kept: their sites by class and score, and their pairs by pair score
(``kernels.pair_scores``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.arrays import NullArrays, SequenceArrays
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.conservation import CANONICAL, Conservation
from pairtile.methods.mirna_targets.expression import Correlations, correlation_bins
from pairtile.methods.mirna_targets.expression import count_shapes as expression_counts
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.kernels.pair_scores import (
    CLASSES,
    PAIR_BINS,
    PAIR_STEP,
    SCORE_BINS,
    SCORE_STEP,
    Background,
    PairSites,
    add_at,
    expected_words,
    score_pairs,
)
from pairtile.methods.mirna_targets.kernels.shuffled_mirnas import (
    MarkovChain,
    Shuffles,
    SiteWords,
    log_canonical_probability,
    shuffle_mirnas,
)
from pairtile.methods.mirna_targets.scoring import CODES, OTHER
from pairtile.methods.mirna_targets.search import SequenceBatch, Sites, TargetSearch, TracedBlock
from pairtile.runtime.threads import in_threads, one_ahead

DRAWS_PER_SHUFFLE = 10
"""So many shuffles are drawn for each that is kept."""

MIN_DISTINCT = 20
"""A miRNA with fewer different shuffles has p-values of too few."""

OWN_LETTERS = 200.0
"""A transcript's composition counts as if so many letters of the average were in it, too."""

LETTERS_AT_ONCE = 1 << 22
"""Letters of a transcript that are counted at a time."""

SAMPLE_MIRNAS, SAMPLE_LETTERS = 200, 200_000
"""Shuffles and letters of transcripts from which the rates of hits are measured."""

_LETTERS = {"U": np.frombuffer(b"ACGUN", np.uint8), "T": np.frombuffer(b"ACGTN", np.uint8)}


@dataclass(frozen=True)
class PreparedNull:
    """Shuffles, what pair scores need, and what there is to say of them."""

    state: NullArrays
    notes: list[str]
    warnings: list[str]


def prepare_null(
    state: SequenceArrays, settings: AlignmentConfig, shuffles: int, seed: int
) -> PreparedNull:
    """Draw the shuffles and measure what pair scores need; ``state``: of ``PreparedSequences``."""
    mirnas = SequenceBatch(state["mirna_text"], state["mirna_offsets"])
    transcripts = SequenceBatch(state["transcript_text"], state["transcript_offsets"])
    chain, background = transcript_model(transcripts)
    drawn, distinct, mismatch = matched_shuffles(mirnas, chain, shuffles, seed)
    rates = hit_rates(drawn, transcripts, settings, SiteWords.of(*_coded(drawn), chain), background)
    notes, warnings = [], []
    if len(mirnas):
        off = np.expm1(np.quantile(mismatch, 0.95))
        notes.append(
            f"Null: {shuffles} shuffles of each miRNA; for 95 % of miRNAs the number of canonical "
            f"sites to be expected of them is within {off:.1%} of its own, on average."
        )
    few = int((distinct < MIN_DISTINCT).sum())
    if few:
        warnings.append(
            f"{few} of {len(mirnas)} miRNAs have fewer than {MIN_DISTINCT} different shuffles "
            "that keep their dinucleotides; their p-values rest on these alone."
        )
    return PreparedNull(
        {
            "null_text": drawn.text,
            "null_offsets": drawn.offsets,
            "null_start": chain.start,
            "null_step": chain.step,
            "null_log_ratio": background.log_ratio,
            "null_rates": rates,
        },
        notes,
        warnings,
    )


# --- what transcripts let expect ------------------------------------------------------------------


def transcript_model(transcripts: SequenceBatch) -> tuple[MarkovChain, Background]:
    """The Markov chain of all transcripts, and the composition of each."""
    codes = CODES[transcripts.text]
    threes = np.zeros(64, dtype=np.float64)
    composition = np.zeros((len(transcripts), 4))
    for row, (begin, end) in enumerate(
        zip(transcripts.offsets[:-1].tolist(), transcripts.offsets[1:].tolist(), strict=True)
    ):
        for first in range(begin, end, LETTERS_AT_ONCE):
            letters = codes[first : min(first + LETTERS_AT_ONCE + 2, end)].astype(np.int64)
            own = np.bincount(letters[:LETTERS_AT_ONCE], minlength=OTHER + 1)
            composition[row] += own[:OTHER]
            known = letters < OTHER
            whole = known[:-2] & known[1:-1] & known[2:]
            three = (letters[:-2] * 4 + letters[1:-1]) * 4 + letters[2:]
            threes += np.bincount(three[whole], minlength=64)
    threes = threes.reshape(16, 4) + 1.0
    of_two = threes.sum(axis=1, keepdims=True)
    chain = MarkovChain(np.log(of_two[:, 0] / of_two.sum()), np.log(threes / of_two).reshape(-1))
    share = (composition.sum(axis=0) + 1.0) / (composition.sum() + 4.0)
    own = composition + OWN_LETTERS * share
    ratio = np.log(own / own.sum(axis=1, keepdims=True) / share)
    return chain, Background(_places(transcripts), ratio)


def _places(transcripts: SequenceBatch) -> NDArray[np.float64]:
    """Where a site of seven letters may lie."""
    return np.maximum(transcripts.lengths - 6, 1).astype(np.float64)


def hit_rates(
    shuffles: SequenceBatch,
    transcripts: SequenceBatch,
    settings: AlignmentConfig,
    words: SiteWords,
    background: Background,
) -> NDArray[np.float64]:
    """Hits of each seed class with a score of each step or higher, for each word to be expected.

    Measured on some of the shuffles and transcripts: float64 (CLASSES, SCORE_BINS), above 0.
    """
    controls = _spread(len(shuffles), SAMPLE_MIRNAS)
    rows = _spread(len(transcripts), max(len(transcripts), 1))
    if len(transcripts) and transcripts.offsets[-1] > SAMPLE_LETTERS:
        share = SAMPLE_LETTERS / int(transcripts.offsets[-1])
        rows = _spread(len(transcripts), max(1, int(len(transcripts) * share)))
    sample = transcripts.block(rows, SAMPLE_LETTERS)
    untrimmed = settings.model_copy(update={"trim": None})
    search = TargetSearch(shuffles.block(controls), sample, untrimmed, choose("cpu"))
    sites = search.sites(0, len(controls), np.arange(len(rows)))
    counts = np.zeros((CLASSES, SCORE_BINS), dtype=np.float64)
    np.add.at(counts, (sites.seed_class, score_bins(sites.score, settings)), 1.0)
    expected = np.zeros((len(controls) * len(rows), CLASSES))
    pairs = np.repeat(controls, len(rows)), np.tile(np.arange(len(rows)), len(controls))
    sampled = Background(_places(sample), background.log_ratio[rows])
    expected_words(*pairs, words, sampled, expected)
    at_least = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    # Half a hit where none was seen: a rate of 0 would make the first hit infinitely unlikely.
    return np.maximum(at_least, 0.5) / np.maximum(expected.sum(axis=0), 0.5)[:, None]


def _spread(count: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` of 0 .. count - 1, evenly spread."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.int64))


def score_bins(score: NDArray[np.integer], settings: AlignmentConfig) -> NDArray[np.int8]:
    """Number of the step of each alignment score."""
    if not len(score):
        return np.empty(0, np.int8)
    low = int(score.min())
    # Of each score there is, once: there are few, and hits by the million.
    step = (np.arange(low, int(score.max()) + 1) - settings.score) // SCORE_STEP
    of_score = np.clip(step, 0, SCORE_BINS - 1).astype(np.int8)
    return of_score[score - low]


# --- shuffles -------------------------------------------------------------------------------------


def matched_shuffles(
    mirnas: SequenceBatch, chain: MarkovChain, shuffles: int, seed: int
) -> tuple[SequenceBatch, NDArray[np.int64], NDArray[np.float64]]:
    """``shuffles`` of each miRNA, nearest to it in the expected number of canonical sites.

    Draws are keyed on the seed and the miRNA's letters. None has the miRNA's own positions 2 to 8,
    and all are different, where so many such shuffles were drawn; else they are repeated.

    Returns
    -------
    The shuffles, those of the first miRNA, of the second, ...; int64 (miRNAs,), how many are
    different; float64 (miRNAs,), |log| of the expected number, mean of the shuffles over the miRNA.
    """
    draws = DRAWS_PER_SHUFFLE * shuffles
    parts, distinct, mismatch = [], [], []
    for begin in range(0, len(mirnas), 256):
        block = mirnas.block(np.arange(begin, min(begin + 256, len(mirnas))))
        codes, offsets = _coded(block)
        drawn = Shuffles(
            codes=np.empty(draws * len(codes), dtype=np.uint8),
            key=np.empty((len(block), draws), dtype=np.uint64),
            expected=np.empty((len(block), draws)),
            same_seed=np.empty((len(block), draws), dtype=np.bool_),
        )
        shuffle_mirnas(codes, offsets, _random_starts(block, seed), chain, drawn)
        for k, n in enumerate(block.lengths.tolist()):
            own = log_canonical_probability(codes[offsets[k] : offsets[k + 1]], chain)
            gap = np.abs(drawn.expected[k] - own) + 1e6 * drawn.same_seed[k]
            first = np.unique(drawn.key[k], return_index=True)[1]
            first.sort()
            nearest = first[np.argsort(gap[first], kind="stable")][:shuffles]
            other = nearest[~drawn.same_seed[k, nearest]]
            nearest = other if len(other) else nearest
            chosen = np.resize(nearest, shuffles)
            of_mirna = drawn.codes[draws * offsets[k] :][: draws * n].reshape(draws, n)
            text = block.text[offsets[k] : offsets[k + 1]]
            letters = _LETTERS["T" if np.isin(text, (ord("T"), ord("t"))).any() else "U"]
            parts.append(letters[of_mirna[chosen]].reshape(-1))
            distinct.append(len(nearest))
            mismatch.append(abs(np.log(np.exp(drawn.expected[k, chosen] - own).mean())))
    lengths = np.repeat(mirnas.lengths, shuffles)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    text = np.concatenate([np.empty(0, np.uint8), *parts])
    return SequenceBatch(text, offsets), np.array(distinct, np.int64), np.array(mismatch)


def _coded(sequences: SequenceBatch) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return CODES[sequences.text], sequences.offsets


def _random_starts(mirnas: SequenceBatch, seed: int) -> NDArray[np.uint64]:
    starts = []
    for begin, end in zip(mirnas.offsets[:-1], mirnas.offsets[1:], strict=True):
        codes = CODES[mirnas.text[begin:end]].tobytes()
        digest = hashlib.blake2b(codes, digest_size=8, key=f"shuffles {seed}".encode()).digest()
        starts.append(int.from_bytes(digest, "little"))
    return np.array(starts, dtype=np.uint64)


# --- counts of tiles ------------------------------------------------------------------------------


def count_shapes(
    n_mirnas: int, shuffles: int, levels: int, expression: bool
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what is counted, in tiles and, added up, in all.

    levels : those of ``Conservation``; 0 without orthologs, and then the last four are not there.
    expression : whether there are those of ``expression.count_shapes``, too.

    site_counts             sites of the miRNAs by class and score
    mirna_sites             sites of each miRNA by class
    pair_score_counts       pairs of each miRNA with a site, by pair score
    null_site_counts        sites of the first shuffles of all miRNAs, of the second, ...
    null_mirna_sites        sites of all shuffles of a miRNA by class
    null_mirna_canonical    canonical sites of each shuffle
    null_pair_score_counts  pairs of all shuffles of a miRNA with a site, by pair score
    kept_counts             sites of the miRNAs on transcripts with an ortholog, by class and level
    mirna_kept              of each miRNA
    null_kept_counts        of the first shuffles of all miRNAs, of the second, ...
    null_mirna_kept         of all shuffles of a miRNA
    """
    kept = {
        "kept_counts": (CLASSES, levels),
        "mirna_kept": (n_mirnas, CLASSES, levels),
        "null_kept_counts": (shuffles, CLASSES, levels),
        "null_mirna_kept": (n_mirnas, CLASSES, levels),
    }
    return {
        "site_counts": (CLASSES, SCORE_BINS),
        "mirna_sites": (n_mirnas, CLASSES),
        "pair_score_counts": (n_mirnas, PAIR_BINS),
        "null_site_counts": (shuffles, CLASSES, SCORE_BINS),
        "null_mirna_sites": (n_mirnas, CLASSES),
        "null_mirna_canonical": (n_mirnas, shuffles),
        "null_pair_score_counts": (n_mirnas, PAIR_BINS),
        **(kept if levels else {}),
        **(expression_counts(n_mirnas, shuffles) if expression else {}),
    }


def all_counts(
    sums: Mapping[str, NDArray[np.int64]], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, NDArray[np.int64]]:
    """The counts of a merge, 0 where there was no tile; shapes : ``count_shapes``."""
    return {name: sums.get(name, np.zeros(shape, np.int64)) for name, shape in shapes.items()}


class NullCounts:
    """Counts what miRNAs and their shuffles have in tiles; opened once on the state."""

    def __init__(
        self,
        state: SequenceArrays,
        settings: AlignmentConfig,
        transcripts: SequenceBatch,
        shuffles: int,
        device: Any,
    ) -> None:
        self.settings = settings
        self.n_mirnas = len(state["mirna_offsets"]) - 1
        self.shuffles = shuffles
        self.conservation = Conservation(state) if "ortholog_codes" in state else None
        self.correlations = Correlations(state) if "mirna_ranks" in state else None
        levels = self.conservation.levels if self.conservation else 0
        expression = self.correlations is not None
        self.shapes = count_shapes(self.n_mirnas, shuffles, levels, expression)
        shuffled = SequenceBatch(np.asarray(state["null_text"]), np.asarray(state["null_offsets"]))
        mirnas = SequenceBatch(np.asarray(state["mirna_text"]), np.asarray(state["mirna_offsets"]))
        chain = MarkovChain(np.asarray(state["null_start"]), np.asarray(state["null_step"]))
        self.background = Background(_places(transcripts), np.asarray(state["null_log_ratio"]))
        self.rates = np.asarray(state["null_rates"])
        self.words = SiteWords.of(*_coded(mirnas), chain)
        self.shuffled_words = SiteWords.of(*_coded(shuffled), chain)
        self.search = TargetSearch(mirnas, transcripts, settings, device)
        self.shuffled_search = TargetSearch(shuffled, transcripts, settings, device)

    def of_mirnas(
        self, rows: range, columns: NDArray[np.int64], allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.float32], dict[str, NDArray[np.int64]]]:
        """Pair scores of the miRNAs, float32 (rows, columns), 0 without a site; and counts."""
        sites = self.search.sites(rows.start, rows.stop, columns, allowed)
        bins = score_bins(sites.score, self.settings)
        found = self._pairs(sites, bins, self.words)
        scores = np.zeros((len(rows), len(columns)), dtype=np.float32)
        scores[found.i - rows.start, found.j - columns[0]] = found.score
        places: dict[str, tuple[NDArray[Any], ...]] = {
            "site_counts": (sites.seed_class, bins),
            "mirna_sites": (sites.i, sites.seed_class),
            "pair_score_counts": (found.i, pair_score_bins(found.score)),
        }
        if self.conservation is not None:
            i, seed_class, level = self._kept(self.conservation, sites, self.search)
            places["kept_counts"] = seed_class, level
            places["mirna_kept"] = i, seed_class, level
        if self.correlations is not None:
            correlations = self.correlations.of_tile(rows, columns)
            i, step = _correlated(sites, correlations, rows.start, columns, 1)
            places["correlation_counts"] = i, step
        counts = {name: np.zeros(self.shapes[name], dtype=np.int64) for name in places}
        for name, place in places.items():
            _count(counts[name], place)
        return scores, counts

    def of_shuffles(
        self,
        rows: range,
        columns: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        at_once: int,
    ) -> dict[str, NDArray[np.int64]]:
        """Counts of the shuffles of some miRNAs, ``at_once`` at a time. A GPU searches with the
        next ones while these are counted."""
        k = self.shuffles
        total = {
            name: np.zeros(shape, dtype=np.int64)
            for name, shape in self.shapes.items()
            if name.startswith("null_")
        }
        correlations = None
        if self.correlations is not None:
            correlations = self.correlations.of_tile(rows, columns)

        def blocks() -> Iterator[TracedBlock]:
            for begin in range(rows.start * k, rows.stop * k, at_once):
                end = min(begin + at_once, rows.stop * k)
                wanted = None
                if allowed is not None:
                    wanted = allowed[np.arange(begin, end) // k - rows.start]
                    if not wanted.any():
                        continue
                yield self.shuffled_search.traced(begin, end, columns, wanted)

        for block in one_ahead(blocks()):
            sites = self.shuffled_search.sites_of(block)
            bins = score_bins(sites.score, self.settings)
            found = self._pairs(sites, bins, self.shuffled_words)
            mirna, shuffle = np.divmod(sites.i, k)
            canonical = sites.seed_class >= CANONICAL.start
            places: dict[str, tuple[NDArray[Any], ...]] = {
                "null_site_counts": (shuffle, sites.seed_class, bins),
                "null_mirna_sites": (mirna, sites.seed_class),
                "null_mirna_canonical": (mirna[canonical], shuffle[canonical]),
                "null_pair_score_counts": (found.i // k, pair_score_bins(found.score)),
            }
            if self.conservation is not None:
                i, seed_class, level = self._kept(self.conservation, sites, self.shuffled_search)
                places["null_kept_counts"] = i % k, seed_class, level
                places["null_mirna_kept"] = i // k, seed_class, level
            if correlations is not None:
                i, step = _correlated(sites, correlations, rows.start, columns, k)
                places["null_correlation_counts"] = i // k, step
                places["null_correlation_pairs"] = i // k, i % k
                _count(total["null_correlation_sums"], (i // k, i % k), step)
            counted = [(total[name], place) for name, place in places.items()]
            list(in_threads(lambda one: _count(*one), counted))
        return total

    @staticmethod
    def _kept(
        conservation: Conservation, sites: Sites, search: TargetSearch
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Of the sites on transcripts with an ortholog: miRNA, seed class and level."""
        there = np.flatnonzero(conservation.species_of(sites.j) > 0)
        i, j, seed_class = sites.i[there], sites.j[there], sites.seed_class[there]
        return i, seed_class, conservation.kept(search.coded_mirnas, i, j, seed_class).level

    def _pairs(self, sites: Sites, bins: NDArray[np.int8], words: SiteWords) -> ScoredPairs:
        pair = sites.i.astype(np.int64) << 32 | sites.j
        first = np.flatnonzero(np.r_[True, np.diff(pair) != 0][: len(pair)])
        i, j = sites.i[first], sites.j[first]
        score = np.empty(len(first), dtype=np.float32)
        score_pairs(
            PairSites(
                np.r_[first, len(pair)].astype(np.int64),
                i.astype(np.int64),
                j.astype(np.int64),
                sites.seed_class,
                bins,
            ),
            words,
            self.background,
            self.rates,
            score,
        )
        return ScoredPairs(i, j, score)


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs with a site: rows i and j, int32, and pair score, float32."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    score: NDArray[np.float32]


def pair_score_bins(score: NDArray[np.floating]) -> NDArray[np.int64]:
    """Number of the step of each pair score."""
    return np.minimum((score / np.float32(PAIR_STEP)).astype(np.int64), PAIR_BINS - 1)


def _count(
    total: NDArray[np.int64],
    places: tuple[NDArray[Any], ...],
    weights: NDArray[np.int64] | None = None,
) -> None:
    """Add 1, or the weight, to ``total`` at each place."""
    flat = np.zeros(len(places[0]), dtype=np.int64)
    for size, place in zip(total.shape, places, strict=True):
        flat *= size
        flat += place
    add_at(total.reshape(-1), flat, flat if weights is None else weights, weights is not None)


def _correlated(
    sites: Sites,
    correlations: NDArray[np.float64],
    first: int,
    columns: NDArray[np.int64],
    shuffles: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of pairs with a canonical site and a correlation: row, and step of the correlation.

    correlations   of a tile whose rows are miRNAs from ``first`` on; ``shuffles`` rows of sites are
                   of each
    """
    some = np.flatnonzero(sites.seed_class >= CANONICAL.start)
    i, j = sites.i[some].astype(np.int64), sites.j[some].astype(np.int64)
    each = np.r_[True, (np.diff(i) != 0) | (np.diff(j) != 0)][: len(i)]
    i, j = i[each], j[each]
    found = correlations[i // shuffles - first, j - columns[0]]
    known = np.isfinite(found)
    return i[known], correlation_bins(found[known])


# --- tests ----------------------------------------------------------------------------------------


def pair_p_values(
    mirna: NDArray[np.integer],
    score: NDArray[np.floating],
    null_counts: NDArray[np.int64],
    null_pairs: NDArray[np.int64],
) -> NDArray[np.float64]:
    """How often a pair of the miRNA's shuffles scores as high or higher.

    (1 + their pairs in this step of scores or above) / (1 + their pairs); 1 in the first step,
    where pairs without a site are.

    mirna         int (pairs,): row of the miRNA
    score         float (pairs,): pair score
    null_counts   int64 (miRNAs, PAIR_BINS): of the shuffles' pairs with a site
    null_pairs    int64 (miRNAs,): all pairs of the shuffles, with or without
    """
    at_least = np.cumsum(null_counts[:, ::-1], axis=1)[:, ::-1]
    step = pair_score_bins(score)
    p = (1.0 + at_least[mirna, step]) / (1.0 + null_pairs[mirna])
    return np.where(step == 0, 1.0, p)


def class_table(
    observed: NDArray[np.int64], shuffled: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Sites against those of the shuffles, by class and for all canonical ones and all together.

    observed   int64 (CLASSES,)
    shuffled   int64 (shuffles, CLASSES)

    Returns arrays (CLASSES + 2,): classes in the order of ``SEED_CLASSES``, canonical, all;
    ``sites``, ``expected`` (mean of the shuffles), ``ratio``, ``ratio_low``, ``ratio_high`` (to the
    97.5 and 2.5 % quantiles of the shuffles), ``p_value`` (shuffles with as many or more).
    """
    groups = [*np.eye(CLASSES, dtype=np.int64), np.zeros(CLASSES, np.int64), np.ones(CLASSES, int)]
    groups[CLASSES][CANONICAL] = 1
    member = np.stack(groups)
    real = (member @ observed).astype(np.float64)
    drawn = (shuffled @ member.T).astype(np.float64)
    expected = drawn.mean(axis=0)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = {
            "ratio": real / expected,
            "ratio_low": real / high,
            "ratio_high": real / low,
        }
    p = (1.0 + (drawn >= real).sum(axis=0)) / (1.0 + len(drawn))
    return {"sites": real, "expected": expected, **ratios, "p_value": p}


CLASS_ROWS = (*SEED_CLASSES, "canonical", "all")
"""Rows of ``class_table``."""
