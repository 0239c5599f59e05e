"""The packed table of edges of a report, read by other means than the page's own script."""

from __future__ import annotations

import base64
import json
from typing import Any

import lxml.html
import numpy as np


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
