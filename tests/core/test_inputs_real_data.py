"""Real tables, where they are at hand: the shapes and edge numbers that their sources state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pairtile.io.expression import read_expression
from prepared_tables import prepare_expression

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the shared data sets (../shared/data) are not here"
)


@pytest.mark.parametrize(
    ("name", "min_samples"),
    [
        ("bsub/expression.tsv.gz", 20),
        ("rice/expression.log2.tsv.gz", 20),
        ("syntren300/expression.tsv.gz", 20),
        ("rogers1000/expression.tsv.gz", 20),
        ("dream4/net1/expression.tsv", 20),
        ("pf3d7/expression_200.log2.tsv", 20),
    ],
)
def test_auto_leaves_tables_that_are_logarithms_or_fractions_as_they_are(
    name: str, min_samples: int
) -> None:
    expression = read_expression(DATA / name)
    prepared = prepare_expression(expression, {"min_samples": min_samples})
    assert prepared.parameters["log2"] is False
    kept = [expression.genes.index(gene) for gene in prepared.genes]
    np.testing.assert_array_equal(prepared.values, expression.values[kept])


@pytest.mark.parametrize("name", ["bsub/expression.tsv.gz", "rice/expression.log2.tsv.gz"])
def test_auto_takes_the_logarithm_of_the_same_tables_made_raw_again(name: str) -> None:
    expression = read_expression(DATA / name)
    raw = type(expression)(np.exp2(expression.values), expression.genes, expression.samples)
    prepared = prepare_expression(raw)
    assert prepared.parameters["log2"] is True
    kept = [expression.genes.index(gene) for gene in prepared.genes]
    np.testing.assert_allclose(prepared.values, expression.values[kept], rtol=0, atol=1e-12)
