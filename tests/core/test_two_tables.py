"""Two tables of the same samples: how they are matched and prepared, and that pairs go across."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pairtile import infer_network, multimodal_correlation, mutual_information
from pairtile.config.load import load_config
from pairtile.config.preprocess import TwoTableAnalysis
from pairtile.errors import ConfigError, InputError
from pairtile.gpu.device import choose
from pairtile.methods.mutual_information.score import MutualInformation
from pairtile.preprocess.two_tables import read_two_tables
from scipy.stats import spearmanr


def frames(genes: int = 12, others: int = 5, samples: int = 30) -> tuple[pd.DataFrame, ...]:
    """Unrelated genes and metabolites of the same samples, the latter in another order, with one
    name that is in both, missing values and samples of either alone."""
    random = np.random.default_rng(1)
    columns = [f"s{k}" for k in range(samples)]
    first = pd.DataFrame(random.normal(size=(genes, samples)), columns=columns)
    first.index = [f"g{k}" for k in range(genes)]
    other = pd.DataFrame(random.normal(size=(others, samples)), columns=columns)
    other.index = [*(f"m{k}" for k in range(others - 1)), "g3"]
    other = other[random.permutation(columns[2:])].assign(new=0.5)
    other.iloc[0, :4] = np.nan
    return first, other


def analysis(folder: Path, **more: Any) -> TwoTableAnalysis:
    section = {"method": "mutual_information", "expression": str(folder / "first.tsv")}
    section |= {"other_expression": str(folder / "other.tsv"), **more}
    found = load_config({"analyses": {"a": section}}).analyses["a"]
    assert isinstance(found, TwoTableAnalysis)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first, other = frames()
    first.to_csv(tmp_path / "first.tsv", sep="\t")
    other.T.to_csv(tmp_path / "other.tsv", sep="\t")  # its samples in rows
    return tmp_path


def test_samples_are_matched_by_name_whichever_way_the_other_table_lies(folder: Path) -> None:
    first, other = frames()
    found = read_two_tables(analysis(folder))
    assert found.prepared.samples == list(first.columns[2:])
    expected = other[found.prepared.samples].to_numpy()
    np.testing.assert_array_equal(found.prepared.values[found.rows], expected)
    counts = found.prepared.counts
    assert counts["samples_matched"] == 28
    assert (counts["samples_of_first_alone"], counts["samples_of_other_alone"]) == (2, 1)
    said = [m for m in found.prepared.messages if m.code == "samples_of_one_table"]
    assert [m.numbers["all_names"] for m in said] == [["s0", "s1"], ["new"]]


def test_names_that_are_in_both_tables_are_kept_apart(folder: Path) -> None:
    items = read_two_tables(analysis(folder)).prepared.items
    assert items["name"].is_unique
    assert items["name"].tolist()[-1] == "other:g3"
    assert items["table"].tolist() == ["expression"] * 12 + ["other_expression"] * 5
    assert items["is_regulator"].tolist() == [False] * 12 + [True] * 5


def test_too_few_samples_of_the_same_name_are_one_error(folder: Path) -> None:
    with pytest.raises(InputError, match=r"other\.tsv.*28 of its 29 samples") as error:
        read_two_tables(analysis(folder, preprocess={"min_samples": 29}))
    assert "\n" not in str(error.value)


def test_each_table_is_prepared_by_itself(folder: Path) -> None:
    first, _ = frames()
    (1000 + 100 * first).round().to_csv(folder / "first.tsv", sep="\t")
    found = read_two_tables(analysis(folder, preprocess={"sample_scale": False}))
    assert found.parameters["preprocess"]["log2"] is True
    assert found.parameters["other_preprocess"]["log2"] is False
    asked = analysis(folder, other_preprocess={"normalize": "zscore", "min_samples": 10})
    zscored = read_two_tables(asked)
    np.testing.assert_allclose(zscored.prepared.values[zscored.rows[1:]].std(axis=1), 1.0)


def test_random_draws_of_a_normalisation_are_not_shared_between_tables() -> None:
    """With shared ones, all rows of one table are a little like all rows of the other."""
    random = np.random.default_rng(2)
    depth = random.lognormal(0, 0.8, 400)
    cells = [f"c{k}" for k in range(400)]
    first, other = (
        pd.DataFrame(random.poisson(level * depth, (rows, 400)), columns=cells)
        for level, rows in ((1.0, 60), (30.0, 20))
    )
    same = {"normalize": "nb_residuals"}
    network = infer_network(
        first.add_prefix("g", axis=0),
        other_expression=other.add_prefix("m", axis=0),
        keep="all",
        dpi=False,
        permutations=1000,
        preprocess=same,
        other_preprocess=same,
        backend="cpu",
    )
    assert abs(network["spearman"].mean()) * np.sqrt(400) < 0.15  # 0.4 where they are shared


def test_degrees_that_one_table_alone_gave_up_are_not_lost_by_its_correlations(
    folder: Path,
) -> None:
    names = frames()[0].columns
    draw = np.random.default_rng(2).normal(size=(3, len(names))).round(3)
    pd.DataFrame(draw.T, names, ["a", "b", "c"]).to_csv(folder / "s.tsv", sep="\t")

    def given_up(first: list[str], other: list[str]) -> int:
        settings = {
            "preprocess": {"regress_out": first},
            "other_preprocess": {"regress_out": other},
        }
        samples = {"annotations": str(folder / "s.tsv"), "unannotated": "leave_out"}
        asked = analysis(folder, samples=samples, **settings)
        return read_two_tables(asked).prepared.design.degrees_given_up

    assert given_up(["a", "b"], []) == 0
    assert given_up(["a", "b"], ["a", "b", "c"]) == 2


BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_pair_across_and_no_other_has_the_score_of_the_library(backend: str) -> None:
    first, other = frames()
    network = infer_network(
        first,
        other_expression=other,
        keep="all",
        score="mi",
        dpi=False,
        permutations=1000,
        precision="float64",
        backend=backend,
    )
    assert len(network) == 12 * 5
    shared = [name for name in first if name in other]
    between = mutual_information(
        first[shared], other=other[shared], precision="float64", backend="cpu"
    )
    expected = [
        between.loc[target, source.removeprefix("other:")]
        for source, target in zip(network["source"], network["target"], strict=True)
    ]
    np.testing.assert_allclose(network["mi_bits"], expected, atol=1e-9)
    assert (network["q_value"] >= network["p_value"] - 1e-12).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("clustering", ["none", "gmm"])
def test_correlations_go_from_rows_of_the_other_table_to_genes(
    clustering: str, backend: str
) -> None:
    first, other = frames(samples=60)
    other.loc["m1"] = -first.loc["g2"] + 0.2 * other.loc["m1"]
    how: dict[str, Any] = {"clustering": clustering, "min_correlation": 0.0, "min_samples": 20}
    how["backend"] = backend
    how |= {"max_clusters": 1, "outliers_before": False, "outliers_after": False}
    found = multimodal_correlation(first, other_expression=other, **how)
    modes = found.modes.set_index(["source", "target"])["correlation"]
    assert len(modes) == 12 * 5
    both = pd.concat([first, other.rename({"g3": "other:g3"})])[[c for c in first if c in other]]
    for (source, target), r in modes.items():
        values = both.loc[[source, target]].dropna(axis=1).to_numpy()
        assert r == pytest.approx(spearmanr(*values).statistic, abs=1e-6)
    best = found.network(power=False, modules=False).edges.iloc[0]
    assert (best["source"], best["target"]) == ("m1", "g2")
    assert best["correlation"] < -0.9


def test_nulls_are_drawn_between_the_tables_alone(folder: Path) -> None:
    config = analysis(folder, estimator={"transform": "none", "bins": 6, "order": 3})
    prepared = MutualInformation.prepare(config, 1)
    opened = MutualInformation(config, prepared.state, choose("cpu"), "float64")
    lengths = opened.null(1)["lengths"]
    n_classes = int(opened.classes.max()) + 1
    first = int(opened.classes[:12].max())
    pairs = [(a, b) for a in range(n_classes) for b in range(a, n_classes)]
    assert [n > 0 for n in lengths] == [a <= first < b for a, b in pairs]
    assert opened.n_pairs() == 60


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"regulators": "r.txt"}, "regulators"),
        ({"other_expression": None, "other_preprocess": {}}, "other_preprocess"),
        ({"other_expression": None, "mirna_targets": "a"}, "mirna_targets"),
        ({"mirna_targets": "a"}, "mirna_targets"),
        ({"other_preprocess": {"regress_out": ["age"]}}, "other_preprocess.regress_out"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(keys: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=f"analyses.a.{named}: found"):
        analysis(Path(), **keys)


def test_samples_of_two_tables_match_through_folders_and_endings(folder: Path) -> None:
    _, other = frames()
    expected = read_two_tables(analysis(folder)).prepared
    other.columns = [f"/data/run7/{name}.raw" for name in other.columns]
    other.drop(columns="/data/run7/new.raw").to_csv(folder / "other.tsv", sep="\t")
    found = read_two_tables(analysis(folder)).prepared
    assert found.samples == expected.samples
    np.testing.assert_array_equal(found.values, expected.values)
    assert "sample_names_cut" in [note.code for note in found.messages]
