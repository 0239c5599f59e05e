"""The command line: simulate, and write a folder."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from pairtile.simulate.boolean import simulate_boolean, write_boolean
from pairtile.simulate.boolean_network import TOPOLOGIES
from pairtile.simulate.kinetic import simulate_kinetic, write_simulation

PROGRAM = "python -m pairtile.simulate"


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> None:
    """Simulate a kinetic network, or, with ``boolean`` as the first word, a Boolean one."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = f"{program} {shlex.join(given)}"
    if given[:1] == ["boolean"]:
        _boolean(given[1:], command, program)
    else:
        _kinetic(given, command, program)


def _kinetic(given: Sequence[str], command: str, program: str) -> None:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Simulate expression, and write the table, the regulators and the true edges. "
        f"For a Boolean network: {program} boolean --help",
    )
    parser.add_argument("--genes", dest="n_genes", type=int, default=200)
    parser.add_argument("--samples", dest="n_samples", type=int, default=300)
    parser.add_argument("--regulators", dest="n_regulators", type=int, help="a tenth of the genes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--noise", type=float, default=0.2, help="sd of ln(value)")
    parser.add_argument("--dropout", type=float, default=0.0, help="share of values lost")
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    options = vars(parser.parse_args(given))
    folder = options.pop("out")
    try:
        simulation = simulate_kinetic(**options)
    except ValueError as error:
        parser.error(str(error))
    write_simulation(simulation, folder, command)


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
    parser.add_argument("--out", type=Path, required=True, help="folder to write into")
    options = vars(parser.parse_args(given))
    folder = options.pop("out")
    try:
        simulation = simulate_boolean(**options)
    except ValueError as error:
        parser.error(str(error))
    write_boolean(simulation, folder, command)
