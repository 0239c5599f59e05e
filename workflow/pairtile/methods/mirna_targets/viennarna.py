"""What the ViennaRNA package is asked for: its parameter file, and two optional columns of hits.

The package (Lorenz et al., Algorithms Mol. Biol. 6 (2011), 26) is needed at run time where
energies are. Its library keeps its settings in global variables; nothing here changes them.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairtile.errors import ConfigError


def package() -> Any:
    """The Python module ``RNA``. Raises ConfigError where ViennaRNA is not installed."""
    try:
        return importlib.import_module("RNA")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "energies: found no Python module RNA; expected the package ViennaRNA to be installed "
            "(pip install ViennaRNA), or energies: false"
        ) from error
    except ImportError as error:  # it is there; its library cannot be loaded, as for want of memory
        raise ConfigError(
            f"energies: found a Python module RNA that cannot be loaded ({error}); expected one "
            "that loads (is memory short?), or energies: false"
        ) from error


def viennarna_duplex_energy(mirna: str, site: str) -> float:
    """Free energy in kcal/mol of the best duplex of a miRNA and a site, both 5' to 3'.

    ViennaRNA's ``duplexfold``: Turner 2004 parameters, 37 C, pairs between the two strands only.
    Unlike miRanda's energy it has no linker and allows no structure within a strand. T counts as
    U, lower case as upper case. Strands that cannot pair, and empty ones, give 0.
    """
    rna = package()
    if not mirna or not site:
        return 0.0
    energy = float(rna.duplexfold(_rna_letters(mirna), _rna_letters(site)).energy)
    # ViennaRNA says 100000 kcal/mol (its "infinite") where there is no pair at all.
    return min(energy, 0.0)


def site_accessibility(
    transcript: str, begin: int, end: int, window: int = 80, span: int = 40
) -> float:
    """Probability that a site is free of base pairs within its transcript.

    transcript : letters 5' to 3'; T counts as U. begin, end : the site, 1-based, both included.
    window, span : as RNAplfold's -W and -L (Bernhart et al., Algorithms Mol. Biol. 6 (2011), 3):
    pairs lie at most ``span`` apart, and probabilities are means over windows of that length. A
    transcript shorter than the window is one window; a site longer than the window is looked at in
    windows of its own length. Turner 2004 parameters, 37 C.

    Only the surroundings of the site are folded, so the cost does not grow with the transcript.
    Raises ValueError for a site outside of the transcript and for settings below 1.
    """
    return float(site_accessibilities(transcript, [begin], [end], window, span)[0])


def site_accessibilities(
    transcript: str,
    begins: Sequence[int] | NDArray[np.int32],
    ends: Sequence[int] | NDArray[np.int32],
    window: int = 80,
    span: int = 40,
) -> NDArray[np.float64]:
    """``site_accessibility`` of many sites of a transcript, float64 (n,): neighbours are folded
    once, together, with the same result."""
    if not 1 <= span <= window:
        raise ValueError(f"window, span: found {window}, {span}; expected 1 <= span <= window")
    sites = np.stack([np.asarray(begins, np.int64), np.asarray(ends, np.int64)], axis=1)
    for begin, end in sites:
        if not 1 <= begin <= end <= len(transcript):
            raise ValueError(
                f"site: found {begin}..{end}; expected 1 <= begin <= end <= {len(transcript)}, "
                "the length of the transcript"
            )
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
