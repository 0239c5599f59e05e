"""Set up other programs and run them beside pairtile on the same input, one core each.

    python -m benchmarks.peers             # agreement and time, into docs/comparison.md
    python -m benchmarks.peers --golden    # what they give on small input, into tests/golden/

Their packages go into environments of their own in ``.peers``; pip fetches what is missing there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import venv
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pairtile
import pandas as pd

from benchmarks.machine import write
from benchmarks.peers import ours
from benchmarks.peers.inputs import LARGE, SMALL, checksums, make
from benchmarks.peers.programs import rows

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".peers"
GOLDEN = ROOT / "tests/golden"
PAGE = ROOT / "docs/comparison.md"
BEGIN, END = "<!-- table: make compare-peers -->", "<!-- end of table -->"
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


SAME = 1e-12
"""Numbers that differ by no more are called the same."""


class Peer(NamedTuple):
    """A function of ``programs.py`` and of ``ours.py``, and what has to be installed for it."""

    method: str
    what: str
    requirements: tuple[str, ...]
    agreement: str = "largest difference"


PEERS = {
    "binned_mi": Peer(
        "mutual_information", "MI of 6 bins of ranks, order 1, all pairs", ("scikit-learn==1.9.1",)
    ),
    "genie3": Peer(
        "mutual_information", "network: GENIE3", ("arboreto==0.1.6", "pandas<4"), "AUPR"
    ),
    "grnboost2": Peer(
        "mutual_information", "network: GRNBoost2", ("arboreto==0.1.6", "pandas<4"), "AUPR"
    ),
    "conditional_entropy": Peer(
        "predictor_pairs", "best pair of each target, and its ties", ("pyitlib==0.3.1",)
    ),
    "alignment": Peer(
        "mirna_targets", "best score of each miRNA and transcript, no gaps", ("biopython==1.88",)
    ),
    "mixtures": Peer(
        "multimodal_correlation", "modes of pairs by BIC", ("scikit-learn==1.9.1",), "same modes"
    ),
    "power": Peer("multimodal_correlation", "power of correlation tests", ("pingouin==0.7.0",)),
    "nearest_neighbours": Peer(
        "trajectory_correlation", "KSG in three dimensions", ("normi==0.3.0",)
    ),
}


def python_with(requirements: tuple[str, ...]) -> Path:
    """The Python of an environment with these packages; makes it where it is missing."""
    folder = ENVIRONMENTS / requirements[0]
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        (folder / "complete").touch()
    return python


def theirs(name: str, folder: Path) -> dict[str, Any]:
    """What the other program says, in a process of its own."""
    program = Path(__file__).with_name("programs.py")
    done = subprocess.run(
        [python_with(PEERS[name].requirements), program, name, folder],
        env=os.environ | ONE_CORE,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def aupr(edges: list[list[Any]], folder: Path) -> float:
    """Of a ranking, against the simulated network."""
    ranking = pd.DataFrame(edges, columns=["source", "target", "score"])
    gold = pd.read_csv(folder / "gold.tsv", sep="\t", names=["source", "target"])
    genes = rows(folder, "expression.tsv")[0]
    regulators = (folder / "regulators.txt").read_text().split()
    return float(pairtile.evaluate(ranking, gold, genes=genes, regulators=regulators)["aupr"])


def compared(name: str, folder: Path) -> dict[str, Any]:
    """One program beside pairtile: seconds of both, agreement."""
    peer = PEERS[name]
    other = theirs(name, folder)
    function = getattr(ours, name)
    function(folder)  # compiles
    start = time.perf_counter()
    mine = function(folder)
    seconds = time.perf_counter() - start
    result = other.pop("results")
    entry = {"method": peer.method, "what": peer.what, **other, "pairtile_seconds": seconds}
    entry["times_faster"] = other["seconds"] / seconds
    if peer.agreement == "AUPR":
        return entry | {"aupr": aupr(result, folder), "pairtile_aupr": aupr(mine, folder)}
    if peer.agreement == "same modes":
        same = [a == b for a, b in zip(mine, result, strict=True)]
        return entry | {"same_modes": sum(same), "pairs": len(same)}
    difference = np.abs(np.asarray(mine) - np.asarray(result)).max()
    return entry | {"largest_difference": float(difference)}


def shown(seconds: float) -> str:
    """Two digits, or whole seconds."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = ["| what | program | its time | pairtile's | agreement |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for found in results.values():
        if "aupr" in found:
            agreement = f"AUPR {found['aupr']:.2f}, pairtile {found['pairtile_aupr']:.2f}"
        elif "same_modes" in found:
            agreement = f"{found['same_modes']} of {found['pairs']} pairs the same"
        elif found["largest_difference"] <= SAME:
            agreement = "the same"
        else:
            agreement = f"differs by {found['largest_difference']:.1e}"
        cells = (
            f"`{found['method']}`: {found['what']}",
            f"`{found['program']}` {found['version']}",
            shown(found["seconds"]),
            shown(found["pairtile_seconds"]),
            agreement,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def compare(names: list[str]) -> None:
    """Print the table; write the figures and the page, where all programs were run."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make(folder, LARGE)
        results = {name: compared(name, folder) for name in names}
    print(table(results))
    if len(names) == len(PEERS):
        path = write("peers", "cpu", {"sizes": LARGE._asdict(), "programs": results})
        head, _, rest = PAGE.read_text().partition(BEGIN)
        intro = f"From `{path.name}`:\n\n{table(results)}"
        PAGE.write_text(f"{head}{BEGIN}\n\n{intro}\n\n{END}{rest.partition(END)[2]}")


def record(names: list[str]) -> None:
    """Write what the programs give on the small input."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make(folder, SMALL)
        inputs = checksums(folder)
        for name in names:
            found = theirs(name, folder)
            if PEERS[name].agreement != "AUPR":
                found = {key: found[key] for key in ("program", "version", "call", "results")}
                text = json.dumps(found | {"inputs": inputs}, indent=1)
                (GOLDEN / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PEERS)} (default: all)")
    parser.add_argument("--golden", action="store_true", help="write tests/golden/")
    given = parser.parse_args()
    if unknown := set(given.names) - set(PEERS):
        parser.error(f"found {', '.join(sorted(unknown))}; expected some of {', '.join(PEERS)}")
    os.environ.update(ONE_CORE)
    warnings.simplefilter("ignore")
    (record if given.golden else compare)(given.names or list(PEERS))
