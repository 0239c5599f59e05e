"""Enrichment and activity of a network: the stages' files, and the library's functions."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from declared_columns import assert_columns
from made_up_results import allows
from pairtile import activity, enrichment
from pairtile.config.conditions import ConditionConfig
from pairtile.config.root import models
from pairtile.downstream import activity as activity_stage
from pairtile.downstream import activity_scores
from pairtile.downstream import enrichment as enrichment_stage
from pairtile.downstream.charts import differential_figure
from pairtile.downstream.given import Given
from pairtile.gpu.device import choose
from pairtile.report.results import read_results
from result_files import write_results
from scipy import sparse

REGULATORS, TARGETS, SAMPLES = 6, 20, 48
NAMES = [f"TF{k}" for k in range(REGULATORS)] + [f"G{k}" for k in range(REGULATORS * TARGETS)]
SAMPLE_NAMES = [f"s{k}" for k in range(SAMPLES)]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Six regulators of twenty targets each; the first is more active under the label b."""
    folder = tmp_path_factory.mktemp("stages")
    draw = np.random.default_rng(4)
    label = np.arange(SAMPLES) % 2
    batch = (np.arange(SAMPLES) // 16).astype(np.int32)
    hidden = draw.standard_normal((REGULATORS, SAMPLES))
    hidden[0] += 1.5 * label
    of = np.repeat(np.arange(REGULATORS), TARGETS)
    sign = draw.choice([-1, 1], of.size, p=[0.15, 0.85])
    targets = sign[:, None] * hidden[of] + 0.7 * draw.standard_normal((of.size, SAMPLES))
    values = np.vstack([hidden, targets]) + batch
    rho = np.corrcoef(values)
    network = pd.DataFrame(
        {
            "source": [f"TF{k}" for k in of],
            "target": NAMES[REGULATORS:],
            "mi_bits": np.abs(rho[of, np.arange(of.size) + REGULATORS]),
            "spearman": rho[of, np.arange(of.size) + REGULATORS],
            "drug_b_coexpression_q_value": np.where(of == 2, 0.01, 1.0),
        }
    )
    items = pd.DataFrame({"name": NAMES, "kept": True, "reason": ""})
    items["is_regulator"] = items["name"].str.startswith("TF")
    sets = {f"set {k}": [f"g{k * TARGETS + n}" for n in range(15)] for k in range(REGULATORS)}
    sets |= {f"random {k}": draw.choice(NAMES, 12, replace=False).tolist() for k in range(20)}
    sets |= {"few": ["G0", "G1"], "none": ["x", "y", "z"]}
    lines = [f"{name}\t\t" + "\t".join(genes) + "\n" for name, genes in sets.items()]
    (folder / "sets.gmt").write_text("".join(lines))
    config = models()["mutual_information"].model_validate(
        {
            "method": "mutual_information",
            "expression": "expression.tsv",
            "gene_sets": str(folder / "sets.gmt"),
            "activity": True,
            "ignore_case": True,
        }
    )
    return Given(
        config=config,
        values=values,
        genes=NAMES,
        samples=SAMPLE_NAMES,
        annotations={"drug": [str(k) for k in label], "batch": [str(k) for k in batch]},
        known={"sample_batch": batch},
        items=items,
        network=network,
        folder=folder,
        seed=1,
        device=choose("cpu"),
        directed=True,
    )


def test_enrichment_is_found_in_what_it_was_planted_in(given: Given) -> None:
    written = enrichment_stage.run(given)
    table = given.table("enrichment.tsv")
    assert_columns(given.folder / "enrichment.tsv", "pairtile.downstream")
    assert written.counts["gene_sets_without_genes"] == 1
    assert written.counts["gene_sets_with_few_genes"] == 1
    found = table[table["q_value"] <= 0.05]
    planted = found[found["gene_set"].str.startswith("set")]
    assert set(planted["kind"]) == {"module", "module kME", "regulon", "condition"}
    regulons = planted[planted["kind"] == "regulon"]
    assert dict(zip(regulons["list"], regulons["gene_set"], strict=True)) == {
        f"TF{k}": f"set {k}" for k in range(REGULATORS)
    }
    condition = planted[planted["kind"] == "condition"]
    assert condition[["list", "gene_set"]].to_numpy().tolist() == [["drug_b", "set 2"]]
    assert len(found) - len(planted) <= 0.1 * len(found)
    first = regulons.iloc[0]
    assert first["overlap"] == len(first["genes"].split(";")) == 15
    # The regulator itself is no target: the background is one gene smaller.
    assert first["expected"] == pytest.approx(15 * TARGETS / (len(NAMES) - 1))


def test_the_regulator_of_a_label_is_found(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    drug, batch = ({name: ConditionConfig(name=name)} for name in ("drug", "batch"))
    monkeypatch.setattr(activity_stage, "label_columns", lambda _: drug)
    written = activity_stage.run(given)
    scores = given.table("activity.tsv").set_index("regulator")
    assert scores.shape == (REGULATORS, SAMPLES)
    assert list(scores.columns) == SAMPLE_NAMES
    tests = given.table("activity_tests.tsv")
    assert tests["regulator"][0] == "TF0"
    assert tests["q_value"][0] < 1e-3 < tests["q_value"][1]
    assert tests["effect"][0] > 0.5
    assert tests["viper_p_value"][0] < 1e-3
    assert written.counts["activity_found"] == (tests["q_value"] <= 0.05).sum()
    monkeypatch.setattr(activity_stage, "label_columns", lambda _: batch)
    assert [note.code for note in activity_stage.run(given).messages] == ["untested_label"]
    monkeypatch.undo()
    activity_stage.run(given)
    assert given.table("activity_tests.tsv").empty


def test_the_library_gives_what_the_stages_write(given: Given) -> None:
    activity_stage.run(given)
    expression = pd.DataFrame(given.values, index=NAMES, columns=SAMPLE_NAMES)
    for method, file in (("ulm", "activity.tsv"), ("viper", "activity_viper.tsv")):
        found = activity(expression, given.network, method=method)
        expected = given.table(file).set_index("regulator")
        np.testing.assert_allclose(found, expected, atol=1e-9)
    enrichment_stage.run(given)
    table = enrichment(given.network, given.config.gene_sets, NAMES, ignore_case=True)
    expected = given.table("enrichment.tsv").query("kind == 'regulon'").head(len(table))
    first = table.head(6)
    assert set(zip(first["list"], first["gene_set"], strict=True)) == set(
        zip(expected["list"][:6], expected["gene_set"][:6], strict=True)
    )
    profiles = pd.DataFrame(given.values[:1], index=["TF0"], columns=SAMPLE_NAMES)
    both = enrichment({}, given.config.gene_sets, expression=expression, eigengenes=profiles,
                      ignore_case=True)  # fmt: skip
    assert both["kind"].unique().tolist() == ["module kME"]
    assert both.attrs["counts"]["enrichment_tests"] == 26


def test_regulons_and_lists_in_another_spelling_give_the_same(given: Given) -> None:
    expression = pd.DataFrame(given.values, index=NAMES, columns=SAMPLE_NAMES)
    edges = given.network.assign(target=given.network["target"].str.swapcase())
    found = activity(expression, edges)
    np.testing.assert_allclose(found, activity(expression, given.network), atol=1e-12)
    assert found.index.tolist() == activity(expression, given.network).index.tolist()
    lists = {"mine": NAMES[:12]}
    other = {"mine": [name.swapcase() for name in NAMES[:12]]}
    tables = [enrichment(each, {"s": NAMES[5:30]}, NAMES) for each in (lists, other)]
    pd.testing.assert_frame_equal(*tables)


def test_cells_stay_sparse(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(1).poisson(0.3, (60, len(NAMES))).astype(np.float32)
    cells = anndata.AnnData(sparse.csr_matrix(counts))
    cells.var_names = NAMES
    dense = activity(cells.to_df().T, given.network)
    monkeypatch.setattr(activity_scores, "_dense", lambda *_: pytest.fail("made dense"))
    found = activity(cells, given.network)
    assert found.columns.tolist() == cells.obs_names.tolist()
    np.testing.assert_allclose(found, dense, atol=1e-9)


def test_bad_arguments_are_named(given: Given) -> None:
    expression = pd.DataFrame(given.values, index=NAMES, columns=SAMPLE_NAMES)
    sets = {"set": NAMES[:10]}
    with pytest.raises(ValueError, match="method"):
        activity(expression, given.network, method="mean")
    with pytest.raises(ValueError, match="target"):
        activity(expression, given.network[["source"]])
    with pytest.raises(ValueError, match="from -1 to 1"):
        activity(expression, given.network[["source", "target"]].assign(weight=3.0))
    with pytest.raises(ValueError, match="5 targets"):
        activity(expression, given.network.head(3))
    with pytest.raises(ValueError, match="background"):
        enrichment({"a": NAMES}, sets)
    with pytest.raises(ValueError, match="unknown"):
        enrichment({"a": ["unknown"]}, sets, NAMES)
    with pytest.raises(ValueError, match="eigengenes"):
        enrichment({}, sets, expression=expression, eigengenes=expression.iloc[:2, :3])


def test_a_set_file_is_refused_before_anything_is_scored(given: Given, tmp_path: Path) -> None:
    (tmp_path / "bad.gmt").write_text("one\t\tX1\tX2")
    config = given.config.model_copy(update={"gene_sets": str(tmp_path / "bad.gmt")})
    with pytest.raises(Exception, match=r"bad\.gmt"):
        enrichment_stage.validate(config, given.items)


def test_the_figure_of_differences_shows_the_comparison_with_most(tmp_path: Path) -> None:
    results = read_results(write_results(tmp_path / "net", gold=False))
    assert not allows("differential", results)
    table = pd.DataFrame(
        {
            "source": ["g1", "g2", "g3", "g4"],
            "target": ["g5", "g6", "g7", "g8"],
            "score_a": [0.1, 0.9, 0.0, 0.2],
            "score_b": [np.nan, np.nan, 0.8, np.nan],
            "score_c vs d": [0.9, 0.1, np.nan, 0.3],
            **dict.fromkeys(("difference", "z", "p_value", "q_value"), 0.5),
            "class": ["gained", "lost", "gained", ""],
            "comparison": ["c vs d vs a", "c vs d vs a", "b vs a", "c vs d vs a"],
        }
    )
    table.to_csv(results.folder / "differential.tsv", sep="\t", index=False)
    drawn = differential_figure(results)
    assert drawn is not None
    points = [part.get_offsets().tolist() for part in drawn.figure.axes[0].collections]
    assert points == [[[0.2, 0.3]], [[0.1, 0.9]], [[0.9, 0.1]]]
