"""The whole workflow through Snakemake: everything the contract names is there after one run."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import lxml.html
import networkx
import pandas as pd
import pytest
from pairtile.declare.tables import EXACT
from pairtile.runtime.results_lock import LOCK_FILE
from programs import snakemake
from workflow_runs import (
    FINISHED,
    ROOT,
    Run,
    finished_run,
    run,
    write_config,
    write_data,
)

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder with two analyses, and the run that made them."""
    return finished_run(tmp_path_factory)


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file but Snakemake's own and the lock, which every run takes."""
    paths = [p for p in folder.rglob("*") if p.is_file() and ".snakemake" not in p.parts]
    paths = [p for p in paths if p.name != LOCK_FILE]
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in paths}


def test_a_run_ends_well_and_makes_every_file_of_the_contract(finished: tuple[Path, Run]) -> None:
    folder, first = finished
    assert first.code == 0, first.text
    everywhere = ["plan.json", "pairs.parquet", "items.parquet", "network.parquet", "network.tsv"]
    everywhere += ["null.npz", "scores.npz", "summary.json", "report.html"]
    for analysis in ("net", "boot"):
        out = folder / "out" / analysis
        assert [name for name in everywhere if not (out / name).is_file()] == []
        assert list((out / "chunks").glob("tiles-*.parquet"))
        pictures = {path.suffix for path in (out / "figures").glob("score_distribution.*")}
        assert pictures == {".svg", ".png"}
    assert (folder / "out/net/evaluation.json").is_file()
    assert not (folder / "out/boot/evaluation.json").exists()
    assert (folder / "out/boot/network.graphml").is_file()  # export: auto


def test_only_the_analyses_of_the_given_configuration_are_run(finished: tuple[Path, Run]) -> None:
    folder, first = finished
    made = {path.name for path in (folder / "out").iterdir()}
    assert made == {"boot", "index.html", "net", LOCK_FILE}
    assert "demo" not in first.text
    assert not (folder / "results").exists()


def test_a_configuration_without_analyses_does_not_fall_back_to_the_demo(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("results: out\n")
    done = run(tmp_path, "-n")
    assert done.code != 0
    assert "config: analyses: found no such key" in done.text


def test_exports_are_readable(finished: tuple[Path, Run]) -> None:
    out = finished[0] / "out/net"
    table = pd.read_csv(out / "network.tsv", sep="\t", float_precision=EXACT)
    columns = ["source", "target", "mi_bits", "p_value", "q_value", "spearman", "mode"]
    assert list(table.columns) == [*columns, "p_method"]
    assert len(table) > 20
    regulators = set((finished[0] / "regulators.txt").read_text().split())
    assert set(table["source"]) <= regulators
    stored = pd.read_parquet(out / "network.parquet")
    pd.testing.assert_frame_equal(stored[table.columns.to_list()], table, check_exact=True)
    assert set(stored["p_method"]) <= {"empirical", "extrapolated"}
    assert networkx.read_graphml(out / "network.graphml").number_of_edges() == len(table)
    regulon = (out / "network.regulon.tsv").read_text().splitlines()
    assert len(regulon) >= len(table)


def test_bootstraps_give_support_and_the_p_values_of_the_consensus(
    finished: tuple[Path, Run],
) -> None:
    table = pd.read_csv(finished[0] / "out/boot/network.tsv", sep="\t")
    columns = ["source", "target", "mi_bits", "p_value", "q_value", "clr", "spearman", "mode"]
    assert list(table.columns) == [*columns, "support", "local_fdr", "p_method"]
    assert table["support"].dtype == "int64"
    assert table["support"].between(1, 4).all()
    # The consensus' p and q depend on the support alone.
    assert (table.groupby("support")[["p_value", "q_value"]].nunique() == 1).all(axis=None)
    assert (table["q_value"] >= table["p_value"]).all()


def test_the_summary_is_complete(finished: tuple[Path, Run]) -> None:
    for analysis in ("net", "boot"):
        summary = json.loads((finished[0] / "out" / analysis / "summary.json").read_text())
        expression = summary["inputs"]["expression"]
        assert expression["path"] == "expression.tsv"
        assert len(expression["sha256"]) == 64
        assert expression["bytes"] == (finished[0] / "expression.tsv").stat().st_size
        assert summary["parameters"]["keep"] == {"p_value": 0.001}
        assert summary["parameters"]["seed"] == 3
        assert summary["backend"]["name"] == "cpu"
        counts = summary["counts"]
        edges = len(pd.read_parquet(finished[0] / "out" / analysis / "network.parquet"))
        assert counts["edges"] == edges
        assert counts["genes_kept"] == 60
        # Six regulators with 54 genes and with each other; or everything with everything.
        assert counts["pairs"] == counts["pairs_scored"] == {"net": 339, "boot": 1770}[analysis]
        steps = {"prepare", "plan", "null", "chunks", "merge", "network"}
        steps |= {"evaluate"} if analysis == "net" else {"scan", "merge_scan"}
        assert set(summary["steps"]) == steps
        for step in summary["steps"].values():
            assert step["seconds"] >= 0
            assert step["peak_memory_bytes"] > 1 << 20
        assert {"python", "numpy", "snakemake"} <= set(summary["versions"])
    net = json.loads((finished[0] / "out/net/summary.json").read_text())
    assert set(net["inputs"]) == {"expression", "regulators", "gold_standard"}


def test_warnings_are_the_same_in_logs_on_screen_in_the_summary_and_on_the_page(
    finished: tuple[Path, Run],
) -> None:
    for analysis in ("net", "boot"):
        out = finished[0] / "out" / analysis
        stated = json.loads((out / "summary.json").read_text())["warnings"]
        page = lxml.html.fromstring((out / "report.html").read_text())
        assert [
            item.text_content() for item in page.xpath("//div[@class='warnings']//li")
        ] == stated
        assert ("No warnings." in page.text_content()) == (not stated)
        logs = "\n".join(path.read_text() for path in (out / "logs").rglob("*.log"))
        logged = re.findall(r"WARNING (.*)", logs)
        assert sorted(logged) == sorted(stated)
        assert [text for text in stated if f"WARNING {text}" not in finished[1].text] == []


def test_the_evaluation_is_better_than_chance(finished: tuple[Path, Run]) -> None:
    found = json.loads((finished[0] / "out/net/evaluation.json").read_text())
    assert found["aupr"] > 1.5 * found["random_aupr"]
    assert 0.5 < found["auroc"] <= 1
    assert 0 < found["network"]["precision"] <= 1


def test_every_job_has_a_log_with_content(finished: tuple[Path, Run]) -> None:
    out = finished[0] / "out"
    for analysis in ("net", "boot"):
        logs = out / analysis / "logs"
        expected = ["prepare", "plan", "null", "chunks/tiles-000000-000000", "merge", "network"]
        expected += ["report", "export.tsv"]
        expected += ["evaluate"] if analysis == "net" else ["bootstraps/00000-00003", "merge_scan"]
        empty = [name for name in expected if not (logs / f"{name}.log").read_text().strip()]
        assert empty == []


def test_a_second_run_does_nothing_by_either_snakefile_from_anywhere(
    finished: tuple[Path, Run], tmp_path: Path
) -> None:
    folder, _ = finished
    before = snapshot(folder)
    assert run(folder).done_before
    other = run(folder, "-s", str(ROOT / "workflow/Snakefile"), cwd=tmp_path)
    assert other.done_before, other.text
    assert snapshot(folder) == before


@pytest.mark.complete
def test_a_dry_run_changes_nothing_even_where_a_chunk_is_damaged(
    finished: tuple[Path, Run], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished[0], folder)
    chunk = folder / "out/net/chunks/tiles-000000-000000.parquet"
    chunk.write_bytes(chunk.read_bytes()[:-100])
    (folder / "out/net/pairs.parquet").unlink()
    before = snapshot(folder)
    said = []
    for arguments in (["--dry-run", "--quiet"], ["--summary"], ["-np"]):
        done = run(folder, *arguments)
        assert done.code == 0
        assert snapshot(folder) == before
        said.append(done.text)
    assert "made again if needed" in said[-1]


def test_a_dry_run_before_the_first_run_makes_no_results(tmp_path: Path) -> None:
    write_data(tmp_path)
    write_config(tmp_path, {"net": FINISHED["net"]})
    done = run(tmp_path, "-n")
    assert done.code == 0
    assert {"prepare", "plan", "merge", "network", "report"} <= done.rules
    assert not (tmp_path / "results").exists()


def test_the_report_needs_no_number_of_cores(finished: tuple[Path, Run], tmp_path: Path) -> None:
    """As a user would type it, in the folder of the results."""
    page = tmp_path / "report.zip"
    asked = ["-s", str(ROOT / "Snakefile"), "--configfile", "config.yaml", "--report", str(page)]
    done = snakemake(finished[0], *asked)
    assert done.code == 0, done.text
    with zipfile.ZipFile(page) as archive:
        assert "report.html" in " ".join(archive.namelist())
