"""miranda.txt of hits made by hand; test_workflow_mirna_targets has what miRanda 3.3a printed."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.miranda_text import TextSequences, write_miranda_text
from pairtile.methods.mirna_targets.search import ROWS

MIRNAS = TextSequences(["m1", "m2"], ["of a worm", ""], np.array([22, 22]))
TRANSCRIPTS = TextSequences(["t1", "t2", "t3"], ["", "", "\udce9"], np.array([40, 50, 60]))


def hits(*rows: tuple[int, int, int, float, float]) -> pa.Table:
    """Merged hits of given miRNA, transcript, rank, score and energy, alike in all else."""
    alike = (2, 21, 4, 25, 3, 200 / 3, 100.0, "aUGUa", " ||: ", "gACGg")
    found = [(i, len(MIRNAS.names) + j, *more, *alike) for i, j, *more in rows]
    return pa.Table.from_pylist([dict(zip(ROWS.names, row, strict=True)) for row in found], ROWS)


def text(found: list[pa.Table], **asked: Any) -> str:
    settings = asked.pop("settings", AlignmentConfig())
    out = io.BytesIO()
    write_miranda_text(found, MIRNAS, TRANSCRIPTS, settings, out, **asked)
    return out.getvalue().decode("latin-1")


def scans(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith(("Performing", ">>", "No "))]


def test_a_pair_is_numbered_by_what_was_scanned_before() -> None:
    found = hits((0, 2, 0, 150.0, -10.0), (1, 1, 0, 140.0, -5.0), (1, 1, 1, 145.0, -7.5))
    assert scans(text([found])) == [
        ">>m1\tt3\t150.00\t-10.00\t150.00\t-10.00\t3\t22\t60\t 4",
        ">>m2\tt2\t285.00\t-12.50\t145.00\t-7.50\t5\t22\t50\t 4 4",
    ]
    pairs = np.array([[0, 0], [0, 2], [1, 1]])
    assert [line.split("\t")[6] for line in scans(text([found], pairs=pairs))] == ["2", "3"]


def test_with_a_restrict_list_only_its_pairs_are_shown() -> None:
    found = hits((1, 1, 0, 140.0, -5.0))
    printed = text([found], quiet=False, pairs=np.array([[0, 2], [1, 1]]))
    assert scans(printed) == [
        "Performing Scan: m1 vs t3",
        "No Hits Found above Threshold",
        "Performing Scan: m2 vs t2",
        ">>m2\tt2\t140.00\t-5.00\t140.00\t-5.00\t2\t22\t50\t 4",
    ]
    assert [line for line in printed.splitlines() if line.startswith("Read")] == [
        "Read Sequence:m1 of a worm(22 nt)",
        "Read Sequence:t3 \xe9(60 nt)",
        "Read Sequence:m2 (22 nt)",
        "Read Sequence:t2 (50 nt)",
    ]


def test_a_pair_whose_energies_add_up_to_zero_or_more_has_no_summary() -> None:
    found = hits((0, 0, 0, 150.0, 0.5), (0, 0, 1, 140.0, -0.5))
    quiet = text([found])
    assert quiet.count("Scores for this hit:") == 2
    assert ">>" not in quiet
    assert "Complete\n" not in quiet.removesuffix("Scan Complete\n\n")
    verbose = text([found], quiet=False)
    assert verbose.count("Scores for this hit:") == 2
    assert scans(verbose)[:2] == ["Performing Scan: m1 vs t1", "No Hits Found above Threshold"]


def test_without_energies_zeros_stand_for_them() -> None:
    settings = AlignmentConfig(energies=False)
    printed = text([hits((0, 0, 0, 150.0, 0.0))], settings=settings)
    assert "kCal" not in printed
    assert ">m1\tt1\t150.00\t0.00\t2 21\t4 25\t3\t66.67%\t100.00%\n" in printed
    assert scans(printed) == [">>m1\tt1\t150.00\t0.0\t150.00\t0.0\t1\t22\t40\t 4"]


def test_trim_shortens_the_length_of_the_pair_but_not_what_was_read() -> None:
    settings = AlignmentConfig(trim=45)
    printed = text([hits((0, 2, 0, 150.0, -1.0))], settings=settings, quiet=False)
    assert "Read Sequence:t3 \xe9(60 nt)\n" in printed
    assert ">>m1\tt3\t150.00\t-1.00\t150.00\t-1.00\t3\t22\t45\t 4\n" in printed


def test_key_values_hold_all_of_a_hit() -> None:
    printed = text([hits((0, 0, 0, 150.0, -24.54))], keyval=True)
    assert printed.splitlines()[0].split("\t") == [
        "//hit_info", "query_id=m1", "reference_id=t1", "score=150.000000", "energy=-24.540001",
        "query_start=2", "query_end=21", "ref_start=4", "ref_end=25", "aln_length=3",
        "identity=66.666667", "similarity=100.000000", "aln_mirna=aUGUa", "aln_map= ||: ",
        "aln_utr=gACGg",
    ]  # fmt: skip


def test_no_hits_leave_the_last_line() -> None:
    assert text([]) == "Scan Complete\n\n"
    assert text([ROWS.empty_table()]) == "Scan Complete\n\n"
    assert scans(text([], quiet=False)).count("No Hits Found above Threshold") == 6
