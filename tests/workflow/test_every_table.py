"""Whatever is switched on: each file has one rule that makes it, also where nothing is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from pairtile.config.downstream import STAGES, stage_tables
from pairtile.config.load import load_config
from pairtile.config.root import models
from workflow_runs import run, write_config

pytestmark = pytest.mark.workflow

TABLE = {"expression": "x.tsv", "samples": {"annotations": "x.tsv"}}
STAGES_OF_TABLES = {
    "modules": {"method": "wgcna"},
    "traits": ["label"],
    "gene_sets": "x.gmt",
    "differential": {"label": "label"},
}
REGULATORS = {"regulators": "x.txt", "activity": True, "bootstraps": 10, "other_samples": "x.tsv"}
MODES = {"annotations": "x.tsv", "conditions": ["label"]}
ORTHOLOGS = {"orthologs": "x.fa", "reference_species": "hsa", "species_tree": "x.txt"}
JOINED = {"mirna_expression": "x.tsv", "transcript_expression": "x.tsv", "null": {"shuffles": 100}}
MOTION = {"topology": "x.pdb", "trajectories": ["x.xtc"], "estimator": {"kind": "gaussian"}}
PATHS = {"paths": [["resid 1", "resid 5"]], "g_correlation_text": True, "compare": "other_motion"}
DRIVEN = {"direction": True, "estimator": {"kind": "ksg"}}
DOMAINS = {"domains": {"whole": "protein"}}
ANALYSES = {
    "edges": {"method": "mutual_information", **TABLE, **STAGES_OF_TABLES, **REGULATORS},
    "modes": {"method": "multimodal_correlation", **TABLE, **STAGES_OF_TABLES, **MODES},
    "kinc": {"method": "multimodal_correlation", **TABLE, "compatibility": "kinc"},
    "predictors": {"method": "predictor_pairs", **TABLE, **STAGES_OF_TABLES, "rules": True},
    "two_tables": {
        **{"method": "mutual_information", **TABLE, "other_expression": "x.tsv"},
        **{"other_samples": None, "mirna_targets": "targets"},
    },
    "targets": {
        **{"method": "mirna_targets", "mirnas": "x.fa", "transcripts": "x.fa"},
        **{**ORTHOLOGS, **JOINED, "gold_standard": "x.tsv", "estimator": {"seed_sites": True}},
    },
    "motion": {"method": "trajectory_correlation", **MOTION, **PATHS, **DOMAINS},
    "other_motion": {"method": "trajectory_correlation", **MOTION},
    "driven": {"method": "trajectory_correlation", **MOTION, **DRIVEN},
}


def test_each_file_of_each_method_is_made_by_one_rule(tmp_path: Path) -> None:
    content = {"backend": "cpu", "analyses": ANALYSES}
    for name in ("x.tsv", "x.txt", "x.gmt", "x.fa", "x.pdb", "x.xtc"):
        (tmp_path / name).touch()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content))
    planned = run(tmp_path, "-n")
    assert planned.code == 0, planned.text
    analyses = load_config(content).analyses.values()
    asked = {table for some in analyses for table in (*some.result_tables(), *stage_tables(some))}
    known = {table for some in (*models().values(), *STAGES) for table in some.tables}
    assert known - asked == set()


@pytest.mark.complete
def test_every_page_is_made_where_nothing_is_found(tmp_path: Path) -> None:
    """Noise, rules of which no edge is left, and all that follows a network."""
    draw = np.random.default_rng(1)
    samples = [f"s{k}" for k in range(48)]
    genes = [f"g{k}" for k in range(60)]
    noise = pd.DataFrame(draw.normal(size=(60, 48)), genes, samples)
    noise.to_csv(tmp_path / "x.tsv", sep="\t", index_label="gene")
    labels = pd.DataFrame({"label": ["a", "b"] * 24}, samples)
    labels.to_csv(tmp_path / "labels.tsv", sep="\t", index_label="sample")
    (tmp_path / "x.gmt").write_text("one\tna\t" + "\t".join(genes[:8]) + "\n")
    (tmp_path / "x.txt").write_text("\n".join(genes[:10]) + "\n")
    table = {**TABLE, "samples": {"annotations": "labels.tsv"}, "preprocess": {"log2": False}}
    table |= {**STAGES_OF_TABLES, "modules": {"method": "leiden"}}
    table |= {"chunks": "auto"}  # a job for each analysis
    none = {"keep": {"p_value": 1e-5}}
    write_config(
        tmp_path,
        {
            "edges": {"method": "mutual_information", **table, **REGULATORS, **none},
            "modes": {
                **{"method": "multimodal_correlation", **table, **MODES},
                **{"annotations": "labels.tsv", "threshold": {"method": "score", "score": 0.99}},
            },
            "predictors": {"method": "predictor_pairs", **table, "rules": True, **none},
        },
    )
    done = run(tmp_path)
    assert done.code == 0, done.text
    for name in ("edges", "modes", "predictors"):
        assert len(pd.read_csv(tmp_path / f"results/{name}/network.tsv", sep="\t")) == 0
        assert "No edges" in (tmp_path / f"results/{name}/report.html").read_text()
