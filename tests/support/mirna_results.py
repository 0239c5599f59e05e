"""A results folder of ``method: mirna_targets`` as the workflow leaves it, with random hits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pairtile.config.load import load_config
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.score import target_edges
from pairtile.methods.mirna_targets.tables import targets_table, write_arrow_tsv
from pairtile.report.results import read_results, warnings_of_results
from pairtile.runtime.files import write_arrays, write_json

ALIGNMENTS = [
    (
        "ugagugUGGAUCCAAG-----GUUCCUAa",
        "      ||:| | |||     ||||||| ",
        "ugaguaACUUUGUUUCAUAAUCAAGGAUg",
    ),
    ("uuGAUAUGUUGGA--UGGAGU", "   | ||:||  |  |||| |", "gtCAATGCAGTCTGAACCTGA"),
]
"""miRNA, pairs, transcript: the first written with U, the second with T."""


def write_mirna_results(
    folder: Path,
    *,
    n_mirnas: int = 12,
    n_transcripts: int = 20,
    n_pairs: int = 90,
    names: tuple[str, ...] = (),
    energies: bool = True,
    bad: int = 0,
    alignment: int = 0,
    more_columns: dict[str, Any] | None = None,
    counts: dict[str, int] | None = None,
    warnings: tuple[str, ...] = (),
    **settings: Any,
) -> Path:
    """Write items, hits, targets, network, scores and summary; return the folder.

    ``names`` replace the first transcripts' names, ``bad`` records of transcripts are left out,
    ``settings`` go to the section (those of ``estimator`` as a mapping).
    """
    rng = np.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)
    items = _items(n_mirnas, n_transcripts, names, bad)
    hits = _hits(rng, items, n_mirnas, n_transcripts, n_pairs, energies, ALIGNMENTS[alignment])
    for name, values in (more_columns or {}).items():
        hits = hits.append_column(name, pa.array([values] * len(hits)))
    items.to_parquet(folder / "items.parquet")
    pq.write_table(hits, folder / "hits.parquet", store_schema=False, row_group_size=100_000)
    if n_pairs < 1000:
        write_arrow_tsv(hits, folder / "hits.tsv")
    write_arrow_tsv(targets_table(hits), folder / "targets.tsv")
    network = _network(hits, energies)
    network.to_parquet(folder / "network.parquet")
    score = hits["score"].to_numpy()
    energy = np.nan_to_num(hits["energy_kcal_mol"].to_numpy().astype(float))
    edges, energy_edges = np.arange(201) * 5.0, -np.arange(161)[::-1] * 0.5
    arrays = {
        "edges": edges,
        "counts": np.histogram(score, edges)[0],
        "threshold": np.array(140.0),
        "energy_edges": energy_edges,
        "energy_counts": np.histogram(energy, energy_edges)[0],
    }
    write_arrays(folder / "scores.npz", arrays)
    section = {
        "method": "mirna_targets",
        "mirnas": "mirnas.fa",
        "transcripts": "transcripts.fa",
        **settings,
    }
    section["estimator"] = {"energies": energies, **settings.get("estimator", {})}
    summary: dict[str, Any] = {
        "analysis": folder.name,
        "method": "mirna_targets",
        "pairtile_version": "0.1.0",
        "inputs": {"mirnas": {"path": "mirnas.fa", "sha256": "5f" * 32, "bytes": 1000}},
        "parameters": load_config({"analyses": {"a": section}}).analyses["a"].resolved(),
        "backend": {"name": "cpu", "device": "2 cores of a test machine", "reason": "asked for"},
        "counts": {
            "mirnas_read": n_mirnas,
            "mirnas_kept": n_mirnas,
            "transcripts_read": n_transcripts + bad,
            "transcripts_kept": n_transcripts,
            "pairs_scored": n_mirnas * n_transcripts,
            "edges": len(network),
            "hits": len(hits),
            **(counts or {}),
        },
        "threshold": {"score": 140.0, "energy_kcal_mol": 1.0 if energies else None},
        "steps": {"chunks": {"seconds": 1.0, "peak_memory_bytes": 10**8}},
        "versions": {"python": "3.11.9", "numpy": "2.4.6", "ViennaRNA": "2.7.0"},
        "warnings": list(warnings),
        "notes": [],
        "directed": True,
    }
    summary["warnings"] += warnings_of_results(read_results(folder, summary))
    write_json(folder / "summary.json", summary)
    return folder


def _items(n_mirnas: int, n_transcripts: int, names: tuple[str, ...], bad: int) -> pd.DataFrame:
    transcripts = [*names, *(f"tr-{k}" for k in range(len(names), n_transcripts))]
    kinds = ["mirna"] * n_mirnas + ["transcript"] * (n_transcripts + bad)
    kept = np.arange(len(kinds)) < n_mirnas + n_transcripts
    return pd.DataFrame(
        {
            "name": [f"miR-{k}" for k in range(n_mirnas)]
            + transcripts
            + [f"bad-{k}" for k in range(bad)],
            "kept": kept,
            "reason": np.where(kept, "", "line 7: no letters").astype(object),
            "kind": kinds,
            "length": np.where(np.arange(len(kinds)) < n_mirnas, 22, 1000).astype(np.int32),
            "is_regulator": np.arange(len(kinds)) < n_mirnas,
        }
    )


def _hits(
    rng: np.random.Generator,
    items: pd.DataFrame,
    n_mirnas: int,
    n_transcripts: int,
    n_pairs: int,
    energies: bool,
    lines: tuple[str, str, str],
) -> pa.Table:
    """One to three hits for each of ``n_pairs`` pairs, in the order of the items."""
    pairs = np.sort(rng.permutation(n_mirnas * n_transcripts)[:n_pairs])
    per_pair = rng.integers(1, 4, n_pairs)
    pair = np.repeat(pairs, per_pair)
    n = len(pair)
    rank = np.arange(n) - np.repeat(np.cumsum(per_pair) - per_pair, per_pair) + 1
    names = pa.array(items["name"], pa.string())

    def named(rows: np.ndarray) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), names)

    begin = rng.integers(1, 970, n)
    energy = np.round(-rng.gamma(9, 2.2, n), 2).astype(np.float32)
    query, match, reference = (pa.array([text] * n, pa.string()) for text in lines)
    return pa.table(
        {
            "mirna": named(pair // n_transcripts),
            "transcript": named(n_mirnas + pair % n_transcripts),
            "rank": rank.astype(np.int32),
            "score": 140.0 + rng.geometric(0.12, n),
            "energy_kcal_mol": energy if energies else pa.nulls(n, pa.float32()),
            "query_begin": np.full(n, 2, np.int32),
            "query_end": np.full(n, 18, np.int32),
            "reference_begin": begin.astype(np.int32),
            "reference_end": (begin + 28).astype(np.int32),
            "site_begin": (begin + 6).astype(np.int32),
            "site_end": (begin + 27).astype(np.int32),
            "alignment_length": np.full(n, 22, np.int32),
            "identity_percent": np.full(n, 63.64),
            "similarity_percent": np.full(n, 68.18),
            "seed_class": pa.DictionaryArray.from_arrays(
                pa.array(rng.integers(0, 6, n), pa.int8()), list(SEED_CLASSES)
            ),
            "local_au": pa.array(rng.random(n).round(4)),
            "relative_position": (begin / 1000).round(4),
            "transcript_length": np.full(n, 1000, np.int32),
            "query_alignment": query,
            "match_line": match,
            "reference_alignment": reference,
        }
    )


def _network(hits: pa.Table, energies: bool) -> pd.DataFrame:
    columns = ["mirna", "transcript", "score", "energy_kcal_mol"]
    table = hits.select(columns).to_pandas().astype({"mirna": object, "transcript": object})
    edges = target_edges(table, ("mirna", "transcript"))
    if not energies:
        edges = edges.drop(columns=["energy_kcal_mol", "total_energy_kcal_mol"])
    by = ["score", *(["energy_kcal_mol"] if energies else []), "source", "target"]
    return edges.sort_values(by, ascending=[c != "score" for c in by]).reset_index(drop=True)
