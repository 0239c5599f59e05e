"""FASTA files as databases and people write them: what is recognised, left out or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hand_made_hits as hand
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from message_codes import numbers_by_code
from pairtile import mirna_targets
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.methods.mirna_targets.export import named_targets
from pairtile.methods.mirna_targets.prepare import header_lines
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from pairtile.runtime.files import read_json
from workflow_runs import Analysis

MIRNAS = ">hsa-let-7a-5p MIMAT0000062 Homo sapiens let-7a-5p\nUGAGGUAGUAGGUUGUAUAGUU\n"
UTR = "ACCGACCGACCGCUACCUCAACCGACCG"


def prepare(folder: Path, transcripts: str, mirnas: str = MIRNAS, **keys: Any) -> PreparedInput:
    return hand.prepared(folder, mirnas, transcripts, **keys)


def found(prepared: PreparedInput) -> dict[str, dict[str, Any]]:
    return numbers_by_code(prepared.notes, prepared.warnings)


def letters(prepared: PreparedInput) -> list[str]:
    return hand.texts(SequenceBatch.of_state(prepared.state, "transcript"))


# --- no sequence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "Sequence unavailable",
        "SEQUENCE UNAVAILABLE",
        "No UTR is annotated for this transcript",
        "Sequence not available",
        "N/A",
        "None",
        "null",
        "----",
        "-\n-",
    ],
)
@pytest.mark.parametrize("on_bad_record", ["error", "skip"])
def test_records_without_a_sequence_are_left_out_with_one_note(
    tmp_path: Path, words: str, on_bad_record: str
) -> None:
    records = "".join(f">none-{k}\n{words}\n" for k in range(30))
    prepared = prepare(tmp_path, f">a\n{UTR}\n{records}", on_bad_record=on_bad_record)
    assert list(found(prepared)) == ["no_sequence_given"]
    assert not prepared.warnings
    numbers = found(prepared)["no_sequence_given"]
    assert (numbers["n"], numbers["of"]) == (30, 31)
    assert letters(prepared) == [UTR]
    assert prepared.counts["transcripts_read"] == 31
    assert (~prepared.items["kept"]).sum() == 30


def test_faults_beside_records_without_a_sequence_are_still_refused(tmp_path: Path) -> None:
    records = f">a\nSequence unavailable\n>b\nAC!GU\n>c\n{UTR}\n"
    with pytest.raises(InputError, match="record 2 'b', line 4") as error:
        prepare(tmp_path, records)
    assert "'a'" not in str(error.value)
    codes = found(prepare(tmp_path, records, on_bad_record="skip"))
    assert codes.keys() == {"no_sequence_given", "bad_records_left_out"}


@pytest.mark.parametrize("body", ["unavailable\nACGU", "ACGU unavailable\nACGU", "ACE"])
def test_what_has_letters_besides_is_a_fault(tmp_path: Path, body: str) -> None:
    with pytest.raises(InputError, match="illegal character"):
        prepare(tmp_path, f">a\n{body}\n")


# --- other forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f">a\n{UTR}*\n",
        f">a\n{UTR[:9]}\n{UTR[9:]}\n*\n",
        f"; a comment\n>a\n;another >b\n{UTR}\n;last",
        f">a\r\n{UTR}\r\n\r\n",
    ],
    ids=["terminator", "terminator_alone", "comments", "crlf"],
)
def test_terminators_and_comments_are_passed_over(tmp_path: Path, text: str) -> None:
    prepared = prepare(tmp_path, text)
    assert letters(prepared) == [UTR]
    assert found(prepared) == {}


PROTEINS = "".join(f">p{k}\nMEEPQSDPSVEPPLSQETFSDLWKLLPENNVLS\n" for k in range(40))
ALIGNED = "".join(f">p{k}\nAC--GU{'A' * k}\n" for k in range(40))


@pytest.mark.parametrize(
    ("text", "words"),
    [(PROTEINS, "proteins"), (ALIGNED, "alignment"), ("@r\nACGU\n+\nIIII\n", "FASTQ")],
    ids=["proteins", "alignment", "fastq"],
)
def test_files_of_another_kind_are_named_in_few_lines(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as error:
        prepare(tmp_path, text)
    assert len(str(error.value).splitlines()) <= 7
    with pytest.raises(InputError, match=words):
        prepare(tmp_path, f">a\n{UTR}\n", mirnas=text)


def test_one_record_with_a_gap_is_no_alignment(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="on_bad_record: skip") as error:
        prepare(tmp_path, f">a\nAC-\n>b\n{UTR}\n>c\n{UTR}\n")
    assert "alignment" not in str(error.value)


# --- species and names ----------------------------------------------------------------------------

MATURE = MIRNAS + "".join(
    f">{name} MIMAT\n{letters}\n"
    for name, letters in {
        "hsa-miR-21-5p": "UAGCUUAUCAGACUGAUGUUGA",
        "mmu-miR-1a-3p": "UGGAAUGUAAAGAAGUAUGUAU",
        "cel-lin-4-5p": "UCCCUGAGACCUCAAGUGUGA",
        "ebv-miR-BART1-3p": "UAGCACCGCUAUCCACUAUGUC",
    }.items()
)


def names_of(prepared: PreparedInput) -> list[str]:
    kept = prepared.items[prepared.items["is_regulator"]]
    return list(kept["name"])


def test_several_species_are_warned_of_and_counted(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, f">a\n{UTR}\n", MATURE)
    (warning,) = prepared.warnings
    assert (warning.code, warning.key) == ("several_species", "species")
    assert (warning.numbers["n"], warning.numbers["n_species"]) == (5, 4)
    assert "hsa 2" in warning.numbers["species"]
    assert len(names_of(prepared)) == 5


@pytest.mark.parametrize(
    ("species", "expected"),
    [
        ("hsa", ["hsa-let-7a-5p", "hsa-miR-21-5p"]),
        (["HSA", "ebv"], ["hsa-let-7a-5p", "hsa-miR-21-5p", "ebv-miR-BART1-3p"]),
        (["cel"], ["cel-lin-4-5p"]),
    ],
)
def test_miRNAs_of_a_species_are_those_of_a_file_of_them(
    tmp_path: Path, species: Any, expected: list[str]
) -> None:
    prepared = prepare(tmp_path, f">a\n{UTR}\n", MATURE, species=species)
    assert names_of(prepared) == expected
    assert prepared.counts["mirnas_read"] == 5
    assert prepared.counts["mirnas_kept"] == len(expected)
    assert found(prepared).keys() == {"mirnas_chosen"}
    assert found(prepared)["mirnas_chosen"]["chosen"] == len(expected)
    records = MATURE.split(">")[1:]
    alone = "".join(f">{text}" for text in records if text.split()[0] in expected)
    own = prepare(tmp_path, f">a\n{UTR}\n", alone, species=species)
    for name, array in own.state.items():
        np.testing.assert_array_equal(array, prepared.state[name])


def test_mirgenedb_and_names_without_a_species(tmp_path: Path) -> None:
    text = ">Hsa-Mir-10-P1a_5p\nACGUACGU\n>Mmu-Mir-10-P1a_5p\nACGUACGA\n>control-1\nACGUACGC\n"
    numbers = found(prepare(tmp_path, f">a\n{UTR}\n", text))["several_species"]
    assert (numbers["n"], numbers["n_species"]) == (3, 2)
    assert names_of(prepare(tmp_path, f">a\n{UTR}\n", text, species="hsa")) == ["Hsa-Mir-10-P1a_5p"]
    assert found(prepare(tmp_path, f">a\n{UTR}\n", ">a-1\nACGU\n>b-1\nACGA\n")) == {}


def test_an_unknown_species_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rno.*hsa 2.*mmu 1"):
        prepare(tmp_path, f">a\n{UTR}\n", MATURE, species=["hsa", "rno"])


def test_faults_of_other_species_do_not_matter(tmp_path: Path) -> None:
    text = f"{MATURE}>mmu-miR-2\nAC!\n"
    assert len(names_of(prepare(tmp_path, f">a\n{UTR}\n", text, species="hsa"))) == 2
    with pytest.raises(InputError, match="mmu-miR-2"):
        prepare(tmp_path, f">a\n{UTR}\n", text, species="mmu")


@pytest.mark.parametrize("as_file", [False, True])
def test_mirnas_are_chosen_by_name(tmp_path: Path, as_file: bool) -> None:
    wanted = ["hsa-mir-21-5p", "cel-lin-4-5p", "hsa-miR-9"]
    names = "# mine\n" + "\n".join(wanted) + "\n" if as_file else wanted
    prepared = prepare(tmp_path, f">a\n{UTR}\n", MATURE, mirna_names=names)
    assert names_of(prepared) == ["hsa-miR-21-5p", "cel-lin-4-5p"]
    numbers = found(prepared)
    assert numbers["mirnas_chosen"]["chosen"] == 2
    missing = numbers["mirnas_not_there"]
    assert (missing["n"], missing["of"], missing["names"]) == (1, 3, "hsa-miR-9")


def test_names_of_which_none_is_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"miR-21.*hsa-let-7a-5p"):
        prepare(tmp_path, f">a\n{UTR}\n", MATURE, mirna_names=["miR-21"])


# --- duplicates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "kept", "passed"),
    [
        (f">a\n{UTR}\n>a\n{UTR}\n", ["a"], 1),
        (f">a x\n{UTR}\n>b\nAC\n>a y\n{UTR[:5]}\n{UTR[5:]}\n>a\n{UTR.lower()}\n", ["a", "b"], 2),
        (f">a\n{UTR}\n>a\n{UTR.replace('U', 'T')}\n>b\n{UTR}\n", ["a", "b"], 1),
        (f">a\n{UTR}\n>A\n{UTR}\n", ["a", "A"], 0),
    ],
    ids=["twice", "thrice_wrapped_and_lower", "with_t", "other_name"],
)
def test_the_same_record_again_is_passed_over(
    tmp_path: Path, records: str, kept: list[str], passed: int
) -> None:
    prepared = prepare(tmp_path, records)
    assert prepared.items["name"].tolist() == ["hsa-let-7a-5p", *kept]
    assert not prepared.warnings
    numbers = found(prepared).get("same_record_twice", {"n": 0})
    assert numbers["n"] == passed
    assert prepared.counts["transcripts_read"] == len(kept) + passed
    assert header_lines(prepared.state["transcript_lines"])[0] == kept


# --- headers --------------------------------------------------------------------------------------

G, T = "ENSG0000000000{}", "ENST0000000000{}"
HEADERS = {
    "biomart": (f"{G}|{T}.1|GENE{{}}", f"{T}.1"),
    "biomart_other_order": (f"{T}.3|{G}.2|GENE{{}}", f"{T}.3"),
    "biomart_ids_twice": (f"{G}|{G}.5|{T}|{T}.4|GENE{{}}", T),
    "biomart_places": (f"{G}|{T}|22|1000{{}}|-1|protein_coding|GENE{{}}", T),
    "biomart_joined": (f"{G}|{T};ENST00000100{{}}00|GENE{{}}", f"{T};ENST00000100{{}}00"),
    "gencode": (
        f"{T}.2|{G}.5|OTTHUMG00000000961.2|OTTHUMT0000000{{}}.1|GENE{{}}-201|GENE{{}}|28|lncRNA|",
        f"{T}.2",
    ),
    "gencode_without_havana": (f"{T}.2|{G}.5|-|-|GENE{{}}-201|GENE{{}}|28|lncRNA|", f"{T}.2"),
    "ncbi": ("gi|9{}|ref|NM_00010{}.6| Homo sapiens x (y) z (GENE{}), mRNA", "NM_00010{}.6"),
    "ncbi_now": (
        "NM_00010{}.6 Homo sapiens x (GENE{}), transcript variant 2, mRNA",
        "NM_00010{}.6",
    ),
    "ensembl": (
        f"{T}.1 cdna chromosome:GRCh38:14:1:2:1 gene:{G} gene_biotype:x gene_symbol:GENE{{}} d",
        f"{T}.1",
    ),
    "ucsc": (f"hg38_knownGene_{T}.2 range=chr1:1-2 5'pad=0 strand=+", f"{T}.2"),
    "plant": ("AT1G0100{}|AT1G0100{}.1|GENE{}", "AT1G0100{}.1"),
}


def filled(pattern: str, k: int) -> str:
    return pattern.replace("{}", str(k))


@pytest.mark.parametrize("form", HEADERS)
def test_headers_are_taken_apart(tmp_path: Path, form: str) -> None:
    header, transcript = HEADERS[form]
    records = "".join(f">{filled(header, k)}\n{UTR}{'A' * k}\n" for k in (1, 2, 3))
    prepared = prepare(tmp_path, records)
    items = prepared.items[~prepared.items["is_regulator"]]
    assert items["name"].tolist() == [filled(transcript, k) for k in (1, 2, 3)]
    if form != "ucsc":
        assert items["symbol"].tolist() == ["GENE1", "GENE2", "GENE3"]
    if "ncbi" not in form and form != "ucsc":
        assert all(f"0{k}" in gene for k, gene in zip((1, 2, 3), items["gene"], strict=True))
    assert found(prepared).keys() == {"headers_taken_apart"}
    words = [filled(header, k).split()[0] for k in (1, 2, 3)]
    assert header_lines(prepared.state["transcript_lines"])[0] == words


@pytest.mark.parametrize(
    "names",
    [
        ["a|b", "c|d"],
        [T.format(1), T.format(2)],
        [f"{G.format(1)}|{T.format(1)}", "spike"],
        ["gi|34147578|ref|NM_014338.3|_tail", "gi|34147579|ref|NM_014339.3|_tail"],
        [f"{G.format(1)}|{T.format(1)}|exon1", f"{G.format(1)}|{T.format(1)}|exon2"],
    ],
    ids=["unknown", "plain", "not_all", "tail", "not_unique"],
)
def test_other_headers_keep_their_first_word(tmp_path: Path, names: list[str]) -> None:
    records = "".join(f">{name}\n{UTR}{'A' * k}\n" for k, name in enumerate(names))
    prepared = prepare(tmp_path, records)
    assert prepared.items["name"].tolist() == ["hsa-let-7a-5p", *names]


def test_a_record_without_a_symbol_goes_by_its_transcript(tmp_path: Path) -> None:
    records = f">{G.format(1)}|{T.format(1)}|GENE1\n{UTR}\n>{G.format(2)}|{T.format(2)}|\n{UTR}\n"
    items = prepare(tmp_path, records).items
    assert items["symbol"].tolist() == ["hsa-let-7a-5p", "GENE1", T.format(2)]
    assert items["gene"].tolist() == ["", G.format(1), G.format(2)]


WORD = f"{G.format(1)}|{T.format(1)}|GENE1"
TWO = f">{WORD}\n{UTR}\n>{G.format(2)}|{T.format(2)}|GENE2\n{UTR}A\n"


def lists_of(name: str, gene: str) -> dict[str, Any]:
    """Every list that names transcripts, each with one of them."""
    table = "n\ta\tb\tc\td\te\n{}\t1\t2\t3\t4\t5\n"
    return {
        "restrict": f"hsa-let-7a-5p\t{name}\n",
        "genes": f"{name}\t{gene}\n",
        "orthologs": f">{name}|mmu\n{UTR}\n",
        "mirna_expression": table.format("hsa-let-7a-5p"),
        "transcript_expression": table.format(name),
        "null": {"shuffles": 20},
    }


def assert_all_matched(prepared: PreparedInput) -> None:
    assert prepared.state["restrict"].tolist() == [[0, 0]]
    assert prepared.counts["transcripts_with_orthologs"] == 1
    assert prepared.counts["transcripts_with_expression"] == 1


@pytest.mark.parametrize("name", [WORD, T.format(1)])
def test_lists_may_have_either_name(tmp_path: Path, name: str) -> None:
    prepared = prepare(tmp_path, TWO, **lists_of(name, "mine"))
    assert prepared.items["name"].tolist()[-1] == "mine"
    assert_all_matched(prepared)


def test_tables_of_pairs_have_gene_and_symbol(tmp_path: Path) -> None:
    items = prepare(tmp_path, TWO).items
    targets = pa.table(
        {
            "mirna": ["hsa-let-7a-5p"],
            "transcript": pa.DictionaryArray.from_arrays(
                pa.array([2], pa.int32()), items["name"].tolist()
            ),
            "n_hits": [1],
        }
    )
    table = named_targets(targets, items).to_pandas()
    assert list(table.columns) == ["mirna", "transcript", "gene", "symbol", "n_hits"]
    assert table.loc[0, ["gene", "symbol"]].tolist() == [G.format(2), "GENE2"]


def test_the_library_names_transcripts_of_files_but_not_those_in_memory(tmp_path: Path) -> None:
    (tmp_path / "t.fa").write_text(TWO)
    mirnas = {"let-7": "UGAGGUAGUAGGUUGUAUAGUU"}
    settings: dict[str, Any] = {"energies": False, "score": 100}
    of_file = mirna_targets(mirnas, tmp_path / "t.fa", **settings)
    in_memory = mirna_targets(mirnas, {WORD: UTR}, **settings)
    assert set(of_file["transcript"]) == {T.format(1), T.format(2)}
    assert set(in_memory["transcript"]) == {WORD}
    listed = mirna_targets(mirnas, tmp_path / "t.fa", restrict=[("let-7", WORD)], **settings)
    expected = of_file[of_file["transcript"] == T.format(1)].reset_index(drop=True)
    pd.testing.assert_frame_equal(listed, expected)


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "listed"),
    [
        (T.format(1), f"{T.format(1)}.7"),
        (f"{T.format(1)}.2", T.format(1)),
        (f"{G.format(1)}.5|{T.format(1)}.2|GENE1", f"{T.format(1)}.3"),
        ("NM_000016.6", "NM_000016.4"),
    ],
)
def test_versions_are_ignored_in_the_file_and_in_every_list(
    tmp_path: Path, header: str, listed: str
) -> None:
    lists = lists_of(listed, "ENSG00000000009.3")
    prepared = prepare(tmp_path, f">{header}\n{UTR}\n", ignore_versions=True, **lists)
    transcript, gene = prepared.items["name"].tolist()[1:]
    assert "." not in transcript
    assert gene == "ENSG00000000009"
    assert_all_matched(prepared)
    null = {"null": {"shuffles": 20}}
    tables = {key: lists[key] for key in ("mirna_expression", "transcript_expression")}
    # Not asked for, one name that differs in its version alone is found, and counted.
    for given in ({"restrict": lists["restrict"]}, {"genes": lists["genes"]}, tables | null):
        found = prepare(tmp_path, f">{header}\n{UTR}\n", **given)
        [said] = [each for each in found.messages if each.code == "names_matched"]
        assert said.numbers["n"] == 1


def test_records_that_differ_in_the_version_only_are_refused(tmp_path: Path) -> None:
    records = f">{T.format(1)}.1\n{UTR}\n>{T.format(1)}.2\n{UTR}A\n"
    assert len(prepare(tmp_path, records).items) == 3
    with pytest.raises(InputError, match=rf"{T.format(1)}\.1 and {T.format(1)}\.2"):
        prepare(tmp_path, records, ignore_versions=True)


def test_two_rows_of_one_transcript_in_a_table_are_refused(tmp_path: Path) -> None:
    lists = lists_of(WORD, "mine")
    lists["transcript_expression"] += f"{T.format(1)}\t1\t2\t3\t4\t5\n"
    with pytest.raises(InputError, match=T.format(1)):
        prepare(tmp_path, TWO, **lists)


def test_gold_standards_are_read_without_versions(tmp_path: Path) -> None:
    fasta = f">{T.format(1)}.2\n{UTR}\n>{T.format(2)}.2\n{UTR[:9]}\n"
    (tmp_path / "m.fa").write_text(MIRNAS + ">hsa-miR-21-5p\nUAGCUUAUCAGACUGAUGUUGA\n")
    (tmp_path / "t.fa").write_text(fasta)
    (tmp_path / "g.tsv").write_text(f"hsa-let-7a-5p\t{T.format(1)}.9\nhsa-miR-21-5p\tx\n")
    changes = {
        "method": "mirna_targets",
        "mirnas": "m.fa",
        "transcripts": "t.fa",
        "gold_standard": "g.tsv",
        "ignore_versions": True,
        "estimator": {"energies": False, "score": 80},
        "export": ["tsv"],
    }
    out = Analysis(tmp_path, changes).all().out
    found_gold = read_json(out / "evaluation.json")
    assert (found_gold["n_gold_read"], found_gold["n_gold_outside_table"]) == (2, 1)
