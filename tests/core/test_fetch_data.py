"""Public data of ``make quality``: fetched whole, checked, and refused in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from paths import SHARED
from programs import QuietFiles, web_server

from benchmarks import fetch_data
from benchmarks.fetch_data import SETS, DataSet, FetchError, checksum, fetch, judged


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address under which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()
    with web_server(partial(QuietFiles, directory=str(folder))) as address:
        yield folder, f"http://{address}"


@pytest.fixture
def small(server, monkeypatch) -> DataSet:
    """A set of three genes in the form of the inferelator's, by the name ``bsub``."""
    folder, address = server
    table = pd.DataFrame([[1, 2.5], [3, 4], [5, 6]], ["a", "b", "c"], ["s1", "s2"])
    matrix = pd.DataFrame([[0, 1], [1, 0], [0, 1]], ["a", "b", "c"], ["a", "b"])
    table.to_csv(folder / "e.gz", sep="\t")
    matrix.to_csv(folder / "g.gz", sep="\t", compression="gzip")
    files = {"bsub_expression.tsv.gz": "e.gz", "bsub_gold_standard.tsv.gz": "g.gz"}
    urls = {name: f"{address}/{file}" for name, file in files.items()}
    made = replace(SETS["bsub"], urls=urls, sha256="0" * 64)
    monkeypatch.setitem(SETS, "bsub", made)
    return made


def checksum_in(message: str) -> str:
    return message.partition("found the checksum ")[2].split(";")[0]


def test_a_set_is_fetched_and_prepared(small, tmp_path, monkeypatch):
    data = tmp_path / "data"
    with pytest.raises(FetchError) as refused:
        fetch("bsub", data)
    monkeypatch.setitem(SETS, "bsub", replace(small, sha256=checksum_in(str(refused.value))))
    folder = fetch("bsub", data)
    assert {path.name for path in data.iterdir()} == {"bsub", "downloads"}
    assert (folder / "regulators.txt").read_text() == "a\nb\n"
    assert (folder / "gold_standard.tsv").read_text() == "b\ta\na\tb\nb\tc\n"
    table = pd.read_csv(folder / "expression.tsv.gz", sep="\t", index_col=0)
    assert table.loc["a"].tolist() == [1, 2.5]


def test_other_data_are_refused_with_both_checksums(small, tmp_path):
    with pytest.raises(FetchError, match=f"bsub: found the checksum .*; expected {'0' * 64}"):
        fetch("bsub", tmp_path / "data")
    assert not (tmp_path / "data/bsub").exists()


def test_an_address_that_is_gone_says_what_to_do(small, server, tmp_path):
    (server[0] / "g.gz").unlink()
    with pytest.raises(FetchError, match=r"g.gz: could not be fetched .*404.* by hand"):
        fetch("bsub", tmp_path / "data")
    assert not list((tmp_path / "data/downloads").glob("*gold*"))


def test_a_set_behind_an_account_says_where_it_is(tmp_path):
    with pytest.raises(FetchError, match=r"insilico_size100_2_multifactorial.tsv.*synapse"):
        fetch("dream4/net2", tmp_path / "data")


def test_files_of_dream4_fetched_by_hand_are_read(tmp_path, monkeypatch):
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    table = pd.DataFrame({"G1": [0.1, 0.2], "G2": [0.3, 0.4]})
    table.to_csv(downloads / "insilico_size100_1_multifactorial.tsv", sep="\t", index=False)
    (downloads / "insilico_size100_1_goldstandard.tsv").write_text("G1\tG2\t1\nG2\tG1\t0\n")
    with pytest.raises(FetchError) as refused:
        fetch("dream4/net1", tmp_path)
    changed = replace(SETS["dream4/net1"], sha256=checksum_in(str(refused.value)))
    monkeypatch.setitem(SETS, "dream4/net1", changed)
    folder = fetch("dream4/net1", tmp_path)
    assert (folder / "gold_standard.tsv").read_text() == "G1\tG2\n"
    assert (folder / "regulators.txt").read_text() == "G1\nG2\n"


def test_data_are_beside_the_checkout_in_it_or_where_one_says(monkeypatch, tmp_path):
    monkeypatch.setattr(fetch_data, "BESIDE", tmp_path)
    assert fetch_data.data_folder() == tmp_path
    monkeypatch.setattr(fetch_data, "BESIDE", tmp_path / "none")
    assert fetch_data.data_folder() == fetch_data.ROOT / "data"
    monkeypatch.setenv("PAIRTILE_DATA", "/elsewhere")
    assert fetch_data.data_folder() == Path("/elsewhere")


@pytest.mark.parametrize("name", ["syntren300", "dream4/net1"])
def test_checksums_are_those_of_the_data_that_were_measured(name, shared):
    assert checksum(SHARED / "data" / name) == SETS[name].sha256


def test_only_edges_between_two_genes_of_the_table_count():
    table = pd.DataFrame(index=["a", "b"])
    edges = pd.DataFrame({"source": ["a", "a", "a"], "target": ["a", "b", "x"]})
    assert judged(edges, table).to_numpy().tolist() == [["a", "b"]]
