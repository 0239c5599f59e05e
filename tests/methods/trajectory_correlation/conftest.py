"""One finished analysis for all tests of the report and of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from motion_reports import demo_analysis


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an analysis with every table and figure; to be read, not written."""
    return demo_analysis(tmp_path_factory.mktemp("motion"))
