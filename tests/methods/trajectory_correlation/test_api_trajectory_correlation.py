"""``pairtile.trajectory_correlation``: all forms of input, the workflow's numbers, clear errors."""

from __future__ import annotations

import inspect
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from naive_motion import naive_cyclic_mi, naive_dcc, naive_gaussian, naive_ksg
from pairtile import MotionCorrelation, trajectory_correlation
from pairtile.errors import ConfigError, InputError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from small_trajectories import config, mda, molecule, store, write
from workflow_runs import Analysis

pytestmark = pytest.mark.filterwarnings("ignore")  # few effective frames are meant


def motions(n_frames: int = 120, n: int = 4, d: int = 3, seed: int = 1) -> np.ndarray:
    """(frames, variables, d), the second following the first."""
    xyz = np.random.default_rng(seed).normal(size=(n_frames, n, d))
    xyz[:, 1] += 1.5 * xyz[:, 0]
    return xyz


def steps(folder: Path, **keys: Any) -> pd.DataFrame:
    """The pairs of the workflow for the same settings."""
    asked = {"method": "trajectory_correlation", "export": ["tsv"], **keys}
    return pd.read_parquet(Analysis(folder, asked, seed=1).pairs().out / "pairs.parquet")


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "naive"),
    [
        ({"theiler": 0}, lambda x, y: naive_ksg(x, y)),
        ({"theiler": 3, "neighbours": 4}, lambda x, y: naive_ksg(x, y, 4, theiler=3)),
        (
            {"preset": "dynetan"},
            lambda x, y: naive_ksg(
                *(v / v.std(axis=1, keepdims=True) for v in (x, y)), 7, 2, "max"
            ),
        ),
        ({"kind": "gaussian", "corrected": False}, naive_gaussian),
    ],
    ids=["ksg", "theiler", "dynetan", "gaussian"],
)
@pytest.mark.complete
def test_values_of_arrays_are_those_of_the_definitions(settings: Any, naive: Any) -> None:
    xyz = motions(80)
    found = trajectory_correlation(xyz, surrogates=0, **settings)
    series = np.moveaxis(xyz, 0, 2)
    for i, j in ((0, 1), (1, 3), (2, 3)):
        expected = naive(series[i], series[j])
        assert found.mi_nats[i, j] == pytest.approx(expected, abs=1e-10)
        assert found.mi_nats[j, i] == found.mi_nats[i, j]
        r = np.sqrt(1 - np.exp(-2 * max(expected, 0) / 3))
        assert found.correlation[i, j] == pytest.approx(r, abs=1e-9)
        assert found.dcc[i, j] == pytest.approx(naive_dcc(series[i], series[j]), abs=1e-12)
    assert np.isnan(np.diag(found.mi_nats)).all()


def test_angles_are_taken_on_the_circle() -> None:
    angles = np.random.default_rng(2).normal(scale=0.7, size=(150, 3))
    angles[:, 1] += angles[:, 0]
    found = trajectory_correlation(angles, kind="dihedral", surrogates=0)
    turned = trajectory_correlation(angles + 3.0, kind="dihedral", surrogates=0)
    assert found.mi_nats[0, 1] == pytest.approx(naive_cyclic_mi(*angles.T[:2], 12, 3), abs=1e-10)
    assert not np.isfinite(found.dcc).any()
    # Turned by a whole number of bins nothing changes.
    whole = trajectory_correlation(angles + 2 * np.pi / 12 * 5, kind="dihedral", surrogates=0)
    np.testing.assert_allclose(whole.mi_nats, found.mi_nats, atol=1e-10)
    np.testing.assert_allclose(turned.mi_nats, found.mi_nats, atol=0.05)


# --- forms of input -----------------------------------------------------------------------------


def test_a_table_brings_its_names_and_arrays_are_numbered() -> None:
    table = pd.DataFrame(motions(100, d=1)[:, :, 0], columns=["lid", "core", "gate", "loop"])
    named = trajectory_correlation(table, surrogates=20)
    assert list(named.correlation.columns) == list(table.columns)
    assert set(named.network.iloc[0][["source", "target"]]) == {"lid", "core"}
    assert list(named.communities().index) == list(table.columns)
    numbered = trajectory_correlation(table.to_numpy(), surrogates=20)
    assert isinstance(numbered.correlation, np.ndarray)
    np.testing.assert_array_equal(numbered.correlation, named.correlation.to_numpy())
    assert set(numbered.network.iloc[0][["source", "target"]]) == {0, 1}


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"contacts": {"cutoff": 4.5, "fraction": 0.5}},
        {"estimator": {"kind": "dihedral"}, "dihedrals": ["psi", "omega"]},
        {"frames": {"start": 3, "step": 2}, "select": "name N", "reference": "average"},
    ],
    ids=["default", "contacts", "dihedrals", "frames"],
)
def test_paths_universes_and_the_workflow_give_the_same(tmp_path: Path, keys: Any) -> None:
    files, _ = write(tmp_path, n_frames=40)
    rest = {key: value for key, value in keys.items() if key != "estimator"}
    estimator = {"surrogates": 5, **keys.get("estimator", {})}
    expected = steps(tmp_path, **files, estimator=estimator, **rest)
    by_path = trajectory_correlation(files["topology"], files["trajectories"], **estimator, **rest)
    universe = mda.Universe(files["topology"], *files["trajectories"])
    universe.trajectory[7]
    by_universe = trajectory_correlation(universe, **estimator, **rest)
    assert universe.trajectory.frame == 7
    for found in (by_path, by_universe):
        pd.testing.assert_frame_equal(found.pairs, expected)
        assert found.items["name"].tolist() == found.labels.tolist()
    network = Analysis(
        tmp_path, {"method": "trajectory_correlation", "export": ["tsv"], **files, **keys,
                   "estimator": estimator}, seed=1, name="again",
    ).pairs().network()  # fmt: skip
    pd.testing.assert_frame_equal(
        by_path.network, pd.read_parquet(network.out / "network.parquet"), check_dtype=False
    )


def test_an_atom_group_is_what_is_selected(tmp_path: Path) -> None:
    files, _ = write(tmp_path, n_frames=30)
    universe = mda.Universe(files["topology"], *files["trajectories"])
    group = universe.select_atoms("name CB and chainID A")
    found = trajectory_correlation(group, surrogates=0)
    same = trajectory_correlation(universe, select="name CB and chainID A", surrogates=0)
    pd.testing.assert_frame_equal(found.pairs, same.pairs)
    assert len(found.items) == group.n_atoms


def test_a_universe_in_memory_will_do() -> None:
    universe = molecule("A")
    still = universe.atoms.positions.astype(float)
    noise = np.random.default_rng(3).normal(scale=0.3, size=(25, *still.shape))
    universe.load_new((still + noise).astype(np.float32))
    found = trajectory_correlation(universe, kind="gaussian", surrogates=0)
    assert found.items["name"].tolist()[0] == "A:MET1"
    assert found.correlation.shape == (6, 6)


def test_several_universes_are_replicas(tmp_path: Path) -> None:
    files, _ = write(tmp_path, n_frames=30)
    other, _ = write(tmp_path, n_frames=20, name="second.dcd")
    both = trajectory_correlation(
        files["topology"], [*files["trajectories"], *other["trajectories"]], surrogates=0
    )
    universes = [mda.Universe(files["topology"], run["trajectories"][0]) for run in (files, other)]
    found = trajectory_correlation(universes, surrogates=0)
    pd.testing.assert_frame_equal(found.pairs, both.pairs)
    assert found.counts["replicas"] == 2


# --- what comes of it ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chain() -> MotionCorrelation:
    """Variables of which each follows the one before; the last by itself."""
    random = np.random.default_rng(5)
    xyz = random.normal(size=(300, 6, 3))
    for k in range(1, 5):
        xyz[:, k] = 0.8 * xyz[:, k - 1] + 0.6 * xyz[:, k]
    return trajectory_correlation(
        xyz, names=list("abcdef"), kind="gaussian", keep={"correlation": 0.5}
    )


def test_network_paths_and_communities_follow_from_the_matrix(chain: MotionCorrelation) -> None:
    strong = chain.correlation_centred.to_numpy() >= 0.5
    assert len(chain.network) == np.triu(strong, 1).sum()
    assert (np.diff(chain.network["correlation_centred"]) <= 0).all()
    path = chain.paths("a", "e").iloc[0]
    steps_of_path = path["path"].split(" ")
    values = [chain.correlation_centred.loc[u, v] for u, v in pairwise(steps_of_path)]
    assert path["length"] == pytest.approx(-np.log(values).sum())
    assert chain.communities()["f"] == 0
    assert (chain.communities()[list("abcde")] > 0).all()
    assert chain.betweenness()["f"] == 0
    assert chain.paths("a", "f")["rank"].isna().all()


def test_q_values_and_any_column_come_as_a_matrix(chain: MotionCorrelation) -> None:
    q = chain.matrix("q_value").to_numpy()
    upper = np.triu_indices(6, 1)
    assert (q[upper] >= chain.p_value.to_numpy()[upper] - 1e-15).all()
    assert chain.matrix("null_mean").shape == (6, 6)
    with pytest.raises(ValueError, match="column: found 'strength'; expected one of mi_nats, "):
        chain.matrix("strength")


def test_difference_of_two_is_matched_by_name(chain: MotionCorrelation) -> None:
    xyz = np.random.default_rng(6).normal(size=(200, 4, 3))
    other = trajectory_correlation(xyz, names=list("fcba"), kind="gaussian", surrogates=0)
    table = chain.difference(other).set_index(["source", "target"])
    assert len(table) == 6
    row = table.loc[("a", "b")]
    assert row["correlation"] == chain.correlation.loc["a", "b"]
    assert row["correlation_other"] == other.correlation.loc["a", "b"]
    assert row["correlation_difference"] == row["correlation"] - row["correlation_other"]


# --- settings and errors ------------------------------------------------------------------------


def test_defaults_are_those_of_the_configuration() -> None:
    resolved = config(topology="t", trajectories=["r"]).resolved()
    fields = TrajectoryCorrelationConfig.model_fields
    estimator = {**resolved["estimator"], "bins": "auto"}
    for name, parameter in inspect.signature(trajectory_correlation).parameters.items():
        if name in estimator:
            assert parameter.default == estimator[name], name
        elif name in fields and parameter.default is not None:
            default = fields[name].default
            assert parameter.default == getattr(default, "rule", default), name


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"neighbours": 0}, "neighbours: found 0; expected"),
        ({"names": ["a", "b"]}, r"names: found 2 \(2 different\) for 4 variables"),
        ({"names": ["a", "b", "c", "a"]}, r"names: found 4 \(3 different\)"),
        ({"select": "name CA"}, "select: cannot be used"),
        ({"trajectories": "run.dcd"}, "trajectories: cannot be used"),
        ({"kind": "dihedral"}, "trajectory: found 3 dimensions; expected scalars"),
        ({"keep": {"p_value": 0.1}, "surrogates": 0}, "keep"),
        ({"trajectory": motions(d=4)}, r"shape \(120, 4, 4\); expected \(frames, variables\)"),
        ({"trajectory": [motions(), motions(n=3)]}, "trajectory 1: found shape"),
        ({"trajectory": []}, "empty list"),
        ({"trajectory": np.array([["a"]])}, "no table of numbers"),
    ],
)
def test_wrong_arguments_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trajectory_correlation(**({"trajectory": motions()} | keys))


def test_faults_of_the_data_are_named(tmp_path: Path) -> None:
    holed = motions()
    holed[5, 2, 1] = np.nan
    with pytest.raises(InputError, match="frame 5, variable 2, coordinate 1: found nan"):
        trajectory_correlation(holed)
    with pytest.raises(InputError, match="trajectory 0: found 5 frames"):
        trajectory_correlation(motions(5))
    files, _ = write(tmp_path)
    universe = mda.Universe(files["topology"], *files["trajectories"])
    with pytest.raises(ConfigError, match="select: found 'nonsense"):
        trajectory_correlation(universe, select="nonsense (")
    other = molecule("A")
    path = tmp_path / "other"
    path.mkdir()
    store(path, other, other.atoms.positions[None].repeat(20, axis=0), "run.dcd")
    smaller = mda.Universe(str(path / "top.pdb"), str(path / "run.dcd"))
    with pytest.raises(InputError, match="trajectory 1: found 37 atoms; expected 73"):
        trajectory_correlation([universe, smaller])
    with pytest.raises(ConfigError, match="paths: found 'z'"):
        trajectory_correlation(motions(), kind="gaussian", surrogates=0).paths("z", 1)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["ksg", "gaussian", "dcc"])
def test_both_backends_give_the_same(kind: str) -> None:
    both = [
        trajectory_correlation(motions(200), kind=kind, backend=backend).pairs
        for backend in ("cpu", "cuda")
    ]
    pd.testing.assert_frame_equal(*both, atol=1e-9)


# --- replicas and surrogates ----------------------------------------------------------------------


def test_replicas_give_standard_errors() -> None:
    runs = [motions(seed=seed) for seed in range(3)]
    found = trajectory_correlation(runs, kind="gaussian", surrogates=4)
    expected = found.pairs["correlation_sd"] / np.sqrt(3)
    np.testing.assert_allclose(found.pairs["correlation_se"], expected)
    assert (found.network["correlation_se"] > 0.0).all()
    assert "correlation_se" not in trajectory_correlation(runs[0], surrogates=4).pairs


def test_a_network_that_few_surrogates_leave_empty_says_how_many_do() -> None:
    """Ten pairs of correlation 0.5 among all of 60 motions."""
    xyz = np.random.default_rng(3).normal(size=(150, 60, 3))
    xyz[:, 1:20:2] = 0.5 * xyz[:, 0:20:2] + np.sqrt(0.75) * xyz[:, 1:20:2]
    few = trajectory_correlation(xyz, kind="gaussian", surrogates=3)
    (said,) = [text for text in few.messages if text.code == "empty_by_few_surrogates"]
    assert few.network.empty
    enough = trajectory_correlation(xyz, kind="gaussian", surrogates=int(said.numbers["wanted"]))
    assert len(enough.network) >= 9
    assert "empty_by_few_surrogates" not in {text.code for text in enough.messages}
