"""Files for registries are as they are generated, and do what a reviewer tries first: the recipe
renders, tools and modules call the command as it is, and every test of a tool of Galaxy passes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from Cheetah.Template import Template
from galaxy_tools import TOOLS
from generate import CONDA_NAMES, UNKNOWN_CHECKSUM, files, recipe_text
from pairtile import __version__
from pairtile.command import main
from pairtile.config.load import load_config
from pairtile.config.root import models
from paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GALAXY, NEXTFLOW = ROOT / "registries/galaxy", ROOT / "registries/nf-core"
MODULES = NEXTFLOW / "modules/nf-core/pairtile"


@pytest.mark.parametrize(("name", "text"), files(), ids=lambda given: given.rpartition("/")[2][:40])
def test_a_file_is_as_it_is_generated(name: str, text: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == text, "run make registries"


# --- conda --------------------------------------------------------------------------------------


def requirement(text: str) -> tuple[str, str]:
    """Name and version bounds, of either form: ``name>=1,<2`` or ``name >=1,<2``."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[\w+\])?\s*([<>=!~].*)?", text)
    assert found, text
    return found[1], found[2] or ""


def wanted(*extras: str) -> dict[str, str]:
    texts = [*PROJECT["dependencies"]]
    texts += [text for extra in extras for text in PROJECT["optional-dependencies"][extra]]
    pairs = (requirement(text) for text in texts)
    names = {CONDA_NAMES.get(name, name): bounds for name, bounds in pairs}
    return names | {"python": PROJECT["requires-python"]}


def test_both_environments_have_the_dependencies_of_the_package() -> None:
    assert {path.name for path in (ROOT / "envs").glob("*.yaml")} == {
        "pairtile.yaml",
        "pairtile-gpu.yaml",
    }
    for name, extras in (("pairtile", ()), ("pairtile-gpu", ("cuda12",))):
        given = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())["dependencies"]
        found = dict(requirement(text) for text in given)
        cuda = found.pop("cuda-version", None)
        assert (cuda is None) == (not extras)
        assert found == wanted(*extras)


def render(text: str) -> dict[str, Any]:
    """A recipe as conda-build renders it, whose functions of Jinja stand in here."""
    pinned = {
        "PYTHON": "python",
        "pin_subpackage": lambda name, max_pin: f"{name} >={__version__},<0.3.0a0 ({max_pin})",
    }
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    rendered: dict[str, Any] = yaml.safe_load(environment.from_string(text).render(pinned))
    return rendered


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    return render((ROOT / "registries/bioconda/meta.yaml").read_text())


def test_the_recipe_renders_and_states_what_the_package_states(recipe: dict[str, Any]) -> None:
    assert recipe["package"] == {"name": "pairtile", "version": __version__}
    [(name, function)] = PROJECT["scripts"].items()
    assert recipe["build"]["entry_points"] == [f"{name} = {function}"]
    run = dict(requirement(text) for text in recipe["requirements"]["run"])
    assert run == wanted()
    assert {"pip", "setuptools >=77"} <= {*recipe["requirements"]["host"]}
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["about"]["license"] == PROJECT["license"]


def test_the_recipe_has_what_the_linter_of_bioconda_asks(recipe: dict[str, Any]) -> None:
    """Its checks by name: missing_home, missing_summary, missing_license, missing_tests,
    missing_hash, missing_run_exports, missing_build_number, should_be_noarch_python,
    uses_vcs_url, pip_install, version_not_quoted, in_other_channels."""
    about, build = recipe["about"], recipe["build"]
    assert about["home"]
    assert about["license_file"] == "LICENSE"
    assert (ROOT / "LICENSE").is_file()
    assert recipe["test"]["commands"]
    assert recipe["test"]["imports"] == ["pairtile"]
    assert re.fullmatch("[0-9a-f]{64}", recipe["source"]["sha256"])
    assert recipe["source"]["url"].endswith(f"/pairtile-{__version__}.tar.gz")
    assert recipe["source"]["url"].startswith("https://")
    assert [pin.split()[0] for pin in build["run_exports"]] == ["pairtile"]
    assert build["number"] == 0
    assert build["noarch"] == "python"
    for flag in ("--no-deps", "--no-build-isolation", "--no-cache-dir", "-vvv"):
        assert flag in build["script"].split()
    assert recipe["extra"]["recipe-maintainers"]
    assert isinstance(recipe["package"]["version"], str)


def test_the_checksum_of_a_release_stands_in_its_recipe(
    tmp_path: Path, recipe: dict[str, Any]
) -> None:
    assert recipe["source"]["sha256"] == UNKNOWN_CHECKSUM  # until there is a release
    digest = hashlib.sha256(b"an archive").hexdigest()
    assert render(recipe_text(digest))["source"]["sha256"] == digest


# --- Galaxy -------------------------------------------------------------------------------------


class Data(str):
    """An input of a tool, as a template of Galaxy sees it."""

    ext: str


def tool(method: str) -> ElementTree.Element:
    return ElementTree.parse(GALAXY / f"pairtile_{method}.xml").getroot()


def values(form: ElementTree.Element, test: ElementTree.Element) -> dict[str, object]:
    """What the templates are given in a test: defaults of the form, and what the test sets."""
    given: dict[str, object] = {}
    for param in form.findall("inputs/param"):
        name, kind = param.attrib["name"], param.attrib["type"]
        chosen = [o.attrib["value"] for o in param.findall("option") if o.get("selected")]
        default = {"data": None, "boolean": param.get("checked"), "select": "".join(chosen)}
        given[name] = default.get(kind, param.get("value", ""))
    for param in test.findall("param"):
        name, value = param.attrib["name"], param.attrib["value"]
        assert name in given
        if "ftype" in param.attrib:
            given[name] = Data(GALAXY / "test-data" / value)
            given[name].ext = param.attrib["ftype"]  # type: ignore[attr-defined]
            assert Path(str(given[name])).is_file()
        else:
            given[name] = value
    return given


def filled(form: ElementTree.Element, given: dict[str, object]) -> tuple[str, str]:
    """Command and configuration."""
    texts = (form.findtext("command"), form.findtext("configfiles/configfile"))
    command, settings = (str(Template(text, searchList=[given])) for text in texts)
    return command, settings


TESTS = [(method, number) for method in TOOLS for number in range(3)]


def test_every_method_has_a_tool_and_each_three_tests_of_which_one_fails() -> None:
    assert TOOLS.keys() == models().keys(), "each method has a Tool in registries/galaxy_tools.py"
    for method in TOOLS:
        tests = tool(method).findall("tests/test")
        assert [test.get("expect_failure") for test in tests] == [None, None, "true"]


@pytest.mark.parametrize("method", TOOLS)
def test_terms_of_edam_are_stated(method: str) -> None:
    form = tool(method)
    for kind in ("topic", "operation"):
        terms = [term.text or "" for term in form.findall(f"edam_{kind}s/edam_{kind}")]
        assert terms
        assert all(re.fullmatch(rf"{kind}_\d{{4}}", term) for term in terms)


@pytest.mark.parametrize(("method", "number"), TESTS)
def test_a_form_makes_a_configuration_that_is_accepted(
    method: str, number: int, tmp_path: Path
) -> None:
    form = tool(method)
    given = values(form, form.findall("tests/test")[number])
    command, settings = filled(form, given | {"settings": "config.yaml"})
    (tmp_path / "config.yaml").write_text(settings)
    [analysis] = load_config(tmp_path / "config.yaml").analyses.values()
    assert analysis.method == method
    linked = {shlex.split(line)[3] for line in command.splitlines() if line.startswith("ln ")}
    found = [*analysis.input_files().values()]
    assert linked == {file for one in found for file in ([one] if isinstance(one, str) else one)}


@pytest.mark.complete
@pytest.mark.workflow
@pytest.mark.parametrize(
    ("method", "number"),
    # Of the two that end well the second has more settings: with the other ways to install.
    [
        pytest.param(
            *test,
            marks=[pytest.mark.install] * (test[1] == 1)
            + [pytest.mark.nightly] * (test[0] != "mutual_information"),
        )
        for test in TESTS
    ],
)
def test_a_test_of_a_tool_passes(method: str, number: int, tmp_path: Path) -> None:
    """As Galaxy runs it: the command in an empty folder, by a shell that ends at an error."""
    form = tool(method)
    test = form.findall("tests/test")[number]
    command, settings = filled(form, values(form, test) | {"settings": "config.yaml"})
    (tmp_path / "config.yaml").write_text(settings)
    known = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    known |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "GALAXY_SLOTS": "2"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=tmp_path, env=known, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    texts = [node.attrib["text"] for node in test.findall("assert_stderr/has_text")]
    if texts:
        assert done.returncode == 1
        assert "defect" not in done.stderr
        assert all(text in done.stderr for text in texts), done.stderr
        return
    assert done.returncode == 0, done.stderr
    outputs = {data.attrib["name"]: data.attrib for data in form.findall("outputs/data")}
    assert len(outputs) == int(test.attrib["expect_num_outputs"])
    assert all((tmp_path / one["from_work_dir"]).is_file() for one in outputs.values())
    for output in test.findall("output"):
        path = tmp_path / outputs[output.attrib["name"]]["from_work_dir"]
        for node in output.findall("assert_contents/has_text"):
            assert node.attrib["text"] in path.read_text(encoding="utf-8")


# --- nf-core ------------------------------------------------------------------------------------

DEMO, NETWORK = MODULES / "demo", MODULES / "network"


def script_of(module: Path, values: dict[str, str]) -> list[str]:
    """The script of a process, filled in."""
    text = (module / "main.nf").read_text()
    [script, *_] = re.findall(r'script:\n.*?"""\n(.*?)"""', text, re.DOTALL)
    script = re.sub(r"\$\{(.+?)\}", lambda found: values[found[1]], script)
    return shlex.split(script.replace("\\\\\n", " "))


def test_the_module_calls_the_command_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs: list[Any] = []
    monkeypatch.setattr("pairtile.command.short.run", lambda *given: runs.append(given) or 0)
    monkeypatch.chdir(tmp_path)
    values = {"expression": "table.tsv", "prefix": "out", "args": "--settings '{keep: {fdr: 0.1}}'"}
    values |= {"regulators_option": "--regulators tfs.txt", "task.cpus": "2"}
    assert main(script_of(NETWORK, values)[1:]) == 0
    [(config, arguments)] = runs
    assert arguments == ["--cores", "2"]
    [analysis] = load_config(config).analyses.values()
    assert set(analysis.input_files()) == {"expression", "regulators"}


def kept(module: Path) -> dict[str, Any]:
    snapshot = json.loads((module / "tests/main.nf.test.snap").read_text())
    names = re.findall(r'test\("(.+)"\)', (module / "tests/main.nf.test").read_text())
    assert [*snapshot] == names
    return {name: one["content"][0] for name, one in snapshot.items()}


def test_the_files_of_the_demo_are_laid_by_the_package_and_no_analysis_is_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(script_of(DEMO, {})[1:]) == 0
    assert not (tmp_path / "results").exists()
    laid = kept(DEMO)["files of the demo"]
    for place, name in re.findall(r'path "(\S+)", emit: (\w+)', (DEMO / "main.nf").read_text()):
        held = (tmp_path / place).read_bytes()
        held = gzip.decompress(held) if place.endswith(".gz") else held
        assert laid[name] == [f"{Path(place).name}:md5,{hashlib.md5(held).hexdigest()}"]
    for module in (DEMO, NETWORK):  # no data from elsewhere
        assert "https://" not in (module / "tests/main.nf.test").read_text()


@pytest.mark.parametrize("module", [DEMO, NETWORK], ids=lambda module: module.name)
def test_a_snapshot_has_the_channels_of_its_module(module: Path) -> None:
    channels = re.findall(r"emit: (\w+)", (module / "main.nf").read_text())
    assert [*yaml.safe_load((module / "meta.yml").read_text())["output"]] == channels
    numbers = {str(place) for place in range(len(channels))}
    assert [{*numbers, *channels}] == [{*one} for one in kept(module).values() if "0" in one]


def test_the_stub_makes_the_empty_files_of_the_snapshot() -> None:
    stub = kept(NETWORK)["expression table - stub"]
    empty = hashlib.md5(b"").hexdigest()
    touched = re.search(r"touch (.*)", (NETWORK / "main.nf").read_text().partition("stub:")[2])
    assert touched
    assert {f"{Path(name).name}:md5,{empty}" for name in touched[1].split()} == {
        found[1] for name in ("network", "exports", "report", "summary") for found in stub[name]
    }


def test_modules_are_of_this_version() -> None:
    for module in (DEMO, NETWORK):
        text = (module / "main.nf").read_text()
        assert set(re.findall(r"pairtile:([0-9.]+[0-9])", text)) == {__version__}
        packages = yaml.safe_load((module / "environment.yml").read_text())["dependencies"]
        assert packages == [f"bioconda::pairtile={__version__}"]
    assert {tool(method).findtext("macros/token") for method in TOOLS} == {__version__}
