"""``pairs: in_contact``: the pairs of a plain count of contacts, with the values of all pairs."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile import trajectory_correlation
from pairtile.command.check import check
from pairtile.errors import InputError
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation import pair_blocks, residues
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.estimators import MotionPairs
from pairtile.methods.trajectory_correlation.kinds import KINDS
from pairtile.runtime.files import read_json
from small_trajectories import mda
from trajectory_analyses import slow, slow_series
from workflow_runs import Analysis

pytestmark = pytest.mark.filterwarnings("ignore")  # few effective frames are meant

CUTOFF, FRACTION, BOX = 6.0, 0.6, 18.0


def write_atoms(folder: Path, *runs: np.ndarray, box: float | None = None) -> dict[str, Any]:
    """C-alphas of residues of their own, each run (frames, atoms, 3) a trajectory."""
    n = runs[0].shape[1]
    universe = mda.Universe.empty(n, n, atom_resindex=np.arange(n), trajectory=True)
    for name, values in {"name": ["CA"] * n, "resname": ["ALA"] * n}.items():
        universe.add_TopologyAttr(name, values)
    universe.add_TopologyAttr("resid", np.arange(1, n + 1))
    universe.atoms.positions = runs[0][0]
    universe.atoms.write(str(folder / "atoms.gro"))
    names = [f"run{k}.dcd" for k in range(len(runs))]
    for name, frames in zip(names, runs, strict=True):
        with mda.Writer(str(folder / name), n_atoms=n) as writer:
            for frame in frames:
                universe.atoms.positions = frame
                universe.dimensions = None if box is None else [box, box, box, 90, 90, 90]
                writer.write(universe.atoms)
    return {
        "topology": str(folder / "atoms.gro"),
        "trajectories": [str(folder / name) for name in names],
    }


def runs_of(seed: int, n: int = 14) -> list[np.ndarray]:
    """Two runs of atoms that stay near random places in the box: some always in contact, some
    never, some now and then; two of them only across its border. All move together in part."""
    places = np.random.default_rng(seed).uniform(0.0, BOX, (n, 3))
    places[0], places[1], places[2] = [0.5, 9, 9], [BOX - 1.5, 9, 9], [9.0, 9, 9]
    places[3] = places[2] + [2.0, 0.0, 0.0]
    moves = (slow(frames, n + 1, 3, seed=seed + frames) for frames in (70, 50))
    return [places + 0.8 * (own[:, :n] + own[:, n:]) for own in moves]


def touching(runs: list[np.ndarray], box: float | None) -> list[tuple[int, int]]:
    """The slow way: frame by frame, the nearest image of each pair."""
    found = []
    for i, j in combinations(range(runs[0].shape[1]), 2):
        apart = np.concatenate([run[:, i] - run[:, j] for run in runs]).astype(np.float32)
        if box is not None:
            apart -= box * np.round(apart / box)
        if (np.linalg.norm(apart, axis=1) <= CUTOFF).mean() >= FRACTION:
            found.append((i, j))
    return found


def section(files: dict[str, Any], **changes: Any) -> dict[str, Any]:
    contacts = {"cutoff": CUTOFF, "fraction": FRACTION}
    base = {"method": "trajectory_correlation", **files, "fit": False, "contacts": contacts}
    estimator = {"kind": "gaussian", "surrogates": 5}
    return base | {"estimator": estimator, "pairs": "in_contact", "export": ["tsv"]} | changes


@pytest.mark.parametrize("kind", ["ksg", "gaussian", "dcc", "bspline"])
@pytest.mark.parametrize("box", [BOX, None], ids=["box", "open"])
def test_pairs_values_and_network_are_those_of_all_pairs(
    tmp_path: Path, kind: str, box: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, kind, replace(KINDS[kind], contact_rows=4))  # several tiles
    runs = runs_of(seed=len(kind))
    changes = section(write_atoms(tmp_path, *runs, box=box))
    changes["estimator"] = {"kind": kind, "surrogates": 5}
    few = Analysis(tmp_path, changes, "few").pairs().network()
    every = Analysis(tmp_path, changes | {"pairs": "all"}, "every").pairs().network()
    found = pd.read_parquet(few.out / "pairs.parquet")
    expected = touching(runs, box)
    assert list(zip(found["i"], found["j"], strict=True)) == expected
    assert ((0, 1) in expected) == (box is not None)
    assert (2, 3) in expected
    assert 2 < len(few.plan.tiles) < len(expected) < 14 * 13 / 2
    of_all = pd.read_parquet(every.out / "pairs.parquet").set_index(["i", "j"])
    pd.testing.assert_frame_equal(
        found.set_index(["i", "j"]), of_all.loc[expected], rtol=1e-9, atol=1e-12
    )
    networks = [pd.read_parquet(one.out / "network.parquet") for one in (few, every)]
    pd.testing.assert_frame_equal(*networks, rtol=1e-9, atol=1e-12)


def test_angles_of_residues_in_contact_are_scored(adenylate_kinase: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"select": "resid 1-30", "kind": "dihedral", "surrogates": 0}
    found = [
        trajectory_correlation(**_named(adenylate_kinase), **settings, pairs=pairs)
        for pairs in ("in_contact", "all")
    ]
    few, every = (one.pairs.set_index(["i", "j"]) for one in found)
    touch = every[found[1].contacts]
    assert 0 < len(few) < len(every)
    pd.testing.assert_frame_equal(few, touch, rtol=1e-9, atol=1e-12)
    pd.testing.assert_frame_equal(found[0].network, found[1].network)
    assert np.isnan(found[0].matrix("mi_nats").to_numpy()).sum() > 30 * 30


def _named(files: dict[str, Any]) -> dict[str, Any]:
    return {"trajectory": files["topology"], "trajectories": files["trajectories"]}


def test_results_are_the_same_bytes_for_any_number_of_chunks_and_those_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "gaussian", replace(KINDS["gaussian"], contact_rows=3))
    files = write_atoms(tmp_path, *runs_of(seed=9), box=BOX)
    names = ("pairs.parquet", "network.parquet", "residues.tsv", "scores.npz")
    made = {}
    for chunks in (1, 3):
        done = Analysis(tmp_path, section(files, chunks=chunks), f"n{chunks}", seed=1).pairs()
        done.network().tables()
        assert len(done.plan.chunks) == chunks
        made[chunks] = [(done.out / name).read_bytes() for name in names]
    assert made[1] == made[3]
    keys = section(files)
    found = trajectory_correlation(
        **_named(files),
        fit=False,
        contacts=keys["contacts"],
        pairs="in_contact",
        **keys["estimator"],
    )
    pairs = pd.read_parquet(tmp_path / "results/n1/pairs.parquet")
    pd.testing.assert_frame_equal(found.pairs, pairs, check_dtype=False, rtol=1e-6)
    assert found.counts["contacts"] == found.counts["pairs"] == len(pairs)


@pytest.mark.parametrize("kind", ["ksg", "gaussian", "dcc"])
@pytest.mark.parametrize("shift", [0, 17])
def test_cells_that_are_wanted_are_those_of_the_whole_block(
    kind: str, shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = slow_series(30, 3, 80, time=3.0)
    opened = MotionPairs(series, MotionEstimatorConfig(kind=kind, theiler=2), choose("cpu"))
    rows, columns = np.array([0, 3, 4, 11]), np.array([1, 3, 11, 20, 29])
    whole = opened.block(slice(0, 30), slice(0, 30), shift)[np.ix_(rows, columns)]
    wanted = np.random.default_rng(2).random(whole.shape) < 0.4
    for sparse in (0, 1000):  # pair by pair; as a matrix product
        monkeypatch.setattr(pair_blocks, "SPARSE", sparse)
        found = opened.block(rows, columns, shift, wanted)
        np.testing.assert_allclose(found[wanted], whole[wanted], atol=1e-12)


def test_there_are_no_matrices_and_the_page_does_without(tmp_path: Path) -> None:
    runs = runs_of(seed=4)
    files = write_atoms(tmp_path, *runs, box=BOX)
    paths = {"paths": [["ALA1", "ALA2"]], "communities": ["leiden", "girvan_newman"]}
    few = Analysis(tmp_path, section(files, **paths), "few").all()
    every = Analysis(tmp_path, section(files, **paths, pairs="all"), "every").all()
    assert not (few.out / "matrices.npz").exists()
    assert (every.out / "matrices.npz").exists()
    assert "no_matrices" in {said["code"] for said in read_json(few.record("tables"))["messages"]}
    for name in ("network.tsv", "communities.tsv", "paths.tsv"):
        both = [pd.read_csv(one.out / name, sep="\t") for one in (few, every)]
        assert len(both[0]) > 0, name
        pd.testing.assert_frame_equal(*both, rtol=1e-9, atol=1e-12)
    residues = pd.read_csv(few.out / "residues.tsv", sep="\t")
    pairs = pd.read_parquet(few.out / "pairs.parquet")
    ends = pd.concat([pairs.set_index(end)["correlation_centred"] for end in ("i", "j")])
    means = ends.groupby(level=0).mean().reindex(residues["item"])
    np.testing.assert_allclose(residues["mean_correlation"], means)
    few.report()
    drawn = {path.stem for path in (few.out / "figures").glob("*.svg")}
    assert {"residues", "p_values", "frames"} <= drawn
    assert not drawn & {"correlation", "dcc", "surrogates", "distance"}


def test_no_pair_in_contact_is_refused(tmp_path: Path) -> None:
    files = write_atoms(tmp_path, slow(30, 4, 3) + 50.0 * np.arange(4)[:, None])
    with pytest.raises(InputError, match="no pair in contact in 60% of the frames"):
        Analysis(tmp_path, section(files)).prepare()


def test_check_counts_contacts_in_a_few_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = section(write_atoms(tmp_path, slow(60, 4, 3), slow(60, 4, 3, seed=9)), contacts={})
    (tmp_path / "config.yaml").write_text(json.dumps({"analyses": {"a": config}}))
    counted = []
    count = residues.touching_residues
    monkeypatch.setattr(
        residues, "touching_residues", lambda *given: counted.append(1) or count(*given)
    )
    monkeypatch.chdir(tmp_path)
    lines = [line.strip() for line in check(tmp_path / "config.yaml")]
    assert 2 * 15 <= len(counted) <= 2 * residues.CHECK_FRAMES
    assert any(line.startswith("contacts: ") for line in lines)


def test_memory_does_not_grow_with_all_pairs(tmp_path: Path) -> None:
    """Less than a matrix of bytes takes."""
    n = 8_000
    places = 5.1 * np.stack(np.unravel_index(np.arange(n), (20, 20, 20)), axis=1)
    files = write_atoms(tmp_path, places + 0.4 * slow(12, n, 3))
    changes = section(files, contacts={}, estimator={"kind": "gaussian", "surrogates": 2})
    analysis = Analysis(tmp_path, changes)
    tracemalloc.start()
    try:
        analysis.pairs().network().tables()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(pd.read_parquet(analysis.out / "pairs.parquet")) > 5 * n
    assert peak < n * n
