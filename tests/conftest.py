"""Fixtures and rules common to all tests."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzz
import pandas as pd
import pytest
from browser_page import Page, browser
from compile_once import compile_once
from hypothesis import is_hypothesis_test, settings
from paths import SHARED
from threadpoolctl import threadpool_limits

# Machines are shared: how long a case takes says nothing. On top of what hypothesis itself chooses.
settings.register_profile("pairtile", settings(deadline=None, print_blob=True))
settings.load_profile("pairtile")

ALL_EXAMPLES = "HYPOTHESIS_PROFILE" in os.environ
"""Whether property tests try all the examples that they ask for (``make nightly``)."""

LEFT_OUT = ("faults", "install", "nightly", "complete")
"""Marks of tests that run only when -m asks for the first of these that they have."""

LONG_FOLDERS = ("tests/methods", "tests/workflow")

CASES = "fuzz cases"


def cuda_problem() -> str:
    """Why CUDA cannot be used here; empty when it can."""
    from pairtile.gpu.device import _cuda_problem

    return _cuda_problem()


def pytest_configure(config: pytest.Config) -> None:
    """Workers compile each kernel once and have one thread for matrix products; pandas 2 (Python
    3.11) gives read-only arrays, as pandas 3 does, here and in the programs that tests start."""
    os.environ["PANDAS_COPY_ON_WRITE"] = "1"
    pd.set_option("mode.copy_on_write", True)
    # Python's own limits are of small programs: here a look at all objects takes 0.1 s.
    gc.set_threshold(50_000, 20, 100)
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    if session:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        threadpool_limits(1, "blas")
        compile_once(Path(tempfile.gettempdir()) / f"pairtile_tests_{session}")


def left_out_by(item: pytest.Item) -> str:
    """The mark that -m has to ask for; empty where the test always runs."""
    marks = {mark.name for mark in item.iter_markers()}
    return next((name for name in LEFT_OUT if name in marks), "")


def try_fewer_examples(test: Any) -> None:
    """Let a property test try a quarter of the examples that it asks for, but ten."""
    asked = test._hypothesis_internal_use_settings
    fewer = min(asked.max_examples, max(10, asked.max_examples // 4))
    test._hypothesis_internal_use_settings = settings(asked, max_examples=fewer)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long tests unless -m asks for them, mark property tests, and skip ``gpu``
    tests, saying why, where there is no usable GPU. Folders of long files come first: a long one at
    the end would have one worker busy and the others waiting."""
    asked = config.getoption("markexpr")
    long = [item for item in items if (mark := left_out_by(item)) and mark not in asked]
    config.hook.pytest_deselected(items=long)
    left_out = set(long)
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: not item.nodeid.startswith(LONG_FOLDERS))
    properties = {getattr(item, "obj", None) for item in items}
    for test in filter(is_hypothesis_test, properties):
        if not ALL_EXAMPLES:
            try_fewer_examples(test)
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("property")
    marked = [item for item in items if item.get_closest_marker("gpu")]
    problem = cuda_problem() if marked else ""
    if problem:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {problem}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note how many cases a fuzz test tried, whether it fails or not."""
    before = fuzz.TRIED
    try:
        yield
    finally:
        if before < fuzz.TRIED:
            item.user_properties.append((CASES, fuzz.TRIED - before))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Of many random cases: say how many there were, of each test and in all."""
    if not fuzz.NIGHTLY:
        return
    reports = [report for some in terminalreporter.stats.values() for report in some]
    tried = {
        report.nodeid: number
        for report in reports
        for name, number in getattr(report, "user_properties", ())
        if name == CASES
    }
    terminalreporter.section(CASES)
    for test, number in sorted(tried.items()):
        terminalreporter.write_line(f"{number:7,d}  {test}")
    terminalreporter.write_line(f"{sum(tried.values()):7,d}  in all")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The one browser of this worker."""
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(chromium: Page, tmp_path: Path) -> Iterator[Page]:
    """An empty page that saves into ``tmp_path``; at the end, nothing must have complained or left
    the machine."""
    with chromium.fresh(tmp_path) as opened:
        yield opened
        assert opened.complaints == []
        assert opened.ask("document.documentElement.dataset.errors") is None
        assert {url.split(":")[0] for url in opened.requests} <= {"file", "data", "blob"}


@pytest.fixture
def shared() -> Path:
    """Folder of reference data; tests that need it skip where it is missing."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the reference data in {SHARED.name}/ beside the checkout")
    return SHARED
