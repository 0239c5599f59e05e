"""``score: transfer_entropy``: definition on both backends, null, indirect edges, analyses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from backends import both_backends
from declared_columns import assert_declared
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pairtile.gpu.device import choose
from pairtile.methods.predictor_pairs.null import shifted_orders
from pairtile.methods.predictor_pairs.search import set_entropies
from pairtile.methods.predictor_pairs.transfer_entropy import (
    TransferNull,
    score_transfer,
    target_cells,
)
from pairtile.runtime.files import read_json, read_table
from workflow_runs import Analysis


def random_series(random: Any, genes: int, samples: int, levels: int, missing: float) -> Any:
    """Levels that stay now and then, some genes constant, some equal, some values missing."""
    table = random.integers(0, levels, (genes, samples)).astype(np.int8)
    stays = random.random(table.shape) < 0.5
    for t in range(1, samples):
        table[:, t] = np.where(stays[:, t], table[:, t - 1], table[:, t])
    table[0] = 1
    table[1] = table[2]
    table[random.random(table.shape) < missing] = -1
    return table


def entropy(events: list[Any]) -> float:
    p = np.array([*Counter(events).values()]) / max(len(events), 1)
    return float(-(p * np.log2(p)).sum())


def naive_transfer(x: Any, y: Any, lags: list[int], history: int, least: int) -> tuple[float, ...]:
    """Transfer entropy at the best lag, H(Y'|Y), the lag's place and the samples, event by
    event."""
    begin = max(*lags, history)
    best: tuple[float, ...] = (0.0, 0.0, -1, 0)
    for place, lag in enumerate(lags):
        events = [
            (y[t], tuple(y[t - history : t]), x[t - lag])
            for t in range(begin, len(y))
            if y[t] >= 0 and x[t - lag] >= 0 and min(y[t - history : t]) >= 0
        ]
        if len(events) < least:
            continue
        past = entropy([e[:2] for e in events]) - entropy([e[1] for e in events])
        given = entropy(events) - entropy([e[1:] for e in events])
        if best[2] < 0 or past - given > best[0] + 1e-11:
            best = (past - given, past, place, len(events))
    return best


@both_backends
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.integers(2, 4),
    history=st.integers(1, 2),
    samples=st.sampled_from([8, 33, 70]),
    missing=st.sampled_from([0.0, 0.1, 0.6]),
)
@hypothesis_settings(max_examples=40, deadline=None)
def test_transfer_entropy_is_that_of_the_definition(
    backend: str, seed: int, levels: int, history: int, samples: int, missing: float
) -> None:
    table = random_series(np.random.default_rng(seed), 5, samples, levels, missing)
    lags = [1, 3]
    at = np.arange(3, samples)
    before = np.stack([table[:, at - step] for step in range(1, history + 1)])
    cells = target_cells(before, table[:, at], levels)
    sources = np.stack([table[:, at - lag] for lag in lags], axis=1)
    device = choose(backend)
    scores = score_transfer(sources, cells, levels ** (history + 1), levels, 4, device)
    found = [device.to_host(values) for values in scores]
    for s in range(5):
        for t in range(5):
            te, past, place, n = naive_transfer(table[s], table[t], lags, history, 4)
            assert found[0][s, t] == pytest.approx(te, abs=1e-12)
            assert found[1][s, t] == pytest.approx(past, abs=1e-12)
            assert (found[4][s, t], found[3][s, t]) == (place, n)


def test_it_is_what_mean_conditional_entropy_says_of_own_past_and_source() -> None:
    table = random_series(np.random.default_rng(3), 12, 200, 3, 0.05)
    before, after = table[:, :-1], table[:, 1:]
    cells = target_cells(before[None], after, 3)
    found = score_transfer(before[:, None], cells, 9, 3, 1, choose("cpu"))
    pairs = [(s, t) for s in range(12) for t in range(12) if s != t]
    s, t = np.array(pairs, dtype=np.int32).T
    known = set_entropies(before, after, t, np.stack([t, s], axis=1))
    np.testing.assert_array_equal(found.n_samples[s, t], known.n_samples)
    given = found.past_bits - found.transfer_bits
    np.testing.assert_allclose(given[s, t], known.of_set, atol=1e-12, rtol=0)


def test_shifts_keep_series_and_leave_no_source_near_its_place() -> None:
    series = np.repeat([0, 1], [40, 24])
    orders = shifted_orders(series, 50, 3, seed=1)
    assert len(np.unique(orders, axis=0)) == 50
    assert (np.sort(orders, axis=1) == np.arange(64)).all()
    for begin, size, least in ((0, 40, 4), (40, 24, 4)):
        moved = (orders[:, begin] - begin) % size
        assert (np.minimum(moved, size - moved) >= least).all()
        assert ((orders[:, begin : begin + size] - begin - moved[:, None]) % size).tolist() == [
            [*range(size)]
        ] * 50


def test_p_values_are_shares_of_draws_standardised_by_target() -> None:
    random = np.random.default_rng(5)
    shift, scale = np.array([0.0, 3.0]), np.array([1.0, 2.0])
    null = TransferNull.from_draws(random.standard_normal((5000, 2)) * scale + shift)
    fresh = random.standard_normal((5000, 2)) * scale + shift
    for target in range(2):
        p = null.p_values(fresh[:, target], np.full(5000, target))
        assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.01)
    same = null.p_values(np.array([2.5, 3.0 + 2.0 * 2.5]), np.array([0, 1]))
    assert same[0] == pytest.approx(same[1], rel=0.2)
    least = null.least(0.05)
    assert (null.p_values(least, np.arange(2)) >= 0.05).all()
    assert null.p_values(np.array([-np.inf]), np.array([0]))[0] == 1.0


def planted_courses(genes: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, set[Any]]:
    """Three levels in six series of 30 samples: x -> y one step and x -> w two steps before, and
    a chain a -> b -> c; the others unrelated, all keep their level half of the time."""
    random = np.random.default_rng(seed)
    names = ["x", "y", "w", "a", "b", "c", *(f"g{k}" for k in range(genes - 6))]
    act = {1: (0, 1), 2: (0, 2), 4: (3, 1), 5: (4, 1)}
    levels = random.integers(0, 3, (genes, 6, 30))
    for t in range(1, 30):
        stays = random.random((genes, 6)) < 0.5
        levels[:, :, t] = np.where(stays, levels[:, :, t - 1], levels[:, :, t])
        for target, (source, lag) in act.items():
            if t >= lag:
                follows = random.random(6) < 0.75
                now = levels[source, :, t - lag]
                levels[target, :, t] = np.where(follows, now, levels[target, :, t])
    samples = [f"s{k}" for k in range(180)]
    table = pd.DataFrame(levels.reshape(genes, -1), index=names, columns=samples)
    series = pd.DataFrame({"sample": samples, "series": np.repeat(range(6), 30)})
    edges = {(names[source], names[target], lag) for target, (source, lag) in act.items()}
    return table, series, edges


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[Any]]:
    folder = tmp_path_factory.mktemp("planted")
    table, series, edges = planted_courses(30, seed=4)
    table.to_csv(folder / "levels.tsv", sep="\t", index_label="gene")
    series.to_csv(folder / "series.tsv", sep="\t", index=False)
    (folder / "gold.tsv").write_text("".join(f"{a}\t{b}\n" for a, b, _ in sorted(edges)))
    return folder, edges


SECTION = {
    "method": "predictor_pairs",
    "levels": "levels.tsv",
    "series": "series.tsv",
    "score": "transfer_entropy",
    "lag": [1, 2],
}


def network_of(folder: Path, **changes: Any) -> pd.DataFrame:
    analysis = Analysis(folder, SECTION | changes, name=f"net{len(changes)}")
    return pd.read_parquet(analysis.all().out / "network.parquet")


def test_a_course_gives_edges_of_both_lags_and_no_indirect_ones(
    planted: tuple[Path, set[Any]],
) -> None:
    folder, edges = planted
    analysis = Analysis(folder, SECTION | {"gold_standard": "gold.tsv"}).all().report()
    found = pd.read_parquet(analysis.out / "network.parquet")
    kept = set(zip(found["source"], found["target"], found["lag"], strict=True))
    assert edges <= kept
    assert len(kept) <= len(edges) + 1
    assert_declared(analysis.out, "predictor_pairs")
    assert (found["q_value"] <= 0.05).all()
    with_indirect = network_of(folder, dpi=False)
    more = set(zip(with_indirect["source"], with_indirect["target"], strict=True))
    assert {("a", "c"), ("y", "w")} <= more - {edge[:2] for edge in kept}
    page = (analysis.out / "report.html").read_text(encoding="utf-8")
    assert "Schreiber" in page
    assert (analysis.out / "figures/time_courses.svg").exists()
    assert read_json(analysis.out / "evaluation.json")["aupr"] > 0.9


def test_chunks_make_no_difference(
    planted: tuple[Path, set[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pairtile.engine import tiles

    folder, _ = planted
    whole = read_table(Analysis(folder, SECTION, name="whole").pairs().out / "pairs.parquet")
    monkeypatch.setattr(tiles, "TILE_EDGE", 11)
    parts = Analysis(folder, SECTION | {"chunks": 4}, name="parts").pairs()
    assert len(parts.plan.chunks) == 4
    pd.testing.assert_frame_equal(read_table(parts.out / "pairs.parquet"), whole)


def test_of_many_pairs_those_with_small_p_values_are_stored(
    planted: tuple[Path, set[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pairtile.methods.predictor_pairs import transfer_score

    folder, _ = planted
    whole = network_of(folder)
    monkeypatch.setattr(transfer_score, "STORED_BY_CHANCE", 40)
    few = Analysis(folder, SECTION, name="few").all()
    assert 40 <= len(read_table(few.out / "pairs.parquet")) < 150
    pd.testing.assert_frame_equal(pd.read_parquet(few.out / "network.parquet"), whole)
    with pytest.raises(Exception, match="p_value"):
        Analysis(folder, SECTION | {"keep": {"p_value": 0.5}}, name="wide").prepare()


@pytest.mark.parametrize(
    "changes",
    [{"lag": 0}, {"lag": [0, 1]}, {"rules": True}, {"history": 3}, {"score": "entropy"}],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, changes: Any) -> None:
    with pytest.raises(Exception, match=next(iter(changes))):
        Analysis(tmp_path, SECTION | {"levels": "x", "series": None} | changes)
