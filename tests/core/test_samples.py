"""The section ``samples``: replicates averaged, time courses in order, effects removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from pairtile.config.preprocess import TableAnalysis
from pairtile.config.samples import SamplesConfig
from pairtile.declare.messages import Message
from pairtile.errors import InputError
from pairtile.io.expression import Expression
from pairtile.preprocess.expression import prepare_expression
from pairtile.preprocess.samples import arrange_samples, read_arranged, remove_effects
from pydantic import ValidationError
from scipy import sparse

TABLE = """sample\tcourse\thour\tplate\tspecimen
s1\tA\t10\tp\ta10
s2\tA\t2\tp\ta2
s3\tB\t1\tq\tb1
s4\tA\t2\tp\ta2
s5\tB\t0\tq\t
s6\tB\t3\tq\t
"""


def annotations(tmp_path: Path, **columns: str) -> SamplesConfig:
    path = tmp_path / "samples.tsv"
    path.write_text(TABLE)
    return SamplesConfig(annotations=str(path), **columns)


def expression() -> Expression:
    values = np.array([[1.0, 2.0, 3.0, 6.0, 5.0, 6.0], [np.nan, np.nan, 3.0, 4.0, 5.0, np.nan]])
    return Expression(values, ["x", "y"], [f"s{k}" for k in range(1, 7)])


def test_nothing_stated_changes_nothing() -> None:
    given = expression()
    found, design = arrange_samples(given, SamplesConfig())
    assert found is given
    assert design.state == {}


def test_replicates_are_averaged_and_courses_put_in_order(tmp_path: Path) -> None:
    config = annotations(tmp_path, series="course", time="hour", batch="plate")
    config = config.model_copy(update={"replicate": "specimen"})
    found, design = arrange_samples(expression(), config)
    assert found.samples == ["s2", "s1", "s5", "s3", "s6"]  # within A and B by hour; s4 is in s2
    np.testing.assert_array_equal(found.values[0], [4.0, 1.0, 5.0, 3.0, 6.0])
    np.testing.assert_array_equal(found.values[1], [4.0, np.nan, 5.0, 3.0, np.nan])
    assert design.state["sample_series"].tolist() == [0, 0, 1, 1, 1]
    assert design.state["sample_batch"].tolist() == [0, 0, 1, 1, 1]
    assert design.counts == {"samples_averaged": 1, "sample_series": 2, "sample_batch": 2}


@pytest.mark.parametrize("unknown", ["-99", ""])
def test_a_code_under_regress_out_is_refused_with_what_leaves_the_sample_out(
    tmp_path: Path, unknown: str
) -> None:
    sheet = tmp_path / "samples.tsv"
    rows = ["sample\tRIN", *(f"s{k}\t{8 - k / 10:.1f}" for k in range(1, 13)), f"s13\t{unknown}"]
    sheet.write_text("\n".join(rows) + "\n")
    given = Expression(np.random.default_rng(1).normal(size=(3, 13)), list("xyz"), names_of(13))
    config = SamplesConfig(annotations=str(sheet))
    with pytest.raises(InputError, match=r"sample 's13'.*unannotated: leave_out"):
        arrange_samples(given, config, ("RIN",))
    sheet.write_text("\n".join(rows[:-1]) + "\n")
    found, design = arrange_samples(
        given, config.model_copy(update={"unannotated": "leave_out"}), ("RIN",)
    )
    assert found.samples == names_of(12)
    assert design.covariates.shape == (12, 1)


def names_of(n: int) -> list[str]:
    return [f"s{k}" for k in range(1, n + 1)]


def test_counts_of_cells_are_summed_by_a_column_of_obs(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    counts = rng.poisson(60.0, size=(4, 60)).astype(float)
    cells = pd.DataFrame(index=[f"c{k}" for k in range(60)])
    cells["donor"] = pd.Categorical(rng.choice([f"d{k}" for k in range(9)], 60))
    cells.loc["c5", "donor"] = None
    cells["batch"] = [int(str(donor)[-1]) % 2 if donor == donor else 0 for donor in cells["donor"]]
    path = tmp_path / "t.h5ad"
    var = pd.DataFrame(index=list("abcd"))
    anndata.AnnData(sparse.csr_matrix(counts.T), obs=cells, var=var).write_h5ad(path)
    section: dict[str, Any] = {"method": "m", "expression": str(path)}
    section["samples"] = {"replicate": "donor", "batch": "batch"}
    found, design = read_arranged(TableAnalysis.model_validate(section))
    names = list(dict.fromkeys(cells["donor"].astype(object).fillna("c5")))
    want = [
        counts[:, (cells["donor"] == name) | (cells.index == name)].sum(axis=1) for name in names
    ]
    np.testing.assert_array_equal(found.values, np.transpose(want))
    assert design.batch.size == 10
    assert design.counts["samples_summed"] == 50
    assert any("60 samples became 10" in note and "summed; 1 " in note for note in design.notes)
    section["samples"]["combine"] = "mean"
    means, _ = read_arranged(TableAnalysis.model_validate(section))
    n_cells = [max(1, (cells["donor"] == name).sum()) for name in names]
    np.testing.assert_allclose(means.values, found.values / n_cells)
    section["samples"] = {"batch": "donor"}
    with pytest.raises(InputError, match="obs, row 6, column 'donor', sample 'c5'"):
        read_arranged(TableAnalysis.model_validate(section))


def test_a_gene_that_no_cell_of_a_donor_has_a_value_of_stays_missing(tmp_path: Path) -> None:
    config = annotations(tmp_path, replicate="specimen", combine="sum")
    found, _ = arrange_samples(expression(), config)
    np.testing.assert_array_equal(found.values[0], [1.0, 8.0, 3.0, 5.0, 6.0])
    np.testing.assert_array_equal(found.values[1], [np.nan, 4.0, 3.0, 5.0, np.nan])


def test_columns_of_a_text_table_need_annotations() -> None:
    section = {"method": "m", "expression": "t.tsv", "samples": {"replicate": "donor"}}
    with pytest.raises(ValidationError, match="samples beside its columns"):
        TableAnalysis.model_validate(section)


def test_replicates_of_two_courses_are_refused(tmp_path: Path) -> None:
    config = annotations(tmp_path, series="specimen", replicate="course")
    with pytest.raises(InputError, match="an empty cell"):
        arrange_samples(expression(), config)
    config = annotations(tmp_path, time="hour", replicate="course")
    with pytest.raises(InputError, match=r"line 3, column 'hour': found '2' for a replicate .*'A'"):
        arrange_samples(expression(), config)


def test_wrong_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'plates'"):
        arrange_samples(expression(), annotations(tmp_path, batch="plates"))
    with pytest.raises(
        InputError, match=r"line 2, column 'plate', sample 's1': found 'p'; expected a number"
    ):
        arrange_samples(expression(), annotations(tmp_path, time="plate"))
    with pytest.raises(InputError, match="no column 'sex'"):
        arrange_samples(expression(), annotations(tmp_path), ("sex",))


def test_a_cell_that_is_no_number_makes_no_column_of_labels(tmp_path: Path) -> None:
    names = [f"s{k}" for k in range(8)]
    ages = ["31", "44.5", "52", "n.d.", "28", "39", "61", "70"]
    path = tmp_path / "samples.tsv"
    path.write_text(
        "sample\tage\n" + "".join(f"{s}\t{a}\n" for s, a in zip(names, ages, strict=True))
    )
    table = Expression(np.ones((2, 8)), ["x", "y"], names)
    config = SamplesConfig(annotations=str(path))
    with pytest.raises(InputError, match=r"line 5, column 'age', sample 's3': found 'n\.d\.'"):
        arrange_samples(table, config, ("age",))
    with pytest.raises(InputError, match="0 of 7 degrees of freedom"):  # eight labels
        arrange_samples(table, config.model_copy(update={"batch": "age"}))


def test_effects_of_labels_and_numbers_are_removed(tmp_path: Path) -> None:
    _, design = arrange_samples(expression(), annotations(tmp_path), ("plate", "hour"))
    covariates = design.covariates
    assert covariates.shape == (6, 2)
    random = np.random.default_rng(4)
    noise = random.normal(size=(40, 6))
    values = 7.0 + noise + random.normal(size=(40, 2)) @ covariates.T
    values[0, 2] = np.nan
    values[1] = 3.0  # constant
    values[2] = covariates[:, 0]  # explained wholly
    mean = np.nanmean(values, axis=1)
    found = values.copy()
    remove_effects(found, covariates)
    np.testing.assert_allclose(np.nanmean(found, axis=1), mean)
    assert np.isnan(found[0]).tolist() == np.isnan(values[0]).tolist()
    assert np.ptp(found[1]) == 0.0
    assert np.ptp(found[2]) == 0.0
    for row in (0, 5):
        seen = ~np.isnan(values[row])
        design_matrix = np.column_stack([np.ones(seen.sum()), covariates[seen]])
        fit = design_matrix @ np.linalg.lstsq(design_matrix, values[row, seen], rcond=None)[0]
        np.testing.assert_allclose(found[row, seen] - mean[row], values[row, seen] - fit)


def analysis(tmp_path: Path, text: str, **keys: Any) -> TableAnalysis:
    path = tmp_path / "t.tsv"
    path.write_text(text)
    return TableAnalysis.model_validate(
        {"method": "any", "expression": str(path), "preprocess": {"min_samples": 3}} | keys
    )


COUNTS = "gene\tsymbol\ta\tb\tc\td\n" + "".join(
    f"g{k}\tS{k}\t{k + 30}\t0\t{2 * k + 20}\t{50 - k}\n" for k in range(9)
)


@pytest.mark.parametrize("normalize", ["auto", "cpm", "tmm", "none"])
def test_samples_without_any_count_are_left_out(tmp_path: Path, normalize: str) -> None:
    config = analysis(tmp_path, COUNTS)
    expression, design = read_arranged(config)
    assert expression.samples == ["a", "c", "d"]
    settings = config.preprocess.model_copy(update={"normalize": normalize})
    prepared = prepare_expression(expression, settings, design=design)
    found = {w.code: w for w in prepared.warnings if isinstance(w, Message)}["empty_samples"]
    assert (found.severity, found.numbers["n"]) == ("warning", 1)
    assert prepared.items["symbol"].tolist() == [f"S{k}" for k in range(9)]
    assert not any(note in prepared.warnings for note in prepared.notes)


def test_samples_of_zeros_among_fractions_stay(tmp_path: Path) -> None:
    text = "gene\ta\tb\tc\td\n" + "".join(f"g{k}\t{k / 7}\t0\t1.5\t2\n" for k in range(5))
    assert read_arranged(analysis(tmp_path, text))[0].samples == ["a", "b", "c", "d"]
    binary = "gene\ta\tb\tc\td\n" + "".join(f"g{k}\t1\t0\t{k % 2}\t1\n" for k in range(5))
    assert read_arranged(analysis(tmp_path, binary))[0].samples == ["a", "b", "c", "d"]


def test_too_few_samples_with_counts_are_refused(tmp_path: Path) -> None:
    text = "gene\ta\tb\tc\n" + "".join(f"g{k}\t{k + 30}\t0\t20\n" for k in range(5))
    with pytest.raises(InputError, match="2 samples"):
        read_arranged(analysis(tmp_path, text))


def test_samples_without_annotations_are_left_out_on_request(tmp_path: Path) -> None:
    listed = tmp_path / "samples.tsv"
    listed.write_text("sample\tplate\nc\tq\na\tp\nd\tp\n")
    text = COUNTS.replace("\t0\t", "\t7\t")
    samples = {"annotations": str(listed), "batch": "plate"}
    with pytest.raises(InputError, match="no row for 1 of 4 samples: 'b'"):
        read_arranged(analysis(tmp_path, text, samples=samples))
    config = analysis(tmp_path, text, samples=samples | {"unannotated": "leave_out"})
    expression, design = read_arranged(config)
    assert expression.samples == ["a", "c", "d"]
    assert expression.values[0].tolist() == [30, 20, 50]
    assert design.batch.tolist() == [0, 1, 0]
    prepared = prepare_expression(expression, config.preprocess, design=design)
    (warning,) = [found for found in prepared.warnings if isinstance(found, Message)]
    assert (warning.code, warning.numbers["n"]) == ("samples_without_annotations", 1)


def many(tmp_path: Path, cells: list[str]) -> tuple[Expression, SamplesConfig]:
    names = [f"s{k}" for k in range(len(cells))]
    path = tmp_path / "samples.tsv"
    path.write_text("sample\tx\n" + "".join(f"s{k}\t{cell}\n" for k, cell in enumerate(cells)))
    table = Expression(np.ones((2, len(cells))), ["a", "b"], names)
    return table, SamplesConfig(annotations=str(path))


@pytest.mark.parametrize(
    ("cells", "columns"),
    [
        ([f"{30 + k} y" for k in range(24)], 1),
        ([f"{6 + k / 10}".replace(".", ",") for k in range(24)], 1),
        ([f"2024-03-{k + 1:02d}" for k in range(24)], 1),
        (["1", "2", "3"] * 8, 2),  # numbers of batches
        (["1.0", "2.0", "2"] * 8, 1),
        (["TRUE", "FALSE"] * 12, 1),
        ([str(10 * (k % 4)) for k in range(24)], 1),  # a dose
    ],
)
def test_effects_are_of_numbers_or_of_labels(
    tmp_path: Path, cells: list[str], columns: int
) -> None:
    _, design = arrange_samples(*many(tmp_path, cells), ("x",))
    assert design.covariates.shape == (24, columns)
    assert design.degrees_given_up == columns
    assert not [note for note in design.notes if note.code == "few_degrees_left"]


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ([f"donor{k}" for k in range(24)], r"line 2, column 'x': found a label of its own"),
        ([f"donor{k // 2 if k < 14 else k}" for k in range(24)], "columns 'x': found 7 of 23"),
        ([*map(str, range(30, 53)), "-99"], r"line 25, column 'x', sample 's23': found '-99'"),
    ],
)
def test_effects_that_take_nearly_all_are_refused(
    tmp_path: Path, cells: list[str], place: str
) -> None:
    with pytest.raises(InputError, match=place):
        arrange_samples(*many(tmp_path, cells), ("x",))


def test_effects_that_take_much_are_warned_of(tmp_path: Path) -> None:
    _, design = arrange_samples(*many(tmp_path, [f"d{k // 2}" for k in range(16)]), ("x",))
    said = {note.code: note.numbers for note in design.notes}
    assert said["few_degrees_left"] == {"left": 8, "samples": 16}
