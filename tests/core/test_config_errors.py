"""Every kind of mistake in a configuration is refused with a line that names it."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
from pairtile.config.load import check_inputs_exist, check_results_writable, load_config
from pairtile.errors import ConfigError

NOT_TEXT = "found a name that YAML does not read as text"


def analysis(**keys: Any) -> dict[str, Any]:
    return {"method": "mutual_information", "expression": "e.tsv", **keys}


def message(source: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(source)
    return str(caught.value)


BAD_VALUES: dict[str, list[Any]] = {
    "method": [None, "mutual_informatio", ["mutual_information"]],
    "expression": [None, "", "a\0b", "a\nb", ["a.tsv"]],
    "orientation": ["rows"],
    "layer": ["counts"],
    "regulators": [5],
    "gold_standard": [False],
    "preprocess": [None, "none"],
    "preprocess.log2": ["yes", 1],
    "preprocess.pseudocount": [-1, "1", True, float("inf"), 10**400],
    "preprocess.normalize": ["quantiles", None, "CPM"],
    "preprocess.min_samples": [2, 20.0],
    "preprocess.drop_constant": ["no", 0],
    "preprocess.log": [True],
    "estimator": [[], [10**5000]],
    "estimator.bins": ["10", 10.5, 10.0, True, None, 0, 65, "many"],
    "estimator.order": [0],
    "estimator.knots": ["clampd"],
    "estimator.transform": [True, "log"],
    "estimator.precision": [64],
    "estimator.bin": [5],
    "score": ["tz", "target-z"],
    "null": [1000],
    "null.permutations": [99, 2 * 10**9, 1000.5, "1000", "atuo"],
    "keep": [None, 1e-5, "everything", {}, {"p_value": 0.1, "fdr": 0.1}, {"pvalue": 0.1}],
    "keep.p_value": [0, 1.5, "0.01", True, float("nan"), "1e-999"],
    "keep.fdr": [-0.1, None],
    "keep.score": ["high", float("inf")],
    "keep.top_edges": [0, 10.5],
    "dpi": [True, 0, None, "false"],
    "dpi.tolerance": [1.1, -0.1],
    "dpi.rule": ["multiplicative"],
    "dpi.eps": [0.1],
    "bootstraps": [-1, 1.5, True, "100", None],
    "bootstraps.number": [10001],
    "bootstraps.n": [10],
    "bootstraps.resample": ["jackknife"],
    "bootstraps.fraction": [0.5],
    "bootstraps.correction": ["holm"],
    "bootstraps.alpha": [0],
    "chunks": [0, 10**5000, -(10**5000), "4", 4.0],
    "export": ["tsv", None, ["tsv", "tsv"]],
    "bins": [10],
    "regulator": ["r.txt"],
    "método": [1],
    "<mutual_information>": [1],
    "mutual_information": [{}],
}
"""Path of a key of an analysis -> values that it does not take."""

BAD_TOGETHER: list[tuple[dict[Any, Any], str]] = [
    ({"estimator": {"bins": 10, "order": 12}}, "estimator.order"),
    ({"dpi": {"tolerance": -1, "rule": "additive"}}, "dpi.tolerance"),
    ({"bootstraps": {"resample": "subsample", "fraction": 1}}, "bootstraps.fraction"),
    ({"export": ["tsv", "gml"]}, "export.1"),
    ({"export": [True]}, "export.0"),
    ({"null": {}, None: {}}, "null"),
    ({True: 1}, "true"),
    ({5: 1}, "5"),
    ({"preprocess": {None: 1}}, "preprocess.nothing"),
]
"""Keys of an analysis, and the path of the one that is refused."""


def nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


@pytest.mark.parametrize(
    ("keys", "path"),
    [(nested(path, value), path) for path, values in BAD_VALUES.items() for value in values]
    + BAD_TOGETHER,
)
def test_a_bad_key_of_an_analysis_is_named_in_one_line(keys: dict[Any, Any], path: str) -> None:
    text = message({"analyses": {"net": {**analysis(), **keys}}})
    assert re.fullmatch(rf"config: analyses\.net\.{re.escape(path)}: found .+; expected .+", text)


@pytest.mark.parametrize(
    ("keys", "part"),
    [
        ({"orientation": "rows"}, "'rows'; expected genes_in_rows or samples_in_rows"),
        ({"preprocess": {"pseudocount": "1"}}, "'1' (text; a number stands without quotes)"),
        ({"preprocess": {"pseudocount": True}}, "true (YAML reads bare yes, no,"),
        ({"preprocess": {"pseudocount": 10**400}}, "an integer above 1e60"),
        ({"chunks": -(10**5000)}, "an integer below -1e60"),
        ({"preprocess": None}, "nothing (null); expected a mapping with keys log2,"),
        ({"preprocess": {"normalize": "quantiles"}}, "(did you mean quantile?)"),
        ({"estimator": {"bins": 65}}, "65; expected auto or an integer between 1 and 64"),
        ({"estimator": {"bins": 10, "order": 12}}, "expected an integer between 1 and bins (10)"),
        ({"estimator": {"bin": 5}}, "an unknown key; expected bins, order, knots"),
        ({"keep": {}}, "an empty mapping; expected {p_value: x}, {fdr: x}, {score: x}, {top_edges"),
        ({"keep": {"p_value": 0}}, "0; expected a number greater than 0 and at most 1"),
        ({"dpi": {"tolerance": 1.1}}, "expected a number between 0 and 1 for rule"),
        ({"bootstraps": -1}, "expected an integer between 0 and 10000, or a mapping with keys num"),
        ({"export": ["tsv", "tsv"]}, "expected each once, but 'tsv' is there twice"),
        ({"bins": 10}, "(did you mean estimator.bins?)"),
        ({"metadata": "s.tsv"}, "(did you mean samples.annotations?)"),
        ({"seed": 3}, "(did you mean seed, beside analyses?)"),
        ({True: 1}, f"{NOT_TEXT}, true"),
    ],
)
def test_what_was_found_and_what_is_allowed_are_said(keys: dict[Any, Any], part: str) -> None:
    assert part in message({"analyses": {"net": {**analysis(), **keys}}})


GOOD = {"net": analysis()}
BAD_TOP: list[tuple[Any, str]] = [
    (None, "config: found nothing (null); expected a mapping with the key analyses"),
    (5, "config: found 5; expected a mapping with the key analyses"),
    ([GOOD], "config: found [{"),
    ({}, "config: analyses: found no such key; expected at least one analysis"),
    ({"analyses": None}, "config: analyses: found nothing (null)"),
    ({"analyses": {}}, "config: analyses: found an empty mapping"),
    ({"analyses": [analysis()]}, "config: analyses: found [{'method'"),
    ({"analyses": {"a": 5}}, "config: analyses.a: found 5; expected a mapping with method: "),
    ({"analyses": {"a": None}}, "config: analyses.a: found nothing (null)"),
    ({"analyses": {"a": {}}}, "config: analyses.a.method: found no such key"),
    ({"analyses": {"a": {"method": "mutual_information"}}}, "config: analyses.a.expression: found"),
    ({"analyses": {"a\n": analysis()}}, "config: analyses: found the name 'a\\n'; expected a fold"),
    ({"analyses": {1: analysis()}}, f"config: analyses.1: {NOT_TEXT}, 1; expected text: put it in"),
    ({"analyses": {None: analysis()}}, f"config: analyses.nothing: {NOT_TEXT}, nothing (null)"),
    (
        {"analyses": {datetime.date(2024, 1, 1): analysis()}},
        f"config: analyses.2024-01-01: {NOT_TEXT}",
    ),
    ({"analyses": {"A": analysis(), "a": analysis()}}, "config: analyses: found"),
    ({"analyses": GOOD, "results": ""}, "config: results: found ''; expected a folder path (text)"),
    ({"analyses": GOOD, "results": 5}, "config: results: found 5"),
    ({"analyses": GOOD, "results": "a{b}"}, "config: results: found 'a{b}'"),
    (
        {"analyses": GOOD, "results": datetime.date(2024, 1, 1)},
        "config: results: found 2024-01-01 (",
    ),
    (
        {"analyses": GOOD, "backend": "CUDA"},
        "config: backend: found 'CUDA'; expected auto, cpu, cuda or both",
    ),
    (
        {"analyses": GOOD, "seed": -1},
        "config: seed: found -1; expected an integer between 0 and 42",
    ),
    ({"analyses": GOOD, "seed": 2**32}, "config: seed: found 4294967296"),
    ({"analyses": GOOD, "seed": 1.5}, "config: seed: found 1.5"),
    ({"analyses": GOOD, "seed": "random"}, "config: seed: found 'random'"),
    ({"analyses": GOOD, "sed": 1}, "config: sed: found an unknown key; expected results, backend,"),
    ({"analyses": GOOD, "method": "x"}, "config: method: found an unknown key"),
]


@pytest.mark.parametrize(("source", "start"), BAD_TOP)
def test_a_bad_value_at_the_top_is_named_in_one_line(source: Any, start: str) -> None:
    text = message(source)
    assert text.startswith(start)
    assert "; expected " in text
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


def test_results_in_place_of_an_input_and_files_by_address_are_refused(tmp_path: Path) -> None:
    inputs = analysis(expression=str(tmp_path / "10x"))
    config = load_config({"results": str(tmp_path / "10x"), "analyses": {"net": inputs}})
    with pytest.raises(ConfigError, match=r"results: .* analyses\.net\.expression"):
        check_results_writable(config)
    given = {"analyses": {"net": analysis(expression="file:///etc/passwd")}}
    assert "analyses.net.expression: found 'file:///etc/passwd'" in message(given)
