"""What the whole workflow gives, pinned: digests of the content of every result file.

    python tests/pinned_results.py write FILE.json [--tree CHECKOUT] [--folder FOLDER]
    python tests/pinned_results.py compare FILE.json [--tree CHECKOUT] [--folder FOLDER]

Makes small data (NumPy with a seed, nothing of pairtile), runs the workflow of CHECKOUT on it by
all five methods, and takes a digest of each part of each file: columns of Parquet, arrays of
``.npz`` and ``.h5ad``, keys of JSON, sections of a page. ``compare`` lists what differs from FILE,
apart for results and for text (pages, figures, notes, warnings), and exits 1 if a result differs.
Times, memory, versions, and fingerprints and checksums over them are left out; PNG and logs too.
FOLDER keeps the run; without it a temporary one is used and removed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
LETTERS = list("ACGU")
EXPORTS = ["tsv", "parquet", "graphml", "gexf", "sif", "cx2", "adjacency", "h5ad"]
EXPORTS += ["regulon", "html"]
RESIDUES = ("MET", "ALA", "GLY", "SER", "LYS", "TRP")
BACKBONE = {
    "N": (0, 0, 0),
    "CA": (1.2, 0.8, 0),
    "CB": (1.3, 1.6, 1.2),
    "CG": (2.1, 2.6, 1.6),
    "C": (2.4, 0, 0),
    "O": (2.5, -1.2, 0.1),
}
MOLECULE = {"method": "trajectory_correlation", "topology": "molecule.pdb"}
MOLECULE |= {"trajectories": ["run0.xyz", ["run1a.xyz", "run1b.xyz"]], "export": ["tsv"]}
MODES = {"method": "multimodal_correlation", "preprocess": {"log2": False}, "export": ["tsv"]}
ANALYSES: dict[str, dict[str, Any]] = {
    "mi_regulators": {
        "method": "mutual_information",
        "expression": "counts.tsv",
        "regulators": "regulators.txt",
        "gold_standard": "gold_standard.tsv",
        "preprocess": {"log2": True, "pseudocount": 1, "normalize": "cpm"},
        "score": "target_z",
        "null": {"permutations": 200000},
        "keep": {"fdr": 0.05},
        "dpi": {"tolerance": 0.1, "rule": "relative"},
        "bootstraps": {"number": 4, "alpha": 0.5, "correction": "bh"},
        "chunks": 2,
        "export": EXPORTS,
    },
    "mi_clr": {
        "method": "mutual_information",
        "expression": "counts.tsv",
        "estimator": {"bins": 6, "order": 2},
        "score": "clr",
        "keep": {"top_edges": 400},
        "dpi": {"tolerance": 0.02, "rule": "additive"},
        "chunks": 3,
        "export": ["tsv"],
    },
    "mi_values": {
        "method": "mutual_information",
        "expression": "modes.csv",
        "orientation": "samples_in_rows",
        "preprocess": {"log2": False, "normalize": "quantile"},
        "estimator": {"bins": 5, "order": 3, "knots": "uniform", "transform": "none"},
        "null": {"permutations": 100000},
        "keep": {"p_value": 0.001},
        "dpi": False,
        "export": ["tsv"],
    },
    "modes_mixtures": MODES
    | {
        "expression": "modes.csv",
        "orientation": "samples_in_rows",
        "estimator": {"max_clusters": 3, "min_samples": 15, "criterion": "bic"},
        "threshold": {"method": "score", "score": 0.7},
        "annotations": "samples.tsv",
        "conditions": [
            "treatment",
            {"name": "hours", "kind": "quantitative"},
            {"name": "stage", "kind": "ordinal", "levels": ["early", "middle", "late"]},
        ],
        "condition_networks": {"q_value": 0.05},
        "chunks": 2,
        "export": EXPORTS,
    },
    "modes_kinc": MODES
    | {
        "expression": "modes.csv",
        "orientation": "samples_in_rows",
        "compatibility": "kinc",
        "estimator": {"max_clusters": 2, "min_samples": 20},
        "threshold": {"method": "score", "score": 0.7},
        "power": False,
    },
    "modes_random_matrix": MODES
    | {
        "expression": "counts.tsv",
        "compatibility": "kinc",
        "preprocess": {"log2": True, "pseudocount": 1},
        "estimator": {"clustering": "none", "min_correlation": 0.2},
        "threshold": {"method": "rmt", "start": 0.9, "step": 0.005},
    },
    "modes_plain": MODES
    | {
        "expression": "counts.tsv",
        "gold_standard": "gold_standard.tsv",
        "preprocess": {"log2": True, "normalize": "median_ratio"},
        "estimator": {"clustering": "none", "correlation": "pearson", "min_correlation": 0.4},
        "threshold": {"method": "power_law", "fit": 0.5, "min_genes": 20},
        "modules": {"method": "link_communities", "resolution": 1.5},
        "chunks": 2,
    },
    "predictors_in_time": {
        "method": "predictor_pairs",
        "expression": "time_course.tsv",
        "series": "series.tsv",
        "regulators": "predictors.txt",
        "gold_standard": "gold_standard.tsv",
        "quantize": {"levels": 3, "rule": "kmeans"},
        "estimator": {"top": 5, "penalty": "no_obs"},
        "null": {"permutations": 60},
        "keep": {"p_value": 0.1},
        "chunks": 2,
        "export": ["tsv", "graphml"],
    },
    "predictors_of_levels": {
        "method": "predictor_pairs",
        "levels": "levels.tsv",
        "lag": 0,
        "estimator": {"cardinality": 3, "penalty": "poor_obs", "top": 3, "search": "exhaustive"},
        "null": {"permutations": 0},
        "export": ["tsv"],
    },
    "mirna": {
        "method": "mirna_targets",
        "mirnas": "mirnas.fa",
        "transcripts": "transcripts.fa",
        "genes": "genes.tsv",
        "annotation": "transcripts.bed",
        "estimator": {"score": 120, "energy": -5},
        "extras": {"duplex_energy": True, "accessibility": True},
        "chunks": 2,
        "export": ["tsv", "cx2"],
    },
    "mirna_strict": {
        "method": "mirna_targets",
        "mirnas": "mirnas.fa",
        "transcripts": "transcripts.fa",
        "restrict": "restrict.tsv",
        "gold_standard": "restrict.tsv",
        "estimator": {"score": 100, "strict": True, "energies": False, "trim": 90},
        "miranda_text": {"quiet": False, "keyval": True},
        "export": ["tsv"],
    },
    "motion_ksg": MOLECULE
    | {
        "estimator": {"kind": "ksg", "neighbours": 4, "surrogates": 8},
        "keep": {"p_value": 0.3},
        "contacts": {"cutoff": 6.0, "fraction": 0.5},
        "domains": {"HEAD": "resid 1-3", "TAIL": "resid 4-6"},
        "communities": ["leiden", "girvan_newman"],
        "paths": [["A:MET1", "A:TRP6"]],
        "g_correlation_text": True,
        "compare": "motion_ksg_later",
        "export": ["tsv", "html"],
    },
    "motion_ksg_later": MOLECULE
    | {
        "estimator": {"kind": "ksg", "neighbours": 4, "surrogates": 2},
        "frames": {"start": 5},
        "keep": {"p_value": 0.3},
    },
    "motion_gaussian": MOLECULE
    | {
        "estimator": {"kind": "gaussian", "corrected": True, "surrogates": 8},
        "reference": "average",
        "frames": {"start": 5, "step": 2},
        "keep": {"fdr": 0.5},
    },
    "motion_dcc": MOLECULE
    | {
        "estimator": {"kind": "dcc", "surrogates": 4},
        "select": "protein",
        "positions": "center_of_mass",
        "keep": {"correlation": 0.1},
    },
    "motion_dihedral": MOLECULE
    | {"estimator": {"kind": "dihedral", "surrogates": 4}, "keep": {"top_edges": 30}},
    "motion_bspline": {
        "method": "trajectory_correlation",
        "time_series": ["distances.tsv"],
        "estimator": {"kind": "bspline", "bins": 6, "surrogates": 4},
        "export": ["tsv"],
    },
    "motion_series": {
        "method": "trajectory_correlation",
        "time_series": ["series.npy"],
        "estimator": {"preset": "dynetan", "surrogates": 2},
        "keep": {"top_edges": 200},
        "chunks": 2,
        "export": ["tsv"],
    },
}


def write_table(path: Path, head: Sequence[Any], rows: Any, separator: str = "\t") -> None:
    lines = (separator.join(map(str, row)) for row in [head, *rows])
    path.write_text("".join(f"{line}\n" for line in lines))


# --- data ---------------------------------------------------------------------------------------


def write_inputs(folder: Path) -> None:
    """All input files, the same in every run."""
    draw = np.random.default_rng(20)
    write_expression(folder, draw)
    write_time_courses(folder, draw)
    write_sequences(folder, draw)
    write_molecule(folder, draw)


def write_expression(folder: Path, draw: np.random.Generator) -> None:
    """Counts of 1,060 genes (two tiles a side), and 280 genes of modules in two kinds of samples
    (two tiles of mixtures a side), with gaps; regulators, known edges, and what a sample is."""
    hidden = draw.normal(size=(20, 48))
    counts = np.empty((1060, 48), int)
    for gene in range(1060):
        mean = 5 + 1.2 * hidden[gene % 20] * (gene < 500) + 0.6 * draw.normal(size=48)
        counts[gene] = draw.poisson(np.exp2(mean))
    genes = [f"G{k:04d}" for k in range(1060)]
    rows = [[name, *row] for name, row in zip(genes, counts, strict=True)]
    write_table(folder / "counts.tsv", ["gene", *(f"S{k:02d}" for k in range(48))], rows)
    (folder / "regulators.txt").write_text("".join(f"G{k:04d}\n" for k in range(14)))
    edges = [(f"G{k % 20:04d}", f"G{k:04d}") for k in range(20, 280)]
    write_table(folder / "gold_standard.tsv", ["source", "target"], edges)

    treated = np.arange(70) % 2 == 1
    hidden = draw.normal(size=(14, 70))
    values = hidden[np.arange(280) % 14] * draw.choice([-1.0, 1.0], size=(280, 1))
    values[:, treated] += np.where(np.arange(280) % 3 == 0, 4.0, 0.0)[:, None]
    values += draw.normal(scale=0.5, size=values.shape) + 8
    cells = np.char.mod("%.4f", values)
    cells[draw.random(values.shape) < 0.01] = "NA"
    samples = [f"T{k:02d}" for k in range(70)]
    rows = [[name, *row] for name, row in zip(samples, cells.T, strict=True)]
    write_table(folder / "modes.csv", ["sample", *genes[:280]], rows, ",")
    treatments = np.where(treated, "yes", "no")
    stages = np.repeat(["early", "middle", "late"], 24)[:70]
    hours = np.char.mod("%.3f", hidden[0])
    known = zip(samples, treatments, hours, stages, strict=True)
    write_table(folder / "samples.tsv", ["sample", "treatment", "hours", "stage"], known)


def write_time_courses(folder: Path, draw: np.random.Generator) -> None:
    """Three series of 25 steps of 36 genes, half of them led by two others; and levels."""
    values = draw.normal(size=(36, 75))
    for gene in range(18, 36):
        led = values[gene - 18, :-1] * values[gene - 10, :-1]
        values[gene, 1:] = led + 0.3 * draw.normal(size=74)
    names, steps = [f"G{k:04d}" for k in range(36)], [f"t{k:02d}" for k in range(75)]
    rows = [[name, *np.char.mod("%.4f", row)] for name, row in zip(names, values, strict=True)]
    write_table(folder / "time_course.tsv", ["gene", *steps], rows)
    series = [(name, f"run{k // 25}") for k, name in enumerate(steps)]
    write_table(folder / "series.tsv", ["sample", "series"], series)
    (folder / "predictors.txt").write_text("".join(f"{name}\n" for name in names[:30]))
    levels = draw.integers(0, 2, (16, 60))
    levels[12:] = levels[:4] ^ (levels[4:8] & levels[8:12])
    rows = [[name, *row] for name, row in zip(names, levels, strict=False)]
    write_table(folder / "levels.tsv", ["gene", *steps[:60]], rows)


def write_sequences(folder: Path, draw: np.random.Generator) -> None:
    """12 miRNAs, 300 short transcripts (two tiles) with planted sites, their genes and places."""
    mirnas = ["".join(draw.choice(LETTERS, 22)) for _ in range(12)]
    opposite = str.maketrans("ACGU", "UGCA")
    fasta, genes, places = [], [], []
    for k in range(300):
        site = mirnas[k % 12][: 8 + k % 14][::-1].translate(opposite)
        letters = "".join(draw.choice(LETTERS, 50)) + site + "".join(draw.choice(LETTERS, 40))
        fasta.append(f">TR{k:03d} made\n{letters}\n")
        genes.append((f"TR{k:03d}", f"GENE{k // 2:03d}"))
        n, start = len(letters), 1000 * k
        strand, blocks = "+-"[k % 2], ("2", f"30,{n - 30}", "0,230")
        end = start + n + 200
        row = ("chr1", start, end, f"TR{k:03d}", 0, strand, start, end, 0, *blocks)
        places.append(row)
    (folder / "transcripts.fa").write_text("".join(fasta))
    (folder / "mirnas.fa").write_text("".join(f">mir-{k}\n{m}\n" for k, m in enumerate(mirnas)))
    write_table(folder / "genes.tsv", genes[0], genes[1:])
    write_table(folder / "transcripts.bed", places[0], places[1:290])
    pairs = [(f"mir-{k % 12}", f"TR{k:03d}") for k in range(0, 300, 5)]
    write_table(folder / "restrict.tsv", pairs[0], pairs[1:])


def write_molecule(folder: Path, draw: np.random.Generator) -> None:
    """Two chains of six residues as PDB, two replicas of 60 frames as XYZ, and time series."""
    lines, still = [], []
    for number in range(12):
        for name, place in BACKBONE.items():
            residue, chain = RESIDUES[number % 6], "AB"[number // 6]
            if name == "CG" and residue in ("ALA", "GLY"):
                continue
            x, y, z = np.add(place, (3.5 * (number % 6), 8.0 * (number // 6), 0.6 * (number % 2)))
            lines.append(
                f"ATOM  {len(lines) + 1:5d}  {name:<3s} {residue} {chain}{number % 6 + 1:4d}    "
                f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {name[0]:>2s}\n"
            )
            still.append((x, y, z))
    (folder / "molecule.pdb").write_text("".join([*lines, "END\n"]))
    for name, frames in (("run0", 60), ("run1a", 30), ("run1b", 30)):
        common = draw.normal(scale=0.4, size=(frames, 1, 3)).cumsum(0) * 0.3
        moved = np.array(still) + 0.3 * draw.normal(size=(frames, len(still), 3))
        moved[:, : len(still) // 3] += common
        text = []
        for frame in moved:
            text.append(f"{len(still)}\nframe\n")
            for line, (x, y, z) in zip(lines, frame, strict=True):
                text.append(f"{line[13]} {x:.4f} {y:.4f} {z:.4f}\n")
        (folder / f"{name}.xyz").write_text("".join(text))
    waves = draw.normal(size=(48, 270, 3)).cumsum(0)
    np.save(folder / "series.npy", waves + waves[:, :1])
    names = [f"d{k}" for k in range(20)]
    write_table(folder / "distances.tsv", names, np.char.mod("%.4f", waves[:, :20, 0]))


# --- digests ------------------------------------------------------------------------------------

Parts = dict[str, str]
TEXT_KEYS = {"notes", "warnings", "messages", "notes_by_step", "reason", "message"}
TEXT_KEYS |= {"done", "preparation"}
LEFT_OUT = {"versions", "pairtile_version", "fingerprint", "checksum", "device", "devices"}
LEFT_OUT |= {"peak_memory_bytes", "peak_gpu_memory_bytes", "estimated_seconds", "seconds", "run"}
LEFT_OUT |= {"stamp", "made_from", "after_seconds", "report.html"}  # the page holds times
TIMES = r"<h3>(Time and peak memory|Versions)</h3>.*?</table>|<(li|p)>Computed in [^<]*</\2>"
TIMES += r"|\(after [^<)]*\)(?=</li>)"
DATA = r'<script type="application/json" id="([^"]*)">(.*?)</script>'


class Normalised:
    """The parts of files as (is text, name, digest), without what may differ between runs."""

    def __init__(self, folder: Path, version: str) -> None:
        self.varying = {str(folder): "FOLDER", version: "VERSION"}

    def text(self, content: str) -> str:
        for found, put in self.varying.items():
            content = content.replace(found, put)
        return content if len(content) <= 60 else digest(content.encode())

    def parts(self, path: Path) -> Iterator[tuple[bool, str, str]]:
        if path.suffix == ".parquet":
            yield from self.parquet(pq.read_table(path), pq.read_metadata(path).metadata or {})
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                yield from ((False, name, of_array(arrays[name])) for name in arrays.files)
        elif path.suffix == ".npy":
            yield False, "", of_array(np.load(path, allow_pickle=False))
        elif path.suffix == ".h5ad":
            yield from self.h5ad(path)
        elif path.suffix == ".json":
            yield from self.json(json.loads(path.read_text()))
        elif path.suffix == ".html":
            yield from self.page(path.read_text())
        else:
            yield path.suffix == ".svg", "", self.text(path.read_text())

    def parquet(self, table: pa.Table, metadata: dict[bytes, bytes]) -> Iterator[Any]:
        yield False, "columns", self.text(str({f.name: str(f.type) for f in table.schema}))
        yield True, "descriptions", self.text(str({f.name: f.metadata for f in table.schema}))
        for name in table.column_names:
            column = pa.table([table[name].combine_chunks()], names=[name])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, column.schema) as stream:
                stream.write_table(column)
            yield False, f"column {name}", digest(sink.getvalue())
        for key, value in metadata.items():
            if key == b"pairtile":
                yield from self.json(json.loads(value), "header")
            elif key not in (b"ARROW:schema", b"pandas"):
                yield False, f"metadata {key.decode()}", self.text(value.decode())

    def h5ad(self, path: Path) -> Iterator[Any]:
        found: dict[str, str] = {}

        def visit(name: str, node: h5py.Group | h5py.Dataset) -> None:
            if isinstance(node, h5py.Dataset) and name.split("/")[-1] not in LEFT_OUT:
                values = np.asarray(node[()])
                as_text = values.dtype == object
                found[name] = self.text(str(values.tolist())) if as_text else of_array(values)
            found[f"{name} attributes"] = self.text(str(sorted(map(str, node.attrs.items()))))

        with h5py.File(path) as file:
            file.visititems(visit)
        return iter([(False, name, value) for name, value in found.items()])

    def json(self, value: Any, at: str = "", is_text: bool = False) -> Iterator[Any]:
        if isinstance(value, dict) and value:
            for key in set(value) - LEFT_OUT:
                here = f"{at}.{key}".lstrip(".")
                yield from self.json(value[key], here, is_text or key in TEXT_KEYS)
        elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
            for number, one in enumerate(value):
                yield from self.json(one, f"{at}[{number}]", is_text)
        else:
            yield is_text, at, self.text(json.dumps(value))

    def page(self, content: str) -> Iterator[Any]:
        """Data that a page holds are results; its sections are text."""
        for name, data in re.findall(DATA, content, re.S):
            yield False, f"data {name}", self.text(data)
        content = re.sub(TIMES, "", re.sub(DATA, "", content, flags=re.S), flags=re.S)
        pieces = re.split(r'<section id="([^"]*)"', content)
        for name, piece in zip(["head", *pieces[1::2]], pieces[::2], strict=True):
            yield True, f"section {name}", self.text(piece)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def of_array(values: np.ndarray) -> str:
    kind = f"{values.dtype.str} {values.shape} "
    return kind + digest(np.ascontiguousarray(values).tobytes())


# --- the run ------------------------------------------------------------------------------------


def run(tree: Path, folder: Path, analyses: dict[str, dict[str, Any]]) -> None:
    """Run the workflow of a checkout on the data, with the package of that checkout."""
    write_inputs(folder)
    config = {"backend": "cpu", "seed": 3, "analyses": analyses}
    (folder / "config.json").write_text(json.dumps(config))
    environment = os.environ | {"PYTHONPATH": str(tree / "workflow")}
    asked = [sys.executable, "-c", "import pairtile; print(pairtile.__file__)"]
    used = subprocess.check_output(asked, env=environment, cwd=folder, text=True).strip()
    if not Path(used).is_relative_to(tree):
        raise SystemExit(f"pairtile would be taken from {used}; expected one in {tree}")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(tree / "workflow/Snakefile")]
    command += ["--cores", "2", "--configfile", "config.json", "--directory", str(folder)]
    with (folder / "snakemake.log").open("w") as log:
        done = subprocess.run(command, env=environment, cwd=folder, stdout=log, stderr=log)
    if done.returncode:
        text = (folder / "snakemake.log").read_text()
        raise SystemExit(f"{text[-8000:]}\nthe workflow ended with {done.returncode}")


def record(folder: Path) -> dict[str, dict[str, Parts]]:
    """``results`` and ``text``: file -> part -> digest (or the value itself, where short)."""
    found: dict[str, dict[str, Parts]] = {"results": {}, "text": {}}
    results = folder / "results"
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        name = str(path.relative_to(results))
        of_all = path.parent == results
        if of_all or path.suffix == ".png" or "logs" in path.parts or path.name.startswith("."):
            continue
        summary = json.loads((results / name.split("/")[0] / "summary.json").read_text())
        for is_text, part, value in Normalised(folder, summary["pairtile_version"]).parts(path):
            found["text" if is_text else "results"].setdefault(name, {})[part] = value
    return found


def differences(old: dict[str, Parts], new: dict[str, Parts]) -> Iterator[str]:
    """A line for each file that is missing, new, or differs, with up to eight of its parts."""
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before is None:
            yield f"{name}: new"
            continue
        if after is None:
            same = [other for other in new if other not in old and new[other] == before]
            yield f"{name}: missing" + f"; same content as new {same}" * bool(same)
            continue
        differ = [
            f"{part or 'content'} ({before.get(part, '')[:60]} -> {after.get(part, '')[:60]})"
            for part in sorted({*before, *after})
            if before.get(part) != after.get(part)
        ]
        if differ:
            yield f"{name}: {'; '.join(differ[:8])}" + f"; ... {len(differ)}" * (len(differ) > 8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to run")
    parser.add_argument("--folder", type=Path, help="a new folder to run in and keep")
    parser.add_argument("--method", action="append", help="only analyses of this method")
    given = parser.parse_args()
    chosen = {k: v for k, v in ANALYSES.items() if v["method"] in (given.method or [v["method"]])}
    with tempfile.TemporaryDirectory(prefix="pinned-") as temporary:
        folder = given.folder.resolve() if given.folder else Path(temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        run(given.tree.resolve(), folder, chosen)
        found = record(folder)
    if given.what == "write":
        given.file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        return 0
    pinned = {
        group: {name: parts for name, parts in files.items() if name.split("/")[0] in chosen}
        for group, files in json.loads(given.file.read_text()).items()
    }
    lines = {group: list(differences(pinned[group], found[group])) for group in found}
    for group, listed in lines.items():
        print(f"{group}: {len(listed)} of {len(pinned[group])} files differ", *listed, sep="\n  ")
    return 1 if lines["results"] else 0


if __name__ == "__main__":
    sys.exit(main())
