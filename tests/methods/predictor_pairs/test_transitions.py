"""Time series: the table that names them, and the pairs of samples that follow from it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairtile.errors import InputError
from pairtile.methods.predictor_pairs.prepare import transitions
from pairtile.methods.predictor_pairs.read_input import read_series

SAMPLES = ["a1", "a2", "b1", "a3", "b2"]


def pairs(series: list[int], lag: int) -> list[tuple[int, int]]:
    found = transitions(np.array(series, dtype=np.int32), lag)
    assert found.source_samples.dtype == found.target_samples.dtype == np.int32
    return list(zip(found.source_samples.tolist(), found.target_samples.tolist(), strict=True))


@given(
    series=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    lag=st.integers(0, 5),
)
def test_transitions_are_those_of_each_series_by_itself(series: list[int], lag: int) -> None:
    numbers = np.array(series, dtype=np.int32)
    expected = []
    for k in sorted(set(series)):
        columns = [n for n, number in enumerate(series) if number == k]
        expected += list(zip(columns, columns[lag:], strict=False))
    if not expected:
        with pytest.raises(InputError):
            transitions(numbers, lag)
        return
    found = transitions(numbers, lag)
    assert pairs(series, lag) == expected
    assert found.series.tolist() == [series[a] for a, _ in expected]
    assert (np.diff(found.series) >= 0).all()
    lengths = [series.count(k) for k in set(series)]
    assert found.n_series == len(lengths)
    assert found.n_short == sum(n <= lag for n in lengths)
    assert len(found) == sum(max(n - lag, 0) for n in lengths)


@pytest.mark.parametrize(
    ("series", "lag", "message"),
    [
        ([0, 1, 2], 1, "s.tsv: found 3 series of at most 1 sample; expected a series of at"),
        ([0, 0, 1, 1], 2, "2 series of at most 2 samples; expected a series of at least 3"),
        (
            [0, 0, 0],
            3,
            "1 series of at most 3 samples; expected a series of at least 4 samples",
        ),
        ([0, 0, 0], 100, "for lag: 100 (set lag: 0 if the samples are no time series)"),
    ],
)
def test_series_that_are_all_too_short_are_an_error(
    series: list[int], lag: int, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        transitions(np.array(series, dtype=np.int32), lag, source="s.tsv")


def write(folder: Path, text: str, name: str = "series.tsv") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("header", ["", "sample\tseries\n", "# mine\nSample\tcourse\n"])
def test_series_are_numbered_in_the_order_of_the_table(tmp_path: Path, header: str) -> None:
    lines = ["b1\tB", "b2\tB", " a1\tA ", "a2\tA", "a3\tA", "", "a2\tA"]
    series = read_series(write(tmp_path, header + "\n".join(lines) + "\n"), SAMPLES)
    assert series.names == ["A", "B"]
    assert series.numbers.tolist() == [0, 0, 1, 0, 1]
    assert series.numbers.dtype == np.int32
    assert not series.notes


def test_a_sample_may_be_named_sample(tmp_path: Path) -> None:
    series = read_series(
        write(tmp_path, "sample,1\nother,2\nmore,2\n", "s.csv"), ["sample", "more"]
    )
    assert series.names == ["1", "2"]
    assert [note.numbers["n"] for note in series.notes] == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a1\tA\na2\n", "line 2: found 1 field; expected 2 (sample, series)"),
        ("a1\tA\t1\n", "line 1: found 3 fields; expected 2 (sample, series)"),
        ("a1\tA\na2\t\n", "line 2: found an empty name; expected sample and series"),
        ("a1\tA\na2\tA\na1\tB\n", "line 3: found sample 'a1' in series 'B', but in 'A' in line 1"),
        ("a1\tA\na2\tA\nb1\tB\n", "found no series for 2 of 5 samples ('a3', 'b2'); expected a li"),
        ("x\tA\ny\tA\n", "('a1', 'a2', 'b1', ...); the file names 'x', 'y', ..."),
        ("sample\tseries\n", "found no series for 5 of 5 samples"),
        ("", "an empty file"),
    ],
)
def test_bad_series_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_series(write(tmp_path, text), SAMPLES)
