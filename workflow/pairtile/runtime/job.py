"""The frame of every script: threads, log file, GPU lease, and errors said in one clear message.

Imports nothing heavy, because the number of threads must be set before numba is first imported.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pairtile.errors import PairtileError, StoreError
from pairtile.runtime.end_together import end_with_parent, end_with_run
from pairtile.runtime.files import full_disk, writing


class Deferred:
    """An object that a script is given and makes inside its job, whose threads are set by then."""

    def __init__(self, value: object) -> None:
        self._pickled = pickle.dumps(value)

    def load(self) -> object:
        """The object."""
        return pickle.loads(self._pickled)


@contextmanager
def job(snakemake: Any, threads: int | None = None) -> Iterator[None]:
    """Run a rule's step inside: ``with job(snakemake): ...``. ``threads`` are those that it may
    use, by default as many as it asked Snakemake for.

    Logs to the rule's log file and to standard error. A ``PairtileError`` ends the job with exit
    code 1 and its message alone, and so does a lack of memory or of room on the disk; any other
    error keeps its traceback.
    """
    end_with_parent()
    end_with_run()
    _limit_threads(threads or snakemake.threads)
    log = logging.getLogger("pairtile")
    try:
        with writing(snakemake.log[0]):
            _log_to(Path(snakemake.log[0]))
        if getattr(snakemake.resources, "gpu", 0):
            from pairtile.gpu.device import leased_gpu

            with leased_gpu("cuda") as gpu:
                if gpu is not None:
                    log.info("GPU %s", gpu)
                yield
        else:
            yield
    except PairtileError as error:
        log.error("%s", error)
        sys.exit(1)
    except MemoryError as error:
        traceback.clear_frames(error.__traceback__)  # lets go of the arrays that filled it
        log.error("%s", no_memory(snakemake.output[0], error))
        sys.exit(1)
    except Exception as error:
        full = full_disk(snakemake.output[0], error) if isinstance(error, OSError) else None
        if full:
            log.error("%s", full)
            sys.exit(1)
        log.exception("a defect of pairtile: please report it with this log")
        raise


def no_memory(out: str | os.PathLike[str], error: MemoryError) -> StoreError:
    """What to say where memory did not suffice, the host's or a GPU's, to make the file ``out``."""
    why = str(error).splitlines()[0] if str(error) else "no more could be had"
    expected = (
        "more for this job: run fewer jobs at once (--cores, --resources), or a larger machine"
    )
    return StoreError.at(out, "", f"too little memory to make it ({why})", expected)


def _limit_threads(threads: int) -> None:
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads)


def _log_to(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    form = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
    log = logging.getLogger("pairtile")
    log.setLevel(logging.INFO)
    # A log that cannot be written, as on a full disk, must not hide what is said of it.
    logging.raiseExceptions = False
    for handler in (logging.FileHandler(path, mode="w"), logging.StreamHandler(sys.stderr)):
        handler.setFormatter(form)
        log.addHandler(handler)
