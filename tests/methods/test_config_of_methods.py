"""Sections of all methods: schema, examples and a second loading agree on every default."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml
from pairtile.config.describe import json_schema
from pairtile.config.load import load_config
from pairtile.config.root import models
from paths import ROOT
from required_keys import required_keys

FORMS: list[dict[str, Any]] = yaml.safe_load("""
- {method: mirna_targets, estimator: {trim: 50, score: "1.2e2", gap_extend: 0}}
- {method: multimodal_correlation, compatibility: kinc, power: false, modules: false}
- {method: multimodal_correlation, threshold: {method: power_law, stop: "6e-1"}}
- {method: multimodal_correlation, threshold: {method: score, score: 0.75}}
- {method: multimodal_correlation, threshold: {method: none}, estimator: {clustering: none}}
- method: multimodal_correlation
  annotations: s.tsv
  conditions: [a, {name: Stage, kind: ordinal, levels: [low, 2, 3.5]}]
- {method: predictor_pairs, keep: {fdr: "1e-2"},
   estimator: {self: true, cardinality: 3, search: sffs}}
- {method: predictor_pairs, levels: l.tsv, expression: null}
- {method: predictor_pairs, "null": {permutations: 5},
   quantize: {rule: thresholds, thresholds: [1, "2e0"]}}
- {method: trajectory_correlation, estimator: {preset: dynetan}}
- {method: trajectory_correlation, estimator: {kind: dihedral}}
- {method: trajectory_correlation, fit: false, contacts: {cutoff: 5.0}, keep: all}
- {method: trajectory_correlation, variables: distances, distances: {lid: [resid 1, resid 2]}}
- {method: trajectory_correlation, trajectories: [a.dcd, [b1.dcd, b2.dcd]], paths: [[A:LYS1, A:B2]]}
""")


def resolved(method: str, **keys: Any) -> dict[str, Any]:
    section = {"method": method, **required_keys(method), **keys}
    found: dict[str, Any] = load_config({"analyses": {"a": section}}).analyses["a"].resolved()
    return found


@pytest.mark.parametrize(
    "section",
    [*({"method": name} for name in models()), *FORMS],
    ids=lambda section: str(section)[:60],
)
def test_resolved_section_is_json_fits_the_schema_and_loads_to_itself(
    section: dict[str, Any],
) -> None:
    whole = resolved(**section)
    assert json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert resolved(**whole) == whole
    validator = jsonschema.Draft202012Validator(json_schema())
    assert not list(validator.iter_errors({"analyses": {"a": whole}}))


@pytest.mark.parametrize("method", models())
def test_defaults_in_the_schema_are_those_that_load(method: str) -> None:
    properties = json_schema()["$defs"][models()[method].__name__]["properties"]
    defaults = {key: part["default"] for key, part in properties.items() if "default" in part}
    assert resolved(**{**defaults, "method": method, **required_keys(method)}) == resolved(method)


OTHERWISE = {
    "mirna_targets": {"estimator", "null"},
    "multimodal_correlation": {"conditions"},
}
"""Method -> keys for which its example recommends or shows something else."""


@pytest.mark.parametrize("method", models())
def test_the_example_holds_the_defaults_but_for_files(method: str) -> None:
    text = (ROOT / f"config/examples/{method}.yaml").read_text(encoding="utf-8")
    (section,) = load_config(yaml.safe_load(text)).analyses.values()
    found, expected = section.resolved(), resolved(method)
    differ = {key for key in expected if found[key] != expected[key]}
    of_files = {name.split(".")[0] for name in section.input_files()}
    assert differ - of_files == OTHERWISE.get(method, set())
