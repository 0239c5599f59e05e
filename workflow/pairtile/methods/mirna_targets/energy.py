"""Free energies of miRNA duplexes: miRanda's, on the CPU or on the GPU, and ViennaRNA's."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from pairtile.arrays import CupyArray
from pairtile.errors import ConfigError, DeviceError
from pairtile.gpu import compiling as cuda
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets.kernels.duplex_energy import (
    MAX_LOOP,
    OFFSETS,
    PAIR_TYPES,
    TABLES,
    fold_strings,
)
from pairtile.methods.mirna_targets.scoring import SequenceBatch

KERNELS = Path(__file__).parent / "kernels"

CELSIUS = 30.0

MAX_LENGTH_ON_GPU = 128
"""The GPU's cells are 16 bits wide and lie in shared memory; longer strings go to the CPU."""

LENGTH_STEP = 4
"""Strings of one launch differ in length by less than this, so that none takes shared memory for
letters that it has not."""

STRINGS_AT_A_TIME = 1 << 21
"""Strings that lie on the GPU at a time."""

WARPS = 4
BLOCK_BYTES = 56 << 10
"""Shared memory of a block: every GPU from sm_70 has as much."""


class DuplexEnergy:
    """Folds strings; opened once for a device."""

    def __init__(self, device: Device) -> None:
        """Raises ConfigError where the package ViennaRNA is not installed."""
        self.device = device
        self._tables = turner_1999(CELSIUS)
        self._codes = letter_codes()
        self._types = pair_types()
        self._on_gpu: dict[str, CupyArray] = {}
        if device.backend == "cuda":
            self._kernel = cuda.load(KERNELS / "duplex_energy.cu", OFFSETS).get_function(
                "fold_strings"
            )
            self._kernel.max_dynamic_shared_size_bytes = BLOCK_BYTES
            self._on_gpu = {
                "codes": device.xp.asarray(self._codes),
                "types": device.xp.asarray(self._types),
                "tables": device.xp.asarray(pack(self._tables, MAX_LENGTH_ON_GPU)),
            }

    def fold(self, strings: Sequence[str]) -> NDArray[np.float32]:
        """Minimum free energies in kcal/mol, float32 (n,), of strings of any lengths.

        Letters: A C G U/T pair in either case; X pairs with K alone; any other is no base. The
        bonus of a tetraloop is for upper-case A C G U. Raises ValueError for what is not ASCII.
        """
        batch = SequenceBatch.of_strings(strings)
        return self.fold_letters(batch.text, batch.offsets)

    def fold_letters(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The same for strings that lie one behind the other in an array.

        text : uint8 (total,), ASCII. offsets : int64 (n + 1,), from 0, never falling; string k is
        ``text[offsets[k] : offsets[k + 1]]``.
        """
        text = np.ascontiguousarray(text, np.uint8)
        offsets = np.ascontiguousarray(offsets, np.int64)
        energies = np.zeros(len(offsets) - 1, np.int32)
        if self.device.backend == "cuda":
            self._fold_in_parts(text, offsets, energies)
        else:
            self._fold_cpu(text, offsets, energies)
        return (energies / 100.0).astype(np.float32)

    def _fold_cpu(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], energies: NDArray[np.int32]
    ) -> None:
        fold_strings(
            text,
            offsets,
            self._codes,
            self._types,
            pack(self._tables, int(np.diff(offsets).max(initial=0))),
            energies,
        )

    # --- CUDA ---------------------------------------------------------------------------------

    def _fold_in_parts(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], energies: NDArray[np.int32]
    ) -> None:
        xp = self.device.xp
        start, step = 0, STRINGS_AT_A_TIME
        while start < len(energies):
            stop = min(start + step, len(energies))
            try:
                self._fold_cuda(text, offsets[start : stop + 1], energies[start:stop])
            except xp.cuda.memory.OutOfMemoryError as error:
                xp.get_default_memory_pool().free_all_blocks()
                if step == 1:
                    raise DeviceError(
                        "GPU memory: found no room to fold one string; expected a GPU with more "
                        "free memory"
                    ) from error
                step //= 2
                continue
            start = stop

    def _fold_cuda(
        self, text: NDArray[np.uint8], offsets: NDArray[np.int64], energies: NDArray[np.int32]
    ) -> None:
        xp = self.device.xp
        lengths = np.diff(offsets)
        classes = -(-lengths // LENGTH_STEP)
        order = np.argsort(classes, kind="stable").astype(np.int32)
        bounds = np.searchsorted(classes[order], np.arange(MAX_LENGTH_ON_GPU // LENGTH_STEP + 2))

        letters = xp.asarray(text[offsets[0] : offsets[-1]])
        places = xp.asarray(offsets - offsets[0])
        order_gpu = xp.asarray(order)
        result = xp.zeros(len(energies), np.int32)
        for number, (first, last) in enumerate(pairwise(bounds)):
            if last > first:
                self._launch(letters, places, order_gpu[first:last], number * LENGTH_STEP, result)
        energies[:] = self.device.to_host(result)

        long = order[bounds[-1] :]
        if len(long):
            strings = [text[offsets[k] : offsets[k + 1]] for k in long]
            own = np.concatenate([[0], np.cumsum(lengths[long])])
            found = np.zeros(len(long), np.int32)
            self._fold_cpu(np.concatenate(strings), own, found)
            energies[long] = found

    def _launch(
        self, letters: CupyArray, places: CupyArray, order: CupyArray, longest: int, out: CupyArray
    ) -> None:
        """Fold the strings in ``order``, none of which is longer than ``longest``."""
        xp = self.device.xp
        warp_bytes = _warp_bytes(longest)
        # Common to the warps of a block: busy tables, large loops, pair types.
        shared = -(-(4 * OFFSETS["INTERIOR_1X1"] + 4 * 431 + 64) // 16) * 16
        warps = max(1, min(WARPS, (BLOCK_BYTES - shared) // warp_bytes))
        shared += warps * warp_bytes
        resident = xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            self._kernel.kernel.ptr, 32 * warps, shared
        )
        blocks = resident * xp.cuda.Device().attributes["MultiProcessorCount"]
        self._kernel(
            (min(blocks, -(-len(order) // warps)),),
            (32 * warps,),
            (
                letters,
                places,
                order,
                np.int32(len(order)),
                np.int32(longest),
                np.int32(warp_bytes),
                self._on_gpu["codes"],
                self._on_gpu["types"],
                self._on_gpu["tables"],
                out,
            ),
            shared_mem=shared,
        )


def _warp_bytes(longest: int) -> int:
    """Shared memory of a warp: best_to, three matrices, four diagonals, three codes."""
    cells = (longest - 4) * (longest - 3) // 2 if longest > 4 else 0
    size = 4 * (longest + 1) + 2 * 3 * cells + 2 * 4 * longest + 3 * longest
    return -(-size // 16) * 16


# --- Turner 1999 energy tables --------------------------------------------------------------------


Energies = NDArray[np.int32]
Turner1999 = dict[str, NDArray[np.integer | np.floating]]

MAX_ASYMMETRY_PENALTY = 300
"""Cap on the penalty for an interior loop with sides of unequal length; not scaled."""

DEFAULT_ENTHALPY = -50
"""The parameter file's DEF."""


def hairpin_initiation(tables: Turner1999, size: int) -> Energies:
    """Initiation of hairpins of 0..size unpaired bases: the table, extrapolated beyond 30."""
    loops = np.arange(MAX_LOOP + 1, size + 1)
    longer = tables["HAIRPIN"][MAX_LOOP] + np.trunc(
        tables["EXTRAPOLATION"] * np.log(loops / MAX_LOOP)
    )
    return np.concatenate([tables["HAIRPIN"], longer.astype(np.int32)])[: size + 1]


@cache
def turner_1999(celsius: float = CELSIUS) -> Turner1999:
    """Energies at a temperature in 0.01 kcal/mol, by the names and in the shapes of ``TABLES``; and

    HAIRPIN         initiation by number of unpaired bases up to 30
    EXTRAPOLATION   a hairpin of n > 30 bases costs HAIRPIN[30] + int(EXTRAPOLATION * log(n / 30))

    Raises ConfigError where ViennaRNA is not installed.
    """
    text = _parameter_file()
    factor = (celsius + 273.15) / (37.0 + 273.15)

    def scaled(free: NDArray[np.int64], enthalpy: NDArray[np.int64]) -> Energies:
        return np.trunc(enthalpy - (enthalpy - free) * factor).astype(np.int32)

    def table(name: str, *shape: int) -> Energies:
        return scaled(_numbers(text, name, shape), _numbers(text, f"{name}_enthalpies", shape))

    def entropic(name: str) -> Energies:
        return np.trunc(_numbers(text, name, (31,)) * factor).astype(np.int32)

    # The file's seventh type is a pair of no kind; it takes the place of type 0 here, unused.
    def by_type(values: Energies, axes: int = 1) -> Energies:
        kept = values[(slice(6),) * axes]
        return np.pad(kept, [(1, 0)] * axes + [(0, 0)] * (kept.ndim - axes))

    misc = text["Misc"]
    _, _, closing, _, branch, _ = (int(word) for word in text["ML_params"])
    # Of a helix that ends in a pair other than CG and GC; the same at all temperatures.
    asymmetry = int(int(text["NINIO"][0]) * factor) * np.arange(MAX_LOOP + 1)
    return {
        "STACK": by_type(table("stack", 7, 7), 2),
        "MISMATCH_HAIRPIN": by_type(table("mismatch_hairpin", 7, 5, 5)),
        "MISMATCH_INTERIOR": by_type(table("mismatch_internal", 7, 5, 5)),
        "DANGLE5": np.minimum(by_type(table("dangle5", 7, 5)), 0),
        "DANGLE3": np.minimum(by_type(table("dangle3", 7, 5)), 0),
        "TERMINAL": np.where(np.arange(PAIR_TYPES) > 2, int(misc[2]), 0),
        "BULGE": entropic("bulge"),
        "INTERIOR": entropic("internal"),
        "ASYMMETRY": np.minimum(MAX_ASYMMETRY_PENALTY, asymmetry),
        "MULTILOOP_CLOSING": np.array([int(closing * factor)]),
        "MULTILOOP_BRANCH": np.array([int(branch * factor)]),
        "INTERIOR_1X1": by_type(table("int11", 7, 7, 5, 5), 2),
        "INTERIOR_2X1": by_type(table("int21", 7, 7, 5, 5, 5), 2),
        "TETRALOOP": _tetraloops(text, factor),
        "INTERIOR_2X2": by_type(scaled(*_interior_2x2(text)), 2),
        "HAIRPIN": entropic("hairpin"),
        "EXTRAPOLATION": np.array(float(misc[4]) * factor),
    }


def _interior_2x2(text: dict[str, list[str]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Free energies and enthalpies (6, 6, 5, 5, 5, 5) of 2x2 loops.

    The file has no entries for loops with a missing base. RNAlib 1.5 gives them one free energy
    and, as all others, an enthalpy that is the sum of two mismatches; its mismatches there are
    those of hairpins, 0.01 kcal/mol higher, but for UA with U and U.
    """
    free = np.full((6, 6, 5, 5, 5, 5), 340, np.int64)
    free[:, :, 1:, 1:, 1:, 1:] = _numbers(text, "int22", (6, 6, 4, 4, 4, 4))
    mismatch = _numbers(text, "mismatch_hairpin_enthalpies", (7, 5, 5))[:6].copy()
    mismatch[:, 1:, 1:] += 1
    mismatch[5, 4, 4] -= 1
    mismatch[:, 0, :] = 0
    mismatch[:, 1:, 0] = DEFAULT_ENTHALPY
    # Bases a b c d in 5' to 3' order: a and d are next to the first pair, c and b to the second.
    first = mismatch[:, None, :, None, None, :]
    second = mismatch.transpose(0, 2, 1)[None, :, None, :, :, None]
    enthalpy = np.broadcast_to(first + second, free.shape).copy()
    enthalpy[:, :, 1:, 1:, 1:, 1:] = _numbers(text, "int22_enthalpies", (6, 6, 4, 4, 4, 4))
    return free, enthalpy


def _tetraloops(text: dict[str, list[str]], factor: float) -> Energies:
    """Bonuses on top of a hairpin of four. The file holds whole loops: initiation, mismatch of the
    closing pair, bonus; scaling must act on the bonus alone."""
    mismatch = _numbers(text, "mismatch_hairpin", (7, 5, 5))
    mismatch_enthalpy = _numbers(text, "mismatch_hairpin_enthalpies", (7, 5, 5))
    initiation = int(text["hairpin"][4])
    types = {"CG": 0, "GC": 1, "GU": 2, "UG": 3, "AU": 4, "UA": 5}
    bonus = np.zeros(4**6, np.int32)
    words = text["Tetraloops"]
    for loop, free, enthalpy in zip(words[0::3], words[1::3], words[2::3], strict=True):
        code = ["ACGU".index(base) for base in loop]
        closing = types[loop[0] + loop[5]], code[1] + 1, code[4] + 1
        bonus_free = int(free) - initiation - int(mismatch[closing])
        bonus_enthalpy = int(enthalpy) - int(mismatch_enthalpy[closing])
        index = sum(base << (2 * (5 - place)) for place, base in enumerate(code))
        bonus[index] = int(bonus_enthalpy - (bonus_enthalpy - bonus_free) * factor)
    return bonus


def _numbers(text: dict[str, list[str]], name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    special = {"INF": 1_000_000, "DEF": DEFAULT_ENTHALPY}
    values = [special[word] if word in special else int(word) for word in text[name]]
    return np.array(values, np.int64).reshape(shape)


def _parameter_file() -> dict[str, list[str]]:
    """Sections of the parameter file: name -> entries, comments left out."""
    sections: dict[str, list[str]] = {}
    words: list[str] = []
    # Before 2.7.1 the names of its sections had the other of the two words.
    text = str(package().parameter_set_rna_turner1999).replace("interior", "internal")
    for line in re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).splitlines():
        if line.startswith("#"):
            words = sections.setdefault(line.strip("# "), [])
        else:
            words.extend(line.split())
    return sections


def pack(tables: Turner1999, longest: int) -> NDArray[np.int32]:
    """All energies that the kernels look up, for strings of up to ``longest`` letters."""
    hairpins = hairpin_initiation(tables, max(longest, MAX_LOOP))
    return np.concatenate([*(tables[name].ravel() for name in TABLES), hairpins]).astype(np.int32)


def letter_codes() -> NDArray[np.uint8]:
    """(3, 256): what a letter counts as, by its ASCII code.

    Row 0, for pairing: 0 nothing, 1 A, 2 C, 3 G, 4 U or T, 5 X, 6 K. Row 1, next to a pair: 0 to
    4, where X counts as G and K as C. Row 2, in tetraloops: A C G U are 0 1 2 3, all else is 4;
    lower case and T do not count there. Any other letter is no base.
    """
    codes = np.zeros((3, 256), np.uint8)
    letters = list(b"AaCcGgUuTtXxKk")
    codes[0, letters] = np.repeat([1, 2, 3, 4, 4, 5, 6], 2)
    codes[1, letters] = np.repeat([1, 2, 3, 4, 4, 3, 2], 2)
    codes[2] = 4
    codes[2, list(b"ACGU")] = range(4)
    return codes


def pair_types() -> NDArray[np.uint8]:
    """(7, 7): type of the pair of two letters, by their codes for pairing; 0 where they do not
    pair. X pairs with nothing but K."""
    letters = ".ACGUXK"
    types = np.zeros((len(letters), len(letters)), np.uint8)
    for kind, pairs in enumerate(["CG KX", "GC XK", "GU", "UG", "AU", "UA"], start=1):
        for pair in pairs.split():
            types[letters.index(pair[0]), letters.index(pair[1])] = kind
    return types


# --- what ViennaRNA computes ----------------------------------------------------------------------


def package(key: str = "energies") -> ModuleType:
    """The Python module ``RNA``. Raises ConfigError, naming the key that asks for it, where
    ViennaRNA is not installed."""
    try:
        return importlib.import_module("RNA")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{key}: found no Python module RNA; expected the package ViennaRNA to be installed "
            f"(pip install ViennaRNA), or {key}: false"
        ) from error
    except ImportError as error:  # it is there; its library cannot be loaded, as for want of memory
        raise ConfigError(
            f"{key}: found a Python module RNA that cannot be loaded ({error}); expected one that "
            f"loads (is memory short?), or {key}: false"
        ) from error


WINDOW, SPAN = 80, 40
"""RNAplfold's window, and how far apart bases that pair may be; letters."""


def viennarna_duplex_energy(mirna: str, site: str) -> float:
    """Free energy in kcal/mol of the best duplex of a miRNA and a site, both 5' to 3'.

    ViennaRNA's ``duplexfold``: Turner 2004 parameters, 37 C, pairs between the two strands only.
    Unlike miRanda's energy it has no linker and allows no structure within a strand. T counts as
    U, lower case as upper case. Strands that cannot pair, and empty ones, give 0.
    """
    rna = package()
    if not mirna or not site:
        return 0.0
    # ViennaRNA says 100000 kcal/mol (its "infinite") where there is no pair at all.
    return min(float(rna.duplexfold(_rna_letters(mirna), _rna_letters(site)).energy), 0.0)


def site_accessibilities(
    transcript: str,
    begins: NDArray[np.integer],
    ends: NDArray[np.integer],
    window: int = WINDOW,
    span: int = SPAN,
) -> NDArray[np.float64]:
    """Probabilities that sites are free of base pairs within their transcript: float64 (sites,).

    transcript : letters 5' to 3'; T counts as U. begins, ends : of the sites, 1-based, both
    included. window, span : as RNAplfold's -W and -L (Bernhart et al., Algorithms Mol. Biol. 6
    (2011), 3): pairs lie at most ``span`` apart, and probabilities are means over windows of that
    length. A transcript shorter than the window is one window; a site longer than the window is
    looked at in windows of its own length. Turner 2004 parameters, 37 C.

    Only the surroundings of sites are folded, those of neighbours together, so the cost does not
    grow with the transcript.
    """
    sites = np.stack([begins, ends], axis=1).astype(np.int64)
    result = np.zeros(len(sites))
    widths = np.maximum(window, sites[:, 1] - sites[:, 0] + 1)
    for width in np.unique(widths):
        chosen = np.flatnonzero(widths == width)
        result[chosen] = _unpaired(transcript, sites[chosen], int(width), span)
    return result


def _unpaired(
    transcript: str, sites: NDArray[np.int64], window: int, span: int
) -> NDArray[np.float64]:
    """Probabilities of sites that a window can hold."""
    rna = package()
    result = np.zeros(len(sites))
    order = np.argsort(sites[:, 0], kind="stable")
    # The windows that hold a site, and one letter more on either side: what lies beyond is never
    # looked at, so the result is that of the whole transcript.
    firsts = np.maximum(sites[order, 0] - window, 1)
    lasts = np.minimum(np.maximum.accumulate(sites[order, 1]) + window, len(transcript))
    apart = np.flatnonzero(firsts[1:] > lasts[:-1]) + 1
    for group in np.split(np.arange(len(order)), apart):
        first, last = int(firsts[group[0]]), int(lasts[group[-1]])
        stretch = _rna_letters(transcript[first - 1 : last])
        sizes = sites[order[group], 1] - sites[order[group], 0] + 1
        width = min(window, len(stretch))
        unpaired = rna.pfl_fold_up(stretch, int(sizes.max()), width, min(span, width))
        for k, size in zip(order[group], sizes, strict=True):
            # Entry [k][u] is the segment of u letters that ends at k.
            result[k] = unpaired[int(sites[k, 1]) - first + 1][int(size)]
    return result


def _rna_letters(text: str) -> str:
    return text.upper().replace("T", "U")
