"""Are planted modes of pairs of genes found? ``python -m benchmarks.bench_planted_modes``.

Pairs of genes with one to four modes of unequal size (``pairtile.simulate.modes``), 5 % of the
values missing, by the default rules and by those of KINC 3 (``compatibility: kinc``), with and
without the pass that removes outliers before the fit. With it, a small mode may be taken for
outliers. Then sets that are harder in one way each, and settings of the default rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from pairtile.gpu.device import Device, choose
from pairtile.methods.multimodal_correlation.mixtures import pair_mixtures
from pairtile.methods.trajectory_correlation.network import adjusted_rand
from pairtile.simulate.modes import ModesSimulation, simulate_modes

from benchmarks.bench_pair_mixtures import mixture_config
from benchmarks.machine import write

PAIRS = 200
SAMPLES = (40, 100, 200, 1000)
MODES = (1, 2, 3, 4)
PLANTED: dict[str, Any] = {"separation": 5.0, "least_share": 0.15, "missing": 0.05}
RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "kinc": {"compatibility": "kinc"},
}
HARDER: dict[str, dict[str, Any]] = {
    "as above": {},
    "separation 4": {"separation": 4.0},
    "separation 3": {"separation": 3.0},
    "smallest mode 5 %": {"least_share": 0.05},
    "no missing values": {"missing": 0.0},
    "20 % missing": {"missing": 0.2},
}
"""Three modes, 200 samples, outliers not removed."""
SETTINGS: dict[str, dict[str, Any]] = {
    "as above": {},
    "`restarts: 1`": {"restarts": 1},
    "`restarts: 10`": {"restarts": 10},
    "`criterion: bic`": {"criterion": "bic"},
    "`criterion: aic`": {"criterion": "aic"},
}


class Recovery(NamedTuple):
    """Pairs with the right number of modes, all pairs, and the mean adjusted Rand index over them.

    The index is over the samples that were given a mode; a pair without any counts as 0.
    """

    right: int
    pairs: int
    rand_index: float


def recovery(simulation: ModesSimulation, device: Device, **how: Any) -> Recovery:
    """Find the modes of each planted pair; no mode is too small or too weak to be kept."""
    settings = mixture_config(**{"min_samples": 2, "min_correlation": 0.0} | how)
    values, n_pairs = simulation.values, len(simulation.labels)
    keys = np.random.default_rng(1).integers(0, 2**64, len(values), dtype=np.uint64)
    mixtures = pair_mixtures(values, keys, settings, device)
    truth = simulation.parameters["settings"]["n_modes"]
    right, indices = 0, []
    for pair in range(n_pairs):
        modes = mixtures.tile(np.array([2 * pair]), np.array([2 * pair + 1]), upper=False)
        right += int(np.argmax(modes.histogram_k)) == truth
        masks = np.unpackbits(modes.samples, axis=1)[:, : values.shape[1]].astype(bool)
        labels = np.full(values.shape[1], -1)
        for number, mask in enumerate(masks):
            labels[mask] = number
        here = labels >= 0
        several = here.sum() > 1
        indices.append(
            adjusted_rand(simulation.labels[pair][here], labels[here]) if several else 0.0
        )
    return Recovery(right, n_pairs, round(float(np.mean(indices)), 4))


def row(*cells: str) -> None:
    """A row of a Markdown table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def shown(found: Recovery) -> str:
    """Percent of pairs with the right number of modes, and the index."""
    return f"{100 * found.right / found.pairs:.1f} / {found.rand_index:.3f}"


def by_modes(device: Device) -> dict[str, Any]:
    """Default rules and KINC's, for each number of modes and samples."""
    table: dict[str, Any] = {}
    row("modes, samples", *(f"{name}, {on}" for on in ("before", "not") for name in RULES))
    for n_modes in MODES:
        for n_samples in SAMPLES:
            simulation = simulate_modes(PAIRS, n_samples, n_modes, seed=1, **PLANTED)
            cells = {
                f"{name}, outliers_before {str(on).lower()}": recovery(
                    simulation, device, outliers_before=on, **rules
                )
                for on in (True, False)
                for name, rules in RULES.items()
            }
            table[f"{n_modes} modes, {n_samples} samples"] = {
                name: found._asdict() for name, found in cells.items()
            }
            row(f"{n_modes}, {n_samples}", *(shown(found) for found in cells.values()))
    return table


def by_change(device: Device) -> dict[str, Any]:
    """Three modes and 200 samples, harder in one way each, and other settings."""
    table: dict[str, Any] = {}
    row("3 modes, 200 samples", *RULES)
    for label, change in HARDER.items():
        simulation = simulate_modes(PAIRS, 200, 3, seed=1, **PLANTED | change)
        cells = {
            name: recovery(simulation, device, outliers_before=False, **rules)
            for name, rules in RULES.items()
        }
        table[label] = {name: found._asdict() for name, found in cells.items()}
        row(label, *(shown(found) for found in cells.values()))
    simulation = simulate_modes(PAIRS, 200, 3, seed=1, **PLANTED)
    for label, settings in SETTINGS.items():
        found = recovery(simulation, device, outliers_before=False, **settings)
        table[f"settings: {label}"] = {"default": found._asdict()}
        row(label, shown(found), "")
    return table


def run(backend: str) -> dict[str, Any]:
    """All tables, printed."""
    device = choose(backend)
    return {
        "pairs": PAIRS,
        "planted": PLANTED,
        "by_modes": by_modes(device),
        "by_change": by_change(device),
    }


def main() -> None:
    """Write the tables to ``results/planted_modes.MACHINE.json``."""
    print(write("planted_modes", "cpu", run("cpu")))


if __name__ == "__main__":
    main()
