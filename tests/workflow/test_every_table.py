"""Whatever is switched on: each file that a run may make has one rule that makes it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pairtile.config.downstream import STAGES, stage_tables
from pairtile.config.load import load_config
from pairtile.config.root import models
from workflow_runs import run

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
        **{**ORTHOLOGS, **JOINED, "gold_standard": "x.tsv"},
    },
    "motion": {"method": "trajectory_correlation", **MOTION, **PATHS},
    "other_motion": {"method": "trajectory_correlation", **MOTION},
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
