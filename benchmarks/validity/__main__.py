"""Simulate every claim of error control and write what came out.

    PYTHONPATH=workflow python -m benchmarks.validity [METHOD ...] [--quick] [--processes N]

Writes ``benchmarks/results/validity.json`` and the table in ``docs/validity.md``, method by method;
with ``--quick``, fewer draws, prints only. Exits with 1 where a claim does not hold.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.validity.parts import simulated

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results/validity.json"
PAGE = ROOT / "docs/validity.md"
METHODS = sorted(
    path.stem for path in Path(__file__).parent.glob("*_*.py") if not path.stem.startswith("_")
)
BEGIN, END = "<!-- table: make validity -->", "<!-- end of table -->"


def table(claims: dict[str, list[dict[str, Any]]]) -> str:
    """The claims of each method as Markdown: rows of one kind as a range, with its worse end named.

    A claim that does not hold has a row of its own. The file has every row.
    """
    lines = []
    for method, rows in sorted(claims.items()):
        lines += [f"### {method}", ""]
        lines += ["| what | nominal | scenarios | measured | bar |"]
        lines += ["|---|---|---|---|---|"]
        kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for number, row in enumerate(rows):
            alone = number if row["passed"] is False else None
            what = re.sub(r"of \d+ tables", "of the tables", row["what"])
            kind = (what, row["nominal"], str(row["bar"]), row["passed"], alone)
            kinds.setdefault(kind, []).append(row)
        for (what, nominal, bar, passed, _), alike in kinds.items():
            held = f"{bar}: **no**" if passed is False else bar
            shown = "" if nominal != nominal else f"{nominal:g}"  # NaN: nothing should come out
            cells = (what, shown, str(len(alike)), measured(alike), held)
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def measured(rows: list[dict[str, Any]]) -> str:
    """The only value with its 95 % interval and scenario, or the lowest and the highest, with the
    scenario of the worse: the lowest where more is better, else the highest."""
    ends = sorted(rows, key=lambda row: row["measured"])
    if len(rows) == 1:
        [row] = rows
        interval = f"({row['low']:.3g} to {row['high']:.3g})"
        return f"{row['measured']:.3g} {interval}: {row['scenario']}"
    low, high = ends[0], ends[-1]
    if low["measured"] == high["measured"]:
        return f"{low['measured']:.3g}"
    more_is_better = low["nominal"] >= 0.3 or str(low["bar"]).startswith("above")
    worse = low if more_is_better else high
    return f"{low['measured']:.3g} to {high['measured']:.3g} ({worse['scenario']})"


def write(claims: dict[str, list[dict[str, Any]]]) -> None:
    """These methods' claims in place of those that the file and the page had."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(stored | claims, indent=1) + "\n")
    head, _, rest = PAGE.read_text().partition(BEGIN)
    text = f"{BEGIN}\n\n{table(stored | claims)}\n{END}{rest.partition(END)[2]}"
    PAGE.write_text(head + text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validity")
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--quick", action="store_true", help="fewer draws, nothing is written")
    parser.add_argument("--processes", type=int, default=1, help="parts simulated at a time (1)")
    given = parser.parse_args()
    unknown = set(given.methods) - set(METHODS)
    if unknown:
        parser.error(f"found {', '.join(sorted(unknown))}; expected some of {', '.join(METHODS)}")
    passed = []
    for method, rows in simulated(given.methods or METHODS, given.quick, given.processes):
        print(table({method: rows}), flush=True)
        passed += [row["passed"] for row in rows if row["passed"] is not None]
        if not given.quick:
            write({method: rows})
    failed = passed.count(False)
    print(f"{failed} of {len(passed)} claims do not hold.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
