"""What stands in tables beside genes and samples, as other programs write it.

Annotation columns (featureCounts, kallisto, Bioconductor, cBioPortal, ...), columns of results and
errors (DESeq2, limma, cuffdiff, GenomeStudio, tximport, MaxQuant, ...), rows that count reads of no
gene (HTSeq, STAR, featureCounts' summary), totals, spike-ins, what describes samples, and names
that a spreadsheet has changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.io.text_file import is_number

# Columns. Names are compared in small letters, with _ for blanks, points and dashes.

SYMBOLS = {"symbol", "gene_symbol", "genesymbol", "gene_name", "genename", "hgnc_symbol"} | {
    *("hugo_symbol", "external_gene_name", "identifier", "gene_short_name", "gene", "genes"),
    *("gene_names", "gene_symbols", "feature_name", "pr_gene_symbol"),
}
_CHROMOSOME = {"chr", "chrom", "chromosome", "seqname", "seqnames", "chromosome_name", "gene_chr"}
_PLACE = {"start", "end", "gene_start", "gene_end", "start_position", "end_position"}
_NUMBER_ID = {"entrez_gene_id", "entrezid", "entrez_id", "entrez", "ncbi_gene_id", "geneid"} | {
    *("gene_id", "probeid", "probe_id"),
}
_TEXT = {"description", "gene_description", "biotype", "gene_biotype", "gene_type"} | {
    *("transcript_id", "transcript_ids", "transcript_id(s)", "transcript_type", "tf_family"),
    *("refseq", "ensembl", "ensembl_id", "ensembl_gene_id", "probe", "probe_id"),
}
_STRAND = {"strand", "gene_strand"}
_LENGTH = {"length", "gene_length", "genelength", "transcript_length", "exon_length", "width"}
_EFFECTIVE_LENGTH = {"effective_length", "eff_length", "effectivelength"}
_NUMBERS = {
    **dict.fromkeys(_CHROMOSOME, ".+"),
    **dict.fromkeys(_PLACE, r"\d+(?:;\d+)*"),
    **dict.fromkeys(_LENGTH | _NUMBER_ID, r"\d+(?:\.0+)?"),
    **dict.fromkeys(_EFFECTIVE_LENGTH, r"\d+(?:\.\d*)?"),
    **dict.fromkeys(_STRAND, r"(?:[-+.*]|-?1)(?:;[-+.*])*"),
}
"""What stands in columns of numbers that are called so; places only beside a chromosome."""


def find_columns(
    names: Sequence[str], rows: Sequence[Sequence[str]], missing: frozenset[str], by_name: bool
) -> tuple[list[int], list[int], int | None, dict[str, list[int]]]:
    """Columns beside the row names that hold no sample.

    A column is an annotation where its name is one of those above and its values are of that kind,
    or where it stands before or behind all numbers and holds text only. Columns that leave no
    sample, and a single fault in a column of numbers, are not taken for annotations.

    Parameters
    ----------
    names, rows
        Of all columns but the first; the first few rows.
    missing
        Spellings of a missing value.
    by_name
        Whether columns of numbers can be annotations, which is so where columns are samples.

    Returns
    -------
    Annotations of the rows; results of tests, errors and the like; which of the annotations holds
    symbols; and where each sample has several columns of values, the columns of each kind.
    """
    keys = [column_key(name) for name in names]
    columns = [
        [text for row in rows if (text := row[k].strip()) not in missing] for k in range(len(names))
    ]
    no_samples, kinds = _no_samples(names, columns) if by_name else (set[int](), {})
    known = SYMBOLS | _TEXT | _CHROMOSOME | _NUMBER_ID
    numbers = {*_NUMBERS} - (set() if (_CHROMOSOME | _STRAND) & {*keys} else _PLACE)
    found = {
        k
        for k, key in enumerate(keys)
        if (
            by_name
            and columns[k]
            and key in numbers
            and all(re.fullmatch(_NUMBERS[key], text) for text in columns[k])
        )
        or (not columns[k] and (key in SYMBOLS | _TEXT or not key))
        or (key in (known if by_name else known | COVARIATES) and _is_text(columns[k]))
    }
    no_samples -= found
    found |= no_samples
    for order in (range(len(names)), reversed(range(len(names)))):
        for k in order:
            # Fewer than three texts do not say what a column of an unknown name is.
            if k not in found and (len(columns[k]) < 3 or not _is_text(columns[k])):
                break
            found.add(k)
    if len(found) == len(names):
        return [], [], None, kinds
    leading = [k for k in sorted(found) if found.issuperset(range(k)) and _is_text(columns[k])]
    symbols = [k for k in leading if keys[k] in SYMBOLS]
    others = [
        k
        for k in leading
        if keys[k] not in _TEXT | {*_NUMBERS}
        and len(set(columns[k])) == len(columns[k])
        and not any(" " in text for text in columns[k])
    ]
    annotations = sorted(found - no_samples)
    return annotations, sorted(no_samples), next(iter(symbols + others), None), kinds


def is_annotation(name: str) -> bool:
    """Whether a column of this name describes genes, without naming them."""
    key = column_key(name)
    return key in {*_NUMBERS} - _NUMBER_ID or "type" in key or "descr" in key


@lru_cache(1 << 16)
def column_key(name: str) -> str:
    """A name as it is compared with those above and below."""
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


# Columns of numbers that are no samples: what they hold stands in the name, alone or beside the
# name of the sample or comparison. A _ stands for any mark between words, or none.

_KIND = re.compile(
    r"""(?:(.+?)[\s.\x5f:-]+)??(?:
    (base_mean|(?:avg_)?log2?_?(?:fold_change|fc)|fold_change|lfc_se|ave_expr|log_?cpm|log_odds
    |test_stat(?:istic)?|pct_[12]|max_cooks|abundance_ratio)  # results of tests
    |((?:detection_)?(?:adj(?:usted)?_)?p_?val(?:ue)?s?(?:_adj(?:usted)?)?|p_?adj(?:usted)?
    |(?:bh_)?fdr|[qs]_?val(?:ue)?)  # from 0 to 1
    |(detection(?:_call|_score)?|conf_(?:lo|hi)|(?:min|max)_signal|status|abs_call|coverage
    |(?:bead_|array_)?std?_?(?:err(?:or)?|dev)|avg_n_?beads|n_?beads|n_?arrays)  # errors
    |((?:effective_|eff_)?length|(?:razor_\+_unique_|unique_)?peptides|ms/ms_count
    |(?:unique_)?sequence_coverage(?:_\[%\])?|identification_type|iso_?pct|inf_?reps)  # others
    |(avg_signal|signal|(?:reporter_)?(?:max_?)?(?:lfq_)?intensity(?:_corrected)?|lfq|ibaq|top3
    |fpkm|rpkm|tpm|cpm|(?:est_|expected_|raw_|normali[sz]ed_|scaled_)?(?:read_?)?counts?
    |num_?reads|abundances?(?:_\(\w+\))?|scaled_estimate|(?:unshared_)?log_ratio|quantity
    |(?:unique_|total_)?spectral_counts?)  # values
    )(?:[\s.\x5f:-]+(.+))??""".replace("_", r"[\ ._-]*"),
    re.IGNORECASE | re.VERBOSE,
)
_BESIDE_RESULTS = {*"tbfznpqm", "lr", "stat", "se", "df", "count", "lods", "weight", "significant"}
"""Names of columns that are no samples where others hold results of tests."""


def _no_samples(
    names: Sequence[str], columns: Sequence[Sequence[str]]
) -> tuple[set[int], dict[str, list[int]]]:
    """Columns of results, errors and the like, by name; and the columns of each kind of values
    where a sample has several."""
    parts = [
        part.groups("") if (part := _KIND.fullmatch(name.strip())) else ("",) * 7 for name in names
    ]
    samples = [before + after for before, *_, after in parts]
    of_values = {k for k, part in enumerate(parts) if part[5]}
    # Values without the name of a sample are those of the only one, or stand beside samples.
    of_values = {k for k in of_values if samples[k]} or of_values
    known = {samples[k] for k in of_values} | {name.strip() for name in names}
    found = {
        k
        for k, (before, result, share, error, other, value, _) in enumerate(parts)
        if result
        or (share and all(is_number(text) and 0.0 <= float(text) <= 1.0 for text in columns[k]))
        or (error and (not before or samples[k] in known))
        or (other and samples[k] in {"", *known})
        or (value and k not in of_values)
    }
    if any(parts[k][1] or parts[k][2] for k in found):
        found |= {k for k, name in enumerate(names) if name.strip().lower() in _BESIDE_RESULTS}
    if len(found) == len(names):  # results of several comparisons
        of_values = found
    kinds: dict[str, list[int]] = {}
    for k in sorted(of_values):
        kinds.setdefault(column_key("".join(parts[k][1:6])), []).append(k)
    if {"abundance", "counts", "length"} <= {column_key(part[4] + part[5]) for part in parts}:
        return found | {*kinds.pop("abundance")}, {}  # of tximport
    return found, kinds if len({samples[k] for k in of_values}) < len(of_values) else {}


def _is_text(texts: Sequence[str]) -> bool:
    """Whether there are texts, and none of them is a number, a formula's error or the like."""
    return bool(texts) and all(
        (re.search(r"[^\W\d_]", text) and not text.startswith("#") and not is_number(text))
        or text == "-"
        for text in texts
    )


# Rows.

_HTSEQ = {"no_feature", "ambiguous", "too_low_aqual", "not_aligned", "alignment_not_unique"}
_STAR = {"n_unmapped", "n_multimapping", "n_nofeature", "n_ambiguous"}


def by_product_rows(genes: Sequence[str]) -> list[int]:
    """Rows that count reads of no gene.

    HTSeq's ``__no_feature`` and the like (older versions without ``__``, then two of them at
    least), STAR's ``N_unmapped`` and the like, featureCounts' ``Assigned`` and ``Unassigned_...``.
    """
    small = [gene.lower() for gene in genes]
    bare = [k for k, gene in enumerate(small) if gene in _HTSEQ]
    unassigned = any(gene.startswith("unassigned_") for gene in small)
    return sorted(
        k
        for k, gene in enumerate(small)
        if (gene.removeprefix("__") in _HTSEQ and (gene.startswith("__") or len(bare) > 1))
        or gene in _STAR
        or (unassigned and (gene == "assigned" or gene.startswith("unassigned_")))
    )


_SPIKE_IN = re.compile(
    r"(?:ERCC[-_.]\d{5}|AFFX[-_.]|SIRV\d|(?:POS|NEG)_[A-H](?:\(|$)|\(\+\)E1A|DarkCorner|GE_Bright).*"
)
_DECOY = re.compile(r"(?:CON__|REV__|contam_|(?:rev|DECOY|XXX)_+\w+).*")
"""Proteins of MaxQuant and FragPipe that were added to the search, to count false hits."""


def rows_of_no_gene(
    genes: Sequence[str], values: NDArray[np.float64], controls: bool
) -> dict[str, list[int]]:
    """Rows that are no genes, by the code of the message that says so: counts of reads of none;
    RNA and probes that were added (ERCC, SIRV, those of Affymetrix, Agilent and NanoString), unless
    ``controls`` are asked for; decoys and contaminants of searches for proteins; statistics of all
    others; what describes samples.

    values : (genes, some samples), NaN where missing.
    """
    added = [] if controls else [k for k, gene in enumerate(genes) if _SPIKE_IN.fullmatch(gene)]
    decoys = [k for k, gene in enumerate(genes) if _DECOY.fullmatch(gene)]
    found = {
        "by_product_rows": by_product_rows(genes),
        "spike_ins_left_out": added,
        "decoys_left_out": decoys,
    }
    rest = np.setdiff1d(np.arange(len(genes)), [*found["by_product_rows"], *added, *decoys])
    if not rest.size:
        return found
    totals = rest[statistics_of_others([genes[k] for k in rest], values[rest].T)]
    rest = np.setdiff1d(rest, totals)
    sure, perhaps = _covariate_rows([genes[k] for k in rest], values[rest])
    return found | {
        "covariates_left_out": rest[sure].tolist(),
        "perhaps_no_genes": rest[perhaps].tolist(),
        "statistics_left_out": totals.tolist(),
    }


_STATISTIC = re.compile(
    r"(?:^|_)(?:total|sum|mean|average|avg|median|std(?:_?dev)?|sd|sem?|var(?:iance)?|cv|rsd"
    r"|min(?:imum)?|max(?:imum)?|range|n|counts?)s?(?:_|$)"
)


def statistics_of_others(names: Sequence[str], values: NDArray[np.float64]) -> list[int]:
    """Columns that are a statistic of the other columns: by name and values, sums by values alone.

    values : (rows, columns), NaN where missing.
    """
    total = np.nansum(values, axis=1, keepdims=True)
    sums = (total != 0.0) & (np.abs(2.0 * values - total) <= 1e-3 * np.abs(total))
    maybe = np.array([bool(_STATISTIC.search(column_key(name))) for name in names])
    maybe |= (sums.sum(axis=0) > 3) & (sums.mean(axis=0) > 0.95)
    if not maybe.any() or (~maybe).sum() < 3:
        return []
    table, columns = pd.DataFrame(values[:, ~maybe].T), values[:, maybe].T[:, None]
    low, mean, high, sd = table.min(), table.mean(), table.max(), table.std()
    forms = [table.sum(), mean, table.median(), sd, table.std(ddof=0), sd**2, sd / mean, low, high]
    forms += [100 * sd / mean, high - low, table.sem(), table.count(), (table > 0).sum()]
    told = np.ma.masked_values(np.ma.masked_invalid(forms), 0.0)
    close = np.abs(told - columns) <= 0.006 + 0.01 * np.abs(told)  # of few digits
    agree = (close.mean(axis=2) > 0.95) & (close.count(axis=2) >= 3)
    return np.flatnonzero(maybe)[agree.filled(False).any(axis=1)].tolist()


COVARIATES = {"age", "sex", "gender", "batch", "plate", "rin", "bmi", "pmi", "group", "class"} | {
    *("condition", "treatment", "timepoint", "replicate", "donor", "patient", "subject", "cluster"),
    *("total_reads", "n_reads", "mapped_reads", "library_size", "lib_size", "size_factor", "depth"),
    *("n_counts", "total_counts", "ncount_rna", "nfeature_rna", "n_genes", "n_genes_by_counts"),
    *("pct_counts_mt", "percent_mt", "percent_mito", "doublet_score", "leiden", "louvain"),
    *("seurat_clusters", "weight", "height", "smoking", "purity", "stage", "grade", "survival"),
    *("total", "sum", "n_umi", "numi", "ngene", "rin_score", "age_years", "sequencing_depth"),
    *("time", "hours", "day", "dose", "lane", "cohort", "center", "tissue", "cell_type", "passage"),
    *("diagnosis", "status", "response", "site", "study", "run", "ph", "library", "individual"),
}
"""What describes samples, as it is called where it stands among genes."""


def _covariate_rows(
    genes: Sequence[str], values: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which genes describe samples, for sure and perhaps.

    For sure: they are called so, and are several or have values unlike those of genes: whole
    numbers among fractions or the reverse, few different ones, or all above those of every gene.
    Perhaps: called so, or first or last rows that are the only whole numbers, or only fractions.

    values : (genes, samples), NaN where missing.
    """
    named = np.array([column_key(gene) in COVARIATES for gene in genes], dtype=bool)
    table = pd.DataFrame(values)
    whole = (table.isna() | (table % 1 == 0)).all(axis=1).to_numpy()
    distinct = 1 + (np.diff(np.sort(values, axis=1), axis=1) > 0.0).sum(axis=1)
    usual = whole[~named].mean() > 0.5 if not named.all() else True
    above = values > np.nanmax(values[~named], axis=0, initial=-np.inf)
    few = distinct <= np.median(distinct) / 3
    unlike = (whole != usual) | few | (above.mean(axis=1) > 0.95)
    sure = named & ((unlike & named).any() | (named.sum() > 1)) & (not named.all())
    odd = (whole != usual) & (distinct > 1) & ~named
    odd &= odd.sum() <= 5
    odd[5:-5] = False  # those at either end alone
    return sure, (named | odd) & ~sure


def unlike_others(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How each column agrees with the median of all over the rows (rank correlation), and which
    agree far less than all the others do.

    values : (rows, columns), NaN where missing; few rows, or columns that agree in little, say
    nothing.
    """
    agreement = np.ones(values.shape[1])
    if values.shape[1] >= 3 and len(values) >= 50:  # fewer say little
        table = pd.DataFrame(values)
        ranks = table.assign(middle=table.median(axis=1)).rank()
        scores = ((ranks - ranks.mean()) / ranks.std(ddof=0)).fillna(0.0).to_numpy()
        constant = (ranks.iloc[:, :-1].std() == 0.0).to_numpy()
        agreement = np.where(constant, 1.0, scores[:, :-1].T @ scores[:, -1] / len(values))
    unlike = agreement < 0.35
    return agreement, unlike & (agreement[~unlike] > 0.7).all() & (unlike.mean() < 0.5)


# Names that a spreadsheet took for dates or numbers (Ziemann et al. 2016, Genome Biology 17:177).

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec"
    r"|mrz|m(?:ä|ae)rz?|mai|juni|juli|okt|dez|janv|févr|mars|avr|juin|juil|août|déc"
    r"|ene|abr|ago|dic|gen|mag|giu|lug|set|ott|fev|out|mrt|mei|maj|maart)\.?"
)
_CONVERTED = re.compile(
    rf"\d{{1,2}}(?:[-/ ]|\. ?){_MONTH}(?:[-/. ]\d{{2,4}})?"  # 1-Mar, 1. Mrz, 01-mars-21
    # Month first only with a capital: worms have genes sep-1 and oct-2.
    rf"|(?-i:(?=[A-Z])){_MONTH}[-/ ]\d{{2}}"  # Mar-01
    r"|\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?"  # 2021-03-01
    r"|\d{1,2}/\d{1,2}/(?:19|20)?\d{2}|\d{1,2}[-.]\d{1,2}[-.](?:19|20)\d{2}"  # 3/1/21
    r"|\d(?:[.,]\d+)?E\+\d{2}",  # 2.31E+13, which was 2310009E13
    re.IGNORECASE,
)


def converted_names(genes: Sequence[str]) -> list[str]:
    """Names that look like dates or powers of ten, as spreadsheets make of MARCH1 and 2310009E13.

    Whole numbers are taken for dates where they are few and all within 2000 to 2030: else they are
    identifiers.
    """
    found = [gene for gene in genes if _CONVERTED.fullmatch(gene)]
    whole = [gene for gene in genes if gene.isascii() and gene.isdecimal()]
    # Spreadsheets show days since 1900: these are of 2000 to 2030.
    days = range(36526, 47848)
    if 2 * len(whole) < len(genes) and all(len(w) == 5 and int(w) in days for w in whole):
        found += whole
    return found
