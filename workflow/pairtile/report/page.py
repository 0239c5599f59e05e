"""The report: one HTML page that needs nothing beside itself, and its figures as files."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from pairtile.method import methods
from pairtile.report import formats
from pairtile.report.make_figures import make_figures
from pairtile.report.results import Results, read_results
from pairtile.report.sections import CaptionedFigure, PageSection, page_sections
from pairtile.report.text import page_text
from pairtile.runtime.files import write_text
from pairtile.runtime.page_templates import content_policy, page_templates

HERE = Path(__file__).parent


def write_report(
    folder: Path,
    out: Path,
    figures_folder: Path,
    processes: int = 1,
) -> None:
    """Write the report of one analysis.

    Parameters
    ----------
    folder : Path
        ``results/NAME/``: items.parquet, network.parquet and summary.json are read, and
        evaluation.json and scores.npz where they are there.
    out : Path
        The page, written whole or not at all. Equal input gives equal bytes.
    figures_folder : Path
        Gets each figure as ``.svg`` and ``.png``.
    processes : int
        How many processes may write figures at the same time.

    Raises
    ------
    StoreError
        When a required file is missing or cannot be read; the message names it.
    """
    results = read_results(Path(folder))
    write_text(out, render_page(results, make_figures(results, Path(figures_folder), processes)))


def render_page(results: Results, pictures: list[CaptionedFigure]) -> str:
    """The page as text, from results that were read and figures that were made."""
    return render_sections(
        name=results.name,
        kind=results.text.title,
        headline=page_text(results).text("headline"),
        n_warnings=len(results.warnings),
        version=results.summary.get("pairtile_version", ""),
        cost=page_text(results).lines("cost"),
        sections=page_sections(results, pictures),
    )


def render_sections(
    *,
    name: str,
    kind: str,
    headline: str,
    n_warnings: int,
    version: str,
    sections: list[PageSection],
    cost: Sequence[str] = (),
) -> str:
    """A page of these sections as text; ``kind`` stands above the name, ``cost`` at the foot."""
    named = [name for section in sections for name in section.scripts]
    names = list(dict.fromkeys(["errors.js", "choose.js", "scrolling.js", *named, "ready.js"]))
    scripts = [_script(name) for name in names]
    # charts.js unpacks these when it first draws: a third of the bytes, and nothing to read before.
    packed = ("vega.min.js", "vega-interpreter.min.js", "vega-lite.min.js")
    library = ";\n".join(map(_script, packed)) if "charts.js" in names else ""
    # Those of the methods, then that of the page, which has the last word on paper and phones.
    folders = reversed(_template_folders())
    sheets = (sheet for folder in folders for sheet in sorted(folder.glob("*.css")))
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            name=name,
            method=kind,
            headline=headline,
            n_warnings=n_warnings,
            version=version,
            cost=cost,
            sections=sections,
            places=_places(sections),
            style=Markup("".join(sheet.read_text(encoding="utf-8") for sheet in sheets)),
            scripts=scripts,
            library=gzip.compress(library.encode(), mtime=0) if library else b"",
            content_policy=content_policy([*map(str, scripts), library]),
        )
    )


def _places(sections: list[PageSection]) -> dict[str, str]:
    """What numbers of the first screen can lead to: the ids of sections, figures and counts, and
    what each is called."""
    found = {section.id: section.title for section in sections}
    for values in (section.values for section in sections):
        found |= {
            **{f"figure-{some.name}": some.title for some in values.get("pictures", ())},
            **{f"count-{key}": "Counts" for key, *_ in values.get("counts", ())},
        }
    return found


@cache
def _environment() -> jinja2.Environment:
    environment = page_templates(*_template_folders())
    environment.filters |= {
        "count": formats.count,
        "number": formats.number,
        "percent": formats.percent,
        "base64": lambda content: base64.b64encode(content).decode("ascii"),
    }
    # Without spaces, and without NaN, which no browser reads.
    environment.policies["json.dumps_function"] = lambda value, **options: json.dumps(
        value, separators=(",", ":"), allow_nan=False, ensure_ascii=False
    )
    return environment


def _script(name: str) -> Markup:
    """A script of ours or of a library, safe to stand inside a script element."""
    text = _own_text(name)
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError(f"{name}: holds a tag that would end the script element it stands in")
    return Markup(text)


def _own_text(name: str) -> str:
    for folder in (*_template_folders(), HERE / "vendor"):
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    raise FileNotFoundError(f"{name} is in no folder of templates and not in vendor/ of {HERE}")


def _template_folders() -> list[Path]:
    """Those of the page, then those of the stages, of the view and of the methods."""
    shared = [HERE.parent / room for room in ("report", "declare", "downstream", "view")]
    return [room / "templates" for room in (*shared, *(m.folder for m in methods().values()))]
