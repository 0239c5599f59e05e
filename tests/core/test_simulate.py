"""Simulated networks: true to their equations, the same each time, neither empty nor trivial."""

from __future__ import annotations

import gzip
import shlex
import shutil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairtile.io.expression import read_expression
from pairtile.io.gold_standard import read_gold_standard
from pairtile.io.regulators import read_regulators
from pairtile.simulate import Simulation, main, simulate_kinetic
from scipy.integrate import solve_ivp
from scipy.stats import spearmanr

DEMO = Path(__file__).resolve().parents[2] / "config" / "demo"
FILES = ("README.md", "expression.tsv.gz", "gold_standard.tsv", "regulators.txt")


def same(one: Simulation, other: Simulation) -> bool:
    return (
        np.array_equal(one.values, other.values)
        and one.edges.equals(other.edges)
        and one.regulators == other.regulators
    )


def derivative(
    simulation: Simulation, sample: int, levels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """dx/dt of the documented equations, term by term."""
    row = {gene: k for k, gene in enumerate(simulation.genes)}
    parameters = simulation.parameters
    rate = parameters["production"][:, sample].copy()
    for k, (source, target, sign) in enumerate(simulation.edges.itertuples(index=False)):
        u = (levels[row[source]] / parameters["half_level"][k]) ** parameters["hill"][k]
        leak = parameters["leak"][k]
        rate[row[target]] *= leak + (1 - leak) * (u if sign > 0 else 1) / (1 + u)
    return np.asarray(rate - levels, dtype=np.float64)


def test_true_values_are_where_the_differential_equations_come_to_rest() -> None:
    simulation = simulate_kinetic(30, 4, 8, seed=3)
    for sample in range(4):
        levels = simulation.parameters["true_values"][:, sample]
        np.testing.assert_allclose(derivative(simulation, sample, levels) / levels, 0, atol=1e-12)

        def course_of(_: float, x: NDArray[np.float64], at: int = sample) -> NDArray[np.float64]:
            return derivative(simulation, at, x)

        start = simulation.parameters["production"][:, sample]
        course = solve_ivp(course_of, (0, 60), start, method="LSODA", rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(course.y[:, -1], levels, rtol=1e-5)


@settings(max_examples=40, deadline=None)
@given(n_genes=st.integers(2, 80), share=st.floats(0, 1), seed=st.integers(0, 10**9))
def test_the_truth_is_consistent_for_any_size(n_genes: int, share: float, seed: int) -> None:
    n_regulators = 1 + round(share * (n_genes - 2))
    simulation = simulate_kinetic(n_genes, 3, n_regulators, seed=seed)
    edges = simulation.edges
    assert simulation.values.shape == (n_genes, 3)
    assert np.isfinite(simulation.values).all()
    assert (simulation.values > 0).all()
    assert len(set(simulation.genes)) == n_genes
    assert len(set(simulation.regulators)) == n_regulators
    assert set(edges["source"]) <= set(simulation.regulators)
    # Every gene that is no regulator is regulated, nothing regulates itself, no pair twice.
    assert set(edges["target"]) >= set(simulation.genes) - set(simulation.regulators)
    assert not edges.duplicated(["source", "target"]).any()
    graph = nx.DiGraph(zip(edges["source"], edges["target"], strict=True))
    assert nx.is_directed_acyclic_graph(graph)
    assert edges["target"].value_counts().max() <= 5


def test_the_network_has_cascades_feed_forward_loops_hubs_and_both_signs() -> None:
    edges = simulate_kinetic(200, 1, seed=1).edges
    graph = nx.DiGraph(zip(edges["source"], edges["target"], strict=True))
    assert nx.dag_longest_path_length(graph) >= 3
    loops = [(a, c) for a, b in graph.edges for c in graph[b] if graph.has_edge(a, c)]
    assert len(loops) >= 20
    degrees = sorted((d for _, d in graph.out_degree() if d), reverse=True)
    assert degrees[0] >= 4 * np.median(degrees)
    assert 0.2 < (edges["sign"] < 0).mean() < 0.5


def test_the_same_arguments_give_the_same_experiment_and_another_seed_another() -> None:
    assert same(simulate_kinetic(50, 20, seed=7), simulate_kinetic(50, 20, seed=7))
    other = simulate_kinetic(50, 20, seed=8)
    assert not same(simulate_kinetic(50, 20, seed=7), other)
    assert not simulate_kinetic(50, 20, seed=7).edges.equals(other.edges)


def test_noise_and_dropout_change_the_measurement_only() -> None:
    clean = simulate_kinetic(60, 400, seed=2, noise=0)
    noisy = simulate_kinetic(60, 400, seed=2, noise=0.3)
    lossy = simulate_kinetic(60, 400, seed=2, noise=0.3, dropout=0.25)
    np.testing.assert_array_equal(clean.values, clean.parameters["true_values"])
    for other in (noisy, lossy):
        np.testing.assert_array_equal(other.parameters["true_values"], clean.values)
        assert other.edges.equals(clean.edges)
    errors = np.log(noisy.values / clean.values)
    assert errors.std() == pytest.approx(0.3, rel=0.02)
    assert abs(errors.mean()) < 0.01
    lost = lossy.values == 0
    assert lost.mean() == pytest.approx(0.25, rel=0.05)
    np.testing.assert_array_equal(lossy.values[~lost], noisy.values[~lost])


def test_more_samples_begin_with_the_same_samples() -> None:
    few, many = simulate_kinetic(40, 10, seed=5), simulate_kinetic(40, 25, seed=5)
    np.testing.assert_array_equal(many.values[:, :10], few.values)
    assert many.samples[:10] == few.samples


def test_regulation_is_seen_with_its_sign_but_does_not_tell_everything() -> None:
    simulation = simulate_kinetic(200, 300, seed=1)
    correlation = np.asarray(spearmanr(simulation.values.T).statistic)
    row = {gene: k for k, gene in enumerate(simulation.genes)}
    source = [row[gene] for gene in simulation.edges["source"]]
    target = [row[gene] for gene in simulation.edges["target"]]
    of_edges = correlation[source, target] * simulation.edges["sign"].to_numpy()
    # Most edges show, in the right direction; some are drowned by others, as in a cell.
    assert np.median(of_edges) > 0.2
    assert (np.abs(of_edges) < 0.1).mean() > 0.05
    # A ranking of regulator -> gene by correlation is far better than random, and far from perfect.
    truth = np.zeros(correlation.shape, dtype=bool)
    truth[source, target] = True
    regulators = [row[gene] for gene in simulation.regulators]
    candidate = ~np.eye(200, dtype=bool)[regulators]
    found = truth[regulators][candidate][
        np.argsort(-np.abs(correlation[regulators][candidate]), kind="stable")
    ]
    average_precision = (np.cumsum(found) / np.arange(1, found.size + 1))[found].mean()
    assert 3 * found.mean() < average_precision < 0.9


@pytest.mark.parametrize(
    ("n_genes", "n_samples", "n_regulators"),
    [(2, 1, 1), (2, 1, None), (3, 2, 2), (40, 1, 39), (3000, 3, 1), (3000, 200, 300)],
)
def test_extreme_sizes_work(n_genes: int, n_samples: int, n_regulators: int | None) -> None:
    simulation = simulate_kinetic(n_genes, n_samples, n_regulators, seed=1)
    assert simulation.values.shape == (n_genes, n_samples)
    assert np.isfinite(simulation.values).all()


def test_the_widest_noise_and_spread_still_give_numbers() -> None:
    simulation = simulate_kinetic(100, 100, seed=1, noise=10, spread=10)
    assert np.isfinite(simulation.values).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_genes": 1}, "n_genes is 1; expected a whole number, 2 or more"),
        ({"n_genes": 20.5, "n_regulators": 2}, "n_genes is 20.5; expected a whole number"),
        ({"n_samples": 0}, "n_samples is 0; expected a whole number, 1 or more"),
        ({"n_regulators": 0}, "n_regulators is 0; expected a whole number, 1 to 199"),
        ({"n_regulators": 200}, "n_regulators is 200; expected a whole number, 1 to 199"),
        ({"seed": -1}, "seed is -1; expected a whole number, 0 or more"),
        ({"noise": -0.1}, "noise is -0.1; expected 0 to 10"),
        ({"noise": float("nan")}, "noise is nan; expected 0 to 10"),
        ({"spread": float("inf")}, "spread is inf; expected 0 to 10"),
        ({"dropout": 1.0}, "dropout is 1.0; expected 0 to below 1"),
        ({"dropout": -0.5}, "dropout is -0.5; expected 0 to below 1"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_kinetic(**arguments)


def test_the_shipped_demo_is_what_its_command_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    command = next(line for line in readme.splitlines() if "python -m pairtile.simulate" in line)
    assert "seed 1" in readme
    words = shlex.split(command)
    monkeypatch.chdir(tmp_path)
    main(words[words.index("pairtile.simulate") + 1 :])
    made = tmp_path / "config" / "demo"
    assert tuple(sorted(path.name for path in made.iterdir())) == FILES
    for name in ("README.md", "gold_standard.tsv", "regulators.txt"):
        assert (made / name).read_bytes() == (DEMO / name).read_bytes()
    again = pd.read_csv(made / "expression.tsv.gz", sep="\t", index_col=0)
    shipped = pd.read_csv(DEMO / "expression.tsv.gz", sep="\t", index_col=0)
    # Another processor's exp and pow may differ in the last bit, and so the sixth digit's rounding.
    pd.testing.assert_frame_equal(again, shipped, check_exact=False, rtol=1.1e-5, atol=0)


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    arguments = ["--genes", "20", "--samples", "12", "--dropout", "0.1", "--out"]
    folder = tmp_path / "demo"
    main([*arguments, str(folder)])
    first = {name: (folder / name).read_bytes() for name in FILES}
    shutil.rmtree(folder)
    main([*arguments, str(folder)])
    assert {name: (folder / name).read_bytes() for name in FILES} == first
    assert first["expression.tsv.gz"][4:8] == bytes(4)  # no time in the gzip header
    assert gzip.decompress(first["expression.tsv.gz"]).count(b"\n") == 21


def test_the_files_are_read_by_the_readers(tmp_path: Path) -> None:
    main(["--genes", "30", "--samples", "9", "--regulators", "4", "--out", str(tmp_path)])
    simulation = simulate_kinetic(30, 9, 4)
    expression = read_expression(tmp_path / "expression.tsv.gz")
    assert (expression.genes, expression.samples) == (simulation.genes, simulation.samples)
    np.testing.assert_allclose(expression.values, simulation.values, rtol=5.1e-6)
    assert read_regulators(tmp_path / "regulators.txt") == simulation.regulators
    gold = read_gold_standard(tmp_path / "gold_standard.tsv")
    pd.testing.assert_frame_equal(gold, simulation.edges[["source", "target"]], check_dtype=False)


def test_the_command_line_refuses_bad_arguments_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--genes", "1", "--out", str(tmp_path / "none")])
    assert stopped.value.code == 2
    assert "n_genes is 1; expected" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
