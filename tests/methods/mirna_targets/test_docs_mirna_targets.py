"""What the pages say of miRNA targets is what a run gives: columns, counts, what filters do."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from method_pages import assert_described
from mirna_sequences import of_workflow, random_sequences
from pairtile import mirna_targets

pytest.importorskip("RNA", reason="needs the package ViennaRNA")

EXTRAS = {"context": True, "duplex_energy": True, "accessibility": True}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "pairs.tsv").write_text("mir-1\ttr-1\nmir-2\ttr-2\nmir-0\tnobody\n")
    (folder / "t.gtf").write_text(
        'chr1\tx\texon\t1\t100\t.\t+\t.\tgene_id "g"; transcript_id "another";\n'
    )
    (folder / "o.fa").write_text(">tr-1|other\nACGUACGU\n")
    (folder / "tree.nwk").write_text("(this:1,other:1);")
    (folder / "mirna.tsv").write_text("\ta\tb\tc\td\te\nmir-1\t1\t5\t2\t4\t3\n")
    (folder / "transcript.tsv").write_text("\ta\tb\tc\td\te\ntr-1\t1\t2\t3\t4\t5\n")
    more = {
        "restrict": "pairs.tsv", "annotation": "t.gtf", "null": {"shuffles": 20},
        "orthologs": "o.fa", "reference_species": "this", "species_tree": "tree.nwk",
        "mirna_expression": "mirna.tsv", "transcript_expression": "transcript.tsv",
    }  # fmt: skip
    return of_workflow(folder, extras=EXTRAS, estimator={"seed_sites": True}, **more)


def test_tables_arrays_figures_and_counts_are_described(out: Path) -> None:
    assert_described(out, "mirna_targets")
    # Plain text to every reader.
    assert {str(kind) for kind in pq.read_schema(out / "hits.parquet").types} <= {
        "string", "int32", "int64", "float", "double",
    }  # fmt: skip


def test_settings_that_are_stricter_give_a_part_of_the_hits() -> None:
    """So that one search and filters of its table will do, as the page says."""
    sequences = random_sequences()
    loose = mirna_targets(*sequences, score=60)
    for settings, kept in (
        ({"score": 100}, loose["score"] >= 100),
        ({"score": 60, "energy": -12}, loose["energy_kcal_mol"] < -12),
        ({"score": 60, "strict": True}, loose["seed_class"].isin(["8mer", "7mer-m8"])),
        ({"score": 140, "energy": -15}, (loose["score"] >= 140) & (loose["energy_kcal_mol"] < -15)),
    ):
        assert 0 < kept.sum() < len(loose)
        expected = loose[kept].drop(columns="rank").reset_index(drop=True)
        found = mirna_targets(*sequences, **settings).drop(columns="rank")
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
