"""What the workflow warns of, the library warns of too: once a call, and in ``attrs``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile import (
    infer_network,
    mirna_targets,
    multimodal_correlation,
    mutual_information,
    permutation_null,
    predictor_edges,
    predictor_pairs,
    prepare_expression,
    trajectory_correlation,
)
from pairtile.declare.messages import Message, warnings_of
from pairtile.preprocess.samples import NEAR_COPIES_SHARE
from pairtile.statistics.dependence import measure_dependence
from workflow_runs import Analysis


def codes(messages: Iterable[Message]) -> set[str]:
    return {message.code for message in messages}


def of_workflow(folder: Path, section: dict[str, Any]) -> set[str]:
    """All warnings of a run; it does not say that ``export: auto`` leaves files away."""
    analysis = Analysis(folder, section).pairs().network().tables().summary()
    said = json.loads((analysis.out / "summary.json").read_text())["messages"]
    return codes(warnings_of(Message(**message) for message in said)) - {"graphml_left_away"}


def of_library(call: Callable[[], Any]) -> set[str]:
    """What a call warns of; each once, and all of it in what it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = call()
    told = [w.message.args[0] for w in caught if issubclass(w.category, UserWarning)]
    assert len(told) == len(set(told))
    assert all(w.filename == __file__ for w in caught if issubclass(w.category, UserWarning))
    held = given.attrs["warnings"] if isinstance(given, pd.DataFrame) else given.warnings
    assert set(map(str, told)) <= set(map(str, held))
    return codes(held)


def table_of(random: np.random.Generator, kind: str) -> pd.DataFrame:
    """A small table of one of the kinds that people bring."""
    genes, samples = int(random.integers(6, 14)), int(random.integers(24, 44))
    values = random.normal(8.0, 1.0, (genes, samples))
    if kind == "counts":
        values = random.negative_binomial(3, 0.02, (genes, samples)).astype(float)
        values[:, : samples // 2] *= 3
    elif kind == "copies":
        half = random.normal(8.0, 1.0, (genes, (samples + 1) // 2))
        values = np.repeat(half, 2, axis=1)[:, :samples]
        values += random.normal(0, 0.05, (genes, samples))
    elif kind == "groups":
        values[:, : samples // 2] += random.normal(0, 8.0, (genes, 1))
    elif kind == "drift":
        values += np.linspace(-4, 4, samples) * random.normal(size=(genes, 1))
    elif kind == "missing":
        values[random.random(values.shape) < 0.25] = np.nan
        values[0, 5:] = np.nan
        values[1] = 3.0
    elif kind == "related":
        values = values[:1] + random.normal(0, 0.3, (genes, samples))
    names = [f"g{k}" for k in range(genes)]
    if kind == "names":
        names[2] = "=SUM(A1)"
    table = pd.DataFrame(values, names, [f"s{k}" for k in range(samples)])
    return table.rename_axis("gene")


KINDS = ("plain", "counts", "copies", "groups", "drift", "missing", "related", "names")


def written(folder: Path, table: pd.DataFrame) -> dict[str, Any]:
    table.to_csv(folder / "table.tsv", sep="\t")
    (folder / "regulators.txt").write_text("g0\ng2\ng3\ng4\nnobody\n")
    about = pd.DataFrame({"sample": table.columns})
    about["series"] = ["A" if k < len(about) // 2 else "B" for k in range(len(about))]
    about["time"] = [1.5 ** (k % (len(about) // 2 + 1)) for k in range(len(about))]
    about["batch"] = [f"p{k % 3}" for k in range(len(about))]
    about.to_csv(folder / "about.tsv", sep="\t", index=False)
    return {"expression": "table.tsv"}, about.set_index("sample")  # type: ignore[return-value]


def sections(number: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Which samples are stated, and by which keywords of a call."""
    columns = [{}, {"series": "series"}, {"series": "series", "time": "time"}, {"batch": "batch"}]
    return columns[number % 4], columns[number % 4]  # type: ignore[return-value]


CASES = [
    pytest.param(number, marks=[pytest.mark.complete] if number >= len(KINDS) else [])
    for number in range(len(KINDS) * 4)
]


@pytest.mark.parametrize("number", CASES)
def test_mutual_information_warns_alike(tmp_path: Path, number: int) -> None:
    random = np.random.default_rng(number)
    table = table_of(random, KINDS[number % len(KINDS)])
    section, about = written(tmp_path, table)
    stated, keywords = sections(number // len(KINDS))
    keep: Any = random.choice(["auto", "all", "p_value", "top_edges"])
    keep = {"p_value": {"p_value": 0.3}, "top_edges": {"top_edges": 5}}.get(keep, str(keep))
    settings: dict[str, Any] = {
        "score": "mi",
        "keep": keep,
        "dpi": False,
        "null": {"permutations": 1000},
        "estimator": {"bins": 10 if number % 3 == 0 else "auto"},
        "preprocess": {"min_samples": 15},
    }
    regulated = number % 2 == 1
    section |= {"method": "mutual_information", **settings}
    if regulated:
        section["regulators"] = "regulators.txt"
    if stated:
        about[[*stated.values()]].to_csv(tmp_path / "about.tsv", sep="\t")  # as the call says
        section["samples"] = {"annotations": str(tmp_path / "about.tsv"), **stated}
    expected = of_workflow(tmp_path, section)
    names = ["g0", "g2", "g3", "g4", "nobody"] if regulated else None
    found = of_library(
        lambda: infer_network(
            table,
            names,
            score="mi",
            keep=keep,
            dpi=False,
            permutations=1000,
            bins=settings["estimator"]["bins"],
            preprocess=settings["preprocess"],
            seed=3,
            backend="cpu",
            **{key: about[column] for key, column in keywords.items()},
        )
    )
    assert found == expected


@pytest.mark.parametrize("number", CASES)
def test_predictor_pairs_warns_alike(tmp_path: Path, number: int) -> None:
    random = np.random.default_rng(100 + number)
    table = table_of(random, KINDS[number % len(KINDS)])
    section, about = written(tmp_path, table)
    stated, keywords = sections(number // len(KINDS))
    if "batch" in stated:
        stated = keywords = {}
    keep: Any = random.choice(["best", "p_value"])
    keep = {"p_value": 0.01} if keep == "p_value" else "best"
    settings: dict[str, Any] = {
        "lag": number % 3 != 2,
        "preprocess": {"min_samples": 8},
        "quantize": {"levels": 3 if number % 2 else 2},
        "null": {"permutations": [0, 9, 49][number % 3 if keep == "best" else 1]},
        "estimator": {"cardinality": 1 + number % 2, "penalty": "no_obs" if number % 2 else "none"},
    }
    settings["lag"] = int(settings["lag"])
    section |= {"method": "predictor_pairs", "keep": keep, **settings}
    if stated:
        about[[*stated.values()]].to_csv(tmp_path / "about.tsv", sep="\t")  # as the call says
        section["samples"] = {"annotations": str(tmp_path / "about.tsv"), **stated}
    expected = of_workflow(tmp_path, section)

    held: list[pd.DataFrame] = []

    def sets() -> pd.DataFrame:
        held.append(
            predictor_pairs(
                table,
                lag=settings["lag"],
                preprocess=settings["preprocess"],
                quantize=settings["quantize"],
                permutations=settings["null"]["permutations"],
                **settings["estimator"],
                seed=3,
                backend="cpu",
                **{key: about[column] for key, column in keywords.items()},
            )
        )
        return held[0]

    found = of_library(sets) | of_library(lambda: predictor_edges(held[0], keep))
    assert found == expected


@pytest.mark.parametrize("number", CASES)
def test_multimodal_correlation_warns_alike(tmp_path: Path, number: int) -> None:
    random = np.random.default_rng(200 + number)
    table = table_of(random, KINDS[number % len(KINDS)])
    section, about = written(tmp_path, table)
    stated, keywords = sections(number // len(KINDS))
    threshold: Any = [{"method": "none"}, {"method": "score", "score": 0.6}, {"method": "fdr"}][
        number % 3
    ]
    estimator = {
        "clustering": "gmm" if number % 4 == 1 else "none",
        "min_samples": 10 if number % 2 else 20,
        "max_clusters": 2,
        "min_correlation": 0.3,
    }
    section |= {
        "method": "multimodal_correlation",
        "preprocess": {"min_samples": 15},
        "estimator": estimator,
        "threshold": threshold,
    }
    if stated:
        about[[*stated.values()]].to_csv(tmp_path / "about.tsv", sep="\t")  # as the call says
        section["samples"] = {"annotations": str(tmp_path / "about.tsv"), **stated}
    annotated = number % 5 == 0
    if annotated:
        about.to_csv(tmp_path / "about.tsv", sep="\t")
        section |= {"annotations": str(tmp_path / "about.tsv"), "conditions": ["batch", "series"]}
    expected = of_workflow(tmp_path, section)
    modes: list[Any] = []

    def scored() -> Any:
        modes.append(
            multimodal_correlation(
                table,
                **estimator,
                preprocess={"min_samples": 15},
                seed=3,
                backend="cpu",
                **{key: about[column] for key, column in keywords.items()},
            )
        )
        return modes[0]

    asked: dict[str, Any] = {}
    if annotated:
        asked = {"annotations": about, "conditions": ["batch", "series"]}
    found = of_library(scored) | of_library(lambda: modes[0].network(threshold, **asked))
    assert found == expected


@pytest.mark.parametrize("number", range(4))
def test_trajectory_correlation_warns_alike(tmp_path: Path, number: int) -> None:
    random = np.random.default_rng(number)
    series = random.normal(size=([60, 200][number % 2], 6, 3))
    if number > 1:
        series = series.cumsum(axis=0)
    np.save(tmp_path / "run0.npy", series)
    surrogates = 4 * (number % 2)
    section = {
        "method": "trajectory_correlation",
        "time_series": ["run0.npy"],
        "estimator": {"surrogates": surrogates},
    }
    expected = of_workflow(tmp_path, section)
    found = of_library(
        lambda: trajectory_correlation(series, surrogates=surrogates, seed=3, backend="cpu")
    )
    assert found == expected


def test_parts_of_the_way_to_a_network_warn_of_what_they_do() -> None:
    random = np.random.default_rng(5)
    table = table_of(random, "copies").iloc[:, :30]
    few = of_library(lambda: mutual_information(table, bins=10, min_samples=10))
    assert few == {"few_samples_for_bins"}
    drawn = of_library(lambda: permutation_null(table, permutations=400, min_samples=10))
    assert "near_copies" in drawn
    dropped = table_of(random, "missing")
    prepared = of_library(lambda: prepare_expression(dropped, min_samples=15))
    assert any("dropped" in code for code in prepared)


@pytest.mark.parametrize("number", range(4))
def test_mirna_targets_warns_alike(tmp_path: Path, number: int) -> None:
    random = np.random.default_rng(number)
    letters = list("ACGT" if number % 2 else "ACGU")
    mirnas = {f"m{k}": "".join(random.choice(letters, [22, 60][k == 3])) for k in range(4)}
    transcripts = {f"t{k}": "".join(random.choice(letters, 300)) for k in range(5)}
    for name, records in (("mirnas.fa", mirnas), ("transcripts.fa", transcripts)):
        text = "".join(f">{key}\n{letters}\n" for key, letters in records.items())
        (tmp_path / name).write_text(text)
    estimator = {"score": 90.0, "energy": 0.0, "energies": number < 2}
    section = {
        "method": "mirna_targets",
        "mirnas": "mirnas.fa",
        "transcripts": "transcripts.fa",
        "estimator": estimator,
    }
    expected = of_workflow(tmp_path, section)
    paths = str(tmp_path / "mirnas.fa"), str(tmp_path / "transcripts.fa")
    assert of_library(lambda: mirna_targets(*paths, **estimator, backend="cpu")) == expected


def test_few_genes_make_no_near_copies_by_chance() -> None:
    random = np.random.default_rng(8)
    fired = {"chance": 0, "copies": 0}
    for genes in (5, 8, 12, 40):
        for samples in (10, 20, 60):
            for _ in range(9):
                values = random.normal(size=(genes, samples))
                fired["chance"] += near(values)
            copies = np.repeat(random.normal(size=(genes + 8, samples // 2)), 2, axis=1)
            fired["copies"] += near(copies + random.normal(0, 0.1, copies.shape))
    assert fired["chance"] <= 1  # of 108, where 1 % would be
    assert fired["copies"] == 12


def near(values: np.ndarray) -> bool:
    found = measure_dependence(values)
    return found.near_copies > NEAR_COPIES_SHARE * found.n_samples
