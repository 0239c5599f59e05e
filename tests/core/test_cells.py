"""Cells of an AnnData: which matrix holds their counts, and which of them are taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pairtile
import pandas as pd
import pytest
from pairtile.config.preprocess import Preprocess
from pairtile.config.root import models
from pairtile.declare.messages import Message
from pairtile.engine.estimator import estimator_of
from pairtile.errors import ConfigError, InputError
from pairtile.io.anndata_file import read_obs
from pairtile.io.cells import normalisation_of
from pairtile.io.expression import read_expression
from pairtile.method import get_method
from pairtile.preprocess.expression import prepare_expression
from scipy import sparse

N_CELLS, N_GENES = 360, 60


def simulated_counts() -> np.ndarray:
    """Counts of unrelated genes, float32 (cells, genes), about half of them zero."""
    rng = np.random.default_rng(2)
    depth, mean = rng.lognormal(0, 0.6, N_CELLS), rng.lognormal(0, 1, N_GENES)
    mu = np.outer(depth, mean)
    return rng.negative_binomial(2, 2 / (2 + mu)).astype(np.float32)


COUNTS = simulated_counts()
TYPES = np.where(np.arange(N_CELLS) % 3 == 0, "B cell", "T cell")


def to_total(counts: np.ndarray, total: float) -> np.ndarray:
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) * total


def scaled(values: np.ndarray) -> np.ndarray:
    """Genes to mean 0 and standard deviation 1, at most 10, as Scanpy's tutorials do."""
    return np.clip((values - values.mean(axis=0)) / values.std(axis=0), None, 10)


LOGARITHMS = np.log1p(to_total(COUNTS, 1e4))
MADE_FROM_COUNTS = {
    "log1p": LOGARITHMS,
    "log1p of the median total": np.log1p(to_total(COUNTS, np.median(COUNTS.sum(axis=1)))),
    "log2": np.log2(1 + to_total(COUNTS, 1e6)),
    "log10": np.log10(1 + to_total(COUNTS, 1e4)),
    "log1p of the counts": np.log1p(COUNTS),
    "cp10k": to_total(COUNTS, 1e4),
    "scaled": scaled(LOGARITHMS),
}


def cells(x: np.ndarray | None, form: Any = np.asarray, **layers: np.ndarray) -> anndata.AnnData:
    return anndata.AnnData(
        None if x is None else form(x.astype(np.float32)),
        obs=pd.DataFrame(
            {
                "cell_type": pd.Categorical(TYPES),
                "name": TYPES,
                "cluster": np.arange(N_CELLS) % 4,
                "good": np.arange(N_CELLS) % 2 == 0,
            },
            index=[f"c{k}" for k in range(N_CELLS)],
        ),
        var=pd.DataFrame(index=[f"g{k}" for k in range(N_GENES if x is None else x.shape[1])]),
        layers={name: form(values) for name, values in layers.items()},
    )


def codes(notes: list[str]) -> dict[str, dict[str, Any]]:
    """The declared messages among these, with their numbers."""
    said = {note.code: note.numbers for note in notes if isinstance(note, Message)}
    said.pop("anndata_values", None)  # every AnnData file has it
    return said


# --- which matrix ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("made", MADE_FROM_COUNTS)
def test_counts_are_taken_in_place_of_what_was_made_from_them(
    made: str, form: Any, tmp_path: Path
) -> None:
    data = cells(MADE_FROM_COUNTS[made], form, counts=COUNTS)
    data.write_h5ad(tmp_path / "t.h5ad")
    found = read_expression(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(found.values, COUNTS.T)
    assert codes(found.notes)["counts_taken"]["source"] == "the layer 'counts'"
    assert codes(found.notes)["counts_taken"]["how"] == normalisation_of(data.to_df().to_numpy())
    by_library, by_workflow = pairtile.prepare_expression(data), prepare_expression(found)
    np.testing.assert_array_equal(by_library.values, by_workflow.values)
    assert "counts_taken" in codes(by_library.notes)
    assert by_library.parameters["normalize"] == by_workflow.parameters["normalize"] != "none"
    assert "normalised_cells" not in codes([*by_library.warnings, *by_workflow.warnings])
    forced = read_expression(tmp_path / "t.h5ad", layer="X")
    np.testing.assert_array_equal(forced.values, data.to_df().to_numpy().T.astype(np.float64))
    told = prepare_expression(forced)
    assert ("normalised_cells" in codes(told.warnings)) == (made == "scaled")
    assert ("counts_recovered" in codes(told.notes)) == (made != "scaled")


@pytest.mark.parametrize("layer", ["raw_counts", "UMI", "of_my_own"])
def test_layers_of_counts_are_known_by_name_or_by_their_zeros(layer: str, tmp_path: Path) -> None:
    data = cells(LOGARITHMS, **{"other": LOGARITHMS * 2, layer: COUNTS.astype(np.uint16)})
    data.write_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(read_expression(tmp_path / "t.h5ad").values, COUNTS.T)


@pytest.mark.parametrize("x", [LOGARITHMS, scaled(LOGARITHMS), np.sqrt(COUNTS)])
def test_counts_in_raw_are_taken_of_the_genes_of_x(x: np.ndarray, tmp_path: Path) -> None:
    chosen = [f"g{k}" for k in range(50, 10, -2)]
    data = cells(x)
    whole = cells(COUNTS)
    data = data[:, chosen].copy()
    data.raw = whole
    data.write_h5ad(tmp_path / "t.h5ad")
    expected = whole[:, chosen].X.T
    found = read_expression(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(found.values, expected)
    assert found.genes == chosen
    assert codes(found.notes)["genes_of_raw_left_out"] == {"n": N_GENES - len(chosen)}
    in_memory = pairtile.prepare_expression(data, normalize="none", log2=False)
    np.testing.assert_array_equal(in_memory.values, expected)
    for named in (
        read_expression(tmp_path / "t.h5ad", layer="raw"),
        pairtile.prepare_expression(data, normalize="none", log2=False, layer="raw"),
    ):
        assert named.genes == list(whole.var_names)
        np.testing.assert_array_equal(named.values, COUNTS.T)


def test_counts_stand_for_an_x_that_is_not_there(tmp_path: Path) -> None:
    cells(None, counts=COUNTS).write_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(read_expression(tmp_path / "t.h5ad").values, COUNTS.T)
    with pytest.raises(InputError):
        read_expression(tmp_path / "t.h5ad", layer="X")


def bulk() -> np.ndarray:
    """Counts of bulk samples, of which 3 % are zero."""
    rng = np.random.default_rng(3)
    mean = np.outer(rng.lognormal(0, 0.2, N_CELLS), rng.lognormal(4, 1.5, N_GENES))
    return rng.negative_binomial(2, 2 / (2 + mean)).astype(np.float32)


LEFT_AS_THEY_ARE = {
    "counts": COUNTS,
    "bulk logarithms": np.log2(1 + to_total(bulk(), 1e6)),
    "scaled bulk": scaled(np.log2(1 + bulk())),
    "intensities": np.random.default_rng(0).normal(8, 2, (N_CELLS, N_GENES)),
    "denoised": LOGARITHMS + 0.01,
    "levels": np.sign(LOGARITHMS - LOGARITHMS.mean()),
    "decimals with zeros": np.round(COUNTS * np.random.default_rng(1).gamma(2, 2, N_GENES), 1),
}


@pytest.mark.parametrize("kind", LEFT_AS_THEY_ARE)
def test_other_values_stay_as_they_are_without_a_warning(kind: str, tmp_path: Path) -> None:
    x = LEFT_AS_THEY_ARE[kind]
    cells(x).write_h5ad(tmp_path / "t.h5ad")
    found = read_expression(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(found.values, x.T.astype(np.float32))
    assert codes(found.notes) == {}
    assert "normalised_cells" not in codes(prepare_expression(found).warnings)


def test_bulk_logarithms_beside_their_counts_are_taken_and_the_counts_named(tmp_path: Path) -> None:
    data = cells(np.log2(1 + bulk()), counts=bulk())
    data.write_h5ad(tmp_path / "t.h5ad")
    found = read_expression(tmp_path / "t.h5ad")
    assert found.values.max() < 30
    assert codes(found.notes) == {"counts_beside": {"source": "the layer 'counts'"}}
    assert "counts_beside" in codes(pairtile.prepare_expression(data).notes)


@pytest.mark.parametrize("n_genes", [N_GENES, 25])
@pytest.mark.parametrize("made", [made for made in MADE_FROM_COUNTS if made != "scaled"])
def test_counts_are_recovered_from_what_was_made_of_them(made: str, n_genes: int) -> None:
    """Also where most genes were left out later, so that totals differ."""
    data = cells(MADE_FROM_COUNTS[made])[:, :n_genes].copy()
    counts = COUNTS[:, :n_genes]
    if made == "log1p of the counts":
        recovered = np.ones(N_CELLS, dtype=bool)
    else:  # those of a cell are multiples of its smallest
        recovered = np.where(counts > 0, counts, np.inf).min(axis=1) == 1
    assert recovered.mean() > 0.95
    kept = recovered & (counts.sum(axis=1) > 0)
    data = data[kept].copy()
    expected = pairtile.prepare_expression(cells(counts)[kept].copy())
    for given in (data, data.to_df().T):
        prepared = pairtile.prepare_expression(given)
        np.testing.assert_array_equal(prepared.values, expected.values)
        assert prepared.parameters["normalize"] == "nb_residuals"
        assert "counts_recovered" in codes(prepared.notes)
        assert "normalised_cells" not in codes(prepared.warnings)


def test_where_no_counts_can_be_recovered_a_warning_says_so() -> None:
    data = cells(MADE_FROM_COUNTS["scaled"])
    data.raw = data.copy()
    prepared = pairtile.prepare_expression(data)
    found = next(w for w in prepared.warnings if "normalised_cells" in codes([w]))
    assert isinstance(found, Message)
    assert (found.severity, found.key) == ("severe", "layer")
    as_frame = pairtile.prepare_expression(data.to_df(), orientation="samples_in_rows")
    assert "normalised_cells" in codes(as_frame.warnings)


METHODS: dict[str, dict[str, Any]] = {
    "mutual_information": {},
    "multimodal_correlation": {},
    "predictor_pairs": {"lag": 0},
}


@pytest.mark.parametrize("method", METHODS)
def test_methods_take_counts_by_default_and_warn_of_what_replaces_them(
    method: str, tmp_path: Path
) -> None:
    cells(scaled(LOGARITHMS), counts=COUNTS).write_h5ad(tmp_path / "t.h5ad")
    known = get_method(method)

    def prepared(**settings: Any) -> Any:
        section = {"method": method, "expression": str(tmp_path / "t.h5ad"), **METHODS[method]}
        config = models()[known.name].model_validate(section | settings)
        return estimator_of(known.name).prepare(config, 1)

    assert "counts_taken" in codes(prepared().notes)
    assert "normalised_cells" in codes(prepared(layer=None).warnings)
    few = prepared(obs={"cell_type": "T cell"}, preprocess={"regress_out": ["cluster"]})
    numbers = codes(few.notes)["cells_chosen"]
    assert (numbers["kept"], numbers["left_out"], few.counts["samples"]) == (240, 120, 240)


def test_columns_of_obs_are_those_of_the_chosen_cells(tmp_path: Path) -> None:
    cells(COUNTS).write_h5ad(tmp_path / "t.h5ad")
    chosen = np.flatnonzero(TYPES == "T cell")
    found = read_obs(tmp_path / "t.h5ad", ["cluster"], [f"c{k}" for k in chosen])
    assert found.samples == [f"c{k}" for k in chosen]
    assert found.columns == {"cluster": [str(k % 4) for k in chosen]}


def test_cells_without_counts_leave_columns_of_obs_with_the_others(tmp_path: Path) -> None:
    counts = COUNTS.copy()
    counts[[3, 50]] = 0.0
    cells(np.log1p(to_total(counts, 1e4)), counts=counts).write_h5ad(tmp_path / "t.h5ad")
    known = get_method("mutual_information")
    section = {"method": "mutual_information", "expression": str(tmp_path / "t.h5ad")}
    config = models()[known.name].model_validate(
        section | {"samples": {"batch": "cluster"}, "obs": {"cluster": [0, 1, 2, 3]}}
    )
    prepared = estimator_of(known.name).prepare(config, 1)
    kept = np.setdiff1d(np.arange(N_CELLS), [3, 50])
    expected = pd.factorize(kept % 4)[0]
    np.testing.assert_array_equal(prepared.state["sample_batch"], expected)


# --- which cells ----------------------------------------------------------------------------------

CHOSEN = [
    ({"cell_type": "T cell"}, TYPES == "T cell"),
    ({"name": ["B cell"]}, TYPES == "B cell"),
    ({"cluster": [0, 2]}, np.arange(N_CELLS) % 2 == 0),
    ({"cluster": "3"}, np.arange(N_CELLS) % 4 == 3),
    ({"good": True, "cell_type": "B cell"}, np.arange(N_CELLS) % 6 == 0),
]


@pytest.mark.parametrize(("obs", "chosen"), CHOSEN)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_cells_are_chosen_by_columns_of_obs(
    obs: dict[str, Any], chosen: np.ndarray, form: Any, tmp_path: Path
) -> None:
    data = cells(COUNTS, form)
    data.write_h5ad(tmp_path / "t.h5ad")
    found = read_expression(tmp_path / "t.h5ad", obs=obs)
    np.testing.assert_array_equal(found.values, COUNTS[chosen].T)
    assert found.samples == list(data.obs_names[chosen])
    in_memory = pairtile.prepare_expression(data, obs=obs, normalize="none", log2=False)
    np.testing.assert_array_equal(in_memory.values, found.values)
    for notes in (found.notes, in_memory.notes):
        numbers = codes(notes)["cells_chosen"]
        assert (numbers["kept"], numbers["left_out"]) == (chosen.sum(), (~chosen).sum())
    mi = pairtile.mutual_information(data, obs=obs)
    np.testing.assert_array_equal(mi, pairtile.mutual_information(data[chosen]))


@pytest.mark.parametrize(
    ("obs", "named"),
    [
        ({"cell_type": "Monocyte"}, "'T cell'"),
        ({"celltype": "T cell"}, "'cell_type'"),
        ({"cluster": [1, 7]}, "'7'"),
        ({"good": True, "cluster": 1}, "all the values"),
    ],
)
def test_unknown_columns_and_values_are_refused(
    obs: dict[str, Any], named: str, tmp_path: Path
) -> None:
    data = cells(COUNTS)
    data.write_h5ad(tmp_path / "t.h5ad")
    with pytest.raises(InputError, match=named):
        read_expression(tmp_path / "t.h5ad", obs=obs)
    with pytest.raises(ValueError, match=named):
        pairtile.prepare_expression(data, obs=obs)


def test_other_formats_have_neither_layers_nor_obs(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("g\ta\tb\tc\nx\t1\t2\t3\ny\t2\t3\t4\n")
    model = models()["mutual_information"]
    section = {"method": "mutual_information", "expression": "t.tsv"}
    for key, value in (("layer", "raw"), ("obs", {"cell_type": "T cell"})):
        with pytest.raises(ConfigError, match=key):
            read_expression(tmp_path / "t.tsv", **{key: value})
        with pytest.raises(ValueError, match="h5ad"):
            model.model_validate({**section, key: value})
        with pytest.raises(ValueError, match=key):
            pairtile.prepare_expression(COUNTS.T, **{key: value})
    assert model.model_validate(section).layer == "auto"
    assert Preprocess().normalize == "auto"


@pytest.mark.parametrize("obs", ["T cell", {"cell_type": None}, {"cell_type": []}, {"a": {"b": 1}}])
def test_obs_is_a_mapping_of_columns_to_values(obs: Any) -> None:
    model = models()["mutual_information"]
    with pytest.raises(ValueError, match="a mapping of columns"):
        model.model_validate({"method": "mutual_information", "expression": "t.h5ad", "obs": obs})


def of_donors(**var: list[str]) -> anndata.AnnData:
    random = np.random.default_rng(5)
    donor = np.repeat(["d1", "d2"], 60)
    values = random.normal(8.0, 1.0, (120, 12)) + random.normal(size=12) * (donor == "d1")[:, None]
    names = [f"ENSG{k:011d}" for k in range(12)]
    obs = pd.DataFrame({"donor": donor}, index=[f"c{k}" for k in range(120)])
    return anndata.AnnData(values, obs=obs, var=pd.DataFrame(var, index=names))


def test_effects_of_columns_of_obs_are_removed_in_the_library(tmp_path: Path) -> None:
    data = of_donors()
    network = pairtile.infer_network(data, preprocess={"regress_out": ["donor"]}, keep="all")
    assert "effects_removed" in codes(network.attrs["notes"])
    data.write_h5ad(tmp_path / "t.h5ad")
    section = {"method": "mutual_information", "expression": str(tmp_path / "t.h5ad")}
    section |= {"preprocess": {"regress_out": ["donor"]}}
    config = models()["mutual_information"].model_validate(section)
    in_file = estimator_of("mutual_information").prepare(config, 1)
    frame = pairtile.prepare_expression(data, regress_out=data.obs[["donor"]])
    np.testing.assert_allclose(in_file.items["sd"], frame.items["sd"])
    with pytest.raises(InputError, match="no column 'plate'"):
        pairtile.infer_network(data, preprocess={"regress_out": ["plate"]})


def test_obs_is_held_against_what_cells_share_without_being_asked(tmp_path: Path) -> None:
    """In a notebook as in the workflow; nothing is said of it once it is removed."""
    data = of_donors()
    data.write_h5ad(tmp_path / "t.h5ad")
    section = {"method": "mutual_information", "expression": str(tmp_path / "t.h5ad")}
    config = models()["mutual_information"].model_validate(section)
    in_file = estimator_of("mutual_information").prepare(config, 1).messages
    expected = [note for note in in_file if note.code.startswith("annotation_explains")]
    assert len(expected) == 1
    assert "donor" in expected[0]
    network = pairtile.infer_network(data, keep="all")
    said = [*network.attrs["notes"], *network.attrs["warnings"]]
    assert [note for note in said if note.code.startswith("annotation_explains")] == expected
    assert expected[0] in pairtile.prepare_expression(data).warnings
    removed = pairtile.prepare_expression(data, regress_out=data.obs[["donor"]])
    assert not [n for n in removed.warnings if n.code.startswith("annotation_explains")]


@pytest.mark.parametrize("column", ["feature_name", "gene_symbols", "gene_name"])
def test_regulators_are_found_by_the_symbols_of_var(tmp_path: Path, column: str) -> None:
    data = of_donors(**{column: [f"Sym{k}" for k in range(12)]})
    network = pairtile.infer_network(data, ["Sym3", "Sym5"], keep="all")
    assert set(network["source"]) == {"ENSG00000000003", "ENSG00000000005"}
    assert "names_matched" in codes(network.attrs["notes"])
    data.write_h5ad(tmp_path / "t.h5ad")
    (tmp_path / "r.txt").write_text("Sym3\nSym5\n")
    section = {"method": "mutual_information", "expression": str(tmp_path / "t.h5ad")}
    section |= {"regulators": str(tmp_path / "r.txt")}
    config = models()["mutual_information"].model_validate(section)
    items = estimator_of("mutual_information").prepare(config, 1).items
    assert items.loc[items["is_regulator"], "symbol"].tolist() == ["Sym3", "Sym5"]


def test_counts_of_raw_are_taken_where_its_genes_are_only_numbered(tmp_path: Path) -> None:
    data = cells(LOGARITHMS)
    data.raw = anndata.AnnData(COUNTS, var=pd.DataFrame(index=[*map(str, range(COUNTS.shape[1]))]))
    data.write_h5ad(tmp_path / "t.h5ad")
    found = read_expression(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(found.values.T, COUNTS)
    assert found.genes == list(data.var_names)
