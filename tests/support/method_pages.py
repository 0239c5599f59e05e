"""What docs/results/ and the report of a method say of a finished run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name

import lxml.html
import numpy as np
import pandas as pd
from declared_columns import assert_declared, declared_tables
from documents import section_of_page, text_of
from pairtile.method import get_method
from pairtile.report.figures import COMMON_FIGURES
from pairtile.runtime.files import read_json
from paths import ROOT


def assert_described(
    out: Path,
    method: str,
    as_described: Callable[[str], str] = str,
    kinds: tuple[str, ...] = ("arrays", "figures", "counts", "threshold"),
) -> None:
    """Every table is there as declared; the page names arrays, figures and counts of the run.

    ``as_described``: a name with the words that the page has for what users name.
    """
    assert_declared(out, method)
    assert all((out / name).exists() for name in declared_tables(method))
    page = text_of(ROOT / f"docs/results/{method}.md") + section_of_page("## `summary.json`")
    names: list[str] = []
    if "arrays" in kinds:
        names += np.load(out / "scores.npz").files
    if "figures" in kinds:
        report = get_method(method).part(get_method(method).report)
        own = [name for name in resolve_name(report.figures) if name not in COMMON_FIGURES]
        names += [re.sub(r"_\d$", "_1", name) for name in own]
    if "counts" in kinds:
        names += read_json(out / "summary.json")["counts"]
    if "threshold" in kinds:
        names += read_json(out / "summary.json")["threshold"]
    assert [name for name in names if f"`{as_described(name)}`" not in page] == []


def tiles_of(page: lxml.html.HtmlElement) -> dict[str, list[str]]:
    """The numbers at the top: what it is -> value and what it is set against."""
    return {
        div.xpath("dt")[0].text_content(): [dd.text_content() for dd in div.xpath("dd")]
        for div in page.xpath("//*[@class='tiles']/div")
    }


def parts_of(page: lxml.html.HtmlElement) -> list[str]:
    return [section.get("id") for section in page.xpath("//main/section")]


def drawn_in(folder: Path) -> set[str]:
    """Names of the figures."""
    return {path.stem for path in (folder / "figures").glob("*.svg")}


def assert_columns_can_be_sorted(
    table: lxml.html.HtmlElement, numeric: tuple[str, ...], text: str
) -> None:
    """By hand and with the keyboard, in a browser; ``numeric`` by number, ``text`` by letters."""
    headings = {
        "".join(th.xpath(".//*[@class='dt-column-title']/text()")): th.get("class")
        for th in table.xpath("thead//th")
    }
    for name in numeric:
        assert "dt-type-numeric" in headings[name]
    assert "dt-type-numeric" not in headings[text]
    assert len(table.xpath("thead//*[@role='button'][@tabindex='0']")) == len(headings)


def table_of(folder: Path, name: str) -> pd.DataFrame:
    """A table of text, with names such as NA as they are."""
    return pd.read_csv(folder / name, sep="\t", keep_default_na=False, na_values=[""])
