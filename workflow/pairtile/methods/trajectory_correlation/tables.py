"""Files of ``trajectory_correlation`` beside the network: matrices, residues, structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.linalg import eigh

from pairtile.arrays import (
    AnyArray,
    BoolArray,
    Float64Array,
    FloatingArray,
    Int32Array,
    IntegerArray,
)
from pairtile.declare.messages import messages_of
from pairtile.engine.estimator import Estimator, MergedResults, TableSummary
from pairtile.engine.large_table import row_blocks
from pairtile.methods.trajectory_correlation.arrays import MotionArrays
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.differences import LEVEL, write_difference
from pairtile.methods.trajectory_correlation.matrices import (
    COORDINATE_SUMS,
    StreamedPairs,
    columns_of,
    coordinate_sum,
    correlation_matrix,
    residue_sums,
    write_g_correlation_text,
    write_matrices,
)
from pairtile.methods.trajectory_correlation.network import (
    CENTRALITIES,
    MAX_EDGES,
    TRANSFER,
    WAYS,
    ResidueNetwork,
    ResiduePath,
    candidate_q_values,
    directed_pairs,
    path_ends,
    shortest_paths,
)
from pairtile.methods.trajectory_correlation.residues import in_contact, pairs_in_contact
from pairtile.methods.trajectory_correlation.structures import (
    centred_structure,
    path_links,
    residue_communities,
    residue_means,
    strongest_links,
    write_chimerax_attributes,
    write_script,
    write_structure_pdb,
)
from pairtile.runtime.files import write_parquet, write_tsv

message = messages_of(__package__)

MAX_BETWEENNESS = 6e9
"""Nodes times edges, above which betweenness is left out; 1e9 take about a minute."""


def write_trajectory_tables(
    opened: Estimator[TrajectoryCorrelationConfig, MotionArrays],
    merged: MergedResults,
    items: pd.DataFrame,
    folder: Path,
) -> TableSummary:
    """Write what the section asks for; says what was left out, and why."""
    config = opened.config
    pairs = StreamedPairs(opened.schema().names, lambda names: merged.batches([*names]))
    written = TableSummary()
    also: dict[str, Callable[[], AnyArray]] = {}
    if "frames.tsv" in config.result_tables():
        frames, shares = frames_table(opened.state)
        write_tsv(folder / "frames.tsv", frames)
        also["component_shares"] = lambda: shares
    if config.pairs == "all":
        _write_matrices(opened, merged, pairs, items, folder, also)
    else:
        written.messages.append(message("no_matrices", n=int(merged.sums["pairs"].sum())))
    edges, number = merged.network, pd.Index(items.loc[items["kept"], "name"])
    directed = pd.DataFrame()
    if config.direction:
        scored = merged.batches(["i", "j", *(way + name for way in WAYS for name in TRANSFER)])
        directed = directed_pairs(
            pa.concat_tables(scored).to_pandas(), number, int(opened.state["lag"])
        )
        write_parquet(folder / "directions.parquet", directed, __package__)
        significant = directed[directed["q_value"] <= LEVEL]
        write_tsv(folder / "directed_network.tsv", significant)
        written.counts["directed_edges"] = len(significant)
    if config.g_correlation_text:
        write_g_correlation_text(
            folder / "g_correlation.txt", correlation_matrix(pairs, items, config.score)
        )
    assert edges is not None
    i, j = (number.get_indexer(edges[end]) for end in ("source", "target"))
    whole = network = ResidueNetwork.of_edges(len(number), i, j, edges[config.score])
    if network.correlation.size > MAX_EDGES:
        written.messages.append(
            message("network_too_large", n=network.correlation.size, most=MAX_EDGES)
        )
        network = ResidueNetwork.of_edges(network.n_nodes, [], [], [])
    communities: dict[str, Int32Array] = {
        method: network.communities(method, opened.seed) for method in config.communities
    }
    for method, found in communities.items():
        written.counts[f"communities_{method}"] = int(found.max(initial=0))
    means = mean_correlation(merged, network.n_nodes, config.score)
    centralities = {name: np.full(network.n_nodes, np.nan) for name in CENTRALITIES}
    cost = network.n_nodes * float(network.correlation.size)
    if network is whole and cost <= MAX_BETWEENNESS:
        centralities = network.centralities()
    elif network is whole:
        written.messages.append(
            message(
                "no_centralities",
                nodes=network.n_nodes,
                edges=network.correlation.size,
                minutes=cost / 1e9,
            )
        )
    table = residue_table(items, whole, communities, centralities, means)
    for name, end in {"te_out": "source", "te_in": "target"}.items() if config.direction else ():
        table[name] = table["name"].map(directed.groupby(end)["te_share"].mean())
    write_tsv(folder / "residues.tsv", table)
    if config.domains or communities:
        groups = {
            **({"domain": table["domain"].to_numpy(dtype=object)} if config.domains else {}),
            **{f"community_{name}": found for name, found in communities.items()},
        }
        write_tsv(folder / "domains.tsv", group_table(groups, network, merged, config.score))
    if communities:
        agreement = {
            method: float(merged.scores.get(f"community_agreement_{method}", np.nan))
            for method in communities
        }
        write_tsv(
            folder / "communities.tsv", community_table(items, network, communities, agreement)
        )
    first_paths: list[ResiduePath] = []
    if config.paths:
        ends = path_ends(items, config.paths)
        wanted = config.suboptimal_paths
        paths = [shortest_paths(network, start, end, wanted) for start, end in ends]
        write_tsv(folder / "paths.tsv", path_table(items, network, ends, paths))
        written.counts["paths_found"] = sum(map(len, paths))
        first_paths = [found[0] for found in paths if found]
        for (source, target), between in zip(config.paths, paths, strict=True):
            if not between:
                written.messages.append(message("no_path", source=source, target=target))
    if "structure" in opened.state:
        first = next(iter(communities.values()), np.zeros(network.n_nodes, dtype=np.int32))
        _write_structure(opened, edges, items, first, table, first_paths, folder)
    if config.compare is not None:
        write_difference(
            opened, config.compare, pairs, items, whole.correlation.size, folder, written
        )
    return written


def mean_correlation(merged: MergedResults, n_items: int, score: str) -> Float64Array:
    """Mean size of the correlation (the column ``score``) of each item in all pairs that were
    scored; NaN for one in none."""
    total, pairs = np.zeros(n_items), np.zeros(n_items)
    for part in merged.batches(["i", "j", score]):
        size = np.abs(part[score].to_numpy())
        for end in ("i", "j"):
            total += np.bincount(part[end].to_numpy(), size, minlength=n_items)
            pairs += np.bincount(part[end].to_numpy(), minlength=n_items)
    return total / np.where(pairs > 0, pairs, np.nan)


def _write_matrices(
    opened: Estimator[TrajectoryCorrelationConfig, MotionArrays],
    merged: MergedResults,
    pairs: StreamedPairs,
    items: pd.DataFrame,
    folder: Path,
    also: dict[str, Callable[[], AnyArray]],
) -> None:
    kept, contacts = items[items["kept"]], opened.config.contact_rule

    def q_values() -> FloatingArray:
        columns = pa.concat_tables(merged.batches(["i", "j", "p_value"]))
        i, j = columns["i"].to_numpy(), columns["j"].to_numpy()
        there = in_contact(i, j, opened.state, contacts.fraction) if contacts else None
        q = candidate_q_values(columns["p_value"].to_numpy(), there)
        table = pd.DataFrame({"i": i, "j": j, "q_value": q}, copy=False)
        return correlation_matrix(table, items, "q_value")

    def contact() -> BoolArray:
        matrix = np.zeros((len(kept), len(kept)), dtype=bool)
        assert contacts
        i, j = pairs_in_contact(opened.state, contacts.fraction)
        matrix[i, j] = matrix[j, i] = True
        return matrix

    if opened.config.estimator.surrogates:
        also["q_value"] = q_values
    if contacts:
        also["contact"] = contact
    if opened.config.variables == "coordinates" and not opened.config.estimator.facts.signed:
        also |= {name: partial(coordinate_sum, pairs, items, name) for name in COORDINATE_SUMS}
        names = kept["name"].iloc[::3].str.removesuffix(":x")
        also["block_labels"] = lambda: names.to_numpy(dtype=np.str_)
    if opened.config.variables == "dihedrals":
        also |= {
            f"{name.removesuffix('_nats')}_residue_sum": partial(residue_sums, pairs, items, name)
            for name in ("mi_nats", "mi_centred")
            if name in pairs.columns
        }
        residues = kept.drop_duplicates("residue")
        labels = [
            name.removesuffix(f":{atom}")
            for name, atom in zip(residues["name"], residues["atom"], strict=True)
        ]
        also["block_labels"] = lambda: np.array(labels, dtype=np.str_)
    write_matrices(folder / "matrices.npz", pairs, items, also=also)


def _write_structure(
    opened: Estimator[TrajectoryCorrelationConfig, MotionArrays],
    edges: pd.DataFrame,
    items: pd.DataFrame,
    communities: Int32Array,
    table: pd.DataFrame,
    paths: Sequence[ResiduePath],
    folder: Path,
) -> None:
    """The structure with mean correlations and communities, scripts that draw the strongest edges
    of the network and the shortest paths, and attributes for ChimeraX."""
    state = centred_structure(opened.state)
    structure = state["structure"]
    kept = items[items["kept"]]
    n_residues = int(structure["residue"].max(initial=-1)) + 1
    of_residues = residue_communities(kept, communities, n_residues)
    write_structure_pdb(
        folder / "structure.pdb",
        structure,
        100.0 * residue_means(kept, table["mean_correlation"], n_residues),
        of_residues,
        "100 X MEAN CORRELATION WITH "
        + ("ALL OTHERS" if opened.config.pairs == "all" else "THOSE IN CONTACT"),
    )
    number = pd.Index(kept["name"])
    links = strongest_links(
        items,
        state,
        number.get_indexer(edges["source"]),
        number.get_indexer(edges["target"]),
        edges[opened.config.score],
        opened.config.draw_strongest,
    )
    drawn = [path_links(items, state, nodes) for _, nodes in paths]
    values = {
        name: residue_means(kept, table[name], n_residues)
        for name in (*CENTRALITIES, "mean_correlation", "sd")
    }
    for suffix in ("pml", "vmd", "cxc"):
        write_script(
            folder / f"structure.{suffix}",
            "structure.pdb",
            links,
            int(communities.max(initial=0)),
            drawn,
            structure,
            values,
        )
    write_chimerax_attributes(
        folder / "structure.defattr", structure, {"community": of_residues, **values}
    )


# --- tables of residues ---------------------------------------------------------------------------


PLACE = ("name", "chain", "resid", "icode", "resname", "atom", "domain", "secondary_structure")
"""Columns of the items table that say where a variable lies; those that are there are taken."""

MOTION = ("sd", "correlation_time", "n_effective")
"""Columns of the items table that say how it moves."""


def residue_table(
    items: pd.DataFrame,
    network: ResidueNetwork,
    communities: Mapping[str, IntegerArray],
    centralities: Mapping[str, Float64Array],
    mean_correlation: Float64Array,
) -> pd.DataFrame:
    """One row for each variable that is paired, in the order of items (``residues.tsv``).

    Columns are those of ``residues.tsv`` in ``columns.toml``.

    ``communities``: by method, as ``ResidueNetwork.communities`` gives them. ``centralities``:
    NaN where they are too much to ask for.
    """
    kept = items[items["kept"]]
    weights = np.repeat(network.correlation, 2)
    return pd.DataFrame(
        {
            "item": kept.index.to_numpy(dtype=np.int32),
            **{column: kept[column].to_numpy() for column in PLACE if column in kept},
            **{f"community_{method}": np.asarray(found) for method, found in communities.items()},
            **centralities,
            "degree": network.degree(),
            "strength": np.bincount(network.ends.ravel(), weights, minlength=network.n_nodes),
            "mean_correlation": mean_correlation,
            **{column: kept[column].to_numpy() for column in MOTION if column in kept},
        },
        index=kept.index,
    ).reset_index(drop=True)


def group_table(
    groups: Mapping[str, AnyArray],
    network: ResidueNetwork,
    merged: MergedResults,
    score: str,
) -> pd.DataFrame:
    """One row for each two groups of variables, or a group with itself (``domains.tsv``).

    Columns are those of ``domains.tsv`` in ``columns.toml``.

    ``groups``: group of each variable by kind; empty text and 0 are none.
    """
    tables = []
    for kind, member in groups.items():
        names, number = np.unique(member.astype(str), return_inverse=True)
        n = len(names)
        total, pairs = np.zeros(n * n), np.zeros(n * n, dtype=np.int64)
        for part in merged.batches(["i", "j", score]):
            ends = np.sort([number[part[end].to_numpy()] for end in ("i", "j")], axis=0)
            cell, size = ends[0] * n + ends[1], np.abs(part[score].to_numpy())
            total += np.bincount(cell, np.nan_to_num(size), minlength=n * n)
            pairs += np.bincount(cell, minlength=n * n)
        ends = np.sort(number[network.ends], axis=1)
        first, second = np.divmod(np.arange(n * n), n)
        none = np.isin(names, ["", "0"])
        there = (pairs > 0) & ~none[first] & ~none[second]
        tables.append(
            pd.DataFrame(
                {
                    "kind": kind,
                    "first": names[first[there]],
                    "second": names[second[there]],
                    "n_pairs": pairs[there],
                    "mean_score": total[there] / pairs[there],
                    "edges": np.bincount(ends[:, 0] * n + ends[:, 1], minlength=n * n)[there],
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def community_table(
    items: pd.DataFrame,
    network: ResidueNetwork,
    communities: Mapping[str, IntegerArray],
    agreement: Mapping[str, float],
) -> pd.DataFrame:
    """One row for each community of each method, the largest first (``communities.tsv``).

    Columns are those of ``communities.tsv`` in ``columns.toml``.
    """
    names = items.loc[items["kept"], "name"].astype(str).to_numpy(dtype=object)
    rows = []
    for method, found in communities.items():
        member = np.asarray(found)
        score = network.modularity(member)
        at = member[network.ends]
        for number in range(1, int(member.max(initial=0)) + 1):
            inside = (at == number).all(axis=1)
            within = network.correlation[inside]
            rows.append(
                {
                    "method": method,
                    "community": number,
                    "n_members": int((member == number).sum()),
                    "edges_within": int(inside.sum()),
                    "edges_out": int(((at == number).any(axis=1) & ~inside).sum()),
                    "mean_correlation": float(within.mean()) if within.size else np.nan,
                    "modularity": score,
                    "members": " ".join(names[member == number]),
                    "agreement": agreement[method],
                }
            )
    return pd.DataFrame(rows, columns=columns_of("communities.tsv"))


def path_table(
    items: pd.DataFrame,
    network: ResidueNetwork,
    ends: Sequence[tuple[int, int]],
    paths: Sequence[Sequence[ResiduePath]],
) -> pd.DataFrame:
    """One row for each path, those of the same ends together, shortest first (``paths.tsv``).

    Columns are those of ``paths.tsv`` in ``columns.toml``.
    """
    kept = items[items["kept"]]
    numbers, names = kept.index.astype(str), kept["name"].astype(str).tolist()
    size = {
        (min(a, b), max(a, b)): value
        for (a, b), value in zip(network.ends.tolist(), network.correlation.tolist(), strict=True)
    }
    rows: list[dict[str, object]] = []
    for (start, end), found in zip(ends, paths, strict=True):
        between = {"source": names[start], "target": names[end]}
        if not found:
            rows.append({**between, "rank": None, "path": "", "items": ""})
        for rank, (length, nodes) in enumerate(found, start=1):
            steps = pairwise(nodes)
            rows.append(
                {
                    **between,
                    "rank": rank,
                    "length": length,
                    "n_edges": len(nodes) - 1,
                    "weakest_correlation": min(size[min(a, b), max(a, b)] for a, b in steps),
                    "path": " ".join(names[node] for node in nodes),
                    "items": " ".join(numbers[node] for node in nodes),
                }
            )
    table = pd.DataFrame(rows, columns=columns_of("paths.tsv"))
    return table.astype({"rank": "Int32", "n_edges": "Int32", "length": np.float64})


# --- the motion of the whole: distance from the first frame, and principal components -------------


COMPONENTS = 2
MAX_COORDINATES = 6_000
"""Of the covariance whose axes are sought; more would take minutes and gigabytes."""

BLOCK_VALUES = 1 << 23


def frames_table(state: MotionArrays) -> tuple[pd.DataFrame, Float64Array]:
    """One row for each frame of each replica (``frames.tsv``), and the share of the variance that
    each component explains, float64 (2,).

    Columns are those of ``frames.tsv`` in ``columns.toml``.

    ``state``: ``series`` (positions, 3, frames of all replicas), ``replica_offsets``,
    ``frame_interval_ps``. Components are axes of the covariance of all frames about their common
    mean, so that replicas lie in one picture (Amadei et al. 1993); the sign of each is that of its
    largest coordinate.
    """
    series, offsets = state["series"], np.asarray(state["replica_offsets"])
    n, _, n_frames = series.shape
    first = np.asarray(series[:, :, 0], dtype=np.float64)
    rmsd, projected = np.empty(n_frames), np.full((n_frames, COMPONENTS), np.nan)
    axes, mean, shares = _components(series)
    for block in row_blocks((n_frames, 3 * n), BLOCK_VALUES):
        values = np.asarray(series[:, :, block], dtype=np.float64)
        rmsd[block] = np.sqrt(((values - first[:, :, None]) ** 2).sum(axis=1).mean(axis=0))
        if axes is not None:
            projected[block] = (values.reshape(3 * n, -1) - mean[:, None]).T @ axes
    intervals = np.array(state["frame_interval_ps"], dtype=np.float64)
    if state.get("ensemble"):
        intervals[:] = np.nan
    parts = []
    for replica, (begin, end) in enumerate(pairwise(offsets.tolist())):
        frame = np.arange(end - begin)
        parts.append(
            pd.DataFrame(
                {
                    "replica": replica + 1,
                    "frame": frame,
                    "time_ps": frame * intervals[replica],
                    "rmsd": rmsd[begin:end],
                    **{f"pc{k + 1}": projected[begin:end, k] for k in range(COMPONENTS)},
                }
            )
        )
    return pd.concat(parts, ignore_index=True), shares


def _components(
    series: FloatingArray,
) -> tuple[Float64Array | None, Float64Array, Float64Array]:
    """Axes (3 n, 2), the mean (3 n,), and shares of the variance (2,); no axes of too many."""
    n, _, n_frames = series.shape
    size = 3 * n
    if size > MAX_COORDINATES or n_frames < 3:
        return None, np.empty(0), np.full(COMPONENTS, np.nan)
    mean = np.asarray(series.mean(axis=2), dtype=np.float64).reshape(size)
    covariance = np.zeros((size, size))
    for block in row_blocks((n_frames, size), BLOCK_VALUES):
        moves = np.asarray(series[:, :, block], dtype=np.float64).reshape(size, -1) - mean[:, None]
        covariance += moves @ moves.T
    total = float(np.trace(covariance))
    variance, axes = eigh(covariance, subset_by_index=[size - COMPONENTS, size - 1])
    best = axes[:, ::-1]
    largest = best[np.abs(best).argmax(axis=0), np.arange(COMPONENTS)]
    shares = variance[::-1] / total if total > 0 else np.zeros(COMPONENTS)
    return best * np.sign(largest), mean, shares
