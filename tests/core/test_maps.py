"""Heat maps that can be looked into: cells lie where they are drawn, and say what they are."""

from __future__ import annotations

import base64
import gzip
import io
import json
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pairtile.declare.maps import FINE_CELLS, maps_of
from pairtile.report import charts
from pairtile.report.style import figure_of_panels, styled

RANDOM = np.random.default_rng(5)


def the_map(figure: Figure) -> Any:
    found = maps_of(figure)
    assert found is not None
    [one] = json.loads(json.dumps(found, allow_nan=False))["maps"]
    return one


def unpacked(found: Any) -> NDArray[np.float64]:
    """The numbers of a map, as maps.js reads them."""
    codes = np.frombuffer(
        gzip.decompress(base64.b64decode(found["codes"])), dtype=f"<u{found['width']}"
    ).reshape(found["shape"])
    if found["mirrored"]:
        codes = np.tril(codes) + np.tril(codes, -1).T
    low, high = found["ends"]
    most = 256 ** found["width"] - 2
    return np.where(codes > most, np.nan, low + codes / most * (high - low))


@pytest.mark.parametrize("origin", ["upper", "lower"])
@pytest.mark.parametrize("shape", [(3, 4), (5, 5), (7, 2)])
def test_cells_lie_where_the_picture_has_their_colours(origin: Any, shape: tuple[int, int]) -> None:
    matrix = RANDOM.uniform(size=shape)
    matrix[1, 1] = np.nan
    names = [[f"{side}{k}" for k in range(n)] for side, n in zip("rc", shape, strict=True)]
    hover = dict(zip(("row", "column"), names, strict=True))
    figure = charts.heat_map(
        matrix, "r", origin=origin, hover=hover, limits=(0, 1), aspect="auto",
        rows=dict(enumerate(names[0])), xlabel="x",
    )  # fmt: skip
    found = the_map(figure)
    png = io.BytesIO()
    with styled():
        figure.savefig(png, format="png", dpi=300)
    png.seek(0)
    image = matplotlib.image.imread(png)[..., :3]
    left, top, wide, high = found["box"]
    n, m = shape
    for i in range(n):
        for j in range(m):
            down = n - 1 - i if found["up"] else i
            x, y = left + wide * (j + 0.5) / m, top + high * (down + 0.5) / n
            seen = image[int(y * image.shape[0]), int(x * image.shape[1])]
            value = matrix[i, j]
            drawn = charts.NOTHING if np.isnan(value) else colormaps[charts.SEQUENTIAL](value)
            np.testing.assert_allclose(seen, to_rgb(drawn), atol=0.01)
    assert found["names"] == [["row", names[0]], ["column", names[1]]]
    assert found["label"] == "r"


@pytest.mark.parametrize(
    ("n", "m", "alike"), [(3, 5, False), (6, 6, True), (400, 300, False), (320, 320, True)]
)
def test_numbers_are_those_of_the_matrix_to_half_a_step(n: int, m: int, alike: bool) -> None:
    matrix = RANDOM.normal(size=(n, m))
    matrix[0, 1] = matrix[2, 2] = np.nan
    if alike:
        matrix = matrix + matrix.T
    names = {"a": [f"a{k}" for k in range(n)], "b": [f"b{k}" for k in range(m)]}
    found = the_map(charts.heat_map(matrix, "r", hover=names))
    assert found["width"] == (2 if n * m <= FINE_CELLS else 1)
    assert found["mirrored"] == alike
    step = np.nanmax(matrix) - np.nanmin(matrix)
    step /= 256 ** found["width"] - 2
    np.testing.assert_allclose(unpacked(found), matrix, atol=0.501 * step)


@pytest.mark.parametrize("matrix", [[[0.5, 0.5]], [[np.nan, np.nan]]])
def test_a_map_of_one_value_or_none_is_told_too(matrix: list[list[float]]) -> None:
    found = the_map(charts.heat_map(matrix, "r", hover={"a": ["x"], "b": ["y", "z"]}))
    np.testing.assert_array_equal(unpacked(found), matrix)


def test_large_maps_stay_small() -> None:
    values = RANDOM.uniform(size=(2500, 2500))
    names = [f"A:{k}" for k in range(2500)]
    for n, cells in ((700, 700), (2000, 667), (2500, 625)):
        part = values[:n, :n] + values[:n, :n].T
        found = the_map(
            charts.heat_map(part, "r", hover={"of": names[:n], "and": names[:n]}, items=True)
        )
        assert found["shape"] == [cells, cells]
        assert len(found["names"][0][1]) == n
        # Noise without any order: nothing compresses worse.
        assert len(json.dumps(found)) < 400_000


def test_images_that_were_not_said_to_stand_for_something_stay_pictures() -> None:
    assert maps_of(charts.heat_map(np.eye(3), "r")) is None
    figure, (left, right) = figure_of_panels(2, 2)
    charts.heat_map([[0.1, 0.2]], "r", ax=left)
    charts.heat_map([[0.3, 0.9]], "s", ax=right, hover={"a": ["x"], "b": ["y", "z"]})
    assert the_map(figure)["label"] == "s"
