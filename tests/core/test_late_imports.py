"""What a run imports though it does not need it, every job waits for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pairtile.method import methods


@pytest.mark.parametrize("method", list(methods()))
def test_that_no_step_loads_the_statistics_of_scipy_before_it_calls_them(method: str) -> None:
    """``scipy.stats`` is half a second: four hundred modules."""
    script = f"""
import pkgutil, sys
import pairtile.steps
from pairtile.method import get_method
for module in pkgutil.iter_modules(pairtile.steps.__path__, "pairtile.steps."):
    __import__(module.name)
for part in ("score", "report"):
    get_method({method!r}).part(part)
import pairtile.downstream.charts, pairtile.report.page
assert "matplotlib" in sys.modules  # the page is there
print("scipy.stats" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
