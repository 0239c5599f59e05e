"""Traits of the samples against the eigengenes of modules."""

from __future__ import annotations

import numpy as np

from pairtile.downstream.given import Given, Written
from pairtile.downstream.module_traits import module_trait_tests
from pairtile.io.annotations import AnnotationTable, ConditionEntry, annotations_of_table

Q_VALUE = 0.05


def run(given: Given) -> Written:
    """Write ``module_traits.tsv``."""
    table = AnnotationTable(
        "samples", given.samples, dict(given.annotations), ["samples"] * len(given.samples), []
    )
    asked = [ConditionEntry(column) for column in given.config.traits]
    found = annotations_of_table(table, asked)
    eigengenes = given.table("eigengenes.tsv").set_index("module")[given.samples]
    tests, notes = module_trait_tests(
        eigengenes.to_numpy(dtype=np.float64),
        found.conditions,
        batch=given.batch,
        series=given.series,
        degrees_given_up=int(np.sum(given.known.get("degrees_given_up", 0))),
        seed=given.seed,
    )
    given.write("module_traits.tsv", tests)
    counts = {
        "module_trait_tests": int(tests["p_value"].notna().sum()),
        "module_traits_found": int((tests["q_value"] <= Q_VALUE).sum()),
    }
    return Written(counts, [*found.notes, *notes])
