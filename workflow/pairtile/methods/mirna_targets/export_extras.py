"""Columns of hits that newer tools tell: ViennaRNA's duplex energy and site accessibility."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.methods.mirna_targets.export_tables import codes, rows_by_length
from pairtile.methods.mirna_targets.viennarna import (
    package,
    site_accessibility,
    viennarna_duplex_energy,
)

WINDOW, SPAN = 80, 40
"""RNAplfold's window, and how far apart bases that pair may be; letters."""

LETTERS_FOR_A_SITE = 100
"""So many letters of a whole transcript fold in the time that one site alone takes."""

Site = tuple[int, int, int]


def extra_columns(
    hits: pa.Table, state: Mapping[str, NDArray[Any]], asked: Mapping[str, bool]
) -> dict[str, pa.Array]:
    """What ViennaRNA tells of the hits of a table (``hits_tables.hits_table``), in their order.

    | column | asked for by | meaning |
    |---|---|---|
    | duplex_energy_kcal_mol | duplex_energy | best duplex of the miRNA and its span (RNAduplex) |
    | accessibility | accessibility | probability that all of the aligned site is free of pairs |

    The span is ``reference_begin`` to ``reference_end``, the site ``site_begin`` to ``site_end``.
    Accessibility is RNAplfold's (``WINDOW``, ``SPAN``).

    Raises
    ------
    ConfigError
        ViennaRNA is not installed.
    """
    columns: dict[str, pa.Array] = {}
    mirna = codes(hits["mirna"]).tolist()
    n_mirnas = len(state["mirna_offsets"]) - 1
    transcript = rows_by_length(state)[codes(hits["transcript"]) - n_mirnas].tolist()
    spans = [hits[name].to_pylist() for name in ("reference_begin", "reference_end")]
    sites = [hits[name].to_pylist() for name in ("site_begin", "site_end")]
    if asked.get("duplex_energy"):
        energies = [
            viennarna_duplex_energy(
                _letters(state, "mirna", i), _letters(state, "transcript", j)[begin - 1 : end]
            )
            for i, j, begin, end in zip(mirna, transcript, *spans, strict=True)
        ]
        columns["duplex_energy_kcal_mol"] = pa.array(np.round(energies, 2), pa.float64())
    if asked.get("accessibility"):
        keys = list(zip(transcript, *sites, strict=True))
        found = _accessibilities(set(keys), state)
        columns["accessibility"] = pa.array([found[key] for key in keys], pa.float64())
    return columns


def _accessibilities(sites: set[Site], state: Mapping[str, NDArray[Any]]) -> dict[Site, float]:
    """Accessibility of each site (row of the transcript, begin, end), to six digits.

    Where a transcript has many sites it is folded once as a whole, which gives the same numbers.
    """
    of_transcript: dict[int, list[Site]] = {}
    for site in sorted(sites):
        of_transcript.setdefault(site[0], []).append(site)
    found = {}
    for row, its_sites in of_transcript.items():
        text = _letters(state, "transcript", row)
        longest = max(end - begin + 1 for _, begin, end in its_sites)
        if len(its_sites) * LETTERS_FOR_A_SITE < len(text) or longest > WINDOW:
            for site in its_sites:
                found[site] = site_accessibility(text, site[1], site[2], WINDOW, SPAN)
            continue
        width = min(WINDOW, len(text))
        letters = text.upper().replace("T", "U")
        unpaired = package().pfl_fold_up(letters, longest, width, min(SPAN, width))
        for site in its_sites:
            found[site] = unpaired[site[2]][site[2] - site[1] + 1]
    return {site: float(f"{probability:.6g}") for site, probability in found.items()}


def _letters(state: Mapping[str, NDArray[Any]], kind: str, row: int) -> str:
    begin, end = state[f"{kind}_offsets"][row : row + 2]
    return str(state[f"{kind}_text"][begin:end].tobytes(), "ascii")
