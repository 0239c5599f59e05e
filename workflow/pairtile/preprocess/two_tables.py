"""Two tables of the same samples: each is prepared by itself, and their rows become one list of
items, those of the first table before those of the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.config.downstream import label_columns
from pairtile.config.preprocess import TwoTableAnalysis
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.large_table import empty_table
from pairtile.errors import InputError
from pairtile.io.expression import ORIENTATIONS, Expression, read_sparsely
from pairtile.io.names import join_first, match_samples
from pairtile.io.symbols import with_symbols
from pairtile.preprocess.expression import Prepared, prepare_expression
from pairtile.preprocess.items import unique_names
from pairtile.preprocess.samples import (
    annotated_samples,
    arrange_samples,
    read_samples,
    take_samples,
    without_empty_samples,
)

message = messages_of(__package__)

TABLES = ("expression", "other_expression")
"""What the column ``table`` of the items says, and the configuration."""

KEPT_APART = "other:"
"""Before the name of a row of the other table that has the name of a gene of the first."""


class TwoTables(NamedTuple):
    """``prepared``: of both tables, kept rows of the first before those of the other. ``rows``:
    int32, those of the other. ``parameters``: how each was prepared."""

    prepared: Prepared
    rows: NDArray[np.int32]
    parameters: dict[str, dict[str, object]]


def read_two_tables(config: TwoTableAnalysis, scratch: Path | None = None) -> TwoTables:
    """Read both tables of an analysis, match their samples by name, and prepare each by itself.

    What the configuration says of samples (replicates, time, batch) is said of those of both.

    Raises
    ------
    InputError
        As ``read_expression`` and ``prepare_expression`` for either table; fewer samples of the
        same name than ``min_samples``.
    """
    first = read_samples(config, scratch)
    other = _read_other(config, first, scratch)
    of_other = config.preprocess_of_other
    first, other, counts, said = _matched(first, other, config, scratch)
    effects = (*config.preprocess.regress_out, *of_other.regress_out, *label_columns(config))
    asked, chosen = tuple(dict.fromkeys(effects)), bool(config.obs)
    first, table = annotated_samples(first, config.samples, asked, scratch, chosen)
    place = pd.Index(other.samples).get_indexer(pd.Index(first.samples))
    other = take_samples(other, place.astype(np.int64), scratch)  # some may be unannotated
    done: list[Prepared] = []
    for expression, settings in ((first, config.preprocess), (other, of_other)):
        arranged, design = arrange_samples(
            expression, config.samples, settings.regress_out, scratch, table
        )
        if done:  # what is known of the samples was said with the first table
            known = set(done[0].messages)
            design = replace(design, notes=[note for note in design.notes if note not in known])
            # Random draws of a normalisation are keyed on names of samples: the same in both tables
            # they would make all rows of one a little like all rows of the other.
            names = [f"{KEPT_APART}{name}" for name in arranged.samples]
            arranged = replace(arranged, samples=names)
        done.append(prepare_expression(arranged, settings, True, design, scratch))
    joined = _joined(done[0], done[1], scratch)
    joined.counts.update(counts)
    joined.messages[:0] = said
    if twice := len(set(done[0].genes) & set(done[1].genes)):
        joined.messages.append(message("names_in_both_tables", n=twice, prefix=KEPT_APART))
    rows = np.arange(len(done[0].genes), len(joined.genes), dtype=np.int32)
    joined.items.loc[rows, "is_regulator"] = True
    parameters = {"preprocess": done[0].parameters, "other_preprocess": done[1].parameters}
    return TwoTables(joined, rows, parameters)


def _read_other(config: TwoTableAnalysis, first: Expression, scratch: Path | None) -> Expression:
    """The other table, its samples on the side that has names of the first table's."""
    known = set(first.samples)
    for orientation in ORIENTATIONS:
        expression = read_sparsely(
            config.other_expression or "",
            orientation,
            "auto",
            config.duplicates,
            config.ignore_versions,
            scratch,
            controls=bool(config.other_preprocess and config.other_preprocess.control_genes),
        )
        if known.intersection(expression.samples) or not known.intersection(expression.genes):
            break
    return with_symbols(without_empty_samples(expression, scratch), config.names, needed=False)


def _matched(
    first: Expression, other: Expression, config: TwoTableAnalysis, scratch: Path | None
) -> tuple[Expression, Expression, dict[str, int], list[Message]]:
    """Both tables with the samples that both have, in the order of the first."""
    same, said = match_samples(first.samples, other.samples, other.source)
    called = {name: sample for sample, name in same.items()}
    other = replace(other, samples=[called.get(name, name) for name in other.samples])
    place = pd.Index(other.samples).get_indexer(pd.Index(first.samples)).astype(np.int64)
    matched = np.flatnonzero(place >= 0)
    least = max(config.preprocess.min_samples, config.preprocess_of_other.min_samples)
    if matched.size < least:
        raise InputError.at(
            other.source,
            "",
            f"{matched.size} of its {len(other.samples)} samples ({join_first(other.samples)}) "
            f"among the {len(first.samples)} of {first.source} ({join_first(first.samples)})",
            f"at least min_samples ({least}) samples of the same name in both tables",
        )
    alone = [first.samples[k] for k in np.flatnonzero(place < 0)]
    other_alone = sorted(set(other.samples) - set(first.samples), key=other.samples.index)
    counts = {
        "samples_matched": int(matched.size),
        "samples_of_first_alone": len(alone),
        "samples_of_other_alone": len(other_alone),
    }
    for key, names in zip(TABLES, (alone, other_alone), strict=True):
        if names:
            shown = {"n": len(names), "names": join_first(names, 20), "all_names": names}
            said.append(message("samples_of_one_table", table=key, **shown))
    first = take_samples(first, matched, scratch)
    return first, take_samples(other, place[matched], scratch), counts, said


def _joined(first: Prepared, other: Prepared, scratch: Path | None) -> Prepared:
    """Both as one table: values, items and the account of both."""
    n_first, n_other = len(first.genes), len(other.genes)
    values = empty_table((n_first + n_other, len(first.samples)), scratch)
    values[:n_first], values[n_first:] = first.values, other.values
    taken = set(first.items["name"])
    names = [f"{KEPT_APART}{name}" if name in taken else name for name in other.items["name"]]
    others = other.items.assign(name=unique_names([*first.items["name"], *names])[len(taken) :])
    items = pd.concat([first.items, others], keys=TABLES, names=["table", None])
    items = items.reset_index(level="table").sort_values("kept", ascending=False, kind="stable")
    items = items.reset_index(drop=True).assign(item=np.arange(len(items), dtype=np.int32))
    items["table"] = items.pop("table").astype(object)
    if "symbol" in items:
        items["symbol"] = items["symbol"].fillna(items["name"])
    of_samples = {"samples", "hidden_factors", *first.design.counts}
    counts = dict(first.counts)
    for key, n in other.counts.items():
        counts[key] = counts.get(key, 0) + (0 if key in of_samples else n)
    # The correlation of a row of values in a space V with one in a space W has a mean square of
    # tr(P_V P_W) / (dim V dim W): 1 / (n - 1) where one table has lost nothing, and 1 / dim V where
    # both lost the same, which at most the smaller number of degrees can be.
    given_up = min(first.design.degrees_given_up, other.design.degrees_given_up)
    return Prepared(
        values=values,
        genes=items["name"].tolist()[: n_first + n_other],
        samples=first.samples,
        items=items,
        counts=counts,
        messages=[*first.messages, *map(_of_other, other.messages)],
        parameters=first.parameters,
        quality=first.quality,
        design=replace(first.design, given_up=given_up),
        other_names={**other.other_names, **first.other_names},
    )


def _of_other(said: Message) -> Message:
    key = f"other_{said.key}" if said.key.startswith("preprocess.") else said.key
    return Message(f"other_expression: {said}", said.code, said.severity, said.numbers, key)
