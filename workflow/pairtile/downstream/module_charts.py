"""Figures of modules."""

from __future__ import annotations

import numpy as np

from pairtile.downstream.traits import Q_VALUE
from pairtile.report.charts import DIVERGING, heat_map
from pairtile.report.formats import shortened
from pairtile.report.method_report import FigureWithText
from pairtile.report.results import Results, read_result_table
from pairtile.report.text import page_text

MAX_MODULES = 40
"""Modules in the heat map, the largest."""


def module_traits_figure(results: Results) -> FigureWithText | None:
    """Correlations of eigengenes with traits, a dot where q is small."""
    path = results.folder / "module_traits.tsv"
    if not path.is_file():
        return None
    table = read_result_table(path, __package__)
    table = table[table["module"] <= MAX_MODULES]
    if table.empty:
        return None
    r = table.pivot(index="module", columns="trait", values="correlation")
    q = table.pivot(index="module", columns="trait", values="q_value").to_numpy()
    drawn = heat_map(
        r.to_numpy(dtype=float), "correlation", cmap=DIVERGING, aspect="auto",
        rows={k: f"module {name}" for k, name in enumerate(r.index)},
        columns={k: shortened(str(name), 18) for k, name in enumerate(r.columns)},
        hover={"module": [*map(str, r.index)], "trait": [*map(str, r.columns)]},
        dots=np.nan_to_num(q, nan=1.0) <= Q_VALUE, size=(6.4, 1.8 + 0.25 * len(r)),
    )  # fmt: skip
    return page_text(results).figure(
        "module_traits", drawn, modules=len(r), traits=r.shape[1], found=int((q <= Q_VALUE).sum())
    )
