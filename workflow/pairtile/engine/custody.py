"""To which analysis a file belongs: the seal that stands before the checksum of each file.

A whole file in the wrong place is worse than a damaged one: a network of another analysis, or of
other settings, looks right. So each file that is read back carries three digests, which are
compared where it is read: of its role (``runtime.files.role_of``), of the state that its analysis
was prepared to (its origin), and of the settings that decide what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pairtile.config.downstream import STAGES
from pairtile.config.models import Analysis
from pairtile.errors import StoreError
from pairtile.runtime.files import (
    OWNER,
    carries_checksum,
    checksum_of,
    json_digest,
    read_json,
    role_of,
    verified,
)

_NONE = "0" * 32

_MAKERS = {
    **dict.fromkeys(("items.parquet", "state"), "prepare"),
    **dict.fromkeys(("null.npz", "scan", "scan.npz", "chunks", "chunks.npz"), "score"),
    **dict.fromkeys(("pairs.parquet", "steps/null.json", "steps/merge.json"), "score"),
    **dict.fromkeys(("network.parquet", "scores.npz"), "network"),
    "bootstraps": "bootstrap",
    "steps/merge_scan.json": "score",
    "network_data.npz": "network_data",
    "plan.json": "plan",
    "values": "values",
    "evaluation.json": "evaluate",
    "summary.json": "summary",
}
"""Role, or its folder -> the step whose settings the file depends on."""

_CHOSEN = ("prepare", "score", "network")
_LINEAGE: dict[str, tuple[str, ...]] = {
    # Of what is prepared, scores depend on the state alone, which the origin is of.
    **{step: (step,) for step in ("prepare", "plan", "score")},
    **dict.fromkeys(("null", "chunk", "merge", "merge_scan"), ("score",)),
    **{step: ("prepare", step) for step in ("network_data", "values")},
    "bootstrap": ("score", "network"),
    **dict.fromkeys(("network", "export"), _CHOSEN),
    **{step: (*_CHOSEN, step) for step in ("tables", "evaluate")},
    **{stage.name: (*_CHOSEN, "values", stage.name) for stage in STAGES},
}
"""Step -> the steps whose settings decide what it writes; of all others, every setting does."""


def made_by(path: Path) -> str | None:
    """The step whose settings a file depends on; None where only its record says it."""
    role = role_of(path)
    folder, _, name = role.partition("/")
    if role not in _MAKERS and folder == "steps":
        return "export" if name.startswith("export.") else name.removesuffix(".json")
    return _MAKERS.get(role, _MAKERS.get(folder))


class Custody:
    """The files of one analysis, while a step writes and reads them.

    folder : of its results. config, seed : of the analysis. step : that writes.
    """

    def __init__(self, folder: Path, config: Analysis, seed: int, step: str = "") -> None:
        self.origin = _NONE
        self.files: dict[str, str] = {}
        """Name in the folder -> checksum, of what was written."""
        self.step = step
        self.made_from = ""
        """Digest of what the step makes its files from."""
        self._folder, self._seed = folder.absolute(), seed
        # What was read of the input, the state holds.
        self._config = config.with_inputs(dict.fromkeys(config.input_files(), "input"))
        self._known: dict[str, str] = {}

    def seal(self, path: Path) -> str:
        """Of a file that the step writes."""
        return self.origin + self.settings(self.step)

    def check(self, path: Path, seal: str, checksum: str) -> None:
        """Raise StoreError where a file is of another analysis, or of other settings."""
        if self._name(path) is None:
            return
        self.origin = seal[:32] if self.origin == _NONE else self.origin
        if seal[:32] != self.origin or seal[:32] == _NONE:
            raise misplaced(path, "a file of another analysis, or of other input")
        if not self.agrees(path, seal):
            raise misplaced(path, "a file that was made with other settings")

    def agrees(self, path: Path, seal: str) -> bool:
        """Whether a file was made with the settings of the analysis, as far as they decide it."""
        maker = made_by(path)
        return maker is None or seal[32:] == self.settings(maker)

    def add(self, path: Path, checksum: str) -> None:
        """Take note of a file that was written."""
        if name := self._name(path):
            self.files[name] = checksum

    def file_records(self) -> dict[str, object]:
        """What was written, but for chunks that were removed once they were merged."""
        left = {name: one for name, one in self.files.items() if (self._folder / name).exists()}
        return {"files": left, "made_from": self.made_from}

    def settings(self, step: str) -> str:
        """The digest of what decides what a step writes, but for what was prepared."""
        if step not in self._known:
            steps, config = _LINEAGE.get(step, ()), self._config
            used = [repr(config.for_step(name)) for name in steps] or [repr(config)]
            draws = config.jobs.prepare_seed or "score" in steps or "plan" in steps or not steps
            self._known[step] = json_digest([used, self._seed if draws else None])[:32]
        return self._known[step]

    def _name(self, path: Path) -> str | None:
        path = path.absolute()
        return str(path.relative_to(self._folder)) if self._folder in path.parents else None


def check_finished(folder: Path, *names: str) -> None:
    """Raise StoreError where files of a finished analysis are others than its ``summary.json`` says
    that the run made; for who reads them without its configuration."""
    files = read_json(folder / "summary.json").get("files", {})
    for name in names:
        if files.get(name) not in (None, checksum_of(folder / name)):
            raise misplaced(folder / name, "another file than the one that summary.json names")


def verified_by_record(path: Path, checksum: str) -> Path:
    """A file that a record names with this checksum. Raises StoreError where it is another."""
    if not path.is_file() or not carries_checksum(path):
        return verified(path, checksum)
    if checksum_of(verified(path)) != checksum:
        raise misplaced(path, "another file than the one that its step has written")
    return path


def misplaced(path: Path, found: str) -> StoreError:
    """The error of a whole file in the wrong place."""
    return StoreError.at(path, "", found, "the one of this analysis (a new run makes it again)")


@contextmanager
def custody(owner: Custody) -> Iterator[None]:
    """Files that are written and read inside are those of an owner."""
    token = OWNER.set(owner)
    try:
        yield
    finally:
        OWNER.reset(token)


def note_files(paths: Iterable[Path]) -> None:
    """Take note of files that may have been written in other threads or processes."""
    if owner := OWNER.get():
        for path in paths:
            owner.add(path, checksum_of(path))


def set_origin(state: str) -> None:
    """State what was prepared, by the digest of its arrays; in the step that prepares."""
    owner = OWNER.get()
    if isinstance(owner, Custody) and owner.step == "prepare":
        owner.origin = state[:32]
