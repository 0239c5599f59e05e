"""State of ``trajectory_correlation``: prepared series, and what is decided from them.

Frames are no independent samples: correlation times come first, and from them the Theiler window,
the shifts of the surrogates and what is warned of.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from pairtile.declare.messages import messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.io.in_memory import in_memory
from pairtile.io.names import join_first
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import MotionEstimatorConfig
from pairtile.methods.trajectory_correlation.correlation_times import (
    correlation_time,
    drifting,
    effective_frames,
    half_shifts,
    largest_window,
    least_p_values,
    theiler_window,
    wanted_window,
)
from pairtile.methods.trajectory_correlation.prepare import prepare_trajectory
from pairtile.methods.trajectory_correlation.time_series import without_frames
from pairtile.runtime.record import doing, say_done

message = messages_of(__package__)

MIN_EFFECTIVE_FRAMES = 50.0
"""A warning names the variables that have fewer effective frames than this."""

MIN_SURROGATES = 20

_NMR = re.compile(r"^(EXPDTA\b|_exptl\.method\b|\S+\s+')[^\n]*\bNMR\b")

MAX_REPEATED = 0.1
"""Share of the frames that may repeat others; more is no overlap of two parts, but a fault."""

SLOW_SHARE = 0.9
"""Shifts are held away from none by a correlation time that so many variables stay below."""


def trajectory_state(
    config: TrajectoryCorrelationConfig, scratch: Path
) -> PreparedInput[MotionArrays]:
    """Prepare the series that ``config`` names, and look at their memory.

    The items have ``correlation_time`` (mean over the replicas), ``n_effective`` (effective
    frames, added up over the replicas), ``drift`` and ``drift_p_value`` (``half_shifts`` of the
    replica with the least p-value, times the number of replicas).

    Raises
    ------
    InputError
        As ``prepare_trajectory``; where too many frames repeat others, or too few are left for the
        Theiler window or the surrogates.
    """
    prepared = prepare_trajectory(config, scratch)
    doing("look for drift and correlation times")
    runs = config.time_series or config.trajectories
    names = [run if isinstance(run, str) else run[0] for run in runs]
    cyclic = config.estimator.facts.cyclic
    prepared = _without_repeated(prepared, config, names, cyclic, scratch)
    replicas = replicas_of(prepared.state)
    lengths = [part.shape[2] for part in replicas]
    ensemble = is_ensemble(config, replicas)
    if ensemble:
        tau = np.full((len(replicas), len(replicas[0])), 0.5)
        prepared.messages.append(message("ensemble"))
    else:
        tau = np.stack([correlation_time(part, cyclic=cyclic) for part in replicas])
    effective = np.stack([effective_frames(t, n) for t, n in zip(tau, lengths, strict=True)])
    config = _with_kind(prepared, config, effective)
    lag = 0
    if config.direction:
        most, usual = 0 if ensemble else min(lengths) // 8, round(float(np.median(tau)))
        lag = min(max(usual, 1), most) if config.estimator.lag == "auto" else config.estimator.lag
        if not 0 < lag <= most:
            raise InputError.at(
                names[0],
                "direction: true",
                "models without an order in time" if ensemble else f"a lag of {lag} frames",
                f"a lag of at most an eighth of {min(lengths)} frames, or direction: false",
            )
    theiler = np.zeros(len(lengths), dtype=np.int64)
    for k, (times, frames, name) in enumerate(zip(tau, lengths, names, strict=True)):
        if config.estimator.facts.searches_neighbours:
            theiler[k] = _window(config.estimator, times, frames - lag, name)
        if not ensemble:
            _check_surrogates(config.estimator.surrogates, times, frames, name)
    prepared.state["lag"] = np.array(lag)
    prepared.state["correlation_time"] = tau
    prepared.state["kind"] = np.array(config.estimator.kind)
    prepared.state["theiler"] = theiler
    prepared.state["ensemble"] = np.array(ensemble)
    _describe(prepared, config.estimator, tau, effective.sum(axis=0))
    _describe_weights(prepared, names, lengths)
    p = shift = np.full(tau.shape[1], np.nan)
    if not ensemble:
        moved = [half_shifts(part, cyclic=cyclic) for part in replicas]
        p, shift = least_p_values(*(np.stack(part) for part in zip(*moved, strict=True)))
    prepared.items["drift"], prepared.items["drift_p_value"] = pd.Series(shift), pd.Series(p)
    drifts = drifting(p)
    prepared.counts["variables_drifting"] = int(drifts.sum())
    if drifts.any():
        row = int(np.argmax(np.where(drifts, shift, -1.0)))
        prepared.messages.append(
            message(
                "variables_drift",
                n=int(drifts.sum()),
                variables=p.size,
                name=prepared.items["name"].iloc[row],
                shift=shift[row],
            )
        )
    windows = theiler.tolist()
    decided = {
        "kind": config.estimator.kind,
        "theiler": windows[0] if len(set(windows)) == 1 else windows,
        **({"lag": lag} if config.direction else {}),
    }
    return replace(prepared, parameters={"estimator": decided, "ensemble": ensemble})


def is_ensemble(
    config: TrajectoryCorrelationConfig, replicas: Sequence[NDArray[np.floating]]
) -> bool:
    """Whether frames have no order in time: as the section says, or ``auto``.

    ``auto``: all files are PDB or mmCIF, and say NMR or have successive models that are no nearer
    to each other than any two.
    """
    if config.ensemble != "auto":
        return config.ensemble
    files = files_of(config)
    models = r"\.(pdb|ent|cif|mmcif)(\.gz)?$"
    if not files or not all(re.search(models, file, re.IGNORECASE) for file in files):
        return False
    return all(map(_says_nmr, files)) or not any(map(successive_are_near, replicas))


def files_of(config: TrajectoryCorrelationConfig) -> list[str]:
    """The files of the trajectories; of Universes in memory, those that they are of."""
    if config.topology and (source := in_memory(config.topology)):
        return list(source.files)
    return [p for key, p in config.input_files().items() if key.startswith("trajectories")]


def _says_nmr(file: str) -> bool:
    path = Path(file)
    if not path.is_file():
        return False
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", errors="replace") as lines:
        return any(_NMR.search(line) for line in islice(lines, 5000))


def successive_are_near(series: NDArray[np.floating]) -> bool:
    """Whether frames are nearer to the next one than in most random orders (von Neumann 1941).

    series : (variables, d, frames), of which the first 1,000 frames are looked at: a permutation
    test at the level 0.05, with 999 orders.
    """
    part = np.asarray(series[:, :, :1000], dtype=np.float64)
    values = part.reshape(-1, part.shape[2]).T
    values = np.nan_to_num(values - np.nanmean(values, axis=0))
    squares = (values**2).sum(axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * (values @ values.T)
    draw = np.random.default_rng(0)

    def step(order: NDArray[np.int64]) -> float:
        return float(distance[order[:-1], order[1:]].mean())

    n = len(values)
    observed = step(np.arange(n))
    as_near = sum(step(draw.permutation(n)) <= observed for _ in range(999))
    return (1 + as_near) / 1000 <= 0.05


def replicas_of(state: MotionArrays) -> list[NDArray[np.floating]]:
    """The series of each replica, (variables, d, frames), mapped as the state is."""
    offsets = np.asarray(state["replica_offsets"]).tolist()
    return [state["series"][:, :, a:b] for a, b in pairwise(offsets)]


def replica_weights(state: MotionArrays) -> NDArray[np.float64] | None:
    """Weights of replicas in means over them: float64 (replicas,), or None where all are of one
    length.

    Replicas of one system have one correlation time, so that effective frames go as the length,
    which is known, where the correlation time of a short run is not. 0 where the series is so short
    (12 correlation times of the longest replica) that no shift is far enough from none: its
    surrogates resemble it, and each other. Where that is so of all, all count.
    """
    lengths = np.diff(state["replica_offsets"]).astype(np.float64)
    interval = np.asarray(state.get("frame_interval_ps", np.full(lengths.size, np.nan)))
    if not np.isnan(interval).any():
        lengths = lengths * interval / interval[lengths.argmax()]
    longest = int(lengths.argmax())
    if np.allclose(lengths, lengths[longest], rtol=1e-6):
        return None
    if state.get("ensemble"):
        return lengths
    slow = float(np.quantile(np.asarray(state["correlation_time"])[longest], SLOW_SHARE))
    enough = lengths >= SHIFTED_TIMES * slow
    return lengths * enough if enough.any() else lengths


def halves_of(state: MotionArrays) -> MotionArrays | None:
    """The two halves of a single trajectory as two replicas: what ``replicas_of`` and ``shifts_of``
    need. None of replicas, and of fewer than 2 x 100 frames."""
    offsets = np.asarray(state["replica_offsets"])
    half = int(offsets[-1]) // 2
    # A half of fewer than 100 frames is too short to be scored by itself.
    if len(offsets) > 2 or half < 100:
        return None
    return {
        "series": state["series"],
        "replica_offsets": np.array([0, half, 2 * half], dtype=np.int64),
        "correlation_time": np.repeat(np.asarray(state["correlation_time"]), 2, axis=0),
        "ensemble": state.get("ensemble", np.array(False)),
    }


def shifts_of(state: MotionArrays, number: int, seed: int) -> Sequence[NDArray[np.int64]]:
    """What makes the ``number`` surrogates of each replica: shifts in frames, int64 (number,), or,
    of an ensemble, orders of its models, int64 (number, frames).

    Drawn from the seed and the number of the replica; the same serve all pairs.
    """
    lengths = np.diff(state["replica_offsets"]).tolist()
    own = [int(np.random.SeedSequence([seed, k]).generate_state(1)[0]) for k in range(len(lengths))]
    if state.get("ensemble"):
        draws = [np.random.default_rng(one) for one in own]
        return [
            np.array([draw.permutation(n) for _ in range(number)], dtype=np.int64).reshape(-1, n)
            for draw, n in zip(draws, lengths, strict=True)
        ]
    if not number:
        return [np.empty(0, dtype=np.int64) for _ in lengths]
    slow = np.quantile(np.asarray(state["correlation_time"]), SLOW_SHARE, axis=1).tolist()
    return [
        surrogate_shifts(frames, number, tau, one)
        for frames, tau, one in zip(lengths, slow, own, strict=True)
    ]


def _without_repeated(
    prepared: PreparedInput[MotionArrays],
    config: TrajectoryCorrelationConfig,
    names: Sequence[str],
    cyclic: bool,
    scratch: Path,
) -> PreparedInput[MotionArrays]:
    """Nearest neighbours at no distance make mutual information grow without bound, so KSG (and
    ``auto``, which may become it) goes without repeated frames; the other estimators only warn of
    them."""
    for first, second, n_same, n_looked_at in shared_frames(prepared.state):
        # Up to half of a replica's frames may be those of another.
        if n_same > 0.5 * n_looked_at:
            raise InputError.at(
                names[second],
                "",
                f"{n_same} of {n_looked_at} frames that are those of {names[first]}",
                "runs of their own, since replicas count as independent: leave one of the two out",
            )
        prepared.messages.append(
            message(
                "replicas_of_one_run",
                first=names[first],
                second=names[second],
                how=f"has {n_same} frames in common with",
            )
        )
    repeated, nearly = zip(*map(duplicate_frames, replicas_of(prepared.state)), strict=True)
    exact, near = (sum(map(len, part)) for part in (repeated, nearly))
    prepared.counts["frames_repeated"] = exact
    prepared.counts["frames_nearly_repeated"] = near
    shown = ", ".join(map(_example, names, repeated))
    if near:
        prepared.messages.append(message("frames_nearly_repeated", n=near))
    if not exact:
        return prepared
    if not config.estimator.facts.searches_neighbours:
        prepared.messages.append(message("frames_repeated", n=exact, example=shown))
        return prepared
    for part, own, name in zip(replicas_of(prepared.state), repeated, names, strict=True):
        if len(own) > MAX_REPEATED * part.shape[2]:
            raise InputError.at(
                name,
                "",
                f"{len(own)} of {part.shape[2]} frames that are equal to others "
                f"({_example(name, own)})",
                f"at most {MAX_REPEATED:.0%} for kind: ksg, which measures distances of frames; "
                "leave out what was written twice (frames), or take another kind for values on a "
                "coarse scale",
            )
    prepared = without_frames(prepared, [[*own] for own in repeated], cyclic, scratch)
    prepared.messages.append(say_done(message("repeated_frames_left_out", n=exact, example=shown)))
    return prepared


def _example(name: str, repeated: Mapping[int, int]) -> str:
    """The first repeated frame of a replica, numbered among the used frames, from 0."""
    if not repeated:
        return f"{name}: none"
    frame, earlier = min(repeated.items())
    return f"{name}: used frame {frame} is frame {earlier}"


def _with_kind(
    prepared: PreparedInput[MotionArrays],
    config: TrajectoryCorrelationConfig,
    effective: NDArray[np.float64],
) -> TrajectoryCorrelationConfig:
    """``kind: auto`` decided: each replica is estimated by itself, and needs enough frames."""
    if config.estimator.kind != "auto":
        return config
    if stated := config.estimator.keys_of_ksg:
        kind, why = "ksg", f"estimator.{stated[0]} is stated, which is a key of ksg."
    else:
        moving = ~prepared.items["constant"].to_numpy(dtype=bool)[: effective.shape[1]]
        found = float(np.median(effective[:, moving] if moving.any() else effective))
        kind = "ksg" if found >= MIN_EFFECTIVE_FRAMES else "gaussian"
        why = (
            f"a trajectory has {found:.0f} effective frames (median of the variables); ksg, which "
            f"also sees curved dependence, wants {MIN_EFFECTIVE_FRAMES:.0f}."
        )
    prepared.messages.append(message("kind_auto", kind=kind, why=why))
    estimator = config.estimator.model_copy(update={"kind": kind})
    return config.model_copy(update={"estimator": estimator})


def _window(
    estimator: MotionEstimatorConfig, tau: NDArray[np.float64], frames: int, name: str
) -> int:
    # Even the frame with the fewest others outside its window must have k of them.
    most = (frames - estimator.neighbours - 1) // 2
    asked = estimator.theiler
    if asked == "auto":
        return min(theiler_window(tau, frames), most)
    if asked > most:
        raise InputError.at(
            name, "estimator.theiler", f"{asked} for {frames} frames", f"at most {most}, or auto"
        )
    return int(asked)


def _check_surrogates(number: int, tau: NDArray[np.float64], frames: int, name: str) -> None:
    room = possible_shifts(frames, float(np.quantile(tau, SLOW_SHARE)))
    if number > room:
        fewer = f"surrogates: {room}, or 0 (no p-values)" if room > 1 else "surrogates: 0"
        raise InputError.at(
            name,
            "estimator.surrogates",
            f"{number} for {frames} frames that are remembered for {np.median(tau):.2g} "
            f"frames, which leaves {room} different shifts",
            f"a longer run; or {fewer}; or ensemble: true, where frames are models without an "
            "order in time, as those of an NMR structure",
        )


def _describe(
    prepared: PreparedInput[MotionArrays],
    estimator: MotionEstimatorConfig,
    tau: NDArray[np.float64],
    effective: NDArray[np.float64],
) -> None:
    items = prepared.items
    lengths = np.diff(prepared.state["replica_offsets"]).tolist()
    items["correlation_time"] = pd.Series(tau.mean(axis=0))
    items["n_effective"] = pd.Series(effective)
    moving = ~items["constant"].to_numpy(dtype=bool)[: effective.size]
    few = (effective < MIN_EFFECTIVE_FRAMES) & moving
    prepared.counts["variables_few_frames"] = int(few.sum())
    times = tau[:, moving] if moving.any() else tau
    if prepared.state["ensemble"]:
        if few.any():
            prepared.messages.append(message("few_models", n=sum(lengths)))
        return
    low, high = np.quantile(times, [0.05, 0.95])
    said = message("correlation_times", median=np.median(times), low=low, high=high)
    prepared.messages.append(say_done(said))
    if few.any():
        prepared.messages.append(
            message(
                "few_frames_ksg" if estimator.facts.searches_neighbours else "few_frames",
                n=few.sum(),
                variables=effective.size,
                wanted=MIN_EFFECTIVE_FRAMES,
                least=effective[moving].min(),
                time=np.median(times),
            )
        )
    if estimator.theiler == "auto" and estimator.facts.searches_neighbours:
        windows = np.unique(prepared.state["theiler"])[:5].tolist()
        wanted = max(map(wanted_window, tau))
        cap = min(map(largest_window, lengths))
        capped = (
            f"; {wanted} frames would be wanted, but it is at most an eighth of the frames, here "
            f"{cap}, so that slow motions still look alike in time"
        )
        prepared.messages.append(
            message(
                "theiler_window",
                windows=", ".join(map(str, windows)),
                limit=capped if wanted > cap else "",
            )
        )
    if 0 < estimator.surrogates < MIN_SURROGATES:
        prepared.messages.append(
            message("few_surrogates", n=estimator.surrogates, wanted=MIN_SURROGATES)
        )


def _describe_weights(
    prepared: PreparedInput[MotionArrays], names: Sequence[str], lengths: Sequence[int]
) -> None:
    weights = replica_weights(prepared.state)
    if weights is None:
        return
    prepared.messages.append(
        message(
            "replicas_weighed",
            shares=", ".join(f"{share:.0%}" for share in weights / weights.sum()),
        )
    )
    left_out = np.flatnonzero(weights == 0.0)
    if left_out.size:
        prepared.messages.append(
            message(
                "replicas_too_short",
                n=left_out.size,
                replicas=len(lengths),
                times=SHIFTED_TIMES,
                names=join_first([f"{names[k]}: {lengths[k]} frames" for k in left_out.tolist()]),
            )
        )


# --- repeated frames ------------------------------------------------------------------------------


def duplicate_frames(
    series: NDArray[np.floating],
) -> tuple[dict[int, int], dict[int, int]]:
    """Frames that are equal, and those that are nearly so, to an earlier one in all variables at
    once: each, and which it repeats.

    They make nearest-neighbour distances vanish, and the KSG mutual information grow without bound.
    Near is 1e-5 of the root mean square distance between two frames. A frame counts as exact
    or as near, not as both. Of a series in which nothing moves, all frames after the first are
    exact duplicates.

    Frames are compared by their places along random lines. series : (variables, d, frames).
    """
    places, variance = _places(series)
    _, first, which = np.unique(places, axis=0, return_index=True, return_inverse=True)
    earlier = first[which.ravel()]
    exact = {later: int(one) for later, one in enumerate(earlier) if one != later}
    limit = 1e-5 * np.sqrt(2.0 * variance)
    # Eight standard deviations of how far frames at the limit lie apart on a line.
    reach = 8.0 * limit * np.sqrt(PROJECTIONS)
    found: dict[int, int] = {}
    for pair in scipy.spatial.cKDTree(places[first]).query_pairs(reach):
        one, later = sorted(first[[*pair]].tolist())
        ends = (np.asarray(series[:, :, t], dtype=np.float64) for t in (one, later))
        apart = np.subtract(*map(np.nan_to_num, ends))
        if np.sqrt((apart * apart).sum()) <= limit:
            found[later] = min(one, found.get(later, one))
    return exact, found


def _places(series: NDArray[np.floating]) -> tuple[NDArray[np.float64], float]:
    """Places of frames along random lines, (frames, ``PROJECTIONS``), and the variance of all
    values of a frame."""
    values = series.reshape(-1, series.shape[2])
    draw = np.random.default_rng(0)
    places, variance = np.zeros((PROJECTIONS, values.shape[1])), 0.0
    for row in values:
        moved = np.nan_to_num(np.asarray(row, dtype=np.float64))
        moved -= moved[0]
        # Sums along the frames' own axis treat equal frames equally, to the last bit.
        places += draw.normal(size=(PROJECTIONS, 1)) * moved
        variance += float(moved.var())
    return places.T, variance


PROJECTIONS = 8
"""Random directions along which frames are held against each other."""

MAX_RELATIVE_DISTANCE, MAX_RELATIVE_DISTANCE_ELSE = 0.1, 1e-6
"""A frame is that of another replica if it is nearer than so many times the nearest frame of its
own; the second where frames have fewer values than there are directions, and are near by chance."""

LOOKED_AT = 1000
"""Frames at the beginning and at the end of a replica, and between, that are looked for."""


def shared_frames(state: MotionArrays) -> list[tuple[int, int, int, int]]:
    """Two replicas that have more than one frame in common, such as copies and parts of one run:
    their numbers, how many frames of the second are in the first, and how many were looked for.

    Copies may differ in precision. A first frame in common is how many replicas begin.
    """
    places, _ = _places(state["series"])
    few = np.prod(state["series"].shape[:2]) < PROJECTIONS
    limit = MAX_RELATIVE_DISTANCE_ELSE if few else MAX_RELATIVE_DISTANCE
    trees = [
        scipy.spatial.cKDTree(places[a:b]) for a, b in pairwise(state["replica_offsets"].tolist())
    ]
    found = []
    for second, tree in enumerate(trees):
        ends = [*range(LOOKED_AT), *range(tree.n - LOOKED_AT, tree.n)]
        between = np.linspace(0, tree.n - 1, LOOKED_AT).astype(int)
        rows = np.unique(np.clip([*ends, *between], 0, tree.n - 1))
        own = np.asarray(tree.query(tree.data[rows], k=2)[0])[:, 1]
        for first in range(second):
            n_same = int((trees[first].query(tree.data[rows])[0] < limit * own).sum())
            if n_same > max(1, int((own == 0.0).sum())):  # coarse values repeat by themselves
                found.append((first, second, n_same, rows.size))
    return found


# --- shifts of surrogates -------------------------------------------------------------------------


def possible_shifts(n_frames: int, tau: float) -> int:
    """How many different shifts ``surrogate_shifts`` has to choose from."""
    return max(0, n_frames - 2 * _away(n_frames, tau) + 1)


def _away(n_frames: int, tau: float) -> int:
    return max(1, min(int(np.ceil(AWAY * tau)), n_frames // 4))


AWAY = 3.0
"""Correlation times that a shift should at least be away from none."""

SHIFTED_TIMES = 4.0 * AWAY
"""Correlation times from which a series is long enough for shifts between a quarter and three
quarters of it to be so far away."""


def surrogate_shifts(n_frames: int, number: int, tau: float, seed: int) -> NDArray[np.int64]:
    """Different shifts in frames, ascending: int64 (number,).

    Each is at least 3 ``tau`` from no shift, in either direction, or a quarter of the frames where
    the series is too short for that. The frames between are cut into ``number`` equal parts and one
    shift is drawn from each, because shifts that are close together give nearly the same surrogate.

    Raises ``ValueError`` where there are fewer different shifts than ``number``.
    """
    away, available = _away(n_frames, tau), possible_shifts(n_frames, tau)
    if number < 1 or available < number:
        raise ValueError(
            f"surrogates: found {number} for {n_frames} frames; expected 1 to {max(0, available)} "
            f"different shifts at least {away} frames from none"
        )
    edges = away + (np.arange(number + 1, dtype=np.int64) * available) // number
    return np.random.default_rng(seed).integers(edges[:-1], edges[1:])
