"""``pairtile.multimodal_correlation`` and its steps: the workflow's tables without the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from pairtile import (
    InputError,
    ModeCorrelation,
    condition_tests,
    multimodal_correlation,
    power_law_threshold,
    prepare_expression,
    rmt_threshold,
)
from pairtile.methods.multimodal_correlation.charts import pair_scatter
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.score import MultimodalCorrelation
from planted_modes import planted, section
from workflow_runs import Analysis

SETTINGS: dict[str, Any] = {"max_clusters": 3, "min_samples": 20, "outliers_before": False}
RAW = {"log2": False}
GENES = 10


def small() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ten genes with the planted pairs, and annotations with samples as index."""
    table, annotations = planted(GENES)
    return table, annotations.set_index("sample")


@pytest.fixture(scope="module")
def found() -> ModeCorrelation:
    return multimodal_correlation(small()[0], **SETTINGS, preprocess=RAW, seed=3, backend="cpu")


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the workflow's results for the same input, settings and seed."""
    folder = tmp_path_factory.mktemp("modes")
    table, annotations = small()
    table.to_csv(folder / "expression.tsv", sep="\t", index_label="gene")
    annotations.to_csv(folder / "samples.tsv", sep="\t")
    asked = section(annotations="samples.tsv", chunks=2)
    return Analysis(folder, asked).pairs().network().tables().out


def read(path: Path) -> pd.DataFrame:
    counted = ("n_mode", "n_label", "n_both", "p_value", "q_value", "r_squared")
    empty = {name: [""] for name in counted}
    return pd.read_csv(path, sep="\t", keep_default_na=False, na_values=empty)


def test_modes_are_those_of_the_workflow(found: ModeCorrelation, analysis: Path) -> None:
    stored = pd.read_parquet(analysis / "pairs.parquet")
    names = pd.read_parquet(analysis / "items.parquet")["name"].to_numpy()
    assert len(found.modes) == len(stored) > 2
    assert found.modes["source"].tolist() == names[stored["i"]].tolist()
    assert found.modes["target"].tolist() == names[stored["j"]].tolist()
    for column in stored.columns.drop(["i", "j", "samples", "outliers"]):
        np.testing.assert_array_equal(found.modes[column], stored[column], err_msg=column)
    bits = np.unpackbits(np.stack([np.frombuffer(m, np.uint8) for m in stored["samples"]]), axis=1)
    members = found.members()
    np.testing.assert_array_equal(members, bits[:, : len(found.samples)])
    assert list(members.columns) == list(small()[0].columns)
    assert members.sum(axis=1).tolist() == found.modes["n_samples"].tolist()
    assert not (members & found.outliers()).to_numpy().any()
    with np.load(analysis / "scores.npz") as scores:
        assert found.pairs_by_modes.tolist() == scores["pairs_by_modes"].tolist()
        assert found.modes_by_correlation.tolist() == scores["counts"].tolist()


def test_the_network_and_its_tables_are_those_of_the_workflow(
    found: ModeCorrelation, analysis: Path
) -> None:
    made = found.network(0.6, annotations=small()[1])
    expected = pd.read_parquet(analysis / "network.parquet")
    assert len(made.edges) == len(expected) > 2
    assert list(made.edges.columns) == list(expected.columns)
    for column in expected:
        assert made.edges[column].dtype.kind == expected[column].dtype.kind
        values = made.edges[column].to_numpy()
        np.testing.assert_array_equal(values, expected[column].to_numpy(), err_msg=column)
    for table, name in (
        (made.condition_networks, "condition_networks.tsv"),
        (made.modules, "modules.tsv"),
        (made.tests, "condition_tests.tsv"),
    ):
        wanted = read(analysis / name)
        assert len(table) == len(wanted) > 0
        assert list(table.columns) == list(wanted.columns)
        for column in wanted:
            if wanted[column].dtype.kind == "f":
                seen = table[column].astype(float)
                np.testing.assert_allclose(seen, wanted[column], rtol=1e-6, err_msg=column)
            else:
                assert table[column].tolist() == wanted[column].tolist(), column
    assert made.threshold == 0.6
    assert made.counts["edges"] == len(made.edges)


@pytest.mark.parametrize("kind", ["gmm", "none"])
def test_every_kind_of_input_gives_the_same_modes(kind: str) -> None:
    table, _ = small()
    table = table.iloc[:6]
    options: dict[str, Any] = SETTINGS | {"clustering": kind, "preprocess": RAW, "backend": "cpu"}
    expected = multimodal_correlation(table, **options)
    prepared = prepare_expression(table, **RAW)
    for given, more in (
        (table.T, {"orientation": "samples_in_rows"}),
        (anndata.AnnData(table.T), {}),
        (prepared, {"preprocess": None}),
    ):
        same = multimodal_correlation(given, **(options | more))
        pd.testing.assert_frame_equal(same.modes, expected.modes)
        assert list(same.samples) == list(table.columns)
    plain = multimodal_correlation(table.to_numpy(), **options)
    if kind == "none":
        # Without names, draws are keyed on numbers: mixtures may start elsewhere.
        assert plain.modes["correlation"].tolist() == expected.modes["correlation"].tolist()
    assert plain.modes["source"].dtype.kind == "i"
    assert table.index[plain.modes["source"]].tolist() == expected.modes["source"].tolist()
    assert plain.samples.tolist() == list(range(80))


def test_a_pair_is_there_in_either_order_and_can_be_drawn(found: ModeCorrelation) -> None:
    table, _ = small()
    pair = found.pair("g01", "g00")
    assert pair.names == ("g00", "g01")
    np.testing.assert_array_equal(pair.x, table.loc["g00"])
    assert pair.n_samples.tolist() == pair.members.sum(axis=1).tolist()
    np.testing.assert_allclose(pair.means[:, 0], pair.x @ pair.members.T / pair.n_samples, atol=0.5)
    assert len(pair_scatter([pair]).axes) == 1
    with pytest.raises(ValueError, match="'nobody'"):
        found.pair("g00", "nobody")
    with pytest.raises(ValueError, match="no mode of g00 and g09"):
        found.pair("g00", "g09")


def test_condition_tests_of_all_modes_hold_those_of_the_network(found: ModeCorrelation) -> None:
    annotations = small()[1]
    tests = condition_tests(found, annotations, ["Treatment"])
    assert len(tests) == 2 * len(found.modes)
    edges = found.network(0.6, power=False, annotations=annotations, conditions=["Treatment"])
    keys = ["source", "target", "cluster", "label"]
    both = edges.tests.merge(tests, on=keys, suffixes=("", "_all"), validate="1:1")
    assert len(both) == len(edges.tests)
    np.testing.assert_array_equal(both["p_value"], both["p_value_all"])
    few = condition_tests(found, annotations, ["Treatment"], modes=found.modes.iloc[[1]])
    assert few["n_mode"].tolist() == [found.modes["n_samples"].iloc[1]] * 2


def test_unequal_counting_noise_and_hidden_factors_are_said(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    label = np.repeat(["a", "b"], 60)
    rates = np.repeat(random.normal(size=(10, 120)), 4, axis=0)
    rates += 0.5 * random.normal(size=rates.shape)
    names = [f"g{k}" for k in range(40)]
    counts = pd.DataFrame(
        random.poisson(np.exp(0.7 * rates) * np.where(label == "a", 100, 4)), index=names
    )
    counts.columns = [f"s{k}" for k in range(120)]
    samples = pd.DataFrame({"label": label}, index=counts.columns)

    def codes(found: ModeCorrelation) -> tuple[set[str], set[str]]:
        made = found.network(0.5, power=False, annotations=samples, modules=False)
        assert len(made.tests)
        said = {getattr(each, "code", "") for each in [*made.notes, *made.warnings]}
        return said, set(made.tests["counting_noise"])

    settings: dict[str, Any] = {"clustering": "none", "backend": "cpu"}
    said, marks = codes(multimodal_correlation(counts, **settings))
    assert "counting_noise_thinned" in said
    assert marks == {"thinned"}
    said, marks = codes(multimodal_correlation(prepare_expression(counts), **settings))
    assert "counting_noise_unknown" in said
    assert marks == {"unknown"}
    values = pd.DataFrame(random.normal(size=(60, 120)), columns=counts.columns)
    values.iloc[:8] = rates[:8]
    values.loc[:, label == "b"] += random.normal(size=(60, 1)) * random.choice([-1, 1], 60)
    said, marks = codes(multimodal_correlation(values, preprocess=RAW, **settings))
    assert "hidden_factors_of_label" in said
    assert marks == {""}

    # The workflow's state holds the same counts, of the genes that are kept.
    path = tmp_path / "counts.tsv"
    counts.iloc[3, 2:] = 0
    counts.to_csv(path, sep="\t")
    config = MultimodalCorrelationConfig(
        method="multimodal_correlation",
        expression=str(path),
        preprocess={"pseudocount": 0, "min_samples": 30},
    )
    prepared = MultimodalCorrelation.prepare(config, 1)
    kept = prepared.items.loc[prepared.items["kept"], "name"]
    assert len(kept) == 39
    assert (prepared.state["counts"] == counts.loc[kept].to_numpy()).all()


@pytest.mark.complete
def test_conditions_are_those_of_a_file(found: ModeCorrelation, tmp_path: Path) -> None:
    annotations = small()[1]
    annotations.to_csv(tmp_path / "samples.tsv", sep="\t")
    shuffled = annotations.sample(frac=1.0, random_state=2)
    extra = pd.concat([shuffled, pd.DataFrame({"Treatment": ["x"]}, index=["more"])])
    asked = ["Treatment", {"name": "Hours", "kind": "quantitative"}]
    expected = found.network(0.6, annotations=tmp_path / "samples.tsv", conditions=asked).edges
    for given in (annotations, shuffled, extra, annotations.astype({"Hours": float})):
        made = found.network(0.6, annotations=given, conditions=asked)
        pd.testing.assert_frame_equal(made.edges, expected)
    assert not any("annotated samples" in note for note in made.notes)
    noted = found.network(0.6, annotations=extra, conditions=asked).notes
    assert any("1 annotated samples are not in the expression" in note for note in noted)


@pytest.mark.parametrize(
    ("annotations", "conditions", "error", "words"),
    [
        (small()[1].iloc[1:], (), InputError, "no row for 1 of 80 samples: 's00'"),
        (pd.concat([small()[1]] * 2), (), ValueError, "sample 's00' twice"),
        (small()[1], ["Nothing"], InputError, "no column 'Nothing'"),
        ([1, 2], (), ValueError, "annotations: found list; expected a DataFrame"),
        (small()[1].assign(Same="x"), ["Same"], InputError, "fewer than two different values"),
        (None, ["Treatment"], ValueError, "a table under annotations"),
    ],
)
def test_annotations_that_do_not_fit_are_refused(
    found: ModeCorrelation,
    annotations: Any,
    conditions: Any,
    error: type[Exception],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        found.network(0.6, annotations=annotations, conditions=conditions)


def test_a_threshold_below_what_was_stored_is_refused(found: ModeCorrelation) -> None:
    with pytest.raises(ValueError, match=r"threshold\.score: found 0\.4"):
        found.network(0.4)
    with pytest.raises(ValueError, match=r"threshold\.method: found 'magic'"):
        found.network("magic")


def test_a_threshold_that_is_not_found_is_a_warning(found: ModeCorrelation) -> None:
    with pytest.warns(UserWarning, match="no threshold found"):
        made = found.network("rmt")
    assert made.threshold is None
    assert made.edges.empty
    assert made.condition_networks.empty
    assert len(made.curve)


def test_dropped_genes_leave_labels_of_the_others() -> None:
    table = small()[0].iloc[:5].to_numpy().copy()
    table[0, 5:] = np.nan
    with pytest.warns(UserWarning, match="1 of 5 genes were dropped"):
        made = multimodal_correlation(table, clustering="none", preprocess=RAW)
    assert set(made.modes["source"]) <= set(range(1, 5))
    assert made.items["kept"].sum() == 4
    assert made.pair(2, 3).names == ("2", "3")


def modules_of_genes(modules: int = 80, samples: int = 20, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = np.repeat(random.normal(size=(modules, samples)), 5, axis=0)
    return np.corrcoef(values + 0.6 * random.normal(size=values.shape))


def test_rmt_threshold_of_a_matrix_is_that_of_its_table() -> None:
    r = modules_of_genes()
    of_matrix = rmt_threshold(r, step=0.01, stop=0.4, backend="cpu")
    assert of_matrix.threshold == 0.64
    i, j = np.triu_indices(len(r), k=1)
    kept = np.abs(r[i, j]) >= 0.4
    table = pd.DataFrame({"source": i, "target": j, "correlation": r[i, j]})[kept]
    table = table.sample(frac=1.0, random_state=1).assign(
        source=lambda t: "g" + t["source"].map(str)
    )
    table["target"] = "g" + table["target"].map(str)
    of_table = rmt_threshold(table, step=0.01, backend="cpu")
    assert of_table.threshold == of_matrix.threshold
    curves = of_table.curve, of_matrix.curve.iloc[: len(of_table.curve)]
    np.testing.assert_allclose(curves[0]["chi_square"], curves[1]["chi_square"], rtol=1e-4)
    power_law = power_law_threshold(r, stop=0.3)
    assert power_law.curve["genes"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("correlation", "words"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\)"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (np.full((3, 3), 2.0), "-1 to 1"),
        ([["a", "b"], ["c", "d"]], "no numbers"),
    ],
)
def test_what_is_no_matrix_of_correlations_is_refused(correlation: Any, words: str) -> None:
    for search in (rmt_threshold, power_law_threshold):
        with pytest.raises(ValueError, match=words):
            search(correlation)


@pytest.mark.gpu
def test_modes_are_the_same_on_the_gpu(found: ModeCorrelation) -> None:
    on_gpu = multimodal_correlation(small()[0], **SETTINGS, preprocess=RAW, seed=3, backend="cuda")
    pd.testing.assert_frame_equal(on_gpu.modes, found.modes)
    assert (on_gpu.members() == found.members()).all(axis=None)
