"""One finished analysis for all tests of the report and of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from motion_reports import demo_analysis
from small_trajectories import adenylate_kinase_files


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an analysis with every table and figure; to be read, not written."""
    return demo_analysis(tmp_path_factory.mktemp("motion"))


@pytest.fixture(scope="session")
def adenylate_kinase() -> dict[str, Any]:
    """Topology and trajectory of its transition."""
    return adenylate_kinase_files()
