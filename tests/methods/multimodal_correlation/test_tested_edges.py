"""How many edges are tested for a condition, and what is said of those that are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pairtile import ModeNetwork, multimodal_correlation
from pairtile.declare.messages import Message

TOGETHER = 30
"""Pairs that go together in every sample, and as many that do so under the first label alone."""


def network(codes: NDArray, unrelated: int = 0) -> ModeNetwork:
    random = np.random.default_rng(5)
    first, noise = random.normal(size=(2, 2 * TOGETHER, codes.size))
    related = np.ones((2 * TOGETHER, codes.size), dtype=bool)
    related[TOGETHER:] = codes == 0
    second = np.where(related, 0.95 * first + 0.3 * noise, noise)
    values = np.concatenate([first, second, random.normal(size=(unrelated, codes.size))])
    samples = [f"s{k}" for k in range(codes.size)]
    table = pd.DataFrame(values, columns=samples)
    annotations = pd.DataFrame({"Condition": np.array(list("xyzu"))[codes]}, index=samples)
    found = multimodal_correlation(
        table, clustering="none", min_samples=10, preprocess={"log2": False}, backend="cpu"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return found.network(0.8, power=False, modules=False, annotations=annotations)


def said(messages: list[str], code: str) -> Message:
    [message] = [m for m in messages if isinstance(m, Message) and m.code == code]
    return message


@pytest.mark.parametrize("sizes", [(12, 12, 12), (40, 40), (9, 25, 30, 50)])
def test_the_edges_tested_are_counted_and_the_other_pairs_too(sizes: tuple[int, ...]) -> None:
    made = network(np.repeat(np.arange(len(sizes)), sizes))
    note = said(made.notes, "condition_tested")
    tested = made.tests.groupby(["source", "target"])["coexpression_p_value"].count() > 0
    assert note.severity == "note"
    assert note.numbers["edges"] == len(made.edges) == len(tested)
    assert note.numbers["tested"] == tested.sum() >= TOGETHER
    assert note.numbers["tested"] < 2 * TOGETHER, "pairs of one label alone are no edges"
    assert note.numbers["pairs"] == 4 * TOGETHER * (4 * TOGETHER - 1) // 2
    assert len(note.numbers["detectable"]) == len(sizes)


def test_more_samples_show_smaller_differences() -> None:
    few = said(network(np.repeat([0, 1], 20)).notes, "condition_tested").numbers
    many = said(network(np.repeat([0, 1], 80)).notes, "condition_tested").numbers
    assert 0.3 < max(many["detectable"]) < min(few["detectable"]) < 1.0


@pytest.mark.parametrize("sizes", [(33, 7), (7, 60)])
def test_a_condition_that_no_edge_was_tested_for_is_warned_of(sizes: tuple[int, int]) -> None:
    made = network(np.repeat([0, 1], sizes))
    warning = said(made.warnings, "condition_untested")
    assert warning.numbers["tested"] == 0
    assert warning.numbers["edges"] == len(made.edges) > 0
