"""Figures of correlated motion: what they draw is what they are given."""

from __future__ import annotations

import base64
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_results import allows, drawn, made_up_results
from matplotlib import colormaps
from matplotlib.figure import Figure
from pairtile.methods.trajectory_correlation import charts
from pairtile.methods.trajectory_correlation.report_results import MotionResults, motion_results
from pairtile.methods.trajectory_correlation.residue_marks import ResidueMarks, runs
from pairtile.report.results import Results
from pairtile.report.style import save_figure

N = 12
MARKS = ResidueMarks(
    tuple(f"A:ALA{k}" for k in range(1, N + 1)),
    tuple(range(1, N + 1)),
    ("A",) * 7 + ("B",) * 5,
    ("HEAD",) * 4 + ("",) * 2 + ("TAIL",) * 6,
    tuple("--HHHH-EEE--"),
)


def matrix(n: int = N, seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    values = (values + values.T) / 2
    np.fill_diagonal(values, np.nan)
    return values


def raster(figure: Figure, folder: Path) -> np.ndarray:
    """The image in the SVG, top row first."""
    svg = save_figure(figure, folder, "figure").decode()
    images = re.findall(r'xlink:href="data:image/png;base64,\s*([^"]+)"', svg)
    pictures = [matplotlib.image.imread(io.BytesIO(base64.b64decode(text))) for text in images]
    [square] = [picture for picture in pictures if picture.shape[0] == picture.shape[1]]
    return square


def test_map_holds_one_pixel_for_each_pair_in_the_colour_of_its_value(tmp_path: Path) -> None:
    values = matrix()
    picture = raster(charts.correlation_map(values, MARKS, diverging=True, limit=1.0), tmp_path)
    assert picture.shape[:2] == (N, N)
    # The SVG turns the image over: its first row is the first residue, at the bottom.
    shades = colormaps[charts.DIVERGING]((values + 1) / 2)
    known = ~np.isnan(values)
    np.testing.assert_allclose(picture[known][:, :3], shades[known][:, :3], atol=0.01)
    assert (picture[~known][:, :3] > 0.94).all()


def test_above_the_diagonal_only_what_is_wanted_is_drawn(tmp_path: Path) -> None:
    values, wanted = np.abs(matrix()), np.zeros((N, N), bool)
    wanted[2, 9] = wanted[9, 2] = True
    figure = charts.correlation_map(values, MARKS, wanted)
    [image] = figure.axes[0].images
    assert image.origin == "lower"
    shown = np.isfinite(np.ma.filled(image.get_array(), np.nan))
    rows, columns = np.nonzero(shown & np.tri(N, k=-1, dtype=bool))
    assert list(zip(rows, columns, strict=True)) == [(9, 2)]
    assert shown[np.triu_indices(N, 1)].all()


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(12, 3\) and marks of 12"):
        charts.correlation_map(np.zeros((12, 3)), MARKS)
    with pytest.raises(ValueError, match="marks of 12 variables"):
        charts.correlation_map(np.zeros((5, 5)), MARKS)


RESIDUES = pd.DataFrame(
    {
        "name": MARKS.names, "chain": MARKS.chains, "resid": MARKS.numbers, "resname": "ALA",
        "domain": MARKS.domains, "secondary_structure": MARKS.secondary_structure,
        "correlation_time": np.arange(N, dtype=float), "betweenness": np.nan,
    }
)  # fmt: skip


class Motion(MotionResults):
    """With matrices in memory."""

    arrays: dict[str, np.ndarray]

    def matrix(self, name: str, file: str = "matrices.npz") -> np.ndarray | None:
        return self.arrays.get(name)


def results(
    residues: pd.DataFrame = RESIDUES,
    arrays: dict[str, np.ndarray] | None = None,
    state: dict[str, np.ndarray] | None = None,
    **given: Any,
) -> Results:
    none = pd.DataFrame({"method": []})
    found = Motion(Path("in memory"), residues, none, none, state=state or {})
    object.__setattr__(found, "arrays", arrays or {})
    return made_up_results("trajectory_correlation", read={motion_results: found}, **given)


def test_strips_stand_where_helices_strands_domains_and_communities_are() -> None:
    table = RESIDUES.assign(mean_correlation=1.0, community_leiden=[1] * 5 + [0] * 3 + [2] * 4)
    figure = drawn("residues", results(table))
    assert len(figure.axes) == 2
    strips = figure.axes[0].child_axes
    spans = [
        [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in strip.patches[1:]]
        for strip in strips
    ]
    assert spans[0] == [(1.5, 5.5), (6.5, 9.5)]
    assert spans[1] == [(-0.5, 3.5), (5.5, 11.5)]
    assert spans[2] == [(-0.5, 4.5), (7.5, 11.5)]
    helix, strand = strips[0].patches[1:]
    assert helix.get_height() > strand.get_height()
    assert [text.get_text() for text in strips[2].texts] == ["1", "2"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "HEAD", "TAIL", "helix", "strand",
    ]  # fmt: skip


def test_profiles_do_not_join_two_chains() -> None:
    figure = drawn("residues", results())
    x, y = figure.axes[0].lines[0].get_data()
    assert x.tolist() == [*range(7), 6.5, *range(7, 12)]
    assert np.flatnonzero(np.isnan(y)).tolist() == [7]


def test_ticks_are_round_numbers_with_chains_where_there_are_several() -> None:
    places, labels = MARKS.ticks()
    assert labels == [f"{MARKS.chains[k]}:{k + 1}" for k in places]
    assert all((k + 1) % 2 == 0 for k in places)
    assert ResidueMarks(tuple("abc"), (10, 11, 12)).ticks() == ([0, 1, 2], ["10", "11", "12"])
    assert ResidueMarks(("x", "y")).ticks() == ([0, 1], ["x", "y"])
    long = ResidueMarks(tuple(f"v{k}" for k in range(300)), tuple(range(900, 1200)))
    places, labels = long.ticks()
    assert 2 <= len(places) <= 8
    assert [int(label) for label in labels] == [900 + k for k in places]


@given(st.lists(st.integers(-5, 400), min_size=1, max_size=60), st.integers(1, 3))
def test_ticks_are_few_and_where_they_say(numbers: list[int], chains: int) -> None:
    n = len(numbers)
    marks = ResidueMarks(
        tuple(map(str, range(n))), tuple(numbers), tuple(str(k % chains) for k in range(n))
    )
    places, labels = marks.ticks()
    assert len(places) == len(labels) <= max(16, n // 2)
    for place, label in zip(places, labels, strict=True):
        assert label.endswith(str(numbers[place]))


@given(st.lists(st.sampled_from("HE-"), max_size=30))
def test_runs_cover_every_place_once(values: list[str]) -> None:
    found = runs(values)
    assert [value for start, end, value in found for _ in range(start, end)] == values
    assert all(a[2] != b[2] for a, b in pairwise(found))


def test_marks_come_from_tables_and_from_matrices() -> None:
    table = pd.DataFrame(
        {
            "name": ["A:ALA1", "A:GLY2"], "chain": ["A", "A"], "resid": [1, 2],
            "resname": ["ALA", "GLY"], "domain": ["", ""], "secondary_structure": ["H", "-"],
        }
    )  # fmt: skip
    marks = ResidueMarks.of_table(table)
    assert marks == ResidueMarks(("A:ALA1", "A:GLY2"), (1, 2), ("A", "A"), (), ("H", "-"))
    arrays = {key: table[key].to_numpy() for key in table if key != "name"}
    assert ResidueMarks.of_table({"labels": table["name"].to_numpy(), **arrays}) == marks
    assert ResidueMarks.of_table(pd.DataFrame({"name": ["lid", "gate"]})).numbers == ()


def test_median_over_distance_is_that_of_its_bin() -> None:
    n = 90
    random = np.random.default_rng(2)
    places, value = random.uniform(0, 25, (n, 3)), np.abs(matrix(n))
    value[7, 2] = value[2, 7] = np.nan
    table = pd.DataFrame({"name": [f"v{k}" for k in range(n)]})
    given = results(table, {"correlation": value}, {"mean_positions": places})
    axes = drawn("distance", given).axes[0]
    x, y = axes.lines[0].get_data()
    i, j = np.triu_indices(n, 1)
    distance, value = np.linalg.norm(places[i] - places[j], axis=1), value[i, j]
    top = distance[np.isfinite(value)].max()
    for middle, median in zip(x, y, strict=True):
        inside = (np.abs(distance - middle) <= top / 40) & np.isfinite(value)
        assert median == pytest.approx(np.median(value[inside]), abs=0.02)
    assert not allows("distance", results(table, {"correlation": value}))


def test_p_values_and_surrogates_are_drawn_as_they_are() -> None:
    counts = np.array([50, 10, 10, 10, 20])
    given = results(scores={"p_value_counts": counts}, keep={"p_value": 0.05})
    axes = drawn("p_values", given).axes[0]
    assert axes.patches[0].get_data().values.tolist() == counts.tolist()
    assert axes.patches[-1].get_data().values.tolist() == [20] * 5
    assert axes.get_lines()[0].get_xdata()[0] == 0.05
    first, second = np.triu_indices(3, 1)
    arrays = {name: np.full((3, 3), np.nan) for name in ("null_mean", "mi_nats", "p_value")}
    arrays["null_mean"][first, second] = 0.1, 0.2, 0.3
    arrays["mi_nats"][first, second] = 0.5, 0.1, 0.4
    arrays["p_value"][first, second] = 0.01, 0.5, 0.05
    figure = drawn("surrogates", results(RESIDUES.head(3), arrays))
    others, chosen = (part.get_offsets() for part in figure.axes[0].collections)
    assert others.tolist() == [[0.2, 0.1]]
    assert chosen.tolist() == [[0.1, 0.5], [0.3, 0.4]]


def test_a_map_of_many_residues_stays_small(tmp_path: Path) -> None:
    names = tuple(f"A:R{k}" for k in range(1000))
    figure = charts.correlation_map(np.abs(matrix(1000)), ResidueMarks(names))
    assert len(save_figure(figure, tmp_path, "large")) < 1_300_000


def test_colours_of_a_map_follow_its_values_and_maps_that_are_compared_share_them() -> None:
    random = np.random.default_rng(1)
    weak, strong = random.uniform(0.05, 0.15, (N, N)), random.uniform(-0.4, 0.4, (N, N))
    alone = charts.correlation_map(weak, MARKS).axes[0].images[0]
    assert alone.norm.vmin == 0.0
    assert 0.14 < alone.norm.vmax < 0.15
    assert alone.colorbar.extend == "max"  # says that some values lie beyond
    limit = charts.colour_limit(weak, strong, None)
    for matrix in (weak, strong):
        figure = charts.correlation_map(matrix, MARKS, diverging=True, limit=limit)
        assert figure.axes[0].images[0].get_clim() == (-limit, limit)
    assert np.mean(np.abs(np.r_[weak, strong]) > limit) == pytest.approx(0.01, abs=0.005)
    assert charts.colour_limit(np.full((N, N), np.nan)) == 1.0
