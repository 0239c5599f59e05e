"""The samples behind the strongest edges, as the page draws them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up_results import allows
from matplotlib.colors import to_rgb
from pairtile.engine.state import write_state
from pairtile.methods.mutual_information.charts import (
    GROUP_COLOURS,
    PANELS,
    strongest_edges,
    strongest_in_time,
)
from pairtile.report.results import Results

GENES = [f"g{n}" for n in range(6)]
SUMMARY = {"method": "mutual_information"}


def results(folder: Path, n_edges: int, batch: Any = None) -> Results:
    random = np.random.default_rng(1)
    state = {"z": random.random((6, 20)), "by_rank": np.array([True])}
    write_state(folder / "state", state | ({} if batch is None else {"sample_batch": batch}))
    items = pd.DataFrame({"name": ["left out", *GENES], "kept": [False] + [True] * 6, "reason": ""})
    edges = {"source": ["g1", "g5"], "target": ["g4", "g0"]}
    network = pd.DataFrame(edges | {"mi_bits": [0.5, 0.25], "spearman": [-0.8, 0.1]})
    return Results(folder, items, pd.concat([network] * 6).head(n_edges), SUMMARY)


def test_panels_show_the_scored_values_of_the_first_edges(tmp_path: Path) -> None:
    found = results(tmp_path, 12)
    made = strongest_edges(found)
    panels = made.figure.axes
    assert len(panels) == PANELS
    for panel, numbers in zip(panels, ["0.500 −0.80", "0.250 0.10"], strict=False):
        assert re.findall(r"−?\d\.\d+", panel.get_title()) == numbers.split()
    z = np.load(tmp_path / "state/z.npy")
    for panel, (source, target) in zip(panels, [(1, 4), (5, 0)], strict=False):
        points = panel.collections[0].get_offsets()
        np.testing.assert_array_equal(points, np.column_stack([z[source], z[target]]))
        assert (panel.get_xlabel(), panel.get_ylabel()) == (f"g{source}", f"g{target}")
    source, target, label = made.numbers["pairs"][0]
    assert (source, target) == ("g1", "g4")
    assert re.findall(r"−?\d\.\d+", label) == ["0.500", "−0.80"]


@pytest.mark.parametrize("n_batches", [2, 8])
def test_batches_have_colours(tmp_path: Path, n_batches: int) -> None:
    batch = np.arange(20, dtype=np.int32) % n_batches
    made = strongest_edges(results(tmp_path, 1, batch))
    z = np.load(tmp_path / "state/z.npy")
    parts = made.figure.axes[0].collections
    assert len(parts) == min(n_batches, len(GROUP_COLOURS))
    for k, part in enumerate(parts):
        own = batch % len(GROUP_COLOURS) == k
        np.testing.assert_array_equal(part.get_offsets(), z[[1, 4]][:, own].T)
        np.testing.assert_allclose(part.get_facecolor()[0, :3], to_rgb(GROUP_COLOURS[k]))


def test_time_courses_are_those_of_the_best_pairs_each_once(tmp_path: Path) -> None:
    series = np.repeat([0, 1], 10).astype(np.int32)
    found = results(tmp_path, 2)
    state = {name: np.load(tmp_path / f"state/{name}.npy") for name in ("z", "by_rank")}
    write_state(tmp_path / "state", state | {"sample_series": series})
    # Both directions of a pair are one panel.
    turned = found.network.rename(columns={"source": "target", "target": "source"})
    found.network = pd.concat([found.network, turned])
    made = strongest_in_time(found)
    assert len(made.figure.axes) == 2
    for panel, pair in zip(made.figure.axes, [{1, 4}, {0, 5}], strict=True):
        named = {line.get_label(): line for line in panel.get_lines()}
        for gene in pair:
            np.testing.assert_array_equal(named[f"g{gene}"].get_ydata()[:10], state["z"][gene, :10])
    assert not allows("time_courses", results(tmp_path / "static", 12))
    assert not allows("time_courses", results(tmp_path / "empty", 0))


def test_a_network_without_edges_has_no_such_figure(tmp_path: Path) -> None:
    assert not allows("strongest_edges", results(tmp_path, 0))
