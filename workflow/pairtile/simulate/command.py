"""The command line: simulate, and write a folder."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pairtile.simulate.boolean import TOPOLOGIES, simulate_boolean, write_boolean
from pairtile.simulate.conditions import simulate_conditions, write_conditions
from pairtile.simulate.kinetic import simulate_kinetic, write_simulation
from pairtile.simulate.modes import simulate_modes, write_modes

PROGRAM = "python -m pairtile.simulate"


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> None:
    """Simulate a kinetic network, or, with ``boolean``, ``modes`` or ``conditions`` as the
    first word, a Boolean one, pairs of genes with modes, or two conditions with modules."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = f"{program} {shlex.join(given)}"
    if given[:1] == ["boolean"]:
        _boolean(given[1:], command, program)
    elif given[:1] == ["modes"]:
        _modes(given[1:], command, program)
    elif given[:1] == ["conditions"]:
        _conditions(given[1:], command, program)
    else:
        _kinetic(given, command, program)


def _kinetic(given: Sequence[str], command: str, program: str) -> None:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Simulate expression, and write the table, the regulators and the true edges. "
        f"For a Boolean network: {program} boolean --help; for modes: {program} modes --help; for "
        f"two conditions: {program} conditions --help",
    )
    parser.add_argument("--genes", dest="n_genes", type=int, default=200)
    parser.add_argument("--samples", dest="n_samples", type=int, default=300)
    parser.add_argument("--regulators", dest="n_regulators", type=int, help="a tenth of the genes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.2, help="sd of ln(value)")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of values lost")
    _write(parser, given, simulate_kinetic, write_simulation, command)


def _boolean(given: Sequence[str], command: str, program: str) -> None:
    parser = argparse.ArgumentParser(
        prog=f"{program} boolean",
        description="Simulate time series of a Boolean network, and write the table of levels, the "
        "series of each sample, the true functions and the true edges.",
    )
    parser.add_argument("--genes", dest="n_genes", type=int, default=60)
    parser.add_argument("--steps", dest="n_steps", type=int, default=50, help="of each series")
    parser.add_argument("--series", dest="n_series", type=int, default=1)
    parser.add_argument("--topology", choices=TOPOLOGIES, default=TOPOLOGIES[0])
    parser.add_argument("--predictors", dest="n_predictors", type=int, default=2, help="of a gene")
    parser.add_argument("--levels", type=int, default=2)
    parser.add_argument("--xor", dest="xor_share", type=float, help="share of XOR-like functions")
    parser.add_argument("--noise", type=float, default=0.0, help="chance to measure another level")
    parser.add_argument("--perturbation", type=float, default=0.0, help="chance of a random level")
    parser.add_argument("--seed", type=int, default=1)
    _write(parser, given, simulate_boolean, write_boolean, command)


def _modes(given: Sequence[str], command: str, program: str) -> None:
    parser = argparse.ArgumentParser(
        prog=f"{program} modes",
        description="Simulate pairs of genes whose samples fall into modes, each with a "
        "correlation of its own, and write the table and the mode of each sample.",
    )
    parser.add_argument("--pairs", dest="n_pairs", type=int, default=100)
    parser.add_argument("--samples", dest="n_samples", type=int, default=200)
    parser.add_argument("--modes", dest="n_modes", type=int, default=2, help="of each pair")
    parser.add_argument("--separation", type=float, default=5.0, help="of modes, in their sd")
    parser.add_argument("--least-share", type=float, default=0.2, help="of samples, in a mode")
    parser.add_argument("--max-correlation", type=float, default=0.9, help="within a mode")
    parser.add_argument("--missing", type=float, default=0.0, help="share of values lost")
    parser.add_argument("--seed", type=int, default=1)
    _write(parser, given, simulate_modes, write_modes, command)


def _conditions(given: Sequence[str], command: str, program: str) -> None:
    parser = argparse.ArgumentParser(
        prog=f"{program} conditions",
        description="Simulate counts of control and treated samples with modules of genes, and "
        "write the table, the annotations of the samples, gene sets and the true modules.",
    )
    parser.add_argument("--genes", dest="n_genes", type=int, default=400)
    parser.add_argument("--samples", dest="n_samples", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    _write(parser, given, simulate_conditions, write_conditions, command)


S = TypeVar("S")


def _write(
    parser: argparse.ArgumentParser,
    given: Sequence[str],
    simulate: Callable[..., S],
    write: Callable[[S, Path, str], None],
    command: str,
) -> None:
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    options = vars(parser.parse_args(given))
    folder = options.pop("out")
    try:
        simulation = simulate(**options)
    except ValueError as error:
        parser.error(str(error))
    write(simulation, folder, command)
