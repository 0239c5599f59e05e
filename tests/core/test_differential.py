"""Differential co-expression of all pairs: scores and statistics against a slow reference, p and q
against their definitions, and what must not matter."""

from __future__ import annotations

import json
import os
import signal
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from crashes import die_at
from numpy.typing import NDArray
from pairtile import InputError, benjamini_hochberg, differential, find_modules
from pairtile.downstream import group_comparison
from pairtile.downstream.group_comparison import CLASSES, GroupComparison
from pairtile.downstream.group_scores import within_groups
from pairtile.downstream.pooled_null import N_BINS, PER_UNIT, joined, pooled_p_values
from pairtile.gpu.device import Device, choose
from pairtile.statistics.exchangeable import Exchangeable
from programs import python
from scipy import stats

CPU = choose("cpu")
NONE = np.empty(0, np.int32)
CODES = np.repeat([0, 1], [25, 40]).astype(np.int32)


def table_of(tested: GroupComparison, limit: float = 1.0) -> pd.DataFrame:
    whole = pd.concat(tested.blocks(limit))
    return whole.sort_values(["i", "j"], ignore_index=True)


def values_with_modules(genes: int = 30, seed: int = 1) -> NDArray[np.float64]:
    """Genes 0 to 9 follow one factor; 10 and 11 each other in the second group alone; means and
    variances of groups differ."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(genes, CODES.size))
    values[:10] += 1.5 * random.normal(size=CODES.size)
    second = CODES == 1
    values[11, second] = values[10, second] + 0.2 * values[11, second]
    values[:, second] = values[:, second] * random.uniform(0.5, 2.0, (genes, 1)) + 5.0
    return values


def compared(
    values: NDArray[np.float64], score: str = "spearman", device: Device = CPU, draws: int = 40
) -> GroupComparison:
    return GroupComparison(values, CODES, score, device, draws=draws).test()


def more_variance(x: NDArray[np.float64], y: NDArray[np.float64], r: float) -> float:
    """Of Fisher's z, beside that of normal values, by Steiger and Hakstian's formula."""
    x, y = ((each - each.mean()) / each.std() for each in (x, y))
    moments = (x**4 + y**4).mean(), (x**3 * y + x * y**3).mean(), (x**2 * y**2).mean()
    variance = moments[2] * (1 + r**2 / 2) + r**2 * moments[0] / 4 - r * moments[1]
    return float(np.clip(variance / (1 - r**2) ** 2, 1.0, x.size))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("score", ["spearman", "pearson"])
def test_scores_and_statistic_are_those_of_a_slow_reference(score: str, missing: bool) -> None:
    values = values_with_modules()
    if missing:
        values[np.random.default_rng(2).random(values.shape) < 0.1] = np.nan
    found = table_of(compared(values, score, draws=1))
    assert len(found) == 30 * 29 // 2
    for row in found.sample(60, random_state=1).itertuples():
        z, r, n, more = [], [], [], []
        for group in (0, 1):
            x, y = (values[gene, group == CODES] for gene in (row.i, row.j))
            if score == "spearman":
                x, y = (stats.rankdata(each, nan_policy="omit") for each in (x, y))
            both = ~np.isnan(x) & ~np.isnan(y)
            r.append(np.corrcoef(x[both], y[both])[0, 1])
            n.append(both.sum())
            z.append(np.arctanh(r[-1]) - r[-1] / (2 * (n[-1] - 1)))
            more.append(1.0 if score == "spearman" or missing else more_variance(x, y, r[-1]))
        w = (np.array(n) - 3.0) / more
        mean = np.tanh(np.dot(w, z) / w.sum())
        variance = (1 + (0.5 * mean**2 if score == "spearman" else 0)) * (1 / w).sum()
        assert row.score_a == pytest.approx(r[0], abs=1e-5)
        assert row.score_b == pytest.approx(r[1], abs=1e-5)
        assert row.z == pytest.approx((z[1] - z[0]) / np.sqrt(variance), abs=1e-3)


def test_mutual_information_is_that_of_each_group_and_finds_the_pair() -> None:
    found = table_of(compared(values_with_modules(), "mi"))
    best = found.loc[found["p"].idxmin()]
    assert (best["i"], best["j"]) == (10, 11)
    assert CLASSES[int(best["kind"])] == "gained"
    assert best["score_b"] > best["score_a"] + 0.3


def test_q_is_weighted_benjamini_hochberg_over_all_pairs() -> None:
    tested = compared(values_with_modules())
    shape = (-1, group_comparison.LEVELS, N_BINS)
    weight = tested.weights
    pairs = tested.observed.reshape(shape).sum(axis=(0, 2))
    assert (weight * pairs).sum() == pytest.approx(pairs.sum())
    each = np.repeat(np.arange(tested.observed.size), tested.observed)
    level = each // N_BINS % group_comparison.LEVELS
    expected = benjamini_hochberg(np.minimum(tested.p[each] / weight[level], 1.0))
    np.testing.assert_allclose(tested.q[each], expected, rtol=1e-9)
    assert table_of(tested)["q"].min() <= 0.05


def test_the_planted_pair_is_gained_and_nothing_else_differs() -> None:
    found = table_of(compared(values_with_modules(), draws=200))
    called = found[found["q"] <= 0.05]
    assert called[["i", "j"]].to_numpy().tolist() == [[10, 11]]
    assert CLASSES[int(called["kind"].iloc[0])] == "gained"


def test_tiles_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values = values_with_modules()
    whole = table_of(compared(values))
    monkeypatch.setitem(group_comparison.TILES, "cpu", 7)
    tiled = table_of(compared(values))
    np.testing.assert_allclose(tiled[["score_a", "z"]], whole[["score_a", "z"]], atol=1e-4)
    np.testing.assert_allclose(tiled["p"], whole["p"], rtol=0.02, atol=1e-4)


def test_monotone_changes_within_a_group_do_not_matter() -> None:
    values = values_with_modules()
    changed = values.copy()
    changed[:, CODES == 0] = np.exp(changed[:, CODES == 0]) * 7.0
    pd.testing.assert_frame_equal(table_of(compared(values)), table_of(compared(changed)))


def test_permuted_groups_are_tied_as_the_observed_ones_are() -> None:
    random = np.random.default_rng(3)
    values = random.poisson(1.5, (30, 24)).astype(float)
    values[20:] = random.normal(size=(10, 24))
    values[3, :2] = np.nan
    codes = np.repeat([0, 1], 12).astype(np.int32)
    tested = GroupComparison(values, codes, "spearman", CPU, draws=3)
    assert set(tested.genes[tested.tied]) == set(tested.genes[tested.genes < 20])
    mixed = tested.permuted[1]
    before = within_groups(tested.within, tested.layout._replace(codes=mixed), True)
    after = before.copy()
    tested._tie(after, mixed, 1)
    for row in range(len(after)):
        for group in (0, 1):
            was, now = before[row, mixed == group], after[row, mixed == group]
            observed = tested.within[row, codes == group]
            if not np.isnan(tested.within[row]).any() and row in tested.tied:
                np.testing.assert_array_equal(np.sort(now), np.sort(observed))
            order = np.argsort(was)[: (~np.isnan(was)).sum()]
            assert (np.diff(now[order])[np.diff(was[order]) > 0] >= 0).all()
            np.testing.assert_array_equal(np.isnan(now), np.isnan(was))


def in_chunks(folder: Path | None) -> GroupComparison:
    """40 draws of 435 pairs: 8 chunks and the observed one."""
    group_comparison.CHUNK = 5 * 435
    return GroupComparison(values_with_modules(), CODES, "spearman", CPU, draws=40).test(folder)


def killed_thrice(folder: str) -> None:
    """Run in a process of its own: three children go on one after the other, each is killed."""
    for operation in (2, 16, 25):
        child = os.fork()
        if child == 0:
            die_at(operation, folder)
            in_chunks(Path(folder))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        print(json.dumps({path.name: path.stat().st_mtime_ns for path in kept(folder)}), flush=True)


def kept(folder: str | Path) -> list[Path]:
    return sorted(Path(folder).glob("*/*.npz"))


@pytest.mark.complete
def test_a_killed_comparison_goes_on_after_its_last_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_comparison, "CHUNK", group_comparison.CHUNK)  # is put back
    code = "import sys, test_differential as t; t.killed_thrice(sys.argv[1])"
    first, second, third = map(json.loads, python(code, tmp_path).splitlines())
    assert not first
    assert 1 <= len(second) < len(third) < 9
    assert {name: third[name] for name in second} == second  # none was made again
    damaged = kept(tmp_path)[0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    drawn = []
    real = GroupComparison._permuted
    monkeypatch.setattr(
        GroupComparison, "_permuted", lambda self, draw: drawn.append(draw) or real(self, draw)
    )
    found = in_chunks(tmp_path)
    whole = {name: time for name, time in third.items() if name != damaged.name}
    assert len(drawn) == 40 - 5 * (len(whole) - 1)
    assert {name: (damaged.parent / name).stat().st_mtime_ns for name in whole} == whole
    straight = in_chunks(None)
    for array in ("p", "q", "observed", "hubs", "by_chance"):
        np.testing.assert_array_equal(getattr(found, array), getattr(straight, array))
    others = GroupComparison(-values_with_modules()[::-1], CODES, "spearman", CPU, draws=40)
    others.test(tmp_path)
    assert len({path.parent for path in kept(tmp_path)}) == 2  # of another table nothing is taken


def test_regulators_restrict_the_pairs() -> None:
    values = values_with_modules()
    regulators = np.array([11, 3])
    found = table_of(
        GroupComparison(values, CODES, "spearman", CPU, regulators=regulators, draws=20).test()
    )
    assert set(found["i"]) == {3, 11}
    assert len(found) == 29 + 28
    whole = table_of(compared(values)).set_index(["i", "j"])
    for row in found.itertuples():
        assert row.z == pytest.approx(whole.loc[tuple(sorted((row.i, row.j))), "z"], abs=1e-4)


def test_batches_that_shift_genes_do_not_matter() -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=(40, CODES.size))
    batch = np.where(CODES == 0, random.integers(0, 2, CODES.size), 0).astype(np.int32)
    values += 4.0 * random.normal(size=(40, 2))[:, batch]
    stated = GroupComparison(
        values, CODES, "spearman", CPU, exchangeable=Exchangeable(NONE, batch), draws=50
    ).test()
    assert stated.n_differing == 0
    assert compared(values, draws=50).n_differing > 20


def test_labels_that_cannot_move_are_not_tested() -> None:
    known = Exchangeable(NONE, CODES)
    tested = GroupComparison(
        values_with_modules(), CODES, "spearman", CPU, exchangeable=known, draws=5
    ).test()
    assert (table_of(tested)["p"] == 1.0).all()


def test_genes_that_do_not_vary_in_a_group_are_left_out() -> None:
    values = values_with_modules()
    values[4, CODES == 1] = 0.0
    tested = compared(values, draws=5)
    assert tested.n_tested == 29 * 28 // 2
    assert 4 not in set(table_of(tested)["i"])
    assert compared(np.full_like(values, 5.0), draws=5).n_tested == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("score", ["spearman", "pearson", "mi"])
def test_pairs_that_are_seldom_observed_together_are_left_out(score: str) -> None:
    values = values_with_modules()
    for gene in (3, 4):  # never in the same sample of the second group
        values[gene, np.flatnonzero(CODES == 1)[gene - 3 :: 2]] = np.nan
    tested = compared(values, score, draws=5)
    pairs = set(zip(*table_of(tested)[["i", "j"]].to_numpy().T.tolist(), strict=True))
    assert tested.n_tested == len(pairs) == 30 * 29 // 2 - 1
    assert (3, 4) not in pairs


def test_pooled_p_is_the_share_of_the_pool() -> None:
    random = np.random.default_rng(5)
    null = np.abs(random.normal(size=400_000))
    pool = np.bincount((null * PER_UNIT).astype(int), minlength=N_BINS).reshape(1, 1, N_BINS)
    p = pooled_p_values(pool)[0, 0]
    for t in (1.0, 2.0, 3.0):
        assert p[int(t * PER_UNIT)] == pytest.approx((null >= t).mean(), rel=0.01)
    beyond = 2.0 * stats.norm.sf(6.0)
    assert beyond < p[6 * PER_UNIT] < 100 * beyond  # its tail is the heavier
    assert (np.diff(p) <= 0).all()


def test_sparse_strata_are_judged_with_those_that_are_joined_to_them() -> None:
    """A rare stratum whose statistics are all large: p of its group is a share of them all."""
    random = np.random.default_rng(6)
    sizes, pool = (50_000, 20_000, 2000, 40), np.zeros((1, 4, N_BINS), np.int64)
    for level, size in enumerate(sizes):
        t = np.abs(random.normal(size=size)) + (3.0 if level == 3 else 0.0)
        pool[0, level] = np.bincount((t * PER_UNIT).astype(int), minlength=N_BINS)
    groups = joined(pool.sum(axis=(0, 2)))
    assert groups.tolist() == [0, 1, 1, 1]  # 2040 are too few for one of their own
    p = pooled_p_values(pool)
    np.testing.assert_array_equal(p[0, 1], p[0, 3])
    for level in (0.01, 0.1):
        called = (pool * (p <= level)).sum(axis=(0, 2))
        assert called[1:].sum() <= 1.02 * level * sum(sizes[1:])


def test_genes_may_have_names_of_several_levels() -> None:
    genes = [("chr1", f"g{k}") for k in range(30)]
    table = pd.DataFrame(values_with_modules(), index=pd.MultiIndex.from_tuples(genes))
    found = differential(table, CODES, preprocess={"log2": False})
    assert set(found.pairs["source"]) <= set(genes)
    modules = find_modules(table, power=6, min_size=5).modules
    assert sorted(modules["gene"]) == sorted(genes)


def test_groups_are_compared_two_at_a_time() -> None:
    random = np.random.default_rng(6)
    label = np.repeat(["a", "b", "c", "few"], [20, 20, 20, 3])
    values = random.normal(size=(12, label.size))
    values[1, label == "c"] = values[0, label == "c"]
    raw = {"preprocess": {"log2": False, "min_samples": 5}, "backend": "cpu"}
    with pytest.warns(UserWarning, match="few"):
        found = differential(values, label, **raw)
    assert list(found.n_tested) == [f"{b} vs {a}" for a, b in combinations("abc", 2)]
    best = found.pairs[found.pairs["q_value"] <= 0.05]
    assert set(best["comparison"]) == {"c vs a", "c vs b"}
    assert set(best["class"]) == {"gained"}
    assert best["score_b"].isna().sum() == (best["comparison"] == "c vs a").sum()
    assert set(found.hubs["gene"]) == {0, 1}
    assert (found.hubs["gained"] == 1).all()
    with pytest.raises(InputError):
        differential(values, ["a"] * label.size, **raw)


@pytest.mark.gpu
@pytest.mark.parametrize("score", ["spearman", "pearson", "mi"])
def test_gpu_and_cpu_agree(score: str) -> None:
    values = values_with_modules(60)
    values[5, ::9] = np.nan
    here = table_of(compared(values, score))
    there = table_of(compared(values, score, choose("cuda")))
    np.testing.assert_allclose(there[["score_a", "z"]], here[["score_a", "z"]], atol=1e-3)
    np.testing.assert_allclose(there["p"], here["p"], rtol=0.05, atol=1e-3)
