"""The command line: simulate, and write a folder."""

from __future__ import annotations

import argparse
import inspect
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pairtile.simulate.boolean import TOPOLOGIES, simulate_boolean, write_boolean
from pairtile.simulate.conditions import simulate_conditions, write_conditions
from pairtile.simulate.kinetic import simulate_kinetic, write_simulation
from pairtile.simulate.modes import simulate_modes, write_modes

PROGRAM = "python -m pairtile.simulate"


class Command(NamedTuple):
    """One kind of simulation: ``simulate`` makes what ``write`` puts into a folder. ``options``:
    flag -> parameter of ``simulate``, whose default and type it has, and help."""

    simulate: Callable[..., object]
    write: Callable[..., None]
    description: str
    options: dict[str, tuple[str, str | None]]


COMMANDS = {
    "": Command(
        simulate_kinetic,
        write_simulation,
        "Simulate expression, and write the table, the regulators and the true edges. "
        "For a Boolean network: {program} boolean --help; for modes: {program} modes --help; for "
        "two conditions: {program} conditions --help",
        {
            "--genes": ("n_genes", None),
            "--samples": ("n_samples", None),
            "--regulators": ("n_regulators", "a tenth of the genes"),
            "--seed": ("seed", None),
            "--noise": ("noise", "sd of ln(value)"),
            "--dropout": ("dropout", "share of values lost"),
        },
    ),
    "boolean": Command(
        simulate_boolean,
        write_boolean,
        "Simulate time series of a Boolean network, and write the table of levels, the "
        "series of each sample, the true functions and the true edges.",
        {
            "--genes": ("n_genes", None),
            "--steps": ("n_steps", "of each series"),
            "--series": ("n_series", None),
            "--topology": ("topology", None),
            "--predictors": ("n_predictors", "of a gene"),
            "--levels": ("levels", None),
            "--xor": ("xor_share", "share of XOR-like functions"),
            "--noise": ("noise", "chance to measure another level"),
            "--perturbation": ("perturbation", "chance of a random level"),
            "--seed": ("seed", None),
        },
    ),
    "modes": Command(
        simulate_modes,
        write_modes,
        "Simulate pairs of genes whose samples fall into modes, each with a "
        "correlation of its own, and write the table and the mode of each sample.",
        {
            "--pairs": ("n_pairs", None),
            "--samples": ("n_samples", None),
            "--modes": ("n_modes", "of each pair"),
            "--separation": ("separation", "of modes, in their sd"),
            "--least-share": ("least_share", "of samples, in a mode"),
            "--max-correlation": ("max_correlation", "within a mode"),
            "--missing": ("missing", "share of values lost"),
            "--seed": ("seed", None),
        },
    ),
    "conditions": Command(
        simulate_conditions,
        write_conditions,
        "Simulate counts of control and treated samples with modules of genes, and "
        "write the table, the annotations of the samples, gene sets and the true modules.",
        {
            "--genes": ("n_genes", None),
            "--samples": ("n_samples", None),
            "--seed": ("seed", None),
        },
    ),
}


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> None:
    """Simulate a kinetic network, or, with ``boolean``, ``modes`` or ``conditions`` as the
    first word, a Boolean one, pairs of genes with modes, or two conditions with modules."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given and given[0] in COMMANDS else ""
    command = COMMANDS[name]
    parser = argparse.ArgumentParser(
        prog=f"{program} {name}".rstrip(), description=command.description.format(program=program)
    )
    signature = inspect.signature(command.simulate, eval_str=True).parameters
    for flag, (parameter, text) in command.options.items():
        default, annotation = signature[parameter].default, signature[parameter].annotation
        kind = next((kind for kind in (int, float) if annotation in (kind, kind | None)), str)
        choices = TOPOLOGIES if parameter == "topology" else None
        parser.add_argument(
            flag, dest=parameter, type=kind, default=default, help=text, choices=choices
        )
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    options = vars(parser.parse_args(given[bool(name) :]))
    folder = options.pop("out")
    try:
        simulation = command.simulate(**options)
    except ValueError as error:
        parser.error(str(error))
    command.write(simulation, folder, f"{program} {shlex.join(given)}")
