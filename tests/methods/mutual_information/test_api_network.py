"""``pairtile.infer_network``, the workflow's network without the workflow, and DPI of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairtile import (
    InputError,
    data_processing_inequality,
    evaluate,
    infer_network,
    prepare_expression,
    read_expression,
    read_gold_standard,
    read_regulators,
    simulate_kinetic,
)
from pairtile.io.expression import Expression
from pairtile.methods.mutual_information import dpi
from workflow_runs import Analysis

DEMO = Path(__file__).resolve().parents[3] / "config" / "demo"
EXPRESSION = DEMO / "expression.tsv.gz"
REGULATORS = DEMO / "regulators.txt"


def by_the_workflow(settings: dict[str, Any], seed: int, folder: Path) -> pd.DataFrame:
    """The network table that the workflow's steps make of these settings, in their order."""
    given = {"method": "mutual_information", "expression": str(EXPRESSION), **settings}
    made = Analysis(folder, given, seed=seed).pairs().network()
    return pd.read_parquet(made.out / "network.parquet")


@pytest.mark.parametrize(
    ("section", "seed"),
    [
        pytest.param({"dpi": None}, 1, id="defaults"),
        pytest.param(
            {"score": "target_z", "keep": {"fdr": 0.01}}, 1, id="demo", marks=pytest.mark.complete
        ),
        pytest.param({"keep": {"p_value": 1e-4}, "dpi": {"tolerance": 0.1}}, 7, id="aracne"),
        pytest.param(
            {
                "score": "clr",
                "keep": {"top_edges": 300},
                "dpi": {"tolerance": 0.01, "rule": "additive"},
                "regulators": None,
                "preprocess": {"log2": False, "min_samples": 30},
                "estimator": {"bins": 7, "order": 2, "transform": "none"},
                "null": {"permutations": 20_000},
            },
            1,
            id="clr",
        ),
        pytest.param(
            {"score": "target_z", "keep": {"score": 3.0}}, 1, id="score", marks=pytest.mark.complete
        ),
        pytest.param({"score": "combined", "keep": {"top_edges": 101}}, 1, id="combined"),
    ],
)
def test_network_is_that_of_the_workflow(
    section: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    section = {"regulators": str(REGULATORS), "dpi": False, **section}
    given = {key: value for key, value in section.items() if value is not None}
    expected = by_the_workflow({**given, "chunks": 3}, seed, tmp_path)
    listed = section["regulators"]
    found = infer_network(
        read_expression(EXPRESSION),
        None if listed is None else read_regulators(listed),
        score=section.get("score", "auto"),
        keep=section.get("keep", "auto"),
        dpi=section["dpi"],
        preprocess=section.get("preprocess"),
        permutations=section.get("null", {}).get("permutations", "auto"),
        seed=seed,
        backend="cpu",
        **section.get("estimator", {}),
    )
    assert len(found) > 50
    assert list(found.columns) == list(expected.columns)
    for column in found:
        assert found[column].tolist() == expected[column].tolist(), column


def test_gold_standard_of_the_demo_is_found_again() -> None:
    """What docs/library.md shows: the defaults are the recommended settings."""
    expression = read_expression(EXPRESSION)
    regulators = read_regulators(REGULATORS)
    edges = infer_network(expression, regulators, keep="all")
    evaluation = evaluate(
        edges.rename(columns={"combined": "score"}),
        read_gold_standard(DEMO / "gold_standard.tsv"),
        genes=expression.genes,
        regulators=regulators,
    )
    assert evaluation["aupr"] > 0.6  # a random ranking has .095


@pytest.fixture(scope="module")
def simulated() -> Any:
    return simulate_kinetic(n_genes=25, n_samples=80, n_regulators=4)


def test_every_kind_of_input_gives_the_same_network(simulated: Any) -> None:
    options: dict[str, Any] = {"keep": {"top_edges": 40}, "backend": "cpu"}
    regulators = simulated.regulators
    expected = infer_network(simulated, regulators, **options)
    frame = pd.DataFrame(simulated.values, index=simulated.genes, columns=simulated.samples)
    for expression in (frame, anndata.AnnData(frame.T), prepare_expression(frame)):
        pd.testing.assert_frame_equal(infer_network(expression, regulators, **options), expected)
    turned = infer_network(frame.T, regulators, orientation="samples_in_rows", **options)
    pd.testing.assert_frame_equal(turned, expected)
    numbers = frame.index.get_indexer(pd.Index(regulators))
    plain = infer_network(simulated.values, numbers, **options)
    for end in ("source", "target"):
        assert plain[end].dtype.kind == "i"
        assert frame.index[plain[end]].tolist() == expected[end].tolist()


def test_genes_that_preparation_drops_leave_the_numbers_of_the_others(simulated: Any) -> None:
    values = simulated.values.copy()
    values[0, 5:] = np.nan
    with pytest.warns(UserWarning, match="1 of 25 genes were dropped: too few samples"):
        found = infer_network(values, keep={"top_edges": 30}, score="mi")
    expected = infer_network(values[1:], keep={"top_edges": 30}, score="mi")
    assert (found["source"] - 1).tolist() == expected["source"].tolist()
    assert (found["target"] - 1).tolist() == expected["target"].tolist()


def test_regulators_that_preparation_drops_are_told(simulated: Any) -> None:
    values = simulated.values.copy()
    values[0, 5:] = np.nan
    with pytest.warns(UserWarning, match="1 of 2 regulators") as told:
        found = infer_network(values, [0, 3], keep="all")
    assert set(found["source"]) == {3}
    assert set(found.attrs["warnings"]) == {warning.message.args[0] for warning in told}
    with pytest.raises(InputError, match="none of its 1 names"):
        infer_network(values, [0])


def test_dpi_of_the_network_is_dpi_on_its_table(simulated: Any) -> None:
    options: dict[str, Any] = {"keep": {"p_value": 0.001}, "score": "mi"}
    edges = infer_network(simulated, dpi=False, **options)
    pruned = infer_network(simulated, dpi={"tolerance": 0.05}, **options)
    kept = edges[data_processing_inequality(edges, tolerance=0.05)].reset_index(drop=True)
    assert 0 < len(pruned) < len(edges)
    pd.testing.assert_frame_equal(pruned.drop(columns="q_value"), kept.drop(columns="q_value"))
    assert (pruned["q_value"] >= kept["q_value"] * (1 - 1e-12)).all()  # fewer pairs are found
    assert len(infer_network(simulated, dpi=True, **options)) <= len(pruned)


def test_attributes_tell_how_the_network_came_about(simulated: Any, tmp_path: Path) -> None:
    edges = infer_network(simulated, simulated.regulators, keep={"top_edges": 10}, seed=5)
    attributes = edges.attrs
    assert attributes["directed"]
    assert attributes["counts"]["edges"] == 10
    assert attributes["counts"]["pairs"] == 4 * 24 - 6
    assert attributes["settings"]["seed"] == 5
    assert attributes["settings"]["preprocess"]["log2"] is True
    assert attributes["threshold_bits"] == edges["mi_bits"].min()
    edges.to_parquet(tmp_path / "network.parquet")  # attributes are plain, so this goes
    assert pd.read_parquet(tmp_path / "network.parquet").attrs == attributes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": {"fdr": 2}}, "keep.fdr: found 2; expected a number greater than 0"),
        ({"permutations": 5}, "permutations: found 5"),
        ({"regulators": ["nobody"]}, "regulators: found none of its 1 names"),
        ({"bins": 4, "order": 9, "seed": -3}, r"(?s)seed: found -3.*order: found 9"),
    ],
)
def test_impossible_settings_are_refused(
    simulated: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        infer_network(simulated, **options)


def test_prepared_values_are_not_prepared_again(simulated: Any) -> None:
    prepared = prepare_expression(simulated)
    with pytest.raises(ValueError, match=r"^preprocess: "):
        infer_network(prepared, preprocess={"log2": True})


def test_names_that_are_written_alike_are_refused() -> None:
    frame = pd.DataFrame(np.ones((2, 30)), index=pd.Index([1, "1"], dtype=object))
    for table in (frame, frame.T):
        with pytest.raises(ValueError, match="'1' 2 times"):
            infer_network(table)


def test_a_table_that_was_read_needs_its_file_no_more(simulated: Any) -> None:
    names = list(simulated.genes), list(simulated.samples)
    table = Expression(simulated.values, *names, source="gone.h5ad")
    options: dict[str, Any] = {"keep": {"top_edges": 10}}
    pd.testing.assert_frame_equal(
        infer_network(table, **options), infer_network(simulated, **options)
    )


def test_edges_have_the_names_of_genes_that_have_symbols() -> None:
    made = simulate_kinetic(n_genes=12, n_samples=60, n_regulators=2, seed=1)
    symbols = {name: f"symbol {name}" for name in made.genes}
    table = Expression(made.values, list(made.genes), list(made.samples), symbols=symbols)
    found = infer_network(table, keep={"top_edges": 10})
    plain = infer_network(made, keep={"top_edges": 10})
    assert found[["source", "target"]].equals(plain[["source", "target"]])


def test_values_that_do_not_go_with_the_settings_are_refused(simulated: Any) -> None:
    with pytest.raises(InputError, match="negative"):
        infer_network(-simulated.values, preprocess={"log2": True})


@pytest.mark.gpu
def test_network_of_the_gpu_is_that_of_the_cpu(simulated: Any) -> None:
    options: dict[str, Any] = {"keep": {"top_edges": 60}, "precision": "float64"}
    on_cpu = infer_network(simulated, simulated.regulators, backend="cpu", **options)
    on_gpu = infer_network(simulated, simulated.regulators, backend="cuda", **options)
    # Nulls of the two backends may differ in the last place of a draw.
    pd.testing.assert_frame_equal(on_gpu, on_cpu, rtol=1e-6)


TRIANGLE = pd.DataFrame(
    {"source": ["b", "c", "a"], "target": ["a", "b", "c"], "mi_bits": [0.9, 0.8, 0.3]}
)


@settings(deadline=None)  # the first example loads the kernel
@given(seed=st.integers(0, 10_000), tolerance=st.sampled_from([0.0, 0.1]), listed=st.booleans())
def test_table_gives_what_the_arrays_give(seed: int, tolerance: float, listed: bool) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 9))
    i, j = np.triu_indices(n, 1)
    chosen = random.random(i.size) < 0.7
    i, j = i[chosen], j[chosen]
    mi = random.random(i.size).round(1)
    is_regulator = np.zeros(n, dtype=bool)
    is_regulator[np.unique(i)[:2]] = True
    regulators = np.flatnonzero(is_regulator) if listed and i.size else None
    flags = None if regulators is None else is_regulator
    expected = dpi.data_processing_inequality(i, j, mi, n, tolerance=tolerance, is_regulator=flags)
    found = data_processing_inequality(
        i, j, mi, n_genes=n, tolerance=tolerance, regulators=regulators
    )
    np.testing.assert_array_equal(found, expected)

    names = np.array([f"g{k}" for k in random.permutation(n)], dtype=object)
    turned = random.random(i.size) < 0.5  # the direction of a row makes no difference
    edges = pd.DataFrame(
        {
            "source": names[np.where(turned, j, i)],
            "target": names[np.where(turned, i, j)],
            "mi_bits": mi,
        },
        index=random.permutation(i.size) + 100,
    )
    of_table = data_processing_inequality(
        edges, tolerance=tolerance, regulators=None if regulators is None else names[regulators]
    )
    assert of_table.index.equals(edges.index)
    np.testing.assert_array_equal(of_table, expected)


def test_both_directions_of_a_pair_count_as_one() -> None:
    back = TRIANGLE.rename(columns={"source": "target", "target": "source"})
    both = pd.concat([TRIANGLE, back], ignore_index=True)
    assert data_processing_inequality(both).tolist() == [True, True, False] * 2


def test_edge_of_a_regulator_is_not_removed_through_a_target() -> None:
    assert data_processing_inequality(TRIANGLE, regulators=["a", "c"]).all()
    assert not data_processing_inequality(TRIANGLE, regulators=["a", "b", "c"]).all()


def test_empty_networks_stay_empty() -> None:
    assert len(data_processing_inequality(TRIANGLE.iloc[:0], regulators=["a"])) == 0
    assert data_processing_inequality([], [], []).size == 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((TRIANGLE.drop(columns="mi_bits"),), {}, "edges: found no column mi_bits"),
        ((pd.concat([TRIANGLE, TRIANGLE]),), {}, "found b - a more than once"),
        ((TRIANGLE.assign(source=["b", None, "a"]),), {}, "edges: found a missing name"),
        ((TRIANGLE.assign(target=["b", "b", "c"]),), {}, "joins gene"),
        ((TRIANGLE.assign(mi_bits=[0.1, np.nan, 0.2]),), {}, "expected a finite number"),
        (
            (TRIANGLE.assign(source=["b", "a", "a"], target=["a", "b", "c"]),),
            {},
            "with another mi_bits than the opposite direction",
        ),
        ((TRIANGLE,), {"regulators": ["x"]}, "regulators: found none that has an edge"),
        ((TRIANGLE,), {"n_genes": 4}, "found beside a table of edges"),
        (([0, 1],), {}, "found no j and mi"),
        (([0], [1], [0.1]), {"regulators": [7]}, "found gene 7; expected numbers from 0 to 1"),
    ],
)
def test_what_is_no_network_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        data_processing_inequality(*arguments, **options)


OF_RUNS_ALONE = {"fewer_chunks", "backend_chosen", "work_planned"}
"""Messages on chunks and devices."""


@st.composite
def sections(draw: Any) -> dict[str, Any]:
    """Settings of an analysis, as its section has them; the library's are these, flat."""
    choose = lambda *values: draw(st.sampled_from(values))  # noqa: E731
    optional = lambda *values: draw(st.none() | st.sampled_from(values))  # noqa: E731
    regulators = draw(st.booleans())
    scores = ["auto", "mi", "clr", "combined", *["target_z"] * regulators]
    keep = ["auto", "all", {"top_edges": 40}, {"fdr": 0.05}, {"p_value": 1e-3}, {"score": 0.2}]
    dpi = [False, {"tolerance": 0.0}, {"tolerance": 0.1, "rule": "additive"}]
    found = {
        "score": choose(*scores),
        "keep": choose(*keep),
        "dpi": choose(*dpi),
        "estimator": {
            "bins": optional(5, 10),
            "order": optional(1, 3),
            "transform": optional("rank", "none"),
        },
        "null": {"permutations": optional(1000, 20_000)},
        "preprocess": {
            "normalize": optional("none", "quantile"),
            "min_samples": optional(20, 50),
            "sample_scale": optional(False),
        },
    }
    for key in ("estimator", "null", "preprocess"):
        found[key] = {name: value for name, value in found[key].items() if value is not None}
    return found | {"regulators": regulators}


@pytest.mark.complete
@given(
    section=sections(),
    kind=st.sampled_from(["plain", "missing", "tied", "counts", "constant"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_library_and_workflow_agree_for_any_settings(
    simulated: Any, tmp_path_factory: Any, section: dict[str, Any], kind: str, seed: int
) -> None:
    """The same numbers and the same messages."""
    folder, random = tmp_path_factory.mktemp("agree"), np.random.default_rng(seed)
    values = simulated.values.copy()
    if kind == "missing":
        values[random.random(values.shape) < 0.07] = np.nan
    elif kind == "tied":
        values = np.round(8 * values / values.max())
    elif kind == "counts":
        values = random.poisson(30 * values / values.mean()).astype(float)
    elif kind == "constant":
        values[3:5] = [[2.0], [0.0]]
    table = pd.DataFrame(values, index=simulated.genes, columns=simulated.samples)
    table.to_csv(folder / "expression.tsv", sep="\t", index_label="gene")
    (folder / "regulators.txt").write_text("\n".join(simulated.regulators))
    listed = section.pop("regulators")
    given = {"method": "mutual_information", "expression": "expression.tsv", "chunks": 2, **section}
    given |= {"regulators": "regulators.txt"} if listed else {}
    made = Analysis(folder, given, seed=seed).pairs().network().results()
    expected = pd.read_parquet(made.out / "network.parquet")
    flat = {key: section[key] for key in ("score", "keep", "dpi", "preprocess")}
    found = infer_network(
        read_expression(folder / "expression.tsv"),
        simulated.regulators if listed else None,
        seed=seed,
        backend="cpu",
        **flat,
        **section["estimator"],
        **section["null"],
    )
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_exact=True)
    summary = json.loads((made.out / "summary.json").read_text())
    told = {entry["code"] for entry in summary["messages"]}
    of_library = {note.code for note in [*found.attrs["notes"], *found.attrs["warnings"]]}
    assert of_library - OF_RUNS_ALONE == told - OF_RUNS_ALONE
