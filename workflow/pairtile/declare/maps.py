"""Heat maps that can be looked into: over the picture, the page finds the cell under the pointer.

No cell is drawn again: ``maps.js`` reads names and value from the numbers behind the picture, which
the page carries in one or two bytes a cell, compressed.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

FINE_CELLS = 100_000
"""Of more, a cell has one byte in the page: two digits."""


_Cells = tuple[NDArray[np.float64], Mapping[str, Sequence[str]], bool]
_MAPS: WeakKeyDictionary[AxesImage, _Cells] = WeakKeyDictionary()


def label_image(
    image: AxesImage,
    values: NDArray[np.float64],
    names: Mapping[str, Sequence[str]],
    items: bool = False,
) -> None:
    """Say what the cells of an image are.

    Parameters
    ----------
    image : AxesImage
        It may have fewer cells than ``values``.
    values : array, shape (n, m)
        NaN: nothing to say.
    names : mapping of str to sequence of str
        What rows and columns are -> their names; of k times as many, a cell has k of each.
    items : bool
        Whether a click chooses the names of row and column.
    """
    _MAPS[image] = values, names, items


def maps_of(figure: Figure) -> dict[str, object] | None:
    """What ``maps.js`` reads of a figure; None where no image was said to stand for something."""
    images = [(ax, image) for ax in figure.axes for image in ax.images if image in _MAPS]
    if not images:
        return None
    figure.draw_without_rendering()  # panels find their places
    return {"maps": [_packed(ax, image, *_MAPS[image]) for ax, image in images]}


def _packed(
    ax: Axes,
    image: AxesImage,
    values: NDArray[np.float64],
    names: Mapping[str, Sequence[str]],
    items: bool,
) -> dict[str, object]:
    n, m = values.shape
    left, right, bottom, top = image.get_extent()
    corners = ax.transData.transform([[left, bottom], [right, top]])
    (x, y), (x2, y2) = corners / cast(Figure, ax.figure).bbox.size
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    width = 2 if values.size <= FINE_CELLS else 1
    most = 256**width - 2
    codes = np.rint((values - low) / ((high - low) or 1.0) * most)
    codes = np.where(np.isfinite(values), codes, most + 1).astype(f"<u{width}")
    mirrored = n == m and bool(np.array_equal(codes, codes.T))
    if mirrored:
        codes = np.tril(codes)  # what is above takes no room
    bar = image.colorbar
    return {
        "box": [round(share, 5) for share in (x, 1 - y2, x2 - x, y2 - y)],
        "shape": [n, m],
        "up": image.origin == "lower",
        "names": [[what, [*each]] for what, each in names.items()],
        "label": (bar.ax.get_ylabel() or bar.ax.get_xlabel()) if bar else "value",
        "ends": [low, high],
        "width": width,
        "mirrored": mirrored,
        "codes": base64.b64encode(gzip.compress(codes.tobytes(), mtime=0)).decode("ascii"),
        "items": items,
    }
