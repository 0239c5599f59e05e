"""``pairtile compare``: two networks side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from pairtile.config.models import UsedBy, in_sections, marked
from pairtile.config.root import models
from pairtile.declare.messages import Message, messages_of
from pairtile.errors import InputError
from pairtile.io.adj import is_adj, read_adj
from pairtile.io.names import GeneNames, kind_of_names
from pairtile.method import value_columns
from pairtile.runtime.files import read_json
from pairtile.statistics.comparison import Comparison, compare_networks

message = messages_of(__package__)


def compare(first: Path, second: Path, as_json: bool = False) -> str:
    """Compare two networks; returns what is to be printed.

    Raises
    ------
    InputError
        For a file that is not there or is no network.
    """
    one, two = read_network(first), read_network(second)
    two, said = _names_of(one).spell(two, ["source", "target"], f"names in {second}")
    if not said:
        one, said = _names_of(two).spell(one, ["source", "target"], f"names in {first}")
    found = compare_networks(one, two)
    differ = differing_settings(first, second)
    if as_json:
        content = found.as_dict() | {"settings_that_differ": differ, "notes": said}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    lines = [*_lines(found, one, two, str(first), str(second)), *said]
    if differ:
        lines += ["", f"warning: {_on_settings(differ, str(first))}"]
    return "\n".join(lines) + "\n"


def _names_of(network: pd.DataFrame) -> GeneNames:
    """What a network joins, with symbols where its table has them."""
    items = (
        pd.concat(
            [
                pd.DataFrame({"name": network[end], "symbol": network.get(f"{end}_symbol", "")})
                for end in ("source", "target")
            ]
        )
        .drop_duplicates("name")
        .assign(kept=True)
    )
    return GeneNames.of_items(items, False, False)


def differing_settings(first: Path, second: Path) -> dict[str, list[object]]:
    """Settings that have other values in the two analyses, by names such as ``estimator.bins``.

    ``auto`` counts as it was decided. Data (files, ``obs``), what only the run needs and what
    follows the network (modules, traits, exports) are left aside; empty where a network has no
    ``summary.json`` beside it.
    """
    (one, files), (two, other_files) = map(_settings, (first, second))
    if not one or not two:
        return {}
    if one["method"] != two["method"]:
        return {"method": [one["method"], two["method"]]}
    marks = marked(models()[str(one["method"])], UsedBy)
    making = ("prepare", "score", "network")  # steps that make a network
    after = {key for key, mark in marks.items() if {*mark.steps}.isdisjoint(making)}
    aside = {"seed", "chunks", "reuse", "obs", *after, *files, *other_files}
    differ = differences(one, two)
    return {key: values for key, values in differ.items() if key.split(".")[0] not in aside}


def _summary(path: Path) -> dict[str, Any]:
    """That of the analysis of a network; empty where none is beside it."""
    file = (path if path.is_dir() else path.parent) / "summary.json"
    return read_json(file) if file.is_file() else {}


def _settings(path: Path) -> tuple[dict[str, object], set[str]]:
    """The settings of an analysis as they were decided, and the keys that name its files."""
    summary = _summary(path)
    settings = summary.get("parameters") or {}
    method = (summary.get("threshold") or {}).get("method")
    if method and (settings.get("threshold") or {}).get("method") == "auto":
        settings["threshold"]["method"] = method
    (settings.get("preprocess") or {}).pop("log2_requested", None)
    return settings, set(summary.get("inputs") or {})


def differences(
    one: Mapping[str, object], two: Mapping[str, object], prefix: str = ""
) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for key in dict.fromkeys([*one, *two]):
        a, b = one.get(key), two.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found |= differences(a, b, f"{prefix}{key}.")
        elif a != b:
            found[prefix + key] = [a, b]
    return found


def _on_settings(differ: Mapping[str, Sequence[object]], first: str) -> Message:
    written = in_sections({key: value for key, (value, _) in differ.items()})
    text = yaml.safe_dump(written, default_flow_style=True, sort_keys=False, width=10**6)
    return message(
        "compared_settings_differ",
        n=len(differ),
        listed=", ".join(f"{key} ({a} and {b})" for key, (a, b) in differ.items()),
        first=first,
        written=text.strip()[1:-1],
    )


def read_network(path: Path) -> pd.DataFrame:
    """A network that pairtile or ARACNe (``.adj``) wrote: source, target, score (what ranks it).

    Raises
    ------
    InputError
        As ``compare``.
    """
    file = path / "network.parquet" if path.is_dir() else path
    if (groups := path / "groups.tsv").is_file():
        names = pd.read_csv(groups, sep="\t", dtype=str)["analysis"]
        one_of = ", ".join(str(path.parent / name) for name in names)
        raise InputError.at(path, "", "the groups of a table that was split", f"one of {one_of}")
    if is_adj(file):
        return pd.DataFrame(
            [row for _, row in read_adj(file)], columns=["source", "target", "score"]
        ).astype({"score": float})
    try:
        if file.suffix == ".parquet":
            table = pd.read_parquet(file)
        else:
            table = pd.read_csv(file, sep="\t", dtype={"source": str, "target": str})
    except (OSError, ValueError) as error:
        raise InputError.at(
            file,
            "",
            getattr(error, "strerror", None) or str(error).splitlines()[0],
            "a network.parquet or network.tsv",
        ) from error
    missing = [name for name in ("source", "target") if name not in table]
    summary = _summary(path)
    recorded = (summary.get("ranked_by") or {}).get("score")
    known = (recorded, *value_columns(table, summary.get("method", "")))
    score = next((name for name in known if name in table), None)
    if missing or score is None:
        raise InputError.at(
            file,
            "header",
            f"columns {', '.join(table.columns)}",
            "source, target and the score of a method",
        )
    symbols = [name for name in ("source_symbol", "target_symbol") if name in table]
    return table[["source", "target", *symbols]].assign(score=table[score].astype(float))


def _lines(
    found: Comparison, one: pd.DataFrame, two: pd.DataFrame, first: str, second: str
) -> list[str]:
    width = max(len(first), len(second))
    sizes = [
        f"{first:{width}}  {found.pairs_first:,} pairs of {found.items_first:,} items",
        f"{second:{width}}  {found.pairs_second:,} pairs of {found.items_second:,} items",
        "",
    ]
    if empty := [name for name, edges in ((first, one), (second, two)) if edges.empty]:
        return [*sizes, *(f"{name}: an empty network" for name in empty)]
    if not found.items_shared:
        kinds = (kind_of_names(some["target"].tolist()) for some in (one, two))
        return [*sizes, "shared items: none ({}; {})".format(*kinds)]
    symbols = {
        name: symbol
        for some in (one, two)
        for end in ("source", "target")
        for name, symbol in zip(some[end], some.get(f"{end}_symbol", some[end]), strict=True)
    }
    called = lambda hubs: ", ".join(symbols[hub] or hub for hub in hubs) or "none"  # noqa: E731
    shared = found.shared_hubs
    return [
        *sizes,
        f"shared items: {found.items_shared:,}",
        f"shared pairs: {found.pairs_shared:,} (Jaccard {found.jaccard:.3f}; chance of as many "
        f"or more at random: {found.p_overlap:.2g})",
        f"rank correlation of their scores: {found.rank_correlation:.3f}",
        f"opposite signs: {found.sign_changes:,}",
        f"hubs of both: {called(found.shared_hubs)}",
        f"only of {first}: {called(hub for hub in found.hubs_first if hub not in shared)}",
        f"only of {second}: {called(hub for hub in found.hubs_second if hub not in shared)}",
    ]
