"""What stands beside the axes of a figure along a chain: names, domains, secondary structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray

from pairtile.methods.trajectory_correlation.structures import HEX_COLOURS as COMMUNITY_COLOURS
from pairtile.report.formats import shortened
from pairtile.report.style import BLUE, GREEN, GREY, INK, ORANGE, PALE, PINK, SKY, YELLOW

COLOURS = (BLUE, ORANGE, GREEN, YELLOW, PINK, SKY, "#882255", "#999933", "#44AA99", "#7f7f7f")
"""Of domains, in their order; then they come again."""

MAX_NAME = 18
MAX_TICKS = 8
ALL_NAMES = 24
"""Up to so many variables without residue numbers are named one by one."""

Side = Literal["x", "y"]
SIDES: tuple[Side, Side] = ("x", "y")
_HEIGHTS = {"H": (0.0, 1.0, INK), "E": (0.25, 0.5, GREY)}


@dataclass(frozen=True)
class ResidueMarks:
    """Names and marks of the variables of a figure, in order; empty where there are none.

    ``names`` has one for each variable; the others have as many, or none.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    chains: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    secondary_structure: tuple[str, ...] = ()

    @classmethod
    def of_table(
        cls, table: pd.DataFrame | Mapping[str, Sequence[str | int] | NDArray[np.generic]]
    ) -> ResidueMarks:
        """From ``items.parquet`` (kept items), ``residues.tsv``, or the arrays of ``matrices.npz``.

        Uses ``name`` or ``labels``, and ``resid``, ``chain``, ``domain`` and
        ``secondary_structure`` where they are.
        """

        def texts(key: str) -> tuple[str, ...]:
            found = tuple(str(value) for value in table[key]) if key in table else ()
            return found if any(found) else ()

        names = texts("name") or texts("labels")
        numbers = tuple(int(value) for value in table["resid"]) if texts("resname") else ()
        return cls(names, numbers, texts("chain"), texts("domain"), texts("secondary_structure"))

    def __len__(self) -> int:
        return len(self.names)

    def ticks(self) -> tuple[list[int], list[str]]:
        """Some places and what to write there: round residue numbers, else names or numbers."""
        n = len(self)
        if not self.numbers and n <= ALL_NAMES:
            return list(range(n)), [shortened(name, MAX_NAME) for name in self.names]
        values = self.numbers or tuple(range(1, n + 1))
        steps = (factor * 10**power for power in range(8) for factor in (1, 2, 5))
        step = next(s for s in steps if n / s <= MAX_TICKS)
        places = [k for k in range(n) if values[k] % step == 0 and _first(self.chains, values, k)]
        if len(places) < 2:
            places = list(range(0, n, max(1, n // MAX_TICKS)))
        if len(set(self.chains)) > 1:
            return places, [f"{self.chains[k]}:{values[k]}" for k in places]
        return places, [str(values[k]) for k in places]

    def chain_borders(self) -> list[int]:
        """The first variable of every chain but the first."""
        return [start for start, _, _ in runs(self.chains)][1:]

    def course(self, values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places and values of a curve along the variables, with a gap between two chains."""
        borders = np.array(self.chain_borders(), dtype=np.int64)
        places = np.insert(np.arange(len(self), dtype=np.float64), borders, borders - 0.5)
        return places, np.insert(np.asarray(values, dtype=np.float64), borders, np.nan)

    def draw_borders(self, axes: Axes) -> None:
        """A line between two chains."""
        for border in self.chain_borders():
            axes.axvline(border - 0.5, color=INK, linewidth=0.6)

    def set_ticks(self, axes: Axes, side: Side) -> None:
        """Write the ticks on an axis whose unit is one variable, the first at 0."""
        places, labels = self.ticks()
        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_ticks(places)
        slanted = side == "x" and max(map(len, labels), default=0) > 5
        axis.set_ticklabels(
            labels, parse_math=False, rotation=45 if slanted else 0,
            ha="right" if slanted else "center" if side == "x" else "right",
        )  # fmt: skip

    def label(self) -> str:
        """What the axis counts."""
        if self.numbers:
            return "residue"
        return "" if len(self) <= ALL_NAMES else "variable"

    def draw_strips(
        self, axes: Axes, side: Side, communities: Sequence[int] = (), width: float = 0.026
    ) -> None:
        """Strips beside the axes, above (``x``) or at the right (``y``), from inside outwards:
        secondary structure, domains, communities (with their numbers). ``width``: of the axes."""
        place = 1.0 + width / 3
        domains, n = self.domain_colours, len(COMMUNITY_COLOURS)
        of_community = [str(number) if number else "" for number in communities]
        for values, drawn in (
            (self.secondary_structure, _HEIGHTS),
            (self.domains, {name: (0.0, 1.0, colour) for name, colour in domains.items()}),
            (
                of_community,
                {
                    name: (0.0, 1.0, COMMUNITY_COLOURS[(int(name) - 1) % n] if name else PALE)
                    for name in of_community
                },
            ),
        ):
            if not set(values) & (drawn.keys() - {""}):
                continue
            box = (0.0, place, 1.0, width) if side == "x" else (place, 0.0, width, 1.0)
            strip = axes.inset_axes(box)
            along, across = (strip.set_xlim, strip.set_ylim)[:: 1 if side == "x" else -1]
            along(*(axes.get_xlim() if side == "x" else axes.get_ylim()))
            across(0, 1)
            strip.set_axis_off()
            strip.add_patch(_block(-0.5, len(self), 0.45, 0.1, side, PALE))
            for start, end, value in runs(values):
                if value in drawn and value:
                    at, height, colour = drawn[value]
                    strip.add_patch(_block(start - 0.5, end - start, at, height, side, colour))
                    if values is of_community and end - start >= len(self) / 40:
                        middle = (start + end - 1) / 2
                        strip.text(
                            *((middle, 0.45) if side == "x" else (0.45, middle)), value,
                            ha="center", va="center", fontsize=5.0, color="white",
                        )  # fmt: skip
            place += width * 4 / 3

    @property
    def domain_colours(self) -> dict[str, str]:
        """Colour of each domain, in the order in which they first come."""
        names = [name for name in dict.fromkeys(self.domains) if name]
        return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}

    def add_legend(self, figure: Figure) -> None:
        """Below all panels, what the strips mean."""
        found = [
            Patch(color=colour, label=shortened(name, MAX_NAME))
            for name, colour in self.domain_colours.items()
        ][:8]
        found += [
            Patch(color=_HEIGHTS[state][2], label=label)
            for state, label in {"H": "helix", "E": "strand"}.items()
            if state in self.secondary_structure
        ]
        if found:
            figure.legend(handles=found, loc="outside lower center", ncols=min(len(found), 6))


def runs(values: Sequence[str]) -> list[tuple[int, int, str]]:
    """Stretches of equal values: start, end (excluded), value."""
    starts = [k for k in range(len(values)) if k == 0 or values[k] != values[k - 1]]
    return [(start, end, values[start]) for start, end in pairwise([*starts, len(values)])]


def _first(chains: Sequence[str], values: Sequence[int], k: int) -> bool:
    """Of several variables of one residue, the first."""
    return k == 0 or values[k] != values[k - 1] or (bool(chains) and chains[k] != chains[k - 1])


def _block(
    start: float, length: float, at: float, height: float, side: Side, colour: str
) -> Rectangle:
    if side == "x":
        return Rectangle((start, at), length, height, facecolor=colour, linewidth=0)
    return Rectangle((at, start), height, length, facecolor=colour, linewidth=0)
