"""The stages modules and traits: their files, by any way to find modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pairtile
import pandas as pd
import pytest
from declared_columns import assert_columns
from pairtile.config.root import models
from pairtile.downstream import enrichment, module_preservation, module_quality, modules, traits
from pairtile.downstream.given import Given
from pairtile.errors import ConfigError, InputError
from pairtile.gpu.device import choose
from pydantic import ValidationError
from scipy.stats import sem, t

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
        assert_columns(given.folder / file, "pairtile.downstream")
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


def test_symbols_stand_beside_names_and_labels_in_the_order_of_their_means(
    given: Given, tmp_path: Path
) -> None:
    symbols = [f"S{k // 2}" if k < 2 else f"S{k}" for k in range(GENES)]  # one of two genes
    given = replace(given, items=given.items.assign(symbol=symbols), folder=tmp_path)
    modules.run(given)
    traits.run(given)
    symbol = dict(zip(given.genes, symbols, strict=True))
    for file, column in (("modules.tsv", "gene"), ("module_summary.tsv", "hub")):
        assert_columns(given.folder / file, "pairtile.downstream")
        table = given.table(file)
        assert table[f"{column}_symbol"].tolist() == table[column].map(symbol).tolist()
    assert given.labels[:3] == ["S0 (g0)", "S0 (g1)", "S2"]
    eigengenes = given.table("eigengenes.tsv").set_index("module").to_numpy(dtype=float)
    z = (eigengenes[0] - eigengenes[0].mean()) / eigengenes[0].std()
    drug = np.array(given.annotations["drug"])
    expected = []
    for label in ("d1", "d0"):  # the higher one first
        some = z[drug == label]
        half = np.diff(t.interval(0.95, some.size - 1, some.mean(), sem(some)))[0] / 2
        expected.append(f"{label} {some.mean():.2f} ± {half:.2f}")
    assert given.table("module_traits.tsv")["means"][0] == ", ".join(expected)


def test_few_different_numbers_are_labels_unless_stated_to_be_quantitative(
    given: Given, tmp_path: Path
) -> None:
    grade = np.arange(SAMPLES) % 3 + 1
    found = {}
    modules.run(given := replace(given, folder=tmp_path, annotations={"grade": [*map(str, grade)]}))
    for kind in ("auto", "quantitative"):
        config = settings(modules={"method": "leiden"}, traits=[{"name": "grade", "kind": kind}])
        traits.run(replace(given, config=config))
        found[kind] = given.table("module_traits.tsv").iloc[0]
    assert found["auto"]["labels"] == "1, 2, 3"
    profile = given.table("eigengenes.tsv").set_index("module").loc[1].to_numpy(dtype=float)
    assert found["quantitative"]["correlation"] == pytest.approx(np.corrcoef(profile, grade)[0, 1])
    assert found["quantitative"][["labels", "means"]].fillna("").tolist() == ["", ""]


@pytest.fixture
def elsewhere(given: Given, tmp_path: Path) -> Given:
    """Another table, without ten genes and in another order: the first module is there, too."""
    draw = np.random.default_rng(8)
    other = draw.standard_normal((GENES, 30))
    other[:40] += 1.5 * draw.standard_normal(30)
    table = pd.DataFrame(other, given.genes, [f"t{k}" for k in range(30)])
    table.iloc[:-10].sample(frac=1.0, random_state=1).to_csv(tmp_path / "other.tsv", sep="\t")
    wanted = settings(
        modules={"method": "wgcna", "power": 6.0}, other_samples=str(tmp_path / "other.tsv")
    )
    return replace(given, config=wanted, folder=tmp_path)


def test_modules_are_looked_for_in_other_samples(elsewhere: Given) -> None:
    modules.run(elsewhere)
    module_preservation.validate(elsewhere.config, elsewhere.items)
    written = module_preservation.run(elsewhere)
    assert [(note.code, note.numbers) for note in written.messages] == [
        ("genes_elsewhere", {"n": GENES - 10, "of": GENES})
    ]
    table = elsewhere.table("module_preservation.tsv").set_index("module")
    assert_columns(elsewhere.folder / "module_preservation.tsv", "pairtile.downstream")
    first = elsewhere.table("modules.tsv").query("module == 1")["gene"].isin(elsewhere.genes[:40])
    assert first.mean() > 0.9
    assert table.loc[1, "z_summary"] > 5 > 2 > table.loc[2, "z_summary"]
    assert written.counts["modules_elsewhere"] == 2
    assert written.counts["modules_kept"] == 1
    known = pd.read_csv(elsewhere.config.other_samples, sep="\t", index_col=0)
    names = [name for name in elsewhere.genes if name in known.index]
    mine = pd.DataFrame(elsewhere.values, elsewhere.genes).loc[names]
    expected = pairtile.module_preservation(
        mine, known, elsewhere.table("modules.tsv").query("gene in @names"), power=6.0
    )
    np.testing.assert_allclose(table["z_summary"], expected["z_summary"], rtol=1e-6)


def test_shared_modules_are_those_of_both_tables(elsewhere: Given) -> None:
    wanted = settings(
        modules={"method": "wgcna", "consensus": True, "power": 6.0},
        other_samples=elsewhere.config.other_samples,
    )
    counts = modules.run(replace(elsewhere, config=wanted)).counts
    table = elsewhere.table("modules.tsv").query("module > 0")
    assert counts["modules_found"] == 1
    assert table["p_value"].isna().all()
    assert table["gene"].isin(elsewhere.genes[:40]).mean() > 0.9
    assert len(table) >= 36


def test_a_table_of_other_genes_is_refused(elsewhere: Given, tmp_path: Path) -> None:
    renamed = pd.DataFrame(np.ones((4, 5)), [*elsewhere.genes[:2], "x", "y"], list("abcde"))
    renamed.to_csv(tmp_path / "few.tsv", sep="\t")
    config = elsewhere.config.model_copy(update={"other_samples": str(tmp_path / "few.tsv")})
    with pytest.raises(InputError, match=r"few\.tsv: found 2 "):
        module_preservation.validate(config, elsewhere.items)
    with pytest.raises(InputError, match=r"few\.tsv: found"):
        module_preservation.run(replace(elsewhere, config=config))


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
        {"other_samples": "o.tsv"},
        {"modules": {"method": "wgcna", "consensus": True}},
        {"modules": {"consensus": True}, "other_samples": "o.tsv"},
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
