"""``trajectory_correlation`` through Snakemake: what runs, what runs again, how a fault is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pairtile.runtime.files import read_json
from small_trajectories import adenylate_kinase_files, molecule, store, write
from trajectory_analyses import adenylate_kinase
from workflow_runs import STOP_AT_ONCE, Analysis, run, temporary_files, write_config

pytestmark = pytest.mark.complete


@pytest.mark.workflow
def test_the_whole_workflow_of_two_states_through_snakemake(tmp_path: Path) -> None:
    estimator = {"kind": "ksg", "surrogates": 4}
    common = {"contacts": {}, "estimator": estimator, "paths": [["4AKE:MET1", "4AKE:GLY10"]]}
    files = adenylate_kinase_files()
    twice = {"trajectories": [files["trajectories"][0], [_second_replica(tmp_path)]]}
    opened = adenylate_kinase(**common, **twice, frames={"stop": 50}, compare="closed")
    closed = adenylate_kinase(**common, **twice, frames={"start": 48})
    write_config(tmp_path, {"open": opened, "closed": closed})
    done = run(tmp_path)
    assert done.code == 0, done.text
    assert {"network", "network_2"} <= done.rules
    both = ["matrices.npz", "residues.tsv", "communities.tsv", "paths.tsv", "structure.pdb"]
    both += ["structure.pml", "structure.vmd", "network.tsv", "report.html", "summary.json"]
    for name in [*(f"{state}/{name}" for state in ("open", "closed") for name in both)]:
        assert (tmp_path / "results" / name).stat().st_size > 0, name
    assert (tmp_path / "results/open/difference.parquet").exists()
    assert not (tmp_path / "results/closed/difference.parquet").exists()
    summary = read_json(tmp_path / "results/open/summary.json")
    assert set(summary["inputs"]) == {"topology", "trajectories.0", "trajectories.1.0"}
    assert summary["versions"]["MDAnalysis"]
    assert not temporary_files(tmp_path)
    # What is drawn and compared scores nothing again; nor does anything else run.
    write_config(tmp_path, {"open": opened | {"draw_strongest": 5}, "closed": closed})
    planned = run(tmp_path, "-n")
    assert "network" in planned.rules <= {"network", "export", "report"}


def _second_replica(folder: Path) -> str:
    """The same frames in another order of time: another trajectory of the same molecule."""
    import warnings

    import MDAnalysis

    files = adenylate_kinase_files()
    path = folder / "second.dcd"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe(files["topology"], files["trajectories"][0])
        with MDAnalysis.Writer(str(path), n_atoms=universe.atoms.n_atoms) as writer:
            for _ in universe.trajectory[::-1]:
                writer.write(universe.atoms)
    return str(path)


@pytest.mark.nightly  # the dry run above says that nothing is scored again
@pytest.mark.workflow
def test_other_contacts_read_the_frames_again_and_score_nothing(tmp_path: Path) -> None:
    """The results are those of a run that knew no other; without contacts there is no such job."""
    small = {"estimator": {"kind": "gaussian", "surrogates": 4}, "frames": {"stop": 60}}
    strict, loose = {"cutoff": 4.0, "fraction": 0.9}, {"cutoff": 7.0, "fraction": 0.6}
    write_config(tmp_path, {"net": adenylate_kinase(**small, contacts=strict)})
    first = run(tmp_path)
    assert first.code == 0, first.text
    assert "network_data" in first.rules
    out = tmp_path / "results/net"
    assert run(tmp_path, "-n").done_before
    scored = [out / name for name in ("items.parquet", "state/state.json", "pairs.parquet")]
    scored += [out / "plan.json", *(out / "chunks").glob("*.parquet")]
    before = {path: path.stat().st_mtime_ns for path in scored}
    edges = (out / "network.tsv").read_bytes()
    follow = {"network", "export", "report"}

    write_config(tmp_path, {"net": adenylate_kinase(**small, contacts=loose)})
    second = run(tmp_path)
    assert second.code == 0, second.text
    assert second.rules == follow | {"network_data"}
    assert {path: path.stat().st_mtime_ns for path in scored} == before
    assert (out / "network.tsv").read_bytes() != edges
    fresh = tmp_path / "fresh"
    expected = Analysis(fresh, adenylate_kinase(**small, contacts=loose)).all().out
    tables = ("matrices.npz", "residues.tsv", "communities.tsv", "structure.pdb", "structure.pml")
    for name in ("network_data.npz", "pairs.parquet", "network.tsv", "network.parquet", *tables):
        assert (out / name).read_bytes() == (expected / name).read_bytes(), name
    summary = read_json(out / "summary.json")
    assert summary["counts"]["contacts"] == summary["counts"]["pairs_candidates"]
    assert summary["counts"] == read_json(expected / "summary.json")["counts"]
    assert summary["steps"]["network_data"]["seconds"] > 0

    write_config(tmp_path, {"net": adenylate_kinase(**small, contacts=False)})
    assert run(tmp_path, "-n").rules == follow


@pytest.mark.complete
@pytest.mark.workflow
def test_contacts_that_decide_what_is_scored_are_found_by_prepare(tmp_path: Path) -> None:
    small = {"estimator": {"kind": "gaussian", "surrogates": 4}, "frames": {"stop": 60}}
    small["pairs"] = "in_contact"
    write_config(tmp_path, {"net": adenylate_kinase(**small, contacts={})})
    first = run(tmp_path)
    assert first.code == 0, first.text
    assert "network_data" not in first.rules
    out = tmp_path / "results/net"
    assert (out / "report.html").exists()
    assert not (out / "matrices.npz").exists()
    assert not temporary_files(out)
    assert run(tmp_path, "-n").done_before
    write_config(tmp_path, {"net": adenylate_kinase(**small, contacts={}, draw_strongest=5)})
    assert run(tmp_path, "-n").rules <= {"network", "export", "report"}
    write_config(tmp_path, {"net": adenylate_kinase(**small, contacts={"fraction": 0.5})})
    assert {"prepare", "plan"} <= run(tmp_path, "-n").rules


@pytest.mark.complete
@pytest.mark.workflow
def test_positions_that_contacts_cannot_use_end_the_run_before_the_scores(tmp_path: Path) -> None:
    files, frames = write(tmp_path, 20)
    frames[13, 8, 1] = np.nan  # of a side chain, which is not scored
    files["trajectories"] = [store(tmp_path, molecule(), frames, "bad.dcd")]
    changes = {"method": "trajectory_correlation", **files, "contacts": {}, "export": []}
    write_config(tmp_path, {"net": changes | {"estimator": {"surrogates": 0}}})
    done = run(tmp_path, *STOP_AT_ONCE)
    assert done.code != 0
    assert "frame 13, atom 9 (ALA 2 CB): found y = nan" in done.text
    assert "Traceback" not in done.text
    out = tmp_path / "results/net"
    assert (out / "items.parquet").exists()
    assert not (out / "plan.json").exists()
    assert not (out / "network_data.npz").exists()
    assert not temporary_files(out)
