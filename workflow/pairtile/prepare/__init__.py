"""Preparation: from a table as it was read to values that can be scored."""

from __future__ import annotations

from pairtile.prepare.expression import Prepared, prepare_expression

__all__ = ["Prepared", "prepare_expression"]
