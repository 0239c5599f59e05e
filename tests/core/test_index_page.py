"""The page over all analyses of a folder of results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from lxml import html
from pairtile.runtime.files import write_json
from pairtile.runtime.pages import write_index


def write_analysis(results: Path, name: str, headline: str, warnings: int, edges: int) -> None:
    folder = results / name
    folder.mkdir(parents=True)
    counts = {"pairs": 44_850, "edges": edges}
    summary = {"method": "mutual_information", "counts": counts}
    write_json(folder / "summary.json", summary)
    pd.DataFrame({"source": ["a"] * edges}).to_parquet(folder / "network.parquet")
    (folder / "report.html").write_text(
        f'<head><meta name="pairtile:warnings" content="{warnings}">'
        f"<title>{name}: {headline}</title></head>"
    )


def test_the_index_has_a_row_and_a_link_for_each_analysis(tmp_path: Path) -> None:
    write_analysis(tmp_path, "b.2", "12 edges &lt;&amp;&gt; more", 0, 12)
    write_analysis(tmp_path, "a", "No edges", 3, 0)
    (tmp_path / "unfinished").mkdir()
    page = write_index(tmp_path)
    assert page == tmp_path / "index.html"
    rows = html.parse(page).xpath("//tbody/tr")
    assert [[cell.text_content() for cell in row] for row in rows] == [
        ["a", "mutual information", "No edges", "44,850", "0", "3"],
        ["b.2", "mutual information", "12 edges <&> more", "44,850", "12", "0"],
    ]
    assert [row.xpath(".//a/@href") for row in rows] == [["a/report.html"], ["b.2/report.html"]]


def test_one_analysis_needs_no_index(tmp_path: Path) -> None:
    write_analysis(tmp_path, "a", "No edges", 0, 0)
    assert write_index(tmp_path) is None
    assert write_index(tmp_path / "nowhere") is None
    assert not (tmp_path / "index.html").exists()
