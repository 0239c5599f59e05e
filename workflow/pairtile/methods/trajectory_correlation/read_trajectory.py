"""Read molecular-dynamics trajectories, one frame at a time, with MDAnalysis.

MDAnalysis is imported when a trajectory is opened, not before: the other methods do without it.
"""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.errors import ConfigError, InputError
from pairtile.io.in_memory import in_memory
from pairtile.io.names import join_first
from pairtile.io.text_file import check_file
from pairtile.methods.trajectory_correlation.atoms import (
    NO_CHAIN,
    alternate_positions,
    calcium_ions,
    chain_names,
    modified_residues,
    texts,
)
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import FramesConfig
from pairtile.methods.trajectory_correlation.forked import ReaderError, in_fork
from pairtile.methods.trajectory_correlation.unwrap import Frame, WholeMolecules

if TYPE_CHECKING:
    from MDAnalysis import Universe
    from MDAnalysis.coordinates.base import ProtoReader

message = messages_of(__package__)

DEFAULT_FIT = "protein and name CA"
"""Atoms among which ``fit: least_moving`` finds those that move least."""

_FORMATS = "https://docs.mdanalysis.org/stable/documentation_pages/coordinates/init.html"
_LANGUAGE = "https://docs.mdanalysis.org/stable/documentation_pages/selections.html"


_PROTEIN = re.compile(r"(?<![^\s(])(protein|backbone)(?![^\s)])")

MAX_RESIDUE = 99_999


@dataclass(frozen=True)
class Run:
    """One trajectory: a replica. ``frames``: the numbers of the frames that are used, of
    ``n_frames``. ``interval_ps``: time from one used frame to the next, in picoseconds;
    NaN where not known.
    ``n_promised``: frames that the files say they hold, where that is more than ``n_frames``.
    ``start_ps``: time of the first of all frames."""

    files: tuple[str, ...]
    n_frames: int
    frames: range
    interval_ps: float
    n_promised: int
    start_ps: float

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.files[0] if len(self.files) == 1 else f"{self.files[0]} ... {self.files[-1]}"


class Trajectories:
    """A topology, and its trajectories one at a time.

    Parameters
    ----------
    topology
        File of the atoms.
    trajectories
        Each a file, or the files of its parts in order of time.
    frames
        ``start``, ``stop``, ``step`` as in a Python slice, applied to each trajectory.

    Raises
    ------
    ConfigError
        If MDAnalysis is not installed.
    InputError
        If a file cannot be read, a trajectory has another number of atoms than the topology, or no
        frame is left.
    """

    def __init__(
        self,
        topology: str,
        trajectories: Sequence[str | Sequence[str]],
        frames: FramesConfig,
    ) -> None:
        self.topology = topology
        mda = import_mdanalysis()
        check_file(topology, "a topology")
        try:
            with warnings.catch_warnings(record=True, action="always") as heard:
                self.universe: Universe = mda.Universe(topology)
        except Exception as error:  # readers of some forty formats raise what they like
            raise InputError.at(
                topology,
                "",
                _cannot_read(ReaderError(type(error).__name__, str(error))),
                f"a topology that MDAnalysis reads (see {_FORMATS})",
            ) from error
        self.said: dict[tuple[str, ...], Message] = {}
        if any("missing resid" in str(one.message) for one in heard):
            self.universe = self._with_decimal_numbers()
        self._name_chains()
        self._whole: WholeMolecules | None = None
        self._first: dict[tuple[str, ...], Frame] = {}
        self.runs = [
            self._opened((t,) if isinstance(t, str) else tuple(t), frames) for t in trajectories
        ]

    @property
    def n_atoms(self) -> int:
        """Atoms of the topology."""
        return int(self.universe.atoms.n_atoms)

    def select(self, selection: str, key: str) -> NDArray[np.int64]:
        """Numbers of the selected atoms, ascending; ``key``: where the selection stands.

        A selection by geometry (``around``, ...) is taken in the first used frame of each
        trajectory, and must be the same in all. Of alternate positions one is taken, and calcium
        ions are no C-alphas; ``said`` counts both.

        Raises
        ------
        ConfigError
            If it is not in MDAnalysis' selection language.
        InputError
            If it selects nothing, or not the same atoms in all trajectories.
        """
        found: NDArray[np.int64] | None = None
        for run in self.runs:
            self._show_first(run)
            atoms = self._selected(selection, key)
            if found is not None and not np.array_equal(atoms, found):
                raise InputError.at(
                    run.name,
                    f"{key} {selection!r}",
                    f"{_count(atoms.size, 'atom')}, {np.setdiff1d(atoms, found).size} of them not "
                    f"among the {found.size} selected in {self.runs[0].name}",
                    "the same atoms in all trajectories (no selection by geometry, such as around)",
                )
            found = atoms
        assert found is not None
        if not found.size:
            atoms = self.universe.atoms
            names = sorted(set(getattr(atoms.residues, "resnames", [])))
            protein = self.universe.select_atoms("protein").n_residues if names else 0
            raise InputError.at(
                self.topology,
                f"{key} {selection!r}",
                "no atoms",
                f"some of its {_count(atoms.n_atoms, 'atom')} "
                f"({_count(len(atoms.residues), 'residue')}, {protein} of them protein; residue "
                f"names {join_first(names) or 'none'}){self._hint(key)}",
            )
        return self._meant(found, selection, key)

    def _with_decimal_numbers(self) -> Universe:
        """The topology, a PDB file whose residue numbers beyond 9,999 are in hybrid-36."""
        from MDAnalysis import Universe
        from MDAnalysis.lib.util import NamedStream, openany
        from MDAnalysis.topology.PDBParser import hy36decode

        lines: list[str] = []
        coded: dict[str, int] = {}
        with openany(self.topology, "rt") as handle:
            for number, line in enumerate(handle, start=1):
                if line.startswith(("ATOM", "HETATM")):
                    text = line[22:26]
                    with suppress(ValueError):
                        coded[text] = hy36decode(4, text)
                    if coded.get(text, MAX_RESIDUE + 1) > MAX_RESIDUE:
                        raise InputError.at(
                            self.topology,
                            f"line {number}",
                            f"{text!r} for the number of a residue",
                            "a number, or one in hybrid-36 up to 99,999",
                        )
                    line = f"{line[:22]}{coded[text]:5d}{line[27:]}"
                lines.append(line)
        first = next(text for text in coded if not text.strip().lstrip("-").isdecimal())
        self.said["hybrid_numbers",] = message("hybrid_numbers", text=first, number=coded[first])
        stream = NamedStream(StringIO("".join(lines)), "hybrid36.pdb")
        with _quiet():
            universe: Universe = Universe(stream, format="XPDB", topology_format="XPDB")
        universe.residues.icodes = [""] * len(universe.residues)  # the reader puts a digit there
        return universe

    def _name_chains(self) -> None:
        """Give the names of ``chain_names`` to chains without one, so that they can be selected."""
        atoms, residues = self.universe.atoms, self.universe.residues
        if any(texts(atoms, "chainIDs")) or set(texts(residues, "segids")) - NO_CHAIN:
            return
        with suppress(AttributeError):  # of a topology without names
            residues = self.universe.select_atoms("protein or nucleic").residues or residues
        names = np.full(len(self.universe.residues), "", dtype=object)
        names[residues.resindices] = chain_names(residues)
        self.universe.add_TopologyAttr("chainIDs", names[atoms.resindices])

    @cached_property
    def _modified(self) -> NDArray[np.int64]:
        with suppress(AttributeError):  # of a topology without names
            return modified_residues(self.universe)
        return np.empty(0, dtype=np.int64)

    def _meant(self, atoms: NDArray[np.int64], selection: str, key: str) -> NDArray[np.int64]:
        """``atoms`` without alternate positions, and without calcium where C-alphas are meant."""
        others = np.intersect1d(atoms, alternate_positions(self.universe, atoms))
        if others.size:
            n = self.universe.atoms[others].residues.n_residues
            self.said.setdefault(
                ("alternate_positions",), message("alternate_positions", n=n, n_atoms=others.size)
            )
        ions = calcium_ions(self.universe, atoms, selection)
        if ions.size:
            self.said["calcium_left_out", key] = message("calcium_left_out", n=ions.size, key=key)
        modified = self.universe.atoms[np.intersect1d(atoms, self._modified)].residues
        if len(modified) and _PROTEIN.search(selection):
            names = ", ".join(dict.fromkeys(texts(modified, "resnames")))
            self.said.setdefault(
                ("modified_residues",), message("modified_residues", n=len(modified), names=names)
            )
        return np.setdiff1d(atoms, [*others, *ions])

    def read(self, run: Run, frames: range | None = None) -> Iterator[tuple[int, Frame]]:
        """Number and content of each used frame.

        Raises
        ------
        InputError
            If the trajectory ends early or is damaged.
        """
        numbers = run.frames if frames is None else frames
        found = self._frames(run, numbers)
        for number in numbers:
            try:
                frame = next(found)
            except ReaderError as error:
                raise InputError.at(
                    run.name,
                    f"frame {number}",
                    _cannot_read(error),
                    f"{run.n_frames} sound frames, as it says itself",
                ) from error
            yield number, frame if self._whole is None else self._whole.made_whole(frame, run.name)

    def _frames(self, run: Run, numbers: range) -> Iterator[Frame]:
        """Read by a process of its own, which may die of a damaged file."""
        return in_fork(partial(self._steps, run, numbers), self._memory_bytes(run.files))

    def _steps(self, run: Run, numbers: range) -> Iterator[Frame]:
        trajectory = self._load(run.files)
        for number in numbers:
            yield Frame.of_step(trajectory[number])

    def unwrap(self, selections: Mapping[str, str]) -> None:
        """From here on, ``read`` gives the residues of these selections whole; names of keys ->
        selections.

        Raises
        ------
        ConfigError, InputError
            As ``select``; without a periodic box.
        """
        self._whole = None
        chosen = [self.select(selection, key) for key, selection in selections.items()]
        residues = self.universe.atoms[np.concatenate(chosen)].residues
        run = self.runs[0]
        (_, step), *_ = self.read(run, run.frames[:1])
        atoms = np.unique(np.asarray(residues.atoms.indices, dtype=np.int64))
        check_finite(self, run, run.frames[:1], atoms, step.positions[atoms][None])
        self._whole = WholeMolecules(atoms, step.positions, step.dimensions, run.name)

    def _opened(self, files: tuple[str, ...], frames: FramesConfig) -> Run:
        name = " + ".join(files)
        for file in files:
            check_file(file, "a trajectory")

        def first_look() -> Iterator[
            tuple[int, float, Frame | None, list[float], tuple[str, int, int] | None]
        ]:
            trajectory = self._load(files)
            n_frames, interval_ps = int(trajectory.n_frames), _interval_ps(trajectory)
            used = range(n_frames)[frames.as_slice]
            parts = getattr(trajectory, "readers", [trajectory])
            other = _other_system(parts, self.n_atoms, used)
            with _quiet():
                starts = [float(part[0].time) for part in parts]
            first = Frame.of_step(trajectory[used[0]]) if used else None
            yield n_frames, interval_ps, first, starts, other

        try:
            looked = next(in_fork(first_look, self._memory_bytes(files)))
        except ReaderError as error:
            other = re.search(r"[Nn]umber of atoms:? +(\d+)\s*$", error.text)
            if other and int(other[1]) != self.n_atoms:
                raise InputError.at(
                    name,
                    "",
                    f"{_count(int(other[1]), 'atom')}",
                    f"{self.n_atoms}, as in the topology {self.topology}",
                ) from error
            raise InputError.at(
                name,
                "",
                _cannot_read(error),
                f"a trajectory that MDAnalysis reads (see {_FORMATS})",
            ) from error
        n_frames, interval_ps, first, starts, other_system = looked
        if other_system:
            file, frame, found = other_system
            raise InputError.at(
                file,
                f"frame {frame}",
                _count(found, "atom"),
                f"{self.n_atoms}, as in the topology {self.topology} (leave it out by frames)",
            )
        if len(set(starts)) == len(starts) and sorted(starts) != starts:
            ordered = ", ".join(file for _, file in sorted(zip(starts, files, strict=True)))
            self.said["parts_out_of_order", *files] = message("parts_out_of_order", parts=ordered)
        used = range(n_frames)[frames.as_slice]
        promised = max(n_frames, sum(map(_frames_in_header, files)))
        interval_ps = self._rising(files, interval_ps)
        run = Run(files, n_frames, used, interval_ps * used.step, promised, starts[0])
        if first is None:
            wanted = ", ".join(f"{k}: {'null' if v is None else v}" for k, v in frames)
            raise InputError.at(
                run.name, "", f"no frame for frames {{{wanted}}}", f"some of its {n_frames} frames"
            )
        self._first[files] = first
        return run

    def _rising(self, files: tuple[str, ...], interval_ps: float) -> float:
        if not interval_ps <= 0:
            return interval_ps
        self.said["times_do_not_rise", *files] = message("times_do_not_rise", name=files[0])
        return float("nan")

    def _load(self, files: tuple[str, ...]) -> ProtoReader:
        """The trajectory, opened anew: a process that shares an open file would move its place."""
        with _quiet():
            if len(files) == 1:
                self.universe.load_new(files[0], format=_format_of(files[0]))
            else:
                self.universe.load_new([(file, _format_of(file)) for file in files])
        return self.universe.trajectory

    def _memory_bytes(self, files: tuple[str, ...]) -> int:
        # Address space of the process that reads: one GiB, and 1,000 bytes for each atom; files
        # may be mapped besides.
        return (1 << 30) + 1000 * self.n_atoms + sum(Path(file).stat().st_size for file in files)

    def _show_first(self, run: Run) -> None:
        """Give the atoms the places of the first used frame of a run."""
        frame = self._first[run.files]
        with _quiet():
            self.universe.load_new(frame.positions[None], dimensions=frame.dimensions)

    def _selected(self, selection: str, key: str) -> NDArray[np.int64]:
        mda = import_mdanalysis()
        try:
            modified = self._modified if _PROTEIN.search(selection) else self._modified[:0]
            wider = _PROTEIN.sub(_widened, selection) if modified.size else selection
            with _quiet():
                group = self.universe.select_atoms(wider, modified=self.universe.atoms[modified])
        except (mda.exceptions.NoDataError, AttributeError) as error:
            raise ConfigError.at(
                key,
                "",
                f"{selection!r}, but the topology does not hold that ({_first_line(error)})",
                f"a selection by what {self.topology} holds",
            ) from error
        except (mda.exceptions.SelectionError, ValueError, TypeError, KeyError) as error:
            raise ConfigError.at(
                key,
                "",
                f"{selection!r} ({_first_line(error)})",
                f"a selection in MDAnalysis' language (see {_LANGUAGE})",
            ) from error
        return np.unique(np.asarray(group.indices, dtype=np.int64))

    def _hint(self, key: str) -> str:
        for selection in (DEFAULT_FIT, "nucleic and name P", "name BB"):
            with suppress(AttributeError), _quiet():  # of a topology without names
                if n := self.universe.select_atoms(selection).n_atoms:
                    return f"; try {key}: {selection} ({_count(n, 'atom')})"
        return ""


def trajectories_of(config: TrajectoryCorrelationConfig) -> Trajectories:
    """Those that a section of ``method: trajectory_correlation`` names, in the frames it uses;
    under ``unwrap: true`` they give whole molecules."""
    assert config.topology is not None
    source: Trajectories = in_memory(config.topology) or Trajectories(
        config.topology, config.trajectories, config.frames
    )
    if config.unwrap:
        selections = {"select": config.select}
        if config.fit is not False:
            selections["fit"] = fit_selection(config)
        if config.variables == "distances":
            ends = [end for pair in config.distances.values() for end in pair]
            selections = {f"distances {end}": end for end in ends}
        source.unwrap(selections)
    return source


def fit_selection(config: TrajectoryCorrelationConfig) -> str:
    """The atoms that ``fit`` chooses, or chooses among."""
    return DEFAULT_FIT if config.fit == "least_moving" else str(config.fit)


def import_mdanalysis() -> ModuleType:
    """The package, or a ConfigError that says how to get it."""
    try:
        with _quiet():
            return import_module("MDAnalysis")
    except ImportError as error:
        raise ConfigError.at(
            "method: trajectory_correlation",
            "",
            f"no package MDAnalysis in this Python ({error})",
            "it installed (pip install MDAnalysis), or tables under time_series, which need none",
        ) from error


def _frames_in_header(file: str) -> int:
    """The number of frames in the header of a DCD file (0: unknown, as in other formats).

    MDAnalysis goes by the size of the file, so that a copy cut short looks whole.
    """
    with Path(file).open("rb") as handle:
        start = handle.read(12)
    if len(start) < 12 or start[4:8] != b"CORD":
        return 0
    order = "<" if start[:4] == struct.pack("<i", 84) else ">"
    return max(int(struct.unpack(order + "i", start[8:])[0]), 0)


def _format_of(file: str) -> str | None:
    """The reader, where MDAnalysis does not know it by the end of the name; else None."""
    with Path(file).open("rb") as handle:
        is_dump = handle.read(14) == b"ITEM: TIMESTEP"
    return "LAMMPSDUMP" if is_dump or ".lammpstrj" in Path(file).suffixes else None


def _other_system(
    parts: Sequence[ProtoReader], n_atoms: int, used: range
) -> tuple[str, int, int] | None:
    """The first used frame with another number of atoms: file, frame in it, atoms.

    Of XTC and TRR, whose readers do not look at the number in the header of each frame.
    """
    before = 0
    for part in parts:
        offsets = part._xdr.offsets.tolist() if hasattr(part, "_xdr") else []
        for frame, offset in enumerate(offsets):
            header = np.fromfile(part.filename, dtype=">i4", count=17, offset=offset)
            # Which integer is the number of atoms, by the magic number of a frame (XTC, large
            # XTC, TRR).
            found = int(header[{1995: 1, 2023: 1, 1993: 16}[int(header[0])]])
            if found != n_atoms and before + frame in used:
                return part.filename, frame, found
        before += len(part)
    return None


def _widened(match: re.Match[str]) -> str:
    """A word of a selection that also takes modified residues."""
    of_modified = "group modified" + " and name N CA C O" * (match[0] == "backbone")
    return f"({match[0]} or ({of_modified}))"


def _interval_ps(trajectory: ProtoReader) -> float:
    """Between two frames; NaN where files do not say: MDAnalysis warns and puts 1."""
    with suppress(UserWarning), warnings.catch_warnings(action="error"):
        return float(trajectory.dt)
    return float("nan")


_quiet = partial(warnings.catch_warnings, action="ignore")
"""MDAnalysis warns of every guess (masses, elements, time steps)."""


def _cannot_read(error: ReaderError) -> str:
    if not error.kind:
        return f"damage that MDAnalysis' reader dies of ({error.text}); copy the file anew"
    return f"what MDAnalysis cannot read ({error.kind}: {_first_line(error.text) or error.kind})"


def _first_line(text: object) -> str:
    return (str(text).strip().splitlines() or [""])[0].strip()


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def check_finite(
    source: Trajectories,
    run: Run,
    frames: Sequence[int],
    atoms: NDArray[np.int64],
    positions: NDArray[np.floating],
) -> None:
    """Refuse positions that are no finite numbers.

    Parameters
    ----------
    frames, atoms
        Numbers of the frames of ``run`` and of the atoms that ``positions`` are of.
    positions
        Shape (frames, atoms, 3).

    Raises
    ------
    InputError
        Naming the first frame and atom.
    """
    # A millimetre: positions beyond it are damage.
    sound = np.abs(positions) <= 1e7  # not NaN
    if sound.all():
        return
    frame, atom, axis = np.argwhere(~sound)[0]
    number = int(atoms[atom])
    found = source.universe.atoms[number]
    parts = [str(getattr(found, key, "")) for key in ("resname", "resid", "name")]
    raise InputError.at(
        run.name,
        f"frame {frames[int(frame)]}, atom {number + 1} ({' '.join(filter(None, parts))})",
        f"{'xyz'[axis]} = {positions[frame, atom, axis]:g}",
        "finite positions (leave damaged frames out by frames, or repair the file)",
    )
