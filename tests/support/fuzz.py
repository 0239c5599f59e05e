"""Damaging files for the fuzz tests: how many cases, how long each may take, what is done to them.

``HYPOTHESIS_PROFILE=nightly`` (``make test-fuzz``) runs many random cases and says how many; else a
few, always the same, so that the ordinary tests fail only for a reason.
"""

from __future__ import annotations

import functools
import gzip
import os
import pickle
import re
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pairtile.errors import PairtileError

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
SECONDS = 20.0
"""A case that takes longer hangs."""


TRIED = 0
"""Cases that this process has tried so far."""


def cases(ordinary: int, nightly: int) -> Callable[[Any], Any]:
    """How many cases a property (what ``given`` makes) is tried on; counts them in ``TRIED``."""
    limits = settings(
        max_examples=nightly if NIGHTLY else ordinary,
        derandomize=not NIGHTLY,
        deadline=None,
        print_blob=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    def decorate(check: Any) -> Any:
        inner = check.hypothesis.inner_test

        @functools.wraps(inner)
        def counted(*arguments: Any, **named: Any) -> Any:
            global TRIED
            TRIED += 1
            return inner(*arguments, **named)

        check.hypothesis.inner_test = counted
        return limits(check)

    return decorate


class Hang(BaseException):
    """No exception that a reader could catch."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """End what runs inside with ``Hang`` after ``seconds``."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang(f"a case took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:  # pytest-timeout uses the same clock
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


# --- what is done to a file ---------------------------------------------------------------------

Change = Callable[[bytes], bytes]

NASTY = [
    *(b"\0", b"\xff", b"\xc3", b'"', b'""', b"'", b"\t", b",", b";", b" ", b"\n", b"\r", b"\r\n"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1a", b"\x0b", b"\x0c", b"\x1c", b"#", b">"),
    *("\x85".encode(), "\u2028".encode(), "\u00e9".encode(), "\u0661".encode(), b"\xed\xa0\x80"),
    *(b"=1+1", b"<b>", b"\\", b"|", b"@", b"\x1f\x8b", b"-", b"+", b"."),
]
FIELDS = [
    *(b"", b" ", b"NA", b"nan", b"-nan", b"None", b"inf", b"-Infinity", b"1e400", b"-1e400"),
    *(b"1" * 400, b"-1", b"0", b"1e-400", b"1_000", b"0x10", b"1,5", b"+3", b" 2 ", b"2.", b".5"),
    *(b"1e", b"\xd9\xa1", b"true", b"x" * 5000, b"9" * 20, b"9223372036854775808", b"4294967296"),
    *(b'"a"', b'"a', b'a"b', b'"a""b"', b'"a\nb"', b"#1.2", b"1.0", b"1e3", b"sample", b"NULL"),
]
ENCODINGS = ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"]


def _part(strategy: Callable[..., Change], *arguments: SearchStrategy) -> SearchStrategy[Change]:
    return st.builds(strategy, *arguments)


def _flip(where: float, bit: int) -> Change:
    def change(data: bytes) -> bytes:
        if not data:
            return data
        broken = bytearray(data)
        broken[int(where * len(data))] ^= 1 << bit
        return bytes(broken)

    return change


def _insert(where: float, what: bytes) -> Change:
    return lambda data: data[: int(where * len(data))] + what + data[int(where * len(data)) :]


def _delete(where: float, length: int) -> Change:
    return lambda data: data[: int(where * len(data))] + data[int(where * len(data)) + length :]


def _cut(where: float) -> Change:
    return lambda data: data[: int(where * len(data))]


def _end_lines(end: bytes) -> Change:
    return lambda data: re.sub(b"\r\n|\n|\r", end, data)


def _encode(encoding: str) -> Change:
    def change(data: bytes) -> bytes:
        try:
            return data.decode("utf-8").encode(encoding)
        except UnicodeError:
            return data

    return change


def _line(where: float, act: str) -> Change:
    def change(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if not lines:
            return data
        k = int(where * len(lines))
        replaced = {
            "remove": [],
            "repeat": [lines[k]] * 2,
            "header": [lines[k], lines[0]],
            "blank": [lines[k], b"\n"],
            "spaces": [lines[k], b"  \n"],
            "comment": [lines[k], b"# a note\n"],
            "quoted": [b'"' + lines[k].rstrip(b"\r\n") + b'"\n'],
        }[act]
        return b"".join([*lines[:k], *replaced, *lines[k + 1 :]])

    return change


def _field(line: float, where: float, what: bytes) -> Change:
    """Put ``what`` in place of one field of one line."""

    def change(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if not lines:
            return data
        k = int(line * len(lines))
        parts = re.split(rb"([\t, ]+)", lines[k].rstrip(b"\r\n"))
        parts[int(where * ((len(parts) + 1) // 2)) * 2] = what
        return b"".join([*lines[:k], b"".join(parts) + b"\n", *lines[k + 1 :]])

    return change


def _column(where: float, act: str) -> Change:
    """Remove or repeat one column of a delimited file."""

    def change(data: bytes) -> bytes:
        result = []
        for line in data.splitlines():
            mark = b"\t" if b"\t" in line else b","
            parts = line.split(mark)
            k = int(where * len(parts))
            parts[k : k + 1] = [] if act == "remove" else [parts[k]] * 2
            result.append(mark.join(parts))
        return b"\n".join(result) + b"\n"

    return change


def _replace(replacement: bytes) -> Change:
    return lambda data: replacement


PLACES = st.floats(0, 1, exclude_max=True)
ACTS = st.sampled_from(["remove", "repeat", "header", "blank", "spaces", "comment", "quoted"])
BYTE_CHANGES = (
    _part(_flip, PLACES, st.integers(0, 7))
    | _part(_insert, PLACES, st.sampled_from(NASTY) | st.binary(max_size=4))
    | _part(_delete, PLACES, st.integers(1, 40))
    | _part(_cut, PLACES)
    | _part(_replace, st.sampled_from([b"", b"\n", b"\0", b"\xef\xbb\xbf", b" \n"]))
)
TEXT_CHANGES = (
    _part(_field, PLACES, PLACES, st.sampled_from(FIELDS))
    | _part(_line, PLACES, ACTS)
    | _part(_column, PLACES, st.sampled_from(["remove", "repeat"]))
    | _part(_end_lines, st.sampled_from([b"\r\n", b"\r", b"\n\r", b"\n\n"]))
    | _part(_encode, st.sampled_from(ENCODINGS))
    | BYTE_CHANGES
)


def damaged(whole: bytes, text: bool = True, packed: bool = False) -> SearchStrategy[bytes]:
    """The bytes of a file after one to four changes; ``packed``: then gzip, perhaps damaged too."""
    changes = st.lists(TEXT_CHANGES if text else BYTE_CHANGES, min_size=1, max_size=4)
    result = changes.map(lambda some: _all(some, whole))
    if not packed:
        return result
    later = st.lists(BYTE_CHANGES, max_size=1)
    return st.builds(lambda data, some: _all(some, gzip.compress(data, mtime=0)), result, later)


def _all(changes: list[Change], data: bytes) -> bytes:
    for change in changes:
        data = change(data)
    return data


def laughs(levels: int) -> str:
    """A small text of lists of lists of lists ..., each naming the one before ten times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for k in range(1, levels):
        lines.append(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]")
    return "\n".join(lines) + "\n"


def check_message(message: str, path: Path) -> None:
    """A message names the file, what was found and what is expected, and is fit to be printed."""
    assert str(path.parent) in message or path.name in message
    assert ": found " in message
    assert "; expected " in message
    assert len(message) < 4000
    assert message.isprintable() or all(line.isprintable() for line in message.split("\n"))
    message.encode("utf-8")


# --- in a process of its own --------------------------------------------------------------------


def in_child(work: Callable[[], Any], gibibytes: float = 4.0) -> Any:
    """What ``work`` gives or raises, in a child process with a limit of time and memory.

    Libraries for binary formats are not written in Python: a damaged file may end the process.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            most = used + int(gibibytes * 2**30)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            try:
                answer = (True, work())
            except BaseException as error:
                kept = error if isinstance(error, PairtileError) else RuntimeError(repr(error))
                answer = (False, kept)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(answer, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        with time_limit(), os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    assert said, f"the process ended by signal {os.WTERMSIG(status)}"
    fine, found = pickle.loads(said)
    if fine:
        return found
    raise found
