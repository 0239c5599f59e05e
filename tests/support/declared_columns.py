"""Whether the files of a run have the columns that their method declares."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pairtile.declare.columns import declared_columns, declared_files, find
from pairtile.method import get_method

UNDECLARED = {"network.regulon.tsv", "network.adjacencies.tsv", "accessibility.parquet"}
"""Other programs' formats, and what is kept for later runs."""
OF_NUMPY = {"U": "string", "b": "bool", "i4": "int32", "f8": "double", "f4": "float"}
OF_TEXT = {
    r"[+-]?\d*": {"int", "int32", "int64"},
    r"([+-]?(\d+\.?\d*(e[+-]?\d+)?|inf))?": {"double", "float"},
    r"(True|False)?": {"bool"},
    r"(?s).*": {"string"},
}
"""Pattern of the cells of a text -> types that they may be of."""


def assert_declared(folder: Path, method: str) -> None:
    """Each table of an analysis has the declared columns in their order, each of its type, and all
    of those that every analysis has."""
    package = get_method(method).package
    for path in sorted({*folder.glob("*.tsv"), *folder.glob("*.parquet")}):
        if path.name not in UNDECLARED:
            assert declared_columns(package, path.name), f"{path.name} is not declared"
    seen = {name for name in declared_tables(method) if (folder / name).exists()}
    assert {"network.parquet", "items.parquet", "pairs.parquet"} <= seen
    for name in sorted(seen):
        assert_columns(folder / name, package)


def declared_tables(method: str) -> set[str]:
    """Names of the files of a method that have columns."""
    package = get_method(method).package
    files = [*declared_files(package), "network.tsv"]
    return {name for name in files if declared_columns(package, name)}


def assert_columns(path: Path, package: str) -> None:
    """One file."""
    declared, types = declared_columns(package, path.name), possible_types(path)
    found, places = set(), []
    for column, possible in types.items():
        known = find(package, path.name, column)
        assert known, f"{path.name}: {column} is not declared"
        assert possible & {*known.type.split(" or ")}, f"{path.name}: {column} is {possible}"
        found.add((known, known.name_of(column)))
        if path.suffix == ".parquet":
            about = pq.read_schema(path).field(column).metadata or {}
            assert about.get(b"description", b"").decode() == known.description, column
            assert about.get(b"unit", b"").decode() == known.unit, column
        if column in known.names:
            places.append((declared.index(known), known.names.index(column)))
    assert places == sorted(places), f"{path.name}: columns in another order, {list(types)}"
    always = {(columns, name) for columns in declared if not columns.when for name in columns.names}
    assert always <= found, f"{path.name}: without {[name for _, name in always - found]}"


def possible_types(path: Path) -> dict[str, set[str]]:
    """Column -> types, as they are declared, that its content may be of."""
    if path.suffix == ".parquet":
        return {field.name: {arrow_type(field.type)} for field in pq.read_schema(path)}
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            kinds = {name: arrays[name].dtype.str[1:] for name in arrays.files}
        return {n: {OF_NUMPY.get(k) or OF_NUMPY.get(k[0], k)} for n, k in kinds.items()}
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    return {
        str(name): set().union(
            *(
                types
                for pattern, types in OF_TEXT.items()
                if table[name].map(lambda cell, pattern=pattern: re.fullmatch(pattern, cell)).all()
            )
        )
        for name in table
    }


def arrow_type(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_binary(kind):
        return "binary"
    if pa.types.is_dictionary(kind):
        return arrow_type(kind.value_type)
    return str(kind).removeprefix("large_")
