"""The columns of result files, declared once in ``columns.toml`` of the room that writes them.

A table for each file, a line for each column or for several of one meaning::

    ["network.parquet"]
    mi_bits = {type = "double", unit = "bits", meaning = "score", heading = "MI (bits)"}
    "p_value, q_value" = {type = "double", meaning = "against the null", when = "with `null`"}

``same_as = "FILE"`` or ``"PACKAGE FILE"`` (or a list of these) stands for the columns of another
file; ``hits.tsv`` needs no table of its own beside ``hits.parquet``. A part of a name in capitals
is a placeholder for what the user's data name: ``LABEL_z``. ``[files]`` says what each file holds,
``[counts]`` what the counts of the summary are.
Metadata of Parquet files, the tables of the documentation, headings and hints of the page and the
check of what a run wrote are all made from this.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{2,}(?![A-Za-z])")


@dataclass(frozen=True)
class Columns:
    """Columns of one meaning.

    Parameters
    ----------
    names
        In their order in the file; with placeholders in capitals.
    type
        As Arrow calls it; of a text file ``string``, ``bool``, ``int`` or ``double``. ``A or B``
        where it depends on the analysis.
    meaning
        Part of a sentence, in Markdown.
    unit
        Empty for what has none.
    heading
        What the page writes above them, a comma between those of several names; empty: the name.
    when
        Of a column that not every analysis has: ``with `null```.
    sign
        Of a network: a number whose sign is that of the relation of an edge's ends, or a text
        (``activation``, ``repression``).
    value
        Of a network: what an edge is worth in its own unit.
    shared
        Declared by another room than the one that was asked for.
    """

    names: tuple[str, ...]
    type: str
    meaning: str
    unit: str = ""
    heading: str = ""
    when: str = ""
    sign: bool = False
    value: bool = False
    shared: bool = False

    def name_of(self, column: str) -> str | None:
        """The one of ``names`` that a column of a file has; None where it is none of them."""
        if column in self.names:
            return column
        fits = (k for k in self.names if re.fullmatch(_PLACEHOLDER.sub(".+", k), column))
        return next(fits, None)

    def heading_of(self, column: str) -> str:
        """What the page writes above a column."""
        headings = self.heading.split(", ") if len(self.names) > 1 else [self.heading]
        return dict(zip(self.names, headings, strict=False)).get(self.name_of(column) or "", "")

    @property
    def description(self) -> str:
        """The meaning as plain text."""
        return self.meaning.replace("`", "")

    @property
    def content(self) -> str:
        """When they are there, and the meaning, in Markdown."""
        return f"only {self.when}: {self.meaning}" if self.when else self.meaning

    @property
    def hint(self) -> str:
        """The meaning with its unit, where it does not name it, as plain text."""
        unsaid = self.unit and self.unit not in self.description
        return f"{self.description} ({self.unit})" if unsaid else self.description


@cache
def _declared(package: str) -> dict[str, dict[str, Any]]:
    file = resources.files(package).joinpath("columns.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def declared_files(package: str) -> dict[str, str]:
    """Result file -> what it holds; nothing for a room that declares none."""
    return dict(_declared(package).get("files", {}))


def declared_counts(package: str) -> dict[str, str]:
    """Key of the summary's counts -> what is counted; those that several methods have, too."""
    rooms = ("pairtile.preprocess", "pairtile.downstream", package)
    return {key: text for room in rooms for key, text in _declared(room).get("counts", {}).items()}


@cache
def declared_columns(package: str, file: str) -> tuple[Columns, ...]:
    """The columns of a result file in their order; empty for one without declared columns.

    Raises
    ------
    ValueError
        A field that does not exist, or no type or meaning.
    """
    return tuple(_columns(package, file))


def _columns(package: str, file: str) -> Iterator[Columns]:
    declared = _declared(package)
    of_file = declared.get(file) or declared.get(f"{file.removesuffix('.tsv')}.parquet", {})
    for names, fields in of_file.items():
        if names == "same_as":
            for other in [fields] if isinstance(fields, str) else fields:
                room, _, other_file = other.rpartition(" ")
                for columns in declared_columns(room or package, other_file):
                    yield replace(columns, shared=columns.shared or bool(room))
            continue
        if not (
            {"type", "meaning"}
            <= set(fields)
            <= {"type", "unit", "meaning", "heading", "when", "sign", "value"}
        ):
            raise ValueError(f"{package}: {names} of {file} has the fields {sorted(fields)}")
        yield Columns(tuple(names.split(", ")), **fields)


def find(package: str, file: str, column: str) -> Columns | None:
    """The declaration of a column; one that has its whole name before one with placeholders."""
    declared = declared_columns(package, file)
    named = (columns for columns in declared if column in columns.names)
    return next(named, None) or next((c for c in declared if c.name_of(column)), None)


def explained(package: str, file: str, column: str) -> Columns | None:
    """The declaration of a column that the page shows: that of ``file``, else of any other file,
    one with a heading first."""
    others = (other for other in _declared(package) if other not in ("files", "counts"))
    found = [known for name in (file, *others) if (known := find(package, name, column))]
    return next((known for known in found if known.heading_of(column)), next(iter(found), None))


def arrow_schema(package: str, file: str) -> pa.Schema:
    """The Arrow schema of the columns of a file that every analysis has."""
    import pyarrow as pa

    always = [columns for columns in declared_columns(package, file) if not columns.when]
    return pa.schema([(name, pa.type_for_alias(c.type)) for c in always for name in c.names])


def with_metadata(schema: pa.Schema, package: str, file: str) -> pa.Schema:
    """An Arrow schema with ``description`` and ``unit`` of each declared column as metadata of its
    field, and all else as it is."""
    for place, field in enumerate(schema):
        columns = find(package, file, field.name)
        if columns:
            about = (("description", columns.description), ("unit", columns.unit))
            known = {key: text for key, text in about if text}
            schema = schema.set(place, field.with_metadata(known))
    return schema


def as_markdown(declared: Iterable[Columns]) -> str:
    """A table of columns, without those that are shared; with units where any column has one."""
    own = [columns for columns in declared if not columns.shared]
    head = ["column", "type", *["unit"] * any(columns.unit for columns in own), "content"]
    rows = [
        [
            ", ".join(f"`{name}`" for name in columns.names),
            columns.type,
            *[columns.unit] * ("unit" in head),
            columns.content.replace("|", "\\|"),
        ]
        for columns in own
    ]
    lines = [f"| {' | '.join(cells)} |\n" for cells in [head, *rows]]
    return "".join([lines[0], "|---" * len(head) + "|\n", *lines[1:]])


_MARKED = re.compile(r"(<!-- columns: (\S+) (\S+) -->\n).*?(<!-- end of columns -->)", re.DOTALL)


def with_tables(page: str, packages: Mapping[str, str]) -> str:
    """A page in Markdown with the table of columns of each file that is marked in it.

    ``<!-- columns: ROOM FILE -->`` and ``<!-- end of columns -->`` enclose each, and, with
    ``counts`` for a file, what the summary's counts of the room are; ``packages``: room -> package.
    """

    def filled(marked: re.Match[str]) -> str:
        begin, room, file, end = marked.groups()
        counts = _declared(packages[room]).get("counts", {})
        listed = "; ".join(f"`{key}`: {text}" for key, text in counts.items()) + ".\n"
        table = listed if file == "counts" else as_markdown(declared_columns(packages[room], file))
        return f"{begin}\n{table}\n{end}"

    return _MARKED.sub(filled, page)
