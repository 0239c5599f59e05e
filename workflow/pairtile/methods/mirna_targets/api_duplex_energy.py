"""Free energies of miRNA duplexes given as letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.duplex_energy import DuplexEnergy
from pairtile.methods.mirna_targets.fasta import LETTERS
from pairtile.methods.mirna_targets.kernels.miranda_strings import LINKER
from pairtile.methods.mirna_targets.viennarna import viennarna_duplex_energy

if TYPE_CHECKING:
    import pandas as pd

    Texts: TypeAlias = list[str] | tuple[str, ...] | NDArray[Any] | pd.Series[str]

MODELS = ("miranda", "viennarna")

_ALLOWED = frozenset(LETTERS + LETTERS.lower() + "-")


@overload
def duplex_energy(
    mirnas: str, sites: str, *, model: str = "miranda", backend: str = "auto"
) -> float: ...


@overload
def duplex_energy(
    mirnas: Texts,
    sites: Texts,
    *,
    model: str = "miranda",
    backend: str = "auto",
) -> NDArray[np.float64]: ...


def duplex_energy(mirnas: Any, sites: Any, *, model: str = "miranda", backend: str = "auto") -> Any:
    """Free energy in kcal/mol of miRNAs bound to sites of transcripts; lower is stronger.

    Parameters
    ----------
    mirnas : str or sequence of str
        miRNAs, 5' to 3'.
    sites : str or sequence of str
        The site of each, 5' to 3', as many.
    model : {"miranda", "viennarna"}
        ``miranda``: what miRanda 3.3a reports: the minimum free energy of the miRNA, seven letters
        that pair with nothing, and the site as one string, both from 3' to 5'; Turner 1999 at 30
        degrees. Either strand may also fold on itself. ``viennarna``: ViennaRNA's ``RNAduplex``:
        pairs between the strands only; Turner 2004 at 37 degrees.
    backend : {"auto", "cpu", "cuda"}
        For ``miranda``; all give the same answer.

    Returns
    -------
    float, or float64 array [shape: (n,)]
        In steps of 0.01; 0 where nothing binds.

    Raises
    ------
    ValueError
        Lists of unlike length, letters that are none, an unknown model.
    ConfigError
        The package ViennaRNA, which brings the energy tables, is not installed.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    T pairs as U, and X with nothing. ``miranda`` reads the case of letters, as miRanda does: a
    hairpin of four gets its bonus in upper-case A C G U only, so not with T. To get the energy of
    a hit again, hand over its aligned lines without the gaps, the miRNA reversed; a ``-`` opposite
    a lower-case letter is no gap but a place beyond the transcript, and stays.

    Examples
    --------
    >>> let_7 = "UGAGGUAGUAGGUUGUAUAGUU"
    >>> duplex_energy(let_7, "AACUAUACAACCUACUACCUCA")
    -39.3
    >>> duplex_energy([let_7, let_7], ["AACUAUACAACCUACUACCUCA", "AACUAUACAACCUACUAGCUCA"])
    array([-39.3 , -34.47])
    """
    if model not in MODELS:
        raise ValueError(f"model: found {model!r}; expected {' or '.join(MODELS)}")
    if isinstance(mirnas, str) != isinstance(sites, str):
        raise ValueError("mirnas, sites: found one text and one list; expected two of a kind")
    if isinstance(mirnas, str):
        return float(duplex_energy([mirnas], [sites], model=model, backend=backend)[0])
    if len(mirnas) != len(sites):
        raise ValueError(
            f"mirnas, sites: found {len(mirnas)} and {len(sites)}; expected a site for each miRNA"
        )
    pairs = list(zip(_letters(mirnas, "mirnas"), _letters(sites, "sites"), strict=True))
    if model == "viennarna":
        bare = [(mirna.replace("-", ""), site.replace("-", "")) for mirna, site in pairs]
        return np.array([round(viennarna_duplex_energy(*pair), 2) for pair in bare])
    strings = [f"{mirna[::-1]}{'X' * LINKER}{site[::-1]}" for mirna, site in pairs]
    folded = DuplexEnergy(choose(backend)).fold(strings)
    return folded.astype(np.float64).round(2)


def _letters(texts: Texts, name: str) -> list[str]:
    for text in texts:
        strange = set(text) - _ALLOWED if isinstance(text, str) else {text}
        if strange:
            raise ValueError(
                f"{name}: found {min(strange, key=str)!r} in {text!r}; expected letters of "
                f"{' '.join(LETTERS)}, in either case"
            )
    return list(texts)
