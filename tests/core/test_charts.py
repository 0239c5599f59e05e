"""The shared charts: what they draw is what they are given, and what they refuse."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from pairtile.report import charts
from pairtile.report.style import figure_of_panels
from pairtile.statistics.block_means import block_means


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for each in figure.legends for text in each.get_texts()]


def test_a_histogram_keeps_every_count_when_bins_are_cut_and_joined() -> None:
    counts = np.random.default_rng(1).integers(1, 9, 4097)
    counts[:500] = counts[-100:] = 0
    figure = charts.histogram(np.linspace(0, 3, 4098), {"pairs": counts})
    drawn = figure.axes[0].patches[0].get_data()
    assert len(drawn.values) <= 100
    assert drawn.values.sum() == counts.sum()
    assert drawn.edges[0] == pytest.approx(3 * 500 / 4097)


def test_groups_are_stacked_and_the_null_stays_within_the_axes() -> None:
    figure = charts.histogram(
        [0, 1, 2], {"a": [5, 1], "b": [2, 0]}, null={"chance": [990, 1], "none": [0, 0]},
        yscale="log", xlim=(-2, 2), vlines={"both": (-1.5, 1.5), "no": None, "none": np.nan},
    )  # fmt: skip
    axes = figure.axes[0]
    first, second = (patch.get_data() for patch in axes.patches[:2])
    np.testing.assert_array_equal(first.values, [5, 1])
    np.testing.assert_array_equal(second.values, [7, 1])
    np.testing.assert_array_equal(second.baseline, [5, 1])
    assert axes.get_ylim()[1] > 990
    assert [line.get_xdata()[0] for line in axes.get_lines()] == [-1.5, 1.5]
    assert legend(figure) == ["a", "b", "chance", "both"]


def test_lines_near_the_bins_are_within_the_axes_and_far_ones_are_not_drawn() -> None:
    figure = charts.histogram([0, 1, 2, 3], {"a": [1, 2, 0]}, vlines={"near": 2.9, "far": 3.1})
    [line] = figure.axes[0].get_lines()
    low, high = figure.axes[0].get_xlim()
    assert low < 0 < line.get_xdata()[0] == 2.9 < high


@pytest.mark.parametrize("null", [False, True])
def test_a_histogram_refuses_lengths_that_do_not_fit(null: bool) -> None:
    three, two = {"a": [1, 2, 3]}, {"b": [1, 2]}
    with pytest.raises(ValueError, match="found 3 edges and 3 counts"):
        charts.histogram([0, 1, 2], two if null else three, null=three if null else None)


@pytest.mark.parametrize("orientation", ["vertical", "horizontal"])
def test_bars_have_their_names_and_their_totals(orientation: str) -> None:
    figure = charts.bars(
        ["$x$", "y"], {"a": [3, 1000], "b": [1, 0]}, orientation=orientation, shares=True
    )
    axes = figure.axes[0]
    across = orientation == "horizontal"
    sizes = [bar.get_width() if across else bar.get_height() for bar in axes.patches]
    assert sizes == [3, 1000, 1, 0]
    named = axes.get_yticklabels() if across else axes.get_xticklabels()
    assert [text.get_text() for text in named] == ["$x$", "y"]
    assert [text.get_text().split()[0] for text in axes.texts] == ["4", "1,000"]


def test_points_in_no_group_are_drawn_too() -> None:
    x = np.arange(10.0)
    figure = charts.scatter(x, x**2, {"few": x < 3, "more": x > 6}, faint=x == 0)
    drawn = [len(part.get_offsets()) for part in figure.axes[0].collections]
    assert drawn == [4, 1, 2, 3]
    assert legend(figure) == ["few", "more"]


def test_names_of_points_do_not_touch() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 300))
    points = [(f"p{k}", a, b) for k, (a, b) in enumerate(zip(x, y, strict=True))]
    figure = charts.scatter(x, y, named=points, n_named=6)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 6
    assert sum(one.overlaps(other) for one in boxes for other in boxes) == 6


def test_components_say_their_share_and_their_outermost_points() -> None:
    scores = np.r_[np.random.default_rng(2).normal(size=(40, 2)), [[30, 0], [0, 30]]]
    figure = charts.embedding(scores, [0.7, 0.2], names=[f"s{k}" for k in range(42)], n_named=2)
    assert "70%" in figure.axes[0].get_xlabel()
    assert {text.get_text() for text in figure.axes[0].texts} == {"s40", "s41"}


def test_large_matrices_are_means_of_blocks() -> None:
    values = np.random.default_rng(1).uniform(-1, 1, (23, 23))
    values[3, 4] = np.nan
    small = block_means(values, 10)
    assert small.shape == (8, 8)
    for i in range(8):
        for j in range(8):
            block = values[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
            assert small[i, j] == pytest.approx(np.nanmean(block))
    assert block_means(values, 23) is values
    assert np.isnan(block_means(np.full((6, 6), np.nan), 3)).all()


def test_a_heat_map_marks_blocks_and_cells() -> None:
    figure = charts.heat_map(
        np.eye(4), "value", limits=(0, 2), rows={0: "a"}, blocks=[(0, 3), (3, 4)],
        dots=np.eye(4, k=1) > 0,
    )  # fmt: skip
    axes, bar = figure.axes
    assert [(frame.get_x(), frame.get_width()) for frame in axes.patches] == [(-0.5, 3), (2.5, 1)]
    assert axes.get_lines()[0].get_xydata().tolist() == [[1, 0], [2, 1], [3, 2]]
    assert axes.images[0].norm.vmax == 2
    assert bar.get_ylabel() == "value"


def test_charts_share_a_figure_and_leave_the_settings_of_matplotlib_alone() -> None:
    before = dict(matplotlib.rcParams)
    figure, (left, right) = figure_of_panels(2, 2)
    assert charts.bars(["a"], {"": [1]}, ax=left) is figure
    curves = {"a": ([1, 2], [3, np.nan]), "one": ([1], [2])}
    bands = {"a": ([2, 2], [4, 4])}
    assert charts.lines(curves, bands=bands, ax=right, title="$t$", xscale="log") is figure
    assert [line.get_marker() for line in right.get_lines()] == ["", "D"]
    assert len(right.collections) == 1
    assert right.get_legend() is not None
    assert left.get_legend() is None
    assert dict(matplotlib.rcParams) == before


def test_colours_of_two_directions_reach_as_far_on_both_sides() -> None:
    figure = charts.heat_map([[0.1, -0.3], [np.nan, 0.2]], "r", cmap=charts.DIVERGING)
    assert figure.axes[0].images[0].get_clim() == (-0.3, 0.3)
    assert figure.axes[0].images[0].colorbar.extend == "neither"
