"""``pairtile.predictor_pairs``: the workflow's tables without the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from message_codes import codes
from pairtile import (
    BooleanSimulation,
    predictor_edges,
    predictor_pairs,
    prepare_expression,
    simulate_boolean,
)
from pairtile.declare.tables import EXACT
from workflow_runs import Analysis

ignore_ties = pytest.mark.filterwarnings("ignore:For .* score exactly the same")
pytestmark = ignore_ties


def simulated(**changes: Any) -> BooleanSimulation:
    settings = {"n_genes": 14, "n_steps": 30, "n_series": 2, "perturbation": 0.05, "noise": 0.02}
    return simulate_boolean(**(settings | {"seed": 4} | changes))


def frame_of(simulation: BooleanSimulation) -> pd.DataFrame:
    return pd.DataFrame(
        simulation.levels, index=pd.Index(simulation.genes, name="gene"), columns=simulation.samples
    )


def expression_of(simulation: BooleanSimulation, missing: float = 0.0) -> pd.DataFrame:
    random = np.random.default_rng(7)
    values = frame_of(simulation) * 3.0 + random.normal(0, 0.6, simulation.levels.shape)
    return values.mask(random.random(values.shape) < missing)


def by_the_workflow(
    folder: Path, table: pd.DataFrame, key: str, files: dict[str, str], **changes: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """``predictors.tsv`` and the network of the workflow's steps."""
    table.to_csv(folder / "table.tsv", sep="\t")
    for name, text in files.items():
        (folder / name).write_text(text)
    section = {"method": "predictor_pairs", key: "table.tsv", **changes}
    out = Analysis(folder, section, seed=5).pairs().network().tables().out
    sets = pd.read_csv(
        out / "predictors.tsv",
        sep="\t",
        keep_default_na=False,
        na_values=[""],
        dtype=None,
        float_precision=EXACT,
    )
    return sets, pd.read_parquet(out / "network.parquet")


SERIES = "\n".join(
    ["sample\tseries"]
    + [f"{s}\t{c}" for s, c in zip(simulated().samples, simulated().series, strict=True)]
)


@pytest.mark.parametrize(
    ("kind", "section", "arguments"),
    [
        pytest.param("levels", {"null": {"permutations": 30}}, {"permutations": 30}, id="levels"),
        pytest.param(
            "levels",
            {
                "series": "series.tsv",
                "null": {"kind": "circular_shift", "permutations": 9},
                "estimator": {"penalty": "poor_obs", "beta": 0.7, "self": True, "top": 4},
            },
            {
                "series": simulated().series,
                "null": "circular_shift",
                "permutations": 9,
                "penalty": "poor_obs",
                "beta": 0.7,
                "include_self": True,
                "top": 4,
            },
            id="shifts",
        ),
        pytest.param(
            "expression",
            {
                "regulators": "regulators.txt",
                "targets": "targets.txt",
                "lag": 0,
                "preprocess": {"min_samples": 12},
                "quantize": {"levels": 4, "rule": "kmeans"},
                "null": {"permutations": 20},
                "keep": {"p_value": 0.2},
            },
            {
                "regulators": ["G04", "G01", "G09", "G05", "G02"],
                "targets": ["G07", "G01", "G03"],
                "lag": 0,
                "preprocess": {"min_samples": 12},
                "quantize": {"levels": 4, "rule": "kmeans"},
                "permutations": 20,
            },
            id="expression",
        ),
        pytest.param(
            "levels",
            {"keep": "auto", "null": {"permutations": 200}},
            {"permutations": 200},
            id="auto",
        ),
        pytest.param(
            "levels",
            {"estimator": {"cardinality": 3, "search": "sffs"}, "null": {"permutations": 5}},
            {"cardinality": 3, "search": "sffs", "permutations": 5},
            id="sffs",
            marks=pytest.mark.complete,
        ),
    ],
)
@pytest.mark.complete
def test_tables_are_those_of_the_workflow(
    kind: str, section: dict[str, Any], arguments: dict[str, Any], tmp_path: Path
) -> None:
    simulation = simulated()
    table = frame_of(simulation) if kind == "levels" else expression_of(simulation, missing=0.05)
    files = {
        "series.tsv": SERIES,
        "regulators.txt": "G04\nG01\nG09\nG05\nG02\n",
        "targets.txt": "G07\nG01\nG03\n",
    }
    expected, network = by_the_workflow(tmp_path, table, kind, files, chunks=3, **section)
    found = predictor_pairs(**{kind: table}, seed=5, backend="cpu", **arguments)
    assert len(found) == len(expected) > 10
    left_out = (
        {"predictor_2", "gain_2", "spearman_2"} if arguments.get("cardinality") == 1 else set()
    )
    assert list(found.columns) == [name for name in expected if name not in left_out]
    for column in found:
        assert found[column].tolist() == expected[column].tolist(), column
    edges = predictor_edges(found, section.get("keep", "best"))
    if section.get("keep") == "auto":
        pd.testing.assert_frame_equal(edges, predictor_edges(found))
        assert "keep_auto" in codes(edges.attrs["notes"])
    assert len(edges) == len(network) > 3
    for column in network:
        assert edges[column].tolist() == network[column].tolist(), column


def test_every_kind_of_input_gives_the_same_sets() -> None:
    simulation = simulated()
    options: dict[str, Any] = {"permutations": 9, "top": 3}
    expected = predictor_pairs(levels=simulation, **options)
    frame = frame_of(simulation)
    by_name = dict(zip(simulation.samples, simulation.series, strict=True))
    for levels, series in (
        (frame, simulation.series),
        (frame, by_name),
        (frame, pd.Series(by_name)[::-1]),
        (frame.astype("Int64"), np.array(simulation.series)),
        (anndata.AnnData(frame.T.astype(float)), simulation.series),
    ):
        found = predictor_pairs(levels=levels, series=series, **options)
        pd.testing.assert_frame_equal(found, expected)
    turned = predictor_pairs(
        levels=frame.T, orientation="samples_in_rows", series=simulation.series, **options
    )
    pd.testing.assert_frame_equal(turned, expected)
    plain = predictor_pairs(levels=simulation.levels, series=simulation.series, **options)
    for column in ("target", "predictor_1", "predictor_2"):
        assert plain[column].dtype.kind == "i"
        assert frame.index[plain[column]].tolist() == expected[column].tolist()


def test_prepared_expression_is_only_quantised() -> None:
    values = expression_of(simulated())
    prepared = prepare_expression(2**values, log2=True, min_samples=10)
    found = predictor_pairs(prepared, permutations=0)
    expected = predictor_pairs(
        2**values, preprocess={"log2": True, "min_samples": 10}, permutations=0
    )
    pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(ValueError, match=r"^preprocess: "):
        predictor_pairs(prepared, preprocess={"log2": False})


def test_genes_that_preparation_drops_leave_the_numbers_of_the_others() -> None:
    values = frame_of(simulated()).to_numpy().astype(float)
    values[0, 5:] = np.nan
    with pytest.warns(UserWarning, match="1 of 14 genes were dropped: too few samples"):
        found = predictor_pairs(levels=values, permutations=0)
    assert set(found["target"]) == set(range(1, 14))
    assert found.attrs["counts"]["genes_kept"] == 13


def test_targets_that_share_too_few_samples_with_any_pair_are_told() -> None:
    random = np.random.default_rng(1)
    levels = np.where(random.random((10, 40)) < 0.4, np.nan, random.integers(0, 2, (10, 40)))
    with pytest.warns(UserWarning, match="9 of 9 targets have no result: too many levels are"):
        found = predictor_pairs(levels=levels, permutations=5, preprocess={"min_samples": 18})
    assert found.empty
    assert predictor_edges(found).empty


def test_fewer_levels_than_asked_for_are_told() -> None:
    with pytest.warns(UserWarning, match="There are 3 levels, but no gene has more than 2"):
        predictor_pairs(levels=simulated(), quantize={"levels": 3}, permutations=0)


LEVELS = np.random.default_rng(0).integers(0, 2, (6, 30))
NAMED = pd.DataFrame(LEVELS, index=list("abcdef"), columns=[f"s{k}" for k in range(30)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "expression, levels: found neither; expected one of them"),
        (
            {"expression": LEVELS, "levels": LEVELS},
            "levels: found 'levels'; expected null beside expression|found both",
        ),
        ({"expression": simulated()}, "expression: found levels of a simulation; expected levels="),
        ({"levels": LEVELS, "penalty": "noobs"}, "^penalty: found 'noobs'.*did you mean no_obs"),
        (
            {"levels": LEVELS, "null": "shift"},
            "^null: found 'shift'; expected auto, permutation",
        ),
        ({"levels": LEVELS, "include_self": 3}, "^include_self: found 3"),
        ({"levels": LEVELS, "preprocess": {"log2": True}}, "^preprocess: found"),
        ({"levels": LEVELS, "series": ["a"] * 29}, r"series: found shape \(29,\); expected .* 30"),
        ({"levels": LEVELS, "series": "s.tsv"}, "series: found 's.tsv'; expected a label for each"),
        ({"levels": LEVELS, "series": {"s0": 1}}, "since the samples have no names"),
        ({"levels": NAMED, "series": {"s0": 1}}, r"none for 29 of 30 samples \('s1', 's2', 's3'"),
        ({"levels": LEVELS, "series": [None] * 30}, "found 30 samples without a label"),
        ({"levels": NAMED, "targets": ["z"]}, r"targets: found none of its 1 names \(z\)"),
        ({"levels": LEVELS, "targets": [9]}, "targets: found gene 9; expected numbers from 0 to 5"),
        ({"levels": NAMED, "regulators": "a"}, "regulators: found the string 'a'; expected a list"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predictor_pairs(**arguments)


def test_edges_need_the_sets_of_a_search_and_p_values_for_a_threshold() -> None:
    sets = predictor_pairs(levels=LEVELS, permutations=0)
    with pytest.raises(ValueError, match="sets: found no column rank"):
        predictor_edges(sets.drop(columns="rank"))
    with pytest.raises(ValueError, match=r"expected best or all \(there are no p-values\)"):
        predictor_edges(sets, {"fdr": 0.05})
    with pytest.raises(ValueError, match=r"^keep: found 'top'"):
        predictor_edges(sets, "top")


@pytest.mark.gpu
def test_gpu_gives_the_same_sets() -> None:
    simulation = simulated(n_genes=60)
    options: dict[str, Any] = {"levels": simulation, "permutations": 50}
    pd.testing.assert_frame_equal(
        predictor_pairs(**options, backend="cuda"), predictor_pairs(**options, backend="cpu")
    )


def lagged_levels() -> np.ndarray:
    levels = np.random.default_rng(6).integers(0, 2, (12, 100))
    levels[0, 1:] = levels[3, :-1] ^ levels[4, :-1]
    levels[1, 2:] = levels[5, :-2] ^ levels[6, :-2]
    levels[2, 2:] = levels[7, 1:-1] & levels[8, :-2]
    return levels


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"cardinality": 3},
        {"cardinality": 3, "search": "sffs"},
        {"cardinality": 1},
        {"cardinality": 4, "permutations": 0},
    ],
)
def test_several_lags_are_searched_together_and_no_gene_predicts_itself_at_any(
    settings: dict[str, Any],
) -> None:
    levels = lagged_levels()
    levels[9] = 1  # which all sets tell
    found = predictor_pairs(levels=levels, lag=[2, 1], **settings)
    columns = [c for c in found if c.startswith("predictor_")]
    assert all((found[column] != found["target"]).all() for column in columns)
    assert set(found["lag_1"]) == {1, 2}
    if len(columns) != 2:
        return
    best = found[found["rank"] == 1].set_index("target")
    planted = best.loc[:2, ["predictor_1", "lag_1", "predictor_2", "lag_2"]]
    assert planted.to_numpy().tolist() == [[3, 1, 4, 1], [5, 2, 6, 2], [7, 1, 8, 2]]
    assert (best.loc[:2, "q_value"] < 0.01).all()
    assert best.loc[:2, ["mode_1", "mode_2"]].to_numpy().tolist() == [
        ["mixed", "mixed"],
        ["mixed", "mixed"],
        ["activation", "activation"],
    ]
    edges = predictor_edges(found).set_index(["source", "target"])
    assert edges.loc[(8, 2), "lag"] == 2
    # The sets at lag 1 alone are those of a search of lag 1, of the same transitions.
    alone = predictor_pairs(levels=levels, lag=1, top=100, permutations=0)
    assert "lag_1" not in alone
    assert alone[alone["target"] == 0]["predictor_1"].iloc[0] == 3


def test_one_lag_in_a_list_is_that_lag() -> None:
    levels = lagged_levels()
    one, listed = (predictor_pairs(levels=levels, lag=lag) for lag in (2, [2, 2]))
    pd.testing.assert_frame_equal(one, listed)


def test_levels_that_count_from_one_are_those_from_zero() -> None:
    levels = lagged_levels()
    found = predictor_pairs(levels=levels + 1)
    pd.testing.assert_frame_equal(predictor_pairs(levels=levels), found)
    assert any("level 0" in note for note in found.attrs["notes"])
    three = predictor_pairs(levels=levels + 1, quantize={"levels": 3}, permutations=0)
    assert not any("level 0" in note for note in three.attrs["notes"])


def test_a_network_is_not_empty_because_draws_were_few() -> None:
    # One driven target of 60 in three short, slow series, and few shifts of each.
    random = np.random.default_rng(8)
    levels = np.zeros((60, 3, 20), dtype=int)
    for t in range(20):
        stays = random.random((60, 3)) < 0.6
        fresh = random.integers(0, 2, (60, 3))
        levels[..., t] = np.where(stays & (t > 0), levels[..., t - 1], fresh)
    levels[0, :, 1:] = levels[1, :, :-1] ^ levels[2, :, :-1]
    sets = predictor_pairs(levels=levels.reshape(60, -1), series=np.repeat([0, 1, 2], 20))
    edges = predictor_edges(sets)
    assert set(zip(edges["source"], edges["target"], strict=True)) >= {(1, 0), (2, 0)}
    assert edges["target"].nunique() < 5
