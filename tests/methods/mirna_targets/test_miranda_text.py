"""miranda.txt against what miRanda 3.3a printed, byte for byte."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.fasta import Fasta, read_fasta
from pairtile.methods.mirna_targets.miranda_text import TextSequences, write_miranda_text
from pairtile.methods.mirna_targets.search import ROWS, SequenceBatch, TargetSearch

GOLDEN_RUNS = [
    "bantam_default",
    "bantam_quiet",
    "bantam_keyval",
    "bantam_trim3000",
    "bantam_en-20",
    "planted_quiet",
    "planted_keyval_noen",
    "planted_strict",
    "planted_sc120_en-15",
    "planted_go-4_ge-2",
    "planted_scale1_sc60",
    "mplant_quiet",
    "mplant_keyval_noen",
    "mplant_strict",
    "mplant_sc120_en-15",
    "mplant_verbose",
    "mplant_restrict",
    "mplant_trim50",
    "rnd_quiet",
    "rnd_keyval_noen",
    "rnd_strict",
    "ts_quiet",
    "ts_keyval_noen",
    "ts_strict",
    "long_quiet",
    "crlf",
    "nonewline_end",
    "emptyfile",
]
"""All but the runs on which miRanda gives up half-way."""

VALUES = {
    "-sc": ("score", float),
    "-en": ("energy", float),
    "-scale": ("scale", float),
    "-go": ("gap_open", float),
    "-ge": ("gap_extend", float),
    "-trim": ("trim", int),
}

both_backends = pytest.mark.parametrize(
    "backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)


def settings_of(words: Sequence[str]) -> AlignmentConfig:
    asked: dict[str, Any] = {"strict": "-strict" in words, "energies": "-noenergy" not in words}
    for flag, value in pairwise(words):
        if flag in VALUES:
            name, number_type = VALUES[flag]
            asked[name] = number_type(value)
    return AlignmentConfig(**asked)


def after_settings(printed: bytes) -> bytes:
    """What follows the fourth rule line."""
    lines = printed.splitlines(keepends=True)
    rules = [k for k, line in enumerate(lines) if line.startswith(b"=-=-")]
    return b"".join(lines[rules[3] + 1 :])


def sequences(fasta: Fasta) -> TextSequences:
    return TextSequences(fasta.names, fasta.headers, fasta.lengths)


@both_backends
@pytest.mark.parametrize("name", GOLDEN_RUNS)
def test_text_is_what_miranda_prints(backend: str, name: str, shared: Path) -> None:
    golden = shared / "golden" / "mirna"
    commands = dict(line.split("\t") for line in (golden / "commands.tsv").read_text().splitlines())
    words = commands[name].split()
    settings = settings_of(words)
    if settings.energies:
        pytest.importorskip("RNA", reason="needs the package ViennaRNA")
    mirnas, transcripts = (read_fasta(golden / "inputs" / words[k]) for k in (1, 2))
    allowed, pairs = None, None
    if "-restrict" in words:
        listed = golden / "inputs" / words[words.index("-restrict") + 1]
        asked = {tuple(line.split()) for line in listed.read_text().splitlines()}
        allowed = np.array([[(a, b) in asked for b in transcripts.names] for a in mirnas.names])
        pairs = np.argwhere(allowed)
    search = TargetSearch(
        SequenceBatch(mirnas.text, mirnas.offsets),
        SequenceBatch(transcripts.text, transcripts.offsets),
        settings,
        choose(backend),
    )
    hits = search.hits(0, len(mirnas), np.arange(len(transcripts)), allowed)
    hits = hits.set_column(1, "j", pa.array(hits["j"].to_numpy() + len(mirnas), pa.int32()))
    out = io.BytesIO()
    write_miranda_text(
        (hits.slice(begin, 7) for begin in range(0, len(hits), 7)),
        sequences(mirnas),
        sequences(transcripts),
        settings,
        out,
        quiet="-quiet" in words,
        keyval="-keyval" in words,
        pairs=pairs,
    )
    printed = gzip.decompress((golden / "expected" / f"{name}.txt.gz").read_bytes())
    assert out.getvalue() == after_settings(printed)


def test_every_golden_run_is_tested(shared: Path) -> None:
    lines = (shared / "golden" / "mirna" / "commands.tsv").read_text().splitlines()
    names = {line.split("\t")[0] for line in lines}
    assert names - set(GOLDEN_RUNS) == {n for n in names if n.startswith("bad_")}


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
