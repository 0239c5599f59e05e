"""tsv, parquet, sif and regulon, read back by pandas, pyarrow and decoupler."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from export_networks import AWKWARD, METADATA, NAMES, chain, items_table, write
from hypothesis import given, settings
from pairtile import infer_network
from pairtile.declare.tables import EXACT
from pairtile.downstream.gene_sets import read_gene_sets


def read_tsv(path: Path) -> pd.DataFrame:
    return pd.read_csv(
        path,
        sep="\t",
        dtype={"source": str, "target": str},
        keep_default_na=False,
        na_values=[""],
        float_precision=EXACT,
    )


def read_regulon(path: Path) -> pd.DataFrame:
    return pd.read_csv(
        path,
        sep="\t",
        quoting=3,
        dtype={"source": str, "target": str},
        keep_default_na=False,
        float_precision=EXACT,
    )


def as_read(network: pd.DataFrame) -> pd.DataFrame:
    """Texts in the type that pandas gives them: objects, and one of its own from 3.0 on."""
    return network.astype(dict.fromkeys(network.select_dtypes(object), str))


@pytest.mark.parametrize("directed", [False, True])
def test_tsv_reads_back_exactly(directed: bool, tmp_path: Path) -> None:
    network = chain(AWKWARD, directed)
    path = write(tmp_path, "tsv", network, items_table(AWKWARD), directed=directed)
    pd.testing.assert_frame_equal(read_tsv(path), as_read(network), check_exact=True)


@settings(max_examples=60, deadline=None)
@given(names=NAMES)
def test_tsv_and_regulon_keep_any_printable_name(names: list[str]) -> None:
    network = chain(names)
    with tempfile.TemporaryDirectory() as folder:
        tsv = read_tsv(write(Path(folder), "tsv", network, items_table(names)))
        assert tsv["source"].tolist() == network["source"].tolist()
        assert tsv["target"].tolist() == network["target"].tolist()
        regulon = read_regulon(write(Path(folder), "regulon", network, items_table(names)))
        assert set(regulon["source"]) == set(names)


def test_tsv_leaves_plain_names_and_formulas_bare_and_numbers_short(tmp_path: Path) -> None:
    names = ["=A1+1", "two words", "c"]
    network = chain(names)[["source", "target", "mi_bits", "p_value"]]
    network["mi_bits"] = [0.1, 2.0]
    path = write(tmp_path, "tsv", network, items_table(names))
    assert path.read_text().splitlines() == [
        "source\ttarget\tmi_bits\tp_value",
        "=A1+1\ttwo words\t0.1\t",
        "two words\tc\t2.0\t2.5e-301",
    ]


def test_an_empty_tsv_has_its_header(tmp_path: Path) -> None:
    network = chain(["a", "b"]).iloc[:0]
    path = write(tmp_path, "tsv", network, items_table(["a", "b"]))
    assert list(read_tsv(path)) == list(network)


def test_parquet_keeps_types_metadata_and_missing_values(tmp_path: Path) -> None:
    network = chain(AWKWARD).astype({"mi_bits": np.float32, "support": np.int32})
    path = write(tmp_path, "parquet", network, items_table(AWKWARD))
    pd.testing.assert_frame_equal(pd.read_parquet(path), as_read(network), check_exact=True)
    table = pq.read_table(path)
    assert table["p_value"].null_count == 1
    about = json.loads(table.schema.metadata[b"pairtile"])
    assert about["directed"] is False
    assert about["metadata"] == {k: v for k, v in METADATA.items() if v is not None}


def test_sif_has_source_interaction_target(tmp_path: Path) -> None:
    network = chain(AWKWARD, directed=True)
    path = write(tmp_path, "sif", network, items_table(AWKWARD), directed=True)
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line[0] for line in lines] == network["source"].tolist()
    assert [line[2] for line in lines] == network["target"].tolist()
    assert {line[1] for line in lines} == {"mutual_information"}


def test_regulon_lists_an_edge_under_each_end_that_regulates(tmp_path: Path) -> None:
    names = ["tf1", "tf2", "g3", "g4"]
    network = chain(names).iloc[:2]  # tf1 - tf2, tf2 - g3
    regulon = read_regulon(write(tmp_path, "regulon", network, items_table(names, 2)))
    assert set(zip(regulon["source"], regulon["target"], strict=True)) == {
        ("tf1", "tf2"),
        ("tf2", "tf1"),
        ("tf2", "g3"),
    }
    everyone = read_regulon(write(tmp_path, "regulon", network, items_table(names)))
    assert len(everyone) == 4


def test_regulon_of_a_directed_network_is_that_network(tmp_path: Path) -> None:
    network = chain(AWKWARD, directed=True)
    path = write(tmp_path, "regulon", network, items_table(AWKWARD), directed=True)
    keys = ["source", "target"]
    expected = network[[*keys, "mi_bits"]].rename(columns={"mi_bits": "weight"})
    expected["likelihood"] = expected["weight"] / expected["weight"].max()
    pd.testing.assert_frame_equal(
        read_regulon(path).sort_values(keys, ignore_index=True),
        as_read(expected).sort_values(keys, ignore_index=True),
        check_exact=True,
    )


def test_regulon_has_each_pair_once_and_none_without_a_value(tmp_path: Path) -> None:
    network = pd.concat([chain(AWKWARD), chain(AWKWARD)[3:5]], ignore_index=True)
    network.loc[1, "mi_bits"] = np.nan
    path = write(tmp_path, "regulon", network, items_table(AWKWARD, 16), directed=True)
    header, *lines = (line.split("\t") for line in path.read_text("utf-8").split("\n")[:-1])
    assert header == ["source", "target", "weight", "likelihood"]
    assert {len(line) for line in lines} == {4}
    assert len({(line[0], line[1]) for line in lines}) == len(lines) == len(AWKWARD) - 2


def test_regulon_has_the_sign_of_rank_correlation(tmp_path: Path) -> None:
    network = chain(["a", "b", "c", "d"]).assign(spearman=[0.8, -0.5, np.nan])
    regulon = read_regulon(
        write(tmp_path, "regulon", network, items_table(list("abcd")), directed=True)
    )
    assert regulon["weight"].tolist() == [0.8, -0.5, 0.0]
    assert regulon["likelihood"].max() == 1.0


def test_adj_is_a_line_for_each_regulator_as_aracne_writes_it(tmp_path: Path) -> None:
    network = pd.DataFrame(
        {"source": ["a", "b", "a"], "target": ["b", "c", "d"], "mi_bits": [0.25, 1.0, 0.5]}
    )
    path = write(tmp_path, "adj", network, items_table(list("abcd"), 2), directed=True)
    assert path.read_text() == "a\td\t0.5\tb\t0.25\nb\tc\t1.0\n"


def test_adjacencies_are_read_as_those_of_pyscenic(tmp_path: Path) -> None:
    network = pd.DataFrame(
        {"source": ["a", "b", "a"], "target": ["b", "c", "d"], "mi_bits": [0.25, 1.0, 0.5]}
    )
    items = items_table(list("abcd"), 2)
    path = write(tmp_path, "adjacencies", network, items, directed=True)
    edges = pd.read_csv(path, sep="\t")
    assert edges.columns.tolist() == ["TF", "target", "importance"]
    assert edges.to_numpy().tolist() == [["b", "c", 1.0], ["a", "d", 0.5], ["a", "b", 0.25]]
    utilities = pytest.importorskip("pyscenic.cli.utils", reason="pyscenic is not installed")
    pd.testing.assert_frame_equal(utilities.load_adjacencies(str(path)), edges)


def test_gmt_has_modules_and_regulons_as_gene_sets(tmp_path: Path) -> None:
    network = pd.DataFrame(
        {"source": list("aabd"), "target": list("bccf"), "mi_bits": [0.25, 1.0, 0.5, 0.1]}
    )
    items = items_table(list("abcdef"), 2)
    sets, _ = read_gene_sets(write(tmp_path, "gmt", network, items))
    assert list(sets.values())[:2] == [["a", "b", "c"], ["d", "f"]]
    assert sets["regulon_a"] == ["c", "b"]
    assert sets["regulon_b"] == ["c", "a"]
    items = items.assign(module=["1", "1 2", "2", "0", "", "2", "1"][: len(items)])
    sets, _ = read_gene_sets(write(tmp_path, "gmt", network, items))
    assert (sets["module_1"], sets["module_2"]) == (["a", "b"], ["b", "c", "f"])


def test_decoupler_gives_a_repressor_the_right_sign(tmp_path: Path) -> None:
    """A regulator that is up while the genes it represses are down, and one that activates."""
    decoupler = pytest.importorskip("decoupler")
    random = np.random.default_rng(4)
    drive = random.normal(size=(2, 100))
    noise = random.normal(size=(40, 100))
    genes = np.concatenate([drive, np.repeat([drive[0], -drive[1]], 20, axis=0) + noise])
    names = ["activator", "repressor", *(f"g{k}" for k in range(40))]
    table = pd.DataFrame(genes, index=names)
    network = infer_network(table, names[:2], keep={"fdr": 0.01}, dpi=False)
    regulon = read_regulon(
        write(tmp_path, "regulon", network, items_table(names, 2), directed=True)
    )
    assert (regulon.loc[regulon["source"] == "repressor", "weight"] < 0).mean() > 0.9
    scores, _ = decoupler.mt.ulm(table.T, regulon, tmin=3)
    for name, activity in zip(names[:2], drive, strict=True):
        assert np.corrcoef(scores[name], activity)[0, 1] > 0.6
