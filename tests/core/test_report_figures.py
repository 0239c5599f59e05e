"""The figures: what they show, what they refuse, and that their files are the same each time."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import lxml.etree
import numpy as np
import pandas as pd
import pytest
from made_up_results import allows, drawn, made_up_results
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.image import imread
from pairtile.report.charts import bars, scatter
from pairtile.report.page import write_report
from pairtile.report.results import Results, read_results
from pairtile.report.style import figure_of_panels, save_figure, save_figures, styled
from result_files import write_results


def labels(figure: Figure) -> list[str]:
    """The legend's texts."""
    legends = [figure.axes[0].get_legend(), *figure.legends]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


def network_of(edges: list[tuple[str, str]], regulators: str = "") -> Results:
    network = pd.DataFrame(edges, columns=["source", "target"], dtype=object)
    names = sorted({*network["source"], *network["target"]})
    items = pd.DataFrame({"name": names, "kept": True, "reason": ""})
    items["is_regulator"] = items["name"].isin(list(regulators))
    return made_up_results(network=network, items=items)


def test_score_distribution_scales_the_null_to_the_pairs() -> None:
    edges = np.linspace(0, 1, 11)
    counts = np.array([100, 60, 20, 10, 5, 3, 1, 1, 0, 0])
    null = np.array([3000, 800, 200, 0, 0, 0, 0, 0, 0, 0])
    scores = {"edges": edges, "counts": counts, "null_counts": null, "threshold": np.array(0.35)}
    figure = drawn("score_distribution", made_up_results(scores=scores))
    line = figure.axes[0].patches[-1].get_data().values
    assert line.sum() == pytest.approx(counts.sum())
    [threshold] = figure.axes[0].get_lines()
    assert threshold.get_xdata()[0] == 0.35
    assert figure.axes[0].get_yscale() == "log"
    assert not allows("score_distribution", made_up_results())


@pytest.mark.parametrize("threshold", [{}, {"threshold": np.array(np.nan)}])
def test_score_distribution_without_null_or_threshold(threshold: dict[str, np.ndarray]) -> None:
    scores = {"edges": np.arange(3.0), "counts": np.zeros(2, np.int64), **threshold}
    figure = drawn("score_distribution", made_up_results(scores=scores))
    assert len(labels(figure)) == 1
    assert not figure.axes[0].get_lines()


def test_degree_distribution_counts_genes_with_at_least_k_edges() -> None:
    edges = list(zip("aaab", "bcdc", strict=True))
    figure = drawn("degree_distribution", network_of(edges, regulators="ab"))
    genes, regulators = figure.axes[0].get_lines()
    # Degrees: a 3, b 2, c 2, d 1; out-degrees: a 3, b 1.
    assert genes.get_xydata().tolist() == [[1, 4], [2, 3], [3, 1]]
    assert regulators.get_xydata().tolist() == [[1, 2], [3, 1]]
    assert "a" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("genes", [4, 60, 9000])
def test_degree_distribution_names_hubs_apart_and_counts_in_whole_numbers(genes: int) -> None:
    # The first gene is linked to all others, the second to all but one, and so on.
    hubs = min(5, genes - 2)
    ends = [(f"hub{h}", f"g{k}") for h in range(hubs) for k in range(h, genes)]
    figure = drawn("degree_distribution", network_of(ends))
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in figure.axes[0].texts), key=lambda b: b.y0)
    assert boxes
    assert all(low.y1 < high.y0 for low, high in pairwise(boxes))
    for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis):
        places, (low, high) = axis.get_majorticklocs(), axis.get_view_interval()
        texts = [tick.get_text() for tick in axis.get_ticklabels()]
        shown = [t for t, x in zip(texts, places, strict=True) if low <= x <= high]
        assert shown
        assert all(re.fullmatch(r"[0-9,]+", text) for text in shown)


def test_an_empty_network_has_no_degree_distribution() -> None:
    assert not allows("degree_distribution", network_of([]))


def test_precision_recall_has_the_curve_chance_and_the_network() -> None:
    curve = {"recall": [0, 0.5, 1], "precision": [1, 0.4, 0.1]}
    network = {"recall": 0.3, "precision": 0.6}
    judged = {"curve": curve, "aupr": 0.45, "random_aupr": 0.1, "network": network}
    figure = drawn("precision_recall", made_up_results(evaluation=judged))
    curve, network, chance = figure.axes[0].get_lines()
    assert curve.get_xydata().tolist() == [[0, 1], [0.5, 0.4], [1, 0.1]]
    assert network.get_xydata().tolist() == [[0.3, 0.6]]
    assert chance.get_ydata()[0] == 0.1
    assert [re.findall(r"0\.\d+", label) for label in labels(figure)] == [
        ["0.450"], ["0.600", "0.300"], ["0.100"],
    ]  # fmt: skip
    # The legend lies beside the axes, wherever the curve runs.
    figure.canvas.draw()
    [legend] = figure.legends
    assert legend.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_cleaning_overview_counts_kept_and_left_out() -> None:
    observed = np.array([3, 5, 20, 60, 60, 60])
    items = {"name": list("abcdef"), "kept": observed >= 20, "reason": "", "n_observed": observed}
    results = made_up_results(items=pd.DataFrame(items), preprocess={"min_samples": 20})
    figure = drawn("cleaning", results)
    kept, all_genes = (patch.get_data() for patch in figure.axes[0].patches[:2])
    assert kept.values.sum() == 4
    assert (all_genes.values - all_genes.baseline).sum() == 2
    [line] = figure.axes[0].get_lines()
    assert line.get_xdata()[0] == 19.5


def test_saved_figures_are_the_same_bytes_and_keep_text_as_text(tmp_path: Path) -> None:
    name = "<b>$x_1$</b> & gène"
    results = network_of([(name, gene) for gene in "abcde"])
    made = []
    for folder in ("one", "two"):
        save_figure(drawn("degree_distribution", results), tmp_path / folder, "degree")
        made.append([p.read_bytes() for p in sorted((tmp_path / folder).iterdir())])
    assert made[0] == made[1]
    svg = (tmp_path / "one" / "degree.svg").read_text(encoding="utf-8")
    assert "&lt;b&gt;$x_1$&lt;/b&gt; &amp; gène" in svg
    assert "number with at least k" in svg
    assert not re.search(r"<dc:date>|Matplotlib v", svg)


def test_a_notebook_shows_a_figure_by_itself() -> None:
    """Without pyplot, which alone tells IPython of matplotlib's own figures."""
    figure = network_of([("a", "c"), ("b", "c")]).figure("degree_distribution")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_figures_written_side_by_side_are_those_written_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pairtile.runtime.record.EVERY_SECONDS", 0.0)
    caplog.set_level("INFO", "pairtile")
    svgs = []
    for processes in (1, 2):
        made = {}
        with styled():
            for n in range(3):
                made[f"line{n}"], [axes] = figure_of_panels()
                axes.plot([0, n], [n, 1])
        folder = tmp_path / str(processes)
        folder.mkdir()
        svgs.append(save_figures(made, folder, processes))
    assert svgs[0] == svgs[1]
    said = [line.split(" done")[0] for line in caplog.messages]
    assert said == 2 * ["33.3% of 3 figures", "66.7% of 3 figures"]
    files = {path.name for path in (tmp_path / "2").iterdir()}
    assert files == {f"line{n}.{kind}" for n in range(3) for kind in ("svg", "png")}
    for name in files:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


@pytest.mark.parametrize(("panels", "millimetres"), [(1, 89), (2, 89), (3, 183)])
def test_figures_are_as_wide_as_a_journal_has_columns_and_their_text_has_7_points(
    tmp_path: Path, panels: int, millimetres: float
) -> None:
    # Whatever the reader has set.
    with rc_context({"font.size": 20, "xtick.labelsize": 10, "legend.fontsize": 12}):
        figure, axes = figure_of_panels(panels, panels, width=3.4, height=3.2)
        for each in axes:
            bars(["a", "b"], {"first": [1, 2], "second": [3, 4]}, ax=each, title="t", xlabel="x")
        svg = save_figure(figure, tmp_path, "bars").decode()
    width, box = re.findall(r'<svg [^>]*?width="([\d.]+)pt"[^>]*viewBox="0 0 ([\d.]+)', svg)[0]
    assert width == box  # a unit of the drawing is a point
    assert float(width) == pytest.approx(millimetres / 25.4 * 72)
    assert {float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)} == {7.0}
    pixels = imread(tmp_path / "bars.png").shape[1]
    assert pixels == pytest.approx(millimetres / 25.4 * 300, abs=1)


def test_marks_of_one_style_say_it_once_and_stay_where_they_are(tmp_path: Path) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 90))
    figure = scatter(x, y, {"few": x > 1}, xlim=(-4, 4), ylim=(-4, 4))
    svg = save_figure(figure, tmp_path, "points")
    root = lxml.etree.fromstring(svg)
    marks = [
        use for use in root.iter("{*}use") if "fill-opacity" in use.getparent().get("style", "")
    ]
    assert len(marks) == 90
    axes = figure.axes[0]
    inside = axes.transData.transform(np.c_[x, y]) * 72 / figure.dpi
    height = figure.get_figheight() * 72
    found = sorted((float(use.get("x")), height - float(use.get("y"))) for use in marks)
    np.testing.assert_allclose(found, sorted(map(tuple, inside)), atol=0.02)
    assert svg.count(b"fill-opacity: 0.75") <= 3


def test_a_notebook_has_every_figure_of_the_page(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "demo")
    write_report(folder, folder / "report.html", folder / "figures")
    results = read_results(folder)
    written = {path.stem: path.read_bytes() for path in (folder / "figures").glob("*.svg")}
    assert written.keys() >= {"score_distribution", "degree_distribution", "precision_recall"}
    for name, svg in written.items():
        assert save_figure(results.figure(name), tmp_path, name) == svg
    with pytest.raises(ValueError, match="found 'degree'; expected one of score_distribution, "):
        results.figure("degree")
    with pytest.raises(ValueError, match="components cannot be drawn from the results of demo"):
        results.figure("components")
