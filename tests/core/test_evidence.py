"""What the page carries for its side panel: values of the items of listed pairs, in few bytes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pairtile.engine.state import write_state
from pairtile.report.results import Results, read_results
from pairtile.view.evidence import (
    MAX_BYTES,
    MAX_SAMPLES,
    Samples,
    _groups,
    _packed,
    _packed_pairs,
    _packed_profiles,
    evidence_section,
    table_samples,
)
from result_files import write_results


def unpacked(block: dict[str, Any], width: int, n: int) -> NDArray[np.float64]:
    """Rows of what ``_packed`` made."""
    codes = np.frombuffer(base64.b64decode(block["codes"]), dtype=f"<u{width}").reshape(-1, n)
    low, high = (np.array(block[name])[:, None] for name in ("low", "high"))
    top = 256**width - 2
    return np.where(codes > top, np.nan, low + codes / top * (high - low))


def results(folder: Path, network: pd.DataFrame, names: list[str]) -> Results:
    items = pd.DataFrame({"name": names, "kept": True, "reason": ""})
    return Results(folder, items, network, {"method": "mutual_information"})


@given(
    values=arrays(
        np.float64, (3, 7), elements=st.floats(-1e9, 1e9, width=32) | st.just(float("nan"))
    ),
    width=st.sampled_from([1, 2]),
)
def test_values_come_back_within_half_a_step(values: NDArray[np.float64], width: int) -> None:
    block = _packed(values, width)
    found = unpacked(block, width, 7)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    for row, back in zip(values, found, strict=True):
        known = row[~np.isnan(row)]
        if known.size:
            # Half a step, and what the ends lose that are written with six digits.
            near = np.ptp(known) / (256**width - 2) / 2 + 1.1e-5 * np.abs(known).max()
            np.testing.assert_allclose(back[~np.isnan(row)], known, atol=near, rtol=0)
    assert json.dumps(block, allow_nan=False)


@pytest.mark.parametrize(
    ("n_items", "n_samples", "width"), [(40, 60, 2), (240, 900, 1), (3000, 400, 1), (30, 5000, 2)]
)
def test_a_page_never_carries_more_than_it_may(
    tmp_path: Path, n_items: int, n_samples: int, width: int
) -> None:
    random = np.random.default_rng(1)
    names = [f"g{k}" for k in range(n_items)]
    # A path: each edge brings one more item, the strongest first.
    edges = pd.DataFrame({"source": names[:-1], "target": names[1:]})
    edges["mi_bits"] = np.linspace(1.0, 0.5, len(edges))
    values = random.normal(size=(n_items, n_samples))
    found = _packed_pairs(
        results(tmp_path, edges, names),
        Samples(n_samples, lambda rows, columns: values[rows][:, columns], "values"),
    )
    carried = min(n_samples, MAX_SAMPLES)
    assert (found["n"], found["total"], found["width"]) == (carried, n_samples, width)
    assert found["items"] == names[: min(n_items, MAX_BYTES // (carried * width))]
    block = found["values"]
    assert isinstance(block, dict)
    assert len(block["codes"]) <= 4 * MAX_BYTES / 3 + 4
    columns = np.linspace(0, n_samples - 1, carried).round().astype(int)
    expected = values[: len(found["items"])][:, columns]
    step = np.ptp(expected, axis=1).max() / (256**width - 2)
    np.testing.assert_allclose(unpacked(block, width, carried), expected, atol=step)


def test_samples_of_a_course_stand_together_in_their_order(tmp_path: Path) -> None:
    edges = pd.DataFrame({"source": ["a"], "target": ["b"], "mi_bits": [1.0]})
    values = np.arange(12.0).reshape(2, 6)
    state = {
        "sample_series": np.array([1, 0, 1, 0, 0, 1]),
        "quality_samples": np.array(list("ABCDEF")),
    }
    kept = results(tmp_path, edges, ["a", "b"])
    found = _packed_pairs(kept, table_samples(kept, state, values, "values"))
    assert found["names"] == list("BDEACF")
    assert found["series"] == [0, 0, 0, 1, 1, 1]
    block = found["values"]
    assert isinstance(block, dict)
    expected = values[:, [1, 3, 4, 0, 2, 5]]
    np.testing.assert_allclose(unpacked(block, 2, 6), expected, atol=1e-4)


def test_samples_are_coloured_by_labels_and_by_numbers_on_a_scale() -> None:
    everything = np.arange(40)
    found = _groups(
        {
            "heat": ["yes", "no", "", "no"] * 10,
            "age": [str(k) for k in range(39)] + [""],
            "sample": [f"s{k}" for k in range(40)],
            "all the same": ["x"] * 40,
        },
        everything,
    )
    heat, age = found  # names of samples, and what is the same everywhere, colour nothing
    assert heat == {"heading": "heat", "labels": ["no", "yes"], "of": [1, 0, -1, 0] * 10}
    assert isinstance(age["codes"], str)
    numbers = unpacked(age, 1, 40)[0]
    np.testing.assert_allclose(numbers[:39], np.arange(39), atol=0.1)
    assert np.isnan(numbers[39])


def test_names_and_annotations_are_those_of_the_samples_of_the_values(tmp_path: Path) -> None:
    """With a lag values are of fewer samples than annotations; where it is not known of which, they
    have none."""
    edges = pd.DataFrame({"source": ["a"], "target": ["b"], "mi_bits": [1.0]})
    given = {"columns": np.array(["heat"]), "cells": np.array([["yes", "no", "no"]])}
    write_state(tmp_path / "values", given)
    kept = results(tmp_path, edges, ["a", "b"])
    assert set(table_samples(kept, {}, np.zeros((2, 3)), "values").groups) == {"heat"}
    state, values = {"quality_samples": np.array(["s0", "s1", "s2"])}, np.zeros((2, 2))
    unknown = table_samples(kept, state, values, "values")
    assert unknown.names is None
    assert not unknown.groups
    later = table_samples(kept, state, values, "values", at=np.array([0, 2]))
    assert later.names is not None
    assert later.names.tolist() == ["s0", "s2"]
    assert [*later.groups["heat"]] == ["yes", "no"]


def test_without_a_state_the_panel_has_no_samples(tmp_path: Path) -> None:
    found = read_results(write_results(tmp_path / "demo"))
    section = evidence_section(lambda results, state: pytest.fail("asked"))(found, [])
    assert section is not None
    assert section.values["data"]["samples"] is None


def test_profiles_come_from_their_files_those_of_the_surest_rows_first(tmp_path: Path) -> None:
    samples = np.array(["s1", "s2", "s3"])
    cells = np.array([["no", "yes", "no"], ["1", "2", "3"], ["x", "x", "y"]])
    given = {"samples": samples, "columns": np.array(["drug", "age", "asked by no row"])}
    write_state(tmp_path / "values", {**given, "cells": cells})
    numbers = {"eigengenes": [[0.5, 0.1, -0.6], [0.0, 0.7, -0.7]], "activity": [[3.0, 1.0, 2.0]]}
    tests = {
        "module_traits": {"module": [1, 1, 2], "trait": ["drug", "age", "drug"]},
        "activity_tests": {"regulator": ["ENSG1"], "label": ["drug"]},
    }
    for (file, rows), names in zip(numbers.items(), ([1, 2], ["TP53"]), strict=True):
        table = pd.DataFrame(rows, pd.Index(names), samples)
        name = "module" if file == "eigengenes" else "regulator"
        table.to_csv(tmp_path / f"{file}.tsv", sep="\t", index_label=name)
    for file, names in tests.items():
        extra = ["labels", "units", "correlation", "means", "targets", "effect", "viper_p_value"]
        table = pd.DataFrame(names).assign(**dict.fromkeys(extra, ""), p_value=0.5)
        q = [0.9, 0.8, 0.1][: len(table)]
        table.assign(q_value=q).to_csv(tmp_path / f"{file}.tsv", sep="\t", index=False)
    kept = results(tmp_path, pd.DataFrame({"source": ["a"], "target": ["b"]}), ["a", "b"])
    kept.labels = {"ENSG1": "TP53"}
    found = _packed_profiles(kept)
    assert found is not None
    assert found["items"] == ["eigengene of module 2", "eigengene of module 1", "activity of TP53"]
    assert [group["heading"] for group in found["groups"]] == ["drug", "age"]  # type: ignore[attr-defined]
    expected = [numbers["eigengenes"][1], numbers["eigengenes"][0], *numbers["activity"]]
    np.testing.assert_allclose(unpacked(found["values"], 2, 3), expected, atol=1e-4)  # type: ignore[arg-type]
