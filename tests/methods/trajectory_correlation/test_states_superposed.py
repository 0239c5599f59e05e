"""Two states of which one swings: superposed on what lies still, they differ where they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from message_codes import numbers_by_code
from pairtile import trajectory_correlation
from pairtile.config.load import load_config
from pairtile.methods.trajectory_correlation.differences import fit_warnings
from pairtile.methods.trajectory_correlation.residues import selection_of
from scipy.spatial.transform import Rotation
from small_trajectories import prepare
from trajectory_analyses import slow

mda = pytest.importorskip("MDAnalysis")

N, LID, FRAMES = 70, 26, 200
CORE_FIT = "protein and name CA"


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A protein of C-alphas whose last 26 residues swing as one in ``open`` alone; two replicas."""
    folder, random = tmp_path_factory.mktemp("states"), np.random.default_rng(5)
    still = np.cumsum(random.normal(size=(N, 3)), axis=0) * 2.5
    universe = mda.Universe.empty(N, N, atom_resindex=np.arange(N), trajectory=True)
    for name, values in {
        "name": ["CA"],
        "resname": ["LEU"],
        "element": ["C"],
        "chainID": ["A"],
    }.items():
        universe.add_TopologyAttr(name, values * N)
    universe.add_TopologyAttr("resid", np.arange(1, N + 1))
    universe.atoms.positions = still
    universe.atoms.write(str(folder / "top.pdb"))
    found: dict[str, Any] = {"topology": str(folder / "top.pdb"), "open": [], "closed": []}
    arm = still[-LID:] - still[-LID]
    for seed, (state, swing) in enumerate([("open", 0.35), ("closed", 0.0)] * 2):
        places = still + 0.4 * slow(FRAMES, N, 3, seed=seed)
        turns = Rotation.from_rotvec(swing * slow(FRAMES, 1, 3, seed=90 + seed)[:, 0])
        places[:, -LID:] += np.stack([turn.apply(arm) - arm for turn in turns])
        places = places @ Rotation.random(FRAMES, rng=random).as_matrix()
        path = str(folder / f"{state}{seed}.dcd")
        with mda.Writer(path, n_atoms=N) as writer:
            for frame in places:
                universe.atoms.positions = frame
                writer.write(universe.atoms)
        found[state].append(path)
    return found


def precision_and_recall(states: dict[str, Any], **keys: Any) -> tuple[float, float]:
    """Of pairs with q of at most 0.05; those of the lid differ."""
    one, other = (
        trajectory_correlation(
            states["topology"],
            states[state],
            kind="gaussian",
            surrogates=4,
            backend="cpu",
            contacts=False,
            **keys,
        )
        for state in ("open", "closed")
    )
    table = one.difference(other)
    number = {name: k for k, name in enumerate(one.items["name"])}
    ends = [table[end].map(number).to_numpy() for end in ("source", "target")]
    planted = np.minimum(*ends) >= N - LID
    known = table["mi_z"] != 0.0
    errors = (table["mi_standard_error"] * table["mi_z"])[known]
    means = [
        table[[c for c in table if c.startswith("mi_replica") and c.endswith("other") == other]]
        for other in (False, True)
    ]
    apart = means[0].mean(axis=1) - means[1].mean(axis=1)
    np.testing.assert_allclose(errors, apart[known], atol=1e-6)
    found = table["mi_q_value"].to_numpy() <= 0.05
    return planted[found].mean(), found[planted].mean()


@pytest.mark.filterwarnings("ignore")
def test_two_states_differ_where_they_do(states: dict[str, Any]) -> None:
    by_core = precision_and_recall(states, fit="least_moving")
    assert min(by_core) > 0.9
    assert precision_and_recall(states, fit=CORE_FIT)[0] < 0.6


def test_what_moves_is_said_by_default_and_superposed_on_the_rest_when_asked(
    states: dict[str, Any],
) -> None:
    files = {"topology": states["topology"], "trajectories": states["open"]}
    by_default, asked = prepare(**files), prepare(**files, fit="least_moving")
    assert by_default.counts["fit_atoms"] == N
    assert by_default.items["fitted"].all()
    assert {"fit_moves", "superposed"} <= {text.code for text in by_default.messages}
    numbers = numbers_by_code(asked.messages)["fit_core"]
    fitted = asked.items["fitted"].to_numpy()
    assert asked.counts["fit_atoms"] == fitted.sum() == numbers["n"]
    assert abs(int(numbers["n"]) - (N - LID)) < 8
    assert numbers["share"] > 0.3
    line = str(numbers["selection"])
    stated = prepare(**files, fit=line)
    assert not {"fit_moves", "fit_core"} & {text.code for text in stated.messages}
    assert (stated.items["fitted"].to_numpy() == fitted).mean() > 0.9


def test_a_state_without_a_moving_part_is_superposed_on_all(states: dict[str, Any]) -> None:
    files = {"topology": states["topology"], "trajectories": states["closed"]}
    prepared = prepare(**files, fit="least_moving")
    assert prepared.counts["fit_atoms"] == N
    assert not {"fit_moves", "fit_core"} & {text.code for text in prepared.messages}


@pytest.mark.parametrize(
    ("given", "decided"),
    [({}, "least_moving"), ({"fit": CORE_FIT}, CORE_FIT), ({"fit": False}, False)],
)
def test_the_default_of_states_that_are_compared(given: dict[str, Any], decided: object) -> None:
    section = {"method": "trajectory_correlation", "topology": "a.pdb", "trajectories": ["a.xtc"]}
    section |= {"estimator": {"kind": "gaussian"}, **given}
    analyses = {"apo": section, "holo": {**section, "compare": "apo"}, "other": section}
    found = load_config({"analyses": analyses}).analyses
    fits = {name: own.resolved()["fit"] for name, own in found.items()}
    assert fits == {"apo": decided, "holo": decided, "other": given.get("fit", CORE_FIT)}


def test_states_superposed_on_other_residues_are_warned_of_with_the_line() -> None:
    items = pd.DataFrame({"chain": "A", "resid": np.arange(1, 101), "fitted": True})
    other = items.assign(fitted=items["resid"] <= 60)
    matched, names = pd.Series(np.arange(100)), ("one", "other")
    assert fit_warnings(items, items, matched, names) == []
    assert fit_warnings(items.assign(fitted=False), other, matched, names) == []
    (found,) = fit_warnings(items, other, matched, names)
    assert found.code == "fits_differ"
    assert str(found.numbers["selection"]).endswith("resid 1-60")


def test_a_selection_names_runs_of_residues_by_chain() -> None:
    table = pd.DataFrame(
        {"chain": list("AAAAAAAABBBBB"), "resid": [1, 2, 3, 4, 5, 9, 20, 21, 3, 4, 5, 6, 7]}
    )
    line = selection_of(table, np.ones(13, dtype=bool))
    assert line.endswith("((chainID A and resid 1-5) or (chainID B and resid 3-7))")
    part = np.isin(np.arange(13), [5, 6, 7])
    assert selection_of(table, part).endswith("chainID A and resid 9-9 20-21")
    assert selection_of(table[:8], part[:8]).endswith("CA and resid 9-9 20-21")
    assert "segid PROA" in selection_of(table.replace("A", "PROA"), part)
