"""Networks to write and read back: plain, awkward, large, empty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from pairtile.config.export_formats import EXPORT_FORMATS
from pairtile.io.networks import export_network

AWKWARD = [
    "NA",
    "007",
    "1e5",
    "=cmd|'/c calc'!A1",
    'quo"ted',
    '"all"',
    "it's",
    "two words",
    " edge ",
    "a,b;c",
    "αβ-クリスタリン",
    "\U0001f9ec",
    "<b>&amp;</b>",
    "</script><script>document.title='stolen'</script>",
    "back\\slash",
    "{{ name }}",
]
"""Names that some format, reader or page could take for something else."""

METADATA: dict[str, str | int | float | bool | None] = {
    "method": "mutual_information",
    "genes_kept": 7,
    "threshold_bits": 0.25,
    "none": None,
}


def items_table(names: list[str], n_regulators: int = 0) -> pd.DataFrame:
    """An items table of kept genes, and one dropped gene after them."""
    n = len(names)
    kept = np.arange(n + 1) < n
    return pd.DataFrame(
        {
            "item": np.arange(n + 1, dtype=np.int32),
            "name": pd.Series([*names, "dropped"], dtype=object),
            "kept": kept,
            "reason": np.where(kept, "", "too few samples").astype(object),
            "n_observed": np.arange(30, 31 + n, dtype=np.int32),
            "mean": np.linspace(-2, 9, n + 1),
            "sd": np.where(np.arange(n + 1) == 1, np.nan, 1 / 3),
            "constant": np.zeros(n + 1, dtype=bool),
            "is_regulator": np.arange(n + 1) < n_regulators,
        }
    )


def chain(names: list[str], directed: bool = False) -> pd.DataFrame:
    """Each gene linked to the next, by awkward numbers; directed: the first pair both ways."""
    source, target = names[:-1], names[1:]
    if directed:
        source, target = [*source, names[1]], [*target, names[0]]
    n = len(source)
    mi = 1 / np.arange(3, 3 + n)
    return pd.DataFrame(
        {
            "source": pd.Series(source, dtype=object),
            "target": pd.Series(target, dtype=object),
            "mi_bits": mi,
            "p_value": np.where(np.arange(n) == 0, np.nan, 1e-300 * mi),
            "q_value": np.nextafter(mi, 1),
            "target_z" if directed else "clr": np.arange(n) * 1.5,
            "support": np.arange(n, dtype=np.int64),
            "p_method": pd.Series(["empirical", "extrapolated"] * n, dtype=object)[:n],
        }
    )


def large(n_genes: int, n_edges: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A random undirected network without repeated pairs."""
    random = np.random.default_rng(1)
    code = random.choice(n_genes * (n_genes - 1) // 2, n_edges, replace=False)
    first, second = np.triu_indices(n_genes, 1)
    names = np.array([f"gene{k}" for k in range(n_genes)], dtype=object)
    network = pd.DataFrame({"source": names[first[code]], "target": names[second[code]]})
    for column in ("mi_bits", "p_value", "q_value", "clr"):
        network[column] = random.random(n_edges)
    return network, items_table(list(names), n_regulators=50)


def write(
    folder: Path,
    format: str,
    network: pd.DataFrame,
    items: pd.DataFrame,
    *,
    directed: bool = False,
    score: str | None = None,
) -> Path:
    """Export a network, ranked by ``score``, into ``folder`` under its usual name."""
    path = folder / f"network.{EXPORT_FORMATS[format].suffix}"
    of_modes = {"method": "multimodal_correlation"} if "correlation" in network else {}
    about = {"directed": directed, "name": 'demo "1" <α>', "metadata": METADATA | of_modes}
    export_network(network, items, format, path, score=score, **about)
    return path


NAMES = st.lists(
    st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"),
        min_size=1,
        max_size=8,
    ),
    min_size=2,
    max_size=6,
    unique=True,
)
