"""Parts of a work by several threads: in order, within each other, with failures, after a fork."""

from __future__ import annotations

import multiprocessing
import threading

import numba
import numpy as np
import pytest
from pairtile.runtime.threads import in_background, in_threads, one_blas_thread
from threadpoolctl import threadpool_info, threadpool_limits


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


def blas_threads() -> set[int]:
    np.eye(2) @ np.eye(2)
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


def test_matrix_products_have_one_thread_in_each_and_get_theirs_back() -> None:
    with threadpool_limits(2, "blas"):
        parts = in_threads(lambda _: list(in_threads(lambda _: blas_threads(), range(2))), range(5))
        with one_blas_thread():  # ends before the threads do
            assert next(parts) == [{1}, {1}]
        assert list(parts) == [[{1}, {1}]] * 4
        assert blas_threads() == {2}
        for _ in zip(range(2), in_threads(lambda part: part, range(9)), strict=False):
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_work_in_the_background_begins_at_once_and_fails_where_its_result_is_asked_for() -> None:
    begun = threading.Event()

    def work() -> int:
        begun.set()
        return 1 // 0

    result = in_background(work)
    assert begun.wait(60)
    with pytest.raises(ZeroDivisionError):
        result()
    within = in_threads(lambda k: in_background(lambda: squares(k))(), range(5))
    assert list(within) == [squares(k) for k in range(5)]


def test_a_job_of_one_thread_does_background_work_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(numba, "get_num_threads", lambda: 1)
    done: list[int] = []
    result = in_background(lambda: done.append(threading.get_ident()))
    assert not done
    result()
    assert done == [threading.get_ident()]


def test_matrix_products_in_the_background_have_the_callers_threads() -> None:
    with threadpool_limits(2, "blas"):
        with one_blas_thread():
            assert in_background(blas_threads)() == {1}
        assert blas_threads() == {2}
