"""The key ``names``: symbols beside identifiers in tables and graphs, and on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pairtile.downstream.enrichment import sets_of
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.io.symbols import add_symbols, read_symbols, unique_labels, with_symbols
from pairtile.report.results import read_results
from pairtile.steps.evaluate import against_gold_standard
from workflow_runs import Analysis, write_data

pytestmark = pytest.mark.complete

TABLE = Expression(np.zeros((4, 3)), ["g1", "g2", "g3", "g4"], ["a", "b", "c"])
ITEMS = pd.DataFrame({"name": TABLE.genes, "symbol": ["TP53", "g2", "007", "g4"]})


def written(folder: Path, text: str, name: str = "names.tsv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("names.tsv", "gene_id\tgene_name\n# a comment\n\ng1\tTP53\ng2\t\ng3\tA b\n"),
        ("names.csv", 'g1,TP53\ng2,\ng3,"A b"\n'),
        ("names.csv", '"","id","symbol"\n"1","g1","TP53"\n"2","g2",""\n"3","g3","A b"\n'),
    ],
)
def test_genes_get_symbols_and_others_keep_their_identifier(
    tmp_path: Path, name: str, text: str
) -> None:
    found = with_symbols(TABLE, written(tmp_path, text, name))
    assert found.symbols == {"g1": "TP53", "g3": "A b"}
    assert [note.code for note in found.notes] == ["names_without_symbol"]
    assert found.notes[0].numbers["n"] == 2


def test_symbols_are_found_through_versions(tmp_path: Path) -> None:
    genes = ["ENSG00000000001.4", "ENSG00000000002"]
    table = Expression(np.zeros((2, 3)), genes, TABLE.samples)
    text = "ENSG00000000001\tA\nENSG00000000002.7\tB\n"
    found = with_symbols(table, written(tmp_path, text))
    assert found.symbols == dict(zip(genes, "AB", strict=True))
    assert [note.code for note in found.notes] == ["names_matched"]


def test_without_a_file_tables_stay_as_they_are() -> None:
    assert with_symbols(TABLE, None) is TABLE
    table = pd.DataFrame({"source": ["g1"], "target": ["g2"]})
    assert add_symbols(table, ITEMS[["name"]]) is table


def test_symbols_stand_after_the_columns_of_names() -> None:
    table = pd.DataFrame({"target": ["g1", "g2"], "rank": [1, 2], "first": ["g3", ""], "x": 0.5})
    found = add_symbols(table, ITEMS, ["target", "first"])
    assert found.columns.tolist() == [
        "target",
        "rank",
        "first",
        "target_symbol",
        "first_symbol",
        "x",
    ]
    assert found["target_symbol"].tolist() == ["TP53", "g2"]
    assert found["first_symbol"].tolist() == ["007", ""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g1\tA\ng2\tB\ng1\tA\n", r"names.tsv: line 3: found the identifier 'g1', as in line 1"),
        ("g1\tA\tB\n", "line 1: found 3 fields; expected 2"),
        ("g1\n", "line 1: found 1 field; expected 2"),
        ("\tA\n", "line 1: found an empty identifier"),
        ("g1\tA\x07\n", "line 1, symbol .* the character .* expected names without control"),
        ("x\tA\n", "none of its 1 names"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_symbols(TABLE, written(tmp_path, text))


def test_an_identifier_without_symbol_is_no_symbol(tmp_path: Path) -> None:
    assert read_symbols(written(tmp_path, "g1\tA\ng2\t\n")) == {"g1": "A"}


def test_labels_of_the_page_are_unique() -> None:
    items = pd.DataFrame({"name": ["a", "b", "c", "X"], "symbol": ["S", "S", "X", "X"]})
    assert unique_labels(items) == {"a": "S (a)", "b": "S (b)", "c": "X (c)", "X": "X"}


METHODS: dict[str, dict[str, Any]] = {
    "mutual_information": {"export": ["tsv", "graphml", "cx2", "h5ad", "html"]},
    "multimodal_correlation": {
        "method": "multimodal_correlation",
        "expression": "expression.tsv",
        "estimator": {"max_clusters": 1},
        "threshold": {"method": "score", "score": 0.5},
        "kinc_text": False,
        "export": ["tsv"],
    },
    "predictor_pairs": {
        "method": "predictor_pairs",
        "expression": "expression.tsv",
        "lag": 0,
        "null": {"permutations": 0},
        "export": ["tsv"],
    },
}


@pytest.mark.parametrize("method", METHODS)
def test_tables_graphs_and_page_have_the_symbols(tmp_path: Path, method: str) -> None:
    genes = write_data(tmp_path, genes=20, samples=40).genes
    written(tmp_path, "".join(f"{gene}\tsym{k}\n" for k, gene in enumerate(genes)))
    symbol_of = {gene: f"sym{k}" for k, gene in enumerate(genes)}
    analysis = Analysis(tmp_path, METHODS[method] | {"names": "names.tsv"}).all()
    network = pd.read_csv(analysis.out / "network.tsv", sep="\t")
    assert len(network)
    for end in ("source", "target"):
        assert network[f"{end}_symbol"].tolist() == network[end].map(symbol_of).tolist()
    for table, columns in {
        "modules.tsv": ["gene"],
        "predictors.tsv": ["target", "predictor_1", "predictor_2"],
        "hyperedges.tsv": ["target", "predictor_1", "predictor_2"],
    }.items():
        if (analysis.out / table).exists():
            found = pd.read_csv(analysis.out / table, sep="\t")
            for column in columns:
                assert found[f"{column}_symbol"].tolist() == found[column].map(symbol_of).tolist()
    if method == "mutual_information":
        graph = nx.read_graphml(analysis.out / "network.graphml")
        assert all(graph.nodes[gene]["symbol"] == symbol_of[gene] for gene in graph)
        assert "source_symbol" not in next(iter(graph.edges(data=True)))[2]
        cx2 = json.loads((analysis.out / "network.cx2").read_text())
        nodes = next(part["nodes"] for part in cx2 if "nodes" in part)
        assert {n["v"]["name"]: n["v"]["symbol"] for n in nodes}.items() <= symbol_of.items()
    results = read_results(analysis.out)
    assert set(results.network["source"]) <= set(symbol_of.values())
    assert "source_symbol" not in results.network
    analysis.report()
    page = (analysis.out / "report.html").read_text()
    assert symbol_of[network["source"][0]] in page


def test_lists_by_symbol_give_what_lists_by_identifier_give(tmp_path: Path) -> None:
    genes = write_data(tmp_path, genes=24, samples=40).genes
    symbol = {gene: f"Sym{k}" for k, gene in enumerate(genes)}
    written(tmp_path, "".join(f"{gene}\t{name}\n" for gene, name in symbol.items()))
    found = []
    for kind, named in (("ids", {gene: gene for gene in genes}), ("symbols", symbol)):
        regulators = "".join(f"{named[gene]}\n" for gene in genes[:6])
        sets = "".join(
            "\t".join([f"set{k}", "na", *(named[gene] for gene in genes[k : k + 9])]) + "\n"
            for k in range(3)
        )
        gold = "".join(f"{named[genes[k]]}\t{named[genes[k + 6]]}\n" for k in range(6))
        settings = {
            "regulators": str(written(tmp_path, regulators, f"{kind}.txt")),
            "gold_standard": str(written(tmp_path, gold, f"gold_{kind}.tsv")),
            "names": "names.tsv",
        }
        run = Analysis(tmp_path, settings, kind).prepare()
        items = pd.read_parquet(run.out / "items.parquet")
        written(tmp_path, sets, f"{kind}.gmt")
        with_sets = run.model.model_copy(update={"gene_sets": str(tmp_path / f"{kind}.gmt")})
        members = sets_of(with_sets, items).members.toarray().tolist()
        unranked = pd.DataFrame({"source": [], "target": [], "score": []})
        judged, _ = against_gold_standard(run.model, settings["gold_standard"], items, unranked)
        found.append((items["is_regulator"].tolist(), members, judged))
    assert found[0] == found[1]
    assert sum(found[0][0]) == 6
    assert found[0][2]["n_gold_edges"] == 6
