"""Modules, traits, preservation and consensus, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import label_table, sample_labels
from pairtile.api.settings import checked_section
from pairtile.api.table import ExpressionTable, Labels, Matrix, as_table
from pairtile.config.conditions import ConditionConfig
from pairtile.config.modules import GeneModulesConfig
from pairtile.gpu.device import choose
from pairtile.io.annotations import annotations_of_table
from pairtile.io.names import rows_of
from pairtile.preprocess.null_design import NullDesign


class Modules(NamedTuple):
    """What ``find_modules`` found: the tables ``modules.tsv``, ``module_summary.tsv``,
    ``eigengenes.tsv`` (modules x samples, numbers of modules as index) and
    ``module_membership.tsv`` (docs/results/downstream.md)."""

    modules: pd.DataFrame
    summary: pd.DataFrame
    eigengenes: pd.DataFrame
    membership: pd.DataFrame


def find_modules(
    expression: Matrix,
    network: pd.DataFrame | None = None,
    *,
    weight: str | None = None,
    batch: Labels | None = None,
    seed: int = 1,
    backend: str = "auto",
    **settings: object,
) -> Modules:
    """Find groups of genes that go together, beyond what noise gives.

    Parameters
    ----------
    expression
        Genes x samples, in any form, cleaned and on a logarithmic scale.
    network : DataFrame, optional
        ``source`` and ``target``, for communities of it (``method="leiden"``); None: branches of a
        tree of topological overlap (``method="wgcna"``).
    weight : str, optional
        The column of ``network`` that says how strong an edge is. None: all alike.
    batch : optional
        A label for each sample: permuted tables keep what batches make.
    seed : int
        The same seed, the same result.
    backend : {"auto", "cpu", "cuda"}
        Where topological overlap is computed.
    **settings
        Keys of the section ``modules`` of a configuration: ``method``, ``power``,
        ``network_type``, ``min_size``, ``deep_split``, ``cut_height``, ``merge_height``,
        ``resolution``, ``max_p``.

    Returns
    -------
    Modules
        Tables ``modules``, ``summary``, ``eigengenes`` and ``membership``. ``modules.attrs`` has
        ``power`` and ``removed``, the sizes of modules that were no more than noise.

    Raises
    ------
    ValueError
        An unknown setting or value; ``leiden`` without a network, or ``wgcna`` with one; genes of
        the network that have no expression.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> noise = draw.standard_normal((60, 40))
    >>> noise[:30] += 2 * draw.standard_normal(40)
    >>> found = find_modules(noise, power=6)
    >>> found.summary["module"].tolist()
    [1]
    """
    from pairtile.downstream.modules import find, module_messages, module_tables

    method = "wgcna" if network is None else "leiden"
    config = checked_section(GeneModulesConfig, {"method": method} | settings)
    if config.method != method:
        raise ValueError("method: leiden takes a network, and wgcna none")
    table = as_table(expression)
    edges = None
    if network is not None:
        source, target = (
            rows_of("network", network[end], table.labels, "genes of the expression table")
            for end in ("source", "target")
        )
        strength = np.ones(len(network)) if weight is None else network[weight].abs().to_numpy()
        edges = source, target, strength.astype(np.float64)
    codes = _codes("batch", batch, table)
    design = (
        NullDesign.permutation(table.n_samples)
        if codes is None
        else NullDesign("blocks", codes, np.zeros(codes.max() + 1, dtype=bool))
    )
    found = find(table.values, config, choose(backend), design, seed=seed, edges=edges)
    samples = list(table.sample_labels)
    tables = module_tables(table.values, found, list(table.labels), samples, codes)
    issue_warnings(module_messages(found, config, courses=False))
    modules, summary, eigengenes, membership = tables.values()
    modules.attrs |= {"power": found.power, "removed": list(found.removed)}
    return Modules(modules, summary, eigengenes.set_index("module"), membership)


def module_traits(
    eigengenes: pd.DataFrame,
    traits: Mapping[str, Labels] | pd.DataFrame,
    *,
    batch: Labels | None = None,
    series: Labels | None = None,
    seed: int = 1,
) -> pd.DataFrame:
    """Test eigengenes against traits of the samples.

    Parameters
    ----------
    eigengenes : DataFrame, shape (modules, samples)
        As ``find_modules`` gives them.
    traits : DataFrame (samples, traits) or mapping of name to labels
        Numbers or labels of the samples, in order or by name; empty or missing: not known.
    batch, series : optional
        The batch, and the series (subject, run), of each sample.
    seed : int
        The same seed, the same result.

    Returns
    -------
    DataFrame
        The rows of ``module_traits.tsv`` (docs/results/downstream.md): p by least squares with
        batches and series as blocks and unequal variances, of a trait that changes along a series
        at least that of circular shifts; q over all rows.

    Raises
    ------
    ValueError
        Labels of other samples, or without a name. InputError: a trait with one value only.

    Examples
    --------
    >>> profile = pd.DataFrame([np.tile([1.0, 2.0, 1.5], 4)], index=[1])
    >>> module_traits(profile, {"dose": np.tile([1, 2, 1], 4)})["correlation"].round(2).tolist()
    [0.87]
    """
    from pairtile.downstream.traits import module_trait_tests

    if not isinstance(traits, Mapping | pd.DataFrame):
        raise ValueError(f"traits: found {traits!r:.60}; expected a mapping or a DataFrame")
    values = eigengenes.to_numpy(dtype=np.float64)
    table = ExpressionTable(values, eigengenes.index, eigengenes.columns)
    known = {}
    for name, given in traits.items():
        of_samples = pd.Series(given, dtype=object)
        of_samples = of_samples.where(of_samples.notna(), "")
        by_name = isinstance(given, pd.Series | Mapping)
        known[str(name)] = of_samples if by_name else of_samples.tolist()
    labels = label_table(known, table)
    entries = [ConditionConfig.model_construct(name=name) for name in known]
    conditions = annotations_of_table(labels, entries).conditions
    found, notes = module_trait_tests(
        values,
        conditions,
        batch=_codes("batch", batch, table),
        series=_codes("series", series, table),
        seed=seed,
    )
    issue_warnings(notes)
    found["module"] = np.asarray(eigengenes.index)[found["module"].to_numpy(dtype=int) - 1]
    return found


def module_preservation(
    reference: Matrix,
    test: Matrix,
    modules: pd.DataFrame,
    *,
    power: float = 6.0,
    network_type: str = "unsigned",
    permutations: int = 200,
    seed: int = 1,
    backend: str = "auto",
) -> pd.DataFrame:
    """Say how well the modules of one table are kept in another.

    Parameters
    ----------
    reference, test
        Expression, genes x samples, with names of genes; genes of both are compared.
    modules : DataFrame
        ``gene`` and ``module`` (0: none) of the reference.
    power, network_type
        Of the adjacency of both tables (``find_modules``).
    permutations : int
        Random sets of as many genes of the test table, from 10 on.
    seed : int
        The same seed, the same result.
    backend : {"auto", "cpu", "cuda"}
        Where correlations are computed.

    Returns
    -------
    DataFrame
        A row for each module of three genes or more: observed statistics as WGCNA's
        ``modulePreservation`` has them, ``z_density``, ``z_connectivity``, ``z_summary`` (below 2:
        no sign that it is kept; above 10: kept well; Langfelder et al. 2011, PLoS Comput Biol
        7:e1001057) and ``p_value`` of it. ``n_genes`` are those that both tables have.

    Raises
    ------
    ValueError
        Tables without names of genes or with fewer than three in common; genes of ``modules`` that
        the reference has not; a power, a type of network or a number that is not allowed.

    Examples
    --------
    >>> draw = np.random.default_rng(2)
    >>> one, other = (pd.DataFrame(draw.standard_normal((90, 30))) for _ in range(2))
    >>> for table in (one, other): table[:20] += 2 * draw.standard_normal(30)
    >>> modules = pd.DataFrame({"gene": range(40), "module": np.repeat([1, 2], 20)})
    >>> found = module_preservation(one, other, modules, permutations=50)
    >>> (found["z_summary"] > 2).tolist()
    [True, False]
    """
    from pairtile.downstream.module_preservation import preservation_table

    if permutations < 10:
        raise ValueError(f"permutations: found {permutations}; expected 10 or more")
    config = checked_section(
        GeneModulesConfig, {"power": float(power), "network_type": network_type}
    )
    tables = _common([as_table(reference, name="reference"), as_table(test, name="test")])
    if missing := set(modules["gene"]) - set(as_table(reference).labels):
        raise ValueError(f"modules: found {sorted(missing, key=str)[0]!r}; expected genes of it")
    genes = tables[0].labels
    module_of = dict(zip(modules["gene"], modules["module"], strict=True))
    labels = np.array([module_of.get(gene, 0) for gene in genes], dtype=np.int32)
    return preservation_table(
        tables[0].values,
        tables[1].values,
        labels,
        power=float(power),
        network_type=config.network_type,
        device=choose(backend),
        permutations=permutations,
        seed=seed,
    )


def consensus_modules(
    expressions: Sequence[Matrix],
    *,
    power: float | Sequence[float] = 6.0,
    backend: str = "auto",
    **settings: object,
) -> pd.DataFrame:
    """Find modules that several tables share: genes near each other in every one of them.

    Parameters
    ----------
    expressions : sequence
        Two tables or more, genes x samples, with names of genes; genes of all are taken.
    power : float or sequence of float
        Of all tables, or of each.
    backend : {"auto", "cpu", "cuda"}
        Where topological overlap is computed.
    **settings
        ``network_type``, ``min_size``, ``deep_split``, ``cut_height``, ``merge_height`` of
        ``find_modules``.

    Returns
    -------
    DataFrame
        ``gene``, ``module`` (0: none), the genes of all tables in the order of the first. As
        WGCNA's ``blockwiseConsensusModules`` with one block (Langfelder and Horvath 2007). They are
        not tested against noise: genes must agree in each table.

    Raises
    ------
    ValueError
        Fewer than two tables, tables without names, or fewer than three genes of all; another
        number of powers; an unknown setting.

    Examples
    --------
    >>> draw = np.random.default_rng(3)
    >>> tables = [pd.DataFrame(draw.standard_normal((60, 40))) for _ in range(2)]
    >>> for table in tables: table[:30] += 2 * draw.standard_normal(40)
    >>> int(consensus_modules(tables)["module"][:30].value_counts()[1])
    30
    """
    from pairtile.downstream import module_preservation as stage

    if len(expressions) < 2:
        raise ValueError(f"expressions: found {len(expressions)}; expected two tables or more")
    powers = [power] * len(expressions) if isinstance(power, int | float) else list(power)
    if len(powers) != len(expressions) or min(powers) < 1:
        raise ValueError("power: expected a number from 1 on, or one for each table")
    config = checked_section(GeneModulesConfig, {"method": "wgcna"} | settings)
    tables = _common([as_table(each) for each in expressions])
    labels = stage.consensus_modules(
        [table.values for table in tables],
        [float(each) for each in powers],
        config,
        choose(backend),
    )
    return pd.DataFrame({"gene": tables[0].labels, "module": labels})


def _common(tables: list[ExpressionTable]) -> list[ExpressionTable]:
    """The genes that all have, in the order of the first."""
    if any(table.genes is None for table in tables):
        raise ValueError("expression: found a table without names of genes; expected DataFrames")
    shared = tables[0].labels
    for table in tables[1:]:
        shared = shared[shared.isin(table.labels)]
    if len(shared) < 3:
        raise ValueError(f"expression: found {len(shared)} genes of all tables; expected 3 or more")
    return [
        ExpressionTable(table.values[table.labels.get_indexer(shared)], shared, table.samples)
        for table in tables
    ]


def _codes(name: str, labels: Labels | None, table: ExpressionTable) -> NDArray[np.int32] | None:
    """Numbers of labels of the samples, int32; None for none."""
    if labels is None:
        return None
    return pd.factorize(sample_labels(name, labels, table))[0].astype(np.int32)
