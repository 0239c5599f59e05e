"""What samples share and nobody states: found in values, said, and removed where asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile import (
    infer_network,
    permutation_null,
    prepare_expression,
)
from pairtile.declare.messages import Message
from pairtile.errors import InputError
from pairtile.preprocess.factor_annotations import annotations_of_factors
from pairtile.preprocess.null_design import dependence_arrays, hidden_factors, inflation
from pairtile.preprocess.spread import equalise_spreads, sample_spreads, unequal_spreads
from pairtile.statistics import dependence
from pairtile.statistics.hidden_factors import find_hidden_factors
from scipy import stats
from scipy.signal import lfilter
from threadpoolctl import threadpool_info, threadpool_limits

Values = NDArray[np.float64]
GENES, SAMPLES = 80, 100


def unrelated(seed: int, genes: int = GENES, samples: int = SAMPLES) -> Values:
    return np.random.default_rng(seed).normal(size=(genes, samples))


def with_factor(seed: int, share: float = 0.3) -> Values:
    random = np.random.default_rng([seed, 1])
    factor = random.normal(size=(GENES, 1)) * random.normal(size=SAMPLES)
    return np.sqrt(1 - share) * unrelated(seed) + np.sqrt(share) * factor


def course(seed: int) -> Values:
    """AR(1) with coefficient 0.9, in the order of time."""
    noise = np.sqrt(1 - 0.9**2) * unrelated(seed, samples=SAMPLES + 200)
    return np.asarray(lfilter([1.0], [1.0, -0.9], noise, axis=1)[:, 200:])


def codes(messages: list[str]) -> set[str]:
    return {m.code for m in messages if isinstance(m, Message)}


def said_of(values: Values) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return codes(infer_network(values, backend="cpu").attrs["warnings"])


SHARED = {"hidden_factors", "samples_alike", "groups_of_samples", "near_copies"}


@pytest.mark.parametrize("seed", range(3))
def test_a_factor_and_a_course_out_of_order_are_warned_of(seed: int) -> None:
    shuffled = np.random.default_rng(seed).permuted(np.arange(SAMPLES))
    assert said_of(with_factor(seed)) & SHARED == {"hidden_factors"}
    assert said_of(course(seed)[:, shuffled]) & SHARED
    assert not said_of(course(seed)) & SHARED
    assert not said_of(unrelated(seed)) & SHARED


def families(seed: int, number: int = 30, size: int = 4, pairs: int = 0) -> Values:
    """Samples of families in random order, which hold half of the variance; the first genes are
    ``pairs`` of related ones (r = 0.6)."""
    random = np.random.default_rng([seed, 49])
    of_families, own = (
        random.normal(size=(GENES, number)),
        random.normal(size=(GENES, number * size)),
    )
    for part in (of_families, own):
        part[1 : 2 * pairs : 2] = 0.6 * part[0 : 2 * pairs : 2] + 0.8 * part[1 : 2 * pairs : 2]
    values = np.repeat(of_families, size, axis=1) + own
    return values[:, random.permutation(number * size)]


def test_relatives_are_warned_of_also_where_a_factor_was_taken_off() -> None:
    """What `hidden_factors` takes off does not cure them."""
    for seed in range(3):
        assert said_of(families(seed)) & SHARED
        with pytest.warns():
            found = infer_network(
                families(seed), backend="cpu", preprocess={"hidden_factors": "auto"}
            )
        assert codes(found.attrs["warnings"]) & SHARED


def test_a_null_of_samples_that_are_alike_keeps_its_level_and_power() -> None:
    """Families that nobody states: 14 % of unrelated pairs have p <= 0.05 by permutation."""
    passing, true = [], []
    for seed in range(4):
        with pytest.warns():
            edges = infer_network(
                families(seed, pairs=20),
                backend="cpu",
                samples_alike=True,
                keep={"p_value": 0.05},
                score="mi",
                dpi=False,
            )
        low, high = np.sort(edges[["source", "target"]].to_numpy(int), axis=1).T
        related = (low % 2 == 0) & (high == low + 1) & (low < 40)
        true.append(int((related & (edges["p_value"] <= 1e-3)).sum()))
        passing.append((~related).sum() / (GENES * (GENES - 1) / 2 - 20))
    assert 0.04 < np.mean(passing) < 0.075
    assert np.mean(true) > 18


def test_among_few_genes_it_is_said_that_factors_cannot_be_told() -> None:
    for seed in range(5):
        random = np.random.default_rng([seed, 15])
        values = random.normal(size=(15, 100))
        values += 0.9 * random.normal(size=(15, 1)) * random.normal(size=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attrs = infer_network(values, backend="cpu").attrs
        assert codes([*attrs["notes"], *attrs["warnings"]]) & {"few_genes_to_tell", "samples_alike"}


def test_factors_are_sought_beyond_what_the_stated_samples_allow() -> None:
    """Slow genes and batches have broad components of their own."""
    series = np.zeros(SAMPLES, dtype=np.int32)
    assert not dependence_arrays(course(1), {"sample_series": series})[0].factors
    batch = np.random.default_rng(2).integers(0, 4, SAMPLES).astype(np.int32)
    shifted = unrelated(2) + np.random.default_rng(3).normal(size=(GENES, 4))[:, batch]
    assert dependence_arrays(shifted, {})[0].factors
    assert not dependence_arrays(shifted, {"sample_batch": batch})[0].factors


def test_factors_are_removed_and_accounted_for() -> None:
    values = with_factor(4)
    values[:, :3][:10] = np.nan
    prepared = prepare_expression(values, hidden_factors="auto")
    assert prepared.counts["hidden_factors"] == 1
    assert "hidden_factors_removed" in codes(prepared.notes)
    assert (np.isnan(prepared.values) == np.isnan(values)).all()
    upper = np.triu_indices(GENES, 1)
    before = np.abs(pd.DataFrame(values.T).corr().to_numpy()[upper])
    after = np.abs(pd.DataFrame(prepared.values.T).corr().to_numpy()[upper])
    assert (before > 0.2).mean() > 0.3
    assert (after > 0.2).mean() < 0.07
    assert prepared.design.state["degrees_given_up"] == [1]
    assert prepare_expression(values, hidden_factors=3).counts["hidden_factors"] == 3
    nothing = prepare_expression(unrelated(4), hidden_factors="auto")
    assert "no_hidden_factors" in codes(nothing.notes)
    assert nothing.values == pytest.approx(unrelated(4))


def test_what_was_removed_is_not_warned_of_again() -> None:
    network = infer_network(with_factor(5), backend="cpu", preprocess={"hidden_factors": "auto"})
    assert "hidden_factors" not in codes(network.attrs["warnings"])
    assert not len(network)
    prepared = prepare_expression(with_factor(5), hidden_factors="auto")
    assert not len(infer_network(prepared, backend="cpu"))


def test_degrees_of_freedom_are_given_up_by_the_null() -> None:
    """Values less ten factors agree 90 / 80 times as well as permuted ones, which have all 90, as
    far as they go straight together; less where not, so that the whole is between."""
    state = {"degrees_given_up": np.array([10])}
    assert inflation(state, 90) == 90 / 80  # type: ignore[arg-type]
    assert inflation({}, 90) == 1.0
    prepared = prepare_expression(unrelated(6, samples=90), hidden_factors=10)
    told, untold = (
        permutation_null(table, permutations=20_000, backend="cpu").threshold_bits(0.01)
        for table in (prepared, prepared.values)
    )
    assert 1.02 < np.mean(told) / np.mean(untold) < 90 / 80


@pytest.mark.parametrize("spread", [0.4, 0.6, 1.0])
def test_samples_of_unequal_noise_are_scaled(spread: float) -> None:
    random = np.random.default_rng(8)
    sizes = np.exp(spread * random.normal(size=SAMPLES))
    values = 5.0 + unrelated(8) * sizes
    assert unequal_spreads(values)
    found = sample_spreads(values)
    assert np.corrcoef(np.log(found), np.log(sizes))[0, 1] > 0.9
    prepared = prepare_expression(values, log2=False)
    assert prepared.parameters["sample_scale"] is True
    assert "samples_scaled" in codes(prepared.notes)
    assert np.log(prepared.values.std(axis=0)).std() < 0.25
    expected = values.copy()
    equalise_spreads(expected)
    assert prepared.values == pytest.approx(expected)
    as_they_are = prepare_expression(values, log2=False, sample_scale=False)
    assert as_they_are.values == pytest.approx(values)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_a_factor_is_no_matter_of_scale(share: float) -> None:
    assert not any(unequal_spreads(with_factor(seed, share)) for seed in range(10))
    assert not any(unequal_spreads(unrelated(seed)) for seed in range(10))


def test_spreads_of_awkward_tables() -> None:
    values = unrelated(9)
    values[:, 0] = np.nan  # a sample without a value
    values[1] = 2.0
    values[2, 5:] = np.nan
    assert not unequal_spreads(values)
    assert sample_spreads(values)[0] == 1.0
    scaled = values.copy()
    equalise_spreads(scaled)
    assert (np.isnan(scaled) == np.isnan(values)).all()
    assert (scaled[1, 1:] == 2.0).all()
    assert (sample_spreads(np.ones((60, 10))) == 1.0).all()


@pytest.mark.parametrize("dominant", [0.0, 0.6])
def test_shares_of_a_total_with_a_dominant_gene_get_size_factors(dominant: float) -> None:
    random = np.random.default_rng(10)
    level = np.exp(random.normal(3, 1, (400, 1)) + 0.5 * random.normal(size=(400, SAMPLES)))
    most = level.sum(axis=0).mean() * np.exp(dominant * random.normal(size=SAMPLES))
    table = np.vstack([level, most])
    prepared = prepare_expression(1e6 * table / table.sum(axis=0))
    assert prepared.parameters["normalize"] == ("median_ratio" if dominant else "none")
    r = np.corrcoef(prepared.values[:-1])[np.triu_indices(400, 1)]
    assert np.mean(np.abs(r) * np.sqrt(SAMPLES) > 1.96) < 0.06
    intensities = prepare_expression(table)  # no shares: their totals differ
    assert intensities.parameters["normalize"] == "none"


def test_all_samples_are_used_to_remove_factors_and_some_to_warn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = with_factor(11)
    looked_at = [hidden_factors(values[:, ::3], {}), hidden_factors(values, {})]
    assert [factors.scores.shape[1] for factors in looked_at] == [-(-SAMPLES // 3), SAMPLES]
    looked = dependence_arrays.__wrapped__  # not remembered
    assert looked(values, {})[0].factor_share == looked_at[1].share
    monkeypatch.setattr("pairtile.preprocess.null_design.MAX_SAMPLES", 40)
    some = looked(values, {})[0]
    assert some.factors
    assert some.factor_share != looked_at[1].share


def test_factors_name_the_annotation_that_they_go_with() -> None:
    random = np.random.default_rng(12)
    batch, quality = random.integers(0, 3, SAMPLES), random.uniform(size=SAMPLES)
    scores = np.stack([np.eye(3)[0][batch] + 0.2 * random.normal(size=SAMPLES), quality**2])
    columns = {
        "batch": [f"run{k}" for k in batch],
        "rin": [f"{q:.3f}" for q in quality],
        "sex": random.choice(["f", "m", ""], SAMPLES).tolist(),
        "id": [f"s{k}" for k in range(SAMPLES)],
        "constant": ["x"] * SAMPLES,
    }
    first, second = annotations_of_factors(scores, columns)
    assert (first[0], second[0]) == ("batch", "rin")
    expected = stats.kruskal(*(scores[0, batch == k] for k in range(3))).pvalue
    assert first[1] == pytest.approx(3 * 2 * expected)  # three columns say something
    nothing = annotations_of_factors(scores, {"sex": columns["sex"]})
    assert {column for column, _ in nothing} == {""}
    assert np.isnan(annotations_of_factors(scores, {})[0][1])


def test_effects_are_removed_in_the_library() -> None:
    random = np.random.default_rng(13)
    batch = random.choice(["a", "b"], SAMPLES)
    values = unrelated(13) + random.normal(size=(GENES, 1)) * (batch == "a")
    names = [f"s{k}" for k in range(SAMPLES)]
    table = pd.DataFrame(values, columns=names)
    prepared = prepare_expression(table, regress_out={"batch": batch})
    means = [prepared.values[:, batch == label].mean(axis=1) for label in "ab"]
    assert means[0] == pytest.approx(means[1])
    assert prepared.design.state["degrees_given_up"] == [1]
    assert "effects_removed" in codes(prepared.notes)
    by_name = pd.DataFrame({"batch": batch}, index=names).iloc[::-1]
    assert prepare_expression(table, regress_out=by_name).values == pytest.approx(prepared.values)


def test_control_genes_spare_large_modules(tmp_path: Path) -> None:
    """Half of the genes follow a regulator that controls do not: it stays, the batch goes."""
    random = np.random.default_rng(14)
    batch, regulator = random.integers(0, 2, SAMPLES), random.normal(size=SAMPLES)
    values = unrelated(14) + random.normal(size=(GENES, 1)) * (batch - 0.5) * 2
    values[:40] += random.normal(size=(40, 1)) * regulator
    genes = [f"g{k}" for k in range(GENES)]
    table = pd.DataFrame(values, index=genes)
    path = tmp_path / "controls.txt"
    path.write_text("\n".join([*genes[50:], "absent"]))
    prepared = prepare_expression(table, hidden_factors="auto", control_genes=str(path))
    assert "control_genes" in codes(prepared.notes)
    assert prepared.counts["hidden_factors"] == 1
    rest = prepared.values
    with_batch = [abs(np.corrcoef(row, batch)[0, 1]) for row in rest]
    with_regulator = [abs(np.corrcoef(row, regulator)[0, 1]) for row in rest[:40]]
    assert np.mean(with_batch) < 0.12
    assert np.mean(with_regulator) > 0.45
    path.write_text("\n".join(genes[:5]))
    with pytest.raises(InputError, match="5 of 5 genes"):
        prepare_expression(table, hidden_factors="auto", control_genes=str(path))
    with pytest.raises(ValueError, match="unless hidden_factors is auto or a number"):
        prepare_expression(table, control_genes=str(path))


def test_factors_that_would_take_all_of_a_gene_are_refused() -> None:
    with pytest.raises(InputError, match=r"hidden_factors: found 40; expected at most 29 of this"):
        prepare_expression(unrelated(4, genes=30), hidden_factors=40)


def test_equal_samples_are_said_where_nothing_is_known_of_them() -> None:
    values = unrelated(0)
    values[:, 7] = values[:, 60]
    [said] = [m for m in prepare_expression(values + 8).messages if m.code == "copied_samples"]
    assert "7 = 60" in said
    assert "the same values" in said
    levels = np.random.default_rng(0).integers(0, 2, (8, 40)).astype(float)  # equal by chance
    assert "copied_samples" not in codes(prepare_expression(levels).messages)


def test_samples_at_one_end_of_a_module_are_no_copies() -> None:
    random = np.random.default_rng(5)
    values = random.normal(size=(120, 200))
    values[:30] += 1.5 * random.standard_t(4, 200)
    assert "copied_samples" not in codes(prepare_expression(values + 20).messages)
    values[:, 5] = values[:, 9] + 0.3 * random.normal(size=120)
    [said] = [m for m in prepare_expression(values + 20).messages if m.code == "copied_samples"]
    assert "5 = 9" in said


def test_a_few_samples_that_failed_are_named() -> None:
    values = unrelated(6)
    values[:, [7, 21, 40, 57, 80, 81]] += 3.0 * np.random.default_rng(7).normal(size=(GENES, 1))
    found = {m.code: m for m in prepare_expression(values + 20).messages}
    assert "7, 21, 40, 57, 80, 81" in found["few_samples_apart"]
    assert "copied_samples" not in found
    values = unrelated(6)
    values[:, :50] += 3.0 * np.random.default_rng(8).normal(size=(GENES, 1))  # half are no few
    assert "few_samples_apart" not in codes(prepare_expression(values + 20).messages)


def test_two_of_many_samples_that_failed_are_not_called_copies_nor_copies_failed() -> None:
    random = np.random.default_rng(9)
    values = random.normal(size=(150, 100))
    values[:, 40] = values[:, 9] + 0.2 * random.normal(size=150)
    values[:, [7, 81]] -= random.gamma(2.0, 1.5, (150, 1)) * (random.random((150, 1)) < 2 / 3)
    found = {m.code: m for m in prepare_expression(values + 20).messages}
    assert found["few_samples_apart"].startswith("2 samples are unlike all others in most genes: 7")
    assert "9 = 40" in found["copied_samples"]
    assert "81" not in found["copied_samples"]


def test_components_and_factors_do_not_depend_on_the_threads_of_a_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []

    def measured(work: Callable[..., Any]) -> Callable[..., Any]:
        def measure(*args: Any, **options: Any) -> Any:
            threads.extend(x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas")
            return work(*args, **options)

        return measure

    monkeypatch.setattr(np.linalg, "svd", measured(np.linalg.svd))
    monkeypatch.setattr(dependence, "leading", measured(dependence.leading))
    values = with_factor(11)
    with threadpool_limits(2, "blas"):
        for find in (find_hidden_factors, dependence.principal_components):
            threads.clear()
            find(values)
            assert set(threads) == {1}
