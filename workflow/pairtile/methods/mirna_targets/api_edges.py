"""The network that hits of miRNAs make, in memory."""

from __future__ import annotations

import pandas as pd

from pairtile.methods.mirna_targets.network import target_edges

NEEDED = ("mirna", "transcript", "score", "energy_kcal_mol")
"""Columns of hits that edges are made from."""


def mirna_edges(hits: pd.DataFrame) -> pd.DataFrame:
    """Turn hits into the edges of a network, miRNA to transcript.

    Parameters
    ----------
    hits : DataFrame
        What :func:`mirna_targets` returns, or a part of it (8mers only, sites that are open...).

    Returns
    -------
    DataFrame, one row for each pair with a hit, best first
        The columns of the workflow's network: ``source``, ``target``, ``score`` (greatest),
        ``energy_kcal_mol`` (lowest), ``n_hits``, ``total_score``, ``total_energy_kcal_mol``;
        without those of energies where there are none.

    Raises
    ------
    ValueError
        Missing columns.

    Examples
    --------
    >>> from pairtile import mirna_targets
    >>> hits = mirna_targets({"m": "UGAGGUAGUAGGUUGUAUAGUU"}, ["CUAUACAACCUACUACCUCA" * 2])
    >>> mirna_edges(hits)[["source", "target", "n_hits", "total_score"]]
      source        target  n_hits  total_score
    0      m  transcript_0       2        400.0
    """
    missing = [name for name in NEEDED if name not in hits]
    if missing:
        raise ValueError(
            f"hits: found no column {', '.join(missing)}; expected a table of mirna_targets"
        )
    # Hits are sorted by their pair, so that equals stay in the order of the workflow.
    edges = target_edges(hits, ("mirna", "transcript"))
    edges = edges.sort_values(
        ["score", "energy_kcal_mol"], ascending=[False, True], kind="stable", ignore_index=True
    )
    if len(hits) and edges["energy_kcal_mol"].isna().all():
        edges = edges.drop(columns=["energy_kcal_mol", "total_energy_kcal_mol"])
    edges.attrs = {"directed": True}
    return edges
