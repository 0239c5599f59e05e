"""Simulated Boolean networks: true to their functions, the same each time, and worth a search."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairtile.config.load import load_config
from pairtile.io.gold_standard import read_gold_standard
from pairtile.methods.predictor_pairs.prepare import prepare_predictors, transitions
from pairtile.simulate import BooleanSimulation, main, simulate_boolean, write_boolean

SIZES = st.fixed_dictionaries(
    {
        "n_genes": st.integers(5, 12),
        "n_steps": st.integers(2, 30),
        "n_series": st.integers(1, 4),
        "topology": st.sampled_from(["erdos_renyi", "barabasi_albert"]),
        "n_predictors": st.integers(1, 4),
        "levels": st.integers(2, 4),
        "seed": st.integers(0, 2**40),
    }
)


def same(one: BooleanSimulation, other: BooleanSimulation) -> bool:
    return (
        np.array_equal(one.levels, other.levels)
        and one.series == other.series
        and one.truth.equals(other.truth)
        and one.edges.equals(other.edges)
    )


def series_lengths(simulation: BooleanSimulation) -> list[int]:
    return list(Counter(simulation.series).values())


def steps(simulation: BooleanSimulation) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Samples before and after each step of each series."""
    numbers = pd.factorize(np.array(simulation.series, dtype=object))[0].astype(np.int32)
    found = transitions(numbers, 1)
    return found.source_samples, found.target_samples


def next_levels(simulation: BooleanSimulation, state: NDArray[np.int8]) -> list[int]:
    """By the table of truth, as text, one gene at a time."""
    q = simulation.parameters["settings"]["levels"]
    row = {gene: k for k, gene in enumerate(simulation.genes)}
    result = []
    for record in simulation.truth.to_dict("records"):
        names = [record[key] for key in record if str(key).startswith("predictor_")]
        combinations = list(itertools.product(range(q), repeat=len(names)))
        place = combinations.index(tuple(int(state[row[str(name)]]) for name in names))
        result.append(int(record["outputs"][place]))
    return result


@given(size=SIZES)
@settings(deadline=None, max_examples=40)
def test_every_step_follows_the_table_of_truth(size: dict[str, Any]) -> None:
    simulation = simulate_boolean(**size)
    levels = simulation.levels
    assert levels.dtype == np.int8
    assert levels.shape == (size["n_genes"], size["n_steps"] * size["n_series"])
    assert levels.shape == (len(simulation.genes), len(simulation.samples))
    assert simulation.truth["target"].tolist() == simulation.genes
    assert min(series_lengths(simulation)) >= 2
    assert max(series_lengths(simulation)) <= size["n_steps"] + 1
    for before, after in zip(*steps(simulation), strict=True):
        assert levels[:, after].tolist() == next_levels(simulation, levels[:, before])


@given(size=SIZES)
@settings(deadline=None, max_examples=40)
def test_functions_depend_on_every_predictor(size: dict[str, Any]) -> None:
    q, n_predictors = size["levels"], size["n_predictors"]
    simulation = simulate_boolean(**size)
    for gene, outputs in zip(simulation.genes, simulation.truth["outputs"], strict=True):
        table = np.array([int(digit) for digit in outputs]).reshape((q,) * n_predictors)
        for axis in range(n_predictors):
            assert (table != np.take(table, [0], axis=axis)).any()
        mine = simulation.edges.loc[simulation.edges["target"] == gene, "source"].tolist()
        assert len(set(mine)) == n_predictors
        assert gene not in mine


def test_edges_are_those_of_the_truth() -> None:
    simulation = simulate_boolean(20, 10, seed=4)
    truth = simulation.truth
    pairs = {
        (row[f"predictor_{k}"], row["target"]) for row in truth.to_dict("records") for k in (1, 2)
    }
    assert set(simulation.edges.itertuples(index=False, name=None)) == pairs
    assert len(simulation.edges) == 40
    assert (truth["predictor_1"] < truth["predictor_2"]).all()


def test_series_end_where_a_state_comes_again() -> None:
    simulation = simulate_boolean(6, 40, 3, seed=2)
    lengths = series_lengths(simulation)
    assert len(lengths) > 3  # six genes cannot go on for long
    states = simulation.levels.T
    begin = 0
    for length in lengths[:-1]:
        series = [state.tobytes() for state in states[begin : begin + length]]
        assert len(set(series[:-1])) == length - 1
        assert length == 40 or series[-1] in series[:-1]
        begin += length


def test_perturbed_series_run_on() -> None:
    simulation = simulate_boolean(6, 40, 3, seed=2, perturbation=0.1)
    assert series_lengths(simulation) == [40, 40, 40]
    before, after = steps(simulation)
    expected = [next_levels(simulation, state) for state in simulation.levels.T[before]]
    # A random level is the right one half of the time.
    assert 0.02 < (np.array(expected) != simulation.levels.T[after]).mean() < 0.08


@pytest.mark.parametrize(("levels", "noise"), [(2, 0.03), (3, 0.2), (4, 1.0)])
def test_noise_flips_that_share_of_what_is_measured(levels: int, noise: float) -> None:
    clean = simulate_boolean(60, 50, seed=5, levels=levels)
    noisy = simulate_boolean(60, 50, seed=5, levels=levels, noise=noise)
    np.testing.assert_array_equal(noisy.parameters["true_levels"], clean.levels)
    flipped = noisy.levels != clean.levels
    assert flipped.mean() == pytest.approx(noise, abs=0.02)
    assert noisy.levels.min() >= 0
    assert noisy.levels.max() < levels
    away = (noisy.levels - clean.levels)[flipped] % levels
    assert Counter(away.tolist()).keys() == set(range(1, levels))


def test_seeds_reproduce_and_differ() -> None:
    assert same(simulate_boolean(30, 20, seed=7), simulate_boolean(30, 20, seed=7))
    other = simulate_boolean(30, 20, seed=8)
    assert not same(simulate_boolean(30, 20, seed=7), other)
    assert not simulate_boolean(30, 20, seed=7).truth.equals(other.truth)


def test_more_series_begin_as_fewer_do() -> None:
    few, many = simulate_boolean(40, 20, 1, seed=1), simulate_boolean(40, 20, 5, seed=1)
    assert few.truth.equals(many.truth)
    first = series_lengths(few)[0]
    np.testing.assert_array_equal(many.levels[:, :first], few.levels[:, :first])


@pytest.mark.parametrize(("share", "n_xor"), [(0.0, 0), (1 / 3, 20), (1.0, 60)])
def test_xor_share_is_exact(share: float, n_xor: int) -> None:
    truth = simulate_boolean(60, 5, seed=1, xor_share=share).truth
    assert truth["function"].isin(["A XOR B", "A XNOR B"]).sum() == n_xor


def test_all_ten_functions_of_two_predictors_occur() -> None:
    truth = simulate_boolean(300, 2, seed=1).truth
    counts = truth["function"].value_counts()
    assert len(counts) == 10
    assert counts.min() > 10
    named = truth.drop_duplicates("function").set_index("function")["outputs"]
    for name, outputs in named.items():
        text = str(name).replace("A", "a").replace("B", "b")
        for old, new in (("NOT a", "(1 - a)"), ("NOT b", "(1 - b)")):
            text = text.replace(old, new)
        inverted = any(word in text for word in ("NaND", "NOR", "XNOR"))
        for word, sign in (("XNOR", "^"), ("XOR", "^"), ("NaND", "&"), ("NOR", "|")):
            text = text.replace(word, sign)
        text = text.replace("aND", "&").replace("OR", "|")
        values = [eval(text, {"a": a, "b": b}) for a in (0, 1) for b in (0, 1)]
        assert outputs == "".join(str(1 - v if inverted else v) for v in values), name


def test_barabasi_albert_has_hubs_and_erdos_renyi_has_none() -> None:
    most = {
        topology: simulate_boolean(300, 2, topology=topology, seed=1).edges["source"].value_counts()
        for topology in ("erdos_renyi", "barabasi_albert")
    }
    assert most["erdos_renyi"].max() <= 8
    assert most["barabasi_albert"].max() >= 15


def test_hubs_stand_in_any_row() -> None:
    hubs = [
        simulate_boolean(100, 2, topology="barabasi_albert", seed=seed)
        .edges["source"]
        .value_counts()
        .idxmax()
        for seed in range(12)
    ]
    rows = [int(str(name)[1:]) for name in hubs]
    assert min(rows) < 40
    assert max(rows) > 60


def conditional_entropy(table: NDArray[np.int8], target: NDArray[np.int8]) -> float:
    """H(target | rows of table), bits, slowly."""
    total = 0.0
    groups: dict[bytes, list[int]] = {}
    for state, y in zip(np.ascontiguousarray(table.T), target.tolist(), strict=True):
        groups.setdefault(state.tobytes(), []).append(y)
    for group in groups.values():
        share = np.bincount(group) / len(group)
        share = share[share > 0]
        total -= len(group) * float((share * np.log2(share)).sum())
    return total / len(target)


@pytest.mark.parametrize("levels", [2, 3])
def test_true_predictors_explain_their_target_and_hardly_anyone_else_does(levels: int) -> None:
    simulation = simulate_boolean(12, 60, 3, seed=9, levels=levels, xor_share=0.25)
    before, after = steps(simulation)
    x, y = simulation.levels[:, before], simulation.levels[:, after]
    row = {gene: k for k, gene in enumerate(simulation.genes)}
    n_perfect = 0
    for record in simulation.truth.to_dict("records"):
        target = row[record["target"]]
        true = tuple(sorted((row[record["predictor_1"]], row[record["predictor_2"]])))
        perfect = [
            pair
            for pair in itertools.combinations([k for k in row.values() if k != target], 2)
            if conditional_entropy(x[list(pair)], y[target]) < 1e-12
        ]
        assert true in perfect
        n_perfect += len(perfect)
    assert n_perfect <= 15  # 12 are true


def test_files_are_input_for_an_analysis(tmp_path: Path) -> None:
    simulation = simulate_boolean(12, 30, 3, seed=3, noise=0.05)
    write_boolean(simulation, tmp_path, "a command")
    section = {
        "method": "predictor_pairs",
        "levels": str(tmp_path / "levels.tsv.gz"),
        "series": str(tmp_path / "series.tsv"),
        "gold_standard": str(tmp_path / "gold_standard.tsv"),
    }
    prepared = prepare_predictors(load_config({"analyses": {"a": section}}).analyses["a"])
    np.testing.assert_array_equal(prepared.levels, simulation.levels)
    before, after = steps(simulation)
    assert prepared.transitions.source_samples.tolist() == before.tolist()
    assert prepared.transitions.target_samples.tolist() == after.tolist()
    edges = read_gold_standard(tmp_path / "gold_standard.tsv")
    assert sorted(edges.itertuples(index=False)) == sorted(simulation.edges.itertuples(index=False))
    truth = pd.read_csv(tmp_path / "truth.tsv", sep="\t", dtype=str)
    pd.testing.assert_frame_equal(truth, simulation.truth.astype(truth.dtypes.to_dict()))
    assert "seed 3" in (tmp_path / "README.md").read_text()
    assert "a command" in (tmp_path / "README.md").read_text()


def test_command_line_writes_the_same_files_each_time(tmp_path: Path) -> None:
    words = "boolean --genes 10 --steps 20 --series 2 --xor 0.3 --topology barabasi_albert"
    for folder in ("one", "two"):
        main([*words.split(), "--out", str(tmp_path / folder)])
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(
        ["README.md", "gold_standard.tsv", "levels.tsv.gz", "series.tsv", "truth.tsv"]
    )
    for name in set(names) - {"README.md"}:  # it names the folder
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with pytest.raises(SystemExit):
        main(["boolean", "--genes", "2", "--out", str(tmp_path / "three")])
    assert not (tmp_path / "three").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_genes": 2}, "n_genes is 2; expected a whole number, 3 or more"),
        ({"n_steps": 1}, "n_steps is 1; expected a whole number, 2 or more"),
        ({"n_series": 0}, "n_series is 0; expected a whole number, 1 or more"),
        ({"n_predictors": 5}, "n_predictors is 5; expected a whole number, 1 to 4"),
        ({"levels": 5}, "levels is 5; expected a whole number, 2 to 4"),
        ({"levels": True}, "levels is True; expected a whole number"),
        ({"topology": "ring"}, "topology is 'ring'; expected erdos_renyi or barabasi_albert"),
        ({"noise": 1.5}, "noise is 1.5; expected 0 to 1"),
        ({"noise": np.nan}, "noise is nan; expected 0 to 1"),
        ({"perturbation": -0.1}, "perturbation is -0.1; expected 0 to 1"),
        ({"xor_share": 2}, "xor_share is 2; expected 0 to 1"),
        ({"xor_share": 0.5, "n_predictors": 1}, "xor_share is for 2 predictors or more"),
        ({"seed": -1}, "seed is -1; expected a whole number, 0 or more"),
    ],
)
def test_arguments_outside_their_range_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_boolean(**arguments)
