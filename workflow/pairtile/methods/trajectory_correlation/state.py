"""State of ``trajectory_correlation``: prepared series, and what is decided from them.

Frames are no independent samples: correlation times come first, and from them the Theiler window,
the shifts of the surrogates and what is warned of.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.motion_null import surrogate_shifts
from pairtile.methods.trajectory_correlation.motion_time import (
    DuplicateFrames,
    correlation_time,
    duplicate_frames,
    effective_frames,
    theiler_window,
)
from pairtile.methods.trajectory_correlation.prepare import prepare_trajectory
from pairtile.methods.trajectory_correlation.repeated_frames import without_frames
from pairtile.methods.trajectory_correlation.time_series import PreparedTrajectory

FEW_FRAMES = 50.0
"""Effective frames below which a variable is warned of."""

FEW_SURROGATES = 20

MOST_REPEATED = 0.1
"""Share of the frames that may repeat others; more is no overlap of two parts, but a fault."""

SLOW_SHARE = 0.9
"""Shifts are held away from none by a correlation time that so many variables stay below."""


def trajectory_state(
    config: TrajectoryCorrelationConfig, seed: int, scratch: str | os.PathLike[str] | None = None
) -> PreparedInput:
    """Prepare the series that ``config`` names, and look at their memory.

    Beside the arrays of ``prepare.time_series.PreparedTrajectory`` the state holds

    | array | shape | meaning |
    |---|---|---|
    | correlation_time | float64 (replicas, variables) | integrated, in frames |
    | theiler | int64 (replicas,) | window in frames; 0 but for ``kind: ksg`` |

    and the items have ``correlation_time`` (mean over the replicas) and ``n_effective`` (effective
    frames, added up over the replicas).

    Raises
    ------
    InputError
        As ``prepare_trajectory``; where too many frames repeat others, or too few are left for the
        Theiler window or the surrogates.
    """
    return state_of_series(config, prepare_trajectory(config, seed, scratch), scratch)


def state_of_series(
    config: TrajectoryCorrelationConfig,
    prepared: PreparedTrajectory,
    scratch: str | os.PathLike[str] | None = None,
) -> PreparedInput:
    """``trajectory_state`` of series that are prepared already."""
    names = replica_names(config)
    cyclic = config.estimator.kind == "dihedral"
    prepared = _without_repeated(prepared, config, names, cyclic, scratch)
    replicas = replicas_of(prepared.state)
    lengths = [part.shape[2] for part in replicas]
    tau = np.stack([correlation_time(part, cyclic=cyclic) for part in replicas])
    theiler = _windows(config.estimator, tau, lengths, names)
    _check_surrogates(config.estimator.surrogates, tau, lengths, names)
    prepared.state.update(correlation_time=tau, theiler=theiler)
    _describe(prepared, config, tau, lengths)
    windows = sorted(set(theiler.tolist()))
    decided = {"theiler": windows[0] if len(windows) == 1 else theiler.tolist()}
    parameters = {**prepared.parameters, "estimator": decided}
    return PreparedInput(
        prepared.items,
        prepared.state,
        prepared.counts,
        prepared.notes,
        prepared.warnings,
        parameters,
    )


def replica_names(config: TrajectoryCorrelationConfig) -> list[str]:
    """What messages call each replica: its file, or the first of its files."""
    runs = config.time_series or config.trajectories
    return [run if isinstance(run, str) else run[0] for run in runs]


def replicas_of(state: Mapping[str, NDArray[Any]]) -> list[NDArray[np.floating]]:
    """The series of each replica, (variables, d, frames), mapped as the state is."""
    offsets = np.asarray(state["replica_offsets"]).tolist()
    series = state["series"]
    return [series[:, :, a:b] for a, b in pairwise(offsets)]


def shifts_of(state: Mapping[str, NDArray[Any]], number: int, seed: int) -> NDArray[np.int64]:
    """Shifts in frames of ``number`` surrogates of each replica: int64 (replicas, number).

    Drawn from the seed and the number of the replica; the same shifts serve all pairs.
    """
    lengths = np.diff(state["replica_offsets"]).tolist()
    own = [int(np.random.SeedSequence([seed, k]).generate_state(1)[0]) for k in range(len(lengths))]
    parts = zip(np.asarray(state["correlation_time"]), lengths, own, strict=True)
    return np.stack([_shifts(tau, frames, number, seed) for tau, frames, seed in parts])


def _without_repeated(
    prepared: PreparedTrajectory,
    config: TrajectoryCorrelationConfig,
    names: Sequence[str],
    cyclic: bool,
    scratch: str | os.PathLike[str] | None,
) -> PreparedTrajectory:
    """Nearest neighbours at no distance make mutual information grow without bound, so KSG goes
    without repeated frames; the other estimators are told of them."""
    found = [duplicate_frames(part) for part in replicas_of(prepared.state)]
    exact = sum(repeated.exact.size for repeated in found)
    near = sum(repeated.near.size for repeated in found)
    drops = config.estimator.kind == "ksg"
    prepared.counts["frames_repeated"] = exact
    prepared.counts["frames_nearly_repeated"] = near
    shown = ", ".join(_example(n, repeated) for n, repeated in zip(names, found, strict=True))
    if near:
        prepared.warnings.append(
            f"{near} frames nearly repeat others: such a frame lifts the mutual information of all "
            "pairs that kind: ksg finds. Look for parts of a run that overlap, or for a "
            "constraint that stops all motion."
        )
    if not exact:
        return prepared
    if not drops:
        prepared.warnings.append(f"{exact} frames are exactly equal to others ({shown}).")
        return prepared
    for part, repeated, name in zip(replicas_of(prepared.state), found, names, strict=True):
        if repeated.exact.size > MOST_REPEATED * part.shape[2]:
            raise InputError.at(
                name,
                "",
                f"{repeated.exact.size} of {part.shape[2]} frames that are equal to others "
                f"({_example(name, repeated)})",
                f"at most {MOST_REPEATED:.0%} for kind: ksg, which measures distances of frames; "
                "leave out what was written twice (frames), or take another kind for values on a "
                "coarse scale",
            )
    prepared = without_frames(prepared, [r.exact for r in found], cyclic, scratch)
    prepared.warnings.append(
        f"{exact} frames are exactly equal to others and were left out ({shown}): kind: ksg "
        "measures distances between frames."
    )
    return prepared


def _example(name: str, repeated: DuplicateFrames) -> str:
    """The first repeated frame of a replica, numbered among the used frames, from 0."""
    if not repeated.exact.size:
        return f"{name}: none"
    return f"{name}: used frame {repeated.exact[0]} is frame {repeated.exact_of[0]}"


def _windows(
    estimator: MotionEstimatorConfig,
    tau: NDArray[np.float64],
    lengths: Sequence[int],
    names: Sequence[str],
) -> NDArray[np.int64]:
    if estimator.kind != "ksg":
        return np.zeros(len(lengths), dtype=np.int64)
    windows = []
    for times, frames, name in zip(tau, lengths, names, strict=True):
        # Even the frame with the fewest others outside its window must have k of them.
        most = (frames - estimator.neighbours - 1) // 2
        asked = estimator.theiler
        if asked != "auto" and asked > most:
            raise InputError.at(
                name,
                "estimator.theiler",
                f"{asked} for {frames} frames",
                f"at most {most}, or auto",
            )
        window = min(theiler_window(times, frames), most) if asked == "auto" else int(asked)
        windows.append(window)
    return np.array(windows, dtype=np.int64)


def _check_surrogates(
    number: int, tau: NDArray[np.float64], lengths: Sequence[int], names: Sequence[str]
) -> None:
    """There must be as many different shifts as surrogates."""
    for times, frames, name in zip(tau, lengths, names, strict=True):
        try:
            _shifts(times, frames, number, 0)
        except ValueError as error:
            raise InputError(f"{name}: estimator.{error}") from error


def _shifts(tau: NDArray[np.float64], frames: int, number: int, seed: int) -> NDArray[np.int64]:
    if not number:
        return np.empty(0, dtype=np.int64)
    return surrogate_shifts(frames, number, float(np.quantile(tau, SLOW_SHARE)), seed)


def _describe(
    prepared: PreparedTrajectory,
    config: TrajectoryCorrelationConfig,
    tau: NDArray[np.float64],
    lengths: Sequence[int],
) -> None:
    """Columns of the items, and what is said of slow variables and few surrogates."""
    estimator = config.estimator
    effective = np.sum(
        [effective_frames(times, n) for times, n in zip(tau, lengths, strict=True)], axis=0
    )
    items = prepared.items
    gap = np.full(len(items) - effective.size, np.nan)
    items["correlation_time"] = np.concatenate([tau.mean(axis=0), gap])
    items["n_effective"] = np.concatenate([effective, gap])
    moving = ~items["constant"].to_numpy(dtype=bool)[: effective.size]
    few = (effective < FEW_FRAMES) & moving
    prepared.counts["variables_few_frames"] = int(few.sum())
    times = tau[:, moving] if moving.any() else tau
    prepared.notes.append(
        f"Correlation times: {np.median(times):.3g} frames (median; 5 to 95 % of the variables: "
        f"{np.quantile(times, 0.05):.3g} to {np.quantile(times, 0.95):.3g})."
    )
    if few.any():
        prepared.warnings.append(
            f"{int(few.sum())} of {effective.size} variables have fewer than {FEW_FRAMES:.0f} "
            f"effective frames (the least has {effective[moving].min():.0f}; median correlation "
            f"time {np.median(times):.3g} frames): their correlations say more of how slow they "
            "are than of what they share. A longer run, or more replicas, is what helps."
        )
    windows = np.asarray(prepared.state["theiler"])
    if estimator.theiler == "auto" and estimator.kind == "ksg":
        shown = ", ".join(str(window) for window in sorted(set(windows.tolist()))[:5])
        prepared.notes.append(f"Theiler window: {shown} frames (auto: twice the correlation time).")
    if 0 < estimator.surrogates < FEW_SURROGATES:
        prepared.warnings.append(
            f"The p-values rest on {estimator['surrogates']} surrogates; {FEW_SURROGATES} or more "
            "say how far the null scatters."
        )
