"""What must change no result of any method: the order of items and samples, names, units, and
samples that are there twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairtile import (
    infer_network,
    mirna_targets,
    multimodal_correlation,
    mutual_information,
    predictor_pairs,
    trajectory_correlation,
)
from small_analyses import ANALYSES
from workflow_runs import Analysis

Array = NDArray[Any]
seeds = settings(max_examples=20, deadline=None)


def table(seed: int, genes: int = 7, samples: int = 60) -> Array:
    """Genes that follow each other more and less, some values missing."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(genes, samples))
    values[1::2] += values[: genes - 1 : 2]
    values[random.random(values.shape) < 0.03] = np.nan
    return values


def shuffled(seed: int, number: int) -> Array:
    return np.random.default_rng([seed, 1]).permutation(number)


# --- library --------------------------------------------------------------------------------------


@seeds
@given(st.integers(0, 10**6), st.sampled_from(["rank", "none"]))
def test_mutual_information(seed: int, transform: str) -> None:
    values = table(seed)

    def scores(of: Array) -> Array:
        found = mutual_information(of, bins=6, order=3, transform=transform, backend="cpu")
        return np.asarray(found)

    plain, genes = scores(values), shuffled(seed, 7)
    same = {"rtol": 0, "atol": 1e-9, "equal_nan": True}
    np.testing.assert_allclose(scores(values[genes]), plain[np.ix_(genes, genes)], **same)
    np.testing.assert_allclose(scores(values[:, shuffled(seed, 60)]), plain, **same)
    units = np.exp(np.linspace(-3, 9, 7))[:, None]
    np.testing.assert_allclose(scores(units * values + 100 * units), plain, **same)
    np.testing.assert_allclose(scores(np.repeat(values, 3, axis=1)), plain, **same)
    if transform == "none":
        np.testing.assert_allclose(scores(-values), plain, **same)


@seeds
@given(st.integers(0, 10**6))
def test_networks_of_mutual_information(seed: int) -> None:
    frame = pd.DataFrame(np.nan_to_num(table(seed, 9)), index=list("abcdefghi"))

    def network(of: pd.DataFrame) -> dict[frozenset[str], float]:
        how: dict[str, Any] = {"score": "mi", "keep": {"score": 0.05}, "permutations": 100}
        found = infer_network(of, backend="cpu", preprocess={"log2": False}, **how)
        ends = zip(found["source"], found["target"], strict=True)
        return dict(zip(map(frozenset, ends), found["mi_bits"], strict=True))

    plain = network(frame)
    assert network(frame.iloc[shuffled(seed, 9)]) == pytest.approx(plain)
    renamed = network(frame.rename(index=lambda name: f"{'zyx'[ord(name) % 3]}-{name}"))
    assert {frozenset(n[-1] for n in pair): mi for pair, mi in renamed.items()} == plain


@seeds
@given(st.integers(0, 10**6), st.sampled_from(["pearson", "spearman"]))
def test_multimodal_correlation_without_mixtures(seed: int, correlation: str) -> None:
    frame = pd.DataFrame(table(seed), index=[f"gene {k}" for k in range(7)])

    def modes(of: pd.DataFrame) -> pd.DataFrame:
        found = multimodal_correlation(
            of,
            clustering="none",
            correlation=correlation,
            min_correlation=0.0,
            preprocess={"log2": False},
            backend="cpu",
        ).modes
        ends = np.sort(found[["source", "target"]].to_numpy(dtype=str), axis=1)
        found = found.assign(a=ends[:, 0], b=ends[:, 1]).sort_values(["a", "b"], ignore_index=True)
        return found[["a", "b", "n_samples", "correlation"]]

    plain = modes(frame)
    same: dict[str, Any] = {"rtol": 0, "atol": 1e-6}
    pd.testing.assert_frame_equal(modes(frame.iloc[shuffled(seed, 7)]), plain, **same)
    pd.testing.assert_frame_equal(modes(frame.iloc[:, shuffled(seed, 60)]), plain, **same)
    units = np.exp(np.linspace(-3, 9, 7))[:, None]
    pd.testing.assert_frame_equal(modes(units * frame + units), plain, **same)
    renamed = modes(frame.rename(index=lambda name: name.replace("gene", "other")))
    renamed[["a", "b"]] = renamed[["a", "b"]].replace("other", "gene", regex=True)
    pd.testing.assert_frame_equal(renamed, plain, **same)


@pytest.mark.filterwarnings("ignore")
def test_modes_of_mixtures_are_of_samples_whatever_their_order() -> None:
    random = np.random.default_rng(3)
    mode = np.repeat([0, 1], 60)
    x = random.normal(size=120) + 12 * mode
    y = np.where(mode, 12 - 0.9 * x, 0.9 * x) + 0.2 * random.normal(size=120)
    frame = pd.DataFrame([x, y], index=["x", "y"], columns=[f"s{k}" for k in range(120)])

    def modes(of: pd.DataFrame) -> list[tuple[int, float]]:
        found = multimodal_correlation(of, preprocess={"log2": False}, backend="cpu").modes
        return sorted(zip(found["n_samples"], found["correlation"].round(5), strict=True))

    plain = modes(frame)
    assert len(plain) == 2
    assert modes(frame.iloc[:, shuffled(1, 120)]) == plain
    assert modes(frame.rename(index={"x": "p", "y": "a"})) == plain


@seeds
@given(st.integers(0, 10**6), st.sampled_from(["none", "no_obs", "poor_obs"]))
def test_predictor_pairs(seed: int, penalty: str) -> None:
    levels = np.random.default_rng(seed).integers(0, 3, size=(6, 40))
    frame = pd.DataFrame(levels, index=list("abcdef"))

    def least(of: pd.DataFrame, penalty: str = penalty) -> pd.Series[float]:
        found = predictor_pairs(
            levels=of, lag=0, penalty=penalty, permutations=0, top=1, backend="cpu"
        )
        return found.set_index("target")[["mce_bits", "n_ties"]].sort_index()

    plain = least(frame)
    same: dict[str, Any] = {"rtol": 0, "atol": 1e-9}
    pd.testing.assert_frame_equal(least(frame.iloc[shuffled(seed, 6)]), plain, **same)
    pd.testing.assert_frame_equal(least(frame.iloc[:, shuffled(seed, 40)]), plain, **same)
    renamed = least(frame.rename(index=dict(zip("abcdef", "fedcba", strict=True))))
    pd.testing.assert_frame_equal(renamed[::-1].set_axis(plain.index), plain, **same)
    order = shuffled(seed, 3)  # what levels are called means nothing
    pd.testing.assert_frame_equal(least(frame.replace(dict(enumerate(order)))), plain, **same)
    twice = least(pd.DataFrame(np.repeat(levels, 2, axis=1), index=frame.index), "none")
    pd.testing.assert_frame_equal(twice, least(frame, "none"), **same)


@seeds
@given(st.integers(0, 10**6))
def test_mirna_targets(seed: int) -> None:
    random = np.random.default_rng(seed)

    def letters(n: int) -> str:
        return "".join(random.choice(list("ACGU"), n))

    mirnas = {f"m{k}": letters(22) for k in range(4)}
    transcripts = {f"t{k}": letters(300) for k in range(5)}

    def hits(mirnas: dict[str, str], transcripts: dict[str, str]) -> set[tuple[Any, ...]]:
        found = mirna_targets(mirnas, transcripts, score=90, backend="cpu")
        return set(found.astype(str).itertuples(index=False, name=None))

    plain = hits(mirnas, transcripts)
    assert plain
    assert hits(dict(reversed(mirnas.items())), transcripts) == plain
    assert hits(mirnas, dict(reversed(transcripts.items()))) == plain
    copied = hits(mirnas, transcripts | {"t9": transcripts["t3"]})
    assert {hit for hit in copied if "t9" not in hit} == plain
    of_copy = {tuple("t3" if v == "t9" else v for v in hit) for hit in copied if "t9" in hit}
    assert of_copy == {hit for hit in plain if "t3" in hit}


@seeds
@given(st.integers(0, 10**6), st.sampled_from(["ksg", "gaussian"]))
@pytest.mark.filterwarnings("ignore")
def test_trajectory_correlation(seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    xyz = random.normal(size=(80, 4, 3))
    xyz[:, 1] += xyz[:, 0]

    def nats(of: Array) -> Array:
        how: dict[str, Any] = {"theiler": 0, "surrogates": 0, "corrected": False}
        return np.asarray(trajectory_correlation(of, kind=kind, backend="cpu", **how).mi_nats)

    plain, order = nats(xyz), shuffled(seed, 4)
    same = {"rtol": 0, "atol": 1e-9, "equal_nan": True}
    np.testing.assert_allclose(nats(xyz[:, order]), plain[np.ix_(order, order)], **same)
    np.testing.assert_allclose(nats(xyz[shuffled(seed, 80)]), plain, **same)
    np.testing.assert_allclose(nats(1e3 * xyz + 50), plain, **same)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    np.testing.assert_allclose(nats(xyz @ turn), plain, **same)
    if kind == "gaussian":
        units = np.exp(np.linspace(-2, 4, 4))[:, None]
        np.testing.assert_allclose(nats(units * xyz), plain, **same)
        np.testing.assert_allclose(nats(np.repeat(xyz, 2, axis=0)), plain, **same)


# --- the same through the steps of the workflow ---------------------------------------------------


def write_table(path: Path, frame: pd.DataFrame) -> None:
    frame.to_csv(path, sep="\t", index_label="gene")


@pytest.mark.parametrize("method", ["mutual_information", "multimodal_correlation"])
def test_a_sample_measured_twice_is_one_sample(method: str, tmp_path: Path) -> None:
    """Identical replicates that are stated as such: the same network."""
    make, section = ANALYSES[method]
    make(tmp_path)
    once = Analysis(tmp_path, section, name="once").pairs().network()
    frame = pd.read_csv(tmp_path / "expression.tsv", sep="\t", index_col=0)
    twice = pd.concat([frame, frame.add_suffix("_again")], axis=1)
    write_table(tmp_path / "expression.tsv", twice)
    names = [*frame.columns, *frame.columns]
    lines = [f"{sample}\t{name}" for sample, name in zip(twice.columns, names, strict=True)]
    (tmp_path / "samples.tsv").write_text("\n".join(["sample\tspecimen", *lines]) + "\n")
    stated = {"annotations": str(tmp_path / "samples.tsv"), "replicate": "specimen"}
    merged = Analysis(tmp_path, section | {"samples": stated}, name="merged").pairs().network()
    paths = [made.out / "network.parquet" for made in (once, merged)]
    one, other = map(pq.read_table, paths)
    assert one.num_rows > 5
    assert one.equals(other, check_metadata=True)
