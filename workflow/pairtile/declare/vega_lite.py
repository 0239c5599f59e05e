"""Figures that can be looked into: what matplotlib has drawn, as a Vega-Lite specification.

Data, axes and legend are read off the drawn figure, so that a figure is declared once and shows the
same on paper and in the page, where ``charts.js`` draws it. A figure with something that has no
counterpart here stays a picture, and so does one whose data would weigh too much.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PathCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch, StepPatch
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Transform
from numpy.typing import ArrayLike, NDArray

Json = dict[str, object]

MAX_BYTES = 300_000
"""Of a specification; Vega draws some thousand marks a second."""

PIXELS = 11 / 7
"""For each printed point: text of 7 points is read at 11 pixels."""

COLOURS = 12
"""Of a colour map; those between are interpolated."""

CHOSEN = (
    "length(chosen) && indexof(datum.items, chosen[0]) >= 0"
    " && (length(chosen) < 2 || indexof(datum.items, chosen[1]) >= 0)"
)
"""Whether a point stands for what is chosen in the page: one item, or a pair."""


_Meaning = tuple[Mapping[str, Sequence[str]], Sequence[Sequence[str]]]
_MEANINGS: WeakKeyDictionary[Artist, _Meaning] = WeakKeyDictionary()


class _NoCounterpartError(Exception):
    """The figure has something that is not translated."""


def label_marks(
    artist: Artist,
    hover: Mapping[str, Sequence[str]],
    items: Sequence[Sequence[str]] = (),
) -> None:
    """Say what the points or cells of something drawn are.

    Parameters
    ----------
    artist : PathCollection or Line2D
        Points, n of them.
    hover : mapping of str to sequence of str
        What is shown of the point under the pointer: heading -> n texts.
    items : sequence of sequences of str
        Of each point, the one item or the two that a click chooses; none: it chooses nothing.
    """
    _MEANINGS[artist] = hover, items


def names_points(figure: Figure) -> bool:
    """Whether something in the figure has been said to stand for something."""
    return any(artist in _MEANINGS for ax in figure.axes for artist in ax.get_children())


def specification(figure: Figure) -> Json | None:
    """The figure in Vega-Lite; None where neither a point nor a bin of it tells more under the
    pointer, or it must stay a picture."""
    panels = [ax for ax in figure.axes if not _bar_of(ax)]
    binned = any(isinstance(patch, StepPatch) for ax in panels for patch in ax.patches)
    if not (binned or names_points(figure)):
        return None
    try:
        views = [_panel(ax) for ax in panels]
    except _NoCounterpartError:
        return None
    for ax in figure.axes:
        if bar := _bar_of(ax):
            mark, fill = {"type": "point", "opacity": 0}, _shades("shade", bar.mappable)
            layer = {"data": {"values": [{}]}, "mark": mark, "encoding": {"fill": fill}}
            cast(list[Json], views[-1]["layer"]).append(layer)
    grid = panels[0].get_subplotspec()
    whole: Json = {
        "params": [{"name": "chosen", "value": []}],
        "columns": grid.get_gridspec().ncols if grid else 1,
        "concat": views,
        "resolve": {"scale": {"color": "independent", "fill": "independent"}},
        "config": _CONFIG,
    }
    if len(views) == 1:
        whole = {**whole, **views[0], "autosize": {"type": "fit-x", "contains": "padding"}}
        del whole["concat"], whole["columns"], whole["resolve"]
    return whole if len(json.dumps(whole, separators=(",", ":"))) <= MAX_BYTES else None


_TEXT: Json = {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
_CONFIG: Json = {
    "font": "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif",
    "axis": {**_TEXT, "gridColor": "#dde3ea", "domainColor": "#6b7785", "labelColor": "#1f2933"},
    "legend": {**_TEXT, "labelLimit": 320, "orient": "top"},
    "title": {"fontSize": 11, "fontWeight": "normal"},
    "view": {"stroke": None},
}


def _bar_of(ax: Axes) -> Colorbar | None:
    return cast("Colorbar | None", getattr(ax, "_colorbar", None))


def _panel(ax: Axes) -> Json:
    """One view: axes as drawn, a layer for each thing in them, the lowest first."""
    figure = cast(Figure, ax.get_figure())
    handles, labels = ax.get_legend_handles_labels()
    legends = filter(None, (ax.get_legend(), *figure.legends))
    texts = {text.get_text() for legend in legends for text in legend.get_texts()}
    colours = {
        label: colour
        for handle, label in zip(handles, labels, strict=True)
        if (colour := _colour(handle)) and any(text[:20] == label[:20] for text in texts)
    }
    layers: list[Json] = []
    drawn = [*ax.collections, *ax.patches, *ax.lines, *ax.texts, *ax.images, *ax.child_axes]
    for artist in sorted(drawn, key=lambda artist: artist.get_zorder()):
        for layer in _layers(ax, artist) if artist.get_visible() else ():
            cast(Json, layer["mark"]).setdefault("clip", artist.get_clip_on())
            _add(layers, layer)
    if colours:
        layers.append(_legend(colours))
    box, (width, height) = ax.get_position(), figure.get_size_inches()
    wide, high = box.width * width, box.height * height
    if ax.get_aspect() == 1.0:
        high = wide * float(np.abs(np.diff(ax.get_ylim()) / np.diff(ax.get_xlim()))[0])
    panel: Json = {
        "width": round(72 * PIXELS * wide),
        "height": round(72 * PIXELS * high),
        "encoding": {"x": _axis(ax, "x"), "y": _axis(ax, "y")},
        "layer": layers,
    }
    return {"title": ax.get_title(), **panel} if ax.get_title() else panel


def _legend(colours: Mapping[str, str]) -> Json:
    """A layer that draws nothing, for its legend."""
    color = {
        "field": "series", "type": "nominal",
        "scale": {"domain": [*colours], "range": [*colours.values()]},
        "legend": {"title": None, "symbolOpacity": 1},
    }  # fmt: skip
    return {
        "data": {"values": [{"series": name} for name in colours]},
        "mark": {"type": "point", "filled": True, "opacity": 0},
        "encoding": {"color": color},
    }


def _add(layers: list[Json], layer: Json) -> None:
    """Append a layer, or its rows to a last one that is drawn alike."""
    last = layers[-1] if layers else None
    if (
        last
        and "transform" not in layer
        and cast(Json, layer["mark"])["type"] != "line"
        and {**last, "data": None} == {**layer, "data": None}
    ):
        rows = [cast(list[Json], cast(Json, part["data"])["values"]) for part in (last, layer)]
        last["data"] = {"values": rows[0] + rows[1]}
    else:
        layers.append(layer)


def _axis(ax: Axes, name: str) -> Json:
    """An axis with the ticks and texts that were drawn."""
    axis, limits = (ax.xaxis, ax.get_xlim()) if name == "x" else (ax.yaxis, ax.get_ylim())
    low, high = sorted(limits)
    ticks = [float(tick) for tick in axis.get_majorticklocs()]
    texts = axis.get_major_formatter().format_ticks(ticks)
    pairs = [(x, text) for x, text in zip(ticks, texts, strict=True) if low <= x <= high]
    places = [_round(x) for x, _ in pairs]
    side = "labelbottom" if name == "x" else "labelleft"
    turned = any(label.get_rotation() for label in axis.get_ticklabels())
    names = [text if "\\mathdefault" not in text else f"{x:g}" for x, text in pairs]
    return {
        "field": name,
        "type": "quantitative",
        "title": axis.get_label_text() or None,
        "scale": {"type": axis.get_scale(), "domain": [*map(float, limits)], "nice": False},
        "axis": {
            "values": places,
            "labelExpr": f"{json.dumps(names)}[indexof({json.dumps(places)}, datum.value)]",
            "labels": axis.get_tick_params().get(side, True),
            "grid": any(line.get_visible() for line in axis.get_gridlines()),
            **({"labelAngle": -90} if turned else {}),
        },
    }


def _layers(ax: Axes, artist: Artist) -> Iterable[Json]:
    """What Vega-Lite draws in place of something that matplotlib drew."""
    for kind, translate in _TRANSLATIONS.items():
        if isinstance(artist, kind):
            return translate(ax, artist)
    raise _NoCounterpartError(type(artist).__name__)


def _points(ax: Axes, artist: PathCollection) -> Iterator[Json]:
    places = _data(ax, artist.get_offset_transform(), np.ma.filled(artist.get_offsets(), np.nan))
    filled = len(artist.get_facecolor()) > 0
    colours = artist.get_facecolor() if filled else artist.get_edgecolor()
    mark: Json = {
        "type": "point", "filled": filled, "shape": _shape(artist.get_paths()[0]),
        "size": round(float(artist.get_sizes()[0]) * PIXELS**2, 1),
    }  # fmt: skip
    if len(places):
        yield _marks(artist, places, mark, np.asarray(colours))


def _marks(
    artist: Artist, places: NDArray[np.float64], mark: Json, colours: NDArray[np.float64]
) -> Json:
    """Points, with what they stand for."""
    hover, items = _MEANINGS.get(artist, ({}, ()))
    known = np.isfinite(places).all(axis=1)
    columns: dict[str, Sequence[object]] = {
        "x": [*map(_round, places[:, 0])], "y": [*map(_round, places[:, 1])],
        **{f"h{k}": texts for k, texts in enumerate(hover.values())},
    }  # fmt: skip
    encoding: Json = {}
    if len(colours) > 1:
        columns["colour"] = [to_hex(colour) for colour in colours]
        encoding["color"] = {"field": "colour", "type": "nominal", "scale": None}
    else:
        mark["color"] = to_hex(colours[0])
    mark["opacity"] = round(float(colours[0][3]), 3)
    if items:
        columns["items"] = [[*names] for names in items]
        encoding |= _CHOSEN_STROKE
        mark["cursor"] = "pointer"
    if hover:
        encoding["tooltip"] = [
            *({"field": f"h{k}", "title": title} for k, title in enumerate(hover)),
            *_numbers(cast(Axes, artist.axes), hover),
        ]
    rows = [
        {name: values[k] for name, values in columns.items()}
        for k in np.flatnonzero(known).tolist()
    ]
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


_CHOSEN_STROKE: Json = {
    "stroke": {"condition": {"test": CHOSEN, "value": "black"}, "value": None},
    "strokeWidth": {"condition": {"test": CHOSEN, "value": 2.5}, "value": 0},
    "opacity": {"condition": {"test": CHOSEN, "value": 1}},
}


def _numbers(ax: Axes, taken: Iterable[str]) -> Iterator[Json]:
    """Both coordinates under the names of their axes; those without a tick have no unit."""
    names = {*taken}
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        title = axis.get_label_text() or name
        if title not in names and axis.get_tick_params().get("labelbottom", True):
            names.add(title)
            number = {"type": "quantitative", "format": ".4~g"}
            yield {"field": name, "title": title, **number}


def _line(ax: Axes, artist: Line2D) -> Iterator[Json]:
    places = _data(ax, artist.get_transform(), np.asarray(artist.get_xydata(), dtype=np.float64))
    colour, marker = (
        np.array([to_rgba(artist.get_color(), artist.get_alpha())]),
        artist.get_marker(),
    )
    if artist.get_linestyle() != "None" and len(places) > 1:
        dashes = {"strokeDash": [5, 3]} if artist.is_dashed() else {}
        yield _path(places, {**_stroke(colour[0], artist.get_linewidth()), **dashes})
    if marker not in ("", "None", None):
        style = MarkerStyle(cast(str, marker))
        face, edge = artist.get_markerfacecolor(), artist.get_markeredgecolor()
        size = (float(artist.get_markersize()) * PIXELS) ** 2
        filled = style.is_filled()
        mark: Json = {
            "type": "point", "filled": filled, "size": round(size, 1),
            "shape": _shape(style.get_path().transformed(style.get_transform())),
        }  # fmt: skip
        if filled and to_hex(edge) != to_hex(face):
            mark |= {"stroke": to_hex(edge), "strokeWidth": 0.8}
        yield _marks(artist, places, mark, np.array([to_rgba(face if filled else edge)]))


def _bins(ax: Axes, artist: StepPatch) -> Iterator[Json]:
    low = min(ax.get_ylim())  # as far down as a logarithmic axis goes
    values, edges, baseline = artist.get_data()
    if not artist.get_fill():
        places = np.c_[np.repeat(edges, 2)[1:-1], np.maximum(np.repeat(values, 2), low)]
        yield _path(places, _stroke(to_rgba(artist.get_edgecolor()), artist.get_linewidth()))
        return
    fill, edge = to_rgba(artist.get_facecolor()), to_rgba(artist.get_edgecolor())
    mark: Json = {"type": "rect", "color": to_hex(fill), "fillOpacity": round(fill[3], 3)}
    if artist.get_linewidth() and edge[3]:
        mark |= {"stroke": to_hex(edge), "strokeWidth": artist.get_linewidth() * PIXELS}
    base = np.broadcast_to(
        np.asarray(0.0 if baseline is None else baseline, np.float64), values.shape
    )
    rows: list[Json] = [
        {
            "x": _round(a), "x2": _round(b), "y": _round(max(low, under)), "y2": _round(top),
            "bin": f"{a:.4g} to {b:.4g}", "n": _round(top - under),
        }
        for a, b, under, top in zip(edges[:-1], edges[1:], base, values, strict=True)
        if top > max(low, under)
    ]  # fmt: skip
    titles = ax.xaxis.get_label_text() or "bin", ax.yaxis.get_label_text() or "n"
    tooltip = [
        {"field": "bin", "title": titles[0]},
        {"field": "n", "title": titles[1], "format": ",.4~g", "type": "quantitative"},
    ]
    encoding = {"x2": {"field": "x2"}, "y2": {"field": "y2"}, "tooltip": tooltip}
    yield {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _patch(ax: Axes, artist: Patch) -> Iterator[Json]:
    path = artist.get_transform().transform_path(artist.get_path())
    if artist.get_fill() or artist.get_hatch():
        raise _NoCounterpartError(type(artist).__name__)
    stroke = _stroke(to_rgba(artist.get_edgecolor()), artist.get_linewidth())
    for polygon in path.to_polygons(closed_only=False):
        yield _path(_data(ax, None, polygon), stroke)


def _text(ax: Axes, artist: Text) -> Iterator[Json]:
    x, y = artist.get_position()
    dx = dy = 0.0
    transform: Transform | None = artist.get_transform()
    if isinstance(artist, Annotation):
        if artist.xycoords != "data" or artist.anncoords != "offset points":
            raise _NoCounterpartError("annotation")
        (dx, dy), (x, y), transform = artist.xyann, artist.xy, ax.transData
    [(x, y)] = _data(ax, transform, [[x, y]])
    lines: dict[str, str] = {
        "baseline": "alphabetic",
        "center_baseline": "middle",
        "center": "middle",
    }
    mark = {
        "type": "text", "color": to_hex(artist.get_color()),
        "align": artist.get_horizontalalignment(),
        "baseline": lines.get(artist.get_verticalalignment(), artist.get_verticalalignment()),
        "dx": dx * PIXELS, "dy": -dy * PIXELS, "fontSize": float(artist.get_fontsize()) * PIXELS,
        "lineBreak": "\n",
    }  # fmt: skip
    rows = [{"x": _round(x), "y": _round(y), "text": artist.get_text()}]
    encoding = {"text": {"field": "text"}}
    if artist.get_text():
        yield {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _shades(field: str, colours: ScalarMappable) -> Json:
    """A channel of colours from a colour map, with its bar."""
    places = np.linspace(0.0, 1.0, COLOURS)
    low, high = colours.get_clim()
    bar = colours.colorbar
    scale = {
        "domain": [float(low + (high - low) * x) for x in places],
        "range": [to_hex(colour) for colour in colours.get_cmap()(places)],
        "clamp": True,
    }
    legend = {
        "title": (bar.ax.get_ylabel() or bar.ax.get_xlabel()) if bar else "value",
        "direction": "horizontal",
        "gradientLength": 160,
        "format": ",.3~r",
    }
    return {"field": field, "type": "quantitative", "scale": scale, "legend": legend}


def _path(places: NDArray[np.float64], mark: Json) -> Json:
    """A line through places in their order, broken where one is unknown."""
    rows = [{"x": _round(x), "y": _round(y)} for x, y in places]
    mark = {"type": "line", "invalid": "break-paths-filter-domains", "order": False, **mark}
    return {"data": {"values": rows}, "mark": mark, "encoding": {}}


def _stroke(colour: Iterable[float], width: float) -> Json:
    red, green, blue, opacity = colour
    width = round(float(width) * PIXELS, 2)
    return {"color": to_hex((red, green, blue)), "opacity": round(opacity, 3), "strokeWidth": width}


def _data(ax: Axes, transform: Transform | None, places: ArrayLike) -> NDArray[np.float64]:
    """Places (n, 2) that a transform puts on the canvas, as values of the axes of the panel."""
    points = np.asarray(places, dtype=np.float64)
    if transform == ax.transData:
        return points
    canvas = points if transform is None else transform.transform(points)
    return np.asarray(ax.transData.inverted().transform(canvas), dtype=np.float64)


def _round(value: float, digits: int = 4) -> float | None:
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def _shape(path: Path) -> str:
    """A marker as a path of SVG in a square from -1 to 1."""
    places = np.asarray(path.vertices)
    if len(places) > 16:
        return "circle"
    size = np.abs(places).max()
    return "".join(
        "Z" if code == Path.CLOSEPOLY else
        f"{'M' if code == Path.MOVETO else 'L'}{x / size:.3g},{-y / size:.3g}"
        for (x, y), code in path.iter_segments(curves=False, simplify=False)
    )  # fmt: skip


def _colour(handle: object) -> str | None:
    """That of something in a legend; None where it has several."""
    if isinstance(handle, Line2D):
        return to_hex(handle.get_color())
    colours = getattr(handle, "get_facecolor", lambda: ())()
    if isinstance(handle, StepPatch) and not handle.get_fill():
        colours = handle.get_edgecolor()
    rows = np.atleast_2d(np.asarray(colours, dtype=np.float64))
    return to_hex(rows[0]) if len(np.unique(rows, axis=0)) == 1 and rows.size else None


_TRANSLATIONS: Mapping[type[Artist], Callable[..., Iterable[Json]]] = {
    PathCollection: _points, Line2D: _line, StepPatch: _bins, Patch: _patch, Text: _text,
}  # fmt: skip
