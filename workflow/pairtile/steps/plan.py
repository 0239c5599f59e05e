"""Rule ``plan``: the shape of the pair space -> tiles, chunks, and how to compute them.

The plan fixes everything that chunks must agree on: tiles, precision, backend, fingerprint. Jobs
on other machines follow it rather than decide again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from pairtile import __version__
from pairtile.config.downstream import stages_of
from pairtile.config.models import Analysis
from pairtile.declare.messages import messages_of
from pairtile.engine.chunk_file import FORMAT_VERSION
from pairtile.engine.estimator import Estimator, decide, estimator_of, job_memory
from pairtile.engine.stages import NullStage, n_bootstraps, needs_scan
from pairtile.engine.state import open_state, state_digest
from pairtile.engine.tiles import (
    CHUNK_SECONDS,
    CLUSTER_SECONDS,
    MIN_CPU_SHARE,
    MIN_SECONDS,
    Chunk,
    PairSpace,
    Tile,
    cpu_chunks,
    number_of_jobs,
    plan_chunks,
)
from pairtile.engine.time_estimate import format_steps, step_seconds
from pairtile.errors import StoreError
from pairtile.gpu.device import Device, choose, hold_gpu, planned_device, threads, visible_gpus
from pairtile.runtime.files import json_digest, read_arrays, read_json, read_table, write_json
from pairtile.runtime.record import log, recorded
from pairtile.steps.analysis_run import AnalysisRun

message = messages_of(__package__)

GPU_START_SECONDS = 1.0
"""What CUDA takes to start in the jobs of an analysis: 0.4 s in each, seen beside an H200."""

BOOTSTRAP_SECONDS = 60.0
"""Work aimed at in one job of bootstraps."""


@dataclass(frozen=True)
class Plan:
    """``plan.json``, read back."""

    method: str
    fingerprint: str
    settings: str
    """Digest of what every tile depends on, whatever the items."""
    backend: str
    device_name: str
    precision: str
    seed: int
    space: PairSpace
    tile_edges: tuple[int, int]
    chunks: list[Chunk]
    scan: bool
    bootstraps: list[tuple[int, int]]
    """First and last bootstrap of each job."""

    @property
    def tiles(self) -> list[Tile]:
        """All tiles of the space."""
        return self.space.tiles(*self.tile_edges)

    def chunk(self, name: str) -> Chunk:
        """The chunk of a name, as in the file names."""
        for chunk in self.chunks:
            if chunk.name == name:
                return chunk
        raise StoreError(f"plan: found no chunk {name}; expected one of {len(self.chunks)}")

    def open_estimator(
        self,
        config: Analysis,
        state_folder: Path,
        backend: str | None = None,
        network_data: Path | None = None,
    ) -> Estimator:
        """The estimator in the planned precision, on the planned backend (or another, for a step
        that computes no tile, or a chunk that has its own). ``network_data``: its file, whose
        arrays join the state."""
        device = choose(backend or self.backend)
        state = open_state(state_folder)
        if network_data is not None:
            state |= read_arrays(network_data)
        return estimator_of(self.method, config)(config, state, device, self.precision, self.seed)

    def stage_fingerprint(self, stage: str) -> str:
        """What a chunk file of a stage (``scan`` or ``chunks``) must carry."""
        return json_digest([self.fingerprint, stage])


def read_plan(path: Path) -> Plan:
    """Read ``plan.json``."""
    raw = read_json(path)
    return Plan(
        method=raw["method"],
        fingerprint=raw["fingerprint"],
        settings=raw["settings"],
        backend=raw["backend"],
        device_name=raw["device"],
        precision=raw["precision"],
        seed=raw["seed"],
        space=PairSpace(**raw["space"]),
        tile_edges=(raw["tile_edges"][0], raw["tile_edges"][1]),
        chunks=[
            Chunk(c["first_tile"], c["last_tile"], c["seconds"], c.get("backend", ""))
            for c in raw["chunks"]
        ],
        scan=raw["scan"],
        bootstraps=[(b["first"], b["last"]) for b in raw["bootstraps"]],
    )


def plan(run: AnalysisRun) -> None:
    """Cut the work of one analysis into chunks and write ``plan.json``.

    The backend ``auto`` is decided here, for all jobs of the analysis. Settings and files that only
    later steps use are refused here, as these would.
    """
    # Every job imports this module, and only this one reads inputs of later steps.
    from pairtile.steps.downstream_inputs import stage_seconds, validate_inputs

    config, seed = run.config.for_step("plan"), run.seed
    with recorded("plan", run.record("plan")) as step:
        method = estimator_of(config.method, config)
        state = open_state(run.state)
        given = config.resolved()
        config, said = decide(method, config, state)
        decided: dict[str, object] = {}
        for key, new in config.resolved().items():
            old = given[key]
            if isinstance(new, dict) and isinstance(old, dict):  # preparation has decided others
                new = {name: value for name, value in new.items() if value != old.get(name)}
            if new != old and new != {}:
                decided[key] = new
        step.details["parameters"] = decided
        step.log_messages(*said)
        whole, _ = method.resolve_auto(run.config, state)
        items = read_table(run.folder / "items.parquet")
        validate_inputs(whole, state, items)
        space = method.space(state)
        cost = method.cost(whole, state, "cpu", threads())
        passes = 2 if needs_scan(method, config) else 1
        bootstraps = n_bootstraps(method, config)
        work = [cost.tile(tile) for tile in space.tiles(*cost.tile_edges)]
        cpu_work = passes * sum(work) + cost.null + cost.network
        device = _device(run, cpu_work / cost.per_second, bootstraps)
        cost = method.cost(whole, state, device.backend, threads())
        tiles = space.tiles(*cost.tile_edges)
        work = [cost.tile(tile) for tile in tiles]
        rate = cost.per_second
        seconds = [amount / rate for amount in work]

        others = (
            {"network_data": cost.data_seconds}
            if run.is_check and whole.needs_network_data  # else it is read already
            else {}
        )
        if stages := stages_of(whole):
            others |= {"values": read_json(run.record("prepare"))["seconds"]}
            # A GPU does the work of so many threads in the stages after the network.
            workers = 30 if device.backend == "cuda" else threads()
            genes = int(items["kept"].sum())
            others |= {stage.name: stage_seconds(stage, whole, genes, workers) for stage in stages}
        estimate = step_seconds(
            tiles=sum(seconds),
            passes=passes,
            null=cost.null / rate,
            network=cost.network / rate,
            bootstraps=bootstraps,
            tables=bool(config.tables),
            others=others,
        )
        at_once = _at_once(device.backend, run.gpus)
        where = {"backend": device.backend, "device": device.name, "reason": device.reason}
        on_cpu: list[Chunk] = []
        of_cpu: dict[str, object] = {}
        if run.backend == "both" and not (run.in_one_job or run.on_cluster):
            # A job on a GPU takes one core, or, where it works on the CPU meanwhile, its share.
            cores = 0 if config.jobs.cores_with_gpu else threads() - at_once
            speed = method.cost(whole, state, "cpu", cores).per_second / rate if cores else 0.0
            on_cpu = cpu_chunks(seconds, at_once, speed)
            step.log_messages(
                message(
                    "cpu_share",
                    n=len(on_cpu),
                    cores=cores,
                    gpus=at_once,
                    share=speed / (at_once + speed),
                    least=MIN_CPU_SHARE,
                    seconds=MIN_SECONDS,
                )
            )
        on_gpus = seconds[: on_cpu[0].first if on_cpu else None]
        wanted_seconds = CLUSTER_SECONDS if run.on_cluster else CHUNK_SECONDS
        chunks = plan_chunks(on_gpus, config.chunks, at_once, wanted_seconds)
        if isinstance(config.chunks, int) and 0 < len(chunks) < config.chunks:
            step.log_messages(message("fewer_chunks", asked=config.chunks, tiles=len(on_gpus)))
        if on_cpu:
            chunks += on_cpu
            estimate["chunk"] = round(passes * sum(on_gpus), 2)
            where["device"] += f", {len(on_cpu)} of {len(chunks)} chunks on {cores} CPU cores"
            of_cpu = {
                "backend": "cpu",
                "memory_bytes": job_memory(method, config, state, "cpu", cores, cost.tile_edges),
            }
        # A bootstrap also has a null, DPI and files.
        of_bootstrap = sum(seconds) + cost.null / rate + {"cpu": 0.5, "cuda": 0.2}[device.backend]
        content: dict[str, object] = {
            "format_version": FORMAT_VERSION,
            "pairtile_version": __version__,
            "method": config.method,
            "backend": device.backend,
            "device": where["device"],
            "precision": cost.precision,
            "seed": seed,
            "space": {"kind": space.kind, "rows": space.rows, "columns": space.columns},
            "tile_edges": list(cost.tile_edges),
            "tiles": len(tiles),
            "work": sum(work),
            "work_unit": cost.unit,
            "scan": needs_scan(method, config),
            "null": issubclass(method, NullStage),
            "estimated_seconds": round(sum(seconds), 3),
            "null_seconds": round(cost.null / rate, 3),
            "memory_bytes": job_memory(
                method, config, state, device.backend, threads(), cost.tile_edges
            ),
            "chunks": [
                {"first_tile": c.first, "last_tile": c.last, "seconds": round(c.seconds, 3)}
                | (of_cpu if c.backend else {})
                for c in chunks
            ],
            "bootstraps": [
                {"first": a, "last": b}
                for a, b in _bootstrap_jobs(bootstraps, of_bootstrap, at_once)
            ],
        }
        keys = ("format_version", "pairtile_version", "method", "backend", "precision", "seed")
        content["settings"] = json_digest(
            {
                "parameters": method.chunk_parameters(config),
                "kind": space.kind,
                **{key: content[key] for key in (*keys, "tile_edges")},
            }
        )
        content["fingerprint"] = json_digest(
            [state_digest(run.state), content["settings"], content["space"]]
        )
        write_json(run.plan, content)
        step.device = device.name
        step.details["reason"] = device.reason
        step.count(tiles=len(tiles), chunks=len(chunks))
        step.log_messages(message("backend_chosen", **where, precision=cost.precision))
        step.log_messages(message("work_planned", work=sum(work), unit=cost.unit, n=len(chunks)))
        step.details["estimated_seconds"] = estimate
        if (total := sum(estimate.values())) > 120.0:  # long enough for advice
            step.details["cheaper_seconds"] = {
                setting: total - (1.0 - share) * estimate.get("chunk", 0.0)
                for setting, share in cost.cheaper.items()
            }
        log.info("Time left: %s.", format_steps(estimate))


def _device(run: AnalysisRun, cpu_seconds: float, bootstraps: int) -> Device:
    """The device to plan for. Where ``auto`` may choose, a GPU that takes longer to start than the
    CPU to do all the work is not started."""
    if run.backend != "auto" or bootstraps or cpu_seconds >= GPU_START_SECONDS:
        if run.in_one_job and run.backend == "auto":  # else the job has it already
            hold_gpu()
        return planned_device("cuda" if run.backend == "both" else run.backend)
    reason = f"less than {GPU_START_SECONDS:g} s of work, which a GPU takes to start"
    return replace(choose("cpu"), reason=reason)


def _at_once(backend: str, gpus: int) -> int:
    """How many chunks, or jobs of bootstraps, run side by side: on the CPU one, which takes all
    cores; on GPUs as many as there are, each with a core to feed it."""
    return 1 if backend == "cpu" else max(1, min(gpus or len(visible_gpus()), threads()))


def _bootstrap_jobs(number: int, of_one: float, at_once: int) -> list[tuple[int, int]]:
    if number == 0:
        return []
    fewest = -(-number // max(1, int(BOOTSTRAP_SECONDS / of_one)))
    jobs = min(number, max(fewest, number_of_jobs(number * of_one, BOOTSTRAP_SECONDS, at_once)))
    # As even as they go, so that jobs side by side end together.
    firsts = [job * number // jobs for job in range(jobs + 1)]
    return [(first, following - 1) for first, following in pairwise(firsts)]
