"""``method: multimodal_correlation`` from table to network, through its steps and Snakemake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.config.load import load_config
from pairtile.engine import tiles
from pairtile.methods.multimodal_correlation import score as method
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.p_values import correlation_p_value
from pairtile.runtime.files import read_json
from planted_modes import SAMPLES, planted, section
from scipy import stats
from workflow_runs import Analysis, run, write_config


def write(folder: Path, seed: int = 4) -> pd.DataFrame:
    table, annotations = planted(seed=seed)
    table.to_csv(folder / "expression.tsv", sep="\t", index_label="gene")
    annotations.to_csv(folder / "samples.tsv", sep="\t", index=False)
    return table


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t")


def test_the_whole_workflow_through_snakemake(tmp_path: Path) -> None:
    write(tmp_path)
    changes = {"annotations": "samples.tsv", "conditions": ["Treatment"], "chunks": 2}
    write_config(tmp_path, {"modes": section(**changes)})
    done = run(tmp_path)
    assert done.code == 0, done.text
    out = tmp_path / "results/modes"
    network = read(out / "network.tsv").set_index(["source", "target"])
    heat = network.loc[[("g00", "g01")]]
    assert sorted(heat["correlation"].round()) == [-1.0, 1.0]
    assert (heat["n_modes"] == 2).all()
    positive = heat[heat["correlation"] > 0].iloc[0]
    assert positive["Treatment_heat_q_value"] < 1e-6
    assert positive["Treatment_control_p_value"] > 0.9
    assert network.loc[[("g02", "g03")], "n_modes"].tolist() == [1]
    specific = read(out / "condition_networks.tsv")
    labels = set(zip(specific["label"], specific["direction"], strict=True))
    assert labels == {("heat", "positive"), ("control", "negative")}
    assert (out / "kinc.txt").is_file()
    assert (out / "report.html").is_file()
    modules = read(out / "modules.tsv")
    assert set(modules["gene"]) == set(read(out / "network.tsv")[["source", "target"]].stack())
    again = run(tmp_path)
    assert again.done_before, again.text
    # Another threshold scores nothing again.
    threshold = {"method": "score", "score": 0.9}
    write_config(tmp_path, {"modes": section(**changes, threshold=threshold)})
    planned = run(tmp_path, "-n").rules
    assert not {"prepare", "plan", "null", "chunk", "merge"} & planned
    assert {"network", "report"} <= planned


def test_a_pair_of_several_modes_is_evaluated_once(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "gold.tsv").write_text("source\ttarget\ng00\tg01\ng02\tg03\ng00\tg05\n")
    out = Analysis(tmp_path, section(gold_standard="gold.tsv")).pairs().network().evaluate().out
    network = pd.read_parquet(out / "network.parquet")
    found = read_json(out / "evaluation.json")["network"]
    assert found["n_edges"] == len(network[["source", "target"]].drop_duplicates()) < len(network)
    assert len(found["verdicts"]) == len(network)
    assert (found["true_positives"], found["recall"]) == (2, pytest.approx(2 / 3))


@pytest.mark.parametrize("clustering", ["gmm", "none"])
def test_pairs_are_the_same_for_any_chunking_and_order_of_genes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clustering: str
) -> None:
    monkeypatch.setattr(method, "MIXTURE_TILE_EDGE", 8)
    monkeypatch.setattr(tiles, "TILE_EDGE", 8)
    table = write(tmp_path)
    settings = {"max_clusters": 3, "min_samples": 20, "min_correlation": 0.0}
    asked = section(estimator=settings | {"clustering": clustering})
    whole = Analysis(tmp_path, asked, name="whole").pairs().out
    parts = Analysis(tmp_path, asked | {"chunks": 5}, name="parts").pairs().out
    assert (whole / "pairs.parquet").read_bytes() == (parts / "pairs.parquet").read_bytes()
    shuffled = table.sample(frac=1.0, random_state=1)
    shuffled.to_csv(tmp_path / "shuffled.tsv", sep="\t", index_label="gene")
    other = Analysis(tmp_path, asked | {"expression": "shuffled.tsv"}, name="other").pairs().out

    def named(folder: Path) -> pd.DataFrame:
        names = pd.read_parquet(folder / "items.parquet")["name"].to_numpy()
        found = pd.read_parquet(folder / "pairs.parquet")
        ends = np.sort(np.stack([names[found["i"]], names[found["j"]]]).astype(str), axis=0)
        found = found.assign(a=ends[0], b=ends[1])
        columns = ["a", "b", "cluster", "n_samples", "correlation", "samples", "n_modes"]
        return found[columns].sort_values(["a", "b", "cluster"], ignore_index=True)

    left, right = named(whole), named(other)
    pd.testing.assert_frame_equal(left, right, rtol=0, atol=1e-6)


def test_masks_and_p_values_are_those_of_the_values(tmp_path: Path) -> None:
    table = write(tmp_path)
    out = Analysis(tmp_path, section()).pairs().out
    pairs = pd.read_parquet(out / "pairs.parquet")
    values = table.to_numpy()
    assert len(pairs) >= 3
    for row in pairs.itertuples():
        mask = np.frombuffer(row.samples, dtype=np.uint8)
        member = np.unpackbits(mask, count=SAMPLES).astype(bool)
        assert member.sum() == row.n_samples
        expected = stats.spearmanr(values[row.i][member], values[row.j][member])
        assert row.correlation == pytest.approx(expected.statistic, abs=1e-6)
        assert row.p_value == pytest.approx(expected.pvalue, rel=1e-3, abs=1e-12)


def test_replicates_are_warned_of_unless_they_are_stated(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    values = np.repeat(random.normal(size=(60, 20)), 3, axis=1)
    values = 0.9 * values + 0.4 * random.normal(size=values.shape)
    names = [f"s{k}" for k in range(60)]
    genes = [f"g{k}" for k in range(60)]
    pd.DataFrame(values, genes, names).to_csv(tmp_path / "e.tsv", sep="\t", index_label="gene")
    culture = {"sample": names, "culture": [f"c{k // 3}" for k in range(60)]}
    pd.DataFrame(culture).to_csv(tmp_path / "samples.tsv", sep="\t", index=False)
    stated = {"annotations": str(tmp_path / "samples.tsv"), "replicate": "culture"}
    for samples in (None, stated):
        asked = section(expression=str(tmp_path / "e.tsv"), samples=samples)
        config = load_config({"analyses": {"net": asked}}).analyses["net"]
        assert isinstance(config, MultimodalCorrelationConfig)
        found = method.MultimodalCorrelation.prepare(config, 1).warnings
        if samples is None:  # they also lie beside each other
            assert any("60 of 60 samples have near copies" in text for text in found)
        else:
            assert not found


@pytest.mark.complete
def test_kinc_settings_give_its_rice_network_through_the_workflow(
    shared: Path, tmp_path: Path
) -> None:
    golden = shared / "golden/multimodal"
    source = golden / "inputs/rice300.emx.txt"
    (tmp_path / "expression.tsv").write_bytes(source.read_bytes())
    changes = {
        "compatibility": "kinc",
        "preprocess": {"log2": False, "min_samples": 3},
        "estimator": {"min_samples": 25, "min_correlation": 0.0},
        "threshold": {"method": "none"},
        "power": False,
        "kinc_text": True,
    }
    out = Analysis(tmp_path, section(**changes)).all().out
    found = read(out / "kinc.txt")
    names = ["x", "y", "k", "n_kept", "n_samples", "r", "samples"]
    expected = pd.read_csv(
        golden / "rice300.icl_spearman.cmx.txt.gz", sep="\t", names=names, dtype={"samples": str}
    )
    if not str(expected["x"].iloc[0]).isdigit():
        expected = expected.iloc[1:]
    genes = read(tmp_path / "expression.tsv").index
    number = {str(name): k for k, name in enumerate(genes)}
    keys = zip(
        found["Source"].astype(str).map(number),
        found["Target"].astype(str).map(number),
        found["Samples"].astype(str),
        strict=True,
    )
    wanted = set(
        zip(
            expected["x"].astype(int),
            expected["y"].astype(int),
            expected["samples"].astype(str),
            strict=True,
        )
    )
    same = len(wanted & set(keys))
    assert same >= 0.95 * len(wanted)
    assert abs(len(found) - len(wanted)) <= 0.02 * len(wanted)


def test_p_value_of_a_correlation_is_that_of_scipy() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(size=(2, 40))
    expected = stats.pearsonr(x, y)
    r = np.array([expected.statistic, 1.0, -1.0, 0.5])
    p = correlation_p_value(r, np.array([40, 40, 40, 2]))
    assert p[0] == pytest.approx(expected.pvalue, rel=1e-9)
    assert p[1] == p[2] == 0.0
    assert np.isnan(p[3])
