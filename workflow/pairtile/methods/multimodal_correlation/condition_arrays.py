"""Conditions of the samples as plain arrays, so that a file of arrays can hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.io.annotations import Condition

_NAMES, _KINDS = "condition_names", "condition_kinds"


def arrays_of_conditions(conditions: Sequence[Condition]) -> dict[str, NDArray[Any]]:
    """``condition_names`` and ``condition_kinds`` (C,) and, for condition k from 0,
    ``condition_k_labels``, ``condition_k_codes`` and ``condition_k_numbers`` (S,)."""
    arrays: dict[str, NDArray[Any]] = {
        _NAMES: np.array([each.name for each in conditions], dtype=np.str_),
        _KINDS: np.array([each.kind for each in conditions], dtype=np.str_),
    }
    for k, each in enumerate(conditions):
        arrays[f"condition_{k}_labels"] = np.array(each.labels, dtype=np.str_)
        arrays[f"condition_{k}_codes"] = each.codes
        arrays[f"condition_{k}_numbers"] = each.numbers
    return arrays


def conditions_of_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[Condition]:
    """What ``arrays_of_conditions`` was given; none where the arrays hold no conditions."""
    if _NAMES not in arrays:
        return []
    return [
        Condition(
            str(name),
            str(kind),
            tuple(str(label) for label in arrays[f"condition_{k}_labels"]),
            np.asarray(arrays[f"condition_{k}_codes"]),
            np.asarray(arrays[f"condition_{k}_numbers"]),
        )
        for k, (name, kind) in enumerate(zip(arrays[_NAMES], arrays[_KINDS], strict=True))
    ]
