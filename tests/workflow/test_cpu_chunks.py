"""``backend: both``: cores beside GPUs score the last chunks of a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pairtile.declare.messages import Message
from pairtile.engine import tiles
from pairtile.engine.chunk_file import ChunkFile
from pairtile.engine.estimator import Cost
from pairtile.errors import DeviceError
from pairtile.gpu import device
from pairtile.gpu.device import choose
from pairtile.methods.multimodal_correlation.score import MultimodalCorrelation
from pairtile.runtime.files import read_json
from pairtile.runtime.requests import read_requests, tiles_bytes, tiles_seconds
from pairtile.steps import plan
from pairtile.steps.analysis_run import Step
from small_analyses import ANALYSES, SMALL_TILES
from workflow_runs import Analysis

CORES = 300


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny analyses have several tiles, take long by the cost model, and have so many cores."""

    def cost(cls: type[MultimodalCorrelation], *given: Any) -> Cost:
        found = of_method(cls, *given)
        return replace(found, per_second=found.per_second / 1e6)

    of_method = MultimodalCorrelation.cost.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(MultimodalCorrelation, "cost", classmethod(cost))
    for place, name, edge in SMALL_TILES:
        monkeypatch.setattr(place, name, edge)
    monkeypatch.setattr(tiles, "MIN_SECONDS", 1e-9)
    monkeypatch.setattr(plan, "threads", lambda: CORES)


def planned(folder: Path, name: str, backend: str, **changes: Any) -> Analysis:
    """An analysis up to its plan; ``changes``: of the run that makes it."""
    write, section = ANALYSES[name]
    write(folder)
    analysis = Analysis(folder, section, name=f"{name}_{backend}")
    analysis.backend = backend
    analysis.run.run(Step("prepare"))
    replace(analysis.run, **changes).run(Step("plan"))
    return analysis


def share(analysis: Analysis) -> dict[str, Any]:
    """Numbers of the message on the part of the CPU; none where it says nothing."""
    said = [Message(**one) for one in read_json(analysis.record("plan"))["messages"]]
    return next((one.numbers for one in said if one.code == "cpu_share"), {})


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("gpus", [1, 4])
def test_the_last_chunks_are_for_the_cores_that_no_gpu_needs(tmp_path: Path, gpus: int) -> None:
    analysis = planned(tmp_path, "multimodal_correlation", "both", gpus=gpus)
    content, made = read_json(analysis.run.plan), analysis.plan
    assert (made.backend, content["backend"]) == ("cuda", "cuda")
    held = [number for c in made.chunks for number in range(c.first, c.last + 1)]
    assert held == list(range(content["tiles"]))
    backends = [chunk.backend for chunk in made.chunks]
    on_cpu = backends.count("cpu")
    assert on_cpu >= 1
    assert backends == [""] * (len(backends) - on_cpu) + ["cpu"] * on_cpu

    numbers = share(analysis)
    assert (numbers["cores"], numbers["gpus"], numbers["n"]) == (CORES - gpus, gpus, on_cpu)
    pairs = [made.space.pairs_in(tile) for tile in made.tiles]
    first = made.chunks[-on_cpu].first
    part, before = (sum(pairs[n:]) / sum(pairs) for n in (first, first - 1))
    assert part <= numbers["share"] < before
    assert f"{on_cpu} of {len(backends)} chunks on {CORES - gpus} CPU cores" in made.device_name

    names = [Path(path).stem for path in analysis.run.files.chunks("chunks", content)]
    assert names == [chunk.name for chunk in made.chunks]
    assert all(name.endswith("-cpu") == bool(b) for name, b in zip(names, backends, strict=True))
    asked = read_requests(analysis.run.plan)
    assert asked is not None
    assert tiles_seconds(asked, names[-1]) == made.chunks[-1].seconds > 0
    # Without CUDA's libraries, with room for more threads.
    assert tiles_bytes(asked, names[0]) == tiles_bytes(asked) == content["memory_bytes"]
    assert tiles_bytes(asked, names[-1]) == content["chunks"][-1]["memory_bytes"]
    assert tiles_bytes(asked, names[-1]) != content["memory_bytes"]


@pytest.mark.usefixtures("cut")
def test_scores_depend_on_the_plan_s_settings_alone(tmp_path: Path) -> None:
    both, cuda = (planned(tmp_path, "multimodal_correlation", b) for b in ("both", "cuda"))
    assert both.plan.fingerprint == cuda.plan.fingerprint
    estimates = [read_json(a.record("plan"))["details"]["estimated_seconds"] for a in (both, cuda)]
    left = 1 - share(both)["share"]
    assert left <= estimates[0]["chunk"] / estimates[1]["chunk"] < 1


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("name", ["multimodal_correlation", "trajectory_correlation"])
def test_a_chunk_for_the_cpu_is_what_the_cpu_scores(tmp_path: Path, name: str) -> None:
    both = planned(tmp_path, name, "both")
    last = both.plan.chunks[-1]
    assert last.backend == "cpu"
    both.compute("chunks", [last.name])
    found = ChunkFile(both.out / "chunks" / f"{last.name}.parquet")
    assert found.header.record["backend"] == "cpu"
    assert found.header.fingerprint == both.plan.stage_fingerprint("chunks")

    alone = planned(tmp_path, name, "cpu").compute("chunks")
    tables = {
        tile: file.read_tile(tile)
        for file in map(ChunkFile, alone.chunk_files("chunks"))
        for tile, _ in file.header.tiles
    }
    assert [tile for tile, _ in found.header.tiles] == list(range(last.first, last.last + 1))
    assert sum(rows for _, rows in found.header.tiles) > 0
    for tile, _ in found.header.tiles:
        assert found.read_tile(tile).equals(tables[tile])


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("multimodal_correlation", {"in_one_job": True}, False),
        ("multimodal_correlation", {"on_cluster": True}, False),
        ("multimodal_correlation", {"gpus": CORES}, True),
        ("mirna_targets", {}, True),  # its jobs on GPUs have all cores
    ],
)
def test_where_no_core_is_idle_the_gpus_do_all(
    tmp_path: Path, name: str, changes: dict[str, Any], said: bool
) -> None:
    analysis = planned(tmp_path, name, "both", **changes)
    assert {chunk.backend for chunk in analysis.plan.chunks} == {""}
    found = share(analysis)
    assert bool(found) == said
    if said:
        assert (found["cores"], found["share"], found["n"]) == (0, 0.0, 0)


@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_other_backends_share_nothing(tmp_path: Path, backend: str) -> None:
    analysis = planned(tmp_path, "multimodal_correlation", backend)
    assert share(analysis) == {}
    assert {chunk.backend for chunk in analysis.plan.chunks} == {""}


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("name", [name for name in ANALYSES if name != "mirna_targets"])
def test_chunks_of_both_make_one_table(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CPU stands in for the GPU, in the precision of a plan for a GPU: nothing may differ."""
    monkeypatch.setattr(plan, "choose", lambda backend: choose("cpu"))
    made = [planned(tmp_path, name, backend) for backend in ("both", "cuda")]
    for analysis in made:
        analysis.run.run_steps(after="plan", last="merge")
    assert {chunk.backend for chunk in made[0].plan.chunks} == {"", "cpu"}
    both, cuda = ((analysis.out / "pairs.parquet").read_bytes() for analysis in made)
    assert both == cuda


@pytest.mark.gpu
@pytest.mark.usefixtures("cut")
def test_both_give_what_a_gpu_gives_alone(tmp_path: Path) -> None:
    """Bit for bit, as the modes of mixtures are on either (``test_pair_mixtures_gpu``)."""
    both, cuda = (planned(tmp_path, "multimodal_correlation", b).pairs() for b in ("both", "cuda"))
    files = map(ChunkFile, both.chunk_files("chunks"))
    assert {file.header.record["backend"] for file in files} == {"cpu", "cuda"}
    found, expected = (pq.read_table(a.out / "pairs.parquet") for a in (both, cuda))
    assert found.num_rows
    assert found.equals(expected)


@pytest.mark.parametrize("backend", ["both", "cuda"])
def test_a_job_that_lacks_its_gpu_claims_no_value_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, backend: str
) -> None:
    monkeypatch.setattr(device, "_cuda_problem", lambda: "PROBLEM")
    analysis = planned(tmp_path, "mutual_information", backend)
    with pytest.raises(DeviceError, match=r"^backend: .*PROBLEM") as refused:
        analysis.compute("chunks")
    assert "found" not in str(refused.value)  # the plan says cuda, whichever was configured
