"""Schema and documentation are those of the models, and say something of every key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pairtile.config.describe import (
    README_FILE,
    SCHEMA_FILE,
    json_schema,
    readme_text,
    schema_text,
    write,
)
from pairtile.config.load import load_config
from pairtile.config.models import Analysis, ConfigModel, models_in
from pairtile.config.root import Config, models

ROOT = Path(__file__).resolve().parents[2]
STALE = "is not what the models say: run python -m pairtile.config.describe"
SECTIONS = {
    f"$defs/{name} {form.get('required', '')}": {"description": section["description"], **form}
    for name, section in {**json_schema()["$defs"], "top": json_schema()}.items()
    for form in section.get("anyOf", [section])
    if "enum" not in form
}


def keys_of(section: type[ConfigModel]) -> Iterator[str]:
    for key, field in section.model_fields.items():
        yield key
        for inner in models_in(field.annotation):
            yield from keys_of(inner)


def test_schema_file_is_that_of_the_models() -> None:
    assert (ROOT / SCHEMA_FILE).read_text(encoding="utf-8") == schema_text(), STALE


def test_readme_is_that_of_the_models() -> None:
    assert (ROOT / README_FILE).read_text(encoding="utf-8") == readme_text(), STALE


def test_write_makes_all_files(tmp_path: Path) -> None:
    names = [path.relative_to(tmp_path).as_posix() for path in write(tmp_path)]
    assert names == [SCHEMA_FILE, README_FILE]
    assert json.loads((tmp_path / SCHEMA_FILE).read_text()) == json_schema()


def test_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("name", SECTIONS)
def test_every_key_of_the_schema_is_described_and_has_a_default_or_is_required(name: str) -> None:
    section = SECTIONS[name]
    assert section["additionalProperties"] is False
    assert len(section["description"]) > 10
    for key, schema in section["properties"].items():
        assert len(schema.get("description", "")) > 20, key
        assert schema["description"].endswith("."), key
        assert ("default" in schema) != (key in section.get("required", ())), key
        assert {"type", "anyOf", "oneOf", "$ref", "enum", "const"} & set(schema), key


def test_defaults_in_the_schema_are_those_that_load() -> None:
    section = json_schema()["$defs"][models()["mutual_information"].__name__]
    defaults = {k: s["default"] for k, s in section["properties"].items() if "default" in s}
    least = {"method": "mutual_information", "expression": "e.tsv"}
    config = load_config({"analyses": {"least": least, "all": defaults | least}})
    assert config.analyses["least"].resolved() == config.analyses["all"].resolved()


def test_readme_has_a_row_for_every_key() -> None:
    page = readme_text()
    sections: list[type[ConfigModel]] = [Config, *models().values()]
    for section in sections:
        for key in keys_of(section):
            assert f"\n| `{key}` | " in page
    assert all(line.count(" | ") == 3 for line in page.splitlines() if line.startswith("| `"))


def test_links_of_the_readme_lead_to_its_headings() -> None:
    page = readme_text()
    headings = [line.lstrip("# ") for line in page.splitlines() if line.startswith("#")]
    anchors = {h.lower().replace("`", "").replace(":", "").replace(" ", "-") for h in headings}
    links = {part.split(")")[0] for part in page.split("](#")[1:]}
    assert links
    assert links <= anchors


def example_files() -> list[Path]:
    return [ROOT / "config/config.yaml", *sorted((ROOT / "config/examples").glob("*.yaml"))]


@pytest.mark.parametrize("path", example_files(), ids=lambda path: path.name)
def test_example_loads_and_fits_the_schema(path: Path) -> None:
    config = load_config(path)
    again = {"analyses": {name: config.analyses[name].resolved() for name in config.analyses}}
    assert not list(jsonschema.Draft202012Validator(json_schema()).iter_errors(again))
    # Editors find the schema by the path in the first line.
    head = path.read_text().splitlines()[0]
    named = head.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == (ROOT / SCHEMA_FILE).resolve()


@pytest.mark.parametrize("method", models().values())
def test_example_of_each_method_shows_every_key(method: type[Analysis]) -> None:
    name = method.method_name()
    path = ROOT / f"config/examples/{name}.yaml"
    raw = yaml.safe_load(path.read_text())
    assert set(raw) == set(Config.model_fields)
    (section,) = raw["analyses"].values()
    if None in section:  # YAML's bare `null:`
        section["null"] = section.pop(None)
    assert_complete(section, method)


def assert_complete(given: dict[str, Any], section: type[ConfigModel]) -> None:
    differ = set(given) ^ set(section.model_fields)
    assert not differ, f"keys that only the example in config/examples or the model has: {differ}"
    for key, field in section.model_fields.items():
        inner = models_in(field.annotation)
        if len(inner) == 1 and given[key] not in (False, None, "auto"):
            for part in given[key] if isinstance(given[key], list) else [given[key]]:
                assert_complete(part, inner[0])


def test_demo_names_files_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from pairtile.config.load import check_inputs_exist

    monkeypatch.chdir(ROOT)
    check_inputs_exist(load_config("config/config.yaml"))
