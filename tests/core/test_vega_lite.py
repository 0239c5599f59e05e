"""Figures that can be looked into: the specification is Vega-Lite, and holds what was drawn."""

from __future__ import annotations

import json
import lzma
from functools import cache
from typing import Any

import jsonschema
import numpy as np
from matplotlib.figure import Figure
from pairtile.declare.vega_lite import MAX_BYTES, specification
from pairtile.report import charts
from pairtile.report.style import figure_of_panels
from paths import ROOT

AWKWARD = ["<b>$x_1$</b>", '"quoted" \\ back', "naïve 'µ'", "</script>"]


@cache
def validator() -> jsonschema.protocols.Validator:
    """Of Vega-Lite's own schema, which its npm package holds."""
    text = lzma.decompress((ROOT / "tests/golden/vega_lite_schema.json.xz").read_bytes())
    schema = json.loads(text)
    return jsonschema.validators.validator_for(schema)(schema)


def spec_of(figure: Figure) -> Any:
    """The specification as the page holds it, once it is certain that it is valid."""
    given = specification(figure)
    assert given is not None
    found = json.loads(json.dumps(given, allow_nan=False))
    errors = [error.message[:300] for error in validator().iter_errors(found)]
    assert not errors
    return found


def rows_of(layer: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = layer["data"]["values"]
    return rows


def test_points_have_their_places_their_names_and_what_a_click_chooses() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 40))
    names, pairs = [f"S{k}" for k in range(40)], [(f"a{k}", f"b{k}") for k in range(40)]
    x[7] = np.nan
    figure = charts.scatter(
        x, y, {"few": x > 1, "more": x < 0}, hover={"sample": names}, items=pairs,
        xlabel="one", ylabel="other", vlines={"threshold": 0.5},
    )  # fmt: skip
    found = spec_of(figure)
    points = [row for part in found["layer"] for row in rows_of(part) if "h0" in row]
    assert len(points) == 39
    for row in points:
        k = names.index(row["h0"])
        assert row["items"] == list(pairs[k])
        np.testing.assert_allclose([row["x"], row["y"]], [x[k], y[k]], rtol=1e-3)
    titles = [one["title"] for one in found["layer"][0]["encoding"]["tooltip"]]
    assert titles == ["sample", "one", "other"]
    [legend] = [part for part in found["layer"] if "series" in rows_of(part)[0]]
    colours = dict(zip(*legend["encoding"]["color"]["scale"].values(), strict=True))
    assert colours == {
        "few": charts.COLOURS[0].lower(),
        "more": charts.COLOURS[1].lower(),
        "threshold": charts.INK,
    }
    assert found["encoding"]["x"]["scale"]["domain"] == list(figure.axes[0].get_xlim())
    [line] = [part for part in found["layer"] if part["mark"]["type"] == "line"]
    assert [row["x"] for row in rows_of(line)] == [0.5, 0.5]
    assert line["mark"]["strokeDash"]


def test_bins_say_their_ends_and_their_counts() -> None:
    figure, (left, right) = figure_of_panels(2, 2)
    x = np.arange(5.0)
    charts.histogram(
        [0, 1, 2, 3], {"a": [5, 0, 1], "b": [2, 3, 0]}, null={"chance": [990, 1, 0]},
        yscale="log", ax=left, ylabel="pairs",
    )  # fmt: skip
    charts.scatter(x, x, hover={"sample": list("abcde")}, ax=right)
    found = spec_of(figure)
    bins = [part for part in found["concat"][0]["layer"] if part["mark"]["type"] == "rect"]
    counted = [(row["bin"], row["n"]) for part in bins for row in rows_of(part)]
    assert counted == [("0 to 1", 5), ("2 to 3", 1), ("0 to 1", 2), ("1 to 2", 3)]
    assert found["concat"][0]["encoding"]["y"]["scale"]["type"] == "log"
    assert found["columns"] == 2


def test_lines_names_marks_and_a_bar_of_colours_have_a_counterpart() -> None:
    figure, axes = figure_of_panels(2, 2)
    curves = {"a": ([1, 2, 3], [3, np.nan, 2]), "one": ([1], [2])}
    charts.lines(curves, ax=axes[0], marker="o")
    points = [(name, k, k) for k, name in enumerate(AWKWARD)]
    x = np.arange(4.0)
    charts.scatter(
        x, x, values=x, named=points, hover={"gene": AWKWARD}, ax=axes[1], diagonal="same"
    )
    charts.color_bar(axes[1:], (0.0, 3.0), "number")
    found = spec_of(figure)
    named = [part for part in found["concat"][1]["layer"] if part["mark"]["type"] == "text"]
    assert {row["text"] for part in named for row in rows_of(part)} <= set(AWKWARD)
    [bar] = [part for part in found["concat"][-1]["layer"] if "fill" in part["encoding"]]
    assert bar["encoding"]["fill"]["legend"]["title"] == "number"


def test_what_has_no_counterpart_or_weighs_too_much_stays_a_picture() -> None:
    x = np.random.default_rng(3).normal(size=20_000)
    names = [f"sample {k}" for k in range(x.size)]
    assert len(names) * 40 > MAX_BYTES
    assert specification(charts.scatter(x, x, hover={"sample": names})) is None
    figure = charts.scatter(x[:9], x[:9], hover={"sample": names[:9]})
    assert spec_of(figure)
    figure.axes[0].hexbin(x, x)
    assert specification(figure) is None
    for draw in (
        lambda ax: charts.bars(["a", "b"], {"": [1, 2]}, ax=ax),
        lambda ax: charts.heat_map(np.eye(2), "v", ax=ax),
    ):
        figure, (left, right) = figure_of_panels(2, 2)
        charts.scatter(x[:9], x[:9], hover={"sample": names[:9]}, ax=left)
        draw(right)
        assert specification(figure) is None
    assert specification(charts.scatter(x[:9], x[:9])) is None
