"""Columns of result files are declared once: well formed, and the same on pages and in Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pairtile.config.describe import packages_with_columns, pages_with_tables
from pairtile.declare.columns import (
    Columns,
    arrow_schema,
    as_markdown,
    declared_columns,
    declared_files,
    find,
    with_metadata,
    with_tables,
)
from pairtile.declare.columns import _declared as declared_text
from paths import ROOT

PACKAGES = packages_with_columns()
TYPES = {"string", "bool", "int", "int32", "int64", "float", "double", "binary"}


def files_with_columns() -> Iterator[tuple[str, str]]:
    for package in PACKAGES.values():
        for file in declared_text(package):
            if file not in ("files", "counts"):
                yield package, file


@pytest.mark.parametrize(("package", "file"), files_with_columns())
def test_each_declaration_is_whole(package: str, file: str) -> None:
    columns = declared_columns(package, file)
    names = [name for each in columns for name in each.names]
    assert len(names) == len(set(names))
    for each in columns:
        assert {*each.type.split(" or ")} <= TYPES, each
        assert each.meaning, each
        assert not each.meaning.endswith("."), each
        assert each.heading.count(", ") < len(each.names) or len(each.names) == 1, each


def test_each_table_of_a_method_is_said_to_hold_something() -> None:
    for package in PACKAGES.values():
        tables = {f for p, f in files_with_columns() if p == package and "." in f}
        assert not declared_files(package) or tables <= {
            *declared_files(package), "network.tsv", "report.html",
        }  # fmt: skip


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with declared columns."""
    folder = tmp_path / "with_declared_columns"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "columns.toml").write_text(
        '["a.parquet"]\n'
        '"x, y" = {type = "int32", meaning = "`i` | j", heading = "first, second"}\n'
        'same_as = "b.tsv"\n'
        'LABEL_z = {type = "double", unit = "bits", meaning = "score", when = "with `labels`"}\n'
        '["b.tsv"]\nother_z = {type = "string", meaning = "text"}\n'
        '["c.tsv"]\nsame_as = ["b.tsv", "with_declared_columns a.parquet"]\n'
        '["d.tsv"]\nwrong = {type = "string", meaning = "text", units = "bits"}\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    sys.modules.pop(folder.name, None)


def test_a_column_is_found_by_its_name_then_by_placeholders(package: str) -> None:
    known = {name: find(package, "a.parquet", name) for name in ("y", "other_z", "Heat_z", "w")}
    assert known["y"].heading_of("y") == "second"
    assert known["other_z"].type == "string"
    assert known["Heat_z"].name_of("Heat_z") == "LABEL_z"
    assert known["w"] is None


def test_columns_of_another_room_are_shared(package: str) -> None:
    names = [each.names[0] for each in declared_columns(package, "c.tsv")]
    assert names == ["other_z", "x", "other_z", "LABEL_z"]
    shared = [each.shared for each in declared_columns(package, "c.tsv")]
    assert shared == [False, True, True, True]


def test_a_text_has_the_columns_of_its_parquet_file(package: str) -> None:
    assert declared_columns(package, "a.tsv") == declared_columns(package, "a.parquet")
    assert declared_columns(package, "b.tsv")[0].names == ("other_z",)


def test_an_unknown_field_is_refused(package: str) -> None:
    with pytest.raises(ValueError, match=r"d\.tsv"):
        declared_columns(package, "d.tsv")


def test_a_room_need_not_declare_anything() -> None:
    assert declared_columns("pairtile.declare", "a.parquet") == ()
    assert declared_files("pairtile.declare") == {}


def test_a_table_of_markdown_has_units_where_there_are_some(package: str) -> None:
    lines = as_markdown(declared_columns(package, "a.parquet")).splitlines()
    assert lines[0] == "| column | type | unit | content |"
    assert lines[2:] == [
        "| `x`, `y` | int32 |  | `i` \\| j |",
        "| `other_z` | string |  | text |",
        "| `LABEL_z` | double | bits | only with `labels`: score |",
    ]
    assert as_markdown([Columns(("x",), "bool", "m")]).startswith("| column | type | content |")


def test_tables_of_a_page_are_filled_in(package: str) -> None:
    page = "before\n<!-- columns: room b.tsv -->\nold\n<!-- end of columns -->\nafter\n"
    made = with_tables(page, {"room": package})
    assert "old" not in made
    assert "\n\n| column | type | content |\n" in made
    assert made.startswith("before\n")
    assert made.endswith("after\n")
    assert with_tables(made, {"room": package}) == made


def test_a_schema_has_the_columns_of_every_analysis(package: str) -> None:
    assert arrow_schema(package, "a.parquet") == pa.schema(
        {"x": pa.int32(), "y": pa.int32(), "other_z": pa.string()}
    )


def test_metadata_of_a_schema(package: str) -> None:
    given = pa.schema({"x": pa.int32(), "w": pa.string(), "Heat_z": pa.float64()}, {"kept": "yes"})
    made = with_metadata(given, package, "a.parquet")
    assert made.equals(given)
    assert made.metadata == given.metadata
    assert made.field("x").metadata == {b"description": b"i | j"}
    assert made.field("w").metadata is None
    assert made.field("Heat_z").metadata == {b"description": b"score", b"unit": b"bits"}


def test_tables_of_the_documentation_are_those_declared() -> None:
    for path, text in pages_with_tables(ROOT).items():
        stale = f"{path.name}: run python -m pairtile.config.describe"
        assert path.read_text(encoding="utf-8") == text, stale
