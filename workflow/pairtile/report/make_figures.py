"""The figures of one analysis: drawn one by one, or written with the captions beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name

from matplotlib.figure import Figure

from pairtile.config.downstream import PACKAGE
from pairtile.declare.maps import maps_of
from pairtile.declare.vega_lite import names_points, specification
from pairtile.report.figures import COMMON_FIGURES, regulator
from pairtile.report.method_report import CaptionedFigure, Drawn, FigureMaker, Results, made_of
from pairtile.report.sections.network import lay_out_beside
from pairtile.report.style import save_figures
from pairtile.report.text import Texts, page_text


def figures_of(results: Results) -> Mapping[str, FigureMaker]:
    """Every figure that an analysis may have, in the order of the page: those of its method, those
    of the stages, then the network of one item, which the page draws itself."""
    figures = results.method_report.figures
    own = resolve_name(figures) if isinstance(figures, str) else figures
    return {**own, **resolve_name(f"{PACKAGE}.charts:FIGURES"), "regulator": regulator}


def draw_figure(results: Results, name: str) -> Figure:
    """A figure by its name (``Results.figure``)."""
    figures = figures_of(results)
    if name not in figures:
        raise ValueError(f"figure: found {name!r}; expected one of {', '.join(figures)}")
    if results.colour_by and name not in (by_sample := resolve_name(f"{PACKAGE}.charts:BY_SAMPLE")):
        raise ValueError(
            f"colour_by: found the figure {name}; expected one of {', '.join(sorted(by_sample))}"
        )
    if bool(results.drawn_item) != (name == "regulator"):
        raise ValueError(
            f"of: found {results.drawn_item!r}; expected an item for the figure regulator alone"
        )
    drawn = made_of(results, figures[name])
    if drawn is None:
        raise ValueError(f"figure: {name} cannot be drawn from the results of {results.name}")
    return drawn.figure


def make_figures(results: Results, folder: Path, processes: int = 1) -> list[CaptionedFigure]:
    """Write ``folder/NAME.svg`` and ``.png`` for each figure that the results allow.

    Files of figures that an earlier run could make and this one cannot are removed. ``processes``
    may write figures at the same time.
    """
    beside = processes > 1 and not results.network.empty
    take_layout = lay_out_beside(results) if beside else lambda: None
    figures = figures_of(results)
    for name in {*COMMON_FIGURES, *figures}:
        for suffix in (".svg", ".png"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)
    made = {name: drawn for name, draw in figures.items() if (drawn := made_of(results, draw))}
    return write_figures(made, page_text(results), folder, processes, take_layout)


def write_figures(
    made: Mapping[str, Drawn],
    text: Texts,
    folder: Path,
    processes: int = 1,
    meanwhile: Callable[[], None] = lambda: None,
) -> list[CaptionedFigure]:
    """Write figures into a folder; with captions of ``text``, and as scripts of the page read them.

    meanwhile : called once they are written, before captions are made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = {name: drawn.figure for name, drawn in made.items()}
    live = any(map(names_points, figures.values()))  # for histograms alone Vega weighs too much
    # Before figures are laid out, which forks keep to themselves: equal pages for any number.
    charts = [
        maps_of(figure) or (specification(figure) if live else None) for figure in figures.values()
    ]
    svgs = save_figures(figures, folder, processes)
    meanwhile()
    return [
        text.captioned(name, drawn, svg, chart)
        for (name, drawn), svg, chart in zip(made.items(), svgs, charts, strict=True)
    ]
