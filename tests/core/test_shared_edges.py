"""What networks of groups share, against chance, and which edges differ between groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from declared_columns import assert_columns
from numpy.typing import NDArray
from pairtile.config.load import load_config
from pairtile.downstream.groups import Group, compare_groups
from pairtile.downstream.groups_page import groups_page
from pairtile.downstream.shared_edges import (
    GroupNetwork,
    edge_differences,
    overlap,
)
from pairtile.statistics.exchangeable import Exchangeable
from scipy.stats import spearmanr

NONE = np.empty(0, np.int32)
ANY = Exchangeable(NONE, NONE)
GENES = 60
PAIRS = GENES * (GENES - 1) // 2


def values(
    module: NDArray[np.int64], samples: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Genes that follow their module; the first of them more closely, so that these are hubs."""
    load = np.linspace(1.5, 0.3, module.size)[:, None]
    factors = random.normal(size=(int(module.max()) + 1, samples))
    return load * factors[module] + random.normal(size=(module.size, samples))


def network(table: NDArray[np.float64], edges: int = 80) -> GroupNetwork:
    """The strongest pairs."""
    i, j = np.triu_indices(len(table), 1)
    best = np.argsort(-np.abs(np.corrcoef(table)[i, j]))[:edges]
    return GroupNetwork(np.stack([i[best], j[best]], axis=1), np.ones(len(table), dtype=bool))


def test_numbers_shared_are_counted_among_genes_that_both_have() -> None:
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    one = GroupNetwork(edges, np.ones(5, dtype=bool))
    two = GroupNetwork(edges[1:], np.array([True, True, True, True, False]))
    three = GroupNetwork(edges[2:], np.array([False, False, True, True, True]))
    found = overlap(one, two, np.zeros(5, dtype=int), draws=50)
    assert (found.edges_first, found.edges_second, found.shared) == (3, 2, 2)
    assert found.jaccard == pytest.approx(2 / 3)
    assert overlap(one, three, np.zeros(5, dtype=int), draws=50)[:3] == (1, 1, 1)
    nothing = GroupNetwork(np.empty((0, 2), dtype=np.int64), one.genes)
    assert overlap(nothing, one, np.zeros(5, dtype=int), draws=10).shared == 0


def test_unrelated_networks_with_the_same_hubs_share_no_more_than_chance() -> None:
    random = np.random.default_rng(1)
    module = random.integers(6, size=GENES)
    p = []
    for seed in range(60):
        tables = [values(random.permutation(module), 40, random) for _ in range(2)]
        networks = [network(table) for table in tables]
        p.append(overlap(*networks, np.zeros(GENES, dtype=int), seed, draws=99).p_value)
    assert np.mean(np.array(p) <= 0.1) < 0.22
    same = [network(values(module, 40, random)) for _ in range(2)]
    found = overlap(*same, np.zeros(GENES, dtype=int), draws=99)
    assert found.p_value == 0.01
    assert found.shared > 2 * found.expected


def test_correlations_and_statistics_are_those_of_plain_formulas() -> None:
    random = np.random.default_rng(2)
    table = random.normal(size=(4, 60))
    table[1] += table[0]
    table[2, :3] = np.nan
    codes = np.repeat(np.arange(2, dtype=np.int32), [25, 35])
    edges = np.array([[0, 1], [0, 2]])
    found = edge_differences(table, codes, edges, ANY, 6)
    for e, (i, j) in enumerate(edges):
        z, error = [], 0.0
        for group in (0, 1):
            both = table[[i, j]][:, codes == group]
            both = both[:, ~np.isnan(both).any(axis=0)]
            r = spearmanr(*both).statistic
            if not np.isnan(table[[i, j]]).any():
                assert found.correlation[e, group] == pytest.approx(r)
            n = both.shape[1]
            z.append(np.arctanh(r) - r / (2 * (n - 1)))
            error += (1 + r * r / 2) / (n - 3)
        if e == 0:
            sign = 1 if found.group[e] == 0 else -1
            assert found.difference[e] == pytest.approx(sign * (z[0] - z[1]))


def test_planted_differences_are_found_and_selected_edges_are_not_called_different() -> None:
    random = np.random.default_rng(3)
    codes = np.repeat(np.arange(3, dtype=np.int32), [60, 70, 80])
    module = random.integers(6, size=GENES)
    called = 0
    for _ in range(10):
        tables = [values(module, int((codes == g).sum()), random) for g in range(3)]
        union = np.unique(np.concatenate([network(t).edges for t in tables]), axis=0)
        same = edge_differences(np.concatenate(tables, axis=1), codes, union, ANY, PAIRS)
        called += int((same.q_value <= 0.05).any())
    assert called <= 2
    other = module.copy()
    other[module == 0] = random.integers(1, 6, size=int((module == 0).sum()))
    tables[1] = values(other, 70, random)
    union = np.unique(np.concatenate([network(t).edges for t in tables]), axis=0)
    found = edge_differences(np.concatenate(tables, axis=1), codes, union, ANY, PAIRS)
    differs = found.q_value <= 0.05
    i, j = union.T
    true = (module[i] == module[j]) != (other[i] == other[j])
    assert (differs & true).sum() >= 5
    assert (differs & ~true).sum() <= 0.1 * differs.sum()
    assert (found.group[differs] == 1).mean() > 0.9


def test_means_of_groups_make_no_difference() -> None:
    random = np.random.default_rng(4)
    codes = np.repeat(np.arange(2, dtype=np.int32), 50)
    table = random.normal(size=(6, 100)) + 10 * codes * np.arange(6)[:, None]
    edges = np.array([[0, 5], [1, 4]])
    found = edge_differences(table, codes, edges, ANY, 15)
    assert (np.abs(found.correlation) < 0.5).all()


def test_groups_that_no_permutation_mixes_are_not_compared() -> None:
    random = np.random.default_rng(5)
    codes = np.repeat(np.arange(2, dtype=np.int32), 30)
    found = edge_differences(
        random.normal(size=(3, 60)), codes, np.array([[0, 1]]), Exchangeable(NONE, codes), 3
    )
    assert np.isnan(found.p_value).all()
    assert found.group.tolist() == [-1]
    few = np.zeros(60, dtype=np.int32)
    few[:5] = 1
    found = edge_differences(random.normal(size=(3, 60)), few, np.array([[0, 1]]), ANY, 3)
    assert np.isnan(found.correlation[0, 1])


def group_of(
    label: str, table: NDArray[np.float64], edges: NDArray[np.int64], **more: NDArray[np.generic]
) -> Group:
    """A group as its analysis leaves it, on two plates."""
    names = np.array([f"g{k}" for k in range(len(table))])
    n = table.shape[1]
    held: dict[str, NDArray[np.generic]] = {
        "values": table,
        "genes": names,
        "samples": np.array([f"{label}{k}" for k in range(n)]),
        "columns": np.array(["plate"]),
        "cells": np.array([["a", "b"] * (n // 2)]),
    }
    ends = pd.DataFrame({"source": names[edges[:, 0]], "target": names[edges[:, 1]]})
    items = pd.DataFrame({"name": names, "is_regulator": False})
    return Group(f"all.{label.replace(' ', '_')}", label, ends, items, held | more)


@pytest.mark.parametrize(
    ("known", "codes"),
    [(None, []), (False, ["groups_noise_made_equal"]), (True, ["groups_noise_kept"])],
)
def test_edges_do_not_differ_by_counting_noise(known: bool | None, codes: list[str]) -> None:
    random = np.random.default_rng(8)
    edges = np.arange(40).reshape(20, 2)
    groups = []
    for label, mean in (("deep", 100.0), ("shallow", 2.0)):
        factor = np.repeat(random.normal(size=(20, 200)), 2, axis=0)
        counts = random.poisson(mean * np.exp(0.6 * factor + 0.2 * random.normal(size=(40, 200))))
        more = {"counts": counts.astype(np.uint32), "keys": np.arange(40, dtype=np.uint64)}
        more["effects_removed"] = np.array(known)
        table = np.log2(counts + 1.0)
        groups.append(group_of(label, table, edges, **({} if known is None else more)))
    section = {"method": "mutual_information", "expression": "e.tsv"}
    config = load_config({"analyses": {"a": section}}).analyses["a"]
    tables, found = compare_groups(groups, config, 1)
    assert [said.code for said in found.messages] == codes
    differ = int((tables["shared_edges.tsv"]["class"] == "different").sum())
    assert differ == 0 if known is False else differ > 10


def test_the_tables_of_groups_say_which_have_an_edge_and_where_it_differs(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    module = np.arange(40) % 5
    other = np.where(module == 0, 1 + np.arange(40) % 4, module)
    groups = []
    for label, of_group in (("T cell", module), ("NK", other)):
        table = values(of_group, 80, random)
        groups.append(group_of(label, table, network(table, 60).edges))
    section = {"method": "mutual_information", "expression": "e.tsv"}
    section["samples"] = {"annotations": "s.tsv", "batch": "plate"}
    config = load_config({"analyses": {"a": section}}).analyses["a"]
    tables, found = compare_groups(groups, config, 1)
    for name, table in tables.items():
        table.to_csv(tmp_path / name, sep="\t", index=False)
        assert_columns(tmp_path / name, "pairtile.downstream")
    sizes, overlaps, edges = tables.values()
    assert sizes["edges"].tolist() == [60, 60]
    assert len(edges) == 120 - overlaps["shared"][0]
    held_by = edges[["in_T_cell", "in_NK"]].sum(axis=1)
    assert (edges["n_groups"] == held_by).all()
    assert found.counts["edges_of_all_groups"] == overlaps["shared"][0]
    specific = edges[edges["class"] == "specific"]
    assert len(specific) > 4
    i, j = (specific[end].str[1:].astype(int).to_numpy() for end in ("source", "target"))
    assert ((module[i] == module[j]) != (other[i] == other[j])).mean() > 0.9
    text = groups_page(
        {
            "analysis": "all", "split_by": "cell", "pairtile_version": "0", "left_out": {"B": 3},
            "counts": found.counts, "warnings": [],
        },
        tables,
        tmp_path / "figures",
    )  # fmt: skip
    for group in groups:
        assert f'href="../{group.analysis}/report.html"' in text
