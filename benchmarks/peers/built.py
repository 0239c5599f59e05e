"""What programs that are built from source give on simulated input, into ``tests/golden/built``.

    python -m benchmarks.peers.built miranda PROGRAM
    python -m benchmarks.peers.built kinc PROGRAM
    python -m benchmarks.peers.built kinc_round_trip PROGRAM

PROGRAM is miRanda 3.3a or KINC 3.4.2, which no package index has. Recorded are numbers: of miRanda
each hit's positions, score and energy, of KINC each mode's samples and correlation. The round trip
has KINC read pairtile's modes, into ``results/kinc_round_trip.DEVICE.json``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import subprocess
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pairtile
import pandas as pd
from pairtile.simulate import simulate_kinetic, simulate_modes

from benchmarks.machine import write
from benchmarks.peers.inputs import checksums

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden/built"

MIRANDA_RUNS = {
    "default": "mirnas.fa transcripts.fa",
    "quiet": "mirnas.fa transcripts.fa -quiet",
    "keyval": "mirnas.fa transcripts.fa -quiet -keyval",
    "no_energy": "mirnas.fa transcripts.fa -quiet -noenergy",
    "keyval_no_energy": "mirnas.fa transcripts.fa -keyval -noenergy",
    "strict": "mirnas.fa transcripts.fa -quiet -strict",
    "energy": "mirnas.fa transcripts.fa -quiet -sc 90 -en -12",
    "gaps": "mirnas.fa transcripts.fa -quiet -noenergy -go -4 -ge -2",
    "scale": "mirnas.fa transcripts.fa -quiet -noenergy -scale 1 -sc 60",
    "trim": "mirnas.fa transcripts.fa -quiet -trim 50",
    "restrict": "mirnas.fa transcripts.fa -quiet -restrict pairs.tsv",
    "short": "short.fa transcripts.fa -quiet -sc 80",
    "any_letter": "mirnas.fa any_letter.fa -quiet",
    "any_letter_low": "mirnas.fa any_letter.fa -quiet -sc 100",
    "long": "mirnas.fa long.fa -quiet",
    "line_ends": "mirnas.fa line_ends.fa",
    "no_records": "mirnas.fa no_records.fa",
}
"""miRanda's command lines: every option, both forms of text, awkward files."""

HIT = re.compile(
    r"Forward:\tScore: (\S+)  Q:(\d+) to (\d+)  R:(\d+) to (\d+) "
    r"Align Len \((\d+)\) \((\S+)%\) \((\S+)%\)"
)
ENERGY = re.compile(r"Energy:  (\S+) kCal/Mol")
HIT_COLUMNS = (
    *("run", "mirna", "transcript", "score", "energy", "query_start", "query_end"),
    *("reference_start", "reference_end", "length", "identity", "similarity"),
)


def write_sequences(folder: Path, seed: int = 36) -> None:
    """Write the files of ``MIRANDA_RUNS``: random miRNAs; transcripts with sites that are whole, or
    have changed letters, a bulge or a gap, anywhere up to the very ends; letters of every code."""
    draw = random.Random(seed)
    mirnas = ["".join(draw.choices("ACGU", k=k)) for k in (18, 20, 21, 21, 22, 22, 22, 23, 25)]
    opposite = str.maketrans("ACGU", "UGCA")
    transcripts = []
    for number in range(24):
        letters = draw.choices("ACGU", k=draw.randint(30, 500))
        for _ in range(draw.randint(1, 3)):
            site = list(draw.choice(mirnas)[::-1].translate(opposite))
            for _ in range(draw.randint(0, 4)):
                site[draw.randrange(len(site) - 7)] = draw.choice("ACGU")
            kind = draw.randrange(4)
            if kind == 1:
                site.insert(draw.randint(4, 14), draw.choice("ACGU"))
            elif kind == 2:
                del site[draw.randint(4, 12)]
            at = draw.choice((0, len(letters), draw.randrange(len(letters))))
            letters[at:at] = site
        text = "".join(letters)
        transcripts.append(text.replace("U", "T") if number % 5 == 4 else text)
    records = {
        "mirnas": mirnas,
        "short": ["".join(draw.choices("ACGU", k=k)) for k in (1, 2, 3, 4, 7, 8, 9, 10, 12)],
        "transcripts": transcripts,
        "any_letter": [_with_any_letter(draw, text) for text in transcripts],
        "long": ["".join(draw.choices("ACGU", k=3000)).join(transcripts[:4])],
    }
    for name, texts in records.items():
        lines = (f">{name[:3]}{number} made by seed\n{text}\n" for number, text in enumerate(texts))
        (folder / f"{name}.fa").write_text("".join(lines))
    (folder / "line_ends.fa").write_bytes(
        "\r\n".join([">first", transcripts[0], ">second", transcripts[1]]).encode()
    )
    (folder / "no_records.fa").write_text("")
    pairs = [(i, j) for i in range(len(mirnas)) for j in range(i % 2, len(transcripts), 2)]
    (folder / "pairs.tsv").write_text("".join(f"mir{i}\ttra{j}\n" for i, j in pairs))


def _with_any_letter(draw: random.Random, text: str) -> str:
    """Some letters become IUPAC codes, some lower case."""
    codes = "NRYKMSWBDHVX"
    letters = [draw.choice(codes) if draw.random() < 0.03 else letter for letter in text]
    return "".join(letter.lower() if draw.random() < 0.3 else letter for letter in letters)


def after_settings(text: str) -> str:
    """What miRanda prints after the fourth rule line, which ends its settings."""
    lines = text.splitlines(keepends=True)
    rules = [number for number, line in enumerate(lines) if "=-=-" in line]
    return "".join(lines[rules[3] + 1 :])


def hits_of(text: str) -> list[str]:
    """The numbers of each hit, tab-separated: names, score, energy and the rest as printed."""
    rows = []
    for block in text.split("   Forward:")[1:]:
        numbers = HIT.match("Forward:" + block)
        names = re.search(r"^>([^>\t]+)\t([^\t]+)\t", block, re.MULTILINE)
        assert numbers
        assert names
        energy = ENERGY.search(block)
        score, *rest = numbers.groups()
        rows.append("\t".join([names[1], names[2], score, energy[1] if energy else "", *rest]))
    return rows


def record_miranda(program: str) -> None:
    """Write ``miranda.json``, the checksum of each run's text, and ``miranda_hits.tsv.gz``."""
    runs, hits = {}, ["\t".join(HIT_COLUMNS)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_sequences(folder)
        for name, arguments in MIRANDA_RUNS.items():
            command = [program, *arguments.split()]
            printed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
            text = after_settings(printed.decode())
            found = hits_of(text)
            hits += [f"{name}\t{row}" for row in found]
            runs[name] = {
                "arguments": arguments,
                "hits": text.count("//hit_info") or len(found),
                "bytes": len(text),
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
        content = {"program": "miRanda", "version": "3.3a", "runs": runs}
        content |= {"inputs": checksums(folder)}
    (GOLDEN / "miranda.json").write_text(json.dumps(content, indent=1) + "\n")
    write_gz(GOLDEN / "miranda_hits.tsv.gz", hits)


KINC_RUNS = {
    "icl_spearman": "--clusmethod gmm --corrmethod spearman --minsamp 25 --mincorr 0",
    "bic_pearson": "--clusmethod gmm --corrmethod pearson --minsamp 25 --mincorr 0 --crit BIC",
    "defaults": "--clusmethod gmm",
    "none_pearson": "--clusmethod none --corrmethod pearson --minsamp 25 --mincorr 0",
    "none_spearman": "--clusmethod none --corrmethod spearman --minsamp 25 --mincorr 0",
}
"""Options of ``kinc run similarity``."""

KINC_COLUMNS = ("run", "x", "y", "cluster", "n_clusters", "n_samples", "correlation", "samples")


def write_expression(folder: Path) -> None:
    """Write ``expression.txt``: pairs of genes with one, two and three planted modes, some values
    missing, then genes of a network; a sample far from all others; no header of the genes."""
    made = [
        simulate_modes(5, 90, modes, separation=5.0, missing=0.02, seed=36 + modes)
        for modes in (1, 2, 3)
    ]
    network = simulate_kinetic(14, 90, 4, seed=36)
    values = np.vstack([*(each.values + 8.0 for each in made), np.log2(1.0 + network.values)])
    values[::4, 7] += 12.0
    genes = [f"{modes}modes_{gene}" for modes, each in enumerate(made, 1) for gene in each.genes]
    genes += network.genes
    lines = ["\t".join(made[0].samples)]
    for name, row in zip(genes, values.tolist(), strict=True):
        lines.append("\t".join([name, *("NA" if v != v else f"{v:.4f}" for v in row)]))
    (folder / "expression.txt").write_text("".join(f"{line}\n" for line in lines))


def kinc(program: str, folder: Path, *analytics: str) -> None:
    """Run them there, by the processor."""
    calls = [f"settings set {setting}" for setting in ("cuda none", "opencl none", "logging off")]
    calls += [f"run {analytic}" for analytic in analytics]
    for call in calls:
        subprocess.run([program, *call.split()], cwd=folder, check=True)


def record_kinc(program: str) -> None:
    """Write ``kinc.json`` and ``kinc_modes.tsv.gz``, the modes of each pair that KINC keeps."""
    rows = ["\t".join(KINC_COLUMNS)]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_expression(folder)
        runs: dict[str, dict[str, str | int]] = {}
        content = {"program": "KINC", "version": "3.4.2", "runs": runs}
        content |= {"inputs": checksums(folder)}
        kinc(program, folder, "import-emx --input expression.txt --output a.emx --nan NA")
        for name, options in KINC_RUNS.items():
            matrices = f"--ccm {name}.ccm --cmx {name}.cmx"
            kinc(program, folder, f"similarity --input a.emx {matrices} {options}")
            kinc(program, folder, f"export-cmx --emx a.emx {matrices} --output {name}.txt")
            lines = (folder / f"{name}.txt").read_text().splitlines()
            rows += [f"{name}\t{line}" for line in lines]
            runs[name] = {"options": options, "modes": len(lines)}
    (GOLDEN / "kinc.json").write_text(json.dumps(content, indent=1) + "\n")
    write_gz(GOLDEN / "kinc_modes.tsv.gz", rows)


def kinc_round_trip(program: str) -> None:
    """Write ``results/kinc_round_trip.DEVICE.json``: what KINC gives back of pairtile's modes.

    ``import-cmx`` numbers the genes and keeps samples only of pairs of several modes: of a pair of
    one, all that are not missing count as members again, and ``extract --format text`` crashes.
    That text is compared for pairs of several, and for all as ``similarity`` found them (``own``).
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_expression(folder)
        modes = pairtile.multimodal_correlation(
            pd.read_csv(folder / "expression.txt", sep="\t", index_col=0),
            compatibility="kinc",
            min_samples=25,
            min_correlation=0.0,
            preprocess={"log2": False, "normalize": "none", "sample_scale": False},
            backend="cpu",
        )
        modes.write_kinc(folder, "all")
        modes.network("none", power=False, modules=False)  # writes KINC's texts of all modes
        text, minimal = (_lines(modes.run.folder / f"kinc{of}.txt") for of in ("", "_minimal"))
        written = _lines(folder / "all.cmx.txt")
        several = [line for line in written if line[3] != "1"]
        (folder / "several.cmx.txt").write_text("".join("\t".join(x) + "\n" for x in several))
        size = f"--genes {len(modes.labels)} --samples {len(modes.samples)} --maxclusters 5"
        made = f"import-cmx {size} --corrname spearman --input"
        network = "extract --emx a.emx --mincorr 0 --format"
        kinc(
            *(program, folder, "import-emx --input all.emx.txt --output a.emx --nan NaN"),
            f"{made} all.cmx.txt --ccm all.ccm --cmx all.cmx",
            f"{made} several.cmx.txt --ccm several.ccm --cmx several.cmx",
            f"similarity --input a.emx --ccm own.ccm --cmx own.cmx {KINC_RUNS['icl_spearman']}",
            "export-cmx --emx a.emx --ccm all.ccm --cmx all.cmx --output again.txt",
            f"{network} minimal --cmx all.cmx --output all.txt",
            f"{network} text --ccm several.ccm --cmx several.cmx --output several.txt",
            f"{network} text --ccm own.ccm --cmx own.cmx --output own.txt",
        )
        again = _lines(folder / "again.txt")
        found = {name: _lines(folder / f"{name}.txt") for name in ("all", "several", "own")}
    columns = [minimal[0], found["all"][0]]
    for lines in (text, minimal, *found.values()):
        del lines[0]
    pairs = {(*(str(modes.labels[int(gene)]) for gene in line[:2]),) for line in several}
    for line in (*found["all"], *found["several"]):
        line[:2] = (str(modes.labels[int(gene)]) for gene in line[:2])
    text_of_several = [line for line in text if (*line[:2],) in pairs]
    full = [[*line[:6], re.sub("[0678]", "1", line[6])] for line in written]
    full = [[*line[:4], str(line[6].count("1")), *line[5:]] for line in full]
    members = [own if own[3] != "1" else one for own, one in zip(written, full, strict=True)]
    several_again = [line for line in again if line[3] != "1"]
    results = {
        "program": "KINC 3.4.2",
        "exported again": _compared(written, again, 5),
        "exported again, pairs of several modes": _compared(several, several_again, 5),
        "exported again, outliers of pairs of one mode as members": _compared(members, again, 5),
        "network as text, pairs of several modes": _compared(text_of_several, found["several"], 2),
        "network as text, KINC's own modes": _compared(text, found["own"], 2),
        "network as minimal": _compared(minimal, found["all"], 2),
        "columns of minimal, ours and KINC's": [" ".join(x) for x in columns],
    }
    write("kinc_round_trip", "cpu", results)


def _lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def _compared(ours: list[list[str]], theirs: list[list[str]], r: int) -> dict[str, Any]:
    """Lines, those equal (text to the byte, the correlation in field ``r`` to 1e-5), an example."""

    def equal(own: list[str], back: list[str]) -> bool:
        texts = [line[:r] + line[r + 1 :] for line in (own, back)]
        return texts[0] == texts[1] and abs(float(own[r]) - float(back[r])) <= 1e-5

    none: list[str] = []
    both = [*zip_longest(ours, theirs, fillvalue=none)]
    differ = [lines for lines in both if not equal(*lines)]
    results: dict[str, Any] = {"lines": len(both), "equal": len(both) - len(differ)}
    if differ:
        results["example, ours and KINC's"] = [" ".join(line) for line in differ[0]]
    return results


def write_gz(path: Path, lines: list[str]) -> None:
    """The same bytes each time."""
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


PROGRAMS = {"miranda": record_miranda, "kinc": record_kinc, "kinc_round_trip": kinc_round_trip}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*PROGRAMS])
    parser.add_argument("program", help="its path")
    given = parser.parse_args()
    PROGRAMS[given.what](given.program)
