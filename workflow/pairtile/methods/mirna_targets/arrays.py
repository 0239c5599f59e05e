"""The state of this method: arrays computed once, that every tile reads."""

from __future__ import annotations

from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray


class ExpressionArrays(TypedDict, total=False):
    """Expression of miRNAs and transcripts in the same samples, where it is given: twice the rank
    of each value in its row, less the mean; all 0 where there is no expression."""

    mirna_ranks: NDArray[np.int32]
    transcript_ranks: NDArray[np.int32]


class OrthologArrays(TypedDict, total=False):
    """Orthologs of the transcripts, where they are given.

    | array | shape | meaning |
    |---|---|---|
    | ortholog_codes | (letters,) | codes of the letters, group by group |
    | ortholog_offsets | (records + 1,) | where each record begins and ends |
    | ortholog_species | (records,) | its species |
    | ortholog_first | (groups + 1,) | records of each group: of one transcript or gene |
    | ortholog_group | (transcripts,) | group of each, rows as in the state; -1 without |
    | ortholog_names | (bytes,) | names of the species, each with LF; the reference is the last |
    | tree_below | (branches, words) | ``SpeciesTree``; no branches without a tree |
    | tree_length | (branches,) | |
    """

    ortholog_codes: NDArray[np.uint8]
    ortholog_offsets: NDArray[np.int64]
    ortholog_species: NDArray[np.int32]
    ortholog_first: NDArray[np.int64]
    ortholog_group: NDArray[np.int32]
    ortholog_names: NDArray[np.uint8]
    tree_below: NDArray[np.uint64]
    tree_length: NDArray[np.float64]


class NullArrays(TypedDict, total=False):
    """Shuffled miRNAs, where there is a null.

    | array | shape | meaning |
    |---|---|---|
    | null_text | (letters,) | shuffles of the first miRNA, of the second, ... |
    | null_offsets | (miRNAs * shuffles + 1,) | where each begins and ends |
    | null_start, null_step | (16,), (64,) | the Markov chain |
    | null_log_ratio | (transcripts, 4) | of ``null.Background``, rows as in the state |
    | null_rates | (CLASSES, SCORE_BINS) | hits for each expected word |
    """

    null_text: NDArray[np.uint8]
    null_offsets: NDArray[np.int64]
    null_start: NDArray[np.float64]
    null_step: NDArray[np.float64]
    null_log_ratio: NDArray[np.float64]
    null_rates: NDArray[np.float64]


class SequenceArrays(ExpressionArrays, OrthologArrays, NullArrays):
    """Sequences: the kept miRNAs in file order, the kept transcripts, trimmed, by ascending length.

    | array | shape | meaning |
    |---|---|---|
    | mirna_text, transcript_text | (letters,) | as in the file, one sequence after another |
    | mirna_offsets, transcript_offsets | (sequences + 1,) | where each begins and ends |
    | transcript_order | (transcripts,) | row among the kept in file order |
    | mirna_lines, transcript_lines | (bytes,) | header lines, in file order, each with LF |
    | site_abundance | (miRNAs,) | canonical sites in all transcripts (``seed_sites``) |
    | restrict | (pairs, 2) | the pairs to scan: miRNA, transcript in file order; absent: all |
    | gene_items | (transcripts,) | item of each one's gene, in file order, where genes are given |
    """

    mirna_text: NDArray[np.uint8]
    mirna_offsets: NDArray[np.int64]
    transcript_text: NDArray[np.uint8]
    transcript_offsets: NDArray[np.int64]
    transcript_order: NDArray[np.int32]
    mirna_lines: NDArray[np.uint8]
    transcript_lines: NDArray[np.uint8]
    site_abundance: NotRequired[NDArray[np.int64]]
    restrict: NotRequired[NDArray[np.int32]]
    gene_items: NotRequired[NDArray[np.int32]]
