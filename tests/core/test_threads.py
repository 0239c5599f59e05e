"""Parts of a work by several threads: in order, within each other, with failures, after a fork."""

from __future__ import annotations

import multiprocessing

import numba
import pytest
from pairtile.runtime.threads import in_threads


@pytest.fixture(autouse=True)
def _two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)


def squares(number: int) -> list[int]:
    return list(in_threads(lambda k: k * k, range(number)))


def test_results_come_in_order_also_of_work_within_work() -> None:
    assert list(in_threads(squares, range(9))) == [[k * k for k in range(n)] for n in range(9)]


def test_a_failure_comes_out_and_leaves_nothing_running() -> None:
    done = []

    def work(part: int) -> int:
        done.append(part)
        return 1 // (part - 3)

    with pytest.raises(ZeroDivisionError):
        list(in_threads(work, range(100)))
    assert len(done) < 10
    at_failure = list(done)
    assert squares(5) == [0, 1, 4, 9, 16]
    assert done == at_failure


def test_a_forked_process_has_threads_of_its_own() -> None:
    assert squares(4) == [0, 1, 4, 9]
    with multiprocessing.get_context("fork").Pool(1) as forked:
        assert forked.apply_async(squares, (4,)).get(30) == [0, 1, 4, 9]
