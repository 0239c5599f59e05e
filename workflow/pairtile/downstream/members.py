"""Who regulates whom, and which genes belong together: tables of regulators and of modules."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pandas as pd

from pairtile.io.networks.drawing import MAX_MODULES, Grouping
from pairtile.method import sign_column
from pairtile.report.formats import join_list
from pairtile.report.method_report import (
    CaptionedFigure,
    PageSection,
    Results,
    module_of_gene,
    needed,
)
from pairtile.report.sections.network import SAVED_TABLE, drawn
from pairtile.statistics.modules import module_table

MAX_REGULATORS = 2000
BEST_TARGETS = 5


def members_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """A row for each regulator of a directed network, and one for each module.

    For methods whose items are genes: they name it among their sections.
    """
    needed(results.network)
    found, names = results.cached(node_groups)
    module = pd.Series(found.of_node, index=names)
    regulators = _regulators(results, module) if results.directed else []
    source = results.text.regulator if results.regulators else "source"
    sources = f"{source}s"
    return PageSection(
        id="members",
        title=join_list([*([sources] if regulators else []), found.words]).capitalize(),
        template="section_members.html.j2",
        values={
            "source": source,
            "sources": sources,
            "regulators": regulators[:MAX_REGULATORS],
            "n_regulators": len(regulators),
            "identifiers": any(row["identifier"] for row in regulators),
            "best": BEST_TARGETS,
            # Genes of a module that are named at once; the others open.
            "first": 8,
            "signs": _signs(results.network, results.method) is not None,
            "groups": found,
            "modules": _modules(results, module),
            "n_modules": results.cached(drawn)["n_modules"],
            "columns": list(found.columns),
            "text": results.text,
        },
        scripts=(*SAVED_TABLE, "saved_tables.js"),
    )


def node_groups(results: Results) -> tuple[Grouping, pd.Index[str]]:
    """The groups of all genes with an edge, in the order of ``results.degree``, then of those
    without one that are in a module: what the analysis has found, else those of the drawing."""
    of_stage = results.cached(module_of_gene)
    names = results.degree.index
    names = names.append(of_stage.index[of_stage > 0].difference(names, sort=False))
    given = results.method_report.grouping(results, names)
    if given is not None:
        return given, names
    data = results.cached(drawn)
    of_node = pd.Series({name: number for name, _, _, _, _, number, *_ in data["nodes"]})
    groups = of_node.reindex(names, fill_value=0).to_numpy(dtype=np.int64)
    return Grouping(groups, data["word"], data["words"], data["how"]), names


def _signs(edges: pd.DataFrame, method: str) -> pd.DataFrame | None:
    """Of each edge, whether it activates and whether it represses; None where no column says."""
    if word := sign_column(edges, method, text=True):
        sign = edges[word].map({"activation": 1, "repression": -1})
    elif number := sign_column(edges, method):
        sign = edges[number]
    else:
        return None
    return pd.DataFrame({"up": sign > 0, "down": sign < 0})


def _regulators(results: Results, module: pd.Series) -> list[dict[Hashable, object]]:
    """A row for each source, those with most targets first."""
    edges = results.network.iloc[np.argsort(-results.score, kind="stable")]
    edges = edges.drop_duplicates(["source", "target"])
    by_source = edges.groupby("source", sort=False)
    table = pd.DataFrame({"targets": by_source.size()})
    best = by_source.head(BEST_TARGETS)
    table["best"] = best.groupby("source")["target"].agg(", ".join)
    signs = _signs(edges, results.method)
    if signs is not None:
        table[["up", "down"]] = signs.groupby(edges["source"]).mean()
    table["module"] = module.reindex(table.index)
    table = table.rename_axis("name").reset_index()
    # What items with a symbol are called in the files, where the page's name does not say it.
    items = results.items.drop_duplicates("name")
    named = zip(items["name"], items["identifier"], strict=True)
    identifiers = {name: identifier for name, identifier in named if identifier not in name}
    table["identifier"] = [identifiers.get(name, "") for name in table["name"]]
    return table.sort_values(["targets", "name"], ascending=[False, True]).to_dict("records")


def _modules(results: Results, module: pd.Series) -> list[dict[Hashable, object]]:
    """A row for each module, the largest first."""
    place = {name: k for k, name in enumerate(module.index)}
    edges = results.network[results.network["source"] != results.network["target"]]
    first, second = (edges[end].map(place) for end in ("source", "target"))
    numbers = module.to_numpy()
    # Pairs are counted, whatever their edges are worth.
    table = module_table(numbers, first, second, np.ones(len(edges)))
    more = results.cached(node_groups)[0].columns
    rows = []
    for row in table.head(MAX_MODULES).to_dict("records"):
        number = int(row["module"])
        # In the order of ``results.degree``: hubs first.
        names = module.index[numbers == number].tolist()
        cells = [column.get(number, "") for column in more.values()]
        rows.append({**row, "number": number, "names": names, "more": cells})
    return rows
