"""Six analyses as a user would state them, small, with planted truth: bulk tissue, cells, a plant
under heat, miRNAs, the motion of a protein in two states, a time course."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
from motion_reports import write_motion
from pairtile.simulate import simulate_boolean, simulate_conditions, simulate_kinetic
from workflow_runs import Analysis


def bulk(folder: Path) -> dict[str, Any]:
    """Counts of genes with identifiers and symbols, of samples with a trait that is a number of few
    values, one of three labels, and two conditions."""
    made = simulate_conditions(120, 60)
    names = pd.Index([f"ENSG{k:011d}" for k in range(1, 121)], name="gene_id")
    table = pd.DataFrame(made.counts, names, made.annotations["sample"])
    table.insert(0, "gene_name", made.genes)
    table.to_csv(folder / "counts.tsv", sep="\t")
    severity = made.annotations["severity"]
    made.annotations["grade"] = pd.cut(severity, 3, labels=False) + 1
    made.annotations["tissue"] = np.array(["liver", "kidney", "heart"])[np.arange(60) // 4 % 3]
    made.annotations.to_csv(folder / "samples.tsv", sep="\t", index=False)
    (folder / "regulators.txt").write_text("\n".join(made.regulators) + "\n")
    sets = ("\t".join([name, "", *genes]) for name, genes in made.gene_sets.items())
    (folder / "sets.gmt").write_text("\n".join(sets) + "\n")
    return {
        "method": "mutual_information",
        "expression": "counts.tsv",
        "regulators": "regulators.txt",
        "samples": {"annotations": str(folder / "samples.tsv"), "batch": "batch"},
        "modules": {"method": "leiden"},
        "traits": [{"name": "grade", "kind": "quantitative"}, "tissue", "condition"],
        "gene_sets": "sets.gmt",
        "activity": True,
        "differential": {"label": "condition"},
    }


def cells(folder: Path) -> dict[str, Any]:
    """Counts of cells of two types and four donors, as AnnData."""
    made = simulate_kinetic(80, 320, seed=2, dropout=0.2)
    random = np.random.default_rng(5)
    depth = random.lognormal(8.5, 0.3, 320)
    counts = random.poisson(made.values / made.values.sum(axis=0) * depth).T.astype(np.float32)
    kind = np.array(["B cell", "T cell"])[np.arange(320) % 2]
    donor = np.array([f"donor{k}" for k in np.arange(320) // 2 % 4])
    obs = pd.DataFrame({"cell_type": kind, "donor": donor}, [f"cell{k:03d}" for k in range(320)])
    anndata.AnnData(counts, obs, pd.DataFrame(index=made.genes)).write_h5ad(folder / "cells.h5ad")
    (folder / "regulators.txt").write_text("\n".join(made.regulators) + "\n")
    return {
        "method": "mutual_information",
        "expression": "cells.h5ad",
        "regulators": "regulators.txt",
        "samples": {"batch": "donor"},
        "modules": {"method": "leiden"},
        "traits": ["cell_type"],
        "activity": True,
    }


def plant(folder: Path) -> dict[str, Any]:
    """Genes that go together under heat alone, or always."""
    random = np.random.default_rng(4)
    heat = np.arange(80) < 40
    shared = random.normal(size=(3, 80))
    values = random.normal(size=(40, 80))
    values[:8] = shared[0] + 0.4 * values[:8]
    values[8:14] = shared[1] * heat + np.where(heat, 0.4, 1.0) * values[8:14] + 3.0 * heat
    values[14:20] = shared[2] + 0.5 * values[14:20]
    samples = [f"leaf{k:02d}" for k in range(80)]
    genes = [f"AT1G{k:05d}" for k in range(1010, 1010 + 400, 10)]
    table = pd.DataFrame(values.round(4) + 8.0, genes, samples)
    table.to_csv(folder / "leaves.csv", index_label="locus")
    stated = {"sample": samples, "Treatment": np.where(heat, "heat", "control")}
    hours = pd.DataFrame(stated | {"Hours": np.digitize(shared[0], [-1, 0, 1]) * 6})
    hours.to_csv(folder / "leaves_annotated.csv", index=False)
    return {
        "method": "multimodal_correlation",
        "expression": "leaves.csv",
        "annotations": "leaves_annotated.csv",
        "conditions": ["Treatment", {"name": "Hours", "kind": "quantitative"}],
        "estimator": {"max_clusters": 3, "min_samples": 20},
    }


def mirna(folder: Path) -> dict[str, Any]:
    """3' UTRs, some with planted sites of one of five miRNAs."""
    random = np.random.default_rng(7)
    letters = np.array([*"ACGU"])
    mirnas = {f"miR-{k + 1}": "".join(random.choice(letters, 22)) for k in range(5)}
    pair = str.maketrans("ACGU", "UGCA")
    utrs = {}
    for k in range(60):
        utr = "".join(random.choice(letters, 500, p=[0.3, 0.2, 0.2, 0.3]))
        if k < 20:
            mirna = mirnas[f"miR-{k % 4 + 1}"]
            utr = utr[:200] + mirna[::-1].translate(pair) + utr[222:]
        utrs[f"UTR{k + 1:02d}"] = utr
    for name, sequences in (("mature.fa", mirnas), ("utr3.fa", utrs)):
        records = (f">{key}\n{sequence}\n" for key, sequence in sequences.items())
        (folder / name).write_text("".join(records))
    return {
        "method": "mirna_targets",
        "mirnas": "mature.fa",
        "transcripts": "utr3.fa",
        "null": {"shuffles": 40},
        "estimator": {"seed_sites": True},
    }


def motion(folder: Path) -> dict[str, Any]:
    """Two chains in three replicas, compared with a state in which one is looser."""
    apo = folder / "apo"
    apo.mkdir()
    base = {
        "method": "trajectory_correlation",
        "contacts": {"cutoff": 6.0, "fraction": 0.5},
        "fit": False,
        "domains": {"HEAD": "chainID A and resid 1-3", "TAIL": "chainID B"},
        "estimator": {"surrogates": 20},
    }
    Analysis(folder, base | write_motion(apo, replicas=3, loose=True), "apo").all()
    paths = [["A:MET1", "A:TRP6"]]
    return base | write_motion(folder, replicas=3) | {"paths": paths}


def time_course(folder: Path) -> dict[str, Any]:
    """Levels of genes that follow Boolean functions of two others, in several series."""
    made = simulate_boolean(16, 60, 3, perturbation=0.03, seed=3)
    table = pd.DataFrame(made.levels, made.genes, made.samples)
    table.to_csv(folder / "levels.tsv", sep="\t", index_label="gene")
    series = pd.DataFrame({"sample": made.samples, "series": made.series})
    series.to_csv(folder / "series.tsv", sep="\t", index=False)
    return {
        "method": "predictor_pairs",
        "levels": "levels.tsv",
        "series": "series.tsv",
        "null": {"permutations": 200},
        "rules": True,
    }


JOURNEYS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "bulk": bulk,
    "cells": cells,
    "plant": plant,
    "mirna": mirna,
    "motion": motion,
    "time_course": time_course,
}


def run_journey(folder: Path, name: str) -> Path:
    """Run one to its page; the folder of its results."""
    made = Analysis(folder, JOURNEYS[name](folder), name)
    if name == "motion":
        made.model = made.model.model_copy(update={"compare": "apo"})
    return made.all().report().out
