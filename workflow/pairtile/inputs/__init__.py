"""Readers: expression tables, regulator lists, gold standards."""

from __future__ import annotations

from pairtile.inputs.expression import Expression, read_expression
from pairtile.inputs.gold_standard import read_gold_standard
from pairtile.inputs.regulators import match_regulators, read_regulators

__all__ = [
    "Expression",
    "match_regulators",
    "read_expression",
    "read_gold_standard",
    "read_regulators",
]
