"""The section of multimodal_correlation: its defaults, what it decides, what it refuses."""

from __future__ import annotations

import inspect
import re
from pkgutil import resolve_name
from typing import Any, get_args

import pytest
import yaml
from expression_defaults import EXPRESSION_DEFAULTS
from pairtile import multimodal_correlation
from pairtile.config.load import load_config
from pairtile.errors import ConfigError
from pairtile.methods.multimodal_correlation.config import (
    MixtureEstimatorConfig,
    MultimodalCorrelationConfig,
)
from pairtile.methods.multimodal_correlation.correlations import CORRELATIONS
from pairtile.methods.multimodal_correlation.plain_correlation import PlainCorrelation
from pairtile.report.text import read_references

DEFAULTS: dict[str, Any] = EXPRESSION_DEFAULTS | yaml.safe_load("""
method: multimodal_correlation
other_expression: null
other_preprocess: null
mirna_targets: null
compatibility: none
lag: 0
estimator: {clustering: gmm, correlation: spearman, min_clusters: 1, max_clusters: 5,
  criterion: icl, min_samples: 30, min_correlation: 0.5, max_correlation: 1.0,
  min_expression: null, max_expression: null, outliers_before: true, outliers_after: true,
  restarts: 3}
threshold: {method: auto, score: null, fdr: 0.05, start: 0.99, step: 0.001, stop: null,
  rule: symmetric, min_eigenvalues: 50, fit: null, min_genes: null}
power: {alpha: 0.001, power: 0.8}
annotations: null
conditions: []
condition_networks: {q_value: 0.001}
modules: {method: leiden, resolution: 1.0, eigengenes: false, power: auto,
  network_type: unsigned, min_size: auto, deep_split: 2, cut_height: 0.995, merge_height: 0.15,
  consensus: false, max_p: 0.05}
kinc_text: true
chunks: auto
reuse: null
export: auto
""")

CONTRACT = """
method: multimodal_correlation
expression: e.tsv
compatibility: none
estimator: {clustering: gmm, correlation: spearman, min_clusters: 1, max_clusters: 5,
  criterion: icl, min_samples: 30, min_correlation: 0.5, max_correlation: 1.0,
  min_expression: null, max_expression: null, outliers_before: true, outliers_after: true,
  restarts: 3}
threshold: {method: rmt}
power: {alpha: 0.001, power: 0.8}
annotations: samples.tsv
conditions: [Treatment, {name: Duration, kind: quantitative}]
"""


def config(**keys: Any) -> Any:
    given = {"method": "multimodal_correlation", "expression": "e.tsv", **keys}
    section = {key: value for key, value in given.items() if value != "left out"}
    return load_config({"analyses": {"net": section}})


def resolved(**keys: Any) -> dict[str, Any]:
    section: dict[str, Any] = config(**keys).analyses["net"].resolved()
    return section


def tables(**keys: Any) -> tuple[str, ...]:
    found: tuple[str, ...] = config(**keys).analyses["net"].result_tables()
    return found


def test_every_default_is_that_of_the_contract() -> None:
    assert resolved() == DEFAULTS
    assert isinstance(config().analyses["net"], MultimodalCorrelationConfig)
    entries = [
        {"name": "Treatment", "kind": "auto", "levels": None},
        {"name": "Duration", "kind": "quantitative", "levels": None},
    ]
    tested = {**DEFAULTS, "annotations": "samples.tsv", "conditions": entries}
    tested["threshold"] = {**DEFAULTS["threshold"], "method": "rmt", "fdr": None}
    assert resolved(**yaml.safe_load(CONTRACT)) == tested


@pytest.mark.parametrize(
    ("method", "others"),
    [
        (
            "auto",
            {"fdr": 0.05, "start": 0.99, "step": 0.001, "rule": "symmetric", "min_eigenvalues": 50},
        ),
        ("rmt", {"start": 0.99, "step": 0.001, "rule": "symmetric", "min_eigenvalues": 50}),
        ("power_law", {"start": 0.99, "step": 0.01, "fit": 0.8, "min_genes": 50}),
        ("fdr", {"fdr": 0.05}),
        ("none", {}),
    ],
)
def test_keys_of_a_threshold_method_are_decided(method: str, others: dict[str, Any]) -> None:
    unset = {**dict.fromkeys(DEFAULTS["threshold"]), "rule": "auto"}
    assert resolved(threshold={"method": method})["threshold"] == {
        **unset,
        "method": method,
        **others,
    }


@pytest.mark.parametrize("written", ["auto", {"method": "auto"}, {}, "left out"])
def test_auto_may_be_a_word_or_a_method(written: Any) -> None:
    assert resolved(threshold=written)["threshold"] == DEFAULTS["threshold"]
    beside = config(threshold=written, regulators="tfs.txt").analyses["net"]
    assert beside.threshold.method == "auto"


def test_auto_is_random_matrix_theory_under_compatibility_kinc() -> None:
    section = resolved(compatibility="kinc")
    assert (
        section["threshold"]
        == resolved(compatibility="kinc", threshold={"method": "rmt"})["threshold"]
    )
    assert (section["threshold"]["method"], section["threshold"]["fdr"]) == ("rmt", None)


def test_rule_of_the_threshold_follows_compatibility_unless_given() -> None:
    def rule(compatibility: str, **threshold: Any) -> str:
        section = resolved(compatibility=compatibility, threshold={"method": "rmt", **threshold})
        return str(section["threshold"]["rule"])

    assert rule("kinc") == "kinc"
    assert rule("kinc", rule="symmetric") == "symmetric"
    assert rule("none") == "symmetric"
    assert rule("none", rule="kinc") == "kinc"


def test_tables_are_those_that_the_analysis_asks_for() -> None:
    every = config(annotations="s.tsv").analyses["net"]
    assert every.result_tables() == every.tables
    assert every.tables == (
        "threshold.tsv",
        "condition_tests.tsv",
        "condition_networks.tsv",
        "modules.tsv",
        "kinc.txt",
        "kinc_tidy.txt",
        "kinc_minimal.txt",
    )
    texts = every.tables[-3:]
    assert tables() == ("threshold.tsv", "modules.tsv", *texts)
    assert tables(modules=False) == ("threshold.tsv", *texts)
    assert tables(threshold={"method": "none"}) == ("modules.tsv", *texts)
    assert tables(kinc_text=False) == ("threshold.tsv", "modules.tsv")


def test_input_files_are_all_that_the_section_names() -> None:
    keys = ("expression", "names", "regulators", "annotations", "gold_standard")
    files = {name: f"{name}.tsv" for name in keys}
    section = config(**files, threshold={"method": "fdr"}).analyses["net"]
    assert section.input_files() == files
    assert section.inputs("network") == ("annotations",)
    assert section.jobs.report_state


CHOOSING = ("threshold", "power", "annotations", "conditions", "condition_networks", "modules")


def test_pairs_are_not_scored_again_for_what_only_chooses_among_them() -> None:
    section = config(annotations="s.tsv", conditions=["a"]).analyses["net"]
    for key in CHOOSING:
        users = {step for step in STEPS if key in vars(section.for_step(step))}
        assert users == ({"tables"} if key == "modules" else {"network", "tables"}), key


STEPS = ("prepare", "plan", "score", "network", "evaluate", "tables")


@pytest.mark.parametrize(
    ("key", "users"),
    [
        ("expression", STEPS),
        ("preprocess", STEPS),
        ("estimator", ("plan", "score", "network", "tables")),
        ("compatibility", ("plan", "score", "network", "tables")),
        ("kinc_text", ("tables",)),
        ("gold_standard", ("evaluate",)),
        ("chunks", ("plan",)),
        ("reuse", ()),
        ("export", ()),
    ],
)
def test_steps_see_the_keys_that_they_use(key: str, users: tuple[str, ...]) -> None:
    section = config().analyses["net"]
    assert tuple(step for step in STEPS if key in vars(section.for_step(step))) == users


@pytest.mark.parametrize(
    "keys",
    [{"differential": {"label": "a"}}, {"preprocess": {"regress_out": ["a"]}}, {"obs": {"a": "b"}}],
)
def test_columns_named_elsewhere_are_of_annotations_too(keys: dict[str, Any]) -> None:
    of_samples = {"annotations": "t.tsv"}
    for samples in (None, {"annotations": None}):
        found = resolved(annotations="s.tsv", samples=samples, **keys)
        assert found["samples"]["annotations"] == "s.tsv"
    in_file = resolved(expression="e.h5ad", annotations="s.tsv", **keys)
    assert in_file["samples"]["annotations"] is None
    found = resolved(annotations="s.tsv", samples=of_samples, **keys)
    assert found["samples"] == resolved(samples=of_samples)["samples"]
    assert resolved(annotations="s.tsv")["samples"]["annotations"] is None


def test_one_name_or_many_forms_of_conditions_mean_the_same() -> None:
    full = [{"name": "Treatment", "kind": "auto", "levels": None}]
    for given in (["Treatment"], [{"name": "Treatment"}], full):
        assert resolved(annotations="s.tsv", conditions=given)["conditions"] == full
    assert resolved(annotations="s.tsv", conditions=None)["conditions"] == []
    numbers = [{"name": "a", "kind": "ordinal", "levels": [1, "2", 2.5]}]
    assert resolved(annotations="s.tsv", conditions=numbers)["conditions"][0]["levels"] == [
        "1",
        "2",
        "2.5",
    ]


MISTAKES = """
expression: [{expression: left out}]
annotations: [{annotations: 5}]
compatibility: [{compatibility: KINC}, {compatibility: true}]
estimator.clustering: [{estimator: {clustering: kmeans}}, {estimator: {clustering: null}}]
estimator.correlation:
  - {estimator: {correlation: kendal}}
  - {estimator: {correlation: partial}}
lag:
  - {lag: -1}
  - {lag: 1}
  - {lag: 1, estimator: {clustering: none, correlation: partial}}
estimator.criterion: [{estimator: {criterion: ICL}}]
estimator.min_clusters: [{estimator: {min_clusters: 0}}]
estimator.max_clusters:
  - {estimator: {max_clusters: 6}}
  - {estimator: {max_clusters: 2.5}}
  - {estimator: {min_clusters: 3, max_clusters: 2}}
estimator.min_samples: [{estimator: {min_samples: 2}}]
estimator.min_correlation: [{estimator: {min_correlation: -0.1}}]
estimator.max_correlation:
  - {estimator: {max_correlation: 1.1}}
  - {estimator: {min_correlation: 0.9, max_correlation: 0.8}}
  - {estimator: {max_correlation: 0.3}}
estimator.max_expression:
  - {estimator: {min_expression: 2, max_expression: 1}}
  - {estimator: {max_expression: high}}
estimator.min_expression: [{estimator: {min_expression: -.inf}}]
estimator.outliers_before: [{estimator: {outliers_before: 'yes'}}]
estimator.restarts: [{estimator: {restarts: 0}}]
estimator.bins: [{estimator: {bins: 10}}]
threshold: [{threshold: rmt}]
threshold.method: [{threshold: {method: RMT}}]
threshold.score:
  - {threshold: {method: score}}
  - {threshold: {score: 0.8}}
  - {threshold: {method: score, score: 0.3}}
  - {threshold: {method: score, score: 0.95}, estimator: {max_correlation: 0.9}}
threshold.start: [{threshold: {method: none, start: 0.9}}, {estimator: {min_correlation: 0.995}}]
threshold.rule: [{threshold: {method: power_law, rule: kinc}}]
threshold.fit: [{threshold: {fit: 0.9}}]
threshold.stop: [{threshold: {stop: 0.99}}, {threshold: {stop: 0.3}}]
threshold.step: [{threshold: {step: 0}}]
threshold.min_eigenvalues: [{threshold: {min_eigenvalues: 49}}]
power: [{power: true}, {power: 0.8}]
power.alpha: [{power: {alpha: 0}}]
power.power: [{power: {power: 1}}]
conditions:
  - {conditions: [a]}
  - {annotations: s.tsv, conditions: a}
  - {annotations: s.tsv, conditions: [5]}
  - {annotations: s.tsv, conditions: [a, {name: a}]}
conditions.0: [{annotations: s.tsv, conditions: ['']}]
conditions.0.name: [{annotations: s.tsv, conditions: [{}]}]
conditions.1.knd: [{annotations: s.tsv, conditions: [b, {name: a, knd: 1}]}]
conditions.0.kind: [{annotations: s.tsv, conditions: [{name: a, kind: ordnal}]}]
conditions.0.levels:
  - {annotations: s.tsv, conditions: [{name: a, levels: [x, y]}]}
  - {annotations: s.tsv, conditions: [{name: a, kind: ordinal, levels: [x, x]}]}
  - {annotations: s.tsv, conditions: [{name: a, kind: ordinal, levels: [true, false]}]}
condition_networks.q_value: [{condition_networks: {q_value: 2}}]
condition_networks.r_squared: [{condition_networks: {r_squared: 0.3}}]
differential: [{differential: {label: a}}]
modules: [{modules: leiden}]
modules.method: [{modules: {method: louvain}}]
modules.resolution: [{modules: {resolution: 0}}]
kinc_text: [{kinc_text: full}]
min_samples: [{min_samples: 30}]
dpi: [{dpi: false}]
"""
"""The key that is refused, and sections that are wrong in it alone."""


@pytest.mark.parametrize(
    ("key", "keys"), [(k, keys) for k, many in yaml.safe_load(MISTAKES).items() for keys in many]
)
def test_mistakes_are_refused_with_a_line_that_names_them(key: str, keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**keys)
    [line] = str(caught.value).splitlines()
    assert line.startswith(f"config: analyses.net.{key}: found ")


def test_configuration_and_library_take_the_correlations_of_the_table() -> None:
    of_config = MixtureEstimatorConfig.model_fields["correlation"].annotation
    assert get_args(of_config) == tuple(CORRELATIONS)
    of_library = inspect.signature(multimodal_correlation).parameters["correlation"].annotation
    assert re.findall(r"\w+", of_library) == ["Literal", *CORRELATIONS]


@pytest.mark.parametrize("correlation", CORRELATIONS.values(), ids=list(CORRELATIONS))
def test_a_correlation_has_what_computes_it_and_its_papers(correlation: Any) -> None:
    package = "pairtile.methods.multimodal_correlation"
    assert issubclass(resolve_name(f"{package}.{correlation.all_samples}"), PlainCorrelation)
    # Within modes the kernels take it, or a function; given all genes there is none.
    taken = [correlation.product_moment, correlation.given_all_genes, correlation.with_p_values]
    assert sum(map(bool, taken)) == 1
    for function in filter(None, (correlation.rows, correlation.with_p_values)):
        assert callable(resolve_name(f"{package}.{function}"))
    papers = read_references(package)
    correlation.called(lambda key: getattr(papers, key).cited)
