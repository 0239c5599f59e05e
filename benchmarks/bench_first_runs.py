"""What a first run gives: files as programs write them, with planted regulons and the keys that a
person writes first; ``python -m benchmarks.bench_first_runs``.

Of each kind of file: the network of the first run beside the truth, the warnings, the network after
the line that a warning names, and Spearman's correlation of the same values, as many edges. A pair
of genes of one regulon that was not planted (two targets) is neither true nor false.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from scipy import sparse, stats

from benchmarks.machine import write

GENES, REGULATORS, TARGETS = 600, 30, 10
GOOD = 0.8
"""Precision of a network that is right."""


@dataclass
class Experiment:
    """Planted regulons, and what a person has of them.

    z : float64 (genes, samples), each gene of variance 1. level : mean of each gene, log2. ids,
    symbols : names. keys : what is written first of the analysis. seen : the values of the file
    (genes, samples), which the usual tool takes.
    """

    random: np.random.Generator
    folder: Path
    samples: int
    z: NDArray[np.float64] = field(init=False)
    keys: dict[str, Any] = field(init=False)
    seen: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        random, shape = self.random, (GENES, self.samples)
        self.z = random.normal(size=shape)
        self.regulon = np.full(GENES, -1)
        self.regulon[: REGULATORS * (TARGETS + 1)] = np.arange(REGULATORS * (TARGETS + 1)) % (
            REGULATORS
        )
        for target in range(REGULATORS, REGULATORS * (TARGETS + 1)):
            r = random.uniform(0.45, 0.9) * random.choice([-1, 1])
            own = np.sqrt(1 - r**2) * self.z[target]
            self.z[target] = r * self.z[self.regulon[target]] + own
        self.level = random.normal(7.0, 1.5, (GENES, 1))
        self.level[:REGULATORS] = random.normal(7.5, 0.7, (REGULATORS, 1))
        self.ids = [f"ENSG{number:011d}" for number in random.permutation(90_000)[:GENES]]
        self.symbols = [
            f"{a}{b}{c}{k}"
            for k, (a, b, c) in enumerate(random.choice(list("ABCDEFGHIKLMNPRSTVWXYZ"), (GENES, 3)))
        ]
        self.names = [f"sample{k + 1:03d}" for k in range(self.samples)]
        self.order = random.permutation(GENES)  # the order of rows must not tell
        self.list_regulators(self.ids)
        self.keys = {"regulators": "regulators.txt"}

    def list_regulators(self, names: list[str]) -> None:
        """Write the list, in names of one kind."""
        (self.folder / "regulators.txt").write_text("\n".join(names[:REGULATORS]) + "\n")

    def log2(self, shared: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """Expression; ``shared``: what samples have in common, in standard deviations of a gene."""
        return np.asarray(self.level + 0.6 * (self.z + shared))

    def groups(self, labels: NDArray[Any], share: float, size: float) -> NDArray[np.float64]:
        """A share of the genes has another level in each group."""
        shift = np.zeros((GENES, self.samples))
        moved = self.random.random(GENES) < share
        for label in np.unique(labels):
            draws = self.random.normal(0, size, (moved.sum(), 1))
            shift[np.ix_(moved, labels == label)] = draws
        return shift

    def counts(self, log2: NDArray[np.float64], depth_sd: float = 0.2) -> NDArray[np.float64]:
        """Reads."""
        depth = np.exp(self.random.normal(0, depth_sd, self.samples))
        return self.random.poisson(2.0**log2 * depth).astype(float)

    def table(
        self,
        values: NDArray[np.float64],
        before: dict[str, Any] | None = None,
        samples: list[str] | None = None,
        header: bool = True,
    ) -> None:
        """Write ``table.tsv``; ``before``: columns between names and samples."""
        self.seen = values
        frame = pd.DataFrame(values, columns=samples or self.names)
        for place, (name, column) in enumerate((before or {}).items()):
            frame.insert(place, name, column)
        frame.index = pd.Index(self.ids, name="gene_id")
        frame.iloc[self.order].to_csv(self.folder / "table.tsv", sep="\t", header=header)
        self.keys["expression"] = "table.tsv"

    def sheet(self, **columns: Any) -> None:
        """Write ``samples.tsv``, with two columns beside that say nothing."""
        frame = pd.DataFrame({"sample": self.names, **columns})
        frame["sex"] = self.random.choice(["f", "m"], self.samples)
        frame["age"] = self.random.integers(20, 80, self.samples)
        frame.to_csv(self.folder / "samples.tsv", sep="\t", index=False)
        self.keys["samples"] = {"annotations": "samples.tsv"}

    def cells(self, shift: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """Molecules of cells."""
        rate = 2.0 ** (self.level - 6.5 + 1.2 * (self.z + shift))
        depth = np.exp(self.random.normal(0, 0.4, self.samples))
        return self.random.poisson(rate * depth).astype(float)

    def h5ad(self, values: NDArray[np.float64], **obs: Any) -> None:
        """Write ``cells.h5ad``."""
        self.seen = values
        frame = pd.DataFrame(obs, index=[f"cell{k}" for k in range(self.samples)])
        var = pd.DataFrame(index=self.ids)
        data = anndata.AnnData(sparse.csr_matrix(values.T.astype(np.float32)), obs=frame, var=var)
        data[:, self.order].copy().write_h5ad(self.folder / "cells.h5ad")
        self.keys["expression"] = "cells.h5ad"

    def grade(self, edges: list[tuple[str, str]]) -> dict[str, float]:
        """Edges, precision and recall."""
        place = {name: k for names in (self.ids, self.symbols) for k, name in enumerate(names)}
        pairs = {frozenset((place.get(a, a), place.get(b, b))) for a, b in edges}
        true = indirect = 0
        for pair in pairs:
            numbers = [k for k in pair if isinstance(k, int)]
            regulons = {int(self.regulon[k]) for k in numbers}
            alike = len(numbers) == 2 and len(regulons) == 1 and -1 not in regulons
            true += alike and min(numbers) < REGULATORS
            indirect += alike and min(numbers) >= REGULATORS
        judged = len(pairs) - indirect
        planted = REGULATORS * TARGETS
        return {
            "edges": len(pairs),
            "precision": true / judged if judged else 0.0,
            "recall": true / planted,
        }

    def usual(self, n_edges: int) -> dict[str, float]:
        """Spearman's correlation of regulators with all genes, the best pairs."""
        ranks = stats.rankdata(np.nan_to_num(self.seen), axis=1)
        r = np.abs(np.corrcoef(ranks)[:REGULATORS])
        r[np.tril_indices(REGULATORS)] = 0.0
        best = np.argsort(-r, axis=None)[: n_edges or REGULATORS * TARGETS]
        rows, columns = np.unravel_index(best, r.shape)
        return self.grade([(self.ids[a], self.ids[b]) for a, b in zip(rows, columns, strict=True)])


PAGE = Path(__file__).parents[1] / "docs/evidence.md"
BEGIN, END = "<!-- table: bench_first_runs -->", "<!-- end of table -->"


def table(results: dict[str, Any]) -> str:
    """The results as Markdown: edges, precision, recall of each network."""

    def shown(grade: dict[str, float] | None) -> str:
        return f"{grade['edges']}, {grade['precision']:.2f}, {grade['recall']:.2f}" if grade else ""

    lines = [
        "| kind of file | samples | first run | the line that a warning names | usual tool |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, found in results["kinds"].items():
        first = shown(found.get("first")) or f"refused: {found['refused']}"
        line = f"`{', '.join(found['line'])}`: {shown(found['after'])}" if "line" in found else ""
        usual = f"{found['usual']['precision']:.2f}, {found['usual']['recall']:.2f}"
        lines.append(f"| {name} | {found['samples']} | {first} | {line} | {usual} |")
    return "\n".join(lines)


KINDS: dict[str, tuple[int, Callable[[Experiment], None]]] = {}


def kind(name: str, samples: int) -> Callable[[Callable[[Experiment], None]], Any]:
    """Enter a kind of first run."""

    def enter(make: Callable[[Experiment], None]) -> Callable[[Experiment], None]:
        KINDS[name] = (samples, make)
        return make

    return enter


@kind("counts", 70)
def _counts(e: Experiment) -> None:
    e.table(e.counts(e.log2()))


@kind("estimated counts with decimals, unequal depths", 50)
def _estimates(e: Experiment) -> None:
    counts = e.counts(e.log2(), 0.5)
    shared = np.where(
        e.random.random((GENES, 1)) < 0.6, e.random.uniform(-0.4, 0.4, counts.shape), 0
    )
    e.table(np.round(np.maximum(0, counts + shared) * (counts > 0), 2))


@kind("log2(TPM + 1), three genes take 20 to 80 %", 60)
def _tpm(e: Experiment) -> None:
    rate = 2.0 ** e.log2() / e.random.uniform(500, 8000, (GENES, 1))
    share = e.random.uniform(0.2, 0.8, e.samples)
    rate[-3:] = rate.sum(axis=0) * share / (1 - share) * e.random.dirichlet([2] * 3, e.samples).T
    e.table(np.round(np.log2(rate / rate.sum(axis=0) * 1e6 + 1), 3))


@kind("label-free intensities, zero where not detected", 60)
def _intensities(e: Experiment) -> None:
    log2 = e.log2() + 17
    seen = e.random.random(log2.shape) < 1 / (1 + np.exp(-(log2 - 21.5) / 0.7))
    e.table(np.where(seen, np.round(2.0**log2), 0))


@kind("two centres, a column of the sheet that nobody names", 64)
def _centres(e: Experiment) -> None:
    centre = e.random.permutation(np.repeat(["North", "South"], 32))
    e.sheet(centre=centre)
    e.table(e.counts(e.log2(e.groups(centre, 0.5, 1.5))))


@kind("four plates, stated as samples.batch", 64)
def _plates(e: Experiment) -> None:
    plate = e.random.permutation(np.repeat(["p1", "p2", "p3", "p4"], 16))
    e.sheet(plate=plate)
    e.keys["samples"]["batch"] = "plate"
    e.table(e.counts(e.log2(e.groups(plate, 0.4, 1.2))))


@kind("hours after a stimulus in the sheet, 10 times x 3", 30)
def _course(e: Experiment) -> None:
    hours = np.repeat([0, 1, 2, 4, 6, 9, 12, 16, 20, 24], 3)
    courses = np.array([np.exp(-hours / 4), 1 - np.exp(-hours / 6)])
    courses = (courses - courses.mean(axis=1, keepdims=True)) / courses.std(axis=1, keepdims=True)
    size = np.where(e.random.random((GENES, 1)) < 0.4, e.random.normal(0, 1.4, (GENES, 2)), 0)
    e.sheet(hours=hours)
    e.table(e.counts(e.log2(size @ courses)))


@kind("cells of three patients, named in obs", 700)
def _patients(e: Experiment) -> None:
    patient = e.random.choice(["A", "B", "C"], e.samples)
    e.h5ad(e.cells(e.groups(patient, 0.3, 0.8)), patient=pd.Categorical(patient))


@kind("cells, log-normalised, without their counts", 700)
def _log_normalised(e: Experiment) -> None:
    counts = e.cells()
    e.h5ad(np.log1p(counts / counts.sum(axis=0) * 1e4))


@kind("edgeR's results beside CPM", 48)
def _edger(e: Experiment) -> None:
    counts = e.counts(e.log2())
    cpm = np.round(counts / counts.sum(axis=0) * 1e6, 4)
    two = np.arange(e.samples) % 2 == 0
    found = stats.ttest_ind(np.log2(cpm[:, two] + 1), np.log2(cpm[:, ~two] + 1), axis=1)
    change = np.log2((cpm[:, two].mean(1) + 1) / (cpm[:, ~two].mean(1) + 1))
    e.table(
        cpm,
        {
            "logFC": change,
            "logCPM": np.log2(cpm.mean(1) + 1),
            "F": found.statistic**2,
            "PValue": found.pvalue,
            "FDR": stats.false_discovery_control(found.pvalue),
        },
    )


@kind("no header", 40)
def _no_header(e: Experiment) -> None:
    e.table(e.counts(e.log2() + 3).astype(int), header=False)


@kind("regulators by symbol, identifiers in the table", 60)
def _symbols(e: Experiment) -> None:
    e.list_regulators(e.symbols)
    e.table(e.counts(e.log2()), {"gene_name": e.symbols})


@kind("paths of BAM files, bare names in the sheet, two runs", 60)
def _paths(e: Experiment) -> None:
    run = e.random.permutation(np.repeat(["r1", "r2"], 30))
    e.sheet(run=run)
    e.keys["preprocess"] = {"regress_out": ["run"]}
    paths = [f"/data/project/aligned/{name}.sorted.bam" for name in e.names]
    e.table(e.counts(e.log2(e.groups(run, 0.3, 1.0))), samples=paths)


def run(folder: Path, name: str, analyses: dict[str, dict[str, Any]]) -> str:
    """Run analyses as a person does; what was printed."""
    (folder / f"{name}.yaml").write_text(
        yaml.safe_dump({"results": f"results_{name}", "backend": "cpu", "analyses": analyses})
    )
    command = [sys.executable, "-m", "pairtile", "run", f"{name}.yaml", "--", "--cores", "2"]
    done = subprocess.run(
        [*command, "--keep-going"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def found_of(folder: Path) -> tuple[list[tuple[str, str]], list[dict[str, Any]]] | None:
    """Edges and warnings of an analysis that came to an end."""
    if not (folder / "summary.json").is_file() or not (folder / "network.tsv").is_file():
        return None
    network = pd.read_csv(folder / "network.tsv", sep="\t", dtype=str)
    messages = json.loads((folder / "summary.json").read_text())["messages"]
    edges = list(zip(network["source"], network["target"], strict=True))
    return edges, [said for said in messages if said["severity"] != "note"]


def advised(keys: dict[str, Any], warnings: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The keys with the line that a warning names, if any does."""
    for said in warnings:
        for columns in re.findall(r"regress_out: \[([^\]]+)\]", said["text"]):
            preprocess = {**keys.get("preprocess", {}), "regress_out": columns.split(", ")}
            return {**keys, "preprocess": preprocess}
    return None


def main() -> None:
    """Run every kind, and the lines that warnings name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    results: dict[str, Any] = {"seed": seed, "genes": GENES, "planted": REGULATORS * TARGETS}
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(temporary)
        made: dict[str, Experiment] = {}
        analyses: dict[str, dict[str, Any]] = {}
        for number, (samples, make) in enumerate(KINDS.values()):
            (top / f"k{number}").mkdir()
            e = Experiment(np.random.default_rng([seed, number]), top / f"k{number}", samples)
            make(e)
            made[f"k{number}"] = e
            analyses[f"k{number}"] = {
                "method": "mutual_information",
                **_below(f"k{number}", e.keys),
            }
        printed = run(top, "first", analyses)
        cured: dict[str, dict[str, Any]] = {}
        kinds: dict[str, Any] = {}
        for (key, e), name in zip(made.items(), KINDS, strict=True):
            found = found_of(top / "results_first" / key)
            kinds[name] = {"samples": e.samples}
            if found is None:
                kinds[name]["refused"] = _refusal(printed, key)
                kinds[name]["usual"] = e.usual(0)
                continue
            edges, warnings = found
            kinds[name] |= {
                "first": e.grade(edges),
                "warnings": [said["code"] for said in warnings],
                "usual": e.usual(len(edges)),
            }
            if (line := advised(analyses[key], warnings)) is not None:
                cured[key] = line
                kinds[name]["line"] = line["preprocess"]["regress_out"]
        if cured:
            run(top, "cured", cured)
            for (key, e), name in zip(made.items(), KINDS, strict=True):
                found = found_of(top / "results_cured" / key) if key in cured else None
                if found is not None:
                    kinds[name]["after"] = e.grade(found[0])
    results["kinds"] = kinds
    print(json.dumps(results, indent=1), write("first_runs", "cpu", results))
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{table(results)}\n\n{END}{rest.partition(END)[2]}")


def _below(folder: str, keys: Any) -> Any:
    """Keys with their files in a folder."""
    if isinstance(keys, dict):
        return {key: _below(folder, inner) for key, inner in keys.items()}
    is_file = isinstance(keys, str) and keys.endswith((".tsv", ".txt", ".h5ad"))
    return f"{folder}/{keys}" if is_file else keys


def _refusal(printed: str, key: str) -> str:
    """What was said of an input of this kind."""
    lines = [line.strip() for line in printed.splitlines() if f"{key}/" in line and "found" in line]
    return re.sub(rf"^.*?{key}/\S+?: |; expected .*$", "", lines[0]) if lines else ""


if __name__ == "__main__":
    main()
