"""Annotations that explain what samples share are named, with the line that takes it off."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile import infer_network, prepare_expression
from pairtile.config.preprocess import Preprocess
from pairtile.config.samples import SamplesConfig
from pairtile.errors import InputError
from pairtile.io.anndata_file import read_obs
from pairtile.io.annotations import AnnotationTable
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import Prepared
from pairtile.preprocess.expression import prepare_expression as prepare
from pairtile.preprocess.null_design import dependence_arrays
from pairtile.preprocess.samples import arrange_samples
from pairtile.statistics.hidden_factors import Decomposed, find_hidden_factors
from pairtile.statistics.sample_effects import Left, orthonormal
from scipy.ndimage import gaussian_filter

Values = NDArray[np.float64]
GENES, SAMPLES = 120, 72
NAMED = {"annotation_explains", "annotation_explains_little"}


def prepared(
    values: Values, columns: dict[str, list[str]], regress_out: tuple[str, ...] = (), **stated: str
) -> Prepared:
    names = [f"s{k}" for k in range(values.shape[1])]
    table = AnnotationTable("sheet", names, columns, [""] * len(names), [])
    given = Expression(values, [f"g{k}" for k in range(len(values))], names)
    samples = SamplesConfig(**{"annotations": "sheet", **stated})  # type: ignore[arg-type]
    arranged, design = arrange_samples(given, samples, regress_out, table=table)
    settings = Preprocess(log2=False, normalize="none", min_samples=10, regress_out=regress_out)
    return prepare(arranged, settings, design=design)


def shifted(random: np.random.Generator, labels: NDArray[np.str_], sd: float) -> Values:
    """Levels of half of the genes, another under each label."""
    codes = np.unique(labels, return_inverse=True)[1]
    levels = sd * random.normal(size=(GENES, codes.max() + 1))
    levels[GENES // 2 :] = 0.0
    return np.asarray(levels[:, codes])


def irrelevant(random: np.random.Generator, samples: int = SAMPLES) -> dict[str, list[str]]:
    return {
        "sex": random.choice(["F", "M"], samples).tolist(),
        "age": random.integers(20, 80, samples).astype(str).tolist(),
        "person": [f"p{k}" for k in range(samples)],
        "rin": [f"{x:.2f}" for x in random.normal(8, 1, samples)],
        "lane": random.choice(["L1", "L2", "L3", "L4"], samples).tolist(),
        "constant": ["x"] * samples,
        "empty": [""] * samples,
    }


def named_of(found: Prepared) -> tuple[str, ...]:
    said = [m for m in found.warnings if m.code in NAMED]
    assert bool(said) == bool(found.design.named)
    assert all(f"{name}" in said[0] for name in found.design.named)
    return found.design.named


def correlated(found: Prepared) -> float:
    """Share of unrelated pairs with p <= 0.05 by the degrees of freedom that are left."""
    basis = orthonormal(found.design.removed)
    rows = found.values - found.values.mean(axis=1, keepdims=True)
    return Left.of_rows(rows / rows.std(axis=1, keepdims=True), basis).passing


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_explain_are_named_and_others_are_not(seed: int) -> None:
    random = np.random.default_rng(seed)
    tissue = np.repeat(["liver", "lung", "skin"], SAMPLES // 3)
    values = random.normal(size=(GENES, SAMPLES)) + shifted(random, tissue, 1.5)
    sheet = {**irrelevant(random), "tissue": tissue.tolist()}
    found = prepared(values, sheet)
    assert named_of(found) == ("tissue",)
    [said] = [m for m in found.warnings if m.code in NAMED]
    assert said.severity == "severe"
    assert "preprocess: {regress_out: [tissue]}" in said
    # What a column explains is not warned of again.
    shares, _ = dependence_arrays(found.values, found.design.state)
    assert (shares.factors, shares.groups, shares.alike) == (0, (), 0.0)
    assert dependence_arrays(found.values, {})[0].groups
    cured = prepared(values, sheet, ("tissue",))
    assert named_of(cured) == ()
    assert correlated(cured) < 0.06 < 0.12 < correlated(found)


def test_nested_and_equal_columns_make_one_line_that_works() -> None:
    random = np.random.default_rng(1)
    samples = 96
    family = np.repeat([f"F{k}" for k in range(samples // 4)], 4)
    population = np.repeat(["a", "b", "c"], samples // 3)
    values = random.normal(size=(GENES, samples)) + shifted(random, population, 1.0)
    values += np.repeat(random.normal(size=(GENES, samples // 4)), 4, axis=1)
    sheet = {"population": population.tolist(), "family": family.tolist()}
    sheet["household"] = [f"at {name}" for name in family]
    found = prepared(values, {**irrelevant(random, samples), **sheet})
    assert named_of(found) == ("family",)
    assert "'household'" in next(m for m in found.warnings if m.code in NAMED)
    assert not dependence_arrays(found.values, found.design.state)[0].near_copies


def test_several_columns_and_what_is_stated_stand_in_one_line() -> None:
    random = np.random.default_rng(2)
    tissue = random.choice(["liver", "lung"], SAMPLES)
    batch = random.choice(["b1", "b2", "b3"], SAMPLES)
    values = random.normal(size=(GENES, SAMPLES))
    values += shifted(random, tissue, 1.2) + shifted(random, batch, 1.2)
    sheet = {"tissue": tissue.tolist(), "batch": batch.tolist()}
    assert set(named_of(prepared(values, sheet))) == {"tissue", "batch"}
    stated = prepared(values, sheet, batch="batch")
    assert named_of(stated) == ("tissue",)
    assert "regress_out: [batch, tissue]" in next(m for m in stated.warnings if m.code in NAMED)
    assert stated.design.degrees_given_up == 0
    assert correlated(prepared(values, sheet, ("batch", "tissue"))) < 0.06


def test_hours_are_taken_off_as_a_smooth_curve() -> None:
    random = np.random.default_rng(3)
    hours = np.repeat([0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24], 3)
    courses = np.stack([np.exp(-hours / 3), hours / 4 * np.exp(1 - hours / 4)])
    answers = np.where(random.random((GENES, 1)) < 0.6, random.normal(size=(GENES, 2)), 0.0)
    values = random.normal(size=(GENES, hours.size)) + 5 * answers @ courses
    sheet = {**irrelevant(random, hours.size), "hours": [f"{h}" for h in hours]}
    found = prepared(values, sheet)
    assert named_of(found) == ("hours",)
    assert "regress_out: [smooth(hours)]" in next(m for m in found.warnings if m.code in NAMED)
    cured = prepared(values, sheet, ("smooth(hours)",))
    assert named_of(cured) == ()
    assert correlated(cured) < 0.075 < 0.15 < correlated(found)
    assert 2 <= cured.design.degrees_given_up <= 8
    with pytest.raises(InputError, match=r"smooth\(sex\)"):
        prepared(values, sheet, ("smooth(sex)",))


@pytest.mark.parametrize("of_file", [True, False])
def test_places_of_spots_are_taken_off_as_a_surface(of_file: bool) -> None:
    random = np.random.default_rng(4)
    side = 18
    fields = gaussian_filter(random.normal(size=(GENES, side, side)), (0, 2, 2), mode="wrap")
    values = random.normal(size=(GENES, side * side))
    smooth = fields.reshape(GENES, -1)
    values += smooth / smooth.std()
    row, column = np.divmod(np.arange(side * side), side)
    order = random.permutation(side * side)
    places = [f"{x} {y}" for x, y in zip(row[order] * 100.5, column[order] * 100.5, strict=True)]
    sheet = {"place": places}
    if not of_file:
        sheet = {"row": row[order].astype(str).tolist(), "col": column[order].astype(str).tolist()}
    found = prepared(values[:, order], {**irrelevant(random, side * side), **sheet})
    assert named_of(found) == tuple(sheet)
    line = "[place]" if of_file else "[smooth(row:col)]"
    assert f"regress_out: {line}" in next(m for m in found.warnings if m.code in NAMED)
    cured = prepared(values[:, order], sheet, (line[1:-1],))
    assert correlated(cured) < 0.06 < 0.15 < correlated(found)


@pytest.mark.parametrize("kind", ["unrelated", "two modules of a quarter"])
def test_good_tables_have_no_column_named(kind: str) -> None:
    named = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        values = random.normal(size=(GENES, 40))
        if kind != "unrelated":
            values[:60] += 1.2 * np.repeat(random.normal(size=(2, 40)), 30, axis=0)
        found = prepared(values, irrelevant(random, 40))
        named += bool(found.warnings)
        shares, _ = dependence_arrays(found.values, found.design.state)
        assert (shares.factors, shares.groups, shares.alike) == (0, (), 0.0)
    assert named <= 1


def test_strong_modules_are_none_of_samples() -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        modules = np.repeat(random.normal(size=(2, 60)), GENES // 2, axis=0)
        values = modules + 0.6 * random.normal(size=(GENES, 60))
        found, _ = dependence_arrays(values, {})
        assert (found.factors, found.alike) == (0, 0.0)


def test_degrees_that_effects_took_are_no_factors() -> None:
    """24 samples, 12 groups of which effects were removed: what is left lies in 12 dimensions."""
    random = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 2)
    values = random.normal(size=(400, 24)) + random.normal(size=(400, 12))[:, groups]
    found = prepared(values, {"group": [f"g{k}" for k in groups]}, ("group",))
    removed = orthonormal(found.design.removed)
    assert not find_hidden_factors(Decomposed.of_values(found.values, removed)).strong
    assert not dependence_arrays(found.values, found.design.state)[0].factors


def test_effects_that_leave_nothing_are_refused() -> None:
    random = np.random.default_rng(6)
    sheet = {"pair": [f"p{k // 2}" for k in range(20)], "own": [f"o{k}" for k in range(20)]}
    sheet["run"] = [f"r{k // 4}" for k in range(20)]
    sheet["other"] = [f"x{k % 5}" for k in range(20)]
    values = random.normal(size=(30, 20))
    prepared(values, sheet, ("pair",))
    with pytest.raises(InputError, match="columns 'pair', 'other'"):
        prepared(values, sheet, ("pair", "other"))
    with pytest.raises(InputError, match="0 of 19 degrees"):
        prepared(values, sheet, batch="own")


def test_a_stated_batch_is_taken_off_and_keeps_power() -> None:
    """Two donors that differ in an eighth of the genes: planted pairs are found as in values that
    are centred in each donor."""
    random = np.random.default_rng(7)
    genes, samples = 160, 400
    donor = random.permutation(np.repeat(["D1", "D2"], [240, 160]))
    values = random.normal(size=(genes, samples))
    values[40:80] = 0.3 * values[:40] + np.sqrt(1 - 0.09) * values[40:80]
    centred = values.copy()
    values[::8] += 3.0 * (donor == "D2")
    for label in ("D1", "D2"):
        here = donor == label
        centred[:, here] -= centred[:, here].mean(axis=1, keepdims=True)

    def edges(table: Values, **stated: object) -> set[tuple[int, int]]:
        found = infer_network(
            table, backend="cpu", score="mi", dpi=False, keep={"fdr": 0.05}, **stated
        )
        ends = np.sort(found[["source", "target"]].to_numpy(dtype=int), axis=1)
        return set(map(tuple, ends.tolist()))

    true = {(k, k + 40) for k in range(40)}
    found, best = edges(values, batch=donor), edges(centred)
    assert len(found & true) >= 0.95 * len(best & true) > 30
    assert len(found - true) <= 0.1 * len(found)
    ready = prepare_expression(values)
    assert edges(ready, batch=donor) == found
    assert (ready.values[:, donor == "D2"].mean(axis=1)[::8] > 1.0).all()  # is not changed


def test_unrelated_genes_in_batches_keep_their_error_rate() -> None:
    passing = []
    for seed in range(6):
        random = np.random.default_rng([seed, 8])
        batch = random.permutation(np.arange(60) % 12)
        values = random.normal(size=(GENES, 60))
        values[:40] += 2.0 * random.normal(size=(40, 12))[:, batch]
        found = infer_network(
            values, backend="cpu", score="mi", dpi=False, keep={"p_value": 0.05}, batch=batch
        )
        passing.append(len(found) / (GENES * (GENES - 1) / 2))
    assert 0.044 < np.mean(passing) < 0.06


def test_swapped_samples_and_copies_are_named() -> None:
    random = np.random.default_rng(9)
    tissue = np.repeat(["kidney", "spleen"], 24)
    values = random.normal(size=(GENES, 48)) + shifted(random, tissue, 2.0)
    values = np.hstack([values, values[:, [2, 40]] + 0.2 * random.normal(size=(GENES, 2))])
    said = np.append(tissue, tissue[[2, 40]])
    people = [f"p{k}" for k in (*range(48), 2, 40)]
    right = prepared(values, {"tissue": said.tolist(), "person": people}, ("tissue",))
    assert {m.code for m in right.warnings} == {"copied_samples"}
    said[[4, 29]] = said[[29, 4]]
    found = prepared(values, {"tissue": said.tolist(), "person": people}, ("tissue",))
    messages = {m.code: m for m in found.warnings}
    assert messages.keys() == {"copied_samples", "swapped_samples"}
    assert messages["swapped_samples"].numbers["n"] == 2
    assert all(name in messages["swapped_samples"] for name in ("s4 ", "s29 "))
    assert "s2 = s48, s40 = s49" in messages["copied_samples"]
    assert "samples: {replicate: person}" in messages["copied_samples"]
    values[:, 48:] = values[:, [2, 40]]
    assert "same values" in next(m for m in prepared(values, {"sex": ["F", "M"] * 25}).warnings)


def test_measurements_of_one_specimen_are_to_be_averaged() -> None:
    random = np.random.default_rng(10)
    values = np.repeat(random.normal(size=(GENES, 30)), 3, axis=1)
    values += 0.4 * random.normal(size=values.shape)
    order = random.permutation(90)
    sheet = {"specimen": [f"x{k // 3}" for k in order]}
    found = prepared(values[:, order], sheet)
    assert named_of(found) == ("specimen",)
    assert "samples: {replicate: specimen}" in next(m for m in found.warnings if m.code in NAMED)


def test_obs_and_places_of_an_anndata_file_are_looked_at(tmp_path: Path) -> None:
    obs = pd.DataFrame({"donor": ["a", "b", "a"], "depth": [5.0, 6.5, 7.0]}, index=list("xyz"))
    data = anndata.AnnData(np.ones((3, 2), np.float32), obs=obs)
    data.obsm["spatial"] = np.array([[0.0, 1.5], [2.0, 3.0], [4.0, 5.0]])
    data.obsm["X_umap"] = np.zeros((3, 2))
    data.write_h5ad(tmp_path / "t.h5ad")
    table = read_obs(tmp_path / "t.h5ad", ["donor"], ["x", "z"])
    assert table.columns == {"donor": ["a", "a"]}
    assert table.others == {"depth": ["5", "7"], "spatial": ["0 1.5", "4 5"]}
    asked = read_obs(tmp_path / "t.h5ad", ["spatial"], ["y"])
    assert asked.columns == {"spatial": ["2 3"]}


def test_totals_of_the_table_itself_are_not_named() -> None:
    """They go with every module: taken off, they tie unrelated genes to each other."""
    random = np.random.default_rng(3)
    donor = random.choice(["d1", "d2"], 400)
    levels = 0.6 * random.normal(size=(GENES, 400)) + shifted(random, donor, 1.0)
    levels[:30] += 0.6 * random.normal(size=400)  # a module
    counts = random.poisson(np.exp(levels) * random.lognormal(0.0, 0.4, 400)).astype(float)
    data = anndata.AnnData(
        counts.T,
        obs=pd.DataFrame({"donor": donor, "n_genes": (counts > 0).sum(axis=0)}).set_axis(
            [f"c{k}" for k in range(400)]
        ),
    )
    data.obs["total_counts"] = counts.sum(axis=0)
    [said] = [m for m in prepare_expression(data).messages if m.code in NAMED]
    assert "preprocess: {regress_out: [donor]}" in said
    regulators = list(data.var_names[::10])
    by_name = infer_network(data, regulators=regulators, batch="donor", backend="cpu")
    by_label = infer_network(data, regulators=regulators, batch=donor, backend="cpu")
    pd.testing.assert_frame_equal(by_name, by_label)
    with pytest.raises(ValueError, match=r"batch: found 'plate'.*a column of obs"):
        infer_network(data, batch="plate")
