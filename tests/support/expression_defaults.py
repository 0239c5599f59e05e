"""What the methods for tables of expression have in common when nothing is stated."""

from __future__ import annotations

from typing import Any

EXPRESSION_DEFAULTS: dict[str, Any] = {
    "expression": "e.tsv",
    "orientation": "genes_in_rows",
    "layer": "auto",
    "obs": {},
    "split_by": None,
    "duplicates": "error",
    "ignore_case": False,
    "ignore_versions": False,
    "names": None,
    "preprocess": {
        "log2": "auto",
        "pseudocount": "auto",
        "normalize": "auto",
        "min_samples": 20,
        "min_expressed": 0.0,
        "top_variable": None,
        "drop_constant": False,
        "sample_scale": "auto",
        "regress_out": [],
        "hidden_factors": "none",
        "control_genes": None,
    },
    "samples": dict.fromkeys(("annotations", "series", "time", "batch", "replicate", "step"))
    | {"combine": "auto", "unannotated": "error"},
    "regulators": None,
    "gold_standard": None,
    "differential": None,
    "traits": [],
    "other_samples": None,
    "gene_sets": None,
    "activity": False,
}
