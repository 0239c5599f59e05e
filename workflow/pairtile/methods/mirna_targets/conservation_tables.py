"""Conservation in the tables: columns of hits and of pairs, and what chance keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.mirna_targets.arrays import SequenceArrays
from pairtile.methods.mirna_targets.conservation import (
    CANONICAL,
    Conservation,
    ConservedSites,
    conserved_sites,
)
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from pairtile.methods.mirna_targets.tables import ALL_MIRNAS, codes, rounded, state_rows


def conservation_columns(
    hits: pa.Table, state: SequenceArrays, rates: NDArray[np.float64] | None
) -> dict[str, pa.Array]:
    """Conservation of the hits of a table (``tables.hits_table``), by the columns of
    ``hits.parquet``; no columns without orthologs.

    Missing where there is no ortholog, and for sites without a seed class. rates :
    ``conservation.conservation_rates``.
    """
    if "ortholog_codes" not in state:
        return {}
    conservation = Conservation(state)
    mirnas = SequenceBatch.of_state(state, "mirna")
    seed_class = codes(hits["seed_class"]).astype(np.int8)
    i, j = state_rows(hits, state)
    kept = conservation.kept(mirnas, i, j, seed_class)
    species = conservation.species_of(j)
    missing = (species == 0) | (seed_class == 0)
    columns = {
        "species_with_ortholog": pa.array(species),
        "species_kept": pa.array(kept.species, mask=missing),
    }
    if conservation.has_tree:
        length = kept.branch_length.round(6)
        columns["branch_length_kept"] = pa.array(length, mask=missing)
    if rates is not None:
        # What no other species keeps is not said to be conserved, however many sites there are.
        rate = np.where(kept.level > 0, rates[seed_class, kept.level], 0.0)
        columns["conservation_rate"] = pa.array(np.maximum(rate, 0.0).round(4), mask=missing)
    return columns


def conservation_table(
    sums: Mapping[str, NDArray[np.integer]], mirnas: Iterable[str], conservation: Conservation
) -> pa.Table:
    """How many sites other species keep, and how many chance keeps.

    Columns are those of ``conservation.tsv`` in ``columns.toml``.

    sums : ``null.count_shapes``. mirnas : their names; of single ones, canonical sites, without the
    last three columns.
    """
    rows = {SEED_CLASSES[k]: slice(k, k + 1) for k in range(len(SEED_CLASSES) - 1, 0, -1)}
    kept, shuffled = sums["kept_counts"], sums["null_kept_counts"]
    parts = []
    for name, some in {"canonical": CANONICAL, **rows}.items():
        real = _summed(conserved_sites(kept[some], shuffled[:, some].sum(axis=0)))
        each = _summed(conserved_sites(kept[None, some], shuffled[:, some])).expected
        low, high = np.quantile(each, [0.025, 0.975], axis=0)
        p = (1.0 + (each >= real.kept).sum(axis=0)) / (1.0 + len(each))
        more = real._replace(expected=high).rate(), real._replace(expected=low).rate(), p
        parts.append(_rows(ALL_MIRNAS, name, conservation, real, *more))
    of_mirnas = _summed(
        conserved_sites(sums["mirna_kept"][:, CANONICAL], sums["null_mirna_kept"][:, CANONICAL])
    )
    for mirna, *of in zip(map(str, mirnas), of_mirnas.kept, of_mirnas.expected, strict=True):
        parts.append(_rows(mirna, "canonical", conservation, ConservedSites(*of)))
    table = pd.concat(parts, ignore_index=True)
    numbers = table.select_dtypes("number").columns
    table[numbers] = table[numbers].apply(lambda column: rounded(column.to_numpy(np.float64)))
    return pa.Table.from_pandas(table, preserve_index=False)


def _rows(
    mirna: str,
    seed_class: str,
    conservation: Conservation,
    of: ConservedSites,
    low: ArrayLike = np.nan,
    high: ArrayLike = np.nan,
    p: ArrayLike = np.nan,
) -> pd.DataFrame:
    """The rows of a seed class, one for each level but the first, in which all sites are."""
    table = pd.DataFrame(
        {
            "mirna": mirna,
            "seed_class": seed_class,
            conservation.measure: conservation.least(),
            "sites": of.kept[0],
            "kept": of.kept,
            "expected": of.expected,
            "conservation_rate": of.rate(),
            "rate_low": low,
            "rate_high": high,
            "p_value": p,
        }
    )
    return table[1:]


def _summed(of: ConservedSites) -> ConservedSites:
    """Of several seed classes together."""
    return ConservedSites(of.kept.sum(axis=-2), of.expected.sum(axis=-2))
