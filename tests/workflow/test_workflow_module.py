"""Another workflow imports this one with ``module:``, makes its inputs and uses its results."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from programs import snakemake
from workflow_runs import BASE, ROOT, Analysis, Run, write_data

pytestmark = [pytest.mark.complete, pytest.mark.workflow, pytest.mark.timeout(600)]

STUDY = f"""
configfile: "study.yaml"


rule answer:
    input:
        "networks/net/network.tsv",
    output:
        "answer.txt",
    shell:
        "wc -l < {{input}} > {{output}}"


rule table:
    input:
        "expression.tsv",
    output:
        "made/expression.tsv",
    shell:
        "cp {{input}} {{output}}"


module pairtile:
    snakefile:
        "{ROOT / "workflow/Snakefile"}"
    config:
        config["networks"]


use rule * from pairtile as pairtile_*


use rule prepare from pairtile as pairtile_prepare with:
    threads: 1
"""

ANALYSIS = {"score": "clr", "chunks": 3, "null": {"permutations": 2000}}


def study(folder: Path, *arguments: str) -> Run:
    """Run the importing workflow in its own folder, as its user would."""
    return snakemake(folder, "--cores", "2", *arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose first rule asks for a network; another rule makes the expression table."""
    folder = tmp_path_factory.mktemp("study")
    write_data(folder)
    (folder / "Snakefile").write_text(STUDY)
    net = BASE | ANALYSIS | {"expression": "made/expression.tsv"}
    levels = {"method": "predictor_pairs", "expression": "made/expression.tsv"}
    levels |= {"regulators": "regulators.txt", "null": {"permutations": 19}, "export": ["tsv"]}
    networks = {"backend": "cpu", "seed": 3, "results": "networks"}
    networks["analyses"] = {"net": net, "levels": levels}
    (folder / "study.yaml").write_text(yaml.safe_dump({"networks": networks}))
    return folder


@pytest.fixture(scope="module")
def first(folder: Path) -> Run:
    done = study(folder)
    assert done.code == 0, done.text
    return done


@pytest.mark.complete
def test_only_what_the_study_asks_for_is_made(first: Run, folder: Path) -> None:
    assert int((folder / "answer.txt").read_text()) > 1
    assert "pairtile_chunk" in first.text
    assert "pairtile_report" not in first.text
    assert not (folder / "networks/levels").exists()


def test_the_network_is_the_one_of_a_run_without_a_module(
    first: Run, folder: Path, tmp_path: Path
) -> None:
    write_data(tmp_path)
    alone = Analysis(tmp_path, ANALYSIS).all()
    for name in ("network.tsv", "pairs.parquet"):
        network = (folder / "networks/net" / name).read_bytes()
        assert network == (alone.out / name).read_bytes()


def test_nothing_runs_again(first: Run, folder: Path) -> None:
    again = study(folder)
    assert again.code == 0, again.text
    assert again.done_before


def test_a_fault_of_the_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(STUDY)
    networks = {"analyses": {"net": BASE | {"keep": "som"}}}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({"networks": networks}))
    done = study(tmp_path, "pairtile_all", "--dry-run")
    assert done.code != 0
    assert "analyses.net.keep" in done.text
    assert "Traceback" not in done.text
