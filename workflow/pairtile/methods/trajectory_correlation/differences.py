"""How two analyses differ: pair by pair, residue by residue, in contacts and in communities.

With two replicas or more in both, differences are tested with replicas as the unit
(``two_states``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy

from pairtile.arrays import BoolArray, Float64Array, Int32Array, Int64Array
from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import Estimator, TableSummary
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.arrays import ContactArrays, MotionArrays
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.estimators import generalized_correlation
from pairtile.methods.trajectory_correlation.kinds import Kind
from pairtile.methods.trajectory_correlation.matrices import (
    StreamedPairs,
    columns_of,
    write_matrices,
)
from pairtile.methods.trajectory_correlation.network import ResidueNetwork, adjusted_rand
from pairtile.methods.trajectory_correlation.residues import in_contact, selection_of
from pairtile.methods.trajectory_correlation.structures import (
    centred_structure,
    residue_means,
    strongest_links,
    write_script,
    write_structure_pdb,
)
from pairtile.methods.trajectory_correlation.two_states import (
    compare_states,
    matched_communities,
    moderated,
    relabellings,
)
from pairtile.runtime.files import read_arrays, read_table, verified, write_parquet, write_tsv

message = messages_of(__package__)

LEVEL = 0.05
"""q-values up to this make difference networks and directed ones, and are marked in figures."""


_REPLICA = re.compile(r"^(mi|dcc)_replica_\d+$")
_MAX_DCC = 1.0 - 1e-9  # whose Fisher transform is finite

_PLACE = ("chain", "resid", "icode", "atom")
VALUES = ("correlation", "mi_nats", "dcc")
"""What is compared; and ``correlation_centred`` where both have it."""

CENTRED = "correlation_centred"


def matched_items(items: pd.DataFrame, other: pd.DataFrame, names: tuple[str, str]) -> pd.Series:
    """Which item of another analysis each item is: by name, else by place.

    Residues of the same chain and number are one place, whatever their names, so that a mutant
    can be held against the wild type.

    Parameters
    ----------
    items, other : DataFrame
        The items tables.
    names : tuple
        Names of the two analyses, for the message.

    Returns
    -------
    Series
        Item numbers of ``other`` by those of ``items``; only what both have and keep.

    Raises
    ------
    InputError
        If the two share fewer than two items.
    """
    mine, theirs = (table.reset_index(drop=True)[table["kept"]] for table in (items, other))
    shared = _by(["name"], mine, theirs)
    if len(shared) < len(mine) and {*_PLACE} <= {*mine} & {*theirs}:
        own = mine[~mine.index.isin(shared.index)]
        rest = theirs[~theirs.index.isin(shared)]
        shared = pd.concat([shared, _by(list(_PLACE), own, rest)]).sort_index()
    if len(shared) < 2:
        raise InputError.at(
            f"compare: {names[1]}",
            "",
            f"{len(shared)} of the {len(mine)} variables of {names[0]}",
            "the same residues, atoms or angles in both, by name or by chain and number",
        )
    return shared


def difference(
    pairs: pd.DataFrame, other: pd.DataFrame, matched: pd.Series, n_items: int, seed: int = 1
) -> pd.DataFrame:
    """Values of pairs that two analyses share, and how they differ.

    Parameters
    ----------
    pairs, other : DataFrame
        Pairs tables: ``i``, ``j`` and some of ``correlation``, ``mi_nats``, ``dcc``; columns of
        single replicas, where there are several.
    matched : Series
        From ``matched_items``.
    n_items : int
        Items of ``other``.
    seed : int
        Of the divisions of replicas that are drawn.

    Returns
    -------
    DataFrame
        ``i``, ``j`` (items of the first), and for each value that both have ``VALUE``,
        ``VALUE_other`` and ``VALUE_difference``, the first minus the other; in the order of
        ``pairs``. With two replicas or more in both, of ``mi`` and ``dcc`` (by its Fisher
        transform) ``z``, ``p_value``, ``p_permutation``, ``q_value`` (``two_states``), and the
        columns of the replicas, those of the other as ``NAME_other``.
    """
    low, high, known = _by_own_numbers(
        other["i"].to_numpy(), other["j"].to_numpy(), matched, n_items
    )
    values = [v for v in (*VALUES, CENTRED) if v in pairs and v in other]
    own, their_own = ([c for c in part if _REPLICA.match(str(c))] for part in (pairs, other))
    theirs = pd.DataFrame({"i": low, "j": high})
    carried = [*values, *their_own]
    theirs[[f"{value}_other" for value in carried]] = other[carried].to_numpy()
    joined = pairs[["i", "j", *values, *own]].merge(theirs[known], on=["i", "j"], how="inner")
    joined = joined.assign(
        **{f"{value}_difference": joined[value] - joined[f"{value}_other"] for value in values}
    )
    ordered = ["i", "j", *(v + end for v in values for end in ("", "_other", "_difference"))]
    replicas: list[str] = []
    for value in ("mi", "dcc"):
        first, second = replica_columns(joined, value)
        if min(len(first), len(second)) > 1:
            one, other_one = (joined[c].to_numpy(np.float64).T for c in (first, second))
            if value == "dcc":  # by its Fisher transform, which scatters alike at any value
                ends = -_MAX_DCC, _MAX_DCC
                one, other_one = (np.arctanh(np.clip(part, *ends)) for part in (one, other_one))
            tests = compare_states(one, other_one, seed).add_prefix(f"{value}_")
            joined[tests.columns] = tests
            ordered += [*tests.columns]
            replicas += [*first, *second]
    return joined[[*ordered, *replicas]]


def _by_own_numbers(
    i: Int32Array, j: Int32Array, matched: pd.Series, n_items: int
) -> tuple[Int64Array, Int64Array, BoolArray]:
    """Pairs of the other analysis by the numbers of this one, the lower first, and which of them
    this one has. ``n_items``: items of the other."""
    number = np.full(n_items, -1, dtype=np.int64)
    number[matched.to_numpy()] = matched.index.to_numpy()
    low, high = np.sort([number[i], number[j]], axis=0)
    return low, high, low >= 0


def replica_columns(table: pd.DataFrame, value: str) -> tuple[list[str], list[str]]:
    """Columns of ``mi`` or ``dcc`` in the replicas of this analysis, and of the other."""
    names = [str(c) for c in table if str(c).startswith(f"{value}_replica_")]
    theirs = [name for name in names if name.endswith("_other")]
    return [name for name in names if name not in theirs], theirs


def _by(columns: list[str], mine: pd.DataFrame, theirs: pd.DataFrame) -> pd.Series:
    left = mine[columns].assign(mine=mine.index).drop_duplicates(columns, keep=False)
    right = theirs[columns].assign(theirs=theirs.index).drop_duplicates(columns, keep=False)
    both = left.merge(right, on=columns, how="inner")
    number: Int64Array = both["theirs"].to_numpy(dtype=np.int64)
    return pd.Series(number, index=both["mine"].to_numpy(dtype=np.int64)).sort_index()


def write_difference(
    opened: Estimator[TrajectoryCorrelationConfig, MotionArrays],
    name: str,
    pairs: StreamedPairs,
    items: pd.DataFrame,
    n_edges: int,
    folder: Path,
    written: TableSummary,
) -> None:
    """Values of this analysis minus those of another, ``name``, of all pairs that both have.

    ``n_edges``: of the network of this analysis.

    ``difference.parquet``: what ``difference`` gives, with names. ``difference.npz``: the
    differences, their z and q as matrices. ``difference.pdb``: the mean difference of the
    correlations of each residue, times 100; ``difference.pml`` draws the difference network.
    ``difference_network.tsv``: pairs with a q-value of at most 0.05 (of mutual information; of DCC
    for ``kind: dcc``), by the size of z. ``difference_residues.tsv``, ``difference_contacts.tsv``,
    ``difference_communities.tsv``, ``difference_agreement.tsv``: see the functions that make them.

    Raises
    ------
    InputError
        If the two share fewer than two variables.
    """
    other = folder.parent / name
    their_pairs = verified(other / "pairs.parquet")
    their_columns = pq.read_schema(their_pairs).names
    shared = {*pairs.columns} & {*their_columns}
    values = ["i", "j", *VALUES, *([CENTRED] * (CENTRED in shared))]
    mine = pa.concat_tables(
        pairs.read([*values, *(c for c in pairs.columns if _REPLICA.match(c))])
    ).to_pandas()
    theirs = pd.read_parquet(
        their_pairs,
        columns=[*values, *(c for c in their_columns if _REPLICA.match(c))],
    )
    other_items = read_table(other / "items.parquet")
    matched = matched_items(items, other_items, (folder.name, name))
    table = difference(mine, theirs, matched, len(other_items), opened.seed)
    del mine, theirs
    written.counts["pairs_compared"] = len(table)
    written.counts["variables_compared"] = len(matched)
    kind = opened.config.estimator.facts
    names = folder.name, name
    written.messages.extend(comparison_warnings(table, items, other_items, matched, names, kind))
    names_of = items["name"].to_numpy(dtype=object)
    named = table.drop(columns=[c for c in table if "_replica_" in str(c)])
    named.insert(2, "source", names_of[table["i"]])
    named.insert(3, "target", names_of[table["j"]])
    typed = named.astype({"i": np.int32, "j": np.int32})
    write_parquet(folder / "difference.parquet", typed, __package__)
    also = [f"{value}_{test}" for value in ("mi", "dcc") for test in ("z", "q_value")]
    also = [column for column in (f"{CENTRED}_difference", *also) if column in table]
    write_matrices(
        folder / "difference.npz",
        table,
        items,
        names=[*(f"{value}_difference" for value in VALUES), *also],
    )
    edges = named.drop(columns=["i", "j"]).iloc[:0]
    if f"{kind.value}_q_value" in table:
        edges = (
            named[named[f"{kind.value}_q_value"] <= LEVEL]
            .drop(columns=["i", "j"])
            .sort_values(f"{kind.value}_z", key=lambda z: -z.abs(), kind="stable")
        )
        written.counts["pairs_that_differ"] = len(edges)
    write_tsv(folder / "difference_network.tsv", edges)
    write_tsv(
        folder / "difference_residues.tsv",
        residue_differences(items, other_items, matched, opened.seed),
    )
    contacts = None
    if opened.config.contact_rule:
        # By the numbers of this analysis; those of variables that only the other has are left out.
        there = read_arrays(other / "network_data.npz")
        ends = there["contact_i"], there["contact_j"]
        low, high, known = _by_own_numbers(*ends, matched, len(other_items))
        contacts = ContactArrays(
            contact_i=low[known].astype(np.int32),
            contact_j=high[known].astype(np.int32),
            contact_fraction=there["contact_fraction"][known],
            contact_fraction_replicas=there["contact_fraction_replicas"][:, known],
        )
        write_tsv(
            folder / "difference_contacts.tsv",
            contact_differences(opened.state, contacts, items, opened.seed),
        )
    if opened.config.domains:
        d = int(opened.state["series"].shape[1])
        domains = domain_differences(table, items, kind, d, opened.seed)
        write_tsv(folder / "difference_domains.tsv", domains)
    if opened.config.communities:
        communities, agreement = _communities(opened, table, contacts, items, n_edges)
        write_tsv(folder / "difference_communities.tsv", communities)
        write_tsv(folder / "difference_agreement.tsv", agreement)
    if "structure" in opened.state:
        score = opened.config.score if opened.config.score in table else "correlation"
        _write_structure(opened, table, edges, items, score, folder)


def comparison_warnings(
    table: pd.DataFrame,
    items: pd.DataFrame,
    other_items: pd.DataFrame,
    matched: pd.Series,
    names: tuple[str, str],
    kind: Kind,
) -> list[Message]:
    """What two analyses do not share, what was not tested, and ``fit_warnings``.

    names : what the two are called. kind : whose value is tested where it can be.
    """
    found: list[Message] = []
    lacking = max(int(part["kept"].sum()) for part in (items, other_items)) - len(matched)
    if lacking:
        found.append(
            message(
                "variables_not_compared",
                n=len(matched),
                first=names[0],
                second=names[1],
                lacking=lacking,
            )
        )
    if (table["correlation"] < 0).any() != (table["correlation_other"] < 0).any():
        found.append(message("signs_not_compared", second=names[1], first=names[0]))
    if f"{kind.value}_q_value" not in table:
        found.append(message("differences_untested", second=names[1]))
    return [*found, *fit_warnings(items, other_items, matched, names)]


def fit_warnings(
    items: pd.DataFrame, other_items: pd.DataFrame, matched: pd.Series, names: tuple[str, str]
) -> list[Message]:
    """What is said where two analyses are superposed on other residues, and what to write."""
    if not {"fitted", "resid"} <= {*items} & {*other_items}:
        return []
    mine = items.loc[matched.index]
    one, other = mine["fitted"].to_numpy(), other_items.loc[matched, "fitted"].to_numpy()
    both = one & other
    # Share of the residues that one of two states is superposed on, that both are.
    if not one.any() or not other.any() or both.sum() >= 0.9 * (one | other).sum():
        return []
    return [
        message(
            "fits_differ",
            first=names[0],
            second=names[1],
            n_first=one.sum(),
            n_second=other.sum(),
            n_both=both.sum(),
            selection=selection_of(mine, both if both.any() else one),
        )
    ]


def residue_differences(
    items: pd.DataFrame, other_items: pd.DataFrame, matched: pd.Series, seed: int
) -> pd.DataFrame:
    """One row for each variable of both: how far it moves (RMSF of positions) in either state.

    Columns are those of ``difference_residues.tsv`` in ``columns.toml``.
    """
    mine, theirs = items.loc[matched.index], other_items.loc[matched.to_numpy()]
    replicas = [[c for c in part if str(c).startswith("sd_replica_")] for part in (mine, theirs)]

    compared = _compared(
        "sd",
        [part[["sd", *own]] for part, own in zip((mine, theirs), replicas, strict=True)],
        lambda sd: np.log(sd, out=np.full_like(sd, np.nan), where=sd > 0.0),
        seed,
    )
    compared.insert(0, "name", mine["name"].to_numpy())
    return compared


def _compared(
    value: str,
    states: Sequence[pd.DataFrame],
    scattering_alike: Callable[[Float64Array], Float64Array],
    seed: int,
) -> pd.DataFrame:
    """``VALUE``, ``VALUE_other``, ``VALUE_difference`` of the first columns of both states, and
    tests of the others, those of single replicas, on the scale that ``scattering_alike`` gives."""
    (here, one), (there, other) = (
        np.split(part.to_numpy(dtype=np.float64).T, [1]) for part in states
    )
    columns = {value: here[0], f"{value}_other": there[0], f"{value}_difference": (here - there)[0]}
    tests = compare_states(scattering_alike(one), scattering_alike(other), seed)
    return pd.DataFrame(columns).join(tests)


def contact_differences(
    state: ContactArrays,
    other: ContactArrays,
    items: pd.DataFrame,
    seed: int,
) -> pd.DataFrame:
    """One row for each two variables whose residues touch in some frame of either state.

    Columns are those of ``difference_contacts.tsv`` in ``columns.toml``.

    ``state``, ``other``: ``contact_i``, ``contact_j``, ``contact_fraction`` and
    ``contact_fraction_replicas``, by items of the first. Variables of one residue are left out.
    """
    frames = []
    for part in (state, other):
        columns = ["all", *(f"r{k}" for k in range(len(part["contact_fraction_replicas"])))]
        shares = np.vstack([part["contact_fraction"], part["contact_fraction_replicas"]])
        index = pd.MultiIndex.from_arrays([part["contact_i"], part["contact_j"]])
        frames.append(pd.DataFrame(shares.T.astype(np.float64), index=index, columns=columns))
    pairs = frames[0].index.union(frames[1].index)
    i, j = (pairs.get_level_values(k).to_numpy() for k in (0, 1))
    residue, names = items["residue"].to_numpy(), items["name"].to_numpy(dtype=object)
    apart = residue[i] != residue[j]
    states = [frame.reindex(pairs, fill_value=0.0)[apart] for frame in frames]
    compared = _compared(
        "contact", states, lambda shares: np.arcsin(np.sqrt(shares.clip(0.0, 1.0))), seed
    )
    compared.insert(0, "source", names[i[apart]])
    compared.insert(1, "target", names[j[apart]])
    return compared


def domain_differences(
    table: pd.DataFrame, items: pd.DataFrame, kind: Kind, d: int, seed: int
) -> pd.DataFrame:
    """One row for each two domains: how strongly they are correlated in either state.

    Columns are those of ``difference_domains.tsv`` in ``columns.toml``.

    ``table``: from ``difference``. ``kind``: of the correlations, of which the size counts. ``d``:
    dimensions of a variable.
    """
    domain = items["domain"].to_numpy(dtype=object)
    ends = np.sort([domain[table[end]] for end in ("i", "j")], axis=0)
    marked = (ends != "").all(axis=0)
    states = []
    for end, own in zip(("", "_other"), replica_columns(table, kind.value), strict=True):
        values = table[own].to_numpy(dtype=np.float64)
        size = np.abs(values) if kind.signed else generalized_correlation(values, d)
        whole = size.mean(axis=1) if len(own) > 1 else table["correlation" + end].abs()
        states.append(
            pd.DataFrame(np.column_stack([whole, size]))[marked].groupby([*ends[:, marked]])
        )
    n_pairs, (one, other) = states[0].size(), (state.mean() for state in states)
    compared = _compared("correlation", [one, other], np.asarray, seed)
    replicas = np.concatenate([state.to_numpy()[:, 1:].T for state in (one, other)])
    _, freedom = moderated(replicas, one.shape[1] - 1) if len(replicas) > 3 else (0, np.nan)
    half = scipy.stats.t.ppf(0.975, freedom) * compared["standard_error"]
    difference = compared["correlation_difference"]
    return pd.DataFrame(
        {
            "first": n_pairs.index.get_level_values(0),
            "second": n_pairs.index.get_level_values(1),
            "n_pairs": n_pairs.to_numpy(),
            **compared.iloc[:, :3],
            "low": difference - half,
            "high": difference + half,
            **compared.iloc[:, 3:],
        }
    )


def _communities(
    opened: Estimator[TrajectoryCorrelationConfig, MotionArrays],
    table: pd.DataFrame,
    contacts: ContactArrays | None,
    items: pd.DataFrame,
    n_edges: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Communities of both states, and how far those of replicas agree.

    First table: ``name``, ``community``, ``community_other``, the latter by the numbers of the
    former that share the most members (``matched_communities``). Second table: ``between``
    (replicas of this state, of the other, of both), ``agreement`` (mean adjusted Rand index),
    ``n_pairs``, and ``p_value``: share of the divisions of the replicas in which those of one group
    agree by as much more than those of two. Both are empty without replicas of both states.

    Each replica, and the mean of each state, has a network of as many pairs as this analysis' whole
    one has, the strongest of those that may become edges in its state.
    """
    method, seed = opened.config.communities[0], opened.seed
    kind = opened.config.estimator.facts
    named = replica_columns(table, kind.value)
    between = columns_of("difference_agreement.tsv")
    if min(map(len, named)) < 2 or not n_edges:
        none = pd.DataFrame(columns=columns_of("difference_communities.tsv"))
        return none, pd.DataFrame(columns=between)
    i, j = table["i"].to_numpy(), table["j"].to_numpy()
    rule = opened.config.contact_rule
    candidate = [np.ones(len(table), dtype=bool)] * 2
    if rule and contacts is not None:
        candidate = [in_contact(i, j, part, rule.fraction) for part in (opened.state, contacts)]
    nodes = np.unique(np.concatenate([end[candidate[0] | candidate[1]] for end in (i, j)]))
    d, n_items = int(opened.state["series"].shape[1]), len(items)

    def communities(values: Float64Array, may: BoolArray) -> Int32Array:
        size = values if kind.signed else generalized_correlation(values, d)
        network = ResidueNetwork.strongest(n_items, i, j, size, may, n_edges)
        return network.communities(method, seed)[nodes]

    values = [table[own].to_numpy(dtype=np.float64).T for own in named]
    states = list(zip(values, candidate, strict=True))
    of_replicas = [communities(own, may) for part, may in states for own in part]
    of_states = [communities(part.mean(axis=0), may) for part, may in states]
    found = pd.DataFrame(
        {
            "name": items["name"].to_numpy()[nodes],
            "community": of_states[0],
            "community_other": matched_communities(*of_states),
        }
    )
    rows = _agreement_rows(of_replicas, [len(part) for part in values], seed)
    return found, pd.DataFrame(rows, columns=between)


def _agreement_rows(
    of_replicas: list[Int32Array], sizes: list[int], seed: int
) -> list[tuple[str, float, int, float]]:
    n = len(of_replicas)
    index = np.full((n, n), np.nan)
    for a, b in combinations(range(n), 2):
        index[a, b] = index[b, a] = adjusted_rand(of_replicas[a], of_replicas[b])

    def parts(group: Int64Array) -> list[Float64Array]:
        rest = np.setdiff1d(np.arange(n), group)
        inside = [index[np.ix_(g, g)][np.triu_indices(len(g), 1)] for g in (group, rest)]
        return [*inside, index[np.ix_(group, rest)].ravel()]

    def gap(group: Int64Array) -> float:
        one, other, between = parts(group)
        return float(np.concatenate([one, other]).mean() - between.mean())

    true = np.arange(sizes[0])
    others = [gap(group) for group in relabellings(sizes[0], sizes[1], seed)]
    p = (1 + sum(value >= gap(true) - 1e-12 for value in others)) / (1 + len(others))
    names = ("replicas of this state", "replicas of the other", "replicas of both")
    return [
        (name, float(part.mean()), part.size, p if name == names[2] else np.nan)
        for name, part in zip(names, parts(true), strict=True)
    ]


def _write_structure(
    opened: Estimator[TrajectoryCorrelationConfig, MotionArrays],
    table: pd.DataFrame,
    edges: pd.DataFrame,
    items: pd.DataFrame,
    score: str,
    folder: Path,
) -> None:
    state = centred_structure(opened.state)
    structure = state["structure"]
    n_residues = int(structure["residue"].max(initial=-1)) + 1
    changes = pd.concat([table.set_index(end)[f"{score}_difference"] for end in ("i", "j")])
    means = changes.groupby(level=0).mean().reindex(range(len(items)))
    write_structure_pdb(
        folder / "difference.pdb",
        structure,
        100.0 * residue_means(items, means, n_residues),
        np.zeros(n_residues, dtype=np.int32),
        f"100 X MEAN DIFFERENCE OF CORRELATIONS, THIS MINUS {opened.config.compare}",
    )
    number = pd.Index(items["name"])
    start, end = (number.get_indexer(edges[name]) for name in ("source", "target"))
    size = edges[f"{score}_difference"]
    links = strongest_links(items, state, start, end, size, opened.config.draw_strongest)
    for suffix in ("pml", "cxc"):
        write_script(folder / f"difference.{suffix}", "difference.pdb", links, 0)
