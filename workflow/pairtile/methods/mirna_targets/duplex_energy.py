"""Free energies of miRNA duplexes as miRanda 3.3a reports them, on the CPU or on the GPU.

A duplex is folded as one string: the miRNA from 3' to 5', a linker of seven X, the target from 3'
to 5'. Its minimum free energy is what RNAlib 1.5 gives at 30 C with Turner 1999 tables and single
dangling bases. All arithmetic is on integers of 0.01 kcal/mol, so both backends agree exactly.

The model is that of Zuker & Stiegler, Nucleic Acids Res. 9 (1981), 133-148, with dangles as in
Hofacker et al., Monatsh. Chem. 125 (1994), 167-188.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pairtile.errors import DeviceError
from pairtile.gpu.device import Device
from pairtile.methods.mirna_targets.kernels.duplex_energy import fold_strings
from pairtile.methods.mirna_targets.kernels.duplex_tables import (
    OFFSETS,
    letter_codes,
    pack,
    pair_types,
)
from pairtile.methods.mirna_targets.turner_1999 import turner_1999

KERNELS = Path(__file__).parent / "kernels"

CELSIUS = 30.0

LONGEST_ON_GPU = 128
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
        self._on_gpu: dict[str, Any] = {}
        if device.backend == "cuda":
            from pairtile.gpu import compiling as cuda

            self._kernel = cuda.load(KERNELS / "duplex_energy.cu", OFFSETS).get_function(
                "fold_strings"
            )
            self._kernel.max_dynamic_shared_size_bytes = BLOCK_BYTES
            self._on_gpu = {
                "codes": device.xp.asarray(self._codes),
                "types": device.xp.asarray(self._types),
                "tables": device.xp.asarray(pack(self._tables, LONGEST_ON_GPU)),
            }

    def fold(self, strings: Sequence[str]) -> NDArray[np.float32]:
        """Minimum free energies in kcal/mol, float32 (n,), of strings of any lengths.

        Letters: A C G U/T pair in either case; X pairs with K alone; any other is no base. The
        bonus of a tetraloop is for upper-case A C G U. Raises ValueError for letters beyond ASCII.
        """
        text = "".join(strings)
        if not text.isascii():
            raise ValueError("strings: found letters beyond ASCII; expected nucleotide letters")
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=offsets[1:])
        return self.fold_letters(np.frombuffer(text.encode(), np.uint8), offsets)

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
        longest = int(np.diff(offsets).max(initial=0))
        fold_strings(
            text,
            offsets,
            self._codes,
            self._types,
            pack(self._tables, longest),
            numba.get_num_threads(),
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
        bounds = np.searchsorted(classes[order], np.arange(LONGEST_ON_GPU // LENGTH_STEP + 2))

        letters = xp.asarray(text[offsets[0] : offsets[-1]])
        places = xp.asarray(offsets - offsets[0])
        order_gpu = xp.asarray(order)
        result = xp.zeros(len(energies), np.int32)
        for number, (first, last) in enumerate(pairwise(bounds)):
            if last > first:
                longest = number * LENGTH_STEP
                self._launch(letters, places, order_gpu[first:last], longest, result)
        energies[:] = self.device.to_host(result)

        long = order[bounds[-1] :]
        if len(long):
            strings = [text[offsets[k] : offsets[k + 1]] for k in long]
            own = np.concatenate([[0], np.cumsum(lengths[long])])
            found = np.zeros(len(long), np.int32)
            self._fold_cpu(np.concatenate(strings), own, found)
            energies[long] = found

    def _launch(self, letters: Any, places: Any, order: Any, longest: int, result: Any) -> None:
        """Fold the strings in ``order``, none of which is longer than ``longest``."""
        xp = self.device.xp
        warp_bytes = _warp_bytes(longest)
        shared = _block_bytes()
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
                result,
            ),
            shared_mem=shared,
        )


def _warp_bytes(longest: int) -> int:
    """Shared memory of a warp: best_to, three matrices, four diagonals, three codes."""
    cells = (longest - 4) * (longest - 3) // 2 if longest > 4 else 0
    size = 4 * (longest + 1) + 2 * 3 * cells + 2 * 4 * longest + 3 * longest
    return -(-size // 16) * 16


def _block_bytes() -> int:
    """Shared memory common to the warps of a block: busy tables, large loops, pair types."""
    size = 4 * OFFSETS["INTERIOR_1X1"] + 4 * 431 + 64
    return -(-size // 16) * 16
