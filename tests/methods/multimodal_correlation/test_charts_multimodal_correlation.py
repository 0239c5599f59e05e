"""The figures of modes, thresholds, conditions and modules: what they show and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_results import allows, drawn, made_up_results
from matplotlib.patches import Ellipse
from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.charts import (
    condition_scatter,
    label_groups,
    pair_scatter,
)
from pairtile.methods.multimodal_correlation.modes import PairModes
from pairtile.methods.multimodal_correlation.report_results import ModeResults, mode_results
from pairtile.methods.multimodal_correlation.thresholds import RankedPairs, random_matrix_threshold
from pairtile.report.results import Results
from pairtile.report.style import MAX_VECTOR_POINTS, save_figure
from scipy import stats


def packed(samples: list[int], n: int) -> bytes:
    mask = np.zeros(n, dtype=bool)
    mask[samples] = True
    return np.packbits(mask).tobytes()


def rows_of_pair(n: int = 60) -> pd.DataFrame:
    """Two modes, of the first 30 and the next 20 samples; two outliers; the rest in no mode."""
    return pd.DataFrame(
        {
            "cluster": [1, 2],
            "n_samples": [30, 20],
            "correlation": [0.9, -0.8],
            "samples": [packed(list(range(30)), n), packed(list(range(30, 50)), n)],
            "outliers": [packed([50], n), packed([51], n)],
            "mean_i": [0.0, 5.0],
            "mean_j": [0.0, 5.0],
            "variance_i": [1.0, 4.0],
            "covariance": [0.5, 0.0],
            "variance_j": [1.0, 1.0],
        }
    )


def pair(n: int = 60, names: tuple[str, str] = ("a", "b")) -> PairModes:
    random = np.random.default_rng(1)
    x, y = random.normal(size=(2, n))
    x[n - 1] = np.nan
    return PairModes.of_rows(rows_of_pair(n), x, y, names)


EDGES = pd.DataFrame({"source": [], "target": [], "cluster": [], "correlation": [], "n_modes": []})


def results(
    arrays: dict[str, object] | None = None,
    network: pd.DataFrame = EDGES,
    networks: pd.DataFrame | None = None,
    modules: pd.DataFrame | None = None,
    **parameters: object,
) -> Results:
    """Of a mixture unless ``parameters`` say else."""
    given = {name: np.asarray(values) for name, values in (arrays or {}).items()}
    none = pd.DataFrame()
    tables = [none if table is None else table for table in (networks, modules)]
    found = ModeResults(Path("in memory"), network, *tables, [], given, {})
    return made_up_results("multimodal_correlation", read={mode_results: found}, **parameters)


def test_masks_part_the_samples_of_a_pair() -> None:
    modes = pair()
    others = modes.observed & ~modes.members.any(axis=0) & ~modes.outliers
    parts = [*modes.members, modes.outliers, others]
    assert [int(part.sum()) for part in parts] == [30, 20, 2, 7]
    # The last sample is not observed in both genes, and in no part.
    assert np.sum(parts, axis=0).tolist() == [1] * 59 + [0]
    with pytest.raises(ValueError, match="no mode of a and b"):
        PairModes.of_rows(rows_of_pair().iloc[:0], modes.x, modes.y, ("a", "b"))


def test_each_mode_has_its_samples_its_correlation_and_its_ellipse() -> None:
    figure = pair_scatter([pair(), pair()], columns=3)
    assert len(figure.axes) == 2
    panel = figure.axes[0]
    sizes = [len(drawn.get_offsets()) for drawn in panel.collections]
    assert sorted(sizes) == [2, 7, 20, 30]
    legend = panel.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert [re.findall(r"−?[\d.]+", text) for text in texts] == [
        ["1", "0.90", "30"], ["2", "−0.80", "20"],
    ]  # fmt: skip
    assert [panel.get_xlabel(), panel.get_ylabel()] == ["a", "b"]
    assert len([p for p in panel.patches if isinstance(p, Ellipse)]) == 2
    without = pair_scatter([pair()], ellipses=False)
    assert not without.axes[0].patches
    with pytest.raises(ValueError, match="found 0 panels"):
        pair_scatter([])


def test_the_ellipse_holds_95_percent_of_its_component() -> None:
    panel = pair_scatter([pair()]).axes[0]
    first, second = (p for p in panel.patches if isinstance(p, Ellipse))
    assert second.get_width() == pytest.approx(2 * np.sqrt(4 * stats.chi2.isf(0.05, 2)), rel=1e-4)
    assert second.get_height() == pytest.approx(2 * np.sqrt(stats.chi2.isf(0.05, 2)), rel=1e-4)
    assert abs(second.angle) % 180 == pytest.approx(0.0, abs=1e-6)
    assert first.angle % 180 == pytest.approx(45.0)
    draws = np.random.default_rng(3).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 20_000)
    inside = first.get_path().contains_points(
        first.get_patch_transform().inverted().transform(draws)
    )
    assert inside.mean() == pytest.approx(0.95, abs=0.01)


def test_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    figure = pair_scatter([pair(names=("$x_1$", "a" * 50))])
    svg = save_figure(figure, tmp_path, "pair").decode()
    assert "$x_1$" in svg
    assert "a" * 23 + "…" in svg
    assert "a" * 24 not in svg


def test_many_samples_are_an_image(tmp_path: Path) -> None:
    few = save_figure(pair_scatter([pair()]), tmp_path, "few")
    many = save_figure(pair_scatter([pair(2 * MAX_VECTOR_POINTS)] * 6), tmp_path, "many")
    assert b"<image" not in few
    assert b"<image" in many
    assert len(many) < 500_000


def categorical(labels: list[str], codes: list[int]) -> Condition:
    return Condition(
        "Treatment", "categorical", tuple(labels), np.array(codes, np.int32), np.full(60, np.nan)
    )


def test_labels_are_drawn_below_the_modes() -> None:
    condition = categorical(["heat", "cold"], [0] * 30 + [1] * 25 + [-1] * 5)
    figure = condition_scatter([pair(), pair()], condition, modes=True)
    assert len(figure.axes) == 4
    legend = figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["heat", "cold", "not known"]
    assert legend.get_title().get_text() == "Treatment"
    below = figure.axes[2]
    drawn = sum(len(points.get_offsets()) for points in below.collections)
    assert drawn == 59
    assert below.get_xlim() == figure.axes[0].get_xlim()
    assert len(condition_scatter([pair()], condition, modes=False).axes) == 1


def test_rare_labels_share_one_colour() -> None:
    codes = [k for k in range(9) for _ in range(6)][:54] + [8] * 6
    condition = categorical([f"l{k}" for k in range(9)], codes)
    groups = label_groups(condition)
    assert [name for name, _ in groups][-1] == "other labels (3)"
    assert len(groups) == 7
    assert sum(int(samples.sum()) for _, samples in groups) == 60
    assert "l8" in [name for name, _ in groups]


@pytest.mark.parametrize("labels", [(), ("low", "middle", "high")])
def test_numbers_have_a_colour_bar(labels: tuple[str, ...]) -> None:
    values = np.arange(60) % 3 + 1.0
    values[3] = np.nan
    kind = "ordinal" if labels else "quantitative"
    codes = np.where(np.isnan(values), -1, values - 1).astype(np.int32)
    condition = Condition("Stage", kind, labels, codes, values)
    figure = condition_scatter([pair()], condition, modes=True)
    bar = figure.axes[-1]
    assert bar.get_xlabel() == "Stage"
    ticks = [text.get_text() for text in bar.get_xticklabels()]
    assert ticks == list(labels) if labels else len(ticks) > 2


def test_edges_by_condition_have_a_bar_for_each_label() -> None:
    rows = [("Treatment", "heat", 0.9)] * 5 + [("Treatment", "heat", -0.8), ("Hours", "", 0.7)]
    networks = pd.DataFrame(rows, columns=["condition", "label", "correlation"])
    signs = np.where(networks["correlation"] < 0, "negative", "positive")
    networks = networks.assign(source="a", target="b", unique=False, direction=signs)
    axes = drawn("condition_edges", results(networks=networks)).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["Treatment heat", "Hours"]
    assert [bar.get_width() for bar in axes.patches] == [5, 1, 1, 0]
    many = pd.concat([networks.assign(label=f"l{k}") for k in range(30)])
    shown = drawn("condition_edges", results(networks=many)).axes[0]
    assert len(shown.get_yticklabels()) == 24
    assert not allows("condition_edges", results())


def test_numbers_of_modes_are_bars_up_to_the_largest() -> None:
    axes = drawn("modes", results({"pairs_by_modes": [10, 80, 9, 1, 0, 0]})).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [10, 80, 9, 1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["none", "1", "2", "3"]
    assert "9.00%" in [text.get_text().split()[-1] for text in axes.texts]
    of_one = drawn("modes", results({"pairs_by_modes": [3, 0, 0]}))
    assert len(of_one.axes[0].patches) == 2
    assert not allows("modes", results({"pairs_by_modes": [0, 0, 0]}))
    plain = {"estimator": {"clustering": "none"}}
    assert not allows("modes", results({"pairs_by_modes": [1, 2]}, **plain))


def test_correlations_have_the_threshold_on_both_sides() -> None:
    arrays = {"edges": np.linspace(-1, 1, 201), "counts": np.arange(200)}
    given = results({**arrays, "threshold": 0.8371}, estimator={"min_correlation": 0.5})
    axes = drawn("score_distribution", given).axes[0]
    assert [line.get_xdata()[0] for line in axes.get_lines()] == [-0.8371, 0.8371]
    stored, everything = (patch.get_data() for patch in axes.patches[:2])
    assert everything.values.sum() == arrays["counts"].sum()
    middle = (stored.edges[1:] + stored.edges[:-1]) / 2
    inside = np.abs(middle) >= 0.5
    np.testing.assert_array_equal(stored.values[inside], everything.values[inside])
    assert not stored.values[~inside].any()
    assert not drawn("score_distribution", results(arrays)).axes[0].get_lines()


def walk() -> tuple[pd.DataFrame, pd.DataFrame, float | None]:
    random = np.random.default_rng(1)
    values = np.repeat(random.normal(size=(80, 20)), 5, axis=0)
    r = np.corrcoef(values + 0.6 * random.normal(size=values.shape))
    i, j = np.triu_indices(len(r), k=1)
    found = random_matrix_threshold(
        RankedPairs.of_modes(i, j, np.clip(r[i, j], -1, 1), len(r)), step=0.02, stop=0.5
    )
    return found.curve, found.spacings, found.threshold


def walked(curve: pd.DataFrame, threshold: float | None, **parameters: object) -> Results:
    arrays = {f"curve_{name}": column for name, column in curve.items()}
    settings = {"threshold": {"method": "rmt", **parameters}}
    return results({**arrays, "threshold": np.nan if threshold is None else threshold}, **settings)


def test_the_walk_of_random_matrix_theory_is_drawn_from_high_to_low() -> None:
    curve, spacings, threshold = walk()
    assert threshold is not None
    axes, genes = drawn("threshold", walked(curve, threshold)).axes
    low, high = axes.get_xlim()
    assert low > high
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), curve["chi_square"])
    np.testing.assert_array_equal(genes.get_lines()[0].get_ydata(), curve["genes"])
    assert {99.607, 200.0} <= {line.get_ydata()[0] for line in axes.get_lines()}
    assert threshold in [line.get_xdata()[0] for line in axes.get_lines()]
    arrays = {f"spacings_{name}": column for name, column in spacings.items()}
    panels = drawn("spacings", results(arrays)).axes
    titles = [float(panel.get_title().split()[1]) for panel in panels]
    assert titles == sorted(spacings["threshold"].unique(), reverse=True)
    assert not allows("spacings", results())


def test_a_walk_without_a_single_test_is_drawn_too() -> None:
    curve = pd.DataFrame({"threshold": [0.99, 0.98], "chi_square": np.nan, "genes": [0, 3]})
    axes, _ = drawn("threshold", walked(curve, None)).axes
    assert len(axes.get_lines()) == 3  # the curve and two levels
    assert not allows("threshold", walked(curve.iloc[:0], None))
    fit = pd.DataFrame({"threshold": [0.9], "fit": [np.nan], "genes": [4]})
    assert drawn("threshold", walked(fit, None)).axes


def test_the_walk_of_the_power_law_has_its_least_fit() -> None:
    curve = pd.DataFrame({"threshold": [0.9, 0.8, 0.7], "fit": [-0.2, 0.7, 0.9]})
    curve["genes"] = [60, 80, 90]
    axes = drawn("threshold", walked(curve, 0.7, fit=0.85)).axes[0]
    assert 0.85 in [line.get_ydata()[0] for line in axes.get_lines()]
    low, high = axes.get_ylim()
    assert low < -0.2
    assert high > 0.9
    assert 0.7 in [line.get_xdata()[0] for line in axes.get_lines()]


def test_modules_are_framed_in_their_order() -> None:
    ends = {"source": ["a", "d"], "target": ["b", "e"], "cluster": 1, "n_modes": 1}
    network = pd.DataFrame({**ends, "correlation": [0.9, -0.8]})
    modules = pd.DataFrame({"gene": list("abcde"), "module": [1, 1, 1, 2, 2]})
    axes = drawn("modules", results(network=network, modules=modules)).axes[0]
    frames = [(p.get_x(), p.get_width()) for p in axes.patches]
    assert frames == [(-0.5, 3), (2.5, 2)]
    shown = axes.get_images()[0].get_array()
    assert shown is not None
    assert shown.count() == 4
    assert (shown[0, 1], shown[4, 3]) == (0.9, -0.8)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2"]
    shared = pd.DataFrame({"gene": list("abcdeabc"), "module": [1] * 5 + [2] * 3})
    sizes = drawn("modules", results(network=network, modules=shared)).axes[0]
    assert [bar.get_height() for bar in sizes.patches] == [5, 3]
