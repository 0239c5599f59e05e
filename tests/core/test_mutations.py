"""The list of plausible faults is about the code as it is."""

from __future__ import annotations

from paths import ROOT, TESTS

from benchmarks.mutations import PACKAGE, read_mutations


def test_every_fault_has_one_place_and_tests_that_are_there():
    mutations = read_mutations()
    assert len(mutations) > 150
    for mutation in mutations:
        text = (ROOT / PACKAGE / mutation.file).read_text(encoding="utf-8")
        stale = f"benchmarks/mutations.txt: write the line as it stands now: {mutation}"
        assert text.count(mutation.before) == 1, stale
        assert mutation.before != mutation.after
        assert all((TESTS / name).exists() for name in mutation.tests), mutation
