"""Tests that run on the CPU and, where there is one, on the GPU."""

from __future__ import annotations

import pytest

both_backends = pytest.mark.parametrize(
    "backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)
