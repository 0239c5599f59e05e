"""The modes of pairs of genes: Gaussian mixtures and the correlation of each mode (Shealy et al.
2019, with the faults of its program mended; ``compatibility: kinc`` has them as they are).

Arrays in, arrays out. What is computed, and in which order, is said in ``kernels/pair_mixtures``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import Device
from pairtile.methods.multimodal_correlation import mixture_settings as constants
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures import (
    HISTOGRAM_BINS,
    MAX_CLUSTERS,
    Genes,
    Rules,
)
from pairtile.methods.multimodal_correlation.kernels.pair_mixtures_start import MAX_RESTARTS
from pairtile.methods.multimodal_correlation.mixture_genes import mixture_genes

CRITERIA = ("aic", "bic", "icl")


@dataclass(frozen=True)
class MixtureSettings:
    """What is fitted, and which modes are kept; the keys of the configuration's ``estimator``."""

    clustering: str = "gmm"
    correlation: str = "spearman"
    min_clusters: int = 1
    max_clusters: int = 5
    criterion: str = "icl"
    min_samples: int = 30
    min_correlation: float = 0.5
    max_correlation: float = 1.0
    min_expression: float | None = None
    max_expression: float | None = None
    outliers_before: bool = True
    outliers_after: bool = True
    restarts: int = 3
    compatibility: str = "none"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("clustering", ("gmm", "none")),
            ("correlation", ("pearson", "spearman")),
            ("criterion", CRITERIA),
            ("compatibility", ("none", "kinc")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; expected one of {', '.join(allowed)}"
                )
        if not 1 <= self.min_clusters <= self.max_clusters <= MAX_CLUSTERS:
            raise ValueError(
                f"min_clusters and max_clusters are {self.min_clusters} and {self.max_clusters}; "
                f"expected 1 to {MAX_CLUSTERS}, the first not above the second"
            )
        if not 0.0 <= self.min_correlation <= self.max_correlation <= 1.0:
            raise ValueError(
                f"min_correlation and max_correlation are {self.min_correlation} and "
                f"{self.max_correlation}; expected 0 to 1, the first not above the second"
            )
        if self.min_samples < 1:
            raise ValueError(f"min_samples is {self.min_samples}; expected 1 or more")
        if not 1 <= self.restarts <= MAX_RESTARTS:
            raise ValueError(f"restarts is {self.restarts}; expected 1 to {MAX_RESTARTS}")

    @classmethod
    def from_section(cls, config: MultimodalCorrelationConfig, seed: int) -> MixtureSettings:
        """The settings of a method's section of the configuration."""
        estimator = config["estimator"]
        known = {f.name for f in fields(cls)} - {"compatibility", "seed"}
        return cls(
            **{name: value for name, value in estimator.items() if name in known},
            compatibility=config.get("compatibility", "none"),
            seed=seed,
        )

    @property
    def kinc(self) -> bool:
        """Whether KINC's results are wanted as they are."""
        return self.compatibility == "kinc"

    def rules(self) -> Rules:
        """The settings and constants as the kernels take them."""
        plain = self.kinc
        single = np.float32
        return Rules(
            mixture=self.clustering == "gmm",
            spearman=self.correlation == "spearman",
            k_min=self.min_clusters,
            k_max=self.max_clusters,
            criterion=CRITERIA.index(self.criterion),
            min_samples=self.min_samples,
            min_correlation=float(self.min_correlation),
            max_correlation=float(self.max_correlation),
            outliers_before=self.outliers_before,
            outliers_after=self.outliers_after,
            restarts=self.restarts,
            kinc=plain,
            seed=np.uint64(self.seed % (1 << 64)),
            short_steps=constants.SHORT_STEPS,
            limit=constants.KINC_LIMIT if plain else constants.LIMIT,
            degenerate=constants.DEGENERATE,
            least=single(0.0 if plain else constants.LEAST_SAMPLES),
            ridge=single(0.0 if plain else constants.RIDGE),
            prior_n=single(0.0 if plain else constants.PRIOR_SAMPLES),
            tolerance=single(constants.TOLERANCE),
            prior_scatter=single(0.0 if plain else constants.PRIOR_SCATTER),
        )


@dataclass
class Modes:
    """The kept modes of a tile's pairs, sorted by (row, column, cluster), and its counts.

    Arrays have one entry for each mode; ``samples`` and ``outliers`` are bit masks (entries,
    ceil(S / 8)), sample 0 in the highest bit of byte 0. Means, variances and covariance are those
    of the component, in units of the values. ``counts`` are of all pairs; ``histogram_k`` int64
    (6,), pairs by number of modes; ``histogram_r`` int64 (200,), correlations of modes with enough
    samples, kept or not, in bins of 0.01 from -1.
    """

    row: NDArray[np.int32]
    column: NDArray[np.int32]
    cluster: NDArray[np.int32]
    n_clusters: NDArray[np.int32]
    n_samples: NDArray[np.int32]
    n_modes: NDArray[np.int32]
    n_usable: NDArray[np.int32]
    correlation: NDArray[np.float32]
    weight: NDArray[np.float32]
    mean_row: NDArray[np.float32]
    mean_column: NDArray[np.float32]
    variance_row: NDArray[np.float32]
    variance_column: NDArray[np.float32]
    covariance: NDArray[np.float32]
    log_likelihood: NDArray[np.float32]
    criterion: NDArray[np.float32]
    samples: NDArray[np.uint8]
    outliers: NDArray[np.uint8]
    counts: dict[str, int] = field(default_factory=dict)
    histogram_k: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(MAX_CLUSTERS + 1, dtype=np.int64)
    )
    histogram_r: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(HISTOGRAM_BINS, dtype=np.int64)
    )

    def __len__(self) -> int:
        return len(self.row)


class PairMixtures:
    """Finds the modes of the pairs of one expression table.

    values : float64 (genes, samples), NaN where missing
    keys : uint64 (genes,), one number for each name; the same table in another order of genes gives
    the same modes.
    threads : of the CPU; by default all that the process may use
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        keys: NDArray[np.uint64],
        settings: MixtureSettings,
        device: Device,
        threads: int | None = None,
    ) -> None:
        self.settings = settings
        self._engine: Any
        if device.backend == "cuda":
            from pairtile.methods.multimodal_correlation.pair_mixtures_cuda import MixturesCuda

            self._engine = MixturesCuda(values, keys, settings, device)
        else:
            from pairtile.methods.multimodal_correlation.pair_mixtures_cpu import MixturesCpu

            self._engine = MixturesCpu(values, keys, settings, threads)

    def tile(self, rows: NDArray[np.int64], columns: NDArray[np.int64], upper: bool) -> Modes:
        """The modes of every gene of ``rows`` with every gene of ``columns``.

        ``row`` and ``column`` of the result are places in these two. upper: ``columns`` is
        ``rows``, and only pairs with column > row are asked for.
        """
        modes: Modes = self._engine.tile(rows, columns, upper)
        return modes


def prepared_genes(
    values: NDArray[np.float64], keys: NDArray[np.uint64], settings: MixtureSettings
) -> Genes:
    """The genes as both backends take them."""
    return mixture_genes(
        values, keys, settings.min_expression, settings.max_expression, single=settings.kinc
    )
