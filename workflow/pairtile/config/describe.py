"""Write the configuration's JSON schema and its documentation from the models.

``python -m pairtile.config.describe`` in a checkout writes ``workflow/schemas/config.schema.json``
and ``config/README.md``; a test fails where they differ from the models.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema

from pairtile.config.page import readme_text
from pairtile.config.root import Config

SCHEMA_FILE = "workflow/schemas/config.schema.json"
README_FILE = "config/README.md"


def json_schema() -> dict[str, Any]:
    """The configuration as a JSON schema (draft 2020-12), for editors and other tools.

    It accepts what ``load_config`` accepts, and more: relations between keys (``order`` at most
    ``bins``, names that differ in capitals only, ...) are beyond it.
    """
    schema = Config.model_json_schema(schema_generator=_Untitled)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pairtile configuration",
    }
    return {**head, **schema}


def schema_text() -> str:
    """The schema file's content."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def write(checkout: Path) -> list[Path]:
    """Write both files below ``checkout``; returns their paths."""
    written = []
    for name, text in ((SCHEMA_FILE, schema_text()), (README_FILE, readme_text())):
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


class _Untitled(GenerateJsonSchema):
    """Without a title for each key (they would only repeat its name)."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def generate(self, schema: CoreSchema, mode: Any = "validation") -> JsonSchemaValue:
        result = super().generate(schema, mode)
        for section in (result, *result.get("$defs", {}).values()):
            section.pop("title", None)
            section["description"] = " ".join(section["description"].split())
        return result


def main() -> None:
    """Write both files of the checkout that this package lies in."""
    checkout = Path(__file__).parents[3]
    if not (checkout / "workflow" / "pairtile").is_dir():
        sys.exit(f"{checkout}: found no checkout of pairtile; expected to run from one")
    for path in write(checkout):
        print(f"wrote {path.relative_to(checkout)}")


if __name__ == "__main__":
    main()
