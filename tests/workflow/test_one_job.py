"""A small analysis is one job: the files of a job for each step, and only what is missing anew."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pairtile.steps.analysis_run as analysis_run
import pytest
from crashes import Crasher, check_whole, results
from pairtile.config.load import load_config
from pairtile.errors import PairtileError
from pairtile.runtime import input_changes
from pairtile.runtime.files import atomic_path, read_json
from pairtile.runtime.requests import MAX_SHARE, MAX_SMALL_JOBS, is_small, shares
from pairtile.steps import report
from pairtile.steps.analysis_run import AnalysisRun, Step, make_all
from small_analyses import ANALYSES
from workflow_runs import (
    BASE,
    FINISHED,
    Analysis,
    finished_run,
    run,
    temporary_files,
    write_config,
    write_data,
)

NET = FINISHED["net"] | {"chunks": "auto"}
AFTER_NETWORK = ["evaluate", "export.tsv", "export.graphml", "export.regulon.tsv"]
PAGE = ["summary", "report"]
ONE = {"analyse_1"}
"""The rules of a run of small analyses."""


# --- through Snakemake ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``net`` of the shared run, computed in one job."""
    folder = tmp_path_factory.mktemp("one")
    write_data(folder)
    write_config(folder, {"net": NET}, results="out")
    done = run(folder)
    assert done.code == 0, done.text
    assert done.rules == ONE
    return folder


@pytest.mark.workflow
def test_files_and_logs_are_those_of_a_job_for_each_step(
    one_job: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    long = finished_run(tmp_path_factory)[0] / "out/net"
    out = one_job / "out/net"
    names = {path.relative_to(long) for path in long.rglob("*") if path.is_file()}
    own = {Path("logs/analyse.log"), Path("logs/summary.log")}
    names.remove(Path("logs/network_job.log"))
    assert {path.relative_to(out) for path in out.rglob("*") if path.is_file()} == names | own
    results = [name for name in names if name.suffix in (".parquet", ".npz", ".npy", ".tsv")]
    results += [Path("evaluation.json"), Path("network.graphml")]
    chunks = [name for name in results if name.parts[0] in ("chunks", "scan")]
    assert len(chunks) >= 1
    different = [
        str(name)
        for name in results
        if (out / name).read_bytes() != (long / name).read_bytes() and name not in chunks
    ]
    assert different == []  # chunk files hold the seconds that they took
    for name in ("summary.json", "steps/network.json"):
        ours, theirs = (json.loads((at / name).read_text()) for at in (out, long))
        assert ours.keys() == theirs.keys()
        assert ours["counts"] == theirs["counts"]
        assert ours["messages"] == theirs["messages"]
    logged = (out / "logs/network.log").read_text()
    assert "edges: " in logged
    assert "edges: " not in (out / "logs/analyse.log").read_text()
    assert "network: done" in (out / "logs/analyse.log").read_text()
    assert temporary_files(one_job) == []


@pytest.mark.workflow
def test_a_finished_one_is_left_alone_and_a_missing_file_made_again(
    one_job: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(one_job, folder)
    assert run(folder).done_before
    out = folder / "out/net"
    # Not what is declared as outputs: Snakemake itself sets the time of these.
    computed = [out / "null.npz", *out.glob("chunks/*.parquet"), out / "steps/network.json"]
    before = {path: path.stat().st_mtime_ns for path in computed}
    whole = (out / "network.tsv").read_bytes()
    (out / "network.tsv").unlink()
    assert run(folder, "-n").rules == ONE
    again = run(folder)
    assert again.code == 0, again.text
    assert (out / "network.tsv").read_bytes() == whole
    assert {path: path.stat().st_mtime_ns for path in computed} == before
    assert run(folder).done_before


@pytest.mark.workflow
def test_what_is_done_stays_where_a_later_step_fails(one_job: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(one_job, folder)
    gold, out = folder / "gold_standard.tsv", folder / "out/net"
    right = gold.read_bytes()
    page = (out / "report.html").read_bytes()
    gold.write_text("source\ttarget\nNOBODY\tNOTHING\n")
    state = (out / "state/state.json").stat().st_mtime_ns
    failed = run(folder)
    assert failed.code != 0
    assert "gold_standard.tsv" in failed.text
    assert "gold_standard.tsv" in (out / "logs/evaluate.log").read_text()
    assert (out / "pairs.parquet").exists()
    gold.write_bytes(right)
    again = run(folder)
    assert again.code == 0, again.text
    assert again.rules == ONE
    assert (out / "state/state.json").stat().st_mtime_ns == state
    assert (out / "report.html").read_bytes()[:1000] == page[:1000]
    assert run(folder).done_before


# --- which steps ------------------------------------------------------------------------------


def no_drawing(folder: Path, page: Path, figures: Path, threads: int) -> None:
    """In place of the page, which takes longer than all the rest."""
    figures.mkdir(exist_ok=True)
    (figures / "one.svg").write_text("<svg/>")
    with atomic_path(page) as temporary:
        temporary.write_text("".join(read_json(folder / "summary.json")["warnings"]))


@pytest.fixture(scope="module", autouse=True)
def not_drawn() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "write_report", no_drawing)
        yield


@pytest.fixture(scope="module")
def whole_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_data(folder)
    Analysis(folder, NET).run.make()
    return folder


@pytest.fixture
def folder(whole_folder: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of a folder with a whole analysis, at the same path for its configuration."""
    copy = tmp_path / "copy"
    shutil.copytree(whole_folder, copy)
    input_changes.input_changed.cache_clear()
    yield copy
    input_changes.input_changed.cache_clear()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, dict], list[str]]:
    """Make the analysis with other settings: the steps that this takes."""

    def made(folder: Path, changes: dict) -> list[str]:
        steps: list[str] = []
        straight = AnalysisRun.run

        def noted(self: AnalysisRun, step: Step) -> None:
            steps.append(step.file)
            straight(self, step)

        input_changes.input_changed.cache_clear()
        analysis = Analysis(folder, NET | changes).run
        assert analysis.is_whole() == (
            changes == {} and not folder.with_suffix(".changed").exists()
        )
        with monkeypatch.context() as patch:
            patch.setattr(AnalysisRun, "run", noted)
            analysis.make()
        input_changes.input_changed.cache_clear()
        assert analysis.is_whole()
        return steps

    return made


def changed(folder: Path) -> None:
    folder.with_suffix(".changed").touch()


def test_nothing_changed_takes_no_step(folder: Path, ran) -> None:
    assert ran(folder, {}) == []


def test_a_changed_setting_takes_the_steps_that_depend_on_it(folder: Path, ran) -> None:
    assert ran(folder, {"export": [*NET["export"], "sif"]}) == ["export.sif", *PAGE]
    # Back again, the file that is not asked for any more goes.
    assert ran(folder, {"dpi": {"tolerance": 0.15}}) == ["network", *AFTER_NETWORK, *PAGE]
    assert not (folder / "results/net/network.sif").exists()
    steps = ran(folder, {"preprocess": {"min_samples": 10}})
    assert steps[:2] == ["prepare", "plan"]
    assert steps[-2:] == PAGE


def test_another_input_takes_what_reads_it(folder: Path, ran) -> None:
    gold = folder / "gold_standard.tsv"
    gold.write_text(gold.read_text() + "G01\tG10\n")
    os.utime(gold, (978_307_200, 978_307_200))
    changed(folder)
    assert ran(folder, {}) == ["evaluate", *PAGE]


@pytest.mark.parametrize("step", ["prepare", "plan", "null", "merge", "network", "export.tsv"])
def test_other_versions_and_records_of_none_are_made_again(
    folder: Path, ran, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / f"results/net/steps/{step}.json").unlink()
    changed(folder)
    assert step in ran(folder, {})
    if step == "prepare":
        monkeypatch.setattr(analysis_run, "__version__", "0.0.0")
        assert ran(folder, {})[0] == "prepare"


def test_any_damaged_file_is_made_again_and_the_rest_kept(
    whole_folder: Path, folder: Path, ran
) -> None:
    out = folder / "results/net"
    kept = ("logs", "figures", "steps")
    names = [p.relative_to(out) for p in out.rglob("*") if p.is_file()]
    changed(folder)
    tried = 0
    for name in sorted(names):
        if name.parts[0] in kept or name.name in ("summary.json", "report.html"):
            continue
        whole = (out / name).read_bytes()
        broken = bytearray(whole)
        broken[len(whole) // 2] ^= 4
        (out / name).write_bytes(broken)
        steps = ran(folder, {})
        assert steps, name
        if name.parts[0] not in ("chunks", "scan"):  # these hold their seconds
            assert (out / name).read_bytes() == whole, name
        tried += 1
    assert tried > 12


def test_ended_at_any_step_it_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data(tmp_path)
    analysis = Analysis(tmp_path, NET).run
    straight, done = AnalysisRun.run, []

    class EndedError(Exception):
        pass

    def ended(self: AnalysisRun, step: Step) -> None:
        if step.file not in done:
            straight(self, step)
            done.append(step.file)
            raise EndedError
        raise AssertionError(f"{step.file} was done before")

    monkeypatch.setattr(AnalysisRun, "run", ended)
    for _ in range(30):
        input_changes.input_changed.cache_clear()
        try:
            analysis.make()
        except EndedError:
            # The page is drawn from a summary of its own run.
            done = [step for step in done if step != "summary"]
            if len(done) > 25 or "report" in done:
                break
    assert done[0] == "prepare"
    assert "export.tsv" in done


def test_killed_anywhere_and_damaged_it_makes_the_same(tmp_path: Path) -> None:
    """By kill -9 within steps and between them (each begins with its log); then a bit of one of the
    files that were left changes."""
    write, straight = ANALYSES["predictor_pairs"][0], tmp_path / "straight"
    straight.mkdir()
    write(straight)
    crasher, draw, kills, at = Crasher(), random.Random(5), 0, 5
    assert crasher.run(straight, "predictor_pairs", "make")
    expected = results(straight)
    ended = False
    while not ended:
        work = tmp_path / f"killed_at_{at}"
        work.mkdir()
        write(work)
        ended = crasher.run(work, "predictor_pairs", "make", kill_at=at)
        check_whole(work, expected)
        kills += not ended
        left = [path for path in (work / "results/net").rglob("*.*") if path.is_file()]
        left = [path for path in left if path.suffix != ".log" and path.stat().st_size]
        if left:
            damaged = draw.choice(sorted(left))
            content = bytearray(damaged.read_bytes())
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            damaged.write_bytes(content)
        assert crasher.run(work, "predictor_pairs", "make")
        assert results(work) == expected
        assert temporary_files(work) == []
        at += 37
    crasher.close()
    assert kills >= 2


@pytest.mark.parametrize("method", ANALYSES)
def test_of_every_method_it_gives_what_the_list_of_steps_gives(method: str, tmp_path: Path) -> None:
    write, section = ANALYSES[method]
    write(tmp_path)
    changes = section | {"chunks": "auto"}
    straight = Analysis(tmp_path, changes, name="straight").all()
    one = Analysis(tmp_path, changes, name="one")
    one.run.make()
    assert one.run.is_whole()
    tables = [Path(path).name for path in one.run.files.tables()]
    for name in ("pairs.parquet", "network.parquet", "network.tsv", *tables):
        assert (one.out / name).read_bytes() == (straight.out / name).read_bytes(), name
    records = {path.name for path in (one.out / "steps").iterdir()}
    assert records == {p.name for p in (straight.out / "steps").iterdir()} | {"report.json"}


# --- which analyses ---------------------------------------------------------------------------


def small(folder: Path, has_gpu: bool = False, **changes: object) -> bool:
    section = BASE | {"expression": str(folder / "expression.tsv")} | changes
    return is_small(load_config({"analyses": {"net": section}}).analyses["net"], has_gpu)


def test_small_is_what_is_here_and_short_and_not_cut_by_hand(tmp_path: Path) -> None:
    write_data(tmp_path)
    assert small(tmp_path)
    assert not small(tmp_path, chunks=1)
    assert small(tmp_path, bootstraps=10)
    assert not small(tmp_path, bootstraps=10_000)
    assert not small(tmp_path, expression=str(tmp_path / "not_there.tsv"))
    with (tmp_path / "expression.tsv").open("a") as file:
        file.write("\n" * (1 << 22))
    assert not small(tmp_path)
    assert small(tmp_path, has_gpu=True)
    assert small(tmp_path, has_gpu=True, bootstraps=10)
    assert not small(tmp_path, has_gpu=True, bootstraps=1000)


@pytest.mark.workflow
def test_beside_a_gpu_what_takes_it_seconds_is_one_job(tmp_path: Path) -> None:
    write_data(tmp_path)
    with (tmp_path / "expression.tsv").open("a") as file:
        file.write("\n" * (1 << 22))
    write_config(tmp_path, {"net": NET}, results="out", backend="auto")
    # A GPU by its name alone, and a CuPy that cannot be loaded: ``auto`` computes on the CPU.
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/cupy.py").write_text("raise ImportError('broken')")
    here = {"PYTHONPATH": str(tmp_path / "broken"), "CUDA_VISIBLE_DEVICES": "0"}
    hidden = here | {"CUDA_VISIBLE_DEVICES": ""}
    assert "plan" in run(tmp_path, "-n", **hidden).rules
    assert run(tmp_path, "-n", **here).rules == ONE
    done = run(tmp_path, **here)
    assert done.code == 0, done.text
    assert done.rules == ONE
    assert run(tmp_path, **here).done_before
    write_config(tmp_path, {"net": NET}, results="cpu", backend="cpu")
    assert "plan" in run(tmp_path, "-n", **here).rules


def test_many_small_analyses_share_a_job_in_their_order() -> None:
    assert shares([]) == []
    assert shares(["a", "b", "c"]) == [["a"], ["b"], ["c"]]
    names = [str(number) for number in range(MAX_SMALL_JOBS + 1)]
    assert shares(names[:-1]) == [[name] for name in names[:-1]]
    assert shares(names) == [names]
    names = [str(number) for number in range(2 * MAX_SHARE + 1)]
    assert shares(names) == [names[:MAX_SHARE], names[MAX_SHARE:-1], names[-1:]]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_fault_of_one_analysis_does_not_end_the_others(tmp_path: Path, processes: int) -> None:
    broken, sound = tmp_path / "broken", tmp_path / "sound"
    for place in (broken, sound):
        place.mkdir()
        write_data(place)
    (broken / "expression.tsv").write_text("gene\ts1\ts2\nG1\t1\tx\n")
    runs = [Analysis(place, NET).run for place in (broken, sound)]
    if processes == 1:
        with pytest.raises(PairtileError, match=r"expression\.tsv"):
            make_all(runs)
    else:  # from a process that has not used numba's threads, as a job
        code = (
            "import pickle, sys; make_all, *given = pickle.load(sys.stdin.buffer); make_all(*given)"
        )
        given = pickle.dumps((make_all, runs, processes))
        done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True)
        assert re.search(rb"InputError: .*expression\.tsv", done.stderr)
    assert [run.is_whole() for run in runs] == [False, True]
    logs = [(run.folder / "logs/prepare.log").read_text() for run in runs]
    assert ["ERROR" in text for text in logs] == [True, False]


def test_an_estimate_that_was_wrong_is_only_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several chunks are computed one after the other, and each is kept."""
    from pairtile.engine import tiles
    from pairtile.steps import plan

    write_data(tmp_path)
    whole = Analysis(tmp_path, NET, name="one")
    whole.run.make()
    monkeypatch.setattr(tiles, "TILE_EDGE", 16)
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 1e-9)
    cut = Analysis(tmp_path, NET, name="cut")
    cut.run.make()
    assert len(cut.plan.chunks) > 1
    for name in ("pairs.parquet", "network.parquet"):
        assert (cut.out / name).read_bytes() == (whole.out / name).read_bytes()
