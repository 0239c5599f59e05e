"""From hits to edges: one edge for each pair of miRNA and transcript that has a hit."""

from __future__ import annotations

import numpy as np
import pandas as pd


def target_edges(hits: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """Add up the hits of each pair, in order of the pairs' first hits.

    Parameters
    ----------
    hits : columns ``score``, ``energy_kcal_mol`` and both of ``pair``, one row for each hit.
    pair : the columns that name miRNA and transcript.

    Returns
    -------
    DataFrame: ``source``, ``target``, ``score`` (greatest), ``energy_kcal_mol`` (lowest),
    ``n_hits`` int32, ``total_score``, ``total_energy_kcal_mol``. Energies are rounded to the 0.01
    kcal/mol in which they are counted.
    """
    energies = hits["energy_kcal_mol"].astype(np.float64).round(2)
    edges = (
        hits.assign(energy_kcal_mol=energies)
        .groupby(list(pair), sort=False)
        .agg(
            score=("score", "max"),
            energy_kcal_mol=("energy_kcal_mol", "min"),
            n_hits=("score", "size"),
            total_score=("score", "sum"),
            total_energy_kcal_mol=("energy_kcal_mol", "sum"),
        )
        .reset_index()
        .rename(columns=dict(zip(pair, ("source", "target"), strict=True)))
        .astype({"n_hits": np.int32})
    )
    edges["total_energy_kcal_mol"] = edges["total_energy_kcal_mol"].round(2)
    return edges
