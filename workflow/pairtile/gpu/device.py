"""CPU or CUDA: which one, which GPU, how much memory.

The rest of the package asks ``choose(backend)`` once and hands the ``Device`` on. Array code that
runs on both takes ``device.xp`` (numpy or cupy).
"""

from __future__ import annotations

import fcntl
import logging
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from pairtile.arrays import DeviceArray
from pairtile.errors import DeviceError
from pairtile.gpu.compiling import secure_cache
from pairtile.runtime.host_memory import free_host_bytes
from pairtile.runtime.user_cache import make_private

log = logging.getLogger(__name__)

BACKENDS = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Device:
    """Where a job computes. ``reason`` says why this one was taken."""

    backend: str
    name: str
    reason: str

    @property
    def xp(self) -> ModuleType:
        """The array module: ``numpy`` or ``cupy``."""
        if self.backend == "cpu":
            return np
        import cupy

        return cupy

    def to_host(self, array: DeviceArray) -> np.ndarray:
        """The array as ``numpy.ndarray``."""
        return array if self.backend == "cpu" else self.xp.asnumpy(array)

    def sent(self, array: DeviceArray) -> Callable[[], DeviceArray]:
        """Start to copy an array into pinned memory; what any thread calls to wait and have it."""
        if isinstance(array, np.ndarray):
            return lambda: array
        import cupyx

        host = cupyx.empty_pinned(array.shape, array.dtype)
        array.get(out=host, blocking=False)
        done = self.xp.cuda.Event()
        done.record()
        return lambda: done.synchronize() or host

    def free_bytes(self) -> int:
        """Memory that this process may still take on the device (host memory for the CPU)."""
        if self.backend == "cpu":
            return free_host_bytes()
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.Device().mem_info[0]) + int(pool.free_bytes())

    def peak_bytes(self) -> int:
        """Memory taken on the GPU by this process so far (CuPy's pool never shrinks by itself)."""
        return 0 if self.backend == "cpu" else int(self.xp.get_default_memory_pool().total_bytes())


def threads() -> int:
    """Threads that this process may use: its CPU affinity, or NUMBA_NUM_THREADS where set."""
    limit = os.environ.get("NUMBA_NUM_THREADS")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(limit) if limit else int(available or 1)


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.is_file() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _cuda_problem() -> str:
    """Why CUDA cannot be used; empty when it can."""
    try:
        import cupy
    except ModuleNotFoundError:
        return "CuPy is not installed"
    except Exception as error:  # a broken CUDA installation raises all kinds
        return f"CuPy cannot be imported ({error})"
    try:
        secure_cache()
        if cupy.cuda.runtime.getDeviceCount() < 1:
            return "no CUDA device is visible"
        cupy.zeros(1).sum().item()
    except Exception as error:
        return f"no usable CUDA device ({str(error).splitlines()[0]})"
    return ""


def choose(backend: str = "auto") -> Device:
    """The device for ``auto``, ``cpu`` or ``cuda``.

    ``auto`` takes CUDA when CuPy and a working GPU are there, else the CPU. ``cuda`` without one
    raises ``DeviceError``: a run that was asked to use a GPU must not creep along without.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend: found {backend!r}; expected one of {', '.join(BACKENDS)}")
    if backend == "cpu":
        return Device("cpu", f"{_cpu_name()}, {threads()} threads", "the configuration says cpu")
    problem = _cuda_problem()
    if not problem:
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        reason = "a usable GPU was found" if backend == "auto" else "the configuration says so"
        return Device("cuda", properties["name"].decode(), reason)
    if backend == "cuda":
        raise DeviceError(
            f"backend: a GPU is needed, but {problem}; expected a CUDA device and CuPy "
            "(the extra cuda12 or cuda13 of pairtile brings it), or backend: auto or cpu"
        )
    return Device("cpu", f"{_cpu_name()}, {threads()} threads", problem)


def planned_device(backend: str) -> Device:
    """The device to plan for, which need not be here: on a cluster the plan is made where no GPU
    is held. ``auto`` can only look at what is here; ``cuda`` is taken at its word, and a job that
    then finds no GPU says so."""
    if backend == "cuda" and _cuda_problem():
        return Device("cuda", "a GPU of the jobs", "the configuration says so")
    return choose(backend)


def hold_gpu() -> None:
    """Keep a GPU of this host to the end of this process (``leased_gpu``)."""
    lease = leased_gpu("cuda")
    lease.__enter__()
    _HELD.append(lease)


def visible_gpus() -> list[str]:
    """The GPUs of this host that CUDA_VISIBLE_DEVICES leaves, read without loading CUDA (which
    fixes the device)."""
    there = ",".join(str(n) for n, _ in enumerate(Path("/dev").glob("nvidia[0-9]*")))
    named = os.environ.get("CUDA_VISIBLE_DEVICES", there).split(",")
    # These values hide every GPU.
    return [gpu.strip() for gpu in named if gpu.strip() not in ("", "-1", "NoDevFiles")]


_HELD: list[object] = []

ALLOCATIONS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
"""Where schedulers write the number of the job that a process is in."""

SILENT_SECONDS = 3.0
"""Of a wait for a GPU."""


def _lease_folder() -> Path:
    """Where the locks of this host's GPUs lie, for one user and one allocation of a scheduler.

    Two allocations never share a GPU, but each may number its own from 0. Where another user has
    made the folder, that of the session, which not all jobs have, takes its place.
    """
    given = [os.environ[name] for name in ALLOCATIONS if os.environ.get(name)]
    name = "-".join(["pairtile-gpu-leases", str(os.getuid()), *given[:1]]).replace("/", "_")
    tops = [tempfile.gettempdir(), *filter(None, [os.environ.get("XDG_RUNTIME_DIR")])]
    folders = [Path(top, name) for top in tops]
    for folder in folders:
        if make_private(folder):
            return folder
    expected = "a folder of this user alone (or set TMPDIR to another one, the same in all jobs)"
    raise DeviceError.at(folders[0], "", "a link, or a folder that others can write to", expected)


@contextmanager
def leased_gpu(backend: str, poll_seconds: float = 0.2) -> Iterator[str | None]:
    """Hold one GPU of this host for this process, by file lock; yields its number or None.

    Snakemake's ``resources: gpu=1`` limits how many jobs run at once but does not say which GPU
    each has. So each job takes the lock of the first free GPU and shows only that one to CUDA. A
    scheduler that has set CUDA_VISIBLE_DEVICES is obeyed: the lease then chooses among those. Locks
    are released by the kernel when a process ends, however it ends. Call before CUDA is first used.

    Raises DeviceError where others can write to the folder of the locks.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = visible_gpus()
    if backend == "cpu" or not gpus:
        yield None
        return
    folder = _lease_folder()
    begun, patience = time.monotonic(), SILENT_SECONDS
    while True:
        holders = []
        for gpu in gpus:
            lock = folder / f"gpu-{gpu.replace('/', '_')}.lock"
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holders.append(f"{gpu} (process {os.pread(handle, 20, 0).decode() or 'unknown'})")
                os.close(handle)
                continue
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            os.environ["CUDA_VISIBLE_DEVICES"] = gpu
            try:
                yield gpu
            finally:
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                if visible is not None:
                    os.environ["CUDA_VISIBLE_DEVICES"] = visible
                os.close(handle)
            return
        if time.monotonic() - begun > patience:
            patience *= 4
            held = ", ".join(holders)
            log.info("Waiting for a GPU: all are held by jobs, %s, in %s", held, folder)
        time.sleep(poll_seconds)
