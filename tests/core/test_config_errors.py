"""Every kind of mistake in a configuration is refused with a line that names it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from pairtile.config import check_inputs_exist, load_config
from pairtile.errors import ConfigError

FOLDER_NAME = "expected a folder name of at most 100 letters, digits, '_', '.' and '-'"
NOT_TEXT = "found a name that YAML does not read as text"
KEEP_FORMS = "expected {p_value: x}, {fdr: x}, {score: x}, {top_edges: n}, {fdr: x, top_edges: n}, "
BOOTSTRAPS_FORMS = "expected an integer between 0 and 10000, or a mapping with keys number,"


def analysis(**keys: Any) -> dict[str, Any]:
    return {"method": "mutual_information", "expression": "e.tsv", **keys}


def message(source: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(source)
    return str(caught.value)


BAD_KEYS: list[tuple[dict[Any, Any], str]] = [
    # input
    ({"expression": None}, "expression: found nothing (null); expected a path (text)"),
    ({"expression": ""}, "expression: found ''; expected a path (text)"),
    ({"expression": "a\0b"}, "expression: found 'a\\x00b'; expected a path"),
    ({"expression": "a\nb"}, "expression: found 'a\\nb'; expected a path"),
    ({"expression": ["a.tsv"]}, "expression: found ['a.tsv']; expected a path"),
    ({"orientation": "rows"}, "found 'rows'; expected genes_in_rows or samples_in_rows"),
    ({"layer": "counts"}, "layer: found 'counts'; expected auto or null, since only .h5ad"),
    ({"regulators": 5}, "regulators: found 5; expected a path (text) or null"),
    ({"gold_standard": False}, "gold_standard: found false"),
    # preprocess
    ({"preprocess": None}, "preprocess: found nothing (null); expected a mapping with keys log2,"),
    ({"preprocess": "none"}, "preprocess: found 'none'; expected a mapping with keys log2,"),
    ({"preprocess": {"log2": "yes"}}, "log2: found 'yes'; expected auto, true or false"),
    ({"preprocess": {"log2": 1}}, "log2: found 1; expected auto, true or false"),
    (
        {"preprocess": {"pseudocount": -1}},
        "pseudocount: found -1; expected auto or a number of at least 0",
    ),
    ({"preprocess": {"pseudocount": "1"}}, "found '1' (text; a number stands without quotes)"),
    ({"preprocess": {"pseudocount": True}}, "pseudocount: found true (YAML reads bare yes, no,"),
    (
        {"preprocess": {"pseudocount": float("inf")}},
        "pseudocount: found inf; expected auto or a number",
    ),
    ({"preprocess": {"pseudocount": 10**400}}, "pseudocount: found an integer above 1e60"),
    ({"preprocess": {"normalize": "quantiles"}}, "(did you mean quantile?)"),
    (
        {"preprocess": {"normalize": None}},
        "normalize: found nothing (null); expected auto, none, quan",
    ),
    (
        {"preprocess": {"normalize": "CPM"}},
        "normalize: found 'CPM'; expected auto, none, quantile, cpm",
    ),
    ({"preprocess": {"min_samples": 2}}, "min_samples: found 2; expected an integer between 3"),
    ({"preprocess": {"min_samples": 20.0}}, "min_samples: found 20.0; expected an integer"),
    ({"preprocess": {"drop_constant": "no"}}, "found 'no'; expected true or false"),
    ({"preprocess": {"drop_constant": 0}}, "drop_constant: found 0; expected true or false"),
    ({"preprocess": {"log": True}}, "preprocess.log: found an unknown key; expected log2,"),
    # estimator
    ({"estimator": []}, "estimator: found []; expected a mapping with keys bins, order, knots,"),
    ({"estimator": {"bins": "10"}}, "bins: found '10' (text; a number stands without quotes)"),
    (
        {"estimator": {"bins": 10.5}},
        "bins: found 10.5; expected auto or an integer between 1 and 64",
    ),
    (
        {"estimator": {"bins": 10.0}},
        "bins: found 10.0; expected auto or an integer between 1 and 64",
    ),
    ({"estimator": {"bins": True}}, "bins: found true"),
    ({"estimator": {"bins": None}}, "bins: found nothing (null)"),
    ({"estimator": {"bins": 0}}, "bins: found 0; expected auto or an integer between 1 and 64"),
    ({"estimator": {"bins": 65}}, "bins: found 65; expected auto or an integer between 1 and 64"),
    ({"estimator": {"bins": "many"}}, "bins: found 'many'; expected auto or an integer"),
    (
        {"estimator": {"bins": 10, "order": 12}},
        "found 12; expected an integer between 1 and bins (10)",
    ),
    ({"estimator": {"order": 0}}, "order: found 0; expected auto or an integer between 1 and bins"),
    ({"estimator": {"knots": "clampd"}}, "expected clamped or uniform (did you mean clamped?)"),
    ({"estimator": {"transform": True}}, "transform: found true"),
    ({"estimator": {"transform": "log"}}, "transform: found 'log'; expected auto, rank or none"),
    ({"estimator": {"precision": 64}}, "precision: found 64; expected auto, float64 or mixed"),
    ({"estimator": {"bin": 5}}, "estimator.bin: found an unknown key; expected bins, order, knots"),
    ({"estimator": {"bin": 5}}, "(did you mean bins?)"),
    # score and null
    ({"score": "tz"}, "score: found 'tz'; expected auto, mi, clr, target_z or combined"),
    ({"score": "target-z"}, "(did you mean target_z?)"),
    ({"null": 1000}, "null: found 1000; expected a mapping with keys kind and permutations"),
    ({"null": {"permutations": 99}}, "permutations: found 99; expected auto or an integer between"),
    ({"null": {"permutations": 2 * 10**9}}, "permutations: found 2000000000; expected auto or"),
    ({"null": {"permutations": 1000.5}}, "permutations: found 1000.5"),
    ({"null": {"permutations": "1000"}}, "permutations: found '1000' (text; a number stands"),
    ({"null": {"permutations": "atuo"}}, "(did you mean auto?)"),
    # keep
    ({"keep": None}, "keep: found nothing (null); " + KEEP_FORMS),
    ({"keep": 1e-5}, "keep: found 1e-05; " + KEEP_FORMS),
    ({"keep": "everything"}, "keep: found 'everything'; " + KEEP_FORMS),
    ({"keep": {}}, "keep: found an empty mapping; " + KEEP_FORMS),
    ({"keep": {"p_value": 0.1, "fdr": 0.1}}, "keep: found {'p_value': 0.1, 'fdr': 0.1}; "),
    ({"keep": {"pvalue": 0.1}}, "(did you mean p_value?)"),
    ({"keep": {"p_value": 0}}, "p_value: found 0; expected a number greater than 0 and at most 1"),
    ({"keep": {"p_value": 1.5}}, "keep.p_value: found 1.5; expected a number greater than 0"),
    ({"keep": {"p_value": "0.01"}}, "keep.p_value: found '0.01' (text; a number stands without"),
    ({"keep": {"p_value": True}}, "keep.p_value: found true"),
    ({"keep": {"p_value": float("nan")}}, "keep.p_value: found nan"),
    ({"keep": {"p_value": "1e-999"}}, "keep.p_value: found '1e-999'"),
    ({"keep": {"fdr": -0.1}}, "keep.fdr: found -0.1; expected a number greater than 0"),
    ({"keep": {"fdr": None}}, "keep.fdr: found nothing (null)"),
    ({"keep": {"score": "high"}}, "keep.score: found 'high'; expected a number"),
    ({"keep": {"score": float("inf")}}, "keep.score: found inf; expected a number"),
    ({"keep": {"top_edges": 0}}, "keep.top_edges: found 0; expected an integer between 1 and"),
    ({"keep": {"top_edges": 10.5}}, "keep.top_edges: found 10.5"),
    # dpi
    ({"dpi": True}, "dpi: found true"),
    ({"dpi": 0}, "dpi: found 0; expected false, or a mapping with keys tolerance and rule"),
    ({"dpi": None}, "dpi: found nothing (null); expected false, or a mapping"),
    ({"dpi": "false"}, "dpi: found 'false'; expected false, or a mapping"),
    ({"dpi": {"tolerance": 1.1}}, "tolerance: found 1.1; expected a number between 0 and 1 for ru"),
    ({"dpi": {"tolerance": -0.1}}, "tolerance: found -0.1; expected a number of at least 0"),
    ({"dpi": {"tolerance": -1, "rule": "additive"}}, "dpi.tolerance: found -1; expected a number"),
    ({"dpi": {"rule": "multiplicative"}}, "dpi.rule: found 'multiplicative'; expected relative or"),
    ({"dpi": {"eps": 0.1}}, "dpi.eps: found an unknown key; expected tolerance or rule"),
    # bootstraps
    ({"bootstraps": -1}, "bootstraps: found -1; " + BOOTSTRAPS_FORMS),
    ({"bootstraps": 1.5}, "bootstraps: found 1.5; " + BOOTSTRAPS_FORMS),
    ({"bootstraps": True}, "bootstraps: found true"),
    ({"bootstraps": "100"}, "bootstraps: found '100' (text; a number stands without quotes)"),
    ({"bootstraps": None}, "bootstraps: found nothing (null); " + BOOTSTRAPS_FORMS),
    ({"bootstraps": {"number": 10001}}, "bootstraps.number: found 10001; expected an integer"),
    ({"bootstraps": {"n": 10}}, "bootstraps.n: found an unknown key; expected number, resample,"),
    ({"bootstraps": {"resample": "jackknife"}}, "resample: found 'jackknife'; expected bootstrap"),
    ({"bootstraps": {"fraction": 0.5}}, "fraction: found 0.5; expected null, or resample: subsam"),
    (
        {"bootstraps": {"resample": "subsample", "fraction": 1}},
        "fraction: found 1; expected a numb",
    ),
    (
        {"bootstraps": {"correction": "holm"}},
        "correction: found 'holm'; expected fdr, poisson, bonferroni or bh",
    ),
    ({"bootstraps": {"alpha": 0}}, "bootstraps.alpha: found 0; expected a number greater than 0"),
    # chunks and export
    ({"chunks": 0}, "chunks: found 0; expected auto or an integer between 1 and 100000"),
    ({"chunks": 10**5000}, "chunks: found an integer above 1e60; expected auto or"),
    ({"estimator": [10**5000]}, "estimator: found a list; expected a mapping"),
    ({"chunks": -(10**5000)}, "chunks: found an integer below -1e60; expected auto or"),
    ({"chunks": "4"}, "chunks: found '4' (text; a number stands without quotes)"),
    ({"chunks": 4.0}, "chunks: found 4.0; expected auto or an integer"),
    ({"export": "tsv"}, "export: found 'tsv'; expected a list of formats, such as [tsv, graphml]"),
    ({"export": None}, "export: found nothing (null); expected a list of formats"),
    ({"export": ["tsv", "gml"]}, "export.1: found 'gml'; expected tsv, parquet, graphml, gexf,"),
    ({"export": ["graphlm"]}, "(did you mean graphml?)"),
    ({"export": [True]}, "export.0: found true"),
    ({"export": ["tsv", "tsv"]}, "expected each format once, but 'tsv' is there twice"),
    # keys and method
    ({"bins": 10}, "bins: found an unknown key; expected method, expression,"),
    ({"bins": 10}, "(did you mean estimator.bins?)"),
    ({"regulator": "r.txt"}, "(did you mean regulators?)"),
    ({"método": 1}, "analyses.net.método: found an unknown key"),
    ({"<mutual_information>": 1}, "<mutual_information>: found an unknown key"),
    ({"mutual_information": {}}, "analyses.net.mutual_information: found an unknown key"),
    ({True: 1}, f"analyses.net.true: {NOT_TEXT}, true"),
    ({5: 1}, f"analyses.net.5: {NOT_TEXT}, 5"),
    ({"preprocess": {None: 1}}, f"{NOT_TEXT}, nothing (null)"),
    ({"null": {}, None: {}}, "analyses.net.null: found the key twice"),
    ({"method": "mutual_informatio"}, "method: found 'mutual_informatio'; expected mutual_infor"),
    ({"method": "mutual_informatio"}, "(did you mean mutual_information?)"),
    ({"method": None}, "method: found nothing (null); expected mutual_information"),
    ({"method": ["mutual_information"]}, "method: found ['mutual_information']; expected mutual_i"),
]


@pytest.mark.parametrize(("keys", "part"), BAD_KEYS)
def test_bad_value_of_an_analysis_is_named_in_one_line(keys: dict[Any, Any], part: str) -> None:
    text = message({"analyses": {"net": {**analysis(), **keys}}})
    assert text.startswith("config: analyses.net")
    assert part in text
    assert "\n" not in text


GOOD = {"net": analysis()}
BAD_TOP: list[tuple[Any, str]] = [
    (None, "config: found nothing (null); expected a mapping with the key analyses"),
    (5, "config: found 5; expected a mapping with the key analyses"),
    ([GOOD], "config: found [{"),
    ({}, "config: analyses: found no such key; expected at least one analysis"),
    ({"analyses": None}, "config: analyses: found nothing (null); expected at least one analysis"),
    ({"analyses": {}}, "config: analyses: found an empty mapping; expected at least one analysis"),
    ({"analyses": [analysis()]}, "config: analyses: found [{'method'"),
    ({"analyses": {"a": 5}}, "analyses.a: found 5; expected a mapping with method: mutual_inf"),
    ({"analyses": {"a": None}}, "analyses.a: found nothing (null); expected a mapping with method"),
    ({"analyses": {"a": {}}}, "config: analyses.a.method: found no such key; expected mutual_info"),
    ({"analyses": {"a": {"method": "mutual_information"}}}, "a.expression: found no such key; exp"),
    ({"analyses": {"..": analysis()}}, "config: analyses: found the name '..'; " + FOLDER_NAME),
    ({"analyses": {".": analysis()}}, "config: analyses: found the name '.'; " + FOLDER_NAME),
    ({"analyses": {"../up": analysis()}}, "analyses: found the name '../up'; " + FOLDER_NAME),
    ({"analyses": {"a/b": analysis()}}, "analyses: found the name 'a/b'; " + FOLDER_NAME),
    ({"analyses": {"a\\b": analysis()}}, "analyses: found the name 'a\\\\b'; " + FOLDER_NAME),
    ({"analyses": {"a b": analysis()}}, "analyses: found the name 'a b'; " + FOLDER_NAME),
    ({"analyses": {"a\n": analysis()}}, "analyses: found the name 'a\\n'; " + FOLDER_NAME),
    ({"analyses": {"": analysis()}}, "analyses: found the name ''; " + FOLDER_NAME),
    ({"analyses": {"-a": analysis()}}, "analyses: found the name '-a'; " + FOLDER_NAME),
    ({"analyses": {".a": analysis()}}, "analyses: found the name '.a'; " + FOLDER_NAME),
    ({"analyses": {"{a}": analysis()}}, "analyses: found the name '{a}'; " + FOLDER_NAME),
    ({"analyses": {"é": analysis()}}, "analyses: found the name 'é'; " + FOLDER_NAME),
    ({"analyses": {"a" * 101: analysis()}}, FOLDER_NAME),
    ({"analyses": {1: analysis()}}, f"config: analyses.1: {NOT_TEXT}, 1; expected text: put it in"),
    ({"analyses": {True: analysis()}}, f"config: analyses.true: {NOT_TEXT}, true"),
    ({"analyses": {None: analysis()}}, f"{NOT_TEXT}, nothing (null)"),
    ({"analyses": {datetime.date(2024, 1, 1): analysis()}}, f"2024-01-01: {NOT_TEXT}, 2024-01-01"),
    ({"analyses": {"A": analysis(), "a": analysis()}}, "differ in more than capitals, unlike A an"),
    ({"analyses": GOOD, "results": ""}, "config: results: found ''; expected a folder path (text)"),
    ({"analyses": GOOD, "results": 5}, "config: results: found 5; expected a folder path (text)"),
    (
        {"analyses": GOOD, "results": "a{b}"},
        "results: found 'a{b}'; expected a path without",
    ),
    ({"analyses": GOOD, "results": datetime.date(2024, 1, 1)}, "found 2024-01-01 (a date; put it"),
    ({"analyses": GOOD, "backend": "gpu"}, "backend: found 'gpu'; expected auto, cpu or cuda"),
    ({"analyses": GOOD, "backend": "CUDA"}, "(did you mean cuda?)"),
    (
        {"analyses": GOOD, "seed": -1},
        "seed: found -1; expected an integer between 0 and 4294967295",
    ),
    ({"analyses": GOOD, "seed": 2**32}, "seed: found 4294967296; expected an integer between 0"),
    ({"analyses": GOOD, "seed": 1.5}, "config: seed: found 1.5; expected an integer"),
    ({"analyses": GOOD, "seed": "random"}, "config: seed: found 'random'; expected an integer"),
    (
        {"analyses": GOOD, "sed": 1},
        "sed: found an unknown key; expected results, backend, seed, analyses or",
    ),
    ({"analyses": GOOD, "sed": 1}, "(did you mean seed?)"),
    ({"analyses": GOOD, "method": "x"}, "config: method: found an unknown key; expected results,"),
]


@pytest.mark.parametrize(("source", "part"), BAD_TOP)
def test_bad_value_at_the_top_is_named_in_one_line(source: Any, part: str) -> None:
    text = message(source)
    assert text.startswith("config: ")
    assert part in text
    assert "\n" not in text


def test_all_mistakes_are_listed_together() -> None:
    bad = analysis(estimator={"bins": 0, "knots": "x"}, keep={"fdr": 2}, chunks=0, colour="red")
    lines = message({"seed": "x", "analyses": {"one": bad, "two": {}}}).splitlines()
    keys = [line.split(": ")[1] for line in lines]
    assert sorted(keys) == [
        "analyses.one.chunks",
        "analyses.one.colour",
        "analyses.one.estimator.bins",
        "analyses.one.estimator.knots",
        "analyses.one.keep.fdr",
        "analyses.two.method",
        "seed",
    ]


def test_a_structure_without_end_is_refused() -> None:
    loop: dict[str, Any] = {"analyses": {}}
    loop["analyses"]["a"] = loop
    assert "found more than 20 levels" in message(loop)


BAD_FILES = [
    ("", "found nothing (null); expected a mapping with the key analyses"),
    ("just text", "found 'just text'; expected a mapping with the key analyses"),
    ("analyses:\n\ta: 1\n", "line 2: found "),
    ("a: [1, 2\nb: 3\n", "expected YAML"),
    ("seed: 1\nbackend: cpu\nseed: 2\n", "line 3: found the key 'seed' twice"),
    ('{"seed": 1, "seed": 2}', "found the key 'seed' twice"),
    ("seed: 2024-13-45\n", "expected YAML"),
    ("a: !!python/object:os.system x\n", "expected YAML"),
    ("&a a: *a\n", "a: found an unknown key"),
    ("analyses:\n  on: {method: mutual_information, expression: e}\n", f"true: {NOT_TEXT}, true"),
]


@pytest.mark.parametrize(("text", "part"), BAD_FILES)
def test_bad_file_is_named(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    found = message(path)
    assert all(line.startswith(f"{path}: ") for line in found.splitlines())
    assert part in found


def test_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    assert "none.yaml: found No such file or directory" in message(tmp_path / "none.yaml")
    assert "found a folder" in message(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x01")
    assert "found no UTF-8 text" in message(str(tmp_path / "binary.yaml"))


def test_input_files_that_are_missing_are_all_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "10x").mkdir()
    (tmp_path / "here.txt").touch()
    bad = analysis(regulators="10x", gold_standard="~/gold.tsv")
    good = analysis(expression="10x", regulators="here.txt")
    with pytest.raises(ConfigError) as caught:
        check_inputs_exist(load_config({"analyses": {"bad": bad, "good": good}}))
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("config: analyses.bad.expression: found 'e.tsv', which does not")
    assert f"in the working directory {tmp_path}" in lines[0]
    assert lines[1].endswith("found '10x', which is a folder; expected a file")
    assert "'~' is not expanded" in lines[2]
    check_inputs_exist(load_config({"analyses": {"good": good}}))
