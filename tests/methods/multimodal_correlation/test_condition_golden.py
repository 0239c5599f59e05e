"""Tests of modes against conditions, beside what KINC 3.4.2 printed for the same modes of rice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile.config.conditions import ConditionConfig
from pairtile.io.annotations import read_annotations
from pairtile.methods.multimodal_correlation.conditions import (
    ConditionTests,
    condition_tests,
    upper_tail,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples

pytestmark = pytest.mark.complete

LABELS = {
    "Treatment": ("Heat", "Control"),
    "Subspecies": ("Japonica", "Indica"),
    "GTAbbr": ("AZ", "KP", "PW", "TD"),
}


@dataclass(frozen=True)
class Rice:
    """KINC's table, its samples' states (modes, samples), labels by sample, and our tests."""

    golden: pd.DataFrame
    states: NDArray[np.int64]
    has_label: dict[tuple[str, str], NDArray[np.bool_]]
    found: ConditionTests

    def test(self, condition: str, label: str) -> pd.DataFrame:
        tests = self.found.tests
        return next(t.results for t in tests if (t.condition, t.label) == (condition, label))


@pytest.fixture(scope="module")
def rice() -> Rice:
    shared = Path(__file__).resolve().parents[4] / "shared"
    folder = shared / "golden" / "multimodal"
    if not folder.is_dir():
        pytest.skip("needs the reference data in shared/ beside the checkout")
    name = "rice300.icl_spearman.paf.extract_all_tests.text.gz"
    golden = pd.read_csv(folder / name, sep="\t", dtype={"Samples": str})
    table = pd.read_csv(folder / "inputs" / "rice300.emx.txt", sep="\t")
    states = np.array([[int(c) for c in text] for text in golden["Samples"]])
    row = {gene: k for k, gene in enumerate(table.index)}
    modes = ModeSamples(
        golden["Source"].map(row).to_numpy(),
        golden["Target"].map(row).to_numpy(),
        np.packbits(states == 1, axis=1),
        table.to_numpy(),
        np.packbits((states == 7) | (states == 8), axis=1),
    )
    entries = [ConditionConfig(name=name) for name in (*LABELS, "Duration")]
    path = shared / "data" / "rice" / "annotations.tsv"
    conditions = read_annotations(path, list(table.columns), entries).conditions
    has_label = {
        (c.name, label): c.codes == k for c in conditions for k, label in enumerate(c.labels)
    }
    return Rice(golden, states, has_label, condition_tests(modes, conditions))


@pytest.mark.complete
def test_regressions_agree(rice: Rice) -> None:
    """KINC prints values where p < 1e-6 (and not everywhere there); p = 1 - F's distribution, which
    has an absolute error of 1e-16, and expression in float32."""
    fit = rice.test("Duration", "")
    assert np.isfinite(fit.p_value).all()
    assert np.array_equal(fit.n, rice.golden["Cluster_Size"])
    p = rice.golden["Duration_pVal"].to_numpy()
    has_value = np.isfinite(p)
    assert has_value.sum() == 1035
    assert (fit.p_value[has_value] < 1e-6).all()
    np.testing.assert_allclose(fit.p_value[has_value], p[has_value], rtol=1e-5, atol=1e-16)
    r_squared = rice.golden["Duration_RSqr"].to_numpy()
    np.testing.assert_allclose(fit.r_squared[has_value], r_squared[has_value], rtol=0, atol=1e-7)


def test_the_universe_is_what_the_mixture_could_place(rice: Rice) -> None:
    """Not all samples, as in KINC: in 90 percent of its modes every sample that could be in the
    mode is, and labels look enriched or not by who is missing."""
    heat = rice.test("Treatment", "Heat")
    could = (rice.states == 0) | (rice.states == 1)
    assert np.array_equal(heat.n, could.sum(axis=1))
    assert np.array_equal(heat.n_mode, (rice.states == 1).sum(axis=1))
    tested = (rice.states == 0).any(axis=1)
    assert tested.sum() == 475
    assert np.array_equal(np.isfinite(heat.p_value), tested)


def test_enriched_labels_are_the_same_where_definitions_are(rice: Rice) -> None:
    """KINC's p-values are no tail of one hypergeometric distribution: modes with the same numbers
    have different ones. The exact tail over all 60 samples, its universe, finds every label that it
    finds; over the samples of the pair, all but 14 of 254: those rest on who is missing."""
    called = exact = pair = 0
    in_mode = rice.states == 1
    for condition, labels in LABELS.items():
        for label in labels:
            kinc = rice.golden[f"{condition}__{label}_pVal"].to_numpy() < 1e-3
            has_label = rice.has_label[condition, label]
            n = np.full(len(kinc), 60, np.int32)
            n_label = np.full(len(kinc), has_label.sum(), np.int32)
            both = (in_mode & has_label).sum(axis=1).astype(np.int32)
            everyone = upper_tail(both, n, n_label, in_mode.sum(axis=1).astype(np.int32))
            called += int(kinc.sum())
            exact += int((everyone[kinc] < 1e-3).sum())
            pair += int((rice.test(condition, label).p_value[kinc] < 1e-3).sum())
    assert (called, exact, pair) == (254, 254, 240)


def test_modes_of_one_label_are_called(rice: Rice) -> None:
    """Every mode that holds all heat samples of its pair and no control sample, or the reverse."""
    could = (rice.states == 0) | (rice.states == 1)
    for label in LABELS["Treatment"]:
        has_label = rice.has_label["Treatment", label]
        pure = ((rice.states == 1) == (could & has_label)).all(axis=1)
        pure &= (could & ~has_label).sum(axis=1) >= 10
        assert pure.sum() > 10
        assert (rice.test("Treatment", label).q_value[pure] < 1e-6).all()
