"""Write the configuration's JSON schema and its documentation from the models, and the tables of
columns in the documentation from ``columns.toml``.

``python -m pairtile.config.describe`` in a checkout writes ``workflow/schemas/config.schema.json``,
``config/README.md`` and the marked tables of ``docs/``; a test fails where they differ.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core.core_schema import CoreSchema, FloatSchema

from pairtile.config.keep import Keep
from pairtile.config.models import Analysis, ConfigModel, models_in
from pairtile.config.root import Config, models
from pairtile.config.values import describe, or_exponent
from pairtile.declare.columns import with_tables
from pairtile.method import methods

_INTRODUCTION = """\
<!-- Made by `python -m pairtile.config.describe` from workflow/pairtile/config. Edit there. -->

# Configuration

`config.yaml` in this folder runs the demo. For your own data copy an example from `examples/`
(every key, with comments), keep the keys that you need, and run

    snakemake --cores all --configfile my_config.yaml

A minimal configuration:

```yaml
analyses:
  my_network:
    method: mutual_information
    expression: my_expression.tsv
```

- **Install** the package where `snakemake` runs, in the version of the workflow, as
  `docs/install.md` says. Jobs may have an image of their own (`--sdm apptainer`) or an environment
  (`--sdm conda`).
- **Paths** that are relative start at the working directory (`snakemake --directory` sets it), not
  at the configuration file.
- **Every key but the required ones has a default.** `summary.json` records all values as they
  were used.
- **Mistakes are refused before any job starts**, all in one list.
- **Numbers** stand without quotes; `1e-5` and `1.0e-5` are the same. **Names and texts** that YAML
  takes for something else (`on`, `no`, `1`, `2024-01-01`) need quotes.
- `snakemake --config backend=cpu seed=2` sets top-level keys from the command line.
- With `# yaml-language-server: $schema=workflow/schemas/config.schema.json` as the first line of a
  configuration file (the path as seen from that file), editors complete and check keys.
"""


def readme_text() -> str:
    """The page, in Markdown: what several methods share stands once, before the methods."""
    tables = {(name, key): rows for name, model in models().items() for key, rows in _tables(model)}
    times = Counter((key, row) for (_, key), rows in tables.items() for row in rows)
    shared = {key: [row for k, row in times if k == key and times[k, row] > 1] for key, _ in times}
    own = {place: [r for r in rows if r not in shared[place[1]]] for place, rows in tables.items()}
    parts = [_INTRODUCTION, "## Top level\n", _table(_section_rows(Config))]
    for key in filter(shared.get, shared):
        title = f"### `{key}`" if key else "## Keys of several methods"
        sections = {name: f"#{name}" for name in filter(shared.get, shared)} if not key else {}
        parts += [f"{title}\n", _table(_linked(shared[key], sections))]
    for (name, key), rows in own.items():
        if rows:
            title = f"### {name}: `{key}`" if key else f"## `method: {name}`"
            sections = {k: f"#{name}-{k}" for n, k in own if n == name and not key and own[n, k]}
            parts += [f"{title}\n", _sentence(models()[name], key), _table(_linked(rows, sections))]
            others = [row[0] for row in tables[name, key] if row not in rows]
            if others:
                place = f"[above](#{key or 'keys-of-several-methods'})"
                parts.append(f"Also, as described {place}: {', '.join(others)}.\n")
    return "\n".join(parts).rstrip() + "\n"


Row = tuple[str, ...]


def _tables(model: type[Analysis]) -> Iterator[tuple[str, list[Row]]]:
    """Key of a section -> its rows; "": the keys of the analysis. A section that is there under
    another key already is left out."""
    yield "", list(_section_rows(model))
    known: list[list[type[ConfigModel]]] = [[]]
    for key, field in model.model_fields.items():
        sections = models_in(field.annotation)
        if sections not in known:
            known.append(sections)
            rows = [row for section in sections for row in _section_rows(section)]
            if len(sections) > 1 or issubclass(sections[0], Keep):  # forms, known by their keys
                rows = [(cell, kind, "one of these", text) for cell, kind, _, text in rows]
            yield key, rows


def _linked(rows: Iterable[Row], sections: Mapping[str, str]) -> Iterator[Row]:
    """The rows of keys, those of ``sections`` with a link to the table of the section."""
    for *cells, text in rows:
        place = sections.get(cells[0].strip("`"))
        yield (*cells, f"{text} [Its keys]({place})." if place else text)


def _sentence(model: type[Analysis], key: str) -> str:
    """What a method or a section of it is."""
    sections = models_in(model.model_fields[key].annotation) if key else [model]
    text = sections[0].__doc__ if len(sections) == 1 else model.model_fields[key].description
    return " ".join((text or "").split()) + "\n"


def _table(rows: Iterable[Row]) -> str:
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]) + "\n"


def _section_rows(model: type[ConfigModel]) -> Iterator[Row]:
    for key, field in model.model_fields.items():
        cells = [f"`{key}`", _type(field), _default(field), field.description or ""]
        yield tuple(_BRACES_OF_TEXT.sub(r"\\\g<0>", cell.replace("|", "\\|")) for cell in cells)


_BRACES_OF_TEXT = re.compile(r"[{}](?=[^`]*(?:`[^`]*`[^`]*)*$)")
"""Braces outside of code, which Markdown dialects take for attributes."""


def _type(field: FieldInfo) -> str:
    # Messages say "(text)" of what might be taken for a number.
    return describe(field.annotation, field.metadata).replace(" (text)", "") or "section"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default()
    if isinstance(default, ConfigModel):
        default = default.model_dump(mode="json")
        if _type(field) == "section":
            return "its keys' defaults"
    return f"`{in_yaml(default)}`"


def in_yaml(value: object) -> str:
    """A default as one would write it in YAML, on one line."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {in_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(in_yaml(v) for v in value) + "]"
    return str(value)


SCHEMA_FILE = "workflow/schemas/config.schema.json"
README_FILE = "config/README.md"


def json_schema() -> dict[str, object]:
    """The configuration as a JSON schema (draft 2020-12), for editors and other tools.

    It accepts what ``load_config`` accepts, and more: relations between keys (``order`` at most
    ``bins``, names that differ in capitals only, ...) are beyond it.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pairtile configuration",
        **Config.model_json_schema(schema_generator=_Untitled),
    }


def schema_text() -> str:
    """The schema file's content."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def packages_with_columns() -> dict[str, str]:
    """What the documentation calls rooms with a ``columns.toml``, and their packages."""
    return {
        "preprocess": "pairtile.preprocess",
        "downstream": "pairtile.downstream",
        **{name: method.package for name, method in methods().items()},
    }


def pages_with_tables(checkout: Path) -> dict[Path, str]:
    """Pages of the documentation with tables of columns, and their text with these filled in."""
    packages = packages_with_columns()
    return {
        page: with_tables(page.read_text(encoding="utf-8"), packages)
        for page in [
            *checkout.glob("docs/results.md"),
            *sorted(checkout.glob("docs/results/*.md")),
            *sorted(checkout.glob("docs/methods/*.md")),
        ]
    }


def write(checkout: Path) -> list[Path]:
    """Write all of these below ``checkout``; returns their paths."""
    texts = {checkout / SCHEMA_FILE: schema_text(), checkout / README_FILE: readme_text()}
    texts |= pages_with_tables(checkout)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


class _Untitled(GenerateJsonSchema):
    """Without a title for each key (they would only repeat its name)."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def float_schema(self, schema: FloatSchema) -> JsonSchemaValue:
        return or_exponent(super().float_schema(schema))

    def generate(self, schema: CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        result = super().generate(schema, mode)
        for section in (result, *result.get("$defs", {}).values()):
            section.pop("title", None)
            section["description"] = " ".join(section["description"].split())
        return result


def main() -> None:
    """Write the files of the checkout that this package lies in."""
    checkout = Path(__file__).parents[3]
    if not (checkout / "workflow" / "pairtile").is_dir():
        sys.exit(f"{checkout}: found no checkout of pairtile; expected to run from one")
    for path in write(checkout):
        print(f"wrote {path.relative_to(checkout)}")


if __name__ == "__main__":
    main()
