"""A configuration as Snakemake hands it over: from its own YAML reader and its command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from programs import PYTHONPATH, snakemake

SNAKEFILE = """
import json
from pairtile.config.load import load_config
from pairtile.errors import ConfigError

configfile: "config.yaml"

try:
    config_read = load_config(config)
    print("READ " + json.dumps(config_read.model_dump(mode="json")))
except ConfigError as error:
    print("READ " + json.dumps(str(error)))

rule all:
    output: "never"
    shell: "touch {output}"
"""

CONFIG = """
backend: auto
analyses:
  net:
    method: mutual_information
    expression: e.tsv
    preprocess: {log2: yes, pseudocount: 1}
    null: {permutations: 1e6}
    keep: {p_value: 1e-5}
    dpi: off
"""


def read_by_snakemake(folder: Path, text: str, *arguments: str) -> Any:
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "config.yaml").write_text(text)
    done = snakemake(folder, "-n", "-q", *arguments, PYTHONPATH=PYTHONPATH)
    for line in done.text.splitlines():
        if line.startswith("READ "):
            return json.loads(line.removeprefix("READ "))
    raise AssertionError(done.text)


@pytest.mark.workflow
def test_numbers_switches_and_the_key_null_survive_snakemake(tmp_path: Path) -> None:
    found = read_by_snakemake(tmp_path, CONFIG, "--config", "backend=cpu", "seed=7", "results=out")
    assert (found["backend"], found["seed"], found["results"]) == ("cpu", 7, "out")
    section = found["analyses"]["net"]
    assert section["preprocess"]["log2"] is True
    null = {"kind": "auto", "permutations": 1_000_000, "samples_alike": False}
    assert section["null"] == null
    assert section["keep"] == {"p_value": 1e-5}
    assert section["dpi"] is False


@pytest.mark.workflow
def test_mistakes_on_the_command_line_are_named(tmp_path: Path) -> None:
    found = read_by_snakemake(tmp_path, CONFIG, "--config", "backend=gpu", "seed=x", "bins=5")
    assert [line.split(";")[0] for line in found.splitlines()] == [
        "config: backend: found 'gpu'",
        "config: seed: found 'x'",
        "config: bins: found an unknown key",
    ]
