"""Real tables, where they are at hand: the shapes and edge numbers that their sources state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.io.expression import read_expression
from pairtile.io.gold_standard import read_gold_standard
from pairtile.io.regulators import match_regulators, read_regulators
from prepared_tables import prepare_expression

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the shared data sets (../shared/data) are not here"
)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("bsub/expression.tsv.gz", (4218, 266)),
        ("rice/expression.log2.tsv.gz", (1166, 60)),
        ("syntren300/expression.tsv.gz", (300, 800)),
        ("rogers1000/expression.tsv.gz", (1000, 1000)),
        ("dream4/net1/expression.tsv", (100, 100)),
        ("pf3d7/expression_200.log2.tsv", (200, 21)),
    ],
)
def test_real_tables_are_read_as_pandas_reads_them(name: str, shape: tuple[int, int]) -> None:
    expression = read_expression(DATA / name)
    frame = pd.read_csv(DATA / name, sep="\t", index_col=0, float_precision="round_trip")
    assert expression.values.shape == shape
    np.testing.assert_array_equal(expression.values, frame.to_numpy(dtype=float))
    assert expression.genes == list(frame.index)
    assert expression.samples == list(frame.columns)


def test_rice_has_a_header_without_row_name_field_and_missing_values() -> None:
    notes = read_expression(DATA / "rice" / "expression.log2.tsv.gz").notes
    assert "The header has no field for the row names." in notes
    assert "3263 of 69960 cells were read as missing." in notes


@pytest.mark.parametrize(
    ("name", "n_regulators", "n_edges"),
    [("bsub", 153, 3070), ("syntren300", 70, 428), ("rogers1000", None, 1350)]
    + [(f"dream4/net{k}", 100, n) for k, n in enumerate((176, 249, 195, 211, 193), start=1)],
)
def test_real_gold_standards_have_the_edges_that_their_sources_state(
    name: str, n_regulators: int | None, n_edges: int
) -> None:
    edges = read_gold_standard(DATA / name / "gold_standard.tsv")
    assert len(edges) == n_edges
    regulators = read_regulators(DATA / name / "regulators.txt")
    assert n_regulators in (None, len(regulators))
    table = next((DATA / name).glob("expression*"))
    genes = read_expression(table).genes
    rows, missing = match_regulators(regulators, genes, name)
    assert len(rows) + len(missing) == len(regulators)


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
