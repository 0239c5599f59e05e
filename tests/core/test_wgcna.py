"""Modules as R's WGCNA finds them, and none in noise; kept and shared modules; traits."""

from __future__ import annotations

import json
from pathlib import Path

import igraph
import numpy as np
import pandas as pd
import pytest
from pairtile import consensus_modules, find_modules, module_preservation, module_traits
from pairtile.config.modules import GeneModulesConfig
from pairtile.downstream import module_quality, modules, topological_overlap, wgcna
from pairtile.downstream.eigengenes import eigengenes, standardise
from pairtile.downstream.module_quality import noise_p_values, strength, strength_bound
from pairtile.downstream.topological_overlap import (
    Adjacency,
    average_linkage,
    overlap_distances,
    soft_power,
)
from pairtile.downstream.tree_cut import cut_tree
from pairtile.downstream.wgcna import wgcna_modules
from pairtile.gpu.device import choose
from pairtile.preprocess.null_design import NullDesign
from paths import ROOT
from scipy.cluster.hierarchy import linkage

from benchmarks.bench_wgcna import (
    PRESERVATION,
    TABLES,
    TYPES,
    close_modules,
    planted_table,
    two_tables,
)

GOLDEN = json.loads((ROOT / "tests/core/wgcna.json").read_text())
MADE = {"planted": planted_table(TABLES["500 genes x 30"]), "close": close_modules()}
CPU = choose("cpu")


def numbers(letters: str) -> np.ndarray:
    return np.array([ord(letter) - 97 for letter in letters])


def same_groups(one: np.ndarray, other: np.ndarray) -> bool:
    return igraph.compare_communities(one, other, "adjusted_rand") == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("network_type", TYPES)
def test_power_modules_and_eigengenes_are_those_of_wgcna(name: str, network_type) -> None:
    expected = GOLDEN[f"{name}.{network_type}"]
    found = wgcna_modules(
        MADE[name], GeneModulesConfig(method="wgcna", network_type=network_type), CPU
    )
    assert found.power == expected["power"]
    _, _, fits = soft_power(Adjacency(MADE[name], network_type, CPU))
    np.testing.assert_allclose(fits["r_squared"], expected["r_squared"], atol=1e-9)
    theirs = numbers(expected["modules"])
    assert same_groups(found.labels, theirs)
    for module, own in enumerate(eigengenes(standardise(MADE[name]), found.labels)[0], start=1):
        number = theirs[found.labels == module][0]
        np.testing.assert_allclose(own, expected["eigengenes"][f"ME{number}"], atol=1e-6)


@pytest.mark.parametrize("network_type", TYPES[:2])
def test_preservation_and_consensus_are_those_of_wgcna(network_type) -> None:
    expected = GOLDEN["two"][network_type]
    one, other, labels = two_tables()
    tables = [pd.DataFrame(values) for values in (one, other)]
    modules = pd.DataFrame({"gene": range(500), "module": labels})
    power = 6 if network_type == "unsigned" else 12
    found = module_preservation(
        *tables, modules, power=power, network_type=network_type, permutations=50
    )
    for theirs, ours in PRESERVATION.items():
        np.testing.assert_allclose(found[ours], expected["preservation"][theirs], atol=1e-9)
    kept = np.array([True, True, False, True, False])
    assert ((found["z_summary"] > 2) == kept).all()
    assert ((np.array(expected["z_summary"]) > 2) == kept).all()
    assert ((found["p_value"] < 0.05) == kept).all()
    shared = consensus_modules(tables, network_type=network_type)
    assert same_groups(shared["module"].to_numpy(), numbers(expected["consensus"]))


def naive_distances(values: np.ndarray, power: float, network_type: str) -> np.ndarray:
    """1 - topological overlap, from the definition; float64."""
    r = pd.DataFrame(values.T).corr().to_numpy()
    if network_type == "unsigned":
        a = np.sign(r) * np.abs(r) ** power
    else:
        a = ((1 + r) / 2) ** power if network_type == "signed" else np.maximum(r, 0) ** power
    np.fill_diagonal(a, 0)
    k = np.abs(a).sum(axis=1)
    overlap = np.abs(a @ a + a) / (np.minimum(k[:, None], k) + 1 - np.abs(a))
    return 1 - overlap[np.triu_indices(len(r), 1)]


@pytest.mark.parametrize("network_type", TYPES)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("held", [150 * 150, 150 * 64, 150])
def test_tiles_of_any_size_give_the_overlap_of_the_definition(
    network_type, missing: float, dtype, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(3)
    values = planted_table(TABLES["500 genes x 30"])[:150]
    values[draw.random(values.shape) < missing] = np.nan
    monkeypatch.setattr(topological_overlap, "HELD_VALUES", held)
    monkeypatch.setattr(topological_overlap, "BLOCK_VALUES", 1)
    monkeypatch.setattr(
        topological_overlap, "MAX_FLOAT64_GENES", 1000 if dtype is np.float64 else 100
    )
    found = overlap_distances(Adjacency(values, network_type, CPU), 3)
    assert found.dtype == dtype
    expected = naive_distances(values, 3, network_type)
    np.testing.assert_allclose(found, expected, atol=1e-12 if dtype is np.float64 else 1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("network_type", TYPES)
def test_overlap_and_power_are_the_same_on_a_gpu(network_type) -> None:
    values = planted_table(TABLES["1,000 genes x 60"])
    values[::7, ::5] = np.nan
    one, other = (Adjacency(values, network_type, choose(each)) for each in ("cpu", "cuda"))
    np.testing.assert_allclose(overlap_distances(one, 4), overlap_distances(other, 4), atol=1e-10)
    pd.testing.assert_frame_equal(soft_power(one)[2], soft_power(other)[2], rtol=1e-9)


def test_average_linkage_is_that_of_scipy() -> None:
    distances = np.random.default_rng(1).random(200 * 199 // 2)
    found = average_linkage(distances.copy(), 200)
    expected = linkage(distances, "average")
    np.testing.assert_allclose(found[:, 2:], expected[:, 2:], rtol=1e-12)
    np.testing.assert_array_equal(found[:, :2], np.sort(expected[:, :2], axis=1))


def test_a_tree_of_equal_distances_has_no_modules() -> None:
    distances = np.ones(60 * 59 // 2)
    assert not cut_tree(average_linkage(distances.copy(), 60), distances).any()


def test_constant_and_empty_genes_are_in_no_module() -> None:
    values = planted_table(TABLES["500 genes x 30"])
    values[:5] = 7.0
    values[5:8] = np.nan
    found = wgcna_modules(values, GeneModulesConfig(method="wgcna", power=4), CPU)
    assert not found.labels[:8].any()
    assert found.labels.max() >= 4


@pytest.fixture
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_quality, "MAX_TABLES", 19)


@pytest.mark.parametrize("network_type", TYPES)
def test_single_precision_finds_the_same_modules(
    network_type, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = GeneModulesConfig(method="wgcna", network_type=network_type)
    double = wgcna_modules(MADE["close"], config, CPU)
    monkeypatch.setattr(topological_overlap, "MAX_FLOAT64_GENES", 1)
    single = wgcna_modules(MADE["close"], config, CPU)
    assert single.power == double.power
    np.testing.assert_array_equal(single.labels, double.labels)


def test_a_search_that_was_ended_goes_on_after_its_last_permuted_table(
    tmp_path: Path, few_tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, design = MADE["planted"][:200], NullDesign.permutation(30)
    tables, searches = [], []
    bound, cut = module_quality.strength_bound, wgcna.cut_tree

    def find(chunks: Path | None = tmp_path, most: int = 19, power: int = 2):
        def counted(z: np.ndarray) -> float:
            if len(tables) == most:
                raise KeyboardInterrupt
            tables.append(z)
            return bound(z)

        monkeypatch.setattr(module_quality, "strength_bound", counted)
        monkeypatch.setattr(wgcna, "cut_tree", lambda *a, **k: searches.append(a) or cut(*a, **k))
        tables.clear()
        searches.clear()
        config = GeneModulesConfig(method="wgcna", power=power, max_p=0.5)
        return modules.find(values, config, CPU, design, seed=1, chunks=chunks)

    whole = find(chunks=None)
    assert len(tables) == 19
    of_tables = len(searches) - 1
    with pytest.raises(KeyboardInterrupt):
        find(most=7)
    again = find()
    assert len(tables) == 19 - 7
    assert len(searches) < of_tables
    np.testing.assert_array_equal(again.labels, whole.labels)
    np.testing.assert_array_equal(again.p_values, whole.p_values)
    find(power=3)  # nothing is taken of another search
    assert len(tables) == 19


def test_modules_of_noise_are_left_out_and_planted_ones_kept(few_tables) -> None:
    draw = np.random.default_rng(8)
    noise = draw.standard_t(4, (200, 14))
    open_eyed = find_modules(noise, power=2, max_p=None)
    assert len(open_eyed.summary) >= 3  # as WGCNA
    with pytest.warns(UserWarning, match="No module"):
        found = find_modules(noise, power=2)
    assert not len(found.summary)
    assert sum(found.modules.attrs["removed"]) == (open_eyed.modules["module"] > 0).sum()
    planted = find_modules(MADE["planted"], power=2, max_p=0.05)
    assert len(planted.summary) == 5
    assert (planted.summary["p_value"] == 1 / 20).all()


def test_noise_is_judged_within_batches() -> None:
    """What batches make is in permuted tables too."""
    draw = np.random.default_rng(4)
    batch = np.repeat(np.arange(4), 10).astype(np.int32)
    values = draw.standard_normal((200, 40))
    values[:60] += 2 * draw.standard_normal(4)[batch]
    labels = np.zeros(200, dtype=np.int32)
    labels[:60] = 1
    search = lambda noise: [labels]  # noqa: E731
    blocks = NullDesign("blocks", batch, np.zeros(4, dtype=bool))
    within = noise_p_values(values, labels, search, blocks, seed=1, tables=39)
    across = noise_p_values(values, labels, search, NullDesign.permutation(40), seed=1, tables=39)
    assert across[0] == 1 / 40
    assert within[0] > 0.05


def test_no_set_of_genes_is_stronger_than_the_bound() -> None:
    draw = np.random.default_rng(5)
    for shared in (0.0, 2.0):
        values = draw.standard_normal((400, 25))
        values[:40] += shared * draw.standard_normal(25)
        values[0, 3] = np.nan
        z = standardise(values)
        bound = strength_bound(z)
        own = np.abs(np.corrcoef(z))
        sets = [np.argsort(-own[k])[:size] for k in (0, 50) for size in (2, 5, 30, 300, 400)]
        found = [strength(z, np.isin(np.arange(400), each).astype(np.int32))[0] for each in sets]
        assert max(found) <= bound < 6 * max(found)


def test_a_table_that_cannot_have_a_stronger_module_is_not_searched() -> None:
    draw = np.random.default_rng(4)
    values = draw.standard_normal((300, 40))
    values[:60] += 2 * draw.standard_normal(40)
    labels = np.repeat([1, 0, 2, 0], [60, 20, 20, 200]).astype(np.int32)
    searched = []

    def search(noise: np.ndarray) -> list[np.ndarray]:
        searched.append(noise)
        strongest = np.zeros(300, dtype=np.int32)
        strongest[np.argsort(-np.abs(np.corrcoef(noise)[0]))[:20]] = 1
        return [strongest]

    design = NullDesign.permutation(40)
    exact = noise_p_values(values, labels, search, design, seed=1, tables=19)
    assert len(searched) == 19  # the second module is noise
    p = noise_p_values(values, labels, search, design, seed=1, tables=19, limit=0.05)
    assert len(searched) == 20
    assert p[0] == exact[0] == 1 / 20
    assert 0.05 < p[1] <= exact[1]


def test_leiden_modules_of_a_network_are_tested_too(few_tables) -> None:
    draw = np.random.default_rng(6)
    values = pd.DataFrame(draw.standard_normal((200, 50)))
    values[:30] += 1.5 * draw.standard_normal(50)
    r = np.corrcoef(values)
    np.fill_diagonal(r, 0)
    i, j = np.nonzero(np.triu(np.abs(r) > 0.47))
    network = pd.DataFrame({"source": i, "target": j, "r": r[i, j]})
    found = find_modules(values, network, weight="r")
    assert len(found.summary) == 1
    members = found.modules["gene"][found.modules["module"] == 1]
    assert members.isin(range(30)).sum() >= 27


def test_membership_has_no_p_value_by_a_gene_itself() -> None:
    """A gene put in a module at random gets a p-value as good as that of a gene outside."""
    draw = np.random.default_rng(2)
    values = draw.standard_normal((1000, 30))
    values[:4] += 2 * draw.standard_normal(30)
    from pairtile.downstream.modules import module_tables
    from pairtile.downstream.wgcna import FoundModules

    p = []
    for start in range(4, 1000, 3):
        labels = np.zeros(1000, dtype=np.int32)
        labels[[0, 1, 2, 3, start, start + 1, start + 2]] = 1
        found = module_tables(values, FoundModules(labels, np.ones(1)), range(1000), range(30))
        tables = found["module_membership.tsv"]
        own = tables[tables["member"]].set_index("gene")["p_value"]
        p += own[[start, start + 1, start + 2]].tolist()
        if start > 150:
            break
    assert np.mean(np.array(p) < 0.05) < 0.12
    assert (own[:4] < 1e-6).all()


def test_traits_without_names_are_refused() -> None:
    profile = pd.DataFrame([np.tile([1.0, 2.0, 1.5], 4)], index=[1])
    with pytest.raises(ValueError, match=r"traits: found .*expected a mapping or a DataFrame"):
        module_traits(profile, [1, 2, 1] * 4)  # type: ignore[arg-type]


def test_traits_go_with_eigengenes_that_follow_them() -> None:
    draw = np.random.default_rng(5)
    n = 48
    drug, dose = np.arange(n) % 3, draw.exponential(size=n)
    batch = np.arange(n) // 12
    profiles = draw.standard_t(4, (3, n)) + 3 * batch
    profiles[0] += 2 * (drug == 2)
    profiles[1] -= 1.5 * dose
    names = [f"s{k}" for k in range(n)]
    eigen = pd.DataFrame(profiles, columns=names, index=[1, 2, 3])
    traits = pd.DataFrame({"drug": [f"d{k}" for k in drug], "dose": dose}, index=names)
    traits.loc["s3", "drug"] = None
    found = module_traits(eigen, traits, batch=batch).set_index(["module", "trait"])
    strong = found[found["q_value"] <= 0.05].index.tolist()
    assert strong == [(1, "drug"), (2, "dose")]
    assert found.loc[(2, "dose"), "correlation"] == pytest.approx(
        np.corrcoef(profiles[1], dose)[0, 1]
    )
    assert found["units"].tolist() == [47] * 3 + [48] * 3


def test_a_trait_that_changes_along_a_course_is_held_against_shifts() -> None:
    draw = np.random.default_rng(7)
    small = []
    for _ in range(60):
        course = np.cumsum(draw.standard_normal((2, 4, 15)), axis=2).reshape(2, 60) * 0.5
        course += draw.standard_normal((2, 60))
        eigen = pd.DataFrame(course[:1])
        series = np.repeat(np.arange(4), 15)
        plain = module_traits(eigen, {"x": course[1]})["p_value"][0]
        small.append((module_traits(eigen, {"x": course[1]}, series=series)["p_value"][0], plain))
    shifted, plain = (np.array(small) <= 0.05).mean(axis=0)
    assert shifted < 0.15 < plain
