"""The modules for Nextflow and Galaxy call the command as it is, in this version."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml
from pairtile import __version__
from pairtile.command import main
from pairtile.config.load import load_config
from paths import ROOT

NEXTFLOW, GALAXY = ROOT / "integrations/nf-core", ROOT / "integrations/galaxy"


def nextflow_command() -> str:
    script = (NEXTFLOW / "main.nf").read_text()
    values = {"expression": "table.tsv", "prefix": "out", "args": "--settings '{keep: {fdr: 0.1}}'"}
    values |= {"regulators_option": "--regulators tfs.txt", "task.cpus": "2"}
    [call] = re.findall(r"    pairtile (\\.*?)\n    \"\"\"", script, re.DOTALL)
    return re.sub(r"\$\{(.+?)\}", lambda found: values[found[1]], call.replace("\\\\\n", ""))


def galaxy_command() -> str:
    tool = ElementTree.parse(GALAXY / "pairtile_network.xml").getroot()
    text = tool.findtext("command") or ""
    call = text.partition("\npairtile ")[2].replace("\\${GALAXY_SLOTS:-1}", "2")
    call = re.sub(r"^#.*$", "", call, flags=re.MULTILINE).replace("$ending", "tsv")
    values = {
        param.attrib.get("name", param.attrib.get("argument", "").strip("-")): option.attrib[
            "value"
        ]
        for param in tool.iter("param")
        for option in param.findall("option")
        if option.attrib.get("selected")
    }
    return re.sub(r"\$(\w+)", lambda found: values.get(found[1], "file"), call)


@pytest.mark.parametrize("command", [nextflow_command, galaxy_command])
def test_a_module_calls_the_command_as_it_is(
    command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = []
    monkeypatch.setattr("pairtile.command.short.run", lambda *given: runs.append(given) or 0)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command())) == 0
    [(config, arguments)] = runs
    assert arguments == ["--cores", "2"]
    [analysis] = load_config(config).analyses.values()
    assert set(analysis.input_files()) == {"expression", "regulators"}


def test_modules_are_of_this_version() -> None:
    assert set(re.findall(r"pairtile:([0-9.]+[0-9])", (NEXTFLOW / "main.nf").read_text())) == {
        __version__
    }
    packages = yaml.safe_load((NEXTFLOW / "environment.yml").read_text())["dependencies"]
    assert packages == [f"bioconda::pairtile={__version__}"]
    tool = ElementTree.parse(GALAXY / "pairtile_network.xml").getroot()
    assert tool.findtext("macros/token") == __version__
