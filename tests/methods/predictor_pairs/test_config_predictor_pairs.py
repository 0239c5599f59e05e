"""The section of predictor_pairs: its defaults, what it decides, what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from pairtile.config import load_config
from pairtile.config.describe import json_schema
from pairtile.errors import ConfigError
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig

DEFAULTS: dict[str, Any] = {
    "method": "predictor_pairs",
    "expression": "e.tsv",
    "orientation": "genes_in_rows",
    "layer": "auto",
    "obs": {},
    "duplicates": "error",
    "ignore_case": False,
    "ignore_versions": False,
    "names": None,
    "preprocess": {
        "log2": "auto",
        "pseudocount": "auto",
        "normalize": "auto",
        "min_samples": 20,
        "min_expressed": 0.0,
        "top_variable": None,
        "drop_constant": False,
        "regress_out": [],
    },
    "samples": dict.fromkeys(("annotations", "series", "time", "batch", "replicate", "step"))
    | {"combine": "auto", "unannotated": "error"},
    "levels": None,
    "quantize": {"levels": 3, "rule": "mean_split", "thresholds": None},
    "lag": 1,
    "series": None,
    "regulators": None,
    "targets": None,
    "gold_standard": None,
    "estimator": {
        "penalty": "no_obs",
        "alpha": 1.0,
        "beta": 0.8,
        "cardinality": 2,
        "top": 10,
        "self": False,
        "search": "auto",
    },
    "null": {"kind": "auto", "permutations": "auto"},
    "keep": "auto",
    "chunks": "auto",
    "export": "auto",
}

CONTRACT = """
analyses:
  NAME:
    method: predictor_pairs
    expression: e.tsv
    quantize: {levels: 3, rule: mean_split}
    lag: 1
    series: null
    regulators: null
    targets: null
    estimator: {penalty: no_obs, alpha: 1.0, beta: 0.8, cardinality: 2, top: 10, self: false}
"""


def config(**keys: Any) -> Any:
    given = {"method": "predictor_pairs", "expression": "e.tsv", **keys}
    section = {key: value for key, value in given.items() if value != "left out"}
    return load_config({"analyses": {"net": section}})


def resolved(**keys: Any) -> dict[str, Any]:
    section: dict[str, Any] = config(**keys).resolved("net")
    return section


def test_every_default_is_that_of_the_contract() -> None:
    assert resolved() == DEFAULTS
    assert load_config(yaml.safe_load(CONTRACT)).resolved("NAME") == DEFAULTS
    assert isinstance(config().analyses["net"], PredictorPairsConfig)


def test_resolved_section_is_json_and_loads_to_itself() -> None:
    for keys in (
        {"estimator": {"self": True, "cardinality": 3, "search": "sffs"}, "keep": {"fdr": "1e-2"}},
        {"levels": "l.tsv", "expression": None},
        {"quantize": {"rule": "thresholds", "thresholds": [1, "2e0"]}, "null": {"permutations": 5}},
    ):
        section = resolved(**keys)
        assert json.loads(json.dumps(section, allow_nan=False)) == section
        assert resolved(**section) == section


def test_defaults_in_the_schema_are_those_that_load() -> None:
    section = json_schema()["$defs"]["PredictorPairsConfig"]
    defaults = {k: s["default"] for k, s in section["properties"].items() if "default" in s}
    assert resolved(**defaults | {"expression": "e.tsv"}) == DEFAULTS


def test_the_key_self_is_self_everywhere() -> None:
    keys = json_schema()["$defs"]["PredictorEstimatorConfig"]["properties"]
    assert keys["self"]["default"] is False
    assert resolved(estimator={"self": True})["estimator"]["self"] is True
    assert config(estimator={"self": True}).analyses["net"].estimator.self is True
    with pytest.raises(ConfigError, match=r"estimator\.self: found 'yes'; expected true or false"):
        config(estimator={"self": "yes"})


@pytest.mark.parametrize(
    ("quantize", "levels"),
    [
        ({}, 3),
        ({"levels": 2}, 2),
        ({"rule": "kmeans"}, 3),
        ({"rule": "quantile", "levels": 4}, 4),
        ({"rule": "thresholds", "thresholds": [0]}, 2),
        ({"rule": "thresholds", "thresholds": [-1, 0.5, 3]}, 4),
        ({"rule": "thresholds", "thresholds": [-1, 0.5], "levels": 3}, 3),
    ],
)
def test_levels_of_an_expression_table_are_decided(quantize: dict[str, Any], levels: int) -> None:
    assert resolved(quantize=quantize)["quantize"]["levels"] == levels


def test_a_table_of_levels_may_say_itself_how_many_there_are() -> None:
    assert resolved(expression=None, levels="l.tsv")["quantize"]["levels"] == "auto"
    four = {"expression": "left out", "levels": "l.h5ad", "layer": "x", "quantize": {"levels": 4}}
    section = config(**four).analyses["net"]
    assert section.quantize.levels == 4  # whatever the rule, which does nothing here
    assert section.input_files() == {"levels": "l.h5ad"}


def test_input_files_are_all_that_the_section_names() -> None:
    names = ("expression", "series", "regulators", "targets", "gold_standard")
    files = {name: f"{name}.tsv" for name in names}
    assert config(**files).analyses["net"].input_files() == files


def test_preparation_does_not_run_again_for_what_it_does_not_use() -> None:
    section = config().analyses["net"]
    prepared = set(vars(section.for_step("prepare")))
    assert prepared.isdisjoint({"keep", "gold_standard", "chunks", "export"})
    assert {"expression", "levels", "quantize", "lag", "series", "targets"} <= prepared
    assert "keep" in vars(section.for_step("network"))


BAD_KEYS: list[tuple[dict[str, Any], str]] = [
    ({"expression": "left out"}, "expression: found no such key; expected the path of a table her"),
    ({"expression": None}, "expression: found nothing (null); expected the path of a table here,"),
    ({"levels": "l.tsv"}, "levels: found 'l.tsv'; expected null beside expression (one of them"),
    ({"levels": 3}, "levels: found 3; expected a path (text) or null"),
    ({"layer": "counts"}, "layer: found 'counts'; expected auto or null, since only .h5ad"),
    (
        {"expression": None, "levels": "l.tsv", "preprocess": {"normalize": "cpm"}},
        "preprocess: found {'normalize': 'cpm'}; expected min_samples and drop_constant only",
    ),
    ({"quantize": {"levels": 5}}, "quantize.levels: found 5; expected auto or an integer between"),
    ({"quantize": {"levels": 1}}, "quantize.levels: found 1; expected auto or an integer between"),
    (
        {"quantize": {"levels": 4}},
        "quantize.levels: found 4; expected 2 or 3 for rule: mean_split (4 levels with quantile, k",
    ),
    (
        {"quantize": {"levels": 2, "rule": "extreme_split"}},
        "quantize.levels: found 2; expected 3 for rule: extreme_split (2 levels with mean_split, q",
    ),
    ({"quantize": {"rule": "kmean"}}, "quantize.rule: found 'kmean'; expected mean_split, extr"),
    ({"quantize": {"rule": "kmean"}}, "(did you mean kmeans?)"),
    (
        {"quantize": {"rule": "thresholds"}},
        "quantize.thresholds: found no such key; expected a list of increasing numbers for rule: t",
    ),
    ({"quantize": {"thresholds": [1]}}, "thresholds: found [1]; expected null, or rule: threshol"),
    (
        {"quantize": {"rule": "thresholds", "thresholds": [2, 1]}},
        "quantize.thresholds: found [2, 1]; expected a list of 1 to 3 increasing numbers",
    ),
    ({"quantize": {"rule": "thresholds", "thresholds": 1}}, "found 1; expected a list of 1 to 3"),
    ({"quantize": {"rule": "thresholds", "thresholds": []}}, "found []; expected a list of 1 to 3"),
    ({"quantize": {"rule": "thresholds", "thresholds": ["a"]}}, "found 'a'; expected a number"),
    ({"quantize": {"rule": "thresholds", "thresholds": [True]}}, "found true (YAML reads bare"),
    ({"quantize": {"rule": "thresholds", "thresholds": [float("nan")]}}, "found nan; expected a n"),
    (
        {"quantize": {"rule": "thresholds", "thresholds": [1, 2], "levels": 2}},
        "quantize.levels: found 2; expected auto or 3 for 2 thresholds",
    ),
    ({"lag": -1}, "lag: found -1; expected an integer between 0 and 1000"),
    ({"lag": True}, "lag: found true"),
    ({"series": ["a"]}, "series: found ['a']; expected a path (text) or null"),
    ({"targets": 5}, "targets: found 5; expected a path (text) or null"),
    ({"estimator": {"penalty": "no_ob"}}, "penalty: found 'no_ob'; expected no_obs, none or poor"),
    ({"estimator": {"penalty": None}}, "penalty: found nothing (null); expected no_obs, none or"),
    ({"estimator": {"alpha": -1}}, "alpha: found -1; expected a number of at least 0"),
    ({"estimator": {"beta": 0}}, "beta: found 0; expected a number greater than 0 and at most 1"),
    (
        {"estimator": {"cardinality": 4}},
        "cardinality: found 4; expected an integer between 1 and 3",
    ),
    ({"estimator": {"top": 0}}, "top: found 0; expected an integer between 1 and 1000"),
    ({"estimator": {"search": "greedy"}}, "search: found 'greedy'; expected auto, exhaustive or"),
    ({"estimator": {"bins": 10}}, "estimator.bins: found an unknown key; expected penalty, alpha"),
    ({"null": {"kind": "shift"}}, "null.kind: found 'shift'; expected auto, permutation, circ"),
    ({"null": {"permutations": -1}}, "permutations: found -1; expected auto or an integer between"),
    ({"keep": "all"}, "keep: found 'all'; expected auto, best, {p_value: x}, {fdr: x} or"),
    (
        {"keep": {"top_edges": 5}},
        "keep: found {'top_edges': 5}; expected auto, best, {p_value: x},",
    ),
    ({"keep": {"fdr": 0}}, "keep.fdr: found 0; expected a number greater than 0 and at most 1"),
    (
        {"keep": {"fdr": 0.1}, "null": {"permutations": 0}},
        "keep: found {'fdr': 0.1}; expected auto or best under null.permutations: 0 (no p-values)",
    ),
    ({"dpi": False}, "dpi: found an unknown key"),
    ({"penalty": "none"}, "penalty: found an unknown key"),
    ({"penalty": "none"}, "(did you mean estimator.penalty?)"),
]


@pytest.mark.parametrize(("keys", "expected"), BAD_KEYS)
def test_mistakes_are_refused_with_a_line_that_names_them(
    keys: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**keys)
    assert expected in str(caught.value)
    assert all(line.startswith("config: analyses.net.") for line in str(caught.value).splitlines())
