"""From files to levels, transitions, predictors and targets; and the account of it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from message_codes import numbers_by_code
from pairtile.config.load import load_config
from pairtile.errors import InputError
from pairtile.io.expression import read_expression
from pairtile.methods.predictor_pairs.config import QuantizeConfig
from pairtile.methods.predictor_pairs.prepare import PreparedPredictors, prepare_predictors
from pairtile.methods.predictor_pairs.quantize import quantize
from pairtile.methods.predictor_pairs.read_input import count_levels

GENES = [f"g{k}" for k in range(6)]
SAMPLES = [f"s{k}" for k in range(24)]


def table(seed: int = 1) -> pd.DataFrame:
    values = np.random.default_rng(seed).normal(8, 2, size=(len(GENES), len(SAMPLES)))
    return pd.DataFrame(values, index=pd.Index(GENES, name="gene"), columns=SAMPLES)


def levels_table(n_levels: int = 3) -> pd.DataFrame:
    values = np.random.default_rng(2).integers(0, n_levels, size=(len(GENES), len(SAMPLES)))
    values[0, :n_levels] = range(n_levels)
    return pd.DataFrame(values, index=pd.Index(GENES, name="gene"), columns=SAMPLES)


def write(folder: Path, frame: pd.DataFrame, name: str = "table.tsv") -> str:
    frame.to_csv(folder / name, sep="," if ".csv" in name else "\t")
    return str(folder / name)


def text_file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def prepare(**keys: Any) -> PreparedPredictors:
    section = {"method": "predictor_pairs", **keys}
    return prepare_predictors(load_config({"analyses": {"a": section}}).analyses["a"])


def test_an_expression_table_becomes_levels_and_transitions(tmp_path: Path) -> None:
    frame = table()
    prepared = prepare(expression=write(tmp_path, frame))
    np.testing.assert_array_equal(
        prepared.levels, quantize(frame.to_numpy(), QuantizeConfig(levels=3))
    )
    assert prepared.levels.dtype == np.int8
    assert prepared.levels.flags.c_contiguous
    assert (prepared.n_levels, prepared.genes, prepared.samples) == (3, GENES, SAMPLES)
    assert prepared.transitions.source_samples.tolist() == list(range(23))
    assert prepared.transitions.target_samples.tolist() == list(range(1, 24))
    assert prepared.series.tolist() == [0] * 24
    for rows in (prepared.predictors, prepared.targets):
        assert rows.dtype == np.int32
        assert rows.tolist() == list(range(6))
    assert prepared.counts["transitions"] == 23
    assert prepared.parameters["quantize"]["levels"] == 3
    assert prepared.parameters["preprocess"]["log2"] is False
    assert [warning.code for warning in prepared.warnings] == ["columns_as_times"]


def test_golden_levels_follow_from_the_expression_file(shared: Path, tmp_path: Path) -> None:
    folder = shared / "golden/predictor_pairs"
    values = pd.read_csv(folder / "pf3d7_200.expr_log2fpkm1.tsv", sep="\t", header=None)
    golden = pd.read_csv(folder / "pf3d7_200.q3.data.tsv", sep="\t", header=None, index_col=0)
    values.index, values.columns = golden.index, pd.Index([f"h{3 * k}" for k in range(21)])
    prepared = prepare(expression=write(tmp_path, values))
    np.testing.assert_array_equal(prepared.levels, golden.to_numpy())
    assert len(prepared.transitions) == 20
    assert prepared.items["name"].tolist() == golden.index.tolist()


@pytest.mark.parametrize("name", ["levels.tsv", "levels.csv", "levels.parquet"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_table_of_levels_is_used_as_it_is(tmp_path: Path, name: str, turned: bool) -> None:
    frame = levels_table().astype(float)
    frame.iloc[1, 3] = frame.iloc[4, 0] = np.nan
    stored = frame.T.rename_axis("name") if turned else frame
    path = str(tmp_path / name)
    if name.endswith("parquet"):
        stored.reset_index().to_parquet(path)
    else:
        write(tmp_path, stored, name)
    orientation = "samples_in_rows" if turned else "genes_in_rows"
    prepared = prepare(levels=path, orientation=orientation)
    np.testing.assert_array_equal(prepared.levels, frame.fillna(-1).to_numpy())
    assert prepared.n_levels == 3
    assert prepared.counts["levels_missing"] == 2


@pytest.mark.parametrize(
    ("held", "asked", "n_levels"), [(2, "auto", 2), (4, "auto", 4), (2, 3, 3), (3, 3, 3)]
)
def test_levels_are_as_many_as_the_table_holds_or_as_asked_for(
    tmp_path: Path, held: int, asked: Any, n_levels: int
) -> None:
    prepared = prepare(levels=write(tmp_path, levels_table(held)), quantize={"levels": asked})
    assert prepared.n_levels == n_levels
    assert prepared.parameters["quantize"]["levels"] == n_levels
    assert [c for c in prepared.items if c.startswith("n_level_")] == [
        f"n_level_{k}" for k in range(n_levels)
    ]


def test_a_table_of_zeros_has_two_levels(tmp_path: Path) -> None:
    assert prepare(levels=write(tmp_path, levels_table() * 0)).n_levels == 2


def test_items_keep_account_of_levels_and_roles(tmp_path: Path) -> None:
    frame = levels_table().astype(float)
    frame.iloc[2, :10] = np.nan  # 14 observed
    prepared = prepare(
        levels=write(tmp_path, frame),
        regulators=text_file(tmp_path, "r.txt", "g5\ng0\nabsent\ng2\n"),
        targets=text_file(tmp_path, "t.txt", "g3\ng1\n"),
    )
    items = prepared.items.set_index("name")
    assert prepared.genes == ["g0", "g1", "g3", "g4", "g5"]
    assert items.index.tolist() == [*prepared.genes, "g2"]
    assert items.loc["g2", "reason"] == "too few samples"
    assert items.index[items["is_regulator"]].tolist() == ["g0", "g5"]
    assert items.index[items["is_target"]].tolist() == ["g1", "g3"]
    assert prepared.predictors.tolist() == [0, 4]
    assert prepared.targets.tolist() == [1, 2]
    for level in range(3):
        column = items[f"n_level_{level}"]
        assert column.dtype == np.int32
        assert column["g2"] == 0
        assert column["g0"] == (frame.loc["g0"] == level).sum()
    assert prepared.counts["regulators_listed"] == 4
    assert prepared.counts["regulators_used"] == prepared.counts["targets_used"] == 2
    assert "2 of 4 regulators are not among the kept genes: absent, g2." in prepared.warnings


def test_without_lists_every_gene_is_a_target_and_none_is_marked_regulator(tmp_path: Path) -> None:
    items = prepare(levels=write(tmp_path, levels_table())).items
    assert items["is_target"].all()
    assert not items["is_regulator"].any()


def test_constant_targets_are_told(tmp_path: Path) -> None:
    frame = levels_table()
    frame.iloc[3] = 1
    path = write(tmp_path, frame)
    prepared = prepare(levels=path)
    assert prepared.counts["genes_at_one_level"] == 1
    numbers = numbers_by_code(prepared.warnings)
    assert numbers["targets_constant"] == {"n": 1, "targets": 6}
    dropped = prepare(levels=path, preprocess={"drop_constant": True})
    assert "g3" not in dropped.genes
    assert dropped.items.iloc[-1]["reason"] == "constant"


def series_file(folder: Path, lengths: list[int], extra: str = "") -> str:
    names = np.repeat(np.arange(len(lengths)), lengths)
    lines = [f"{sample}\tcourse{k}" for sample, k in zip(SAMPLES, names, strict=True)]
    return text_file(folder, "series.tsv", "\n".join(lines) + extra + "\n")


def test_series_are_never_joined(tmp_path: Path) -> None:
    path = write(tmp_path, levels_table())
    prepared = prepare(
        levels=path, series=series_file(tmp_path, [11, 12, 1], "\nelsewhere\tcourse9"), lag=1
    )
    ends = list(
        zip(
            prepared.transitions.source_samples.tolist(),
            prepared.transitions.target_samples.tolist(),
            strict=True,
        )
    )
    assert ends == [(k, k + 1) for k in range(23) if k not in (10, 22)]
    assert prepared.counts["series"] == 3
    assert prepared.series.tolist() == [0] * 11 + [1] * 12 + [2]
    assert any("1 of 3 series have no more than 1 samples" in text for text in prepared.warnings)
    assert any("1 samples in" in note for note in prepared.notes)


def test_series_of_length_one_are_a_clear_error(tmp_path: Path) -> None:
    keys = {"levels": write(tmp_path, levels_table()), "series": series_file(tmp_path, [1] * 24)}
    with pytest.raises(
        InputError, match=r"series\.tsv: found 24 series of at most 1 sample; expec"
    ):
        prepare(**keys)
    assert len(prepare(**keys, lag=0).transitions) == 24


def test_too_few_transitions_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, levels_table())
    with pytest.raises(
        InputError, match=r"19 transitions \(24 samples, 1 series, lag: 5\); expecte"
    ):
        prepare(levels=path, lag=5)
    assert len(prepare(levels=path, lag=5, preprocess={"min_samples": 19}).transitions) == 19


@pytest.mark.parametrize(
    ("cardinality", "listed", "own", "message"),
    [
        (
            2,
            "g1\n",
            False,
            "found 1 candidate predictors among the kept genes; expected at least 2",
        ),
        (3, "g1\ng2\n", True, "found 2 candidate predictors"),
        (2, "zz\n", False, "r.txt: found none of its 1 names (zz) among the 6 genes"),
    ],
)
def test_too_few_candidates_are_an_error(
    tmp_path: Path, cardinality: int, listed: str, own: bool, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        prepare(
            levels=write(tmp_path, levels_table()),
            regulators=text_file(tmp_path, "r.txt", listed),
            estimator={"cardinality": cardinality, "self": own},
        )


def test_targets_that_have_no_set_of_candidates_are_told(tmp_path: Path) -> None:
    prepared = prepare(
        levels=write(tmp_path, levels_table()),
        regulators=text_file(tmp_path, "r.txt", "g1\ng2\n"),
    )
    assert any("2 of 6 targets have fewer than 2 candidate" in text for text in prepared.warnings)


def test_targets_named_wrongly_are_called_targets(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"t\.txt: found none .* expected targets named as in the ta"
    ):
        prepare(
            levels=write(tmp_path, levels_table()), targets=text_file(tmp_path, "t.txt", "zz\n")
        )


@pytest.mark.parametrize(
    ("value", "asked", "message"),
    [
        (
            "1.5",
            "auto",
            "line 4, gene 'g2', sample 's1': found 1.5; expected a level, a whole number",
        ),
        ("1.5", "auto", "(expression values go under the key expression)"),
        (
            "-1",
            "auto",
            "found -1; expected a level, a whole number from 0 to 3, or NA or nothing if",
        ),
        ("4", "auto", "found 4; expected a level, a whole number from 0 to 3"),
        ("2", 2, "found 2; expected a level, a whole number from 0 to 1, or NA or nothing if it "),
        ("2", 2, "(quantize.levels is 2)"),
        ("high", "auto", "line 4 (gene 'g2'), field 3 (sample 's1'): found 'high'"),
    ],
)
def test_a_value_that_is_no_level_is_named_with_its_place(
    tmp_path: Path, value: str, asked: Any, message: str
) -> None:
    frame = (levels_table(2)).astype(object)
    frame.iloc[2, 1] = value
    with pytest.raises(InputError, match=re.escape(message)):
        count_levels(read_expression(write(tmp_path, frame)), asked=asked)


def test_the_line_is_found_in_gzip_and_with_samples_in_rows(tmp_path: Path) -> None:
    frame = levels_table(2)
    frame.iloc[2, 1] = 7
    path = tmp_path / "turned.csv.gz"
    path.write_bytes(gzip.compress(frame.T.rename_axis("sample").to_csv().encode()))
    with pytest.raises(InputError, match=r"line 3, gene 'g2', sample 's1': found 7"):
        count_levels(read_expression(path, "samples_in_rows"), "samples_in_rows")
    stored = str(tmp_path / "levels.parquet")
    frame.reset_index().to_parquet(stored)
    with pytest.raises(InputError, match=r"parquet: gene 'g2', sample 's1': found 7"):
        count_levels(read_expression(stored))


def test_true_and_false_are_levels_and_said(tmp_path: Path) -> None:
    levels = np.random.default_rng(2).integers(0, 2, (5, 24))
    path = tmp_path / "l.tsv"
    names = pd.Index([f"g{k}" for k in range(5)], name="gene")
    words = pd.DataFrame(np.where(levels, "TRUE", "false"), names, [f"s{k}" for k in range(24)])
    words.to_csv(path, sep="\t")
    table = read_expression(path)
    assert (table.values == levels).all()
    assert count_levels(table) == 2
    assert "truth_values" in [note.code for note in table.notes]
