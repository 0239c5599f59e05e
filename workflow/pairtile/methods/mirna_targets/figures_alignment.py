"""A hit of a miRNA on its transcript, drawn letter by letter.

The function takes texts and returns a matplotlib Figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from pairtile.report.style import BLUE, GREY, INK, PALE, new_figure, styled

SEED = (2, 8)
"""Positions of the miRNA, from its 5' end, that make its seed region."""


def alignment(hit: Mapping[str, Any] | Any) -> Figure:
    """The alignment of one hit: the miRNA (3' to 5') above its site (5' to 3'), seed region shaded.

    Parameters
    ----------
    hit : mapping, Series or row of ``DataFrame.itertuples``
        A row of the table that ``mirna_targets`` returns: ``query_alignment``, ``match_line`` and
        ``reference_alignment``; with ``mirna``, ``transcript``, ``score`` and
        ``energy_kcal_mol``, where they are, in the title.

    Raises
    ------
    ValueError
        When a line is missing, or the three are of different lengths.

    Examples
    --------
    >>> figure = alignment({
    ...     "query_alignment": "uugAUAUGUUGGAUGAUGGAGu", "match_line": "   |:|: ||:|| |||||| ",
    ...     "reference_alignment": "aauUGUG-AAUCU-CUACCUCa", "mirna": "let-7a",
    ... })
    Traceback (most recent call last):
    ValueError: found lines of 22, 21 and 22 characters; expected three of the same length
    >>> figure = alignment({
    ...     "query_alignment": "uugAUAUGUUGGAUGAUGGAGu", "match_line": "   |:|:  ||:|| |||||| ",
    ...     "reference_alignment": "aauUGUG-AAUCU-CUACCUCa", "mirna": "let-7a",
    ... })
    """
    given = hit._asdict() if hasattr(hit, "_asdict") else hit
    names = ("query_alignment", "match_line", "reference_alignment")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"hit: found no {', '.join(missing)}; expected a row of mirna_targets")
    query, match, reference = (str(given[name]) for name in names)
    if not len(query) == len(match) == len(reference):
        raise ValueError(
            f"found lines of {len(query)}, {len(match)} and {len(reference)} characters; expected "
            "three of the same length"
        )
    begin, end = _seed_columns(query)
    with styled():
        figure, axes = new_figure(max(4.0, 0.2 * len(query) + 2.4), 1.7)
        axes.axvspan(begin - 0.5, end - 0.5, color=PALE, zorder=0)
        for row, (text, left, right) in enumerate(
            ((query, "miRNA 3'", "5'"), (match, "", ""), (reference, "site 5'", "3'"))
        ):
            y = -row
            axes.text(-1.0, y, left, ha="right", va="center", color=GREY)
            axes.text(len(text), y, right, ha="left", va="center", color=GREY)
            for column, letter in enumerate(text):
                axes.text(
                    column, y, letter, ha="center", va="center", family="DejaVu Sans Mono",
                    fontsize=12, color=BLUE if row == 1 else INK, parse_math=False,
                )  # fmt: skip
        axes.set(xlim=(-6.0, len(query) + 1.5), ylim=(-2.6, 0.6))
        axes.set_axis_off()
        axes.set_title(_title(given), fontsize=10.5, loc="left", parse_math=False)
    return figure


def _seed_columns(query: str) -> tuple[int, int]:
    """Columns of the seed region; the miRNA's 5' end is at the right, gaps are not counted."""
    position, columns = 0, []
    for column in range(len(query) - 1, -1, -1):
        if query[column] not in "- ":
            position += 1
            if SEED[0] <= position <= SEED[1]:
                columns.append(column)
    return (min(columns), max(columns) + 1) if columns else (0, 0)


def _title(given: Mapping[str, Any] | Any) -> str:
    names = [str(given[key]) for key in ("mirna", "transcript") if key in given]
    numbers = [f"score {float(given['score']):g}"] if "score" in given else []
    if "energy_kcal_mol" in given:
        numbers.append(f"{float(given['energy_kcal_mol']):.2f} kcal/mol".replace("-", "−"))
    return ": ".join(filter(None, (" on ".join(names), ", ".join(numbers))))
