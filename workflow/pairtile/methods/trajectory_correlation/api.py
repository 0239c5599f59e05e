"""Correlated motion of every pair of atoms, residues or time series, in memory."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pairtile.api.settings import analysis_config
from pairtile.engine.estimator import PreparedInput
from pairtile.engine.in_memory import merged_in_memory
from pairtile.gpu.device import choose
from pairtile.methods.trajectory_correlation.api_input import (
    SeriesArrays,
    as_arrays,
    is_universe,
    name_of,
    opened,
    prepare_arrays,
)
from pairtile.methods.trajectory_correlation.api_motion_correlation import MotionCorrelation
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.contacts import trajectory_contacts
from pairtile.methods.trajectory_correlation.network import pairs_in_contact
from pairtile.methods.trajectory_correlation.prepare import prepare_trajectory
from pairtile.methods.trajectory_correlation.read_trajectory import Trajectories, trajectories_of
from pairtile.methods.trajectory_correlation.score import TrajectoryCorrelation
from pairtile.methods.trajectory_correlation.state import state_of_series

_OF_MOLECULES = ("fit", "reference", "select", "positions", "dihedrals", "distances", "domains")


def trajectory_correlation(
    trajectory: Any,
    trajectories: Any = None,
    *,
    names: Sequence[Any] | None = None,
    kind: str = "ksg",
    preset: str = "none",
    neighbours: int = 6,
    variant: int = 1,
    norm: str = "euclidean",
    scale: str = "raw",
    theiler: int | str = "auto",
    corrected: bool = False,
    bins: int | str = "auto",
    order: int = 3,
    transform: str = "rank",
    surrogates: int = 20,
    fit: str | bool | None = None,
    reference: str | None = None,
    select: str | None = None,
    positions: str | None = None,
    variables: str = "auto",
    dihedrals: Sequence[str] | None = None,
    distances: Mapping[str, Sequence[str]] | None = None,
    domains: Mapping[str, str] | None = None,
    frames: Mapping[str, int | None] | None = None,
    contacts: Mapping[str, float] | bool = False,
    keep: Mapping[str, float] | str = "auto",
    seed: int = 1,
    backend: str = "auto",
) -> MotionCorrelation:
    """Find which motions go together: mutual information and correlation of every pair.

    The same as an analysis of the workflow with these settings, seed and backend.

    Parameters
    ----------
    trajectory : array, DataFrame, Universe, AtomGroup, path, or a list of the former four
        An array (frames, variables, dimensions) with 1 to 3 dimensions, or (frames, variables) of
        scalars, taken as it is: **superpose positions first**. Angles in radians. A DataFrame
        (frames x variables) names its variables. A Universe or AtomGroup of MDAnalysis is read,
        superposed and selected as the workflow does it. A path is that of a topology. A list holds
        replicas: each is estimated by itself.
    trajectories : path or sequence of paths, optional
        Beside the path of a topology: the trajectories, each a replica.
    names : sequence, optional
        Of the variables of an array.
    kind : {"ksg", "gaussian", "dcc", "bspline", "dihedral"}
        The estimator: nearest neighbours; linear (Gaussian) mutual information; dynamical
        cross-correlation; B-splines of scalars; cyclic B-splines of angles.
    preset : {"none", "mdigest", "normi", "dynetan", "netsci"}
        Of ``ksg``: the numbers of another tool; decides the next five.
    neighbours, variant, norm, scale, theiler
        Of ``ksg``: k; estimator 1 or 2; ``"euclidean"`` or ``"max"``; ``"raw"`` or ``"std"``;
        frames nearer in time than this are no neighbours ("auto": twice the correlation time).
    corrected : bool
        Of ``gaussian``: take away the bias of few frames.
    bins, order, transform
        Of ``bspline`` and ``dihedral``; ``transform`` ("rank" or "none") of ``bspline``.
    surrogates : int
        Time-shifted copies for p-values; 0: none.
    fit, reference, select, positions, variables, dihedrals, distances, domains
        Of molecules: as in the configuration, with its defaults (None).
    frames : mapping, optional
        ``start``, ``stop``, ``step``.
    contacts : mapping or False
        ``{"cutoff": 4.5, "fraction": 0.75}``: only residues that touch become edges.
    keep : mapping or {"auto", "all"}
        Which pairs become edges: ``{"p_value": x}``, ``{"fdr": x}``, ``{"correlation": x}``,
        ``{"top_edges": n}``. "auto": p <= 0.05, or all without surrogates.
    seed : int
        Of the surrogates' shifts.
    backend : {"auto", "cpu", "cuda"}
        Where to compute.

    Returns
    -------
    MotionCorrelation
        ``correlation``, ``mi_nats``, ``dcc``, ``p_value`` as matrices (DataFrames with names,
        arrays without), ``network``, ``items`` with correlation times, ``communities()``,
        ``paths()``, ``difference()``. What needs attention, as few effective frames, is also issued
        as a warning.

    Raises
    ------
    ValueError
        Settings that are not allowed; arrays of another shape; names that do not fit.
    InputError
        Files that cannot be read; selections that match nothing; too few frames; values that are no
        finite numbers; frames that repeat others.
    ConfigError
        Selections that are not in MDAnalysis' language; MDAnalysis not installed.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Lange & Grubmueller 2006 (generalized correlation), Kraskov et al. 2004 (``ksg``),
    Daub et al. 2004 (B-splines). docs/trajectory_correlation.md has every formula.

    Examples
    --------
    Three atoms; the second moves with the first, the third by itself:

    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> xyz = random.normal(size=(500, 3, 3))
    >>> xyz[:, 1] += 1.5 * xyz[:, 0]
    >>> found = trajectory_correlation(xyz, names=["a", "b", "c"])
    >>> found.correlation.round(2)
          a     b     c
    a   NaN  0.75  0.08
    b  0.75   NaN  0.00
    c  0.08  0.00   NaN
    >>> found.network[["source", "target"]].values.tolist()
    [['a', 'b']]
    """
    given = dict(zip(_OF_MOLECULES, (fit, reference, select, positions, dihedrals, distances,
                                     domains), strict=True))  # fmt: skip
    settings: dict[str, Any] = {
        "variables": variables,
        "contacts": contacts,
        "keep": keep,
        "frames": dict(frames or {}),
        "estimator": {
            "kind": kind,
            "preset": preset,
            "neighbours": neighbours,
            "variant": variant,
            "norm": norm,
            "scale": scale,
            "theiler": theiler,
            "corrected": corrected,
            "bins": bins,
            "order": order,
            "transform": transform,
            "surrogates": surrogates,
        },
        **{key: value for key, value in given.items() if value is not None},
    }
    with tempfile.TemporaryDirectory(prefix="pairtile-") as scratch:
        config, ready, labels = _prepared(
            trajectory, trajectories, names, settings, given, seed, backend, scratch
        )
        opened_ = TrajectoryCorrelation(config, ready.state, choose(backend), "float64")
        opened_.seed = int(seed)
        tiles = opened_.space(ready.state).tiles(*opened_.tile_edges(config, ready.state))
        merged = merged_in_memory(opened_, tiles, int(seed))
        network = opened_.network(merged)
        pairs = merged.pairs
        contact = opened_.in_contact(pairs["i"].to_numpy(), pairs["j"].to_numpy())
    items = ready.items[ready.items["kept"].to_numpy(dtype=bool)].reset_index(drop=True)
    shown = pd.RangeIndex(len(items)) if labels is None else labels
    edges = network.edges
    for end in ("source", "target"):
        edges[end] = shown[edges[end].to_numpy()]
    cautions = [*ready.warnings, *network.warnings]
    for caution in cautions:
        warnings.warn(caution, stacklevel=2)
    asked = config.resolved()
    return MotionCorrelation(
        items=items,
        pairs=pairs,
        network=edges,
        labels=labels,
        contacts=contact,
        counts={**ready.counts, "pairs": len(pairs), **network.counts},
        notes=[*ready.notes, *network.notes],
        warnings=cautions,
        device=opened_.device.name,
        settings={
            **asked,
            "estimator": asked["estimator"] | ready.parameters["estimator"],
            "seed": int(seed),
        },
    )


def _prepared(
    trajectory: Any,
    trajectories: Any,
    names: Sequence[Any] | None,
    settings: dict[str, Any],
    of_molecules: Mapping[str, Any],
    seed: int,
    backend: str,
    scratch: str,
) -> tuple[TrajectoryCorrelationConfig, PreparedInput, pd.Index[Any] | None]:
    """The configuration, the state, and labels of the variables (None: numbered)."""
    common: dict[str, Any] = {"seed": seed, "backend": backend, **settings}
    if isinstance(trajectory, str | os.PathLike):
        _not_beside(names is not None, "names", "a topology, which names its atoms")
        runs = [trajectories] if isinstance(trajectories, str | os.PathLike) else trajectories
        paths = [os.fspath(path) for path in runs or []]
        config = analysis_config(
            TrajectoryCorrelationConfig,
            topology=os.fspath(trajectory),
            trajectories=paths,
            **common,
        )
        ready = _state_of_molecules(config, trajectories_of(config), seed, scratch)
        return config, ready, _kept_names(ready)
    _not_beside(trajectories is not None, "trajectories", "anything but the path of a topology")
    sources = trajectory if isinstance(trajectory, list | tuple) else [trajectory]
    if sources and all(is_universe(one) for one in sources):
        _not_beside(names is not None, "names", "a Universe, which names its atoms")
        called = [name_of(n) for n in range(len(sources))]
        config = analysis_config(
            TrajectoryCorrelationConfig, topology="topology", trajectories=called, **common
        )
        with opened(sources, config.frames) as source:
            ready = _state_of_molecules(config, source, seed, scratch)
        return config, ready, _kept_names(ready)
    for key, value in of_molecules.items():
        _not_beside(value is not None, key, "an array, which is taken as it is")
    arrays = as_arrays(trajectory, names)
    config = _config_of_arrays(arrays, common)
    used = SeriesArrays([part[config.frames.as_slice] for part in arrays.replicas], arrays.labels)
    ready = state_of_series(config, prepare_arrays(config, used, scratch), scratch)
    return config, ready, arrays.labels


def _state_of_molecules(
    config: TrajectoryCorrelationConfig, source: Trajectories, seed: int, scratch: str
) -> PreparedInput:
    """The state with the contacts that are asked for."""
    prepared = prepare_trajectory(config, seed, scratch, source)
    ready = state_of_series(config, prepared, scratch)
    if config.contacts:
        ready.state.update(trajectory_contacts(config, ready.items, source))
        touching, _ = pairs_in_contact(ready.state, config.contacts.fraction)
        ready.counts["contacts"] = touching.size
    return ready


def _config_of_arrays(
    arrays: SeriesArrays, common: Mapping[str, Any]
) -> TrajectoryCorrelationConfig:
    angles = common["estimator"]["kind"] == "dihedral"
    if common["estimator"]["kind"] in ("bspline", "dihedral") and arrays.dimensions != 1:
        raise ValueError(
            f"trajectory: found {arrays.dimensions} dimensions; expected scalars, (frames, "
            f"variables), beside kind {common['estimator']['kind']}"
        )
    return analysis_config(
        TrajectoryCorrelationConfig,
        time_series=[name_of(n) for n in range(len(arrays.replicas))],
        table={"dimensions": arrays.dimensions, "angles": "radians" if angles else "none"},
        **common,
    )


def _not_beside(found: bool, key: str, what: str) -> None:
    if found:
        raise ValueError(f"{key}: found it beside {what}; expected None")


def _kept_names(ready: PreparedInput) -> pd.Index[Any]:
    kept = ready.items["kept"].to_numpy(dtype=bool)
    return pd.Index(ready.items.loc[kept, "name"].astype(str))
