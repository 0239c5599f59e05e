"""Random sequences with planted sites, and analyses of them by ``mirna_targets``."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

from workflow_runs import Analysis

Sequences = dict[str, str]


def random_sequences(seed: int = 5) -> tuple[Sequences, Sequences]:
    """Eight miRNAs, and ten transcripts with a site of some miRNA in each, also at both ends."""
    draw = random.Random(seed)
    mirnas = {f"mir-{k}": "".join(draw.choices("ACGU", k=20 + k % 4)) for k in range(8)}
    transcripts = {}
    for k in range(10):
        site = mirnas[f"mir-{k % 8}"][1:18][::-1].translate(str.maketrans("ACGU", "TGCA"))
        letters = "".join(draw.choices("ACGTN", weights=[9, 9, 9, 9, 1], k=draw.randint(50, 300)))
        at = (0, len(letters), 30)[k % 3]
        transcripts[f"tr-{k}"] = letters[:at] + site + letters[at:]
    return mirnas, transcripts


def write_fasta(path: Path, sequences: Sequences) -> Path:
    text = "".join(f">{name} a header\n{letters}\n" for name, letters in sequences.items())
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def of_workflow(folder: Path, **changes: Any) -> Path:
    """The folder of an analysis of ``random_sequences`` by the workflow's steps."""
    mirnas, transcripts = random_sequences()
    write_fasta(folder / "mirnas.fa", mirnas)
    write_fasta(folder / "transcripts.fa", transcripts)
    base = {"method": "mirna_targets", "mirnas": "mirnas.fa", "transcripts": "transcripts.fa"}
    return Analysis(folder, base | {"export": ["tsv"]} | changes).all().out


def write_random(folder: Path, mirnas: int = 6, transcripts: int = 9) -> None:
    """Random sequences, with a site of every miRNA planted into some transcript."""
    draw = random.Random(3)
    small = {f"mir-{k}": "".join(draw.choices("ACGU", k=22)) for k in range(mirnas)}
    large = {}
    for k in range(transcripts):
        letters = "".join(draw.choices("ACGT", k=draw.randint(80, 400)))
        site = small[f"mir-{k % mirnas}"][1:20]
        site = site[::-1].translate(str.maketrans("ACGU", "TGCA"))
        large[f"tr-{k}"] = letters[:40] + site + "A" + letters[40:]
    write_fasta(folder / "mirnas.fa", small)
    write_fasta(folder / "transcripts.fa", large)


def plain(**changes: Any) -> dict[str, Any]:
    base = {"method": "mirna_targets", "mirnas": "mirnas.fa", "transcripts": "transcripts.fa"}
    return base | {"export": ["tsv"]} | changes
