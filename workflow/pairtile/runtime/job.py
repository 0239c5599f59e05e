"""The frame of every script: threads, log file, GPU lease, and errors said in one clear message.

Imports nothing heavy, because the number of threads must be set before numba is first imported.
"""

from __future__ import annotations

import gc
import logging
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pairtile.errors import PairtileError, StoreError
from pairtile.method import methods
from pairtile.runtime.end_together import end_with_parent, end_with_run
from pairtile.runtime.files import full_disk, writing
from pairtile.runtime.record import log

IS_JOB = False
"""Whether this process is a job of the workflow. A person's own process is not forked, and starts
no other."""


class Deferred:
    """An object that a script is given and makes inside its job, whose threads are set by then."""

    def __init__(self, value: object) -> None:
        self._pickled = pickle.dumps(value)

    def load(self) -> object:
        """The object."""
        return pickle.loads(self._pickled)


@contextmanager
def job(snakemake: Any, threads: int | None = None) -> Iterator[None]:
    """Run a rule's step inside, as the last thing of a process: ``with job(snakemake): ...``.
    ``threads`` are those that it may use, by default as many as it asked Snakemake for.

    Logs to the rule's log file and to standard error. A ``PairtileError`` ends the job with exit
    code 1 and its message alone, and so does a lack of memory or of room on the disk; any other
    error keeps its traceback.
    """
    global IS_JOB
    IS_JOB = True
    end_with_parent()
    end_with_run()
    # Imports make 200,000 objects that stay: a fifth of their time is to look for garbage in them.
    gc.set_threshold(100_000)
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads or snakemake.threads)
    try:
        out, screen = snakemake.output[0], logging.StreamHandler(sys.stderr)
        with logged_to(Path(snakemake.log[0]), out, screen):
            if getattr(snakemake.resources, "gpu", 0):
                from pairtile.gpu.device import leased_gpu

                with leased_gpu("cuda") as gpu:
                    if gpu is not None:
                        log.info("GPU %s", gpu)
                    yield
            else:
                yield
    except Exception as error:
        if log_error(error, snakemake.output[0]):
            sys.exit(1)
        raise
    # Python would take all modules apart, which is half a second of a job with all libraries.
    with suppress(OSError, ValueError):  # the terminal is gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)


def log_error(error: Exception, out: str | os.PathLike[str]) -> bool:
    """Log, once, what a person has to know of the error that is being handled, on making the file
    ``out``; whether it is no defect of the program."""
    known: Exception | None = None
    if isinstance(error, MemoryError):
        traceback.clear_frames(error.__traceback__)  # lets go of the arrays that filled it
        # The host's or a GPU's.
        why = str(error).splitlines()[0] if str(error) else "no more could be had"
        expected = (
            "more for this job: run fewer jobs at once (--cores, --resources), or a larger machine"
        )
        known = StoreError.at(out, "", f"too little memory to make it ({why})", expected)
    elif isinstance(error, PairtileError):
        known = error
    elif isinstance(error, OSError):
        known = full_disk(out, error)
    if not getattr(error, "was_said", False):
        if known:
            log.error("%s", known)
        else:
            log.exception("%s", _defect(error), exc_info=error)
        vars(error)["was_said"] = True
    return known is not None


def _defect(error: Exception) -> str:
    """Whose defect an error is: of the package with the method's frame that is the innermost."""
    from jinja2.debug import rewrite_traceback_stack

    rewrite_traceback_stack()  # frames of templates get the lines of their files
    found = (
        (method.package.partition(".")[0], f"{Path(frame.filename).name}, line {frame.lineno}")
        for frame in reversed(traceback.extract_tb(error.__traceback__))
        for method in methods().values()
        if Path(frame.filename).is_relative_to(method.folder)
    )
    package, place = next(found, ("pairtile", ""))
    return (
        "a defect of pairtile: please report it with this log"
        if package == "pairtile"
        else f"a defect of {package} ({place}): please report it to its authors with this log"
    )


@contextmanager
def logged_to(path: Path, out: str | os.PathLike[str], *others: logging.Handler) -> Iterator[None]:
    """Log what makes ``out`` to a new file, and by other handlers, an error included. All files but
    the innermost get errors alone."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handlers = (logging.FileHandler(path, mode="w"), *others)
    log.setLevel(logging.INFO)
    # A log that cannot be written, as on a full disk, must not hide what is said of it.
    logging.raiseExceptions = False
    outer = [handler for handler in log.handlers if isinstance(handler, logging.FileHandler)]
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
        log.addHandler(handler)
    for handler in outer:
        handler.setLevel(logging.ERROR)
    try:
        yield
    except Exception as error:
        log_error(error, out)
        raise
    finally:
        for handler in outer:
            handler.setLevel(logging.NOTSET)
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()
