"""The page of a report as written: its sections, its table of edges."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
from pairtile.report.page import render_page, write_report
from pairtile.report.results import read_results
from pairtile.runtime.files import read_json


def read_page(folder: Path) -> lxml.html.HtmlElement:
    """The page that was written in ``folder``."""
    return lxml.html.fromstring((folder / "report.html").read_text(encoding="utf-8"))


def page_of(folder: Path) -> lxml.html.HtmlElement:
    """Write the report of a results folder and parse it."""
    write_report(folder, folder / "report.html", folder / "figures")
    return read_page(folder)


def plain_page(folder: Path) -> lxml.html.HtmlElement:
    """The page of a results folder, parsed, without its figures, which take most of the time."""
    return lxml.html.fromstring(render_page(read_results(folder), []))


def part(page: lxml.html.HtmlElement, name: str) -> str:
    """The text of a section, spaces joined."""
    return " ".join(" ".join(page.get_element_by_id(name).itertext()).split())


def edge_rows(page: lxml.html.HtmlElement) -> list[list[Any]]:
    """Rows of the table of edges: both names, then numbers (None: missing) and texts."""
    network = json.loads(page.get_element_by_id("network-data").text)
    table = json.loads(page.get_element_by_id("edges-data").text)
    names, edges = [node[0] for node in network["nodes"]], network["edges"]
    columns: list[list[Any]] = [[names[edge[end]] for edge in edges] for end in (0, 1)]
    for column in table["columns"]:
        drawn = [edge[2] for edge in edges]
        columns.append(unpacked(column) if len(column) > 1 else drawn)
    assert {len(column) for column in columns} == {len(edges)}
    return [list(row) for row in zip(*columns, strict=True)]


def unpacked(column: dict[str, Any]) -> list[Any]:
    """The values of a column that ``pack_column`` made, NaN as None."""
    if "decimals" in column:
        packed = np.frombuffer(base64.b64decode(column["decimals"]), dtype="<i4").astype(np.int64)
        texts = [f"{code // 1024}e{code % 1024 - 512}" for code in packed.tolist()]
        return [None if text == "0e511" else float(text) for text in texts]
    width = "<u1" if len(column["values"]) <= 256 else "<u2"
    codes = np.frombuffer(base64.b64decode(column["codes"]), dtype=width)
    return [column["values"][code] for code in codes]


def report(folder: Path) -> str:
    """Write the report of ``folder``; its address."""
    write_report(folder, folder / "report.html", folder / "figures")
    return (folder / "report.html").as_uri()


def warnings_of(folder: Path) -> str:
    found = read_page(folder).xpath("//*[@class='warnings']")
    return found[0].text_content() if found else ""


def codes_of(folder: Path) -> set[str]:
    """Codes of what the summary warns of and notes."""
    return {said["code"] for said in read_json(folder / "summary.json")["messages"]}


def numbers_of(folder: Path, code: str) -> dict[str, Any]:
    """The numbers of the one message with a code."""
    [said] = [m for m in read_json(folder / "summary.json")["messages"] if m["code"] == code]
    found: dict[str, Any] = said["numbers"]
    return found


def assert_made_again_alike(folder: Path) -> None:
    """The page and its figures, made twice of the same results, are the same bytes."""
    made = []
    for _ in range(2):
        page_of(folder)
        files = [folder / "report.html", *sorted((folder / "figures").iterdir())]
        made.append({path.name: path.read_bytes() for path in files})
    assert made[0] == made[1]
