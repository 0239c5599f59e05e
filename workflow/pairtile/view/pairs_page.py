"""The page of all stored pairs that ``pairtile view`` serves."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from pairtile.runtime.page_templates import content_policy, page_templates
from pairtile.view.set_store import AnyStore

HERE = Path(__file__).parent / "templates"
REPORT = Path(__file__).parents[1] / "report/templates"

ALIVE = (HERE / "alive.js").read_text(encoding="utf-8")
"""The script by which a page that is served holds its server."""


def pairs_page(name: str, store: AnyStore) -> tuple[str, str]:
    """The page of one analysis, and what its content policy allows."""
    own = (HERE / f"{part}.js" for part in ("choose", "pairs", "alive"))
    scripts = [
        file.read_text(encoding="utf-8")
        for file in (REPORT / "errors.js", *own, REPORT / "ready.js")
    ]
    text = (
        page_templates(HERE)
        .get_template("pairs.html.j2")
        .render(
            name=name,
            method=store.summary["method"].replace("_", " "),
            score=store.score,
            columns=[column.replace("_", " ") for column in store.columns],
            words=store.WORDS,
            n_pairs=store.rows,
            n_items=len(store.names),
            has_report=(store.path.parent / "report.html").is_file(),
            style=Markup((REPORT / "report.css").read_text(encoding="utf-8")),
            scripts=[Markup(script) for script in scripts],
        )
    )
    return text, content_policy(scripts)
