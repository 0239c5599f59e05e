"""What the search of targets is given: items, sorted transcripts, restrict pairs, warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hand_made_hits as hand
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.engine.estimator import PreparedInput
from pairtile.io.networks.table import NetworkTable
from pairtile.methods.mirna_targets.prepare import header_lines
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from pairtile.preprocess.items import printable, unique_names

MIRNAS = ">m1 first\nUGAGGUAGUAGGUUGUAUAGUU\n>m2\nUAGCAGCACGUAAAUAUUGGCG\n"
TRANSCRIPTS = ">long\nACGUACGUAC\n>short\nACG\n>middle a gene\nACGUA\n>also_short\nUUU\n"


def prepare(
    folder: Path, mirnas: str | bytes = MIRNAS, transcripts: str | bytes = TRANSCRIPTS, **keys: Any
) -> PreparedInput:
    return hand.prepared(folder, mirnas, transcripts, **keys)


def texts(prepared: PreparedInput, kind: str) -> list[str]:
    return hand.texts(SequenceBatch.of_state(prepared.state, kind))


def test_transcripts_are_sorted_by_length_and_the_order_says_which_is_which(
    tmp_path: Path,
) -> None:
    prepared = prepare(tmp_path)
    assert texts(prepared, "transcript") == ["ACG", "UUU", "ACGUA", "ACGUACGUAC"]
    assert prepared.state["transcript_order"].tolist() == [1, 3, 2, 0]
    assert texts(prepared, "mirna") == ["UGAGGUAGUAGGUUGUAUAGUU", "UAGCAGCACGUAAAUAUUGGCG"]
    types = {name: str(array.dtype) for name, array in prepared.state.items()}
    assert types == {
        "mirna_text": "uint8",
        "site_abundance": "int64",
        "mirna_offsets": "int64",
        "mirna_lines": "uint8",
        "transcript_text": "uint8",
        "transcript_offsets": "int64",
        "transcript_lines": "uint8",
        "transcript_order": "int32",
    }


def test_items_are_mirnas_then_transcripts_in_file_order(tmp_path: Path) -> None:
    items = prepare(tmp_path).items
    assert items["name"].tolist() == ["m1", "m2", "long", "short", "middle", "also_short"]
    assert items["kind"].tolist() == ["mirna"] * 2 + ["transcript"] * 4
    assert items["length"].tolist() == [22, 22, 10, 3, 5, 3]
    assert items["header"].tolist() == ["first", "", "", "", "a gene", ""]
    assert items["item"].tolist() == list(range(6))
    assert items["record"].tolist() == [1, 2, 1, 2, 3, 4]
    assert items["is_regulator"].tolist() == [True] * 2 + [False] * 4
    assert items["kept"].all()
    assert (items["reason"] == "").all()
    for column, kind in {"item": "int32", "length": "int32", "kept": "bool"}.items():
        assert items[column].dtype == kind


def test_what_was_left_out_is_counted_listed_and_comes_last(tmp_path: Path) -> None:
    prepared = prepare(
        tmp_path, MIRNAS + ">m3\nAC-\n", ">t1\n>t2\nACGU\n> x\nACGU\n", on_bad_record="skip"
    )
    items = prepared.items
    assert items["name"].tolist() == ["m1", "m2", "t2", "m3", "t1", ""]
    assert items["kept"].tolist() == [True] * 3 + [False] * 3
    assert items["reason"].tolist()[3:] == [
        "line 6: illegal character '-'",
        "line 1: an empty sequence",
        "line 4: no name",
    ]
    assert items["record"].tolist() == [1, 2, 2, 3, 1, 3]
    assert items["kind"].tolist()[3:] == ["mirna", "transcript", "transcript"]
    assert not items["is_regulator"][3:].any()
    assert prepared.counts["mirnas_read"] == 3
    assert prepared.counts["mirnas_kept"] == 2
    assert prepared.counts["transcripts_read"] == 3
    assert prepared.counts["transcripts_kept"] == 1
    assert prepared.counts["pairs"] == 2
    of_mirnas, of_transcripts = prepared.warnings
    assert {w.code for w in prepared.warnings} == {"bad_records_left_out"}
    assert (of_mirnas.numbers["n"], of_transcripts.numbers["n"]) == (1, 2)
    assert "record 3 'm3', line 6" in of_mirnas.numbers["first"]


def test_duplicate_names_become_unique_with_a_warning_and_stay_for_miranda(
    tmp_path: Path,
) -> None:
    prepared = prepare(tmp_path, ">a\nACGU\n>a#2\nACGU\n>a\nACGA\n", ">a\nACGUA\n>b\nAC\n>b\nAG\n")
    assert prepared.items["name"].tolist() == ["a", "a#2", "a#3", "a#4", "b", "b#2"]
    (warning,) = prepared.warnings
    assert (warning.code, warning.numbers["n"]) == ("names_taken", 3)
    assert "b as b#2 (record 3 after that of record 2)" in warning.numbers["shown"]
    names, headers = header_lines(prepared.state["mirna_lines"])
    assert names == ["a", "a#2", "a"]
    assert headers == ["", "", ""]
    assert header_lines(prepared.state["transcript_lines"])[0] == ["a", "b", "b"]


def test_records_are_named_by_their_whole_headers_where_first_words_are_not_unique(
    tmp_path: Path,
) -> None:
    mirnas = ">miR 21-5p\nACGUACGUA\n>miR 122-5p\nACGUACGUC\n>let-7a x\nACGUACGUG\n"
    prepared = prepare(
        tmp_path, mirnas, ">UTR of A\nACGUA\n>UTR of B\nACGUC\n>C\nAC\n",
        restrict="miR 122-5p\tUTR of A\nlet-7a\tC\n",
    )  # fmt: skip
    names = ["miR 21-5p", "miR 122-5p", "let-7a", "UTR of A", "UTR of B", "C"]
    assert prepared.items["name"].tolist() == names
    assert prepared.state["restrict"].tolist() == [[1, 0], [2, 2]]
    found = [m for m in prepared.messages if m.code == "whole_headers"]
    assert [(m.numbers["n"], m.numbers["word"]) for m in found] == [(2, "miR"), (2, "UTR")]
    assert not prepared.warnings
    assert header_lines(prepared.state["mirna_lines"])[0] == ["miR", "miR", "let-7a"]


@given(st.lists(st.sampled_from(["a", "b", "a#2", "a#3", "a#2#2", ""]), max_size=12))
def test_unique_names_are_unique_and_the_first_of_each_stays(names: list[str]) -> None:
    unique = unique_names(names)
    assert len(set(unique)) == len(names)
    for name in set(names):
        assert unique[names.index(name)] == name
    assert all(new.startswith(old) for old, new in zip(names, unique, strict=True))


def test_strange_names_fit_tables_and_networks_and_stay_as_they_are_for_miranda(
    tmp_path: Path,
) -> None:
    prepared = prepare(tmp_path, b">\xb5 a\tb\xe9\r\nACGU\n>=1+2\nACGU\n", ">\u00b5\nACGUA\n")
    [renamed] = [m.numbers["shown"] for m in prepared.messages if m.code == "names_taken"]
    assert renamed == "\ufffd as \\xb5 (record 1)"  # what a reader sees of each differs
    items = prepared.items
    assert items["name"].tolist() == ["\\xb5", "=1+2", "µ"]
    assert items["header"].tolist() == ["a\\x09b\\xe9", "", ""]
    lines = prepared.state["mirna_lines"].tobytes()
    assert lines == b"\xb5 a\tb\xe9\r\n=1+2 \n"
    names, _ = header_lines(prepared.state["mirna_lines"])
    assert names[0].encode("utf-8", "surrogateescape") == b"\xb5"
    items.to_parquet(tmp_path / "items.parquet")
    assert pd.read_parquet(tmp_path / "items.parquet")["name"].tolist() == items["name"].tolist()
    edges = pd.DataFrame({"source": ["=1+2"], "target": ["µ"], "correlation": [1.0]})
    assert NetworkTable.build(edges, items, directed=True).names == items["name"].tolist()


def test_printable_writes_out_what_no_table_holds() -> None:
    assert printable("a\udcb5b\x7f\ufffe") == "a\\xb5b\\x7f\\ufffe"
    assert printable("gi|1|µ #=") == "gi|1|µ #="


def test_restrict_pairs_are_rows_in_file_order(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, restrict="m2\tshort\nm1\tmiddle\nm9\tlong\nm2\tlong\n")
    assert prepared.state["restrict"].tolist() == [[0, 2], [1, 0], [1, 1]]
    assert prepared.state["restrict"].dtype == np.int32
    assert prepared.counts["pairs"] == 3
    assert prepared.counts["restrict_pairs_read"] == 4
    assert prepared.counts["restrict_pairs_missing"] == 1
    (warning,) = prepared.warnings
    assert (warning.code, warning.numbers["n"]) == ("restrict_pairs_missing", 1)
    assert warning.numbers["shown"] == "m9 long"


def test_trim_cuts_what_is_searched_and_sorts_by_what_is_left(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, estimator={"trim": 4})
    assert texts(prepared, "transcript") == ["ACG", "UUU", "ACGU", "ACGU"]
    assert prepared.state["transcript_order"].tolist() == [1, 3, 0, 2]
    assert prepared.items["length"].tolist()[2:] == [10, 3, 5, 3]
    (note,) = prepared.notes
    assert (note.code, note.numbers["n"]) == ("transcripts_cut", 2)
    assert prepared.counts["longest_transcript"] == 4


@pytest.mark.parametrize("transcripts", ["", "> no name\nACGU\n"], ids=["empty", "all_bad"])
def test_no_transcript_left_is_a_warning_as_miranda_goes_on(
    tmp_path: Path, transcripts: str
) -> None:
    prepared = prepare(tmp_path, MIRNAS, transcripts, on_bad_record="skip")
    assert prepared.counts["pairs"] == prepared.counts["transcript_letters"] == 0
    assert prepared.state["transcript_text"].dtype == np.uint8
    assert prepared.state["transcript_offsets"].tolist() == [0]
    assert header_lines(prepared.state["transcript_lines"]) == ([], [])
    assert prepared.items["kept"].sum() == 2
    assert "no_sequences" in [w.code for w in prepared.warnings]


def test_hairpins_in_place_of_mature_mirnas_are_warned_of(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, ">hairpin\n" + "ACGU" * 20 + "\n")
    (warning,) = prepared.warnings
    assert (warning.code, warning.numbers["n"], warning.numbers["longest"]) == (
        "long_mirnas",
        1,
        80,
    )


def test_every_item_finds_its_letters_in_the_real_data(shared: Path) -> None:
    folder = shared / "data/mirna"
    section = {
        "method": "mirna_targets",
        "mirnas": str(folder / "human_mature_mirna.fa"),
        "transcripts": str(folder / "human_chr22_transcripts.fa.gz"),
    }
    prepared = hand.prepare(section)
    assert prepared.counts["mirnas_kept"] == 1921
    assert prepared.counts["transcripts_kept"] == 918
    assert prepared.counts["pairs"] == 1921 * 918
    lengths = np.diff(prepared.state["transcript_offsets"])
    assert (np.diff(lengths) >= 0).all()
    order = prepared.state["transcript_order"]
    assert sorted(order.tolist()) == list(range(918))
    of_items = prepared.items["length"].to_numpy()[1921:]
    assert (of_items[order] == lengths).all()
    assert prepared.items["name"].is_unique
