"""Entries for geneRNIB and BEELINE, run on small tables of their formats."""

from __future__ import annotations

import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import yaml
from pairtile import evaluate
from pairtile.simulate import Simulation, simulate_kinetic
from paths import ROOT

ENTRIES = ROOT / "benchmarks/entries"


@pytest.fixture(scope="module")
def made() -> Simulation:
    return simulate_kinetic(30, 120, 6, seed=5)


def aupr(edges: pd.DataFrame, made: Simulation, regulators: list[str] | None = None) -> float:
    edges = edges.set_axis(["source", "target", "score"], axis=1)
    return float(evaluate(edges, made.edges, genes=made.genes, regulators=regulators)["aupr"])


@pytest.mark.parametrize("sparse", [False, True])
def test_genernib_reads_its_layer_and_finds_its_links(
    made: Simulation, tmp_path: Path, sparse: bool
) -> None:
    log = np.log1p(made.values.T)
    cells = anndata.AnnData(
        np.zeros_like(log),
        obs=pd.DataFrame({"cell_type": "T cell"}, index=made.samples),
        var=pd.DataFrame(index=made.genes),
        layers={"lognorm": scipy.sparse.csr_matrix(log) if sparse else log},
        uns={"dataset_id": "op", "normalization_id": "lognorm"},
    )
    cells.write_h5ad(tmp_path / "rna.h5ad")
    (tmp_path / "tf_all.csv").write_text("".join(f"{n}\n" for n in ["unknown", *made.regulators]))
    arguments = {
        "--rna": "rna.h5ad",
        "--tf_all": "tf_all.csv",
        "--prediction": "net.h5ad",
        "--max_n_links": "60",
        "--num_workers": "1",
        "--temp_dir": "of other components",
    }
    words = [word for pair in arguments.items() for word in pair]
    # In a process of its own: its number of threads is set once, before numba is imported.
    subprocess.run(
        [sys.executable, str(ENTRIES / "genernib/script.py"), *words], cwd=tmp_path, check=True
    )
    found = anndata.read_h5ad(tmp_path / "net.h5ad").uns
    assert (found["dataset_id"], found["method_id"]) == ("op", "pairtile")
    links = found["prediction"]
    assert list(links) == ["source", "target", "weight"]
    assert links.map(type).eq(str).all(axis=None)
    assert len(links) == 60
    assert set(links["source"]) <= set(made.regulators)
    weights = links["weight"].astype(float)
    assert weights.abs().is_monotonic_decreasing
    assert (weights < 0).any()
    links = links.assign(weight=weights.abs())
    assert aupr(links, made, made.regulators) > 0.4


def test_genernib_configuration_is_a_component_with_this_script() -> None:
    config = yaml.safe_load((ENTRIES / "genernib/config.vsh.yaml").read_text())
    assert config["__merge__"] == "/src/api/comp_method.yaml"
    assert config["name"] == "pairtile"
    assert config["resources"] == [{"type": "python_script", "path": "script.py"}]
    assert {runner["type"] for runner in config["runners"]} == {"executable", "nextflow"}


class BeelineRunner:
    """What BEELINE's own base class gives an entry, with the container's command run here."""

    exprData, image = "ExpressionData.csv", "pairtile:base"

    def __init__(self, folder: Path) -> None:
        self.input_dir, self.output_dir = folder / "in", folder / "out"
        self.working_dir = self.output_dir / "working_dir"
        for made in (self.input_dir, self.working_dir):
            made.mkdir(parents=True)

    def _run_docker(self, command: str) -> None:
        *docker, shell, option, inside = shlex.split(command)
        assert docker == [
            *("docker", "run", "--rm", "-v", f"{self.working_dir}:/usr/working_dir", self.image)
        ]
        assert (shell, option) == ("/bin/sh", "-c")
        words = inside.replace("/usr/working_dir", str(self.working_dir)).split()
        assert words[:3] == ["time", "-v", "-o"]
        assert words[4:6] == ["python", "runPairtile.py"]
        sys.argv = words[5:]
        runpy.run_path(str(ENTRIES / "beeline" / words[5]))

    def _write_ranked_edges(self, edges: pd.DataFrame) -> None:
        edges.to_csv(self.output_dir / "rankedEdges.csv", sep="\t", index=False)


def test_beeline_ranks_all_pairs_in_both_directions(
    made: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("BLRun.runner")
    module.Runner = BeelineRunner  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "BLRun", ModuleType("BLRun"))
    monkeypatch.setitem(sys.modules, "BLRun.runner", module)
    monkeypatch.setattr(sys, "argv", sys.argv)
    entry = runpy.run_path(str(ENTRIES / "beeline/pairtileRunner.py"))["PairtileRunner"]
    runner = entry(tmp_path)
    runner.parseOutput()  # there is nothing yet
    assert not (runner.output_dir / "rankedEdges.csv").exists()
    table = pd.DataFrame(np.log2(1 + made.values), index=made.genes, columns=made.samples)
    table.to_csv(runner.input_dir / "ExpressionData.csv")
    for step in (runner.generateInputs, runner.run, runner.parseOutput):
        step()
    edges = pd.read_csv(runner.output_dir / "rankedEdges.csv", sep="\t")
    assert list(edges) == ["Gene1", "Gene2", "EdgeWeight"]
    pairs = set(zip(edges["Gene1"], edges["Gene2"], strict=True))
    assert len(pairs) == len(edges) == 30 * 29
    assert edges["EdgeWeight"].is_monotonic_decreasing
    assert edges["EdgeWeight"].min() >= 0
    assert aupr(edges, made) > 2 * len(made.edges) / len(edges)
