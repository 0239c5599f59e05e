"""The command line: which command, its arguments, and errors said in one clear message."""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pairtile import __version__
from pairtile.errors import ConfigError, PairtileError
from pairtile.runtime.user_cache import do_without_a_home


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``pairtile`` with ``arguments`` (by default those of the process).

    A reader of the output that leaves (``| head``) ends a command that is for reading.

    Returns the exit code: 0, or 1 after an error, whose message is on standard error; of ``run``
    that of Snakemake, of ``reproduce`` 1 where a result differs.
    """
    do_without_a_home()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["simulate"]:  # has a command line of its own
        from pairtile.simulate.command import main as simulate

        simulate(given[1:], program="pairtile simulate")
        return 0
    place = given.index("--") if "--" in given else len(given)
    options, for_snakemake = _parser().parse_args(given[:place]), given[place + 1 :]
    try:
        match options.command:
            case "run":
                from pairtile.command.run import run

                return run(options.config, for_snakemake)
            case "demo":
                from pairtile.command.short import demo

                return demo(for_snakemake, options.files)
            case "network":
                from pairtile.command.short import network

                return network(
                    options.table,
                    options.out,
                    options.method,
                    options.regulators,
                    options.settings,
                    for_snakemake,
                )
            case "init":
                from pairtile.command.short import init

                print(init(options.method, options.out, options.force), end="")
            case "check":
                from pairtile.command.check import check

                # What the steps would log stands in the lines of the check.
                logging.getLogger("pairtile").addHandler(logging.NullHandler())
                for line in check(options.config):
                    print(line, flush=True)
            case "crate":
                from pairtile.command.crate import write_crate

                number = write_crate(options.config, options.out)
                print(f"{options.out}: {number} results, with configuration and input files")
            case "reproduce":
                from pairtile.command.crate import reproduce
                from pairtile.report.formats import pluralise

                found = reproduce(
                    options.crate, options.out, partial(_agreed, yes=options.yes), for_snakemake
                )
                for name in found.compared:
                    print(f"{'differs' if name in found.differing else 'same'}: {name}")
                for name in found.with_times:
                    print(f"not compared, as it holds times: {name}")
                compared = pluralise(len(found.compared), "result")
                if found.differing or not found.compared:
                    differing = f"{len(found.differing)} of {compared} compared differ"
                    print(f"{options.out}: {differing}", file=sys.stderr)
                    return 1
                print(f"{options.out}: {compared} compared, all the same to the byte")
            case "warm":
                from pairtile.command.warm import warm

                for line in warm():
                    print(line, flush=True)
            case "view":
                from pairtile.view.server import view

                view(options.folder, options.port)
            case "figure":
                from pairtile.command.figure import figure

                named = (options.analysis.resolve().name, options.name, options.of)
                stem = re.sub(r"[^\w.-]", "_", "_".join(filter(None, named)))
                out = Path(f"{stem}.{options.format}")
                table = figure(
                    options.analysis,
                    options.name,
                    out,
                    options.width,
                    options.colour_by,
                    options.of,
                )
                print(f"{out}, its numbers in {table}")
            case "compare":
                from pairtile.command.compare import compare

                print(compare(options.first, options.second, options.json), end="")
    except PairtileError as error:
        print(f"pairtile {options.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Python would write what is left when it ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


def _agreed(description: str, yes: bool) -> bool:
    print(description)
    if not (yes or sys.stdin.isatty()):
        raise ConfigError("found nobody to ask; expected --yes, once you have read the above")
    return yes or input("Run it? [y/N] ").strip().lower() in ("y", "yes")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pairtile",
        description="Score every pair of a data set. `run` runs the workflow; so does "
        "snakemake --cores all --configfile FILE in the checkout.",
    )
    parser.add_argument("--version", action="version", version=f"pairtile {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    init = commands.add_parser("init", help="write a commented configuration of a method")
    init.add_argument("method", nargs="?", help="such as mutual_information; without: list them")
    init.add_argument("--out", type=Path, help="the file to write; without: standard output")
    init.add_argument("--force", action="store_true", help="write over a file that is there")
    check = commands.add_parser(
        "check", help="check a configuration and its inputs, and show the plan, without running"
    )
    check.add_argument("config", type=Path, help="YAML or JSON")
    run = commands.add_parser(
        "run",
        help="run the analyses of a configuration, with short progress",
        epilog="What stands after -- is for Snakemake: pairtile run my.yaml -- --cores 4 --dry-run",
    )
    run.add_argument("config", type=Path, help="YAML or JSON; results go to the working directory")
    short = commands.add_parser("demo", help="run the demo here: results/demo/report.html")
    short.add_argument("--files", action="store_true", help="only lay its files into config/")
    network = commands.add_parser(
        "network",
        help="a network of one table, without a configuration file",
        epilog="What stands after -- is for Snakemake.",
    )
    network.add_argument("table", type=Path, help="genes in rows, samples in columns")
    network.add_argument("--out", type=Path, required=True, help="the folder of the results")
    network.add_argument("--method", default="mutual_information", help="default: %(default)s")
    network.add_argument("--regulators", type=Path, help="a file with one name a line")
    network.add_argument(
        "--settings", default="{}", help="further keys of the analysis: 'keep: {fdr: 0.05}'"
    )
    crate = commands.add_parser("crate", help="pack up a finished run as an RO-Crate")
    crate.add_argument("config", type=Path, help="that of the run; results as it says")
    crate.add_argument("--out", type=Path, required=True, help="a new folder")
    reproduce = commands.add_parser(
        "reproduce", help="run again what a crate holds, and compare the results"
    )
    reproduce.add_argument("crate", type=Path, help="a folder that pairtile crate wrote")
    reproduce.add_argument("--yes", action="store_true", help="run it without asking")
    reproduce.add_argument("--out", type=Path, required=True, help="a new folder to run in")
    commands.add_parser(
        "warm", help="compile for this CPU and GPU ahead, which a first run would wait for"
    )
    view = commands.add_parser(
        "view", help="serve all stored pairs of an analysis to a browser on this machine"
    )
    view.add_argument("folder", type=Path, help="results/NAME of a finished analysis; or results")
    view.add_argument("--port", type=int, default=0, help="without: one that is free")
    commands.add_parser("simulate", help="simulate an experiment with known truth", add_help=False)
    figure = commands.add_parser("figure", help="a figure of the page for a paper, with its data")
    figure.add_argument(
        "name", help="of the files in results/NAME/figures, without suffix; or regulator"
    )
    figure.add_argument("--of", default="", help="with regulator: the item whose network is drawn")
    figure.add_argument("--analysis", type=Path, required=True, help="results/NAME")
    figure.add_argument("--format", choices=("svg", "pdf", "png"), default="svg")
    figure.add_argument("--width", help="such as 85mm; without: as on the page")
    figure.add_argument(
        "--colour-by", default="", help="the annotation by which samples stand in order"
    )
    compare = commands.add_parser("compare", help="compare two networks")
    for name in ("first", "second"):
        compare.add_argument(
            name, type=Path, help="network.parquet, network.tsv, or an analysis' results folder"
        )
    compare.add_argument("--json", action="store_true", help="as JSON")
    return parser
