"""The page over all analyses of a folder of results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from lxml import html
from pairtile.runtime.files import file_digest, read_json, write_json
from pairtile.runtime.pages import write_index
from pairtile.runtime.results_lock import LOCK_FILE


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


def rows_of(page: Path) -> dict[str, list[str]]:
    """Name of an analysis -> result, pairs, edges, warnings and state."""
    rows = html.parse(page).xpath("//tbody/tr")
    cells = [[" ".join(cell.text_content().split()) for cell in row] for row in rows]
    return {row[0]: row[2:7] for row in cells}


def test_the_index_has_a_row_and_a_link_for_each_analysis(tmp_path: Path) -> None:
    write_analysis(tmp_path, "b.2", "12 edges &lt;&amp;&gt; more", 0, 12)
    write_analysis(tmp_path, "a", "No edges", 3, 0)
    (tmp_path / "no analysis").mkdir()
    page = write_index(tmp_path)
    assert page is not None
    assert page == tmp_path / "index.html"
    method = "mutual information"
    assert rows_of(page) == {
        "a": [f"No edges{method}", "44,850", "0", "3", "finished"],
        "b.2": [f"12 edges <&> more{method}", "44,850", "12", "0", "finished"],
    }
    links = html.parse(page).xpath("//tbody/tr//a/@href")
    assert links == ["a/report.html", "b.2/report.html"]


def test_the_index_says_what_has_failed_runs_or_is_out_of_date(tmp_path: Path) -> None:
    for name in ("fine", "again"):
        write_analysis(tmp_path, name, "12 edges", 0, 12)
        summary = read_json(tmp_path / name / "summary.json")
        write_json(tmp_path / name / "summary.json", summary | {"steps": {"merge": {"seconds": 1}}})
        (tmp_path / name / "steps").mkdir()
        write_json(tmp_path / name / "steps/merge.json", {"seconds": 1})
    write_json(tmp_path / "again/steps/merge.json", {"seconds": 2})
    for name in ("bad", "new"):
        (tmp_path / name / "logs").mkdir(parents=True)
    (tmp_path / "bad/logs/prepare.log").write_text("12:00:00 ERROR x.tsv: line 3: too short\n")
    (tmp_path / LOCK_FILE).write_text("{}")  # somebody works on the results

    def states(**more: bool) -> dict[str, str]:
        found = write_index(tmp_path, **more)
        assert found is not None
        return {name: row[-1] for name, row in rows_of(found).items()}

    running = {"fine": "finished", "again": "running", "bad": "failed", "new": "running"}
    assert states() == running
    ended = running | {"again": "out of date", "new": "unfinished"}
    assert states(ended=True) == ended
    assert "x.tsv: line 3: too short" in rows_of(tmp_path / "index.html")["bad"][0]


def test_an_input_with_another_content_makes_an_analysis_out_of_date(tmp_path: Path) -> None:
    table = tmp_path / "expression.tsv"
    table.write_text("1")
    read = {"path": str(table), "sha256": file_digest(table), "stamp": "another"}
    for name in ("a", "b"):
        write_analysis(tmp_path, name, "12 edges", 0, 12)
        summary = read_json(tmp_path / name / "summary.json")
        inputs = {"inputs": {"expression": read if name == "a" else read | {"sha256": "0"}}}
        write_json(tmp_path / name / "summary.json", summary | inputs)
    page = write_index(tmp_path, ended=True)
    assert page is not None
    assert [row[-1] for row in rows_of(page).values()] == ["finished", "out of date"]


def test_groups_stand_below_what_they_share(tmp_path: Path) -> None:
    for name in ("a.treated", "a.control", "a", "a.other"):
        write_analysis(tmp_path, name, "12 edges", 0, 12)
    summary = read_json(tmp_path / "a/summary.json")
    groups = {"groups": {"a.treated": "treated", "a.control": "control"}}
    write_json(tmp_path / "a/summary.json", summary | groups)
    page = write_index(tmp_path)
    assert page is not None
    assert list(rows_of(page)) == ["a", "a.treated", "a.control", "a.other"]


def test_one_analysis_needs_no_index(tmp_path: Path) -> None:
    write_analysis(tmp_path, "a", "No edges", 0, 0)
    assert write_index(tmp_path) is None
    assert write_index(tmp_path / "nowhere") is None
    assert not (tmp_path / "index.html").exists()
