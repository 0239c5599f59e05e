"""The network of modes that a threshold and a power filter leave, with tests and modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.estimator import Merged
from pairtile.gpu.device import Device
from pairtile.io.annotations import Annotations, Condition
from pairtile.methods.multimodal_correlation.condition_networks import condition_networks
from pairtile.methods.multimodal_correlation.condition_tests import ConditionTests, condition_tests
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.network import (
    MASKS,
    mode_samples,
    modes_of_edges,
    multimodal_network,
)
from pairtile.methods.multimodal_correlation.tables import module_rows


@dataclass(frozen=True, repr=False)
class ModeNetwork:
    """A multimodal co-expression network.

    Attributes
    ----------
    edges : DataFrame
        A row for each mode that passed, strongest ``|correlation|`` first: the columns of
        ``network.parquet``.
    threshold : float or None
        Least size of an edge's correlation; None where none was found (``message`` says why).
    curve, spacings : DataFrame
        The walk to the threshold, and spacings of eigenvalues; empty for a given threshold.
    tests : DataFrame
        Every edge against every condition: the columns of ``condition_tests.tsv``.
    condition_networks, condition_counts : DataFrame
        The edges of each condition's network, and their numbers by label.
    modules : DataFrame
        ``gene``, ``module``, ``degree``, ``degree_in_module``.
    conditions : list of Condition
        Of the samples, as they were tested.
    counts, notes, warnings
        How it came about.
    """

    edges: pd.DataFrame
    threshold: float | None
    message: str
    curve: pd.DataFrame
    spacings: pd.DataFrame
    tests: pd.DataFrame
    condition_networks: pd.DataFrame
    condition_counts: pd.DataFrame
    modules: pd.DataFrame
    conditions: list[Condition]
    counts: dict[str, int]
    notes: list[str]
    warnings: list[str]

    def __repr__(self) -> str:
        genes = pd.unique(self.edges[["source", "target"]].to_numpy().ravel())
        return (
            f"ModeNetwork: {len(self.edges):,} edges between {len(genes):,} genes; {self.message}"
        )


def network_of_modes(
    config: MultimodalCorrelationConfig,
    state: Mapping[str, NDArray[Any]],
    merged: Merged,
    device: Device,
    annotations: Annotations | None,
    labels: pd.Index[Any],
) -> ModeNetwork:
    """The network of stored modes, by the rules of ``config``; genes as ``labels`` names them."""
    config = config.model_copy(update={"annotations": None})
    made = multimodal_network(config, state, merged, device, annotations)
    numbered = made.edges.rename(columns={"source": "i", "target": "j"})
    edges = named_ends(made.edges, labels)
    tests, tested = ConditionTests([], {}), edges[["source", "target", "cluster"]]
    if annotations is not None:
        masks = modes_of_edges(merged, numbered)[list(MASKS)]
        samples = mode_samples(config, state, pd.concat([numbered, masks], axis=1))
        tests = condition_tests(samples, annotations.conditions)
    chosen = condition_networks(edges, tests, **config["condition_networks"])
    modules = pd.DataFrame(columns=["gene", "module", "degree", "degree_in_module"])
    if config["modules"]:
        modules = module_rows(config["modules"], numbered, labels.to_numpy())
    return ModeNetwork(
        edges=edges,
        threshold=made.threshold["correlation"],
        message=str(made.threshold["message"]),
        curve=_columns(made.arrays, "curve_"),
        spacings=_columns(made.arrays, "spacings_"),
        tests=tests.table(tested),
        condition_networks=chosen.edges.drop(columns="mode"),
        condition_counts=chosen.counts,
        modules=modules,
        conditions=[] if annotations is None else annotations.conditions,
        counts=made.counts,
        notes=made.notes,
        warnings=made.warnings,
    )


def named_ends(edges: pd.DataFrame, labels: pd.Index[Any]) -> pd.DataFrame:
    """``edges`` with labels of genes in place of the numbers in source and target."""
    ends = {end: labels[edges[end].to_numpy(dtype=np.int64)] for end in ("source", "target")}
    return edges.assign(**ends)


def _columns(arrays: Mapping[str, NDArray[Any]], prefix: str) -> pd.DataFrame:
    found = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return pd.DataFrame({name.removeprefix(prefix): array for name, array in found.items()})
