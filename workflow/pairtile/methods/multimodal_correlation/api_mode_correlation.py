"""What ``multimodal_correlation`` returns: the modes of all pairs, their samples, the network."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.settings import analysis_config
from pairtile.engine.estimator import Merged
from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation.api_annotations import conditions_of
from pairtile.methods.multimodal_correlation.api_mode_network import ModeNetwork, network_of_modes
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.mode_samples import packed_masks
from pairtile.methods.multimodal_correlation.network import MASKS
from pairtile.methods.multimodal_correlation.pair_modes import PairModes

_OF_SECTION = ("compatibility", "estimator")


@dataclass(frozen=True, repr=False)
class ModeCorrelation:
    """The stored modes of all pairs of genes.

    Attributes
    ----------
    modes : DataFrame
        A row for each mode, by source, target and cluster: the columns of ``pairs.parquet`` but for
        the masks, with labels ``source`` and ``target`` in place of ``i`` and ``j``.
    items : DataFrame
        A row for each gene of the input: kept or why not.
    samples : Index
        Labels of the samples (numbers for an array).
    pairs_by_modes : Series
        Pairs by their number of modes, 0 first.
    modes_by_correlation : Series
        Modes with enough samples, stored or not, by the lower end of their bin of correlations.
    counts, notes, warnings, device, settings
        How it came about.
    """

    modes: pd.DataFrame
    items: pd.DataFrame
    samples: pd.Index[Any]
    labels: pd.Index[Any]
    pairs_by_modes: pd.Series
    modes_by_correlation: pd.Series
    merged: Merged
    state: Mapping[str, NDArray[Any]]
    computed_on: Device
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = int(self.pairs_by_modes.sum())
        return (
            f"ModeCorrelation: {len(self.modes):,} modes of {pairs:,} pairs of "
            f"{len(self.labels):,} genes, {len(self.samples):,} samples"
        )

    @property
    def device(self) -> str:
        """Where the modes were computed."""
        return self.computed_on.name

    def members(self, modes: pd.DataFrame | None = None) -> pd.DataFrame:
        """Which samples are in each mode, bool, a row for each mode and a column for each sample.

        modes : some rows of ``modes`` (a table with its index); None: all.
        """
        return self._bits("samples", modes)

    def outliers(self, modes: pd.DataFrame | None = None) -> pd.DataFrame:
        """Which samples were taken away as outliers of each mode's pair; as ``members``."""
        return self._bits("outliers", modes)

    def pair(self, first: Any, second: Any) -> PairModes:
        """Values and modes of two genes, to look at or to draw
        (``pairtile.methods.multimodal_correlation.figures_modes.pair_scatter``).

        Raises ValueError for a gene that is not there, and for a pair without a stored mode.
        """
        numbers = self.labels.get_indexer(pd.Index([first, second]))
        for name, number in zip((first, second), numbers, strict=True):
            if number < 0:
                raise ValueError(f"gene: found {name!r}; expected one of {len(self.labels)} kept")
        i, j = sorted(int(number) for number in numbers)
        stored = self.merged.pairs
        rows = stored[(stored["i"] == i) & (stored["j"] == j)]
        values = self.state["values"]
        return PairModes.of(rows, values[i], values[j], (str(self.labels[i]), str(self.labels[j])))

    def network(
        self,
        threshold: str | float | Mapping[str, Any] = "rmt",
        *,
        power: Mapping[str, float] | bool = True,
        annotations: Any = None,
        conditions: Sequence[str | Mapping[str, Any]] = (),
        condition_networks: Mapping[str, float] | None = None,
        modules: Mapping[str, Any] | bool = True,
    ) -> ModeNetwork:
        """Make a network of the modes that are strong enough, as the workflow does.

        Parameters
        ----------
        threshold : {"rmt", "power_law", "none"}, float or mapping
            Least size of an edge's correlation: sought by random matrix theory or the power law,
            none, or given; or a mapping with the keys of the configuration's ``threshold``.
        power : mapping or bool
            ``{"alpha": 0.001, "power": 0.8}``: leave out modes with too few samples for their
            correlation. True: with these values. False: do not.
        annotations : DataFrame or path, optional
            What is known of the samples, in rows, such as ``adata.obs``: edges are then tested for
            what their samples have in common.
        conditions : sequence
            Columns to test: names, or mappings with ``name``, ``kind`` and ``levels``. Empty: all
            that can be tested.
        condition_networks : mapping, optional
            ``{"q_value": 0.001, "r_squared": 0.3}``: limits of condition-specific networks.
        modules : mapping or bool
            ``{"method": "leiden", "resolution": 1.0}`` or ``"link_communities"``. True: with these
            values. False: none.

        Returns
        -------
        ModeNetwork
            What needs attention, as a threshold that was not found, is also issued as a warning.

        Raises
        ------
        ValueError
            Settings that are not allowed; annotations of another kind.
        InputError
            Annotations that do not fit the samples; link communities of too large a network.
        """
        asked: Any = threshold
        if isinstance(threshold, str):
            asked = {"method": threshold}
        elif not isinstance(threshold, Mapping):
            asked = {"method": "score", "score": threshold}
        config = analysis_config(
            MultimodalCorrelationConfig,
            threshold=asked,
            power={} if power is True else power,
            annotations=None if annotations is None else "annotations",
            conditions=list(conditions),
            condition_networks=condition_networks or {},
            modules={} if modules is True else modules,
            **{key: self.settings[key] for key in _OF_SECTION},
        )
        found = None
        if annotations is not None:
            found = conditions_of(annotations, self.state["samples"].tolist(), config["conditions"])
        made = network_of_modes(
            config, self.state, self.merged, self.computed_on, found, self.labels
        )
        for caution in made.warnings:
            warnings.warn(caution, stacklevel=2)
        return made

    def _bits(self, column: str, modes: pd.DataFrame | None) -> pd.DataFrame:
        assert column in MASKS
        chosen = self.modes.index if modes is None else modes.index
        stored = self.merged.pairs[column].iloc[chosen].tolist()
        bits = np.unpackbits(
            packed_masks(stored, len(self.samples)), axis=1, count=len(self.samples)
        )
        return pd.DataFrame(bits.astype(bool), index=chosen, columns=self.samples, copy=False)
