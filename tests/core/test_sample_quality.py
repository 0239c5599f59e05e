"""What the report shows of samples: totals, zeros, missing values, components; where they go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_results import allows, drawn, made_up_results
from matplotlib.colors import to_rgb
from pairtile.config.load import load_config
from pairtile.config.preprocess import Preprocess
from pairtile.engine.state import write_state
from pairtile.io.expression import Expression
from pairtile.io.sparse_rows import SparseRows
from pairtile.methods.mutual_information.prepare import spline_state
from pairtile.preprocess.expression import prepare_expression
from pairtile.report.figures import (
    drawn_series,
    sample_components,
    sample_sizes,
    time_courses,
)
from pairtile.report.make_figures import figures_of
from pairtile.report.results import Results, read_results
from pairtile.report.style import GREY, GROUP_COLOURS
from pairtile.report.text import page_text
from pairtile.statistics import dependence
from pairtile.statistics.dependence import principal_components
from result_files import write_results
from scipy import sparse

SETTINGS = Preprocess(min_samples=3)


def table(values: np.ndarray) -> Expression:
    genes, samples = values.shape
    return Expression(
        values, [f"g{k}" for k in range(genes)], [f"s{k}" for k in range(samples)], "x.tsv"
    )


def counts() -> np.ndarray:
    values = np.random.default_rng(4).negative_binomial(2, 0.02, (60, 12)).astype(float)
    values[::3, 5] = 0.0
    return values


def test_totals_and_zeros_of_counts_are_those_of_the_raw_values() -> None:
    values = counts()
    quality = prepare_expression(table(values.copy()), SETTINGS, overwrite=True).quality
    assert quality.is_counts
    np.testing.assert_array_equal(quality.size, values.sum(axis=0))
    np.testing.assert_array_equal(quality.zeros, (values == 0).mean(axis=0))
    assert quality.zeros[5] >= 1 / 3
    assert not quality.missing.any()


def test_medians_and_missing_values_of_other_values() -> None:
    values = np.random.default_rng(5).normal(8, 1, (60, 12))
    values[:7, 3] = np.nan
    quality = prepare_expression(table(values), SETTINGS).quality
    assert not quality.is_counts
    np.testing.assert_allclose(quality.size, np.nanmedian(values, axis=0))
    assert quality.missing.tolist() == [0.0] * 3 + [7 / 60] + [0.0] * 8


def test_a_sparse_table_mapped_from_disk_gives_the_same(tmp_path: Path) -> None:
    values = counts()
    found = []
    for given in (values, SparseRows(sparse.csr_array(values))):
        prepared = prepare_expression(table(given), SETTINGS, scratch=tmp_path)
        found.append(prepared.quality.state(prepared.values))
    assert found[0].keys() == found[1].keys()
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name])


@pytest.mark.parametrize("samples", [3, 40])
def test_components_are_those_of_the_singular_value_decomposition(samples: int) -> None:
    values = np.random.default_rng(6).normal(size=(50, samples))
    values[:20] += 3 * np.linspace(-1, 1, samples)
    values[3] = 1.0  # a constant gene tells nothing
    found = principal_components(values)
    rows = values - values.mean(axis=1, keepdims=True)
    rows = np.delete(rows / np.maximum(rows.std(axis=1, keepdims=True), 1e-300), 3, axis=0)
    _, sizes, right = np.linalg.svd(rows, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    np.testing.assert_allclose(found.shares, shares[:2], rtol=1e-8)
    expected = right[:2].T * sizes[:2] / np.sqrt(50)
    np.testing.assert_allclose(np.abs(found.scores), np.abs(expected), atol=1e-8)
    assert (found.scores[np.abs(found.scores).argmax(axis=0), [0, 1]] > 0).all()


def test_of_many_samples_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "MAX_SAMPLES", 10)
    found = principal_components(np.random.default_rng(7).normal(size=(30, 100)))
    assert found.samples.tolist() == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert found.scores.shape == (10, 2)


def test_where_nothing_varies_there_is_no_component() -> None:
    found = principal_components(np.ones((4, 5)))
    assert not found.shares.any()
    assert not found.scores.any()


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results whose state is that of counts in two batches, samples arranged by time."""
    values = counts()
    values[:, ::2] *= 3
    frame = pd.DataFrame(values, [f"g{k}" for k in range(60)], [f"s{k}" for k in range(12)])
    frame.to_csv(tmp_path / "x.tsv", sep="\t")
    plates = ["plate one", "plate $two$"] * 6
    about = {"sample": frame.columns, "plate": plates, "time": range(12, 0, -1)}
    pd.DataFrame(about).to_csv(tmp_path / "about.tsv", sep="\t", index=False)
    samples = {"annotations": str(tmp_path / "about.tsv"), "batch": "plate", "time": "time"}
    section = {
        "method": "mutual_information",
        "expression": str(tmp_path / "x.tsv"),
        "samples": samples,
        "preprocess": {"min_samples": 3},
    }
    prepared = spline_state(load_config({"analyses": {"a": section}}).analyses["a"])
    folder = write_results(tmp_path / "demo")
    write_state(folder / "state", prepared.state)
    return folder


def test_the_page_names_the_lowest_samples_and_colours_batches(results: Path) -> None:
    read = read_results(results)
    read.summary["parameters"]["samples"] = {"batch": "plate"}
    sizes, components = sample_sizes(read), sample_components(read)
    totals = counts().sum(axis=0) * np.where(np.arange(12) % 2, 1, 3)
    least = np.argsort(totals, kind="stable")[:3]
    text = page_text(read)
    assert f"Lowest: s{least[0]} (" in text.captioned("samples", sizes, b"", None).caption
    shown = sizes.figure.axes[0].get_lines()[0].get_ydata()
    np.testing.assert_array_equal(shown, totals[::-1])  # in the order of time
    assert "coloured by plate." in text.captioned("components", components, b"", None).caption
    legend = components.figure.legends[0]
    assert {text.get_text() for text in legend.get_texts()} == {"plate one", "plate $two$"}
    components.figure.canvas.draw()  # a name is no mathematics
    assert {"samples", "components"} <= set(figures_of(read))


def test_without_a_state_there_is_nothing_to_show(tmp_path: Path) -> None:
    read = read_results(write_results(tmp_path / "demo"))
    assert not allows("samples", read)
    assert not allows("components", read)


def quality(**arrays: object) -> Results:
    """Results with what the state knows of samples, all of one group unless ``arrays`` say else."""
    found = {name: np.asarray(values) for name, values in arrays.items()}
    n = len(next(iter(found.values())))
    names = np.array([f"s{k}" for k in range(n)])
    rest = {
        "quality_size": np.ones(n), "quality_samples": names, "quality_counted": np.array(False),
        "quality_zeros": np.zeros(n), "quality_missing": np.zeros(n),
        "component_shares": np.array([0.5, 0.2]), "component_samples": np.arange(n),
        "quality_group": np.zeros(n, np.int64), "quality_labels": np.array(["all"]),
    }  # fmt: skip
    return made_up_results(state=rest | found)


def test_shares_that_are_zero_everywhere_are_not_drawn() -> None:
    figure = drawn("samples", quality(quality_size=[3.0, 4.0]))
    assert len(figure.axes) == 1
    figure = drawn("samples", quality(quality_size=[3.0, 4.0], quality_zeros=[0, 0.5]))
    assert [line.get_label() for line in figure.axes[1].get_lines()] == ["zero"]


def test_of_more_groups_than_colours_the_smallest_are_grey() -> None:
    groups = np.repeat(np.arange(9), [9, 8, 7, 6, 5, 4, 3, 2, 1])
    scores, names = np.random.default_rng(8).normal(size=(45, 2)), [f"run {k}" for k in range(9)]
    given = {"component_scores": scores, "quality_group": groups, "quality_labels": names}
    figure = drawn("components", quality(**given))
    parts = {each.get_label(): each for each in figure.axes[0].collections}
    assert len(parts["3 others"].get_offsets()) == 6
    assert to_rgb(parts["3 others"].get_facecolor()[0][:3]) == to_rgb(GREY)
    assert to_rgb(parts["run 0"].get_facecolor()[0][:3]) == to_rgb(GROUP_COLOURS[0])


def test_the_outermost_samples_are_named_apart() -> None:
    scores = np.zeros((20, 2))
    scores[:, 0] = np.linspace(-1, 1, 20)
    scores[3], scores[4] = (9.0, 9.0), (9.0, 9.0)
    figure = drawn("components", quality(component_scores=scores))
    named = [text.get_text() for text in figure.axes[0].texts]
    assert named[0] == "s3"
    assert "s4" not in named  # it lies where s3 does


def test_series_are_drawn_one_after_the_other_with_gaps() -> None:
    values = np.arange(7.0)
    values[4] = np.nan
    series = np.array([0, 1, 0, 1, 0, 1, 1])
    figure, shown = time_courses([{"a $x$": values, "b": -values}], series, "value")
    assert shown == {"shown": 7, "samples": 7}
    points, _ = (line.get_xydata().T.tolist() for line in figure.axes[0].get_lines())
    nan = np.nan
    np.testing.assert_array_equal(points, [[1, 2, 3, 4, 5, 6, 7, 8], [0, 2, nan, nan, 1, 3, 5, 6]])
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["a $x$", "b"]
    figure.canvas.draw()


@pytest.mark.parametrize(
    ("lengths", "shown"), [([100, 20, 5], [100, 20]), ([500, 3], [120]), ([60], [60])]
)
def test_as_many_series_are_drawn_as_have_room(lengths: list[int], shown: list[int]) -> None:
    series = np.repeat(np.arange(len(lengths)), lengths)
    assert [here.size for here in drawn_series(series)] == shown
