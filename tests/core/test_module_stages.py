"""The stages modules and traits: their files, by any way to find modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.config.root import models
from pairtile.declare.columns import declared_columns
from pairtile.downstream import enrichment, module_quality, modules, traits
from pairtile.downstream.given import Given
from pairtile.errors import ConfigError
from pairtile.gpu.device import choose
from pydantic import ValidationError

GENES, SAMPLES = 160, 36


def settings(method: str = "mutual_information", **more):
    base = {"method": method, "expression": "e.tsv", "samples": {"annotations": "s.tsv"}}
    return models()[method].model_validate(base | more)


@pytest.fixture(autouse=True)
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_quality, "MAX_TABLES", 19)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    """Two modules of 40 and 30 genes; the eigengene of the first goes with a drug."""
    draw = np.random.default_rng(3)
    drug = np.arange(SAMPLES) % 2
    values = draw.standard_normal((GENES, SAMPLES))
    values[:40] += 1.5 * (draw.standard_normal(SAMPLES) + 2 * drug)
    values[40:70] += 1.5 * draw.standard_normal(SAMPLES)
    names = [f"g{k}" for k in range(GENES)]
    r = np.corrcoef(values)
    i, j = np.nonzero(np.triu(np.abs(r) > 0.55, 1))
    network = pd.DataFrame({"source": i, "target": j, "mi_bits": np.abs(r[i, j])})
    network[["source", "target"]] = np.array(names)[network[["source", "target"]]]
    items = pd.DataFrame({"name": names, "kept": True, "reason": "", "is_regulator": False})
    return Given(
        config=settings(modules={"method": "leiden"}, traits=["drug"]),
        values=values,
        genes=names,
        samples=[f"s{k}" for k in range(SAMPLES)],
        annotations={"drug": [f"d{k}" for k in drug]},
        known={},
        items=items,
        network=network,
        folder=tmp_path_factory.mktemp("stages"),
        seed=1,
        device=choose("cpu"),
    )


def columns(file: str, samples: list[str]) -> list[str]:
    found = [name for some in declared_columns("pairtile.downstream", file) for name in some.names]
    return [n for name in found for n in (samples if name == "SAMPLE" else [name])]


@pytest.mark.parametrize("method", ["leiden", "wgcna"])
def test_modules_and_the_trait_of_one_are_found(given: Given, method: str) -> None:
    wanted = settings(modules={"method": method, "power": 6.0}, traits=["drug"])
    given = replace(given, config=wanted)
    written = modules.run(given)
    counts = written.counts
    assert counts["modules_found"] == 2
    assert counts["module_genes"] + counts["module_genes_unassigned"] == GENES
    found = traits.run(given)
    assert found.counts == {"module_trait_tests": 2, "module_traits_found": 1}
    for file in ("modules.tsv", "module_summary.tsv", "eigengenes.tsv", "module_membership.tsv",
                 "module_traits.tsv"):  # fmt: skip
        assert given.table(file).columns.tolist() == columns(file, given.samples), file
    table = given.table("modules.tsv").set_index("gene")
    members = table[table["module"] == 1].index
    assert set(members) & set(given.genes[:40]) >= set(given.genes[5:30]) & set(members)
    assert members.isin(given.genes[:40]).sum() >= 36
    summary = given.table("module_summary.tsv")
    membership = given.table("module_membership.tsv")
    assert len(membership) == 2 * GENES
    assert summary["genes"].tolist() == membership.groupby("module")["member"].sum().tolist()
    eigengene = given.table("eigengenes.tsv").set_index("module").loc[1].to_numpy(dtype=float)
    assert np.linalg.norm(eigengene) == pytest.approx(1.0)
    hub = given.values[given.genes.index(summary["hub"][0])]
    assert summary["hub_kme"][0] == pytest.approx(np.corrcoef(hub, eigengene)[0, 1])
    first = given.table("module_traits.tsv").iloc[0]
    assert (first["trait"], first["labels"], first["units"]) == ("drug", "d0, d1", SAMPLES)
    assert first["correlation"] > 0.5


def test_without_modules_there_are_tables_without_rows(given: Given, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    noise = draw.standard_normal((GENES, SAMPLES))
    empty = replace(
        given, values=noise, network=given.network[:0], folder=tmp_path,
        config=settings(modules={"method": "leiden"}, traits=["drug"]),
    )  # fmt: skip
    written = modules.run(empty)
    assert [note.code for note in written.messages] == ["no_modules"]
    assert traits.run(empty).counts["module_trait_tests"] == 0
    assert empty.table("modules.tsv")["module"].tolist() == [0] * GENES
    assert empty.table("module_traits.tsv").empty


def test_modes_keep_their_own_modules_unless_eigengenes_are_asked_for() -> None:
    own = settings("multimodal_correlation")
    assert own.gene_modules is None
    assert "modules.tsv" in own.result_tables()
    for section in ({"eigengenes": True}, {"method": "wgcna"}, {}):  # traits are of eigengenes
        asked = settings("multimodal_correlation", modules=section, traits=["drug"])
        assert asked.gene_modules is asked.modules
        assert "modules.tsv" not in asked.result_tables()


@pytest.mark.parametrize(
    "section",
    [
        {"traits": ["drug"]},
        {"traits": ["drug"], "modules": {}, "samples": {}},
        {"modules": {"method": "louvain"}},
        {"modules": {"power": 0.5}},
        {"modules": {"max_p": 0}},
        {"modules": {"deep_split": 5}},
    ],
)
def test_settings_that_do_not_fit_are_refused(section) -> None:
    with pytest.raises((ValidationError, ConfigError)):
        settings(**section)
    for section in (False, {"eigengenes": False}):
        with pytest.raises((ValidationError, ConfigError)):
            settings("multimodal_correlation", modules=section, traits=["drug"])
    with pytest.raises((ValidationError, ConfigError)):
        settings(
            "multimodal_correlation", modules={"method": "link_communities", "eigengenes": True}
        )


def test_enrichment_takes_these_modules(given: Given, tmp_path: Path) -> None:
    sets = tmp_path / "sets.gmt"
    sets.write_text("one\t\t" + "\t".join(given.genes[:20]) + "\n")
    asked = settings(modules={"method": "leiden"}, gene_sets=str(sets))
    given = replace(given, config=asked, folder=tmp_path)
    modules.run(given)
    enrichment.run(given)
    table = given.table("enrichment.tsv")
    assert set(table["kind"]) == {"module", "module kME"}
    best = table.drop_duplicates("kind")
    assert (best["list"].astype(str) == "1").all()
    assert (best["q_value"] < 0.01).all()
