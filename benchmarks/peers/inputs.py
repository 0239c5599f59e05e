"""Input that pairtile's simulators make by seed, in plain files that any program reads.

    python -m benchmarks.peers.inputs FOLDER [--large]

The small ones are those of ``tests/golden``: the same bytes everywhere, as their checksums say.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pairtile.simulate import simulate_boolean, simulate_kinetic
from pairtile.simulate.modes import simulate_modes


class Sizes(NamedTuple):
    """Of every input."""

    genes: int
    regulators: int
    samples: int
    pairs_of_modes: int
    level_genes: int
    mirnas: int
    transcripts: int
    atoms: int
    frames: int
    decimals: int
    """Of positions and expression: with four some are equal, and rounding decides which counts."""


SMALL = Sizes(24, 6, 120, 8, 12, 6, 8, 6, 120, 4)
LARGE = Sizes(60, 12, 150, 20, 24, 24, 40, 16, 300, 9)
MANY_GENES = LARGE._replace(genes=500, regulators=50, samples=500)


def make(folder: Path, sizes: Sizes = SMALL, seed: int = 19) -> None:
    """Write every input into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    _expression(folder, sizes, seed)
    _modes(folder, sizes, seed)
    made = simulate_boolean(sizes.level_genes, 10, 4, noise=0.02, seed=seed)
    write_table(folder / "levels.tsv", made.levels, made.genes, 0)
    times = [
        (i, i + 1) for i in range(len(made.series) - 1) if made.series[i] == made.series[i + 1]
    ]
    lines = (f"{first}\t{second}\n" for first, second in times)
    (folder / "transitions.tsv").write_text("".join(lines))
    (folder / "series.txt").write_text("".join(f"{name}\n" for name in made.series))
    _sequences(folder, sizes, seed)
    names = [f"atom{n}{axis}" for n in range(sizes.atoms) for axis in "xyz"]
    write_table(folder / "positions.tsv", _positions(sizes, seed), names, sizes.decimals)


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of each file."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def write_table(path: Path, values: NDArray[np.generic], names: list[str], decimals: int) -> None:
    """Rows with their name before them, no header."""
    rows = (
        "\t".join([name, *(f"{value:.{decimals}f}" for value in row)])
        for name, row in zip(names, values.tolist(), strict=True)
    )
    path.write_text("".join(f"{row}\n" for row in rows))


def _expression(folder: Path, sizes: Sizes, seed: int) -> None:
    made = simulate_kinetic(sizes.genes, sizes.samples, sizes.regulators, seed=seed)
    write_table(folder / "expression.tsv", made.values, made.genes, sizes.decimals)
    (folder / "regulators.txt").write_text("".join(f"{name}\n" for name in made.regulators))
    edges = zip(made.edges["source"], made.edges["target"], strict=True)
    (folder / "gold.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in edges))


def _modes(folder: Path, sizes: Sizes, seed: int) -> None:
    """Pairs with one, two and three modes that are well apart; neighbouring rows are a pair."""
    values, names = [], []
    for modes in (1, 2, 3):
        made = simulate_modes(
            sizes.pairs_of_modes, 150, modes, separation=8.0, least_share=0.25, seed=seed + modes
        )
        values.append(made.values)
        names += [f"{modes}modes_{gene}" for gene in made.genes]
    write_table(folder / "modes.tsv", np.vstack(values), names, 4)


def _sequences(folder: Path, sizes: Sizes, seed: int) -> None:
    """Random miRNAs, and transcripts with a site of one of them: whole, with a bulge, with wobbles,
    at the start, at the end."""
    draw = random.Random(seed)
    mirnas = ["".join(draw.choices("ACGU", k=22)) for _ in range(sizes.mirnas)]
    transcripts = []
    for number in range(sizes.transcripts):
        site = list(mirnas[number % sizes.mirnas][::-1].translate(str.maketrans("ACGU", "UGCA")))
        if number % 4 == 1:
            site.insert(8, draw.choice("ACGU"))
        if number % 4 == 2:
            site[3:9] = [{"A": "G", "C": "U"}.get(letter, letter) for letter in site[3:9]]
        letters = draw.choices("ACGU", k=draw.randint(60, 300))
        at = (len(letters) // 2, 0, len(letters))[number % 3]
        transcripts.append("".join([*letters[:at], *site, *letters[at:]]))
    for name, texts in (("mirnas", mirnas), ("transcripts", transcripts)):
        records = (f">{name[:-1]}{number}\n{text}\n" for number, text in enumerate(texts))
        (folder / f"{name}.fa").write_text("".join(records))


def _positions(sizes: Sizes, seed: int) -> NDArray[np.float64]:
    """Coordinates of atoms that follow one slow motion each as far as they are near its middle;
    shape (3 * atoms, frames), Angstrom."""
    random = np.random.default_rng(seed)
    steps = random.normal(size=(sizes.atoms + 1, 3, sizes.frames))
    slow = np.empty_like(steps)
    slow[..., 0] = steps[..., 0]
    for frame in range(1, sizes.frames):
        slow[..., frame] = 0.5 * slow[..., frame - 1] + steps[..., frame]
    share = np.linspace(0.0, 0.8, sizes.atoms)[:, None, None]
    moves = share * slow[:1] + (1.0 - share) * slow[1:]
    return np.asarray(moves.reshape(3 * sizes.atoms, sizes.frames))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    make(given.folder, LARGE if given.large else SMALL)
