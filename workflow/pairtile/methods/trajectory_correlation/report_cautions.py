"""What to beware of when reading correlations of motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.trajectory_correlation.report_results import motion_results
from pairtile.report.formats import count, counted, number

if TYPE_CHECKING:
    from pairtile.report.results import Results

MANY = 20
"""Correlation times that a trajectory should at least be long."""


def cautions(results: Results) -> list[str]:
    """Warnings that the settings themselves give rise to, beyond those of the summary."""
    settings: dict[str, Any] = results.parameters.get("estimator") or {}
    parts = (_no_null, _no_window, _blind, _one_trajectory, _length, _not_superposed)
    return [text for part in parts if (text := part(results, settings))]


def _no_null(results: Results, settings: dict[str, Any]) -> str:
    if settings.get("surrogates"):
        return ""
    return (
        "There are no p-values (surrogates: 0). Two unrelated slow motions look correlated as long "
        "as the run is short beside their correlation time; only surrogates tell."
    )


def _no_window(results: Results, settings: dict[str, Any]) -> str:
    preset = settings.get("preset", "none")
    if settings.get("kind", "ksg") != "ksg" or preset == "none":
        return ""
    found = results.cached(motion_results)
    if found is None or float(found.residues["correlation_time"].median()) < 1.0:
        return ""
    return (
        f"The preset {preset} has no Theiler window: frames that follow each other count as "
        "neighbours, which raises all values where motion is slow. Compare with the surrogates’ "
        "mean (null_mean), not with 0."
    )


def _blind(results: Results, settings: dict[str, Any]) -> str:
    kind = settings.get("kind", "ksg")
    if kind == "dcc":
        return (
            "Dynamical cross-correlation does not see motions at right angles to each other or "
            "out of step, however strongly they depend on each other."
        )
    if kind == "bspline" and results.parameters.get("variables") == "displacements":
        return (
            "Displacements are distances from the mean position: the direction of motion, and most "
            "of the correlation with it, is lost. kind: ksg or gaussian use all three coordinates."
        )
    return ""


def _one_trajectory(results: Results, settings: dict[str, Any]) -> str:
    found = results.cached(motion_results)
    if results.counts.get("replicas", 1) > 1 or found is None:
        return ""
    few = int((found.residues["n_effective"] < 50).sum())
    if not few:
        return ""
    return (
        "This is one trajectory: whether another run of the same system would show the same "
        "correlations cannot be told from it. Replicas can."
    )


def _length(results: Results, settings: dict[str, Any]) -> str:
    """A run of fewer than twenty correlation times has seen each motion a handful of times."""
    found = results.cached(motion_results)
    if found is None:
        return ""
    frames = results.counts.get("frames", 0) / max(results.counts.get("replicas", 1), 1)
    tau = float(found.residues["correlation_time"].median())
    if not frames or frames >= MANY * tau:
        return ""
    return (
        f"A trajectory is only {number(frames / tau, 2)} correlation times long "
        f"({count(frames)} frames, median {number(tau, 2)}): it drifts from one state to another "
        "rather than moving about one. Correlations then show that drift."
    )


def _not_superposed(results: Results, settings: dict[str, Any]) -> str:
    parameters = results.parameters
    if parameters.get("variables") not in ("positions", "displacements"):
        return ""
    if parameters.get("fit") is not False:
        return ""
    n = counted(results.counts.get("variables", 0), results.text.item, results.text.items)
    return (
        f"Frames were not superposed (fit: false). Unless they were before, all {n} share the "
        "tumbling of the whole molecule, and look correlated for it."
    )
