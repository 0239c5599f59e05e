"""Bad input ends a run with one clear message and nothing half-written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pairtile.errors import PairtileError
from workflow_runs import STOP_AT_ONCE, Analysis, run, temporary_files, write_config, write_data

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


@pytest.mark.workflow
@pytest.mark.complete
def test_sound_analyses_are_finished_beside_a_refused_one_where_a_run_keeps_going(
    data: Path,
) -> None:
    write_table(data, [row[:3] for row in table(data)], "few.tsv")
    write_config(data, {"few": {"expression": "few.tsv"}, "sound": {}})
    refused = run(data, *STOP_AT_ONCE)
    assert refused.code != 0
    assert not (data / "results/sound/pairs.parquet").exists()
    done = run(data)  # the profile keeps going
    assert done.code != 0
    assert "few.tsv" in done.text
    assert (data / "results/sound/report.html").exists()
    assert not (data / "results/few/items.parquet").exists()


# --- in this process ----------------------------------------------------------------------------


BAD = {
    "expression.tsv": ("gene\ts1\ts2\ts3\na\t1\thigh\t3\n", "expression.tsv.*high"),
    "regulators.txt": ("ABC1\nABC2\n", "regulators.txt"),
    "gold_standard.tsv": ("ABC1\tABC2\n", "gold standard"),
}
"""A file for each step that reads one; what the readers refuse is in tests/core/test_inputs_*."""


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(data: Path, name: str) -> None:
    text, message = BAD[name]
    (data / name).write_text(text)
    lists = {"regulators": "regulators.txt", "gold_standard": "gold_standard.tsv"}
    analysis = Analysis(data, lists)
    with pytest.raises(PairtileError, match=message) as raised:
        analysis.all()
    assert len(str(raised.value).splitlines()) <= 6
    assert temporary_files(data) == []
    assert not (analysis.out / "evaluation.json").exists()
