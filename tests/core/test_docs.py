"""README, docs and the files beside them say what is so: links, configurations, names, columns."""

from __future__ import annotations

import json
import re
import tomllib
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import workflow_runs
import yaml
from declared_columns import assert_declared
from documents import (
    LINK,
    NAMES,
    PAGES,
    RESULTS_PAGE,
    RESULTS_PAGES,
    blocks,
    first_column,
    inline_code,
    prose_of,
    section_of_page,
    text_of,
)
from pairtile import __version__
from pairtile.config.downstream import GROUP_TABLES, STAGES
from pairtile.config.export_formats import FORMAT_OF_SUFFIX
from pairtile.config.load import load_config
from pairtile.config.models import Analysis, models_in
from pairtile.config.root import Config, models
from pairtile.declare.columns import declared_columns, declared_files
from pairtile.errors import ConfigError
from pairtile.method import get_method
from pairtile.report.figures import COMMON_FIGURES
from pairtile.simulate import simulate_kinetic, write_simulation
from pairtile.steps.result_files import ResultFiles
from paths import ROOT
from required_keys import required_keys


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.+)$", prose_of(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


# --- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_relative_links_lead_somewhere(page):
    for link in LINK.findall(prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = urllib.parse.unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} in {page.name}"
        assert ROOT in target.parents, f"{link} leaves the repository"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link} in {page.name}"


ANSWERS = {
    "install": "docs/install.md#without-a-checkout",
    "which method": "docs/settings.md#which-method",
    "logarithms and TPM": "docs/before-you-start.md#values",
    "false discovery rate": "docs/settings.md#score-threshold-dpi",
    "treated against control": "docs/differential.md#which-key",
    "the score combined": "docs/methods/mutual_information.md#combined",
    "how long": "docs/command.md#check-before-you-run-pairtile-check",
    "Cytoscape": "docs/results.md#formats-of-export",
    "killed": "docs/concepts.md#killed-crashed-full-disk",
    "no edges": "docs/troubleshooting.md#no-edges-or-very-few",
}
"""What people ask first -> the heading under which a page answers it."""


def test_first_questions_are_answered_near_the_top_of_the_readme():
    readme = text_of(ROOT / "README.md")
    words_before = {link: len(readme.split(link)[0].split()) for link in LINK.findall(readme)}
    for question, link in ANSWERS.items():
        assert words_before[link] < 300, question


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_no_page_names_a_place_on_somebodys_machine(page):
    assert not re.search(r"(?<![\w.])/(work|home|tmp|root|Users)/", text_of(page))


def test_pictures_are_small():
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 200_000, picture.name


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([\w-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    for command in [*inline_code(page), *blocks(page, "console")]:
        for target in re.findall(r"\bmake ([a-z][a-z-]*)", command):
            assert target in targets, f"make {target}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "workflow/pairtile/gpu/device.py"])
def test_extras_leave_a_checkout_installed_as_editable(page):
    assert not re.search(r"pip install ['\"]?\.\[", text_of(page))


# --- configurations -----------------------------------------------------------------------------


def yaml_examples() -> Iterator[Any]:
    for page, name in zip(PAGES, NAMES, strict=True):
        for number, block in enumerate(blocks(page, "yaml")):
            if "analyses:" in block:
                yield pytest.param(block, id=f"{name}-{number}")


@pytest.mark.parametrize("block", yaml_examples())
def test_configurations_shown_are_valid(block, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(block, encoding="utf-8")
    load_config(path)


def keys_by_section(method: type[Analysis]) -> dict[str, list[tuple[str, ...]]]:
    """Every key of a configuration and the places where it stands."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for key, field in method.model_fields.items():
        found.setdefault(key, []).append((key,))
        for section in models_in(field.annotation):
            for inner in section.model_fields:
                found.setdefault(inner, []).append((key, inner))
    return found | {key: [(key,)] for key in Config.model_fields}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_settings_named_in_the_text_are_valid(page):
    for code in inline_code(page):
        key, colon, rest = code.partition(": ")
        placeholder = re.search(r"(?<!\w)[a-zA-Z](?!\w)|\.\.\.|NAME|/", rest)
        if not colon or placeholder:
            continue
        faults = [
            setting_fault(method, place, yaml.safe_load(rest))
            for method in models().values()
            for place in keys_by_section(method).get(key, [])
        ]
        # Several methods and sections may have the key; the text means one of them.
        assert not faults or None in faults, faults


def setting_fault(method: type[Analysis], place: tuple[str, ...], value: Any) -> str | None:
    """Why a method refuses ``value`` at ``place``."""
    name = method.method_name()
    analysis: dict[str, Any] = {"method": name, **required_keys(name)}
    top: dict[str, Any] = {"analyses": {"a": analysis}}
    if place[0] in Config.model_fields:
        top[place[0]] = value
    elif len(place) == 1:
        analysis[place[0]] = value
    else:
        analysis[place[0]] = {place[1]: value}
        if place[0] == "bootstraps":
            analysis["bootstraps"]["number"] = 2
        if place[0] == "quantize" and value == "thresholds":
            analysis["quantize"]["thresholds"] = [1, 2]
        if place == ("threshold", "method") and value == "score":
            analysis["threshold"]["score"] = 0.5
    try:
        load_config(top)
    except ConfigError as error:
        return str(error)
    return None


# --- results ------------------------------------------------------------------------------------


def rule_outputs() -> set[str]:
    """Files that the rules make in an analysis' folder, without those with wildcards."""
    text = "".join(text_of(path) for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    named = set(re.findall(r'f"\{ANALYSIS\}/([^"{}]+)"', text))
    named |= {table for method in models().values() for table in method.tables}
    named |= {table for stage in STAGES for table in stage.tables} | {*GROUP_TABLES}
    asked = {"method": "mutual_information", "expression": "e.tsv", "gold_standard": "g.tsv"}
    config = load_config({"analyses": {"net": asked}}).analyses["net"]
    files, folders = ResultFiles("net", config).after_merge(["values"])
    written = [path for path in (*files, *folders) if "/steps/" not in path]
    named |= {path.removeprefix("net/") for path in written}
    return named | {f"network.{suffix}" for suffix in FORMAT_OF_SUFFIX}


def test_every_file_that_rules_make_is_described():
    described = " ".join(code for page in RESULTS_PAGES for code in inline_code(page))
    for name in rule_outputs():
        assert re.search(rf"(?<![\w.]){re.escape(name)}", described), name
    for figure in COMMON_FIGURES:
        assert figure in described


def test_every_file_described_is_one_that_rules_make():
    made = rule_outputs() | {"logs", "steps/*.json", "scan", "chunks", "bootstraps"}
    first_columns = [name for page in RESULTS_PAGES for name in first_column(text_of(page))]
    files = [name for name in first_columns if "/" in name or re.search(r"\.\w+$", name)]
    assert len(files) > 10
    for name in files:
        assert name.rstrip("/") in made, name


def test_export_formats_are_described_with_their_files():
    """The page is the one other place that names them: a file that is renamed is noticed here."""
    described = re.findall(r"^\| `(\w+)` \| `network\.([\w.]+)` \|", text_of(RESULTS_PAGE), re.M)
    formats = [(name, suffix) for suffix, name in FORMAT_OF_SUFFIX.items()]
    assert described == formats, "rows of `Formats of export`, in the order of EXPORT_FORMATS"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small analysis, step by step as the rules make it."""
    top = tmp_path_factory.mktemp("results")
    simulated = simulate_kinetic(n_genes=30, n_samples=60, n_regulators=4, seed=1)
    write_simulation(simulated, top, "test")
    changes = {
        "expression": "expression.tsv.gz",
        "regulators": "regulators.txt",
        "gold_standard": "gold_standard.tsv",
        "score": "target_z",
        "keep": {"fdr": 0.05},
        "null": {"permutations": 10_000},
    }
    return workflow_runs.Analysis(top, changes).all().out


def test_columns_are_those_declared(run):
    assert_declared(run, "mutual_information")


def test_keys_described_are_those_of_the_evaluation(run):
    evaluation = json.loads((run / "evaluation.json").read_text())
    page = section_of_page("## `evaluation.json`")
    assert set(first_column(page)) == set(evaluation)
    for key in [*evaluation["network"], *evaluation["curve"]]:
        assert f"`{key}`" in page


def test_keys_and_counts_of_the_summary_are_described(run):
    summary = json.loads((run / "summary.json").read_text())
    page = section_of_page("## `summary.json`")
    # The settings of preparation as resolved are joined to `parameters` by the summary.
    assert set(first_column(page)) >= set(summary)
    for count in summary["counts"]:
        assert f"`{count}`" in page, count
    for name in ("backend", "threshold"):
        for key in summary[name]:
            assert f"`{key}`" in page, key


# --- code ---------------------------------------------------------------------------------------


def test_library_example_of_the_readme_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    [example] = [b for b in blocks(ROOT / "README.md", "python") if "infer_network" in b]
    exec(compile(example, "README.md", "exec"), {})
    assert "mi_bits" in capsys.readouterr().out


def test_gold_standard_matrix_becomes_a_list_as_the_recipe_says(monkeypatch, tmp_path):
    from pairtile.io.gold_standard import read_gold_standard

    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "inferelator" / "data" / "bsubtilis"
    folder.mkdir(parents=True)
    # As there: no field above the row names, names in quotes.
    (folder / "gold_standard.tsv").write_text('"t1"\t"t2"\n"g1"\t0\t1\n"g2"\t1\t0\n"g3"\t0\t0\n')
    page = ROOT / "docs/recipes.md"
    [example] = [b for b in blocks(page, "python") if "gold_standard" in b]
    exec(compile(example, str(page), "exec"), {})
    edges = read_gold_standard(tmp_path / "bsubtilis_gold.tsv")
    assert set(zip(edges["source"], edges["target"], strict=True)) == {("t2", "g1"), ("t1", "g2")}


# --- the files beside ---------------------------------------------------------------------------


def test_citation_file_is_complete_and_of_this_version():
    citation = yaml.safe_load(text_of(ROOT / "CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["version"] == __version__
    assert citation["license"] == "BSD-3-Clause"


INSTALL = ROOT / "docs/install.md"
INSTALLS = re.compile(
    r"pip install [^`\n]*(pairtile|-e |--editable|'?\.\[|\s\.$)|ghcr\.io/pairtile|deploy-workflow"
    r"|conda (create|install)[^`\n]*pairtile",
    re.MULTILINE,
)


@pytest.mark.parametrize("page", [page for page in PAGES if page != INSTALL], ids=str)
def test_only_one_page_says_how_to_install(page):
    """What stands once is hedged once, until there is a release."""
    if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md"):
        assert INSTALLS.findall(text_of(page)) == []


def test_that_page_says_what_needs_a_release():
    before, hedged = text_of(INSTALL).split("**From the first release on.**")
    assert not re.search(r"pip install pairtile|ghcr|deploy-workflow|bioconda pairtile", before)
    assert re.findall(r"deploy-workflow .* --tag v(.+)", hedged) == [__version__]
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| `.*?\|", hedged, re.MULTILINE))))
    assert named == set(extras) - {"test", "test-storage", "docs"}


def test_changelog_has_a_place_for_this_version():
    changelog = text_of(ROOT / "CHANGELOG.md")
    assert "## [Unreleased]" in changelog or f"## [{__version__}]" in changelog
    assert __version__ in changelog


def test_workflow_catalog_finds_what_it_needs():
    usage = yaml.safe_load(text_of(ROOT / ".snakemake-workflow-catalog.yml"))["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    for name in ("workflow/Snakefile", "config/README.md"):
        assert (ROOT / name).is_file()
    # tests/workflow/test_snakemake_alone.py runs jobs in such an environment.
    assert usage["software-stack-deployment"]["conda"] is True
    assert "config/README.md" in usage["mandatory-flags"]["desc"]
    assert "docs/install.md" in text_of(ROOT / "config/README.md")


def test_the_columns_and_files_of_the_example_in_r_are_those_of_a_run():
    [example] = blocks(ROOT / "docs/recipes.md", "r")
    package = get_method("mutual_information").package
    files = set(re.findall(r"results/net/([\w.]+)", example))
    assert files <= set(declared_files(package))
    declared = {
        name
        for file in files
        for columns in declared_columns(package, file)
        for name in columns.names
    }
    used = set(re.findall(r"(?:strong|genes)\$(\w+)", example)) | {"mi_bits", "q_value"}
    assert {"i", "j", "name"} <= used
    assert used <= declared
