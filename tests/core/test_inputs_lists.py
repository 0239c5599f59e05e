"""Regulator lists and gold standards."""

from __future__ import annotations

import gzip
import json
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
from pairtile.io.names import GeneNames, kind_of_names, match_samples
from pairtile.io.networks import export_network
from pairtile.io.regulators import (
    find_listed,
    find_regulators,
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
            find_listed(regulators, GeneNames(genes), "r.txt")
        return
    found = find_listed(regulators, GeneNames(genes), "r.txt")
    assert found.rows.dtype == np.int32
    assert (np.diff(found.rows) > 0).all()
    assert {genes[k] for k in found.rows} == set(regulators) & set(genes)
    absent = len(set(regulators) - set(genes))
    said = [(m.code, m.numbers["n"]) for m in found.messages]
    assert said == [("names_not_kept", absent)] * bool(absent)


@pytest.mark.parametrize(
    ("regulator", "gene", "hint"),
    [
        ("AT1G7.7", "AT1G7", "version after the last point"),
        ("x", "y", "with samples in rows: orientation: samples_in_rows"),
        ("TP53", "ENSG00000141510", "names: FILE"),
        ("ENSG00000141510", "TP53", "names: FILE"),
        ("7157", "TP53", "names: FILE"),
    ],
)
def test_no_regulator_in_the_table_is_an_error_with_a_hint(
    regulator: str, gene: str, hint: str
) -> None:
    genes = [gene, *(f"{gene}{k}" for k in range(3))]
    with pytest.raises(InputError, match=re.escape(hint)) as error:
        find_listed([regulator], GeneNames(genes), "r.txt")
    assert f"r.txt: found none of its 1 names ({regulator})" in str(error.value)
    assert f"among the 4 genes ({gene}, " in str(error.value)
    assert ("names: FILE" in str(error.value)) == (hint == "names: FILE")


def test_kinds_of_names_are_told_apart() -> None:
    of = {
        "Ensembl genes": ["ENSG00000141510", "ENSMUSG00000059552.4"],
        "Ensembl genes of mouse": ["ENSMUSG00000059552", "ENSMUSG00000059553.4"],
        "symbols in capitals, as of human": ["TP53", "HLA-A", "C1orf112", "CDKN1A"],
        "symbols as of mouse or rat": ["Trp53", "Cdkn1a", "2410002F23Rik", "H2-K1", "Actb"],
        "UniProt accessions": ["P04637", "A0A024R1R8"],
        "probes": ["1007_s_at", "ILMN_1762337"],
        "symbols or other names": ["TP53", "lexA", "b0001"],
    }
    assert {kind: kind_of_names(names) for kind, names in of.items()} == {kind: kind for kind in of}


def test_other_capitals_are_one_gene_or_none(tmp_path: Path) -> None:
    path = write(tmp_path, "r.txt", "LEXA\nfnr\nFnr\nMarA\n")
    both, one = ["lexA", "fnr", "FNR", "crp"], ["lexA", "fnr", "crp"]
    found = find_regulators(path, GeneNames(both))
    assert found.rows.tolist() == [0, 1]
    assert [m.numbers["n"] for m in found.messages] == [1, 2]  # LEXA; Fnr and MarA
    found = find_regulators(path, GeneNames(both, ignore_case=True))
    assert found.rows.tolist() == [0, 1, 2]
    codes = [m.code for m in found.messages]
    assert codes == ["names_matched", "names_of_several", "names_not_kept"]
    for ignore_case in (False, True):
        found = find_regulators(path, GeneNames(one, ignore_case=ignore_case))
        assert found.rows.tolist() == [0, 1]
        assert [m.code for m in found.messages] == ["names_matched", "names_not_kept"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", '"","x"\n"1","lexA"\n"2","fur"\n'),
        ("r.csv", "x\nlexA\nfur\n"),
        ("r.txt", '"x"\n"1" "lexA"\n"2" "fur"\n'),
        ("r.tsv", "\tgene\n0\tlexA\n1\tfur\n"),
        ("r.txt", "'lexA'\n\u200bfur\u00a0\n"),
    ],
)
def test_lists_are_read_as_programs_write_them(tmp_path: Path, name: str, text: str) -> None:
    found = find_regulators(write(tmp_path, name, text), GeneNames(["fur", "crp", "lexA"]))
    assert found.rows.tolist() == [0, 2]
    assert found.counts == {"regulators_listed": 2, "regulators_used": 2}
    assert not found.messages


NAMES = GeneNames(
    ["ENSG00000000001.4", "ENSG00000000002", "MSTRG.7|TP53", "hid\u200bden", "RP11-34P13.7", "x"],
    ["LexA", "RecA", "", "", "", "RecA"],
    ["", "", "", "", "", "Q1;P04637"],
)


@pytest.mark.parametrize(
    ("listed", "rows", "way"),
    [
        ("ENSG00000000002", [1], None),
        ("LexA", [0], "by symbol"),
        ("RecA", [1, 5], "by symbol"),
        ("Q1;P04637", [5], "by identifier"),
        ("hidden", [3], "in another spelling"),
        ("'RecA'", [1, 5], "in another spelling"),
        ("TP53", [2], "as part of a name"),
        ("P04637", [5], "as part of a name"),
        ("ENSG00000000001", [0], "without version"),
        ("ENSG00000000002.9", [1], "without version"),
        ("LEXA", [0], "in other capitals"),
        ("ensg00000000001.2", [0], "in other capitals"),
        ("RECA", None, None),  # two genes
        ("RP11-34P13.8", None, None),  # another gene: no version
        ("", None, None),
    ],
)
def test_a_listed_name_is_found_under_every_name_of_a_gene(
    listed: str, rows: list[int] | None, way: str | None
) -> None:
    found = NAMES.find([listed])
    assert found.rows.get(listed) == rows
    assert dict(found.ways) == ({way: 1} if way else {})
    codes = [note.code for note in found.messages(1, "regulators")]
    several = rows is not None and len(rows) > 1
    assert codes == ["names_matched"] * bool(way) + ["names_of_several"] * several


MOUSE = ["Actb", "Cdkn1a", "Mdm2", "Trp53"]


def test_symbols_of_another_species_match_in_other_capitals_and_the_rest_by_orthologs() -> None:
    human = ["ACTB", "CDKN1A", "MDM2", "TP53", "GAPDH"]
    found = find_listed(MOUSE, GeneNames(human), "r.txt")
    assert found.rows.tolist() == [0, 1, 2]
    matched, absent = found.messages
    assert (matched.code, matched.numbers["n"]) == ("names_matched", 3)
    assert "symbols as of mouse or rat, the table symbols in capitals" in matched
    assert (absent.code, absent.numbers["n"]) == ("names_not_kept", 1)
    with pytest.raises(InputError, match="names: FILE"):
        find_listed(["Trp53"], GeneNames(["TP53", "MDM4", "RB1"]), "r.txt")
    orthologs = GeneNames(human, [*MOUSE, "Gapdh"])
    assert find_listed(MOUSE, orthologs, "r.txt").rows.tolist() == [0, 1, 2, 3]


def test_a_point_and_a_number_behind_what_is_no_accession_is_no_version() -> None:
    """Ensembl's stable identifiers have eleven digits."""
    for listed, gene in (("ENSG00001.5", "ENSG00001"), ("AT1G01010.5", "AT1G01010")):
        with pytest.raises(InputError, match="ignore_versions"):
            find_listed([listed], GeneNames([gene]), "r.txt")


def test_versions_of_any_kind_are_passed_over_where_asked_for() -> None:
    names = GeneNames(["AT1G01010", "b"], ignore_versions=True)
    assert names.find(["AT1G01010.2"]).rows == {"AT1G01010.2": [0]}
    assert not GeneNames(["AT1G01010", "b"]).find(["AT1G01010.2"]).rows


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
    spelled, said = with_spelling_of(edges, GeneNames(["lexA", "recA", "uvrA"]))
    assert spelled.values.tolist() == [["lexA", "recA"], ["lexA", "uvrA"], ["x", "recA"]]
    assert [(note.code, note.numbers["n"]) for note in said] == [("names_matched", 2)]


def test_a_symbol_of_several_genes_stands_for_an_edge_of_each(tmp_path: Path) -> None:
    edges = read_gold_standard(write(tmp_path, "g.tsv", "A\tB\nB\tA\n"))
    genes = GeneNames(["g1", "g2", "g3"], ["A", "B", "B"])
    spelled, said = with_spelling_of(edges, genes)
    assert sorted(map(tuple, spelled.values)) == [
        ("g1", "g2"),
        ("g1", "g3"),
        ("g2", "g1"),
        ("g3", "g1"),
    ]
    assert [note.code for note in said] == ["names_matched", "names_of_several"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.csv", "Gene1,Gene2,Type\na,b,+\nb,c,-\n"),
        ("g.csv", ",source,target,weight\n0,a,b,1\n1,b,c,-1\n"),
        ("g.tsv", "source\ttarget\n1\ta\tb\n2\tb\tc\n"),
        ("g.txt", "protein1 protein2 combined_score\na b 200\nb  c 900\n"),
        ("g.txt", '"source" "target" "weight"\n"1" "a" "b" 1\n"2" "b" "c" 0.5\n'),
        ("g.tsv", "TF\ttarget\teffect\na\tb\tActivation\nb\tc\tRepression\n"),
    ],
)
def test_edges_are_read_as_programs_write_them(tmp_path: Path, name: str, text: str) -> None:
    edges = read_gold_standard(write(tmp_path, name, text))
    assert edges.values.tolist() == [["a", "b"], ["b", "c"]]
    assert edges.attrs["has_header"]


PATHS = [
    "/scratch/x/bam/{}.sorted.bam",
    "D:\\DIA\\2024\\{}.raw",
    "{}.CEL",
    "{}_counts.txt",
    "quants/{}/quant.sf",
    "X.scratch.x.bam.{}.sorted.bam",
    "project-{}-lane.1",
]


@pytest.mark.parametrize("path", PATHS)
def test_samples_match_by_the_part_in_which_they_differ(path: str) -> None:
    bare = [f"WT_{k}" for k in range(1, 12)] + [f"KO_{k}" for k in range(1, 12)]
    long = [path.format(name) for name in bare]
    for samples, listed in ((long, bare), (bare, long), (long[:9], bare), (bare, long[5:])):
        found, notes = match_samples(samples, listed, "a.tsv")
        assert len(found) == min(len(samples), len(listed))
        assert all(a in b or b in a for a, b in found.items())
        assert all(
            long.index(max(p, key=len)) == bare.index(min(p, key=len)) for p in found.items()
        )
        assert [note.code for note in notes] == ["sample_names_cut"]


def test_samples_match_without_the_numbers_of_a_sequencer() -> None:
    names = [f"{end}{k:02d}" for end in "AB" for k in range(9)]
    long = [f"{name}_S{k}_L001_R1" for k, name in enumerate(names, start=1)]
    assert match_samples(long, names, "a.tsv")[0] == dict(zip(long, names, strict=True))
    long = [f"GSM{4567 + k}_{name}.CEL.gz" for k, name in enumerate(names)]
    assert match_samples(long, names, "a.tsv")[0] == dict(zip(long, names, strict=True))


@pytest.mark.parametrize(
    ("samples", "listed"),
    [
        (["S1_rep1", "S1_rep2", "S2_rep1"], ["S1", "S2"]),  # several for one
        (["S10.bam", "S20.bam", "S30.bam"], ["S1", "S2", "S3"]),  # part of a word
        (["A_1", "B_1", "C_1", "D_1"], ["A", "B", "E", "F"]),  # some only
        (["S1_L2", "S2_L3", "S3_L1"], ["x/S2", "x/S3", "x/S9"]),
    ],
)
def test_samples_that_match_in_part_do_not_match(samples: list[str], listed: list[str]) -> None:
    assert match_samples(samples, listed, "a.tsv") == ({}, [])


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


def test_networks_are_compared_under_symbols_and_identifiers(tmp_path: Path) -> None:
    header = "source\tsource_symbol\ttarget\ttarget_symbol\tmi_bits\n"
    rows = "ENSG00000000001.3\tA\tENSG00000000002\tB\t1\nENSG00000000002\tB\tENSG3\tC\t2\n"
    one = write(tmp_path, "one.tsv", header + rows)
    two = write(tmp_path, "two.tsv", "source\ttarget\tmi_bits\nA\tB\t1\nB\tD\t2\n")
    for pair in ((one, two), (two, one)):
        found = json.loads(compare(*pair, as_json=True))
        assert (found["items_shared"], found["pairs_shared"], len(found["notes"])) == (2, 1, 1)
