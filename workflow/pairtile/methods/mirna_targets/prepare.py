"""Prepare miRNAs and transcripts for the search of targets: what is kept, in what order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.io.in_memory import unless_in_memory
from pairtile.io.names import GeneNames, check_characters, join_first
from pairtile.io.regulators import hint_of_names
from pairtile.io.text_file import find_delimiter, read_list
from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.config import MirnaTargetsConfig
from pairtile.methods.mirna_targets.conservation import prepare_orthologs
from pairtile.methods.mirna_targets.expression import prepare_expression
from pairtile.methods.mirna_targets.fasta import Fasta, read_fasta, refuse_bad_records
from pairtile.methods.mirna_targets.maf import read_orthologs
from pairtile.methods.mirna_targets.records import (
    PreparedPart,
    choose_mirnas,
    take_apart,
    with_whole_headers,
    without_duplicates,
    without_versions,
)
from pairtile.methods.mirna_targets.scoring import state_sequences
from pairtile.methods.mirna_targets.seed_sites import site_abundance
from pairtile.preprocess.items import printable, unique_names
from pairtile.runtime.record import doing, say_done

message = messages_of(__package__)

MAX_MIRNA_LENGTH = 30
"""Longer sequences are probably no mature miRNAs, which have 18 to 25 letters."""


def prepare_sequences(config: MirnaTargetsConfig) -> PreparedInput[SequenceArrays]:
    """Read the files of a ``mirna_targets`` section: the records that are used, as items
    (``items_table``) and state.

    Letters beyond ``estimator.trim`` are dropped. Transcripts are sorted by what is left of their
    length, so that neighbours cost about the same; equal ones stay in file order. (miRNAs stay in
    file order; each search takes them by length.) Row k of the kept miRNAs is item k, row k of the
    kept transcripts (file order) is item ``n_mirnas + k``.

    Raises InputError for a file that is missing or damaged; for bad records, all of the files in
    one message, unless ``on_bad_record`` is ``skip``; as ``choose_mirnas``, ``match_restrict`` and
    what reads the other files.
    """
    doing(f"read {config.mirnas} and {config.transcripts}")
    mirnas = read_fasta(config.mirnas, "mirnas", "skip")
    transcripts = read_fasta(config.transcripts, "transcripts", "skip")
    orthologs = (
        read_orthologs(config.orthologs, "orthologs", config.reference_species)
        if config.orthologs is not None
        else None
    )
    pairs = None if config.restrict is None else read_restrict(config.restrict)
    mirnas, transcripts, messages = choose_records(config, mirnas, transcripts)
    say_done(message("sequences_read", mirnas=len(mirnas), transcripts=len(transcripts)))
    files = [mirnas, transcripts, *([] if orthologs is None else [orthologs])]
    if config.on_bad_record == "error":
        refuse_bad_records(files)
    trim, lengths = config.estimator.trim, transcripts.letters.lengths
    order = np.argsort(lengths if trim is None else np.minimum(lengths, trim), kind="stable")
    laid = transcripts.letters.block(order, trim)
    longest, of_mirnas = (int(each.lengths.max(initial=0)) for each in (laid, mirnas.letters))
    say_done(message("sequences_sorted", n=len(order), longest=longest, longest_mirna=of_mirnas))
    state: SequenceArrays = {
        "mirna_text": mirnas.letters.text,
        "mirna_offsets": mirnas.letters.offsets,
        "mirna_lines": _lines(mirnas),
        "transcript_lines": _lines(transcripts),
        "transcript_text": laid.text,
        "transcript_offsets": laid.offsets,
        "transcript_order": order.astype(np.int32),
    }
    counts = {
        "mirnas_read": len(mirnas) + len(mirnas.bad) + mirnas.n_passed,
        "mirnas_kept": len(mirnas),
        "transcripts_read": len(transcripts) + len(transcripts.bad) + transcripts.n_passed,
        "transcripts_kept": len(transcripts),
        "mirna_letters": int(mirnas.letters.text.size),
        "transcript_letters": int(laid.text.size),
        "longest_transcript": longest,
        "pairs": len(mirnas) * len(transcripts),
    }
    missing: list[tuple[str, str]] = []
    if pairs is not None:
        spelled = [(mirna, transcripts.spelled(name)) for mirna, name in pairs]
        source = str(config.restrict)
        state["restrict"], missing, found = match_restrict(spelled, mirnas, transcripts, source)
        messages += found
        counts |= {
            "pairs": len(state["restrict"]),
            "restrict_pairs_read": len(pairs),
            "restrict_pairs_missing": len(missing),
        }
    items, renamed = items_table(mirnas, transcripts)
    genes: dict[str, str] = {}
    if config.genes is not None:
        genes, found = read_transcript_genes(config.genes, transcripts.names, transcripts.spelled)
        messages += found
        items, state["gene_items"] = with_genes(items, transcripts, len(mirnas), genes)
    state["site_abundance"] = site_abundance(*state_sequences(state))
    names = [transcripts.names[row] for row in order]
    more: list[PreparedPart] = []
    if orthologs is not None:
        more.append(
            prepare_orthologs(
                orthologs,
                names,
                genes,
                config.reference_species,
                config.species_tree,
                transcripts.spelled,
            )
        )
    if config.mirna_expression is not None and config.transcript_expression is not None:
        headed = zip(transcripts.names, transcripts.symbols, strict=False)  # none of no header
        more.append(
            prepare_expression(
                (config.mirna_expression, config.transcript_expression),
                mirnas.names,
                names,
                {name: symbol for name, symbol in headed if symbol} | genes,
                transcripts.spelled,
            )
        )
    for part in more:
        state.update(cast(SequenceArrays, part.state))
        counts |= part.counts
        messages += part.messages
    messages += [
        *(found for file in files for found in messages_on(file)),
        *message_of_names(renamed, items),
    ]
    if pairs is not None and missing:
        messages.append(
            message(
                "restrict_pairs_missing",
                source=str(config.restrict),
                n=len(missing),
                of=len(pairs),
                shown=join_first([f"{a} {b}" for a, b in missing]),
            )
        )
    unmapped = sum(name not in genes for name in transcripts.names)
    if config.genes is not None and unmapped:
        messages.append(
            message(
                "transcripts_without_gene", source=config.genes, n=unmapped, of=len(transcripts)
            )
        )
    if trim is not None:
        messages.append(
            message(
                "transcripts_cut",
                n=int((lengths > trim).sum()),
                transcripts=len(transcripts),
                trim=trim,
            )
        )
    return PreparedInput(items, state, counts, messages)


def choose_records(
    config: MirnaTargetsConfig, mirnas: Fasta, transcripts: Fasta
) -> tuple[Fasta, Fasta, list[Message]]:
    """The miRNAs that are asked for, each record of both files once, transcripts by the names in
    their headers; and what there is to say of it (``records``).

    Raises InputError as ``choose_mirnas``.
    """
    mirnas, whole = with_whole_headers(mirnas)
    mirnas, messages = choose_mirnas(mirnas, config.species, config.mirna_names)
    mirnas, twice = without_duplicates(mirnas)
    transcripts, twice_too = without_duplicates(transcripts)
    pattern = ""
    if transcripts.path != transcripts.key:  # names given in memory are the caller's own
        transcripts, pattern = take_apart(transcripts)
    if not pattern:
        transcripts, whole_too = with_whole_headers(transcripts)
        whole += whole_too
    if config.ignore_versions:
        transcripts = without_versions(transcripts)
    messages += [*whole, *twice, *twice_too]
    if pattern:
        messages.append(
            message(
                "headers_taken_apart",
                path=transcripts.path,
                pattern=pattern,
                name=transcripts.names[0],
                more="".join(
                    f", {part} {word}"
                    for part, words in (
                        ("gene", transcripts.genes[:1]),
                        ("symbol", transcripts.symbols[:1]),
                    )
                    for word in words
                    if word
                ),
            )
        )
    return mirnas, transcripts, messages


def messages_on(file: Fasta) -> list[Message]:
    """What there is to say of the records left out of a file, and of a file without any."""
    n_read = len(file) + len(file.bad) + file.n_passed
    empty = [bad for bad in file.bad if bad.placeholder]
    messages = []
    if empty:
        messages.append(
            message(
                "no_sequence_given",
                path=file.path,
                n=len(empty),
                of=n_read,
                example=f"{empty[0].name}: {empty[0].found}",
            )
        )
    if file.faults:
        messages.append(
            message(
                "bad_records_left_out",
                path=file.path,
                n=len(file.faults),
                of=n_read,
                first="; ".join(bad.message(file.path) for bad in file.faults[:3]),
            )
        )
    if not len(file):
        messages.append(message("no_sequences", path=file.path, key=file.key))
    lengths = file.letters.lengths
    long = int((lengths > MAX_MIRNA_LENGTH).sum()) if file.key == "mirnas" else 0
    if long:
        numbers = {"path": file.path, "n": long, "of": len(file), "limit": MAX_MIRNA_LENGTH}
        messages.append(message("long_mirnas", **numbers, longest=int(lengths.max())))
    return messages


def header_lines(lines: NDArray[np.uint8]) -> tuple[list[str], list[str]]:
    """Names and rest of the header lines, as in the file, from ``mirna_lines`` or
    ``transcript_lines`` of the state.

    Bytes that are not UTF-8 are surrogates: write them with ``errors="surrogateescape"``.
    """
    text = lines.tobytes().decode("utf-8", "surrogateescape")
    pairs = [line.split(" ", 1) for line in text.split("\n")[:-1]]
    return [name for name, _ in pairs], [header for _, header in pairs]


def _lines(fasta: Fasta) -> NDArray[np.uint8]:
    """Header lines with one blank after the name, whatever white space stood there."""
    text = "".join(map("{} {}\n".format, fasta.first_words, fasta.headers))
    return np.frombuffer(text.encode("utf-8", "surrogateescape"), dtype=np.uint8)


def message_of_names(renamed: Sequence[tuple[str, str]], items: pd.DataFrame) -> list[Message]:
    """What there is to say of names that were changed (``items_table``)."""
    record = dict(zip(items["name"][::-1], items["record"][::-1], strict=True))
    texts = []
    for old, new in renamed:
        first = f" after that of record {record[old]}" if old in record and old != new else ""
        shown = old.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        texts.append(f"{shown} as {new} (record {record[new]}{first})")
    return [message("names_taken", n=len(texts), shown=join_first(texts))] if texts else []


# --- items ----------------------------------------------------------------------------------------


MIRNA, TRANSCRIPT, GENE = "mirna", "transcript", "gene"
"""The kinds of item; genes only where transcripts are mapped to them."""


def items_table(mirnas: Fasta, transcripts: Fasta) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """One row for each record: kept miRNAs, kept transcripts, then what was left out.

    Columns are those of ``items.parquet`` in ``columns.toml``.

    Names are unique over both kinds, since networks name their nodes by them. Characters that
    tables cannot hold stand as ``\\x..``. Also returns the names that were changed, (in the file,
    in the table).
    """
    files = ((MIRNA, mirnas), (TRANSCRIPT, transcripts))
    for kind, fasta in files:  # bytes that are no UTF-8 may stand
        check_characters(
            fasta.path, kind, (name.encode("utf-8", "replace").decode() for name in fasta.names)
        )
    originals = [name for _, fasta in files for name in fasta.names]
    unique = unique_names([printable(name) for name in originals])
    renamed = [(a, b) for a, b in zip(originals, unique, strict=True) if a != b]
    kept = [
        (True, "", kind, length, printable(header.strip()), record)
        for kind, fasta in files
        for length, header, record in zip(
            fasta.letters.lengths, fasta.headers, fasta.records, strict=True
        )
    ]
    left_out = [
        (False, f"line {bad.line}: {bad.found}", kind, 0, "", bad.record)
        for kind, fasta in files
        for bad in fasta.bad
    ]
    columns = ["kept", "reason", "kind", "length", "header", "record"]
    items = pd.DataFrame([*kept, *left_out], columns=columns)
    items = items.astype({"kept": bool, "length": np.int32, "record": np.int32})
    items.insert(0, "item", np.arange(len(items), dtype=np.int32))
    unique += [printable(bad.name) for _, fasta in files for bad in fasta.bad]
    items.insert(1, "name", pd.Series(unique, dtype=object))
    items["is_regulator"] = (items["kind"] == MIRNA) & items["kept"]
    for column, values in (("symbol", transcripts.symbols), ("gene", transcripts.genes)):
        if values:
            own = range(len(mirnas), len(mirnas) + len(transcripts))
            texts = pd.Series(map(printable, values), index=own, dtype=object).replace("", None)
            without = items["name"] if column == "symbol" else ""
            items[column] = texts.reindex(items.index).fillna(without)
    return items, renamed


def with_genes(
    items: pd.DataFrame, transcripts: Fasta, n_mirnas: int, genes: Mapping[str, str]
) -> tuple[pd.DataFrame, NDArray[np.int32]]:
    """Add genes as items of their own, after all others that are kept; and of the kept transcripts
    in file order, the item of each one's gene.

    genes : of transcripts by name. A gene that is called as a transcript is that item; a transcript
    without a gene stands for itself.
    """
    kept = items[items["kept"]]
    item_of = dict(zip(kept["name"], kept["item"].tolist(), strict=True))
    named = {name: printable(genes[name]) for name in transcripts.names if name in genes}
    new = [gene for gene in dict.fromkeys(named.values()) if gene not in item_of]
    item_of |= {gene: len(kept) + k for k, gene in enumerate(new)}
    called = pd.Series(new, dtype=object)
    rows = pd.DataFrame(
        {
            "name": called,
            "symbol": called,
            "gene": called,
            "item": 0,
            "kind": GENE,
            "kept": True,
            "reason": "",
            "length": 0,
            "header": "",
            "record": 0,
            "is_regulator": False,
        }
    )
    parts = kept, rows[list(items.columns)], items[~items["kept"]]
    joined = pd.concat(parts, ignore_index=True).assign(item=np.arange(len(items) + len(new)))
    of_transcript = [
        item_of[named[name]] if name in named else n_mirnas + k
        for k, name in enumerate(transcripts.names)
    ]
    return joined.astype(items.dtypes), np.array(of_transcript, dtype=np.int32)


# --- pairs to look at -----------------------------------------------------------------------------


_FIRST_HEADERS = {"mirna", "mirnas", "microrna", "query", "source", "regulator", "from"}
_SECOND_HEADERS = {"transcript", "transcripts", "reference", "target", "gene", "to", "utr"}


@unless_in_memory
def read_restrict(path: str | PathLike[str]) -> list[tuple[str, str]]:
    """Pairs of miRNA and transcript of a restrict list; see ``read_name_pairs``."""
    return read_name_pairs(path, "miRNA and transcript", (_FIRST_HEADERS, _SECOND_HEADERS))


def match_restrict(
    pairs: Sequence[tuple[str, str]],
    mirnas: Fasta,
    transcripts: Fasta,
    source: str | PathLike[str],
) -> tuple[NDArray[np.int32], list[tuple[str, str]], list[Message]]:
    """Find pairs of names among the miRNAs and transcripts, which may be named by symbol or gene,
    where headers say them, without version, or in other capitals (``io.names.GeneNames``).

    A name that several records have stands for all of them. ``source``: the list's file, for the
    message.

    Returns int32 (n, 2), row of the miRNA and row of the transcript, sorted, each pair once; the
    pairs of which a name is not there, in file order; what to say of names that were found in
    another spelling.

    Raises InputError where no pair of the list is there although there are miRNAs and transcripts.
    """
    listed = pd.DataFrame(pairs, columns=["mirna", "transcript"], dtype=object)
    said: list[Message] = []
    for kind, fasta in (("mirna", mirnas), ("transcript", transcripts)):
        found_names = GeneNames(fasta.names, fasta.symbols, fasta.genes).find(listed[kind])
        said += found_names.messages(listed[kind].nunique(), f"{kind}s of {source}")
        listed[f"{kind}_row"] = listed[kind].map(found_names.rows)
        listed = listed.explode(f"{kind}_row", ignore_index=True)
    lost = listed.isna().any(axis=1)
    rows = ["mirna_row", "transcript_row"]
    known = listed.loc[~lost, rows].drop_duplicates().sort_values(rows)
    found = np.ascontiguousarray(known, dtype=np.int32)
    absent = listed.loc[lost, ["mirna", "transcript"]].drop_duplicates()
    missing = list(absent.itertuples(index=False, name=None))
    if not len(found) and len(mirnas) and len(transcripts):
        shown = join_first([f"{a} {b}" for a, b in missing], 3)
        raise InputError.at(
            source,
            "",
            f"none of its {len(missing)} pairs ({shown}) in the two FASTA files"
            f"{hint_of_names([name for _, name in missing], transcripts.names, '')}",
            f"pairs such as {mirnas.names[0]} {transcripts.names[0]}, the miRNA first",
        )
    return found, missing, said


# --- genes of transcripts -------------------------------------------------------------------------


_GENE_HEADERS = (
    {"transcript", "transcripts", "transcript_id", "tx", "tx_id", "target_id", "utr"},
    {"gene", "genes", "gene_id", "gene_name", "gene_symbol", "symbol"},
)


def read_transcript_genes(
    path: str | PathLike[str],
    transcripts: Sequence[str],
    spelled: Callable[[str], str] = str,
) -> tuple[dict[str, str], list[Message]]:
    """Read a table transcript -> gene; returns it for those of ``transcripts`` that it holds, and
    what to say of names that were found in another spelling. spelled : ``Fasta.spelled``.

    Raises InputError as ``read_name_pairs``; for a transcript with two genes; where none of the
    transcripts is in the table.
    """
    genes: dict[str, str] = {}
    for pair in read_name_pairs(path, "transcript and gene", _GENE_HEADERS):
        transcript, gene = map(spelled, pair)
        other = genes.setdefault(transcript, gene)
        if other != gene:
            raise InputError.at(
                path, f"transcript {transcript!r}", f"the genes {other!r} and {gene!r}", "one gene"
            )
    names = GeneNames(transcripts).find(genes)
    found = {transcripts[k]: genes[name] for name in reversed(names.rows) for k in names.rows[name]}
    if not found and transcripts:
        raise InputError.at(
            path,
            "",
            f"none of the {len(set(transcripts))} transcripts (such as {next(iter(genes))!r})"
            f"{hint_of_names([*genes], transcripts, '')}",
            f"names as in the FASTA file, such as {transcripts[0]!r}",
        )
    return found, names.messages(len(genes), f"transcripts of {path}")


# --- tables of two names a line -------------------------------------------------------------------


def read_name_pairs(
    path: str | PathLike[str], what: str, headers: tuple[Collection[str], Collection[str]]
) -> list[tuple[str, str]]:
    """Read pairs of names in file order, each pair once.

    Two fields a line, as ``io.text_file.read_list`` reads them: with tabs, commas or blanks between
    them. A first line whose fields are among ``headers``, in any case, is passed over. ``what``:
    what the fields are, for messages, such as ``miRNA and transcript``.

    Raises InputError: file missing or damaged, a line with another number of fields, or no pair.
    """
    pairs: dict[tuple[str, str], None] = {}
    for line, row in read_list(path, find_delimiter(path)):
        fields = row if len(row) > 1 else row[0].split()
        if len(fields) != 2 or not all(fields):
            found = f"{len(fields)} field{'s' * (len(fields) != 1)}: {join_first(fields)}"
            raise InputError.at(path, f"line {line}", found, f"2: {what}")
        pairs[fields[0], fields[1]] = None
    above = next(iter(pairs), ("", ""))
    if all(name.lower() in known for name, known in zip(above, headers, strict=True)):
        del pairs[above]
    if not pairs:
        raise InputError.at(path, "", "no pairs", f"{what} in each line")
    return list(pairs)
