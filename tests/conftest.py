"""Fixtures and rules common to all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def cuda_problem() -> str:
    """Why CUDA cannot be used here; empty when it can."""
    from pairtile.device import _cuda_problem

    return _cuda_problem()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip ``gpu`` tests, saying why, where there is no usable GPU; leave out the long ``faults``
    tests unless -m asks for them."""
    if "faults" not in config.getoption("markexpr"):
        long = [item for item in items if item.get_closest_marker("faults")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    marked = [item for item in items if item.get_closest_marker("gpu")]
    problem = cuda_problem() if marked else ""
    if problem:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {problem}"))


@pytest.fixture
def shared() -> Path:
    """Folder of reference data; tests that need it skip where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the reference data in {SHARED.name}/ beside the checkout")
    return SHARED
