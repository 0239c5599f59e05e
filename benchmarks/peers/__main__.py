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
import venv
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pairtile
import pandas as pd

from benchmarks.machine import results_path, write
from benchmarks.peers import ours
from benchmarks.peers.inputs import LARGE, MANY_GENES, SMALL, Sizes, checksums, make
from benchmarks.peers.programs import best_of_three, rows

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".peers"
GOLDEN = ROOT / "tests/golden"
PAGE = ROOT / "docs/comparison.md"
BEGIN, END = "<!-- table: make compare-peers -->", "<!-- end of table -->"
ONE_CORE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


SAME = 1e-12
"""Numbers that differ by no more are called the same."""

SAME_IN_SINGLE = 1e-7
"""Of correlations and entropies where one of the programs has single precision."""


class Peer(NamedTuple):
    """A function of ``programs.py`` and of ``ours.py``, and what has to be installed for it: from
    the Python Package Index, and a program of Debian's; what follows a ``-`` in its name tells
    apart the same function on input of other sizes."""

    method: str
    what: str
    requirements: tuple[str, ...]
    agreement: str = "largest difference"
    program: str = ""
    sizes: Sizes = LARGE


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
    "portia": Peer("mutual_information", "network: PORTIA", ("portia-grn==0.0.21",), "AUPR"),
    "scenic_rs": Peer(
        "mutual_information",
        "network: GRNBoost2 in Rust",
        ("scenic-rs==0.3.0", "pandas"),
        "AUPR",
    ),
    "rustscenic": Peer(
        "mutual_information", "network: GRNBoost2 in Rust", ("rustscenic==0.5.1",), "AUPR"
    ),
    "rustscenic-500": Peer(
        "mutual_information",
        "the same, 500 genes x 500",
        ("rustscenic==0.5.1",),
        "AUPR",
        sizes=MANY_GENES,
    ),
    "scenic_rs-500": Peer(
        "mutual_information",
        "the same, 500 genes x 500",
        ("scenic-rs==0.3.0", "pandas"),
        "AUPR",
        sizes=MANY_GENES,
    ),
    "signifikante": Peer(
        "mutual_information",
        "edges at a false discovery rate of 0.05",
        ("signifikante==0.2.0",),
        "direct edges",
    ),
    "spline_mi": Peer("mutual_information", "MI by B-splines, all pairs", ("widestats==0.1.1",)),
    "correlated_pairs": Peer(
        "multimodal_correlation", "pairs by Pearson's correlation", ("widestats==0.1.1",)
    ),
    "corals": Peer("multimodal_correlation", "pairs by Pearson's correlation", ("corals==0.1.7",)),
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
    "rnahybrid": Peer(
        "mirna_targets", "energy of the best site", ("numpy",), "planted sites", "RNAhybrid"
    ),
    "risearch": Peer(
        "mirna_targets",
        "energy of the best site",
        ("risearch-tauso==1.6.2", "numpy"),
        "planted sites",
    ),
    "nearest_neighbours": Peer(
        "trajectory_correlation", "KSG in three dimensions", ("normi==0.3.0",)
    ),
    "dynetan": Peer("trajectory_correlation", "KSG 2 in three dimensions", ("dynetan==2.7.0",)),
    "mdigest": Peer(
        "trajectory_correlation", "KSG 1 in three dimensions", ("mdigest==0.1.9", "scikit-learn")
    ),
}


WITHOUT_OURS = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def python_with(requirements: tuple[str, ...]) -> Path:
    """The Python of an environment with these packages; makes it where it is missing."""
    folder = ENVIRONMENTS / requirements[0]
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", *requirements]
        subprocess.run(install, env=WITHOUT_OURS, check=True)
        (folder / "complete").touch()
    return python


def theirs(name: str, folder: Path) -> dict[str, Any]:
    """What the other program says, in a process of its own."""
    program = Path(__file__).with_name("programs.py")
    done = subprocess.run(
        [python_with(PEERS[name].requirements), program, name.partition("-")[0], folder],
        env=WITHOUT_OURS | ONE_CORE,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def network_agreement(edges: list[list[Any]], folder: Path) -> float:
    """AUPR of a ranking of edges, against the simulated network."""
    ranking = pd.DataFrame(edges, columns=["source", "target", "score"])
    genes = rows(folder, "expression.tsv")[0]
    regulators = (folder / "regulators.txt").read_text().split()
    return float(
        pairtile.evaluate(ranking, gold(folder), genes=genes, regulators=regulators)["aupr"]
    )


def gold(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "gold.tsv", sep="\t", names=["source", "target"])


def direct_edges(edges: list[list[Any]], folder: Path) -> dict[str, int]:
    """How many edges there are, and how many of them the simulated network has; others may be
    indirect."""
    true = set(gold(folder).itertuples(index=False, name=None))
    return {"edges": len(edges), "direct": sum((a, b) in true for a, b, _ in edges)}


def planted_first(energies: list[list[float]]) -> int:
    """Transcripts on which the miRNA whose site was planted has the least energy of all."""
    found = np.asarray(energies)
    number = np.arange(found.shape[1])
    return int((found.argmin(axis=0) == number % len(found)).sum())


def compared(name: str, scratch: Path) -> dict[str, Any]:
    """One program beside pairtile: seconds of the processor of both, agreement."""
    peer = PEERS[name]
    folder = scratch / str(peer.sizes.genes)
    if not folder.exists():
        make(folder, peer.sizes)
    entry = {"method": peer.method, "what": peer.what}
    try:
        other = theirs(name, folder)
    except (OSError, subprocess.CalledProcessError) as error:
        program, _, version = (peer.program or peer.requirements[0]).partition("==")
        return entry | {"program": program, "version": version, "error": f"did not run: {error}"}
    function = getattr(ours, name.partition("-")[0])
    function(folder)  # compiles
    mine, seconds = best_of_three(lambda: function(folder))
    result = other.pop("results")
    entry |= other | {"pairtile_seconds": seconds, "seconds_of": "the processor"}
    entry["times_faster"] = other["seconds"] / seconds
    if peer.agreement == "AUPR":
        values = network_agreement(result, folder), network_agreement(mine, folder)
        return entry | {"aupr": values[0], "pairtile_aupr": values[1]}
    if peer.agreement == "direct edges":
        return entry | {
            "found": direct_edges(result, folder),
            "pairtile_found": direct_edges(mine, folder),
        }
    if peer.agreement == "planted sites":
        return entry | {
            "planted_first": planted_first(result),
            "pairtile_planted_first": planted_first(mine),
            "transcripts": len(mine[0]),
        }
    if peer.agreement == "same modes":
        same = [a == b for a, b in zip(mine, result, strict=True)]
        return entry | {"same_modes": sum(same), "pairs": len(same)}
    difference = np.abs(np.asarray(mine) - np.asarray(result)).max()
    return entry | {"largest_difference": float(difference)}


def shown(seconds: float) -> str:
    """Two digits, or whole seconds."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def table(results: dict[str, dict[str, Any]]) -> str:
    """The results as Markdown, with pairtile's time on two threads where that was measured."""
    times = ["seconds", "pairtile_seconds", "two_threads_seconds"]
    if not any(times[-1] in found for found in results.values()):
        del times[-1]
    heads = ["what", "program", "its time", "pairtile's", "two threads"][: 2 + len(times)]
    heads += ["ratio", "agreement"]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for found in results.values():
        if "error" in found:
            lines.append(
                f"| `{found['method']}`: {found['what']} | `{found['program']}` {found['version']} "
                f"{'| ' * len(times)}| | {found['error']} |"
            )
            continue
        clock = "" if "seconds_of" in found else " (clock)"  # of an older version of this script
        if "aupr" in found:
            agreement = f"AUPR {found['aupr']:.2f}, pairtile {found['pairtile_aupr']:.2f}"
        elif "found" in found:
            edges, mine = found["found"], found["pairtile_found"]
            agreement = (
                f"{edges['edges']} edges, {edges['direct']} of them direct; "
                f"pairtile {mine['edges']}, {mine['direct']}"
            )
        elif "planted_first" in found:
            agreement = (
                f"planted miRNA first on {found['planted_first']} of {found['transcripts']}; "
                f"pairtile {found['pairtile_planted_first']}"
            )
        elif "same_modes" in found:
            agreement = f"{found['same_modes']} of {found['pairs']} pairs the same"
        elif "same" in found:
            agreement = f"{found['same']:,} of {found['of']:,} the same"
        elif found["largest_difference"] <= SAME:
            agreement = "the same"
        elif found["largest_difference"] <= SAME_IN_SINGLE:
            agreement = "the same in single precision"
        else:
            agreement = f"differs by {found['largest_difference']:.1e}"
        cells = (
            f"`{found['method']}`: {found['what']}",
            f"`{found['program']}` {found['version']}",
            *(f"{shown(found[key])}{clock}" for key in times),
            f"{found['times_faster']:.{0 if found['times_faster'] >= 10 else 2}f}",
            agreement,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def compare(names: list[str]) -> None:
    """Print the table; write the figures and the page, with what the file has of other programs."""
    with tempfile.TemporaryDirectory() as scratch:
        results = {name: compared(name, Path(scratch)) for name in names}
    print(table(results))
    record_page("peers", LARGE, PEERS, results, (BEGIN, END))


def record_page(
    name: str, sizes: Sizes, known: dict[str, Any], results: dict[str, Any], marks: tuple[str, str]
) -> None:
    """Write ``results/NAME.DEVICE.json`` and the table between the marks of the page. Programs that
    were not run now stay as they are, where the file is of the same sizes."""
    path = results_path(name, "cpu")
    before = json.loads(path.read_text())["results"] if path.exists() else {}
    if before.get("sizes") == sizes._asdict():
        results = before["programs"] | results
    results = {program: results[program] for program in known if program in results}
    write(name, "cpu", {"sizes": sizes._asdict(), "programs": results})
    begin, end = marks
    head, _, rest = PAGE.read_text().partition(begin)
    intro = f"From `{path.name}`:\n\n{table(results)}"
    PAGE.write_text(f"{head}{begin}\n\n{intro}\n\n{end}{rest.partition(end)[2]}")


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
