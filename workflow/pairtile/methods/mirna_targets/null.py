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
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pairtile.arrays import (
    BoolArray,
    Float32Array,
    Float64Array,
    FloatingArray,
    Int8Array,
    Int64Array,
    IntegerArray,
)
from pairtile.declare.messages import Message, messages_of
from pairtile.gpu.device import Device, choose
from pairtile.methods.mirna_targets.arrays import NullArrays, SequenceArrays
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.conservation import CANONICAL, Conservation
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
from pairtile.methods.mirna_targets.kernels.site_context import WORD, count_words
from pairtile.methods.mirna_targets.null_cuda import SiteCounter
from pairtile.methods.mirna_targets.records import PreparedPart
from pairtile.methods.mirna_targets.scoring import (
    OTHER,
    SequenceBatch,
    offsets_of,
    pair_starts,
    reverse_cumsum,
    state_sequences,
)
from pairtile.methods.mirna_targets.search import Sites, TargetSearch
from pairtile.methods.mirna_targets.seed_sites import SeedSites
from pairtile.runtime.threads import in_threads
from pairtile.statistics.dependence import evenly_spaced

message = messages_of(__package__)

MIN_DISTINCT = 20
"""A miRNA with fewer different shuffles has p-values of too few."""

SAMPLE_MIRNAS, SAMPLE_LETTERS = 200, 200_000
"""Shuffles and letters of transcripts from which the rates of hits are measured."""

_LETTERS = {"U": np.frombuffer(b"ACGUN", np.uint8), "T": np.frombuffer(b"ACGTN", np.uint8)}


def prepare_null(
    state: SequenceArrays, settings: AlignmentConfig, shuffles: int, seed: int
) -> PreparedPart[NullArrays]:
    """Draw the shuffles and measure what pair scores need; ``state``: that of the sequences."""
    mirnas, transcripts = state_sequences(state)
    chain, background = transcript_model(transcripts)
    drawn, distinct, mismatch = matched_shuffles(mirnas, chain, shuffles, seed)
    rates = hit_rates(drawn, transcripts, settings, SiteWords.of_mirnas(drawn, chain), background)
    messages: list[Message] = []
    if len(mirnas):
        messages.append(message("shuffles", n=shuffles, off=np.expm1(np.quantile(mismatch, 0.95))))
    few = int((distinct < MIN_DISTINCT).sum())
    if few:
        messages.append(message("few_shuffles", n=few, mirnas=len(mirnas), wanted=MIN_DISTINCT))
    return PreparedPart(
        {
            "null_text": drawn.text,
            "null_offsets": drawn.offsets,
            "null_start": chain.start,
            "null_step": chain.step,
            "null_log_ratio": background.log_ratio,
            "null_rates": rates,
        },
        {},
        messages,
    )


# --- what transcripts let expect ------------------------------------------------------------------


def transcript_model(transcripts: SequenceBatch) -> tuple[MarkovChain, Background]:
    """The Markov chain of all transcripts, and the composition of each."""
    words = np.zeros(5**WORD, dtype=np.int64)
    count_words(transcripts.texts, words)
    threes = words.reshape(-1, 5, 5, 5).sum(axis=0)[:OTHER, :OTHER, :OTHER].reshape(16, 4) + 1.0
    codes, begins = transcripts.codes, transcripts.offsets[:-1]
    composition = np.stack(
        [np.add.reduceat(codes == letter, begins, dtype=np.int64) for letter in range(OTHER)],
        axis=1,
    )
    of_two = threes.sum(axis=1, keepdims=True)
    chain = MarkovChain(np.log(of_two[:, 0] / of_two.sum()), np.log(threes / of_two).reshape(-1))
    share = (composition.sum(axis=0) + 1.0) / (composition.sum() + 4.0)
    # A composition counts as if 200 letters of the average were in it, too.
    weighted = composition + 200.0 * share
    ratio = np.log(weighted / weighted.sum(axis=1, keepdims=True) / share)
    return chain, Background(_places(transcripts), ratio)


def _places(transcripts: SequenceBatch) -> Float64Array:
    """Where a site of seven letters may lie."""
    return np.maximum(transcripts.lengths - 6, 1).astype(np.float64)


def hit_rates(
    shuffles: SequenceBatch,
    transcripts: SequenceBatch,
    settings: AlignmentConfig,
    words: SiteWords,
    background: Background,
) -> Float64Array:
    """Hits of each seed class with a score of each step or higher, for each word to be expected.

    Measured on some of the shuffles and transcripts: float64 (CLASSES, SCORE_BINS), above 0.
    """
    controls = evenly_spaced(len(shuffles), SAMPLE_MIRNAS)
    share = min(1.0, SAMPLE_LETTERS / max(1, int(transcripts.offsets[-1])))
    rows = evenly_spaced(len(transcripts), max(1, int(len(transcripts) * share)))
    sample = transcripts.block(rows, SAMPLE_LETTERS)
    untrimmed = settings.model_copy(update={"trim": None})
    search = TargetSearch(shuffles.block(controls), sample, untrimmed, choose("cpu"))
    sites = search.sites(0, len(controls), np.arange(len(rows)))
    counts = np.zeros((CLASSES, SCORE_BINS), dtype=np.int64)
    np.add.at(counts, (sites.seed_class, score_bins(sites.score, settings)), 1)
    expected = np.zeros((len(controls) * len(rows), CLASSES))
    pairs = np.repeat(controls, len(rows)), np.tile(np.arange(len(rows)), len(controls))
    expected_words(*pairs, words, Background(_places(sample), background.log_ratio[rows]), expected)
    at_least = reverse_cumsum(counts)
    # Half a hit where none was seen: a rate of 0 would make the first hit infinitely unlikely.
    return np.maximum(at_least, 0.5) / np.maximum(expected.sum(axis=0), 0.5)[:, None]


def score_bins(score: IntegerArray, settings: AlignmentConfig) -> Int8Array:
    """Number of the step of each alignment score."""
    if not len(score):
        return np.empty(0, np.int8)
    low = int(score.min())
    # Of each score there is, once: there are few, and hits by the million.
    step = (np.arange(low, int(score.max()) + 1) - settings.score) // SCORE_STEP
    return np.clip(step, 0, SCORE_BINS - 1).astype(np.int8)[score - low]


# --- shuffles -------------------------------------------------------------------------------------


def matched_shuffles(
    mirnas: SequenceBatch, chain: MarkovChain, shuffles: int, seed: int
) -> tuple[SequenceBatch, Int64Array, Float64Array]:
    """``shuffles`` of each miRNA, nearest to it in the expected number of canonical sites.

    Draws are keyed on the seed and the miRNA's letters. None has the miRNA's own positions 2 to 8,
    and all are different, where so many such shuffles were drawn; else they are repeated.

    Returns the shuffles, those of the first miRNA, of the second, ...; int64 (miRNAs,), how many
    are different; float64 (miRNAs,), |log| of the expected number, mean of the shuffles over the
    miRNA.
    """
    # Ten shuffles are drawn for each that is kept.
    draws = 10 * shuffles
    key = f"shuffles {seed}".encode()
    parts, distinct, mismatch = [], [], []
    for begin in range(0, len(mirnas), 256):
        block = mirnas.block(np.arange(begin, min(begin + 256, len(mirnas))))
        codes, offsets = block.codes, block.offsets
        drawn = Shuffles(
            codes=np.empty(draws * len(codes), dtype=np.uint8),
            key=np.empty((len(block), draws), dtype=np.uint64),
            expected=np.empty((len(block), draws)),
            same_seed=np.empty((len(block), draws), dtype=np.bool_),
        )
        letters_of = (codes[a:b].tobytes() for a, b in pairwise(offsets))
        digests = [hashlib.blake2b(own, digest_size=8, key=key).digest() for own in letters_of]
        starts = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
        shuffle_mirnas(codes, offsets, starts, chain, drawn)
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
    text = np.concatenate([np.empty(0, np.uint8), *parts])
    return (
        SequenceBatch(text, offsets_of(np.repeat(mirnas.lengths, shuffles))),
        np.array(distinct, np.int64),
        np.array(mismatch),
    )


# --- counts of tiles ------------------------------------------------------------------------------


def count_shapes(
    state: SequenceArrays, shuffles: int, conservation: Conservation | None
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of what is counted, in tiles and, added up, in all.

    Without ``null_`` of the miRNAs; with it of their shuffles, all of a miRNA added up unless the
    first axis is that of the first shuffles of all miRNAs, of the second, ...

    [null_]site_counts         sites by class and score
    [null_]mirna_sites         sites of each miRNA by class
    null_mirna_canonical       canonical sites of each shuffle
    [null_]pair_score_counts   pairs of each miRNA with a site, by pair score
    [null_]kept_counts         sites on transcripts with an ortholog, by class and level
    [null_]mirna_kept          of each miRNA
    """
    n_mirnas = len(state["mirna_offsets"]) - 1
    sites, mirna_sites = (CLASSES, SCORE_BINS), (n_mirnas, CLASSES)
    pairs, each = (n_mirnas, PAIR_BINS), (n_mirnas, shuffles)
    shapes: dict[str, tuple[int, ...]] = {
        "site_counts": sites,
        "mirna_sites": mirna_sites,
        "pair_score_counts": pairs,
        "null_site_counts": (shuffles, *sites),
        "null_mirna_sites": mirna_sites,
        "null_mirna_canonical": each,
        "null_pair_score_counts": pairs,
    }
    if conservation is not None:
        levels = CLASSES, conservation.levels
        shapes |= {
            "kept_counts": levels,
            "mirna_kept": (n_mirnas, *levels),
            "null_kept_counts": (shuffles, *levels),
            "null_mirna_kept": (n_mirnas, *levels),
        }
    return shapes


class Searched(NamedTuple):
    """Sequences whose sites are counted: ``each`` for every miRNA, one after the other, and what
    the names of their counts begin with."""

    search: TargetSearch
    words: SiteWords
    each: int
    prefix: str


class NullCounts:
    """Counts what miRNAs and their shuffles have in tiles; opened once on the state."""

    def __init__(
        self,
        state: SequenceArrays,
        settings: AlignmentConfig,
        transcripts: SequenceBatch,
        shuffles: int,
        device: Device,
    ) -> None:
        self.settings = settings
        self.conservation = Conservation(state) if "ortholog_codes" in state else None
        self.shapes = count_shapes(state, shuffles, self.conservation)
        chain, self.background = _model_of_state(state, transcripts)
        self.rates = np.asarray(state["null_rates"])

        def searched(kind: str, each: int, prefix: str) -> Searched:
            batch = SequenceBatch.of_state(state, kind)
            search = TargetSearch(batch, transcripts, settings, device)
            return Searched(search, SiteWords.of_mirnas(batch, chain), each, prefix)

        self.mirnas = searched("mirna", 1, "")
        self.shuffled = searched("null", shuffles, "null_")
        self.counter: SiteCounter | None = None
        if device.backend == "cuda" and self.shuffled.search.alignments_decide:
            tables = (*self.shuffled.words, *self.background, self.rates)
            self.counter = SiteCounter(self.shuffled.search, shuffles, tables, self.shapes)
        # Then ``of_shuffles`` leaves the CPU, and numba's threads, to others.
        self.only_gpu = self.counter is not None and self.conservation is None
        self.ahead: AbstractContextManager[object] = nullcontext()
        if self.only_gpu:
            # What others do on the GPU need not wait for its long kernels.
            device.xp.cuda.Stream.null.synchronize()
            self.ahead = device.xp.cuda.Stream(non_blocking=True, priority=-1)

    def of_mirnas(
        self, rows: range, columns: Int64Array, allowed: BoolArray | None
    ) -> tuple[Float32Array, dict[str, Int64Array]]:
        """Pair scores of the miRNAs, float32 (rows, columns), 0 without a site; and counts."""
        total = self._zeros(self.mirnas)
        sites = self.mirnas.search.sites(rows.start, rows.stop, columns, allowed)
        i, j, score = self._add(total, self.mirnas, sites)
        scores = np.zeros((len(rows), len(columns)), dtype=np.float32)
        scores[i - rows.start, j - columns[0]] = score
        return scores, total

    def of_shuffles(
        self,
        rows: range,
        columns: Int64Array,
        allowed: BoolArray | None,
        at_once: int,
    ) -> dict[str, Int64Array]:
        """Counts of the shuffles of some miRNAs, ``at_once`` at a time."""
        search, k = self.shuffled.search, self.shuffled.each
        total = self._zeros(self.shuffled)
        on_gpu = None if self.counter is None else self.counter.zeros()
        for begin in range(rows.start * k, rows.stop * k, at_once):
            end = min(begin + at_once, rows.stop * k)
            wanted = None
            if allowed is not None:
                wanted = allowed[np.arange(begin, end) // k - rows.start]
                if not wanted.any():
                    continue
            if self.counter is None or on_gpu is None:
                sites = search.sites(begin, end, columns, wanted)
                self._add(total, self.shuffled, sites)
                continue
            for sites in self.counter.add(on_gpu, begin, end, columns, wanted, not self.only_gpu):
                self._add_more(total, self.shuffled, sites)
        for name, counts in (on_gpu or {}).items():
            total[name] += search.device.to_host(counts).astype(np.int64)
        return total

    def _zeros(self, of: Searched) -> dict[str, Int64Array]:
        return {
            name: np.zeros(shape, dtype=np.int64)
            for name, shape in self.shapes.items()
            if name.startswith("null_") == bool(of.prefix)
        }

    def _add(
        self, total: dict[str, Int64Array], of: Searched, sites: Sites
    ) -> tuple[Int64Array, Int64Array, Float32Array]:
        """Count sites, and their pairs, whose rows i and j and pair score are given back."""
        bins, first = score_bins(sites.score, self.settings), pair_starts(sites.i, sites.j)
        i, j = (rows[first[:-1]].astype(np.int64) for rows in (sites.i, sites.j))
        pairs = PairSites(first, i, j, sites.seed_class, bins)
        score = _scores(pairs, of.words, self.background, self.rates)
        mirna, shuffle = np.divmod(sites.i, of.each)
        canonical = sites.seed_class >= CANONICAL.start
        _count_all(
            total,
            of,
            {
                "site_counts": (shuffle, sites.seed_class, bins),
                "mirna_sites": (mirna, sites.seed_class),
                "mirna_canonical": (mirna[canonical], shuffle[canonical]),
                "pair_score_counts": (i // of.each, pair_score_bins(score)),
            },
        )
        self._add_more(total, of, sites)
        return i, j, score

    def _add_more(self, total: dict[str, Int64Array], of: Searched, sites: Sites) -> None:
        """Count sites that are kept."""
        if self.conservation is None:
            return
        there = np.flatnonzero(self.conservation.species_of(sites.j) > 0)
        i, j, seed_class = sites.i[there], sites.j[there], sites.seed_class[there]
        level = self.conservation.kept(of.search.mirnas, i, j, seed_class).level
        mirna, shuffle = np.divmod(i, of.each)
        _count_all(
            total,
            of,
            {
                "kept_counts": (shuffle, seed_class, level),
                "mirna_kept": (mirna, seed_class, level),
            },
        )


def _scores(
    pairs: PairSites, words: SiteWords, background: Background, rates: Float64Array
) -> Float32Array:
    scores = np.empty(len(pairs.mirna), dtype=np.float32)
    score_pairs(pairs, words, background, rates, scores)
    return scores


def _model_of_state(
    state: SequenceArrays, transcripts: SequenceBatch
) -> tuple[MarkovChain, Background]:
    chain = MarkovChain(np.asarray(state["null_start"]), np.asarray(state["null_step"]))
    return chain, Background(_places(transcripts), np.asarray(state["null_log_ratio"]))


def seed_scores(state: SequenceArrays, mirnas: SequenceBatch, sites: SeedSites) -> Float32Array:
    """Pair score of each pair of some ``mirnas`` with a seed match, sorted: each match is as
    frequent as its word is to be expected."""
    chain, background = _model_of_state(state, SequenceBatch.of_state(state, "transcript"))
    first = pair_starts(sites.i, sites.j)
    rows = sites.i[first[:-1]], sites.j[first[:-1]]
    found = PairSites(first, *rows, sites.seed_class, np.zeros_like(sites.seed_class))
    words, rates = SiteWords.of_mirnas(mirnas, chain), np.ones((CLASSES, SCORE_BINS))
    return _scores(found, words, background, rates)


def pair_score_bins(score: FloatingArray) -> Int64Array:
    """Number of the step of each pair score."""
    return np.minimum((score / np.float32(PAIR_STEP)).astype(np.int64), PAIR_BINS - 1)


def _count_all(
    total: dict[str, Int64Array], of: Searched, places: dict[str, tuple[IntegerArray, ...]]
) -> None:
    """Count what has places; those of the miRNAs have no axis of shuffles."""

    def count(name: str) -> None:
        counts = total[f"{of.prefix}{name}"]
        flat = np.zeros(len(places[name][0]), dtype=np.int64)
        for size, place in zip(counts.shape, places[name][-counts.ndim :], strict=True):
            flat *= size
            flat += place
        add_at(counts.reshape(-1), flat)

    list(in_threads(count, [name for name in places if f"{of.prefix}{name}" in total]))


# --- tests ----------------------------------------------------------------------------------------


MIN_ABOVE, MIN_IN_TAIL = 10, 100
"""Pairs of shuffles that must score as high for p to be their share; beyond, p goes on from the
tail, whose slope is that of so many pairs of all miRNAs or more."""


class PairNull(NamedTuple):
    """How often a pair of a miRNA's shuffles scores as high or higher.

    In steps of ``PAIR_STEP``, (1 + their pairs in this step or above) / (1 + their pairs). Where
    fewer than ``MIN_ABOVE`` are, p is less if it falls exponentially from there, as Poisson
    probabilities do: no faster than the pair score says, and the highest pairs of all shuffles.

    log_share   float64 (miRNAs, PAIR_BINS): log10 of p of each step; 0 in the first one, where
                pairs without a site are
    last        int64 (miRNAs,): the step from which p goes on
    slope       how fast log10 p falls with the score there
    """

    log_share: Float64Array
    last: Int64Array
    slope: float

    @classmethod
    def of_counts(cls, counts: Int64Array, n_pairs: Int64Array) -> PairNull:
        """counts : int64 (miRNAs, PAIR_BINS), the shuffles' pairs with a site. n_pairs : int64
        (miRNAs,), all their pairs, with or without."""
        at_least = reverse_cumsum(counts)
        share = np.log10((1.0 + at_least) / (1.0 + n_pairs[:, None]))
        share[:, 0] = 0.0
        last = np.maximum((at_least >= MIN_ABOVE).sum(axis=1) - 1, 1)
        # Mean of what is above the step that a share of all pairs reaches, as many as are needed.
        together = at_least.sum(axis=0)
        first = max(int((together >= max(MIN_IN_TAIL, MIN_ABOVE * len(counts))).sum()) - 1, 1)
        steps = np.arange(PAIR_BINS - first) + 0.5
        mean = (counts.sum(axis=0)[first:] @ steps + 1.0) / max(together[first], 1) * PAIR_STEP
        return cls(share, last, min(1.0, 1.0 / (mean * np.log(10.0))))

    def log_p(self, mirna: IntegerArray, score: FloatingArray) -> Float64Array:
        """log10 of p of pairs, by the row of the miRNA and the pair score."""
        last, step = self.last[mirna], pair_score_bins(score)
        beyond = (score - last * PAIR_STEP) * (step > last)
        gone_on = self.log_share[mirna, np.minimum(step, last)] - self.slope * beyond
        return np.minimum(gone_on, self.log_share[mirna, step])


def class_table(
    observed: Int64Array, shuffled: Int64Array | Float64Array
) -> dict[str, Float64Array]:
    """Sites against those of the shuffles, by class and for all canonical ones and all together.

    observed   int64 (..., CLASSES)
    shuffled   int64 (shuffles, ..., CLASSES)

    Returns arrays (..., CLASSES + 2): classes in the order of ``SEED_CLASSES``, canonical, all;
    ``sites``, ``expected`` (mean of the shuffles), ``ratio``, ``ratio_low``, ``ratio_high`` (to the
    97.5 and 2.5 % quantiles of the shuffles), ``p_value`` (shuffles with as many or more).
    """
    member = np.vstack([np.eye(CLASSES), np.zeros(CLASSES), np.ones(CLASSES)]).astype(np.int64)
    member[CLASSES, CANONICAL] = 1
    real, drawn = ((x @ member.T).astype(np.float64) for x in (observed, shuffled))
    expected = drawn.mean(axis=0)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = {"ratio": real / expected, "ratio_low": real / high, "ratio_high": real / low}
    p = (1.0 + (drawn >= real).sum(axis=0)) / (1.0 + len(drawn))
    return {"sites": real, "expected": expected, **ratios, "p_value": p}


CLASS_ROWS = (*SEED_CLASSES, "canonical", "all")
"""Rows of ``class_table``."""
