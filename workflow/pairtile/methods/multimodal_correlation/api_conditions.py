"""Tests of what the samples of modes have in common, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pairtile.api.settings import analysis_config
from pairtile.methods.multimodal_correlation.api_annotations import conditions_of
from pairtile.methods.multimodal_correlation.api_mode_correlation import ModeCorrelation
from pairtile.methods.multimodal_correlation.condition_tests import condition_tests as run_tests
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.network import mode_samples


def condition_tests(
    found: ModeCorrelation,
    annotations: Any,
    conditions: Sequence[str | Mapping[str, Any]] = (),
    *,
    modes: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Test modes against what is known of their samples.

    ``ModeCorrelation.network`` makes these tests for the edges of a network; this is for any modes.
    q-values are over the modes that are tested together.

    Parameters
    ----------
    found : ModeCorrelation
        What :func:`multimodal_correlation` returned.
    annotations : DataFrame or path
        Samples in rows, what is known of them in columns, such as ``adata.obs``.
    conditions : sequence
        Columns to test: names, or mappings with ``name``, ``kind`` ("categorical", "ordinal",
        "quantitative" or "auto") and ``levels``. Empty: all that can be tested.
    modes : DataFrame, optional
        Some rows of ``found.modes``; None: all.

    Returns
    -------
    DataFrame, a row for each mode and test
        ``source``, ``target``, ``cluster``, ``condition``, ``label``, ``test`` ("enrichment":
        hypergeometric, of a label; "regression": F-test of the linear model of both genes and their
        product), ``n``, ``n_mode``, ``n_label``, ``n_both``, ``p_value``, ``q_value`` (Benjamini
        and Hochberg, over all modes and labels of the condition), ``r_squared``. NaN where there
        was nothing to test.

    Raises
    ------
    ValueError
        Annotations of another kind; settings that are not allowed.
    InputError
        Annotations that do not fit the samples.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from pairtile import multimodal_correlation
    >>> random = np.random.default_rng(3)
    >>> treated, hidden = np.arange(100) < 50, random.normal(size=100)
    >>> pair = np.stack([hidden, np.where(treated, hidden, -hidden)]) + 6.0 * treated
    >>> found = multimodal_correlation(pair, max_clusters=2, preprocess={"log2": False})
    >>> samples = pd.DataFrame({"treated": treated})
    >>> tests = condition_tests(found, samples)
    >>> tests[["cluster", "label", "n_mode", "n_both"]].values.tolist()
    [[1, 'False', 50, 50], [1, 'True', 50, 0], [2, 'False', 47, 0], [2, 'True', 47, 47]]
    """
    config = analysis_config(
        MultimodalCorrelationConfig,
        annotations="annotations",
        conditions=list(conditions),
        estimator=found.settings["estimator"],
        compatibility=found.settings["compatibility"],
    )
    asked = conditions_of(annotations, found.state["samples"].tolist(), config["conditions"])
    chosen = found.modes if modes is None else found.modes.loc[modes.index]
    stored = found.merged.pairs.iloc[chosen.index]
    tests = run_tests(mode_samples(config, found.state, stored), asked.conditions)
    return tests.table(chosen[["source", "target", "cluster"]])
