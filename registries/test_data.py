"""Write the small inputs of the tests in Galaxy: ``python registries/test_data.py``."""

from __future__ import annotations

import random
from pathlib import Path

import MDAnalysis as mda
import numpy as np

FOLDER = Path(__file__).parent / "galaxy/test-data"
N_GENES, N_TIMES, N_RESIDUES, N_FRAMES = 20, 40, 12, 60


def levels() -> None:
    """Levels of genes at times; the first is the exclusive or of the next two, one step before."""
    table = np.random.default_rng(1).integers(0, 2, (N_GENES, N_TIMES))
    table[0, 1:] = table[1, :-1] ^ table[2, :-1]
    lines = ["\t".join(["gene", *(f"t{k}" for k in range(N_TIMES))])]
    lines += ["\t".join([f"g{k:02d}", *map(str, row)]) for k, row in enumerate(table)]
    (FOLDER / "levels.tsv").write_text("\n".join(lines) + "\n")
    (FOLDER / "targets.txt").write_text("g00\ng05\n")


def sequences() -> None:
    """miRNAs, and transcripts that hold sites of them."""
    draw = random.Random(3)
    mirnas = ["".join(draw.choices("ACGU", k=22)) for _ in range(3)]
    sites = [one[::-1].translate(str.maketrans("ACGU", "UGCA")) for one in mirnas]
    texts = [
        "".join(draw.choices("ACGU", k=150)) + sites[k % 3] + "".join(draw.choices("ACGU", k=150))
        for k in range(6)
    ]
    for name, records in (("mirnas", mirnas), ("transcripts", texts)):
        lines = (f">{name[0]}{k}\n{text}\n" for k, text in enumerate(records))
        (FOLDER / f"{name}.fasta").write_text("".join(lines))


def residues() -> None:
    """C-alpha atoms of a chain whose halves move against each other."""
    universe = mda.Universe.empty(
        N_RESIDUES, N_RESIDUES, atom_resindex=np.arange(N_RESIDUES), trajectory=True
    )
    universe.add_TopologyAttr("name", ["CA"] * N_RESIDUES)
    universe.add_TopologyAttr("resname", ["ALA"] * N_RESIDUES)
    universe.add_TopologyAttr("resid", np.arange(1, N_RESIDUES + 1))
    universe.add_TopologyAttr("chainID", ["A"] * N_RESIDUES)
    draw = np.random.default_rng(2)
    still = np.stack([3.8 * np.arange(N_RESIDUES), draw.normal(size=N_RESIDUES), np.zeros(12)], 1)
    side = np.where(np.arange(N_RESIDUES) < N_RESIDUES // 2, 1.0, -1.0)
    universe.atoms.positions = still
    universe.atoms.write(str(FOLDER / "residues.pdb"))
    with mda.Writer(str(FOLDER / "residues.xtc"), N_RESIDUES) as writer:
        for _ in range(N_FRAMES):
            moved = np.outer(side, draw.normal(size=3)) + draw.normal(size=(N_RESIDUES, 3)) / 2
            universe.atoms.positions = still + moved
            writer.write(universe.atoms)


if __name__ == "__main__":
    levels()
    sequences()
    residues()
