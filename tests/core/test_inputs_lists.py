"""Regulator lists and gold standards."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.command.compare import compare, read_network
from pairtile.errors import InputError
from pairtile.io.gold_standard import read_gold_standard, with_spelling_of
from pairtile.io.networks import export_network
from pairtile.io.regulators import (
    find_regulators,
    match_regulators,
    read_regulators,
    warning_of_absent,
)


def write(folder: Path, name: str, text: str | bytes) -> Path:
    raw = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder / name


@pytest.mark.parametrize("name", ["r.txt", "r.tsv", "r", "r.txt.gz"])
def test_regulators_are_read_in_file_order_each_once(tmp_path: Path, name: str) -> None:
    text = '\ufeff# factors\r\nlexA\r\n\r\n  fur \r\n"crp"\r\nlexA\r\n  # end'
    assert read_regulators(write(tmp_path, name, text)) == ["lexA", "fur", "crp"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("# none\n\n", "no names; expected one regulator a line"),
        ("lexA\nfur\tyes\n", "line 2: found 2 fields; expected one name a line"),
        (b"lexA\nf\xfcr\n", "line 2: found bytes that are not UTF-8 (0xFC, in Latin-1 'ü')"),
    ],
)
def test_bad_regulator_lists_are_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_regulators(write(tmp_path, "r.txt", text))


def test_a_missing_regulator_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_regulators(tmp_path / "r.txt")
    with pytest.raises(InputError, match="a folder"):
        read_regulators(tmp_path)


NAMES = st.lists(st.sampled_from([f"g{k}" for k in range(12)]), max_size=15)


@given(regulators=NAMES, genes=NAMES.map(lambda names: list(dict.fromkeys(names))))
def test_matched_regulators_and_missing_ones_make_up_the_list(
    regulators: list[str], genes: list[str]
) -> None:
    if not set(regulators) & set(genes):
        with pytest.raises(InputError):
            match_regulators(regulators, genes, "r.txt")
        return
    rows, missing = match_regulators(regulators, genes, "r.txt")
    assert rows.dtype == np.int32
    assert (np.diff(rows) > 0).all()
    assert {genes[k] for k in rows} | set(missing) == set(regulators)
    assert missing == [n for n in dict.fromkeys(regulators) if n not in genes]


@pytest.mark.parametrize(
    ("regulator", "gene", "hint"),
    [
        ("LEXA", "lexA", "some differ in capitals only"),
        ("ENSG01.7", "ENSG01", "version after the last point"),
        ("ENSG01", "ENSG01.2", "version after the last point"),
        ("x", "y", "does its orientation fit?"),
    ],
)
def test_no_regulator_in_the_table_is_an_error_with_a_hint(
    regulator: str, gene: str, hint: str
) -> None:
    with pytest.raises(InputError, match=re.escape(hint)) as error:
        match_regulators([regulator], [gene, "b", "c", "d"], "r.txt")
    assert f"r.txt: found none of its 1 names ({regulator})" in str(error.value)
    assert f"among the 4 genes ({gene}, b, c, d)" in str(error.value)


def test_capitals_are_passed_over_where_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "r.txt", "LEXA\nfnr\nFnr\nMarA\n")
    genes = ["lexA", "fnr", "FNR", "crp"]
    with pytest.raises(InputError, match=re.escape("r.txt: found 'Fnr', which")) as error:
        find_regulators(path, genes, ignore_case=True)
    assert "'fnr' and 'FNR'" in str(error.value)
    found = find_regulators(path, ["lexA", "fnr", "crp"], ignore_case=True)
    assert found.rows.tolist() == [0, 1]
    assert "1 of 4 regulators are not among the kept genes: MarA" in found.warnings[0]
    assert find_regulators(path, ["lexA", "fnr"]).rows.tolist() == [1]


@pytest.mark.parametrize("header", ["", "source\ttarget\n", "TF\tGene\n", "Regulator\ttarget\n"])
@pytest.mark.parametrize("name", ["g.tsv", "g.csv", "g.tsv.gz", "g.txt"])
def test_gold_standards_are_read_and_what_is_left_out_is_counted(
    tmp_path: Path, header: str, name: str
) -> None:
    text = header + "a\tb\nb\ta\n# comment\na\tb\nc\tc\na\td\n"
    if name == "g.csv":
        text = text.replace("\t", ",")
    edges = read_gold_standard(write(tmp_path, name, text))
    assert list(edges.columns) == ["source", "target"]
    assert edges.values.tolist() == [["a", "b"], ["b", "a"], ["a", "d"]]
    assert edges.attrs == {
        "n_rows": 5,
        "n_false": 0,
        "n_self_edges": 1,
        "n_duplicates": 1,
        "has_header": bool(header),
    }


def test_edges_get_the_spelling_of_the_genes(tmp_path: Path) -> None:
    edges = read_gold_standard(write(tmp_path, "g.tsv", "LEXA\trecA\nlexA\tuvrA\nx\tRECA\n"))
    spelled = with_spelling_of(edges, ["lexA", "recA", "uvrA"], "g.tsv")
    assert spelled.values.tolist() == [["lexA", "recA"], ["lexA", "uvrA"], ["x", "recA"]]


def test_gold_standard_rows_labelled_zero_are_false_edges(tmp_path: Path) -> None:
    text = "source\ttarget\tlabel\na\tb\t1\na\tc\t0\nb\tc\t0.7\na\td\t0.0\n"
    edges = read_gold_standard(write(tmp_path, "g.tsv", text))
    assert edges.values.tolist() == [["a", "b"], ["b", "c"]]
    assert edges.attrs["n_false"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("source\ttarget\n", "no edges"),
        ("a\n", "line 1: found 1 field; expected 2 (source, target) or 3"),
        ("a\tb\t1\tx\n", "line 1: found 4 fields; expected 2"),
        ("a\tb\t1\na\tc\n", "line 2: found 2 fields; expected 3"),
        ("a\tb\na\t\n", "line 2: found an empty name"),
        ("a\tb\t1\na\tc\tyes\n", "line 2: found 'yes'; expected a number"),
        ("a\tb\tnan\n", "line 1: found 'nan'; expected a number"),
        ("a\tb\t0\nb\tb\t1\n", "no true edge between two names in 2 rows"),
    ],
)
def test_bad_gold_standards_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_gold_standard(write(tmp_path, "g.tsv", text))


def test_some_regulators_that_are_not_there_are_named_with_a_hint() -> None:
    said = warning_of_absent(["LEXA", "crp"], 7, ["lexA", "fnr"])
    assert said == (
        "2 of 7 regulators are not among the kept genes: LEXA, crp; some differ in capitals only."
    )
    assert warning_of_absent(list("abcdef"), 9, ["x"]).endswith("kept genes: a, b, c, d, e, ....")


ADJ = "> from ARACNe\nb\tc\t0.5\ta\t0.25\nalone\na\tb\t0\ta\t1\tNA\t1e-3\t\n"


@pytest.mark.parametrize("name", ["n.adj", "n.ADJ.gz"])
def test_lists_of_aracne_are_a_gold_standard(tmp_path: Path, name: str) -> None:
    edges = read_gold_standard(write(tmp_path, name, ADJ))
    assert edges.values.tolist() == [["b", "c"], ["b", "a"], ["a", "NA"]]
    assert edges.attrs["n_false"] == edges.attrs["n_self_edges"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n", "line 1: found 2 fields; expected a regulator, then targets with a number"),
        ("a\tb\t1\na\tb\t1\tc\tx\n", "line 2, target 'c': found 'x'; expected a number"),
        ("a\t\t1\n", "line 1: found an empty name"),
        ("a\n", "no edges"),
    ],
)
def test_bad_lists_of_aracne_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_gold_standard(write(tmp_path, "n.adj", text))


def test_lists_that_were_written_are_read_back_and_compared(tmp_path: Path) -> None:
    table = pd.DataFrame({"source": ["a", "a", "b"], "target": ["b", "NA", "c"]})
    table["mi_bits"] = [0.1, 1 / 3, 0.2]
    items = pd.DataFrame(
        {"name": ["a", "b", "c", "NA"], "is_regulator": [True, True, False, False]}
    )
    path = tmp_path / "network.adj"
    export_network(table, items, "adj", path, directed=True, name="n", metadata={})
    found = read_network(path).set_index(["source", "target"])["score"]
    assert found.to_dict() == table.set_index(["source", "target"])["mi_bits"].to_dict()
    assert "(Jaccard 1.000" in compare(path, path)
