"""Preparation of small tables: settings as a dict, and beyond the configuration's bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pairtile.config.preprocess import Preprocess
from pairtile.io.expression import Expression
from pairtile.preprocess import expression as preprocess


def prepare_expression(
    expression: Expression, settings: Mapping[str, Any] | None = None
) -> preprocess.Prepared:
    """``prepare_expression`` with ``min_samples`` of 1 or 2 too: tables of three samples show a
    rule."""
    return preprocess.prepare_expression(expression, Preprocess.model_construct(**(settings or {})))


def table(values: object) -> Expression:
    """Genes g0, g1, ... and samples s0, s1, ... of these values."""
    array = np.array(values, dtype=float)
    genes = [f"g{k}" for k in range(array.shape[0])]
    return Expression(array, genes, [f"s{k}" for k in range(array.shape[1])], "t.tsv")
