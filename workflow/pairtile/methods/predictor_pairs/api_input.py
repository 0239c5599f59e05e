"""What the search for predictors is made from, given in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.prepare import as_expression
from pairtile.api.table import ExpressionTable, as_table
from pairtile.io.expression import Expression
from pairtile.methods.predictor_pairs.read_levels import Levels, levels_of
from pairtile.methods.predictor_pairs.read_series import Series
from pairtile.preprocess.expression import Prepared
from pairtile.simulate import BooleanSimulation

_SHOWN = 3


def one_table(
    expression: Any, levels: Any, *, orientation: str, layer: str | None
) -> ExpressionTable:
    """The table that was given, as expression or as levels; ValueError unless it is one."""
    if (expression is None) == (levels is None):
        found = "neither" if expression is None else "both"
        raise ValueError(f"expression, levels: found {found}; expected one of them")
    if isinstance(expression, BooleanSimulation):
        raise ValueError("expression: found levels of a simulation; expected levels=simulation")
    if levels is None:
        return as_table(expression, orientation=orientation, layer=layer)
    if isinstance(levels, BooleanSimulation):
        frame = pd.DataFrame(levels.levels, index=levels.genes, columns=levels.samples)
        return as_table(frame, name="levels")
    return as_table(levels, orientation=orientation, layer=layer, name="levels")


def expression_or_levels(
    table: ExpressionTable, expression: Any, quantize: Mapping[str, Any]
) -> Expression | Prepared | Levels:
    """The table as preparation takes it; without ``expression`` it holds levels.

    Raises
    ------
    ValueError
        Two genes whose labels are written alike.
    InputError
        Levels that are none, see ``levels_of``.
    """
    if isinstance(expression, Prepared):
        return expression
    given = as_expression(table, expression if isinstance(expression, Expression) else None)
    names = pd.Index(given.genes)
    if not names.is_unique:
        raise ValueError(
            f"{'levels' if expression is None else 'expression'}: found two genes that are written "
            f"{names[names.duplicated()][0]!r}; expected each name once"
        )
    if expression is not None:
        return given
    asked = quantize["levels"]
    return levels_of(
        replace(given, source="levels"), n_levels=None if asked == "auto" else int(asked)
    )


def series_of_samples(series: Any, table: ExpressionTable) -> Series | None:
    """The time series of each sample.

    Parameters
    ----------
    series
        None; or one label for each sample, in their order; or, for samples with names, a mapping
        or a pandas Series from sample to label.
    table
        Whose samples they are.

    Raises
    ------
    ValueError
        Labels of another number than there are samples; samples without a label; a mapping for
        samples without names.
    """
    if series is None:
        return None
    n_unused = 0
    if isinstance(series, pd.Series | Mapping):
        labels, n_unused = _by_name(pd.Series(series), table)
    else:
        if isinstance(series, str) or not isinstance(series, Sequence | np.ndarray | pd.Index):
            raise ValueError(
                f"series: found {series!r}; expected a label for each sample, or a mapping from "
                "sample to label"
            )
        labels = np.asarray(series)
        if labels.shape != (table.n_samples,):
            raise ValueError(
                f"series: found shape {labels.shape}; expected a label for each of "
                f"{table.n_samples} samples"
            )
    numbers, names = pd.factorize(labels)
    if (numbers < 0).any():
        missing = int((numbers < 0).sum())
        raise ValueError(f"series: found {missing} samples without a label; expected one for each")
    return Series(numbers.astype(np.int32), [str(name) for name in names], n_unused)


def _by_name(series: pd.Series[Any], table: ExpressionTable) -> tuple[NDArray[Any], int]:
    if table.samples is None:
        raise ValueError(
            "series: found labels by the name of the sample; expected a label for each sample, in "
            "their order, since the samples have no names"
        )
    if not series.index.is_unique:
        twice = series.index[series.index.duplicated()][0]
        raise ValueError(f"series: found sample {twice!r} more than once; expected each once")
    absent = table.samples[~table.samples.isin(series.index)]
    if len(absent):
        shown = ", ".join(map(repr, absent[:_SHOWN])) + (", ..." if len(absent) > _SHOWN else "")
        raise ValueError(
            f"series: found none for {len(absent)} of {table.n_samples} samples ({shown}); "
            "expected one for each sample, named as in the table"
        )
    return series.reindex(table.samples).to_numpy(), len(series) - table.n_samples
