"""Times of samples: ties, gaps, uneven steps, units, order; the same from files and in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from message_codes import codes
from pairtile.config.load import load_config
from pairtile.errors import ConfigError, InputError
from pairtile.io.text_file import is_number
from pairtile.methods.predictor_pairs.prepare import PreparedPredictors, prepare_predictors

SETTINGS: dict[str, Any] = {
    "method": "predictor_pairs",
    "preprocess": {"log2": False, "normalize": "none", "min_samples": 3},
    "quantize": {"levels": 2},
    "estimator": {"cardinality": 1, "penalty": "none"},
    "null": {"permutations": 9},
}


def course(times: list[float], replicates: int = 1, seed: int = 1) -> pd.DataFrame:
    """g1 follows g0 one time later, exactly, in each replicate; samples r0_t0, r1_t0, ..."""
    random = np.random.default_rng(seed)
    levels = random.integers(0, 2, (5, len(times), replicates))
    levels[1, 1:] = levels[0, :-1]
    values = levels.reshape(5, -1) + random.normal(0, 0.02, (5, len(times) * replicates))
    samples = [f"r{r}_t{k}" for k in range(len(times)) for r in range(replicates)]
    return pd.DataFrame(values, [f"g{k}" for k in range(5)], samples)


def annotations(times: list[Any], replicates: int = 1) -> pd.DataFrame:
    rows = [(f"r{r}_t{k}", t, f"s{r}") for k, t in enumerate(times) for r in range(replicates)]
    return pd.DataFrame(rows, columns=["sample", "time", "subject"])


def prepared(
    folder: Path, table: pd.DataFrame, about: pd.DataFrame, samples: dict[str, Any], **more: Any
) -> PreparedPredictors:
    table.to_csv(folder / "table.tsv", sep="\t", index_label="gene")
    about.to_csv(folder / "about.tsv", sep="\t", index=False)
    section = SETTINGS | {"expression": str(folder / "table.tsv")} | more
    section["samples"] = {"annotations": str(folder / "about.tsv"), **samples}
    return prepare_predictors(load_config({"analyses": {"a": section}}).analyses["a"])


def follows(found: PreparedPredictors) -> bool:
    """Whether g1 is g0 one transition before, in all of them."""
    before = found.levels[0, found.transitions.source_samples]
    return bool((found.levels[1, found.transitions.target_samples] == before).all())


def test_samples_of_one_series_at_one_time_are_refused_with_the_columns_that_cure_it(
    tmp_path: Path,
) -> None:
    times: list[float] = list(range(9))
    table, about = course(times, 4), annotations(times, 4)
    with pytest.raises(InputError) as refused:
        prepared(tmp_path, table, about, {"time": "time"})
    for part in ("about.tsv: line 3", "'r1_t0'", "'r0_t0'", "36 of 36", "samples.series ('subj"):
        assert part in str(refused.value)
    assert "samples.replicate ('time')" in str(refused.value)
    by_course = prepared(tmp_path, table, about, {"time": "time", "series": "subject"})
    assert by_course.counts["transitions"] == 32
    assert follows(by_course)
    averaged = prepared(tmp_path, table, about, {"time": "time", "replicate": "time"})
    assert averaged.counts["transitions"] == 8
    np.testing.assert_allclose(
        averaged.values[0], table.loc["g0"].to_numpy().reshape(9, 4).mean(axis=1)
    )


def test_a_single_tie_in_one_of_several_series_is_refused(tmp_path: Path) -> None:
    about = annotations([0, 2, 4, 8], 3)
    about.loc[about["sample"] == "r1_t3", "time"] = 4
    with pytest.raises(InputError, match=r"2 of 12 samples share their time"):
        prepared(tmp_path, course([0, 2, 4, 8], 3), about, {"time": "time", "series": "subject"})


def test_ties_are_looked_for_within_the_series_of_a_file_too(tmp_path: Path) -> None:
    table, about = course([0, 1, 2, 3], 2), annotations([0, 1, 2, 3], 2)
    about[["sample", "subject"]].to_csv(
        tmp_path / "series.tsv", sep="\t", index=False, header=False
    )
    found = prepared(tmp_path, table, about, {"time": "time"}, series=str(tmp_path / "series.tsv"))
    same = prepared(tmp_path, table, about, {"time": "time", "series": "subject"})
    assert found.samples == same.samples
    assert (
        found.transitions.series.tolist() == same.transitions.series.tolist() == [0] * 3 + [1] * 3
    )
    assert follows(found)


def test_uneven_steps_are_counted_and_warned_of(tmp_path: Path) -> None:
    times = [0, 1, 2, *range(4, 17), 24, 48]
    found = prepared(tmp_path, course(times), annotations(times), {"time": "time"})
    assert codes(found.warnings) == ["uneven_steps"]
    numbers = found.warnings[0].numbers  # type: ignore[attr-defined]
    assert (numbers["transitions"], numbers["of_step"], numbers["step"]) == (17, 14, 1.0)
    assert (numbers["shortest"], numbers["longest"]) == (1.0, 24.0)
    assert numbers["lengths"] == "1 (14), 2 (1), 8 (1), 24 (1)"


@pytest.mark.parametrize(
    "times", [[0, 5, 10, 15, 20], [0.1, 0.2, 0.3, 0.4, 0.5], [0, 98, 201, 300]]
)
def test_even_steps_are_not_warned_of(tmp_path: Path, times: list[float]) -> None:
    found = prepared(tmp_path, course(times), annotations(times), {"time": "time"})
    assert not found.warnings


@pytest.mark.parametrize(
    ("times", "step", "lag", "kept", "left_out"),
    [
        ([0, 1, 2, *range(4, 17), 24, 48], {"time": 1, "tolerance": 0.1}, 1, 14, 3),
        ([0, 1, 2, *range(4, 17), 24, 48], {"time": 1, "tolerance": 0.1}, 2, 12, 4),
        ([0, 0.5, 2.4, 4.5, 6.6, 20, 22], {"time": 2, "tolerance": 0.5}, 1, 4, 2),
        ([0.1, 0.2, 0.3, 0.4, 0.9], {"time": 0.1}, 1, 3, 1),
    ],
)
def test_steps_can_be_held_to_a_length(
    tmp_path: Path,
    times: list[float],
    step: dict[str, float],
    lag: int,
    kept: int,
    left_out: int,
) -> None:
    found = prepared(
        tmp_path, course(times), annotations(times), {"time": "time", "step": step}, lag=lag
    )
    assert found.counts["transitions"] == kept == len(found.transitions)
    assert found.counts["transitions_left_out"] == left_out
    lengths = (
        np.array(times)[found.transitions.target_samples]
        - np.array(times)[found.transitions.source_samples]
    )
    assert (np.abs(lengths - lag * step["time"]) <= lag * step.get("tolerance", 0) + 1e-9).all()
    assert "uneven_steps" not in codes(found.warnings)
    assert "steps_left_out" in codes(found.notes)


def test_a_step_needs_times() -> None:
    section = SETTINGS | {"expression": "t.tsv"}
    section["samples"] = {"annotations": "a.tsv", "step": {"time": 2}}
    with pytest.raises(ConfigError, match=r"samples\.step"):
        load_config({"analyses": {"a": section}})


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["0h", "2h", "10h", "24 h"], [0, 2, 10, 24]),
        (["day 3", "day 1", "Day 20", "day 7"], [3, 1, 20, 7]),
        (["ZT0", "ZT4", "ZT8", "ZT12"], [0, 4, 8, 12]),
        (["1e1", "-2", "+3", ".5"], [10, -2, 3, 0.5]),
        (["0", "1,5", "2", "3"], [0, 1.5, 2, 3]),
        (["2024-01-01", "2024-03-01", "2024-01-03", "2024-01-04"], [0, 60, 2, 3]),
    ],
)
def test_times_with_one_unit_are_read(tmp_path: Path, cells: list[str], read: list[float]) -> None:
    found = prepared(tmp_path, course(read), annotations(cells), {"time": "time"})
    assert found.samples == [f"r0_t{k}" for k in np.argsort(read)]
    plain = all(is_number(cell.replace(",", ".")) for cell in cells)
    assert ("time_unit" in codes(found.notes)) != plain


@pytest.mark.parametrize(
    "cells",
    [
        ["0h", "30min", "2h", "3h"],
        ["0", "2h", "4h", "6h"],
        ["t-1", "t-2", "t-3", "t-4"],
        ["0", "", "4", "6"],
        ["0", "NA", "4", "6"],
        ["early", "late", "later", "last"],
        ["0", "inf", "2", "3"],
        ["0", "1", "2", "-99"],
    ],
)
def test_other_times_are_refused_by_line_and_column(tmp_path: Path, cells: list[str]) -> None:
    with pytest.raises(InputError, match=r"about\.tsv: line \d, column 'time'"):
        prepared(tmp_path, course([0, 1, 2, 3]), annotations(cells), {"time": "time"})


@pytest.mark.parametrize("series", [True, False])
def test_the_order_of_columns_does_not_matter_where_times_are_stated(
    tmp_path: Path, series: bool
) -> None:
    replicates = 3 if series else 1
    times: list[float] = list(range(8))
    table, about = course(times, replicates), annotations(times, replicates)
    samples = {"time": "time"} | ({"series": "subject"} if series else {})
    found = prepared(tmp_path, table, about, samples)
    order = np.random.default_rng(3).permutation(table.columns)
    shuffled = prepared(tmp_path, table[order], about, samples)
    assert shuffled.samples == found.samples
    np.testing.assert_array_equal(shuffled.levels, found.levels)
    np.testing.assert_array_equal(
        shuffled.transitions.source_samples, found.transitions.source_samples
    )
    np.testing.assert_array_equal(shuffled.transitions.series, found.transitions.series)
    assert follows(found)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, {"columns_as_times"}),
        ({"lag": 0}, set()),
        ({"series": "series.tsv"}, {"columns_in_series"}),
    ],
)
def test_a_table_of_which_nothing_is_said_is_asked_about(
    tmp_path: Path, more: dict[str, Any], said: set[str]
) -> None:
    table = course(list(range(8)))
    lines = "".join(f"{name}\tone\n" for name in table.columns)
    (tmp_path / "series.tsv").write_text(lines)
    table.to_csv(tmp_path / "table.tsv", sep="\t", index_label="gene")
    section = SETTINGS | {"expression": str(tmp_path / "table.tsv")} | more
    if "series" in more:
        section["series"] = str(tmp_path / more["series"])
    found = prepare_predictors(load_config({"analyses": {"a": section}}).analyses["a"])
    assert {code for code in codes(found.messages) if code.startswith("columns_")} == said
