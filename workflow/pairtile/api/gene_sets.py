"""Enrichment of gene sets, and activity of regulators, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

import pandas as pd

from pairtile.api.messages import issue_warnings
from pairtile.api.table import Matrix, as_table
from pairtile.io.names import GeneNames, rows_of
from pairtile.io.sparse_rows import SparseRows


def enrichment(
    lists: Mapping[str, Iterable[str]] | pd.DataFrame,
    gene_sets: str | PathLike[str] | Mapping[str, Sequence[str]],
    background: Iterable[str] | None = None,
    *,
    expression: Matrix = None,
    eigengenes: pd.DataFrame | None = None,
    ignore_case: bool = False,
    ignore_versions: bool = False,
) -> pd.DataFrame:
    """Find gene sets that are over-represented in lists of genes, or ranked high by eigengenes.

    Parameters
    ----------
    lists : mapping or DataFrame
        Name -> genes; modules (``gene``, ``module``, as of ``network_modules``); or a network
        (``source``, ``target``): the targets of each source.
    gene_sets : path or mapping
        A ``.gmt`` file, a table of two columns (gene, set), or name -> genes.
    background : iterable of str, optional
        All analysed genes. None: those of ``expression``.
    expression : optional
        Genes x samples, in any form; needed with ``eigengenes``.
    eigengenes : DataFrame, shape (modules, samples), optional
        Profiles over the samples of ``expression``: its genes are ranked by their correlation with
        each, and the mean ranks of the sets tested, correlations of genes respected.
    ignore_case, ignore_versions : bool
        Whether names stand for genes that differ in capitals, or in the version after a last point.

    Returns
    -------
    DataFrame
        The rows of ``enrichment.tsv`` (docs/results/downstream.md), best first; q-values are over
        all tests.
        ``attrs["counts"]``: sets and names that were not found, lists too small, tests.

    Raises
    ------
    ValueError
        No background; genes that are not in it; eigengenes of other samples.
    InputError
        A file that cannot be read; no set with five genes or more.

    Examples
    --------
    >>> genes = [f"g{k}" for k in range(100)]
    >>> found = enrichment({"mine": genes[:10]}, {"s": genes[5:15], "t": genes[50:60]}, genes)
    >>> found[["list", "gene_set", "overlap", "expected"]].to_numpy().tolist()
    [['mine', 's', 5, 1.0]]
    """
    from pairtile.downstream import enrichment as stage
    from pairtile.downstream.gene_sets import find_gene_sets, read_gene_sets

    table = None if expression is None else as_table(expression)
    if background is None and table is None:
        raise ValueError("background: found None; expected all analysed genes, or expression")
    genes = [*map(str, background if background is not None else table.labels)]  # type: ignore[union-attr]
    profiles, values, n_samples = [], None, 0
    if eigengenes is not None:
        if table is None or eigengenes.shape[1] != table.n_samples:
            raise ValueError("eigengenes: expected a column for each sample of expression")
        if table.genes is not None and genes != [*map(str, table.genes)]:
            of_table = table.genes.astype(str)
            values = table.values[rows_of("background", genes, of_table, "genes of expression")]
        else:
            values = table.values
        n_samples = table.n_samples
        profiles = [(str(n), row.to_numpy(dtype=float)) for n, row in eigengenes.iterrows()]
    symbols = [] if table is None else [table.symbols.get(name, "") for name in genes]
    names = GeneNames(genes, symbols, (), ignore_case, ignore_versions)
    wanted, said = stage.named_lists(lists, names)
    issue_warnings(said)
    if isinstance(gene_sets, Mapping):
        sets = find_gene_sets(gene_sets, names)
    else:
        given, of_file = read_gene_sets(gene_sets, [*genes, *symbols])
        sets = find_gene_sets(given, names, gene_sets, of_file)
    issue_warnings(sets.messages)
    found, counts = stage.enrichment_table(sets, genes, wanted, profiles, values, n_samples)
    found.attrs["counts"] = {**sets.counts, **counts}
    return found


def activity(
    expression: Matrix,
    regulons: pd.DataFrame,
    *,
    method: str = "ulm",
    scale: bool = True,
    min_targets: int = 5,
    orientation: str = "genes_in_rows",
    layer: str | None = None,
) -> pd.DataFrame:
    """Estimate what each regulator does in each sample, by the expression of its targets.

    Parameters
    ----------
    expression
        Genes x samples, in any form, normalised and on a logarithmic scale; NaN where missing. A
        sparse matrix stays sparse.
    regulons : DataFrame
        ``source``, ``target`` and their ``weight``, -1 to 1 (else ``spearman`` or ``correlation``,
        as networks have, also where one of these is negative and no weight is; else 1), with
        ``likelihood``, 0 to 1 (else the size of ``mi_bits`` and the like beside the largest; else
        1). Of several rows of a pair the likeliest counts.
    method : {"ulm", "viper"}
        ``ulm``: t of a univariate linear model on the weights (decoupler's). ``viper``: normalised
        enrichment scores, without VIPER's correction for shared targets.
    scale : bool
        Whether each gene is centred and scaled over the samples before. Activities are then those
        beside the mean of all samples.
    min_targets : int
        Regulators with fewer targets among the genes are left out, and counted in ``attrs``.
    orientation, layer
        As for ``infer_network``.

    Returns
    -------
    DataFrame, shape (regulators, samples)

    Raises
    ------
    ValueError
        An unknown method, columns that are not there, a weight or likelihood out of range, no
        regulator with enough targets.

    Examples
    --------
    >>> expression = pd.DataFrame({"a": [1.0, 5, 4, 0, 1], "b": [2.0, 0, 0, 3, 1], "c": 1.0})
    >>> expression.index = ["g1", "g2", "g3", "g4", "g5"]
    >>> edges = pd.DataFrame({"source": "tf", "target": ["g2", "g3", "g4"], "weight": [1, 1, -1]})
    >>> activity(expression, edges, min_targets=3, scale=False).round(1).loc["tf"].tolist()[:2]
    [4.7, -6.1]
    """
    from pairtile.downstream import activity_scores
    from pairtile.downstream.activity import regulons_of, spelled_targets, weighted_edges

    if method not in ("ulm", "viper"):
        raise ValueError(f"method: found {method!r}; expected ulm or viper")
    table = as_table(expression, orientation=orientation, layer=layer, sparse=True)
    genes = [*map(str, table.labels)]
    names = GeneNames(genes, [table.symbols.get(name, "") for name in genes])
    edges, said = spelled_targets(weighted_edges(regulons), names)
    issue_warnings(said)
    found, few = regulons_of(edges, genes, min_targets)
    if not found.names:
        raise ValueError(f"regulons: found no regulator with {min_targets} targets or more")
    matrix = table.values.matrix if isinstance(table.values, SparseRows) else table.values
    scores = activity_scores.viper if method == "viper" else activity_scores.univariate_linear_model
    result = scores(matrix, found, activity_scores.gene_scale(matrix) if scale else None)
    samples = table.samples if table.samples is not None else pd.RangeIndex(table.n_samples)
    activities = pd.DataFrame(result, index=pd.Index(found.names), columns=samples)
    activities.attrs["regulators_with_few_targets"] = few
    return activities
