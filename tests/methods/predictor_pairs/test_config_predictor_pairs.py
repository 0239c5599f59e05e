"""The section of predictor_pairs: its defaults, what it decides, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from expression_defaults import EXPRESSION_DEFAULTS
from pairtile.config.describe import json_schema
from pairtile.config.load import load_config
from pairtile.errors import ConfigError
from pairtile.methods.predictor_pairs.config import PredictorPairsConfig

DEFAULTS: dict[str, Any] = EXPRESSION_DEFAULTS | yaml.safe_load("""
method: predictor_pairs
levels: null
quantize: {levels: 3, rule: mean_split, thresholds: null}
lag: 1
score: mean_conditional_entropy
history: 1
dpi: true
series: null
targets: null
modules: null
estimator: {penalty: no_obs, alpha: 1.0, beta: 0.8, cardinality: 2, top: 10, self: false,
  search: auto}
"null": {kind: auto, permutations: auto}
keep: auto
chunks: auto
rules: false
export: auto
""")
CONTRACT = """
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
    section: dict[str, Any] = config(**keys).analyses["net"].resolved()
    return section


def test_every_default_is_that_of_the_contract() -> None:
    assert resolved() == DEFAULTS
    assert resolved(**yaml.safe_load(CONTRACT)) == DEFAULTS
    assert isinstance(config().analyses["net"], PredictorPairsConfig)


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


NO_TABLE: dict[str, Any] = {"expression": None}
THRESHOLDS = {"rule": "thresholds"}
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"expression": "left out"}, "expression"),
    (NO_TABLE, "expression"),
    ({"levels": "l.tsv"}, "levels"),
    ({"levels": 3}, "levels"),
    ({"layer": "counts"}, "layer"),
    *(
        (NO_TABLE | {"levels": "l.tsv", "preprocess": cleaned}, "preprocess")
        for cleaned in ({"normalize": "cpm"}, {"hidden_factors": 2}, {"sample_scale": True})
    ),
    ({"quantize": {"levels": 5}}, "quantize.levels"),
    ({"quantize": {"levels": 1}}, "quantize.levels"),
    ({"quantize": {"levels": 4}}, "quantize.levels"),
    ({"quantize": {"levels": 2, "rule": "extreme_split"}}, "quantize.levels"),
    ({"quantize": {"rule": "kmean"}}, "quantize.rule"),
    ({"quantize": THRESHOLDS}, "quantize.thresholds"),
    ({"quantize": {"thresholds": [1]}}, "quantize.thresholds"),
    ({"quantize": THRESHOLDS | {"thresholds": [2, 1]}}, "quantize.thresholds"),
    ({"quantize": THRESHOLDS | {"thresholds": 1}}, "quantize.thresholds"),
    ({"quantize": THRESHOLDS | {"thresholds": []}}, "quantize.thresholds"),
    ({"quantize": THRESHOLDS | {"thresholds": ["a"]}}, "quantize.thresholds.0"),
    ({"quantize": THRESHOLDS | {"thresholds": [True]}}, "quantize.thresholds.0"),
    ({"quantize": THRESHOLDS | {"thresholds": [float("nan")]}}, "quantize.thresholds.0"),
    ({"quantize": THRESHOLDS | {"thresholds": [1, 2], "levels": 2}}, "quantize.levels"),
    ({"lag": -1}, "lag"),
    ({"lag": True}, "lag"),
    ({"series": ["a"]}, "series"),
    ({"targets": 5}, "targets"),
    ({"estimator": {"penalty": "no_ob"}}, "estimator.penalty"),
    ({"estimator": {"penalty": None}}, "estimator.penalty"),
    ({"estimator": {"alpha": -1}}, "estimator.alpha"),
    ({"estimator": {"alpha": float("nan")}}, "estimator.alpha"),
    ({"estimator": {"beta": 0}}, "estimator.beta"),
    ({"estimator": {"cardinality": 5}}, "estimator.cardinality"),
    ({"estimator": {"cardinality": 4, "search": "sffs"}}, "estimator.search"),
    ({"estimator": {"top": 0}}, "estimator.top"),
    ({"estimator": {"search": "greedy"}}, "estimator.search"),
    ({"estimator": {"bins": 10}}, "estimator.bins"),
    ({"null": {"kind": "shift"}}, "null.kind"),
    ({"null": {"permutations": -1}}, "null.permutations"),
    ({"keep": "all"}, "keep"),
    ({"keep": {"top_edges": 5}}, "keep"),
    ({"keep": {"fdr": 0}}, "keep.fdr"),
    ({"keep": {"fdr": 0.1}, "null": {"permutations": 0}}, "keep"),
    ({"dpi": {"tolerance": 0.1}}, "dpi"),
    ({"penalty": "none"}, "penalty"),
]


@pytest.mark.parametrize(("keys", "named"), MISTAKES)
def test_mistakes_are_refused_with_a_line_that_names_the_key(
    keys: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**keys)
    [line] = str(caught.value).splitlines()
    assert line.startswith(f"config: analyses.net.{named}: ")
