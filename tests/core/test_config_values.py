"""What a good configuration becomes: defaults, short forms, numbers as people write them."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from expression_defaults import EXPRESSION_DEFAULTS
from pairtile.config.load import load_config
from pairtile.methods.mutual_information.config import MutualInformationConfig
from programs import python
from pydantic import ValidationError

DEFAULTS: dict[str, Any] = EXPRESSION_DEFAULTS | {
    "method": "mutual_information",
    "scores": None,
    "score_column": None,
    "scores_null": None,
    "other_expression": None,
    "other_preprocess": None,
    "mirna_targets": None,
    "modules": None,
    "estimator": {
        "bins": "auto",
        "order": "auto",
        "knots": "clamped",
        "transform": "auto",
        "precision": "auto",
    },
    "score": "auto",
    "null": {"kind": "auto", "permutations": "auto", "samples_alike": False},
    "keep": "auto",
    "lag": 0,
    "dpi": {"tolerance": 0.1, "rule": "relative"},
    "bootstraps": {
        "number": 0,
        "resample": "bootstrap",
        "fraction": None,
        "correction": "fdr",
        "alpha": 0.05,
    },
    "chunks": "auto",
    "export": "auto",
}

CONTRACT = """
results: results
backend: auto
seed: 1
analyses:
  NAME:
    method: mutual_information
    expression: expr.tsv.gz
    orientation: genes_in_rows
    regulators: tfs.txt
    gold_standard: gold.tsv
    preprocess:
      {log2: auto, pseudocount: auto, normalize: auto, min_samples: 20, drop_constant: false}
    estimator: {bins: auto, order: auto, knots: clamped, transform: auto, precision: auto}
    score: auto
    null: {permutations: auto}
    keep: auto
    dpi: {tolerance: 0.1, rule: relative}
    bootstraps: 0
    chunks: auto
    export: auto
"""


def one(**keys: Any) -> Any:
    section = {"method": "mutual_information", "expression": "e.tsv", **keys}
    return load_config({"analyses": {"net": section}}).analyses["net"]


def from_yaml(line: str) -> dict[str, Any]:
    """The resolved section with one more line, read as PyYAML (and so Snakemake) reads it."""
    text = f"analyses:\n  net:\n    method: mutual_information\n    expression: e.tsv\n    {line}\n"
    return load_config(yaml.safe_load(text)).analyses["net"].resolved()


def test_every_default_is_that_of_the_contract() -> None:
    config = load_config({"analyses": {"net": {k: DEFAULTS[k] for k in ("method", "expression")}}})
    assert config.analyses["net"].resolved() == DEFAULTS, (
        "a new default: tests/support/expression_defaults.py"
    )
    assert (config.results, config.backend, config.seed) == ("results", "auto", 1)
    assert isinstance(config.analyses["net"], MutualInformationConfig)


def test_contract_written_out_resolves_to_the_defaults() -> None:
    files = {"expression": "expr.tsv.gz", "regulators": "tfs.txt", "gold_standard": "gold.tsv"}
    config = load_config(yaml.safe_load(CONTRACT))
    assert config.analyses["NAME"].resolved() == DEFAULTS | files
    assert config.analyses["NAME"].input_files() == files


@pytest.mark.parametrize(
    ("line", "keep"),
    [
        ("keep: {p_value: 1e-5}", {"p_value": 1e-5}),  # PyYAML: text
        ("keep: {p_value: 1.0e-5}", {"p_value": 1e-5}),
        ("keep: {p_value: 1E-05}", {"p_value": 1e-5}),
        ("keep: {p_value: .5e-2}", {"p_value": 0.005}),
        ("keep: {p_value: 1}", {"p_value": 1.0}),
        ("keep: {fdr: 0.01}", {"fdr": 0.01}),
        ("keep: {fdr: 5e-2}", {"fdr": 0.05}),
        ("keep: {score: 3}", {"score": 3.0}),
        ("keep: {score: -1e-1}", {"score": -0.1}),
        ("keep: {top_edges: 5000}", {"top_edges": 5000}),
        ("keep: {top_edges: 1e5}", {"top_edges": 100_000}),  # PyYAML: text
        ("keep: {top_edges: 1.0e+5}", {"top_edges": 100_000}),  # PyYAML: float
        ("keep: all", "all"),
    ],
)
def test_keep_takes_each_form_and_numbers_as_people_write_them(line: str, keep: Any) -> None:
    assert from_yaml(line)["keep"] == keep


@pytest.mark.parametrize("text", ["10000000", "1e7", "1.0e7", "1.0e+7", "10_000_000"])
def test_permutations_may_be_written_with_exponent(text: str) -> None:
    permutations = from_yaml(f"null: {{permutations: {text}}}")["null"]["permutations"]
    assert permutations == 10_000_000
    assert isinstance(permutations, int)


@pytest.mark.parametrize(("word", "value"), [("yes", True), ("off", False), ("auto", "auto")])
def test_log2_takes_every_yaml_spelling_of_true_and_false(word: str, value: Any) -> None:
    assert from_yaml(f"preprocess: {{log2: {word}}}")["preprocess"]["log2"] == value


def test_the_key_null_may_be_bare_or_quoted() -> None:
    for key in ("null", "'null'"):
        assert from_yaml(f"{key}: {{permutations: 500}}")["null"] == {
            "kind": "auto",
            "permutations": 500,
            "samples_alike": False,
        }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (100, {"number": 100}),
        ({"number": 100}, {"number": 100}),
        ({"number": 9, "resample": "subsample"}, {"fraction": 0.632, "resample": "subsample"}),
        ({"resample": "subsample", "fraction": 0.8}, {"fraction": 0.8}),
        ({"number": 9, "correction": "bh", "alpha": "1e-3"}, {"correction": "bh", "alpha": 1e-3}),
    ],
)
def test_bootstraps_number_stands_for_its_section(given: Any, expected: dict[str, Any]) -> None:
    found = one(bootstraps=given).resolved()["bootstraps"]
    assert found == DEFAULTS["bootstraps"] | (given if isinstance(given, dict) else {}) | expected


def test_dpi_takes_false_and_partial_sections() -> None:
    assert one(dpi=False).resolved()["dpi"] is False
    assert one(dpi={}).resolved()["dpi"] == {"tolerance": 0.0, "rule": "relative"}
    additive = {"tolerance": 1.5, "rule": "additive"}
    assert one(dpi=additive).resolved()["dpi"] == additive


def test_edges_of_the_allowed_ranges_are_allowed() -> None:
    one(estimator={"bins": 64, "order": 64})
    one(estimator={"bins": 1, "order": 1})
    one(null={"permutations": 100}, chunks=1, preprocess={"min_samples": 3})
    one(null={"permutations": 10**9}, chunks=100_000, dpi={"tolerance": 1})
    one(keep={"p_value": 1}, bootstraps=10_000, export=[])
    one(expression="atlas.H5AD", layer="counts")


@pytest.mark.parametrize("name", ["a", "1", "A.b-c_d", "2024-01-01", "null", "a" * 100, "a..b"])
def test_safe_folder_names_are_taken_when_they_are_text(name: str) -> None:
    section = {"method": "mutual_information", "expression": "e.tsv"}
    assert list(load_config({"analyses": {name: section}}).analyses) == [name]


@pytest.mark.parametrize("given", ["out/", "./out", "out//", "x/../out"])
def test_results_folder_is_written_in_one_way(given: str) -> None:
    section = {"method": "mutual_information", "expression": "e.tsv"}
    assert load_config({"analyses": {"a": section}, "results": given}).results == "out"


def test_any_mapping_is_taken_and_left_unchanged() -> None:
    section = OrderedDict(method="mutual_information", expression="e.tsv", export=("tsv",))
    given = MappingProxyType({"analyses": OrderedDict(net=MappingProxyType(section))})
    assert load_config(given).analyses["net"].resolved() == DEFAULTS | {"export": ["tsv"]}
    assert section == {"method": "mutual_information", "expression": "e.tsv", "export": ("tsv",)}


def test_file_and_mapping_give_the_same(tmp_path: Path) -> None:
    mapping = yaml.safe_load(CONTRACT)
    mapping["analyses"]["NAME"]["null"] = mapping["analyses"]["NAME"].pop(None)
    (tmp_path / "c.yaml").write_text(CONTRACT)
    (tmp_path / "c.json").write_text(json.dumps(mapping, indent="\t"))
    assert load_config(tmp_path / "c.yaml") == load_config(str(tmp_path / "c.json"))
    assert load_config(tmp_path / "c.yaml") == load_config(mapping)


def test_merge_keys_of_yaml_work(tmp_path: Path) -> None:
    head = "analyses:\n  a: &a {method: mutual_information, expression: e.tsv, score: clr}\n"
    (tmp_path / "c.yaml").write_text(head + "  b:\n    <<: *a\n    score: target_z\n")
    config = load_config(tmp_path / "c.yaml")
    assert [config.analyses[name].resolved()["score"] for name in "ab"] == ["clr", "target_z"]


def test_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        one().chunks = 3


def test_loading_the_configuration_imports_no_heavy_library() -> None:
    code = (
        "import sys, pairtile, pairtile.config; heavy = {'numpy', 'pandas', 'pyarrow', 'scipy'}; "
        "print(sorted((heavy | {'numba', 'anndata', 'yaml'}) & set(sys.modules)))"
    )
    assert python(code).strip() == "[]"
