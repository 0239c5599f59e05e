"""Fixtures and rules common to all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fuzz
import pytest
from browser_page import Page, browser
from hypothesis import settings
from paths import SHARED

# Machines are shared: how long a case takes says nothing. On top of what hypothesis itself chooses.
settings.register_profile("pairtile", settings(deadline=None, print_blob=True))
settings.load_profile("pairtile")

CASES = "fuzz cases"


def cuda_problem() -> str:
    """Why CUDA cannot be used here; empty when it can."""
    from pairtile.gpu.device import _cuda_problem

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


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """An empty browser that saves into ``tmp_path``; at the end, nothing must have complained or
    left the machine."""
    with browser(tmp_path / "profile") as opened:
        opened.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
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
