"""Which pairs of genes the report draws: the strongest, the split, those of each condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

import pandas as pd

from pairtile.io.annotations import Condition
from pairtile.methods.multimodal_correlation.report_results import ModeResults, Pair

MAX_PAIRS = 6
PAIRS_OF_CONDITION = 3
MAX_CONDITIONS = 4


def strongest_pairs(found: ModeResults) -> list[Pair]:
    """The pairs of largest correlation, each gene once while there are others."""
    return spread(_ends(found.pairs), MAX_PAIRS)


def split_pairs(found: ModeResults) -> list[Pair]:
    """Pairs of several modes that are not among the strongest: those with edges of both signs
    first, then those with more edges, then the stronger."""
    several = found.pairs[found.pairs["n_modes"] > 1]
    several = several.sort_values(["signs", "edges"], ascending=False, kind="stable")
    drawn = set(strongest_pairs(found))
    return spread((pair for pair in _ends(several) if pair not in drawn), MAX_PAIRS)


def drawn_conditions(found: ModeResults) -> list[Condition]:
    """Conditions by falling number of edges of theirs; the first one where none has any."""
    edges = found.networks["condition"].value_counts()
    with_edges = [each for each in found.conditions if each.name in edges.index]
    ordered = sorted(with_edges, key=lambda each: -int(edges[each.name]))
    return ordered[:MAX_CONDITIONS] or found.conditions[:1]


def condition_pairs(found: ModeResults, condition: Condition) -> list[Pair]:
    """Pairs that go most clearly with a condition, its labels in turn; without any, the strongest
    of all."""
    table = found.networks[found.networks["condition"] == condition.name]
    size = table["correlation"].abs().rename("size")
    table = table.assign(size=size).sort_values(["q_value", "size"], ascending=[True, False])
    in_turn = chain.from_iterable(
        zip_longest(*(_ends(part) for _, part in table.groupby("label", sort=False)))
    )
    pairs = spread((pair for pair in in_turn if pair is not None), PAIRS_OF_CONDITION)
    return pairs or strongest_pairs(found)[:PAIRS_OF_CONDITION]


def spread(pairs: Iterable[Pair], limit: int) -> list[Pair]:
    """The first ``limit`` pairs that share no gene, then those that do; in their order."""
    chosen: list[Pair] = []
    rest: list[Pair] = []
    used: set[str] = set()
    for pair in dict.fromkeys(pairs):
        if len(chosen) == limit:
            break
        if used.isdisjoint(pair):
            chosen.append(pair)
            used.update(pair)
        elif len(rest) < limit:
            rest.append(pair)
    return (chosen + rest)[:limit]


def _ends(table: pd.DataFrame) -> Iterator[Pair]:
    return zip(table["source"].astype(str), table["target"].astype(str), strict=True)
