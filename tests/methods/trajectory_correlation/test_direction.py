"""Transfer entropy of motions against its definition, a planted driver, and what is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_blocks import ensembles, estimator
from motion_reports import analysis
from naive_motion import naive_transfer_entropy
from pairtile import trajectory_correlation
from pairtile.errors import ConfigError, InputError
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.estimators import MotionPairs
from pairtile.methods.trajectory_correlation.report import numbers
from pairtile.methods.trajectory_correlation.score import TrajectoryCorrelation
from pairtile.report.results import read_results
from trajectory_analyses import section, slow, write_runs
from workflow_runs import Analysis


def driven(frames: int = 400, variables: int = 4, delay: int = 4, seed: int = 1) -> np.ndarray:
    """Slow positions, (frames, variables, 3); the second follows the first."""
    values = slow(frames + delay, variables, 3, time=4.0, seed=seed)
    later = values[delay:].copy()
    later[:, 1] += values[:-delay, 0]
    return later


def transfer_pairs(series: Any, **how: Any) -> MotionPairs:
    kind = {"kind": "transfer_entropy"}
    return MotionPairs(series, estimator(**how).model_copy(update=kind), choose("cpu"))


@given(
    series=ensembles(),
    k=st.sampled_from([1, 2, 6]),
    lag=st.sampled_from([1, 3]),
    norm=st.sampled_from(["euclidean", "max"]),
    theiler=st.sampled_from([0, 2]),
    shift=st.sampled_from([0, 5]),
)
@settings(max_examples=40, deadline=None)
def test_transfer_entropy_agrees_with_the_definition(
    series: Any, k: int, lag: int, norm: str, theiler: int, shift: int
) -> None:
    """Every row variable is a source; a surrogate shifts it, and leaves the target as it is."""
    pairs = transfer_pairs(series, neighbours=k, lag=lag, norm=norm, theiler=theiler)
    wanted = np.ones((5, 5), dtype=bool)
    wanted[3, 0] = False
    found = pairs.block(slice(0, 5), slice(0, 5), shift, wanted)
    moved = np.roll(series, -shift, axis=2)
    for i, j in [(0, 1), (1, 0), (4, 2), (3, 3)]:
        if i == j and shift == 0:
            assert np.isnan(found[i, j])
        else:
            expected = naive_transfer_entropy(moved[i], series[j], lag, k, norm, theiler)
            assert found[i, j] == pytest.approx(expected, abs=1e-10)


def test_transfer_entropy_of_normal_scalars_is_that_of_their_regression() -> None:
    """y(t + 1) = x(t) / 2 + noise: with x and y white, I = -1/2 ln(1 - 1/5)."""
    x, noise = np.random.default_rng(3).standard_normal((2, 4000))
    y = np.append(0.0, 0.5 * x[:-1]) + noise
    series = np.stack([x, y])[:, None]
    found = transfer_pairs(series, lag=1).block(slice(0, 2), slice(0, 2))
    assert found[0, 1] == pytest.approx(-0.5 * np.log(0.8), abs=0.02)
    assert found[1, 0] == pytest.approx(0.0, abs=0.02)


def test_a_planted_driver_is_found_in_its_direction() -> None:
    runs = [driven(seed=seed) for seed in (1, 2)]
    found = trajectory_correlation(runs, names=list("abcd"), direction=True, backend="cpu")
    first, *others = found.directions.to_dict("records")
    assert (first["source"], first["target"]) == ("a", "b")
    assert first["q_value"] < 0.01
    assert first["lag"] == found.settings["estimator"]["lag"] > 1
    assert len(others) == 11
    [back] = [row for row in others if (row["source"], row["target"]) == ("b", "a")]
    assert back["q_value"] > 0.05
    # Both ways lie in the row of the pair.
    pair = found.pairs.set_index(["i", "j"]).loc[(0, 1)]
    assert pair["te_nats"] == first["te_nats"]
    assert pair["reverse_te_nats"] == back["te_nats"]
    assert first["te_share"] == pair["te_correlation"] ** 2


def test_tables_and_page_say_who_drives_whom(tmp_path: Path) -> None:
    asked = {"direction": True, "estimator": {"surrogates": 10, "lag": 4}}
    tables = {"table": {"dimensions": 3}, "time_series": write_runs(tmp_path, driven())}
    out = Analysis(tmp_path, section(**asked, **tables)).all().report().out
    table = pd.read_parquet(out / "directions.parquet")
    assert len(table) == 12
    assert (table["lag"] == 4).all()
    assert table["te_share"].is_monotonic_decreasing
    kept = pd.read_csv(out / "directed_network.tsv", sep="\t")
    assert len(kept) == (table["q_value"] <= 0.05).sum() >= 1
    assert list(kept) == list(table)
    residues = pd.read_csv(out / "residues.tsv", sep="\t").set_index("name")
    means = table.groupby("source")["te_share"].mean()
    np.testing.assert_allclose(residues["te_out"], means[residues.index])
    assert residues["te_out"].idxmax() == kept["source"].iloc[0]
    results = read_results(out)
    assert numbers(results)["drivers"][0]["target"] == kept["target"].iloc[0]
    page = (out / "report.html").read_text()
    assert "Who drives whom, 4 frames later" in page
    assert f'<th scope="row">{kept["source"].iloc[0]}</th>' in page


def test_pairs_in_contact_have_the_directions_of_all(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"direction": True, "page": False, "estimator": {"surrogates": 3}}
    changes |= {"g_correlation_text": False, "contacts": {"cutoff": 6.0, "fraction": 0.5}}
    tables = [
        pd.read_parquet(analysis(tmp_path, name, pairs=name, **changes) / "directions.parquet")
        for name in ("all", "in_contact")
    ]
    every, touching = (table.set_index(["source", "target"]) for table in tables)
    assert 0 < len(touching) < len(every)
    columns = ["te_nats", "te_share", "p_value"]
    np.testing.assert_array_equal(touching[columns], every.loc[touching.index, columns])


def test_parts_of_a_block_give_the_same() -> None:
    series = np.moveaxis(driven(150, 9), 0, 2).copy()
    pairs = transfer_pairs(series, lag=2)
    whole = pairs.block(slice(0, 9), slice(0, 9))
    rows, columns = np.array([1, 4, 8]), np.array([0, 2, 8])
    np.testing.assert_array_equal(pairs.block(rows, columns), whole[np.ix_(rows, columns)])


@pytest.mark.parametrize(
    "estimator",
    [{"kind": "gaussian"}, {"kind": "dcc"}, {"surrogates": 0}, {"variant": 2}],
)
def test_direction_needs_nearest_neighbours_and_surrogates(estimator: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="kind: ksg, variant: 1"):
        TrajectoryCorrelationConfig.model_validate(
            section(direction=True, estimator={"kind": "ksg", **estimator})
        )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"ensemble": True}, "models without an order in time"),
        ({"estimator": {"lag": 60}}, "a lag of 60 frames"),
    ],
)
def test_a_direction_needs_time(asked: dict[str, Any], found: str, tmp_path: Path) -> None:
    tables = {"table": {"dimensions": 3}, "time_series": write_runs(tmp_path, driven())}
    with pytest.raises((InputError, ConfigError), match=f"found {found}"):
        Analysis(tmp_path, section(direction=True, **tables, **asked)).all()


def test_the_plan_knows_what_a_direction_costs() -> None:
    asked = section(table={"dimensions": 3}, estimator={"kind": "ksg"})
    plain, directed = (
        TrajectoryCorrelationConfig.model_validate(asked | {"direction": way})
        for way in (False, True)
    )
    state: Any = {
        "series": np.broadcast_to(0.0, (200, 3, 1000)),
        "replica_offsets": np.array([0, 1000]),
        "correlation_time": np.full((1, 200), 5.0),
    }
    costs = [TrajectoryCorrelation.cost(how, state, "cpu", 4) for how in (plain, directed)]
    assert costs[0].per_second > 4 * costs[1].per_second
    assert costs[1].cheaper["direction: false"] == pytest.approx(
        costs[1].per_second / costs[0].per_second
    )
