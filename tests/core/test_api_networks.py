"""Steps on networks in memory: modules, comparison, and networks in AnnData."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pairtile
import pandas as pd
import pytest

CLIQUES = pd.DataFrame(
    [(f"{k}{a}", f"{k}{b}") for k in "xyz" for a in range(5) for b in range(a)]
    + [("x0", "y0"), ("y1", "z1")],
    columns=["source", "target"],
).assign(score=lambda table: np.linspace(1, 0.5, len(table)))


@pytest.fixture
def adata() -> anndata.AnnData:
    """100 cells of 20 genes."""
    made = pairtile.simulate_kinetic(20, 100, n_regulators=4, seed=1)
    var = pd.DataFrame(index=made.genes)
    return anndata.AnnData(made.values.T, var=var)


def test_modules_are_the_planted_ones_whatever_the_order_of_edges() -> None:
    found = pairtile.network_modules(CLIQUES, weight="score")
    parts = {tuple(sorted(part)) for _, part in found.groupby("module")["gene"]}
    assert parts == {tuple(f"{k}{n}" for n in range(5)) for k in "xyz"}
    degree = found.set_index("gene")
    assert degree.loc["x0"].tolist()[1:] == [5, 4]
    assert degree.loc["x3"].tolist()[1:] == [4, 4]
    turned = CLIQUES.sample(frac=1, random_state=1).rename(
        columns={"source": "target", "target": "source"}
    )
    again = pairtile.network_modules(turned, weight="score")
    assert {tuple(sorted(part)) for _, part in again.groupby("module")["gene"]} == parts


def test_with_links_a_gene_can_be_in_several_modules() -> None:
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("a", "e"), ("d", "e")]
    found = pairtile.network_modules(
        pd.DataFrame(pairs, columns=["source", "target"]), method="links"
    )
    assert found["gene"].value_counts()["a"] == 2
    assert found.loc[found["gene"] == "a", "degree"].tolist() == [4, 4]
    assert found.loc[found["gene"] == "a", "degree_in_module"].tolist() == [2, 2]


def test_edges_without_weight_join_nothing() -> None:
    cut = CLIQUES.assign(score=np.where(CLIQUES["source"].str[0] == "x", np.nan, 1.0))
    assert not pairtile.network_modules(cut, weight="score")["gene"].str.startswith("x").any()
    assert pairtile.network_modules(CLIQUES[:0]).empty


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "z"}, "found no column z"),
        ({"method": "louvain"}, "found 'louvain'; expected one of leiden, links"),
        ({"resolution": 0}, "resolution: found 0; expected above 0"),
    ],
)
def test_modules_refuse_what_they_cannot_do(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pairtile.network_modules(CLIQUES, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("regulators", [None, ["G01", "G02"]])
def test_a_network_is_stored_in_the_adata_it_came_from(
    adata: anndata.AnnData, regulators: list[str] | None, tmp_path: Path
) -> None:
    names = None if regulators is None else list(adata.var_names[:4])
    how = {"score": "target_z", "keep": {"top_edges": 15}}
    table = pairtile.infer_network(adata, names, **how)
    assert pairtile.infer_network(adata, names, **how, key_added="net") is None
    matrix = adata.varp["net"].toarray()
    rows = adata.var_names.get_indexer(table["source"])
    columns = adata.var_names.get_indexer(table["target"])
    np.testing.assert_array_equal(matrix[rows, columns], table["target_z"])
    params = adata.uns["net"]["params"]
    assert params["weight"] == "target_z"
    # target_z orders both ways of a pair by themselves: the network is directed.
    assert params["directed"] == table.attrs["directed"]
    assert np.count_nonzero(matrix) == len(table) * (1 if params["directed"] else 2)
    adata.write_h5ad(tmp_path / "file.h5ad")
    again = anndata.read_h5ad(tmp_path / "file.h5ad")
    pd.testing.assert_frame_equal(
        again.uns["net"]["edges"].reset_index(drop=True)[["source", "target", "mi_bits"]],
        table[["source", "target", "mi_bits"]].reset_index(drop=True),
        check_dtype=False,
        check_column_type=False,
    )
    assert again.uns["net"]["params"]["score"] == "target_z"


def test_an_undirected_network_makes_a_symmetric_matrix(adata: anndata.AnnData) -> None:
    pairtile.infer_network(adata, score="mi", keep={"top_edges": 15}, dpi=False, key_added="net")
    matrix = adata.varp["net"].toarray()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.count_nonzero(matrix) == 30
    assert adata.uns["net"]["params"]["weight"] == "mi_bits"


@pytest.mark.parametrize("function", ["mutual_information", "infer_network", "add_network"])
def test_a_copy_is_changed_and_the_original_is_not(adata: anndata.AnnData, function: str) -> None:
    given = [adata]
    if function == "add_network":
        given.append(pairtile.infer_network(adata, keep={"top_edges": 5}))
    changed = getattr(pairtile, function)(*given, key_added="key", copy=True)
    assert "key" in changed.varp
    assert "key" in changed.uns
    assert "key" not in adata.varp
    assert "key" not in adata.uns


def test_modes_of_a_pair_are_one_entry_of_the_matrix(adata: anndata.AnnData) -> None:
    a, b = adata.var_names[:2]
    modes = pd.DataFrame(
        {"source": [a, a], "target": [b, b], "cluster": [1, 2], "correlation": [0.7, -0.9]}
    )
    pairtile.add_network(adata, modes, weight="correlation")
    assert adata.varp["network"][0, 1] == adata.varp["network"][1, 0] == -0.9
    assert len(adata.uns["network"]["edges"]) == 2


def test_storing_refuses_what_cannot_be_stored(adata: anndata.AnnData) -> None:
    table = pd.DataFrame({"source": ["nobody"], "target": [adata.var_names[0]]})
    with pytest.raises(ValueError, match="found 'nobody'; expected names of adata"):
        pairtile.add_network(adata, table)
    with pytest.raises(ValueError, match="found ndarray; expected an AnnData"):
        pairtile.add_network(adata.X, table)
    with pytest.raises(ValueError, match="key_added: found 'x' with ndarray"):
        pairtile.infer_network(np.ones((4, 30)), key_added="x")
    with pytest.raises(ValueError, match="copy: found True without key_added"):
        pairtile.mutual_information(adata, copy=True)
    with pytest.raises(ValueError, match="found no column w"):
        pairtile.add_network(adata, table, weight="w")
