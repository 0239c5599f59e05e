"""Tables of sample annotations: the forms that they come in, kinds, and what is wrong with them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pairtile.config.conditions import ConditionConfig
from pairtile.errors import InputError
from pairtile.io.annotations import Annotations, read_annotations

SAMPLES = ["s1", "s2", "s3", "s4", "s5", "s6", "s7"]
CELLS = {
    "Treatment": ["heat", "none", "heat", "", "none", "heat", "cold water"],
    "Hours": ["1", "2.5", "3", "4", "NA", "1e1", "-6"],
    "Stage": ["late", "early", "mid", "mid", "early", "late", "n/a"],
}


def text_of(delimiter: str = "\t", quote: str = "") -> str:
    rows = [["Sample", *CELLS]] + [
        [sample, *(column[k] for column in CELLS.values())] for k, sample in enumerate(SAMPLES)
    ]
    return "".join(delimiter.join(f"{quote}{x}{quote}" for x in row) + "\n" for row in rows)


def written(folder: Path, text: str, name: str = "a.tsv") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def entry(name: str, kind: str = "auto", levels: list[str] | None = None) -> ConditionConfig:
    return ConditionConfig.model_validate({"name": name, "kind": kind, "levels": levels})


def read(folder: Path, text: str, *entries: ConditionConfig, name: str = "a.tsv") -> Annotations:
    return read_annotations(written(folder, text, name), SAMPLES, entries)


R_TABLE = "".join(
    line.split("\t", 1)[1] if k == 0 else line
    for k, line in enumerate(text_of().splitlines(keepends=True))
)
SWAPPED = "".join(
    "\t".join([fields[1], fields[0], *fields[2:]]) + "\n"
    for fields in (line.split("\t") for line in text_of().splitlines())
)
FORMS = {
    "tabs": (text_of(), "a.tsv"),
    "commas": (text_of(",", '"').replace("\n", "\r\n"), "a.csv"),
    "commas by content": (text_of(","), "a.txt"),
    "comment, blank lines": ("# who made it\n\n" + text_of() + "\n\t\t\t\n", "a.tsv"),
    "header without a field for names": (R_TABLE, "a.tsv"),
    "names in another column": (SWAPPED, "a.tsv"),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_gives_the_same_conditions(form: str, tmp_path: Path) -> None:
    text, name = FORMS[form]
    found = read(tmp_path, text, name=name).conditions
    assert [(c.name, c.kind) for c in found] == [
        ("Treatment", "categorical"),
        ("Hours", "quantitative"),
        ("Stage", "categorical"),
    ]
    treatment, hours, stage = found
    assert treatment.labels == ("cold water", "heat", "none")  # "none" is a label, not a gap
    assert treatment.codes.tolist() == [1, 2, 1, -1, 2, 1, 0]
    assert treatment.known.tolist() == [True, True, True, False, True, True, True]
    np.testing.assert_array_equal(hours.numbers, [1, 2.5, 3, 4, np.nan, 10, -6])
    assert hours.known.tolist() == [True] * 4 + [False] + [True] * 2
    assert stage.codes.tolist() == [1, 0, 2, 2, 0, 1, -1]


def test_gzip_is_read_and_samples_come_in_the_order_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(text_of().encode()))
    turned = read_annotations(str(path), SAMPLES[::-1]).conditions[0]
    assert turned.codes.tolist() == [0, 1, 2, -1, 1, 2, 1]


def test_notes_tell_what_was_decided(tmp_path: Path) -> None:
    text = SWAPPED + "none\textra\t1\tmid\n"
    text = "".join(
        f"{line}\t{last}\n"
        for line, last in zip(text.splitlines(), ["Tissue", *["leaf"] * 8], strict=True)
    )
    notes = read(tmp_path, text).notes
    assert [(note.code, note.numbers.get("column")) for note in notes] == [
        ("sample_names_from", "Sample"),
        ("samples_of_no_column", None),
        *(("condition_empty", name) for name in CELLS),
        ("no_condition", "Tissue"),
    ]
    assert [note.numbers["n"] for note in notes if "n" in note.numbers] == [1, 1, 1, 1]


def test_names_of_their_own_are_no_condition(tmp_path: Path) -> None:
    text = "s\trun\tbatch\n" + "".join(f"s{k}\tRUN{k}\t{k % 2}\n" for k in range(1, 8))
    found = read(tmp_path, text)
    assert [c.name for c in found.conditions] == ["batch"]
    assert found.notes == ["Column 'run' is no condition: every sample has a label of its own."]
    # Unless it is asked for.
    asked = read(tmp_path, text, entry("run"))
    assert len(asked.conditions[0].labels) == 7


@pytest.mark.parametrize(("different", "kind"), [(5, "categorical"), (6, "quantitative")])
def test_few_numbers_are_labels(tmp_path: Path, different: int, kind: str) -> None:
    numbers = [str(10 * (k % different + 1)) for k in range(7)]
    text = "s\tx\n" + "".join(f"s{k + 1}\t{x}\n" for k, x in enumerate(numbers))
    condition = read(tmp_path, text).conditions[0]
    assert condition.kind == kind
    if kind == "categorical":
        assert condition.labels == ("10", "20", "30", "40", "50")  # in the order of numbers
    asked = read(tmp_path, text, entry("x", "quantitative")).conditions[0]
    assert asked.numbers.tolist() == [float(x) for x in numbers]


def test_ordinal_conditions_have_ranks(tmp_path: Path) -> None:
    levels = ["early", "mid", "late", "unused"]
    stage = read(tmp_path, text_of(), entry("Stage", "ordinal", levels)).conditions[0]
    assert stage.labels == tuple(levels)
    np.testing.assert_array_equal(stage.numbers, [3, 1, 2, 2, 1, 3, np.nan])
    hours = read(tmp_path, text_of(), entry("Hours", "ordinal")).conditions[0]
    assert hours.labels == ("-6", "1", "2.5", "3", "4", "1e1")
    np.testing.assert_array_equal(hours.numbers, [2, 3, 4, 5, np.nan, 6, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            text_of().replace("s3\t", "s33\t").replace("s5\t", "x\t"),
            "no row for 2 of 7 samples: 's3', 's5'; expected a row for every sample",
        ),
        (text_of() + "s2\theat\t1\tmid\n", "'s2' 2 times (lines 3 and 9)"),
        (text_of().replace("\ns", "\nq"), "no sample of the expression table"),
        (text_of() + "s8\theat\n", "line 9: found 2 fields; expected 4, as above"),
        ("Sample\tTreatment\n", "found a header only"),
        ("Sample\n" + "\n".join(SAMPLES), "line 1: found no tab"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    """What the reader of any table refuses is in test_inputs_text_errors."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


ENTRY_FAULTS = {
    "no column": (
        entry("Dose"),
        "header: found no column 'Dose'; expected one of 'Treatment', 'Hours', 'Stage'",
    ),
    "another capital": (
        entry("treatment"),
        "expected one of 'Treatment', 'Hours', 'Stage' (did you mean Treatment?)",
    ),
    "no number": (
        entry("Treatment", "quantitative"),
        "line 2, column 'Treatment', sample 's1': found 'heat'; expected a number",
    ),
    "no level": (
        entry("Stage", "ordinal", ["early", "mid"]),
        "line 2, column 'Stage', sample 's1': found 'late'; expected one of 'early', 'mid'",
    ),
    "ordinal text": (
        entry("Stage", "ordinal"),
        "sample 's1': found 'late'; expected a number, or levels in the configuration",
    ),
}


@pytest.mark.parametrize("fault", list(ENTRY_FAULTS))
def test_conditions_that_cannot_be_are_named(tmp_path: Path, fault: str) -> None:
    entry, message = ENTRY_FAULTS[fault]
    with pytest.raises(InputError) as caught:
        read(tmp_path, text_of(), entry)
    assert message in str(caught.value)


@pytest.mark.parametrize("cell", ["inf", "-inf", "1_0", "1,5;6", "0x1A"])
def test_what_only_looks_like_a_number_is_none(tmp_path: Path, cell: str) -> None:
    text = text_of().replace("2.5", cell)
    with pytest.raises(InputError, match="line 3, column 'Hours', sample 's2': found"):
        read(tmp_path, text, entry("Hours", "quantitative"))


NUMBERS = [25.1, 27.7, -3.0, 1250.5, 0.25, 8.0, 30.0]


@pytest.mark.parametrize(
    "write",
    [
        str,
        lambda x: str(x).replace(".", ","),
        lambda x: f"{x} y",
        lambda x: f"{x}ug",
        lambda x: f"{x:,}",
        lambda x: f"{x:.4e}",
    ],
)
@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_numbers_are_read_in_any_spelling(
    tmp_path: Path, write: Callable[[float], str], name: str
) -> None:
    mark = "\t" if name == "a.tsv" else ";"
    text = f"s{mark}x\n" + "".join(
        f"{s}{mark}{write(x)}\n" for s, x in zip(SAMPLES, NUMBERS, strict=True)
    )
    condition = read(tmp_path, text, name=name).conditions[0]
    assert condition.kind == "quantitative"
    np.testing.assert_allclose(condition.numbers, NUMBERS)


def column(cells: list[str]) -> str:
    return "s\tx\n" + "".join(f"{s}\t{c}\n" for s, c in zip(SAMPLES, cells, strict=True))


def test_dates_are_numbers_of_days(tmp_path: Path) -> None:
    days = [f"2024-02-{day:02d}" for day in (27, 28, 29, 1, 2, 3)]
    for cells in ([*days, "2024-03-01"], [f"{d[8:]}.02.2024" for d in days] + ["01.03.2024"]):
        condition = read(tmp_path, column(cells)).conditions[0]
        assert (condition.numbers - condition.numbers[3]).tolist() == [26, 27, 28, 0, 1, 2, 29]


def test_a_number_with_and_without_its_last_zeros_is_one_label(tmp_path: Path) -> None:
    mixed = read(tmp_path, column(["1.0", "2.0", "1.0", "2", "2.0", "1.50", "1.5"])).conditions[0]
    assert mixed.labels == ("1", "1.5", "2")
    assert mixed.codes.tolist() == [0, 2, 0, 2, 2, 1, 1]
    alike = read(tmp_path, column(["1.0", "2.0"] * 3 + ["2.0"])).conditions[0]
    assert alike.labels == ("1.0", "2.0")


def test_labels_with_numbers_in_them_stay_labels(tmp_path: Path) -> None:
    donors = [f"D{k}" for k in (1, 2, 3, 4, 5, 6, 1)]
    found = read(tmp_path, column(donors)).conditions[0]
    assert (found.kind, found.labels) == ("categorical", tuple(donors[:6]))


@pytest.mark.parametrize("code", ["-9", "-99", "-999.0"])
def test_a_code_of_missing_values_is_asked_about(tmp_path: Path, code: str) -> None:
    text = column(["1", "2", "3", "4", "5", "6.5", code])
    with pytest.raises(InputError, match=r"line 8, column 'x', sample 's7'.*an empty cell"):
        read(tmp_path, text, entry("x"))
    assert [note.code for note in read(tmp_path, text).notes] == ["no_condition"]
    below = read(tmp_path, text.replace("\t4", "\t-4"), entry("x")).conditions[0]
    assert below.numbers[6] == float(code)


def test_a_condition_that_is_asked_for_must_vary(tmp_path: Path) -> None:
    text = "s\tx\n" + "".join(f"{s}\tleaf\n" for s in SAMPLES)
    with pytest.raises(
        InputError, match="'x': found fewer than two different values; expected two"
    ):
        read(tmp_path, text, entry("x"))
    of_group = read_annotations(written(tmp_path, text), SAMPLES, [entry("x")], of_group=True)
    assert not of_group.conditions
    assert [note.code for note in of_group.notes] == ["one_value_in_group"]


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        (["1", "2", "3", "4", "5", "6", "n.d."], ["nearly_numbers"]),
        (["1", "2", "3", "4", "5", "6", "NA"], ["condition_empty"]),
        (["1", "2", "1", "2", "1", "2", "n.d."], []),
        (["1", "2", "3", "a", "b", "c", "d"], []),
    ],
)
def test_cells_that_keep_a_column_from_being_numbers_are_named(
    tmp_path: Path, cells: list[str], named: list[str]
) -> None:
    text = "s\tx\n" + "".join(f"{s}\t{c}\n" for s, c in zip(SAMPLES, cells, strict=True))
    found = read(tmp_path, text, entry("x"))
    assert [note.code for note in found.notes] == named
    assert ("n.d." in "".join(map(str, found.notes))) == ("nearly_numbers" in named)


def test_the_annotations_of_rice_are_read(shared: Path) -> None:
    path = shared / "data" / "rice" / "annotations.tsv"
    samples = [line.split("\t")[0] for line in path.read_text().splitlines()[1:]]
    found = read_annotations(path, samples)
    kinds = {c.name: (c.kind, len(c.labels)) for c in found.conditions}
    assert kinds == {
        "Subspecies": ("categorical", 2),
        "Genotype": ("categorical", 4),
        "IRGC_ID": ("categorical", 4),
        "GTAbbr": ("categorical", 4),
        "Duration": ("quantitative", 0),
        "Treatment": ("categorical", 2),
    }
    assert found.notes == ["Column 'Tissue' is no condition: fewer than two different values."]
