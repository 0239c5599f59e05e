"""A small molecule in motion, and its analyses, for the tests of report and docs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from small_trajectories import molecule, store
from workflow_runs import Analysis

KEYS: dict[str, Any] = {
    "method": "trajectory_correlation",
    "domains": {"HEAD": "chainID A and resid 1-3", "TAIL": "chainID B"},
    "contacts": {"cutoff": 6.0, "fraction": 0.5},
    "fit": False,
    "communities": ["leiden", "girvan_newman"],
    "paths": [["A:MET1", "A:TRP6"], ["A:MET1", "B:GLY3"]],
    "suboptimal_paths": 3,
    "g_correlation_text": True,
    "estimator": {"surrogates": 20},
    "export": ["tsv"],
}


def write_motion(
    folder: Path, n_frames: int = 150, replicas: int = 2, loose: bool = False
) -> dict[str, Any]:
    """Two chains of six residues, each chain with a motion of its own that all its residues share
    and each residue with a little of its own. ``loose``: three of chain A share
    another."""
    universe = molecule()
    still = universe.atoms.positions.astype(float)
    chains = np.array([0] * 36 + [1] * 36 + [0])
    if loose:
        chains[:18] = 2
    residues = universe.atoms.resindices
    runs = []
    for number in range(replicas):
        random = np.random.default_rng([number, loose] if loose else number)
        shared = random.normal(scale=0.5, size=(n_frames, 2 + loose, 3))[:, chains]
        own = random.normal(scale=0.3, size=(n_frames, residues.max() + 1, 3))[:, residues]
        runs.append(store(folder, universe, still + shared + own, f"run{number}.dcd"))
    return {"topology": str(folder / "top.pdb"), "trajectories": runs}


def demo_analysis(folder: Path) -> Path:
    """The folder of a report with everything: replicas, contacts, paths, another state."""
    analysis(folder, "other", page=False, frames={"stop": 100}, estimator={"surrogates": 0})
    return analysis(folder, compare="other", direction=True)


def analysis(
    folder: Path, name: str = "net", compare: str = "", page: bool = True, **changes: Any
) -> Path:
    """Run an analysis step by step; its folder. ``compare`` names one that was run before in the
    same ``folder``. ``page``: with exports, figures and the report."""
    made = Analysis(folder, KEYS | write_motion(folder) | changes, name=name)
    if compare:
        made.model = made.model.model_copy(update={"compare": compare})
    return _run(made, page)


def analysis_of(folder: Path, keys: dict[str, Any]) -> Path:
    """Run an analysis of ``keys`` to the page; its folder."""
    return _run(Analysis(folder, {"method": "trajectory_correlation"} | keys), page=True)


def of_tables(
    folder: Path, *series: np.ndarray, names: list[str], page: bool = True, **changes: Any
) -> Path:
    """An analysis of tables of time series, each (frames, variables)."""
    paths = []
    for number, values in enumerate(series):
        paths.append(str(folder / f"series{number}.tsv"))
        rows = ["\t".join(f"{x:.9g}" for x in row) for row in values]
        Path(paths[-1]).write_text("\n".join(["\t".join(names), *rows]) + "\n", encoding="utf-8")
    base = {"method": "trajectory_correlation", "time_series": paths, "export": ["tsv"]}
    return _run(Analysis(folder, base | changes), page)


def two_states(folder: Path, replicas: int) -> Path:
    """Four series with a shared part, compared with a state in which they share little."""
    for name, size in (("there", 0.3), ("net", 1.5)):
        random = np.random.default_rng(len(name))
        paths = []
        for number in range(replicas):
            shared = size * random.normal(size=(300, 1))
            paths.append(str(folder / f"{name}{number}.tsv"))
            rows = ["\t".join(map(str, row)) for row in shared + random.normal(size=(300, 4))]
            text = "\n".join(["arm-1\tarm-2\tx\ty", *rows])
            Path(paths[-1]).write_text(text + "\n", encoding="utf-8")
        keys = {"method": "trajectory_correlation", "time_series": paths, "export": ["tsv"]}
        made = Analysis(folder, keys | {"estimator": {"kind": "gaussian"}}, name=name)
        if name == "net":
            made.model = made.model.model_copy(update={"compare": "there"})
        out = _run(made, page=False)
    return out


def _run(made: Analysis, page: bool) -> Path:
    if page:
        return made.all().report().out
    return made.pairs().network().tables().summary().out
