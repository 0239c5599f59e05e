"""What stands in tables beside genes and samples, as other programs write it, known by name.

Annotation columns (featureCounts, kallisto, Bioconductor, cBioPortal, ...), rows that count reads
of no gene (HTSeq, STAR, featureCounts' summary), and names that a spreadsheet has changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pairtile.io.text_file import is_number

# Columns. Names are compared in small letters, with _ for blanks, points and dashes.

_SYMBOL = {"symbol", "gene_symbol", "genesymbol", "gene_name", "genename", "hgnc_symbol"} | {
    *("hugo_symbol", "external_gene_name", "identifier", "gene_short_name", "gene"),
}
_LENGTH = {"length", "gene_length", "genelength", "transcript_length", "exon_length", "width"}
_EFFECTIVE_LENGTH = {"effective_length", "eff_length", "effectivelength"}
_CHROMOSOME = {"chr", "chrom", "chromosome", "seqname", "seqnames", "chromosome_name", "gene_chr"}
_STRAND = {"strand", "gene_strand"}
_PLACE = {"start", "end", "gene_start", "gene_end", "start_position", "end_position"}
_NUMBER_ID = {"entrez_gene_id", "entrezid", "entrez_id", "entrez", "ncbi_gene_id", "geneid"} | {
    "gene_id",
}
_TEXT = {"description", "gene_description", "biotype", "gene_biotype", "gene_type"} | {
    *("transcript_id", "transcript_ids", "transcript_id(s)", "transcript_type", "tf_family"),
    *("refseq", "ensembl", "ensembl_id", "ensembl_gene_id", "probe", "probe_id", "gene_names"),
}

_WHOLE = re.compile(r"\d+(?:\.0+)?")
_WHOLES = re.compile(r"\d+(?:;\d+)*")
_POSITIVE = re.compile(r"\d+(?:\.\d*)?")
_STRANDS = re.compile(r"(?:[-+.*]|-?1)(?:;[-+.*])*")
_LETTER = re.compile(r"[^\W\d_]")

MIN_TEXTS = 3
"""Texts that a column of an unknown name must hold to be no sample."""


def annotation_columns(
    names: Sequence[str], rows: Sequence[Sequence[str]], missing: frozenset[str], by_name: bool
) -> tuple[list[int], int | None]:
    """Columns beside the row names that hold no sample, and which of them holds symbols.

    A column is left out where its name is one of those above and its values are of that kind, or
    where it stands before or behind all numbers and holds text only. Columns that leave no sample,
    and a single fault in a column of numbers, are not taken for annotations.

    Parameters
    ----------
    names, rows
        Of all columns but the first; the first few rows.
    missing
        Spellings of a missing value.
    by_name
        Whether columns of numbers can be annotations, which is so where columns are samples.
    """
    keys = [re.sub(r"[\s.-]+", "_", name.strip().lower()) for name in names]
    columns = [
        [text for row in rows if (text := row[k].strip()) not in missing] for k in range(len(names))
    ]
    found = {
        k
        for k, key in enumerate(keys)
        if (by_name and _is_known_number(key, columns[k], keys))
        or (key in _SYMBOL | _TEXT and not columns[k])
        or (key in _SYMBOL | _TEXT | _CHROMOSOME | _NUMBER_ID and _is_text(columns[k]))
    }
    for order in (range(len(names)), reversed(range(len(names)))):
        for k in order:
            unlike = len(set(columns[k])) > 1 and len(columns[k]) >= MIN_TEXTS
            if k not in found and not (unlike and _is_text(columns[k])):
                break
            found.add(k)
    if len(found) == len(names):
        return [], None
    leading = [k for k in sorted(found) if found.issuperset(range(k)) and _is_text(columns[k])]
    symbols = [k for k in leading if keys[k] in _SYMBOL]
    others = [
        k
        for k in leading
        if keys[k] not in _TEXT | _CHROMOSOME | _STRAND | _PLACE | _NUMBER_ID
        and len(set(columns[k])) == len(columns[k])
        and not any(" " in text for text in columns[k])
    ]
    return sorted(found), next(iter(symbols + others), None)


def _is_known_number(key: str, texts: Sequence[str], keys: Sequence[str]) -> bool:
    if not texts:
        return False
    if key in _PLACE:
        return bool(_CHROMOSOME.union(_STRAND) & {*keys}) and _all(_WHOLES, texts)
    return (
        (key in _LENGTH | _CHROMOSOME | _NUMBER_ID and _all(_WHOLE, texts))
        or (key in _CHROMOSOME and any(not _WHOLE.fullmatch(text) for text in texts))
        or (key in _EFFECTIVE_LENGTH and _all(_POSITIVE, texts))
        or (key in _STRAND and _all(_STRANDS, texts))
    )


def _all(pattern: re.Pattern[str], texts: Sequence[str]) -> bool:
    return all(pattern.fullmatch(text) for text in texts)


def _is_text(texts: Sequence[str]) -> bool:
    """Whether there are texts, and none of them is a number, a formula's error or the like."""
    return bool(texts) and all(
        _LETTER.search(text) and not text.startswith("#") and not is_number(text) for text in texts
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
_SERIALS = range(36526, 47848)
"""Days since 1900 that a spreadsheet shows of dates in 2000 to 2030."""


def converted_names(genes: Sequence[str]) -> list[str]:
    """Names that look like dates or powers of ten, as spreadsheets make of MARCH1 and 2310009E13.

    Whole numbers are taken for dates where they are few and all within 2000 to 2030: else they are
    identifiers.
    """
    found = [gene for gene in genes if _CONVERTED.fullmatch(gene)]
    whole = [gene for gene in genes if gene.isascii() and gene.isdecimal()]
    if 2 * len(whole) < len(genes) and all(len(w) == 5 and int(w) in _SERIALS for w in whole):
        found += whole
    return found
