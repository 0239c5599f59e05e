"""Bad input ends a run with one clear message and nothing half-written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pairtile.errors import PairtileError
from workflow_runs import Analysis, run, temporary_files, write_config, write_data

Table = list[list[str]]


def table(folder: Path) -> Table:
    return [line.split("\t") for line in (folder / "expression.tsv").read_text().splitlines()]


def write_table(folder: Path, rows: Table, name: str = "expression.tsv") -> None:
    (folder / name).write_text("".join("\t".join(row) + "\n" for row in rows))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_data(tmp_path)
    return tmp_path


# --- through Snakemake --------------------------------------------------------------------------


@pytest.mark.workflow
def test_a_folder_without_a_configuration_does_not_run_the_demo(tmp_path: Path) -> None:
    done = run(tmp_path, "--dry-run", config=None)
    assert done.code == 1
    assert f"config/config.yaml: found no such file in {tmp_path}; expected a conf" in done.text


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expression": "missing.tsv"}, "config: analyses.net.expression: found 'missing.tsv'"),
        ({"dppi": {}}, "config: analyses.net.dppi: found an unknown key"),
    ],
    ids=["missing file", "unknown key"],
)
def test_a_bad_configuration_is_refused_before_any_job(
    data: Path, changes: dict[str, Any], message: str
) -> None:
    write_config(data, {"net": changes})
    done = run(data)
    assert done.code != 0
    assert message in done.text
    assert "Traceback" not in done.text
    assert not (data / "results").exists()


@pytest.mark.workflow
def test_bad_tables_end_their_analysis_with_a_message_and_no_results(data: Path) -> None:
    rows = table(data)
    write_table(data, [*rows, rows[7]], "twice.tsv")
    write_table(data, [row[:3] for row in rows], "few.tsv")
    bad = {"twice": {"expression": "twice.tsv"}, "few": {"expression": "few.tsv"}}
    write_config(data, bad)
    done = run(data)
    assert done.code != 0
    assert "twice.tsv" in done.text
    assert rows[7][0] in done.text
    assert "few.tsv" in done.text
    assert "2 samples" in done.text
    assert "Traceback" not in done.text
    files = [path for path in (data / "results").rglob("*") if path.is_file()]
    index = data / "results/index.html"  # says what failed, and why
    assert "twice.tsv" in index.read_text()
    files.remove(index)
    assert {path.parent.name for path in files if path.suffix != ".lock"} == {"logs"}
    for name in bad:
        log = (data / "results" / name / "logs/prepare.log").read_text()
        assert f"{name}.tsv" in log
        assert "Traceback" not in log


# --- by the dozen, in this process --------------------------------------------------------------


def change(row: int, column: int, text: str) -> Callable[[Path], None]:
    """Write ``text`` into one cell of the expression table."""

    def applied(folder: Path) -> None:
        rows = table(folder)
        rows[row][column] = text
        write_table(folder, rows)

    return applied


def replace(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: void((folder / name).write_text(text))


def void(_: Any) -> None:
    return None


def ragged(folder: Path) -> None:
    rows = table(folder)
    rows[4] = rows[4][:-2]
    write_table(folder, rows)


def same_sample_twice(folder: Path) -> None:
    rows = table(folder)
    rows[0][2] = rows[0][1]
    write_table(folder, rows)


def header_only(folder: Path) -> None:
    write_table(folder, table(folder)[:1])


BAD = {
    "a cell that is no number": (change(3, 5, "high"), "expression.tsv.*high"),
    "an infinite value": (change(3, 5, "inf"), "expression.tsv.*inf"),
    "a negative count with log2": (change(3, 5, "-4"), "expression.tsv|log2"),
    "a row too short": (ragged, "expression.tsv"),
    "a gene without a name": (change(3, 0, ""), "expression.tsv"),
    "two genes of one name": (change(3, 0, "G05"), "expression.tsv.*G05"),
    "two samples of one name": (same_sample_twice, "expression.tsv"),
    "a header and nothing else": (header_only, "expression.tsv"),
    "an empty file": (replace("expression.tsv", ""), "expression.tsv"),
    "a file that is no text": (
        lambda folder: void((folder / "expression.tsv").write_bytes(b"\x00\xff\x1f\x8b" * 50)),
        "expression.tsv",
    ),
    "an empty list of regulators": (replace("regulators.txt", "# none\n"), "regulators.txt"),
    "regulators of another species": (replace("regulators.txt", "ABC1\nABC2\n"), "regulators.txt"),
    "an empty gold standard": (replace("gold_standard.tsv", ""), "gold_standard.tsv"),
    "a gold standard of other genes": (
        replace("gold_standard.tsv", "ABC1\tABC2\n"),
        "gold standard",
    ),
    "a gold standard of one column": (replace("gold_standard.tsv", "G01\nG02\n"), "gold_standard"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_named(data: Path, what: str) -> None:
    spoil, message = BAD[what]
    spoil(data)
    changes = {
        "regulators": "regulators.txt",
        "gold_standard": "gold_standard.tsv",
        "preprocess": {"log2": True},
    }
    analysis = Analysis(data, changes)
    with pytest.raises(PairtileError, match=message) as raised:
        analysis.all()
    assert len(str(raised.value).splitlines()) <= 6
    assert temporary_files(data) == []
    assert not (analysis.out / "evaluation.json").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"preprocess": {"min_samples": 61}},
        {"keep": {"p_value": 2}},
        {"keep": {"fdr": 0.1, "p_value": 0.1}},
        {"keep": "everything"},
        {"estimator": {"bins": 2, "order": 3}},
        {"chunks": 0},
        {"bootstraps": -1},
        {"dpi": {"tolerance": 1.5}},
        {"score": "pearson"},
        {"export": ["pdf"]},
        {"null": {"permutations": 0}},
        {"method": "mutual_info"},
    ],
    ids=str,
)
def test_an_impossible_setting_is_refused(data: Path, changes: dict[str, Any]) -> None:
    key = next(iter(changes))
    expected = "samples" if key == "preprocess" else key
    with pytest.raises(PairtileError, match=expected):
        Analysis(data, changes).prepare()
    assert list((data / "results").rglob("*.parquet")) == []
