"""Multimodal correlation in memory: modes of all pairs, their network, tests and thresholds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.analyse import counts_and_messages, finished, kept_run, read_network, typed
from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import Inputs, KeptFolder, as_labelled, preprocess_of
from pairtile.api.settings import Keywords, SectionMapping, analysis_config
from pairtile.api.table import ExpressionLike, Labels, Names, as_table
from pairtile.declare.messages import HasMessages, Message, warnings_of
from pairtile.engine.estimator import MergedResults
from pairtile.engine.state import open_state
from pairtile.gpu.device import choose
from pairtile.io.annotations import Condition, read_annotations
from pairtile.methods.multimodal_correlation.arrays import ModeArrays, source_values
from pairtile.methods.multimodal_correlation.config import MultimodalCorrelationConfig
from pairtile.methods.multimodal_correlation.kinc_text import write_cmx, write_emx
from pairtile.methods.multimodal_correlation.modes import PairModes, packed_masks
from pairtile.methods.multimodal_correlation.network import (
    MASKS,
    annotation_cells,
    conditions_tested,
    messages_on_tests,
    mode_counts,
    mode_samples,
)
from pairtile.methods.multimodal_correlation.report_results import (
    MODULES,
    NETWORKS,
    TESTS,
    network_tables,
)
from pairtile.methods.multimodal_correlation.thresholds import (
    RankedPairs,
    Threshold,
    random_matrix_threshold,
    scale_free_threshold,
    table_of_walk,
)
from pairtile.runtime.files import read_json, read_table
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.network import read_merged
from pairtile.steps.plan import read_plan

MODES = Keywords(
    MultimodalCorrelationConfig,
    *("estimator.*", "compatibility", "lag", "preprocess", "other_preprocess"),
)
NETWORK = Keywords(
    MultimodalCorrelationConfig,
    *("annotations", "power", "conditions", "condition_networks", "modules"),
)


def multimodal_correlation(
    expression: ExpressionLike,
    *,
    regulators: Sequence[Hashable] | NDArray[np.generic] | None = None,
    other_expression: ExpressionLike | None = None,
    clustering: Literal["gmm", "none"] = "gmm",
    correlation: Literal["spearman", "pearson", "bicor", "kendall", "partial"] = "spearman",
    min_clusters: int = 1,
    max_clusters: int = 5,
    criterion: Literal["icl", "bic", "aic"] = "icl",
    min_samples: int = 30,
    min_correlation: float = 0.5,
    max_correlation: float = 1.0,
    min_expression: float | None = None,
    max_expression: float | None = None,
    outliers_before: bool = True,
    outliers_after: bool = True,
    restarts: int = 3,
    compatibility: Literal["none", "kinc"] = "none",
    lag: int = 0,
    preprocess: SectionMapping | None = None,
    other_preprocess: SectionMapping | None = None,
    series: Labels | None = None,
    time: Labels | None = None,
    step: Mapping[str, float] | None = None,
    batch: Labels | None = None,
    seed: int = 1,
    orientation: Literal["genes_in_rows", "samples_in_rows"] = "genes_in_rows",
    layer: str | None = "auto",
    obs: SectionMapping | None = None,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> ModeCorrelation:
    """Find the modes of every pair of genes, and the correlation in each.

    The samples of a pair are split into modes by a Gaussian mixture; a mode is correlated by itself
    and knows its samples, so that it can be tested for what they have in common. The same as an
    analysis of the workflow with these settings, seed and backend.

    Parameters
    ----------
    expression : array, DataFrame, AnnData, Expression, Prepared or Simulation
        Shape (genes, samples), NaN where missing; AnnData is cells x genes.
    regulators : sequence, optional
        Names (or numbers, of genes without names), or a mask: only pairs with a regulator are
        scored, and the regulator is their ``source``. ``network()`` then takes no threshold that
        needs all pairs (``rmt``, ``power_law``).
    other_expression : as ``expression``, optional
        A second table of the same samples, matched by name: each of its rows is paired with each
        gene of ``expression``, and is the source of the edge. Not beside ``regulators``.
    clustering : gmm or none
        `gmm`: a Gaussian mixture for each pair, one correlation for each of its modes. `none`: one
        correlation of all samples, as other co-expression tools do; many times faster.
    correlation : spearman, pearson, bicor, kendall or partial
        `spearman`: of ranks within the mode. `pearson`: of the values. `bicor`: the biweight
        midcorrelation. `kendall`: tau-b, about two thirds as large as Spearman's. `partial`, with
        `clustering: none`: what is left of Pearson's given all other genes, shrunken towards 0; set
        `min_correlation` to 0.1 or less. Missing values then count as the gene's mean.
    min_clusters : an integer between 1 and 5
        Least number of modes to try. 2 and more split every pair.
    max_clusters : an integer between 1 and 5
        Largest number of modes to try. With few samples 2 or 3 are enough.
    criterion : icl, bic or aic
        What decides the number of modes; the lowest wins. `icl`: takes only modes that are apart.
        `bic`: also modes that overlap. `aic`: splits most, often too much.
    min_samples : an integer between 3 and 1000000
        Least number of samples in a mode, outliers taken away, and of a pair's samples before it is
        split. Smaller modes get no correlation.
    min_correlation : a number of at least 0 and at most 1
        Keep modes whose correlation has at least this size; `threshold` cannot go lower.
    max_correlation : a number of at least 0 and at most 1
        Keep modes whose correlation has at most this size.
    min_expression : a number, or None
        Leave out samples in which either gene is below this, in units of the values after
        `preprocess` (log2 where it was taken). None: no limit.
    max_expression : a number, or None
        Leave out samples in which either gene is above this. None: no limit.
    outliers_before : True or False
        Leave out a pair's outliers before it is split: values of either gene more than 1.5
        interquartile ranges beyond its quartiles. With `clustering: none` only of `spearman` and
        `pearson`.
    outliers_after : True or False
        Leave out outliers of each mode by the same rule, where the pair has more than one.
    restarts : an integer between 1 and 100
        Random starts of each mixture; the best is taken. Does nothing under `compatibility: kinc`.
    compatibility : none or kinc
        `kinc`: the mixtures and the threshold as KINC 3.4.2 computes them, with its faults, to
        repeat or extend a run of it. `none`: the sound method.
    lag : an integer between 0 and 1000
        Of time courses, with `clustering: none`: correlate each gene with the others so many
        samples later in the same series (`samples.series`, `samples.time`); edges are directed,
        `source` first, and `threshold` must be `auto` (which takes `fdr`), `fdr`, `score` or
        `none`.
    preprocess : mapping, optional
        How expression values are cleaned before genes are paired.
    other_preprocess : mapping, optional
        How `other_expression` is cleaned, with the keys of `preprocess`. None: `min_samples`,
        `drop_constant`, `sample_scale`, `regress_out` and `hidden_factors` as there, all else by
        the table itself.
    series : array-like [shape: (samples,)], mapping or Series, or None
        Which time course each sample is of: a label for each, in their order, or by the sample's
        name. None: one.
    time : array-like [shape: (samples,)], mapping or Series, or None
        When each sample was taken: samples are put in this order within their series. None: they
        stand in the order of time.
    step : a mapping, or None
        `{'time': 2, 'tolerance': 0.5}`: how long a step of `time` is; series are cut at others.
    batch : array-like [shape: (samples,)], mapping or Series, or None
        Which batch each sample is of.
    seed : an integer between 0 and 4294967295
        Start of all random draws (permutations, bootstraps). The same seed gives the same result on
        any number of chunks and threads.
    orientation : genes_in_rows or samples_in_rows
        Which way the table lies. `.h5ad` files are cells x genes whatever stands here.
    layer : auto or the name of a layer (text) or None
        Which matrix of an `.h5ad` file to read: the name of a layer, for instance `counts`, or
        `raw` (with its own genes), or `X`, as None does. `auto`: the counts that X was made from,
        where X is normalised or scaled and they are in the file, of the genes of X; else X.
        `summary.json` says which. Only for `.h5ad` files.
    obs : a mapping of columns to a value or a list of values
        Read only some samples: columns of `obs` or `samples.annotations`, each with a value or a
        list of values, as `{cell_type: T cell}`; samples that fit all of them are taken.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

    Returns
    -------
    ModeCorrelation
        ``modes``, a row for each; ``members()``, their samples; ``pair(a, b)``, to look at one
        pair; ``network()``, the network of those that are strong enough, with tests of conditions
        and modules. What needs attention is also issued as a warning.

    Raises
    ------
    ValueError
        Not a table of numbers; repeated names; no regulator that is there; settings that are not
        allowed.
    InputError
        Values that cannot be prepared as asked; too few samples or genes left.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Shealy et al. 2019, IEEE Access 7:160845. docs/methods/multimodal_correlation.md has
    every formula. Time grows with the square of the number of genes.

    Examples
    --------
    Two genes that go together in treated samples and against each other in the others:

    >>> import numpy as np, pandas as pd
    >>> random = np.random.default_rng(1)
    >>> treated, hidden = np.arange(120) < 60, random.normal(size=120)
    >>> a = hidden + 6 * treated
    >>> b = np.where(treated, hidden, -hidden) + 6 * treated + 0.3 * random.normal(size=120)
    >>> table = pd.DataFrame([a, b, random.normal(size=120)], index=["a", "b", "c"])
    >>> found = multimodal_correlation(table, max_clusters=3, preprocess={"log2": False})
    >>> found.modes[["source", "target", "cluster", "n_modes", "correlation"]].round(1)
      source target  cluster  n_modes  correlation
    0      a      b        1        2          0.9
    1      a      b        2        2         -0.9
    >>> found.members().loc[:, treated].sum(axis=1).tolist()
    [58, 0]
    >>> samples = pd.DataFrame({"treatment": np.where(treated, "heat", "none")})
    >>> network = found.network(threshold=0.8, annotations=samples)
    >>> network.condition_networks[["condition", "label", "source", "target", "direction"]]
       condition label source target direction
    0  treatment  heat      a      b  positive
    1  treatment  none      a      b  negative
    """
    given = locals() | {"preprocess": preprocess_of(expression, preprocess)}
    table = as_table(expression, orientation=orientation, layer=layer, obs=obs, sparse=True)
    inputs, of_samples = Inputs(), {"series": series, "time": time, "batch": batch}
    config = MODES.config(
        given,
        expression=inputs.table(expression, table),
        other_expression=inputs.other(other_expression, table, regulators is not None),
        regulators=inputs.genes(regulators, table),
        samples=inputs.samples(of_samples, table, step, preprocess),
    )
    run, folder = kept_run(config, inputs, seed, backend)
    merged = read_merged(run.run_steps(last="merge"))
    items, state = read_table(run.folder / "items.parquet"), open_state(run.state)
    labels = pd.Index(items.loc[items["kept"], "name"])
    if other_expression is None:
        labels = as_labelled(table.labels, labels)
    counts, said = counts_and_messages(run)
    modes = merged.pairs.drop(columns=list(MASKS)).rename(columns={"i": "source", "j": "target"})
    by_correlation = merged.sums["modes_by_correlation"]
    ends = np.linspace(-1.0, 1.0, by_correlation.size + 1)[:-1].round(9)
    # Labels of genes in place of their numbers.
    sides = {end: labels[modes[end].to_numpy(dtype=np.int64)] for end in ("source", "target")}
    return ModeCorrelation(
        modes=modes.assign(**sides),
        items=items,
        samples=as_labelled(table.sample_labels, state["samples"].tolist()),
        labels=labels,
        pairs_by_modes=pd.Series(merged.sums["pairs_by_modes"], name="pairs"),
        modes_by_correlation=pd.Series(by_correlation, index=ends, name="modes"),
        merged=merged,
        state=cast(ModeArrays, state),
        run=run,
        folder=folder,
        device=read_plan(run.plan).device_name,
        counts={**counts, **mode_counts(merged.sums), "modes": len(modes)},
        messages=issue_warnings(said),
        settings={
            "compatibility": config.compatibility,
            "estimator": config.estimator.model_dump(),
            "lag": config.lag,
            **read_json(run.record("prepare"))["details"]["parameters"],
            "seed": seed,
        },
    )


# --- modes of all pairs ---


@dataclass(frozen=True, repr=False)
class ModeCorrelation(HasMessages):
    """The stored modes of all pairs of genes.

    Attributes
    ----------
    modes : DataFrame
        A row for each mode, by source, target and cluster: the columns of ``pairs.parquet`` but for
        the masks, with labels ``source`` and ``target`` in place of ``i`` and ``j``.
    items : DataFrame
        A row for each gene of the input: kept or why not.
    samples : Index
        Labels of the samples (numbers for an array).
    pairs_by_modes : Series
        Pairs by their number of modes, 0 first.
    modes_by_correlation : Series
        Modes with enough samples, stored or not, by the lower end of their bin of correlations.
    counts, messages, notes, warnings, device, settings
        How it came about.
    """

    modes: pd.DataFrame
    items: pd.DataFrame
    samples: Names
    labels: Names
    pairs_by_modes: pd.Series
    modes_by_correlation: pd.Series
    merged: MergedResults
    state: ModeArrays
    run: AnalysisRun
    folder: KeptFolder
    device: str
    counts: dict[str, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = int(self.pairs_by_modes.sum())
        return (
            f"ModeCorrelation: {len(self.modes):,} modes of {pairs:,} pairs of "
            f"{len(self.labels):,} genes, {len(self.samples):,} samples"
        )

    @property
    def _config(self) -> MultimodalCorrelationConfig:
        assert isinstance(self.run.config, MultimodalCorrelationConfig)
        return self.run.config

    def members(self, modes: pd.DataFrame | None = None) -> pd.DataFrame:
        """Which samples are in each mode, bool, a row for each mode and a column for each sample.

        modes : some rows of ``modes`` (a table with its index); None: all.
        """
        return self._bits("samples", modes)

    def outliers(self, modes: pd.DataFrame | None = None) -> pd.DataFrame:
        """Which samples were taken away as outliers of each mode's pair; as ``members``."""
        return self._bits("outliers", modes)

    def pair(self, first: Hashable, second: Hashable) -> PairModes:
        """Values and modes of two genes, to look at or to draw (``charts.pair_scatter``). With
        ``lag`` the first is the source, with the value that it has so much earlier.

        Raises ValueError for a gene that is not there, and for a pair without a stored mode.
        """
        numbers = self.labels.get_indexer(pd.Index([first, second]))
        for name, number in zip((first, second), numbers, strict=True):
            if number < 0:
                raise ValueError(f"gene: found {name!r}; expected one of {len(self.labels)} kept")
        regulators = self.state["regulators"]
        i, j = map(int, numbers)
        if "lag" not in self.state:
            i, j = sorted((i, j), key=lambda number: (number not in regulators, number))
        stored = self.merged.pairs
        rows = stored[(stored["i"] == i) & (stored["j"] == j)]
        names = (str(self.labels[i]), str(self.labels[j]))
        return PairModes.of_rows(rows, source_values(self.state, i), self.state["values"][j], names)

    def network(
        self,
        threshold: str | float | Mapping[str, object] = "auto",
        *,
        annotations: pd.DataFrame | str | PathLike[str] | None = None,
        power: SectionMapping | bool = True,
        conditions: Sequence[object] = (),
        condition_networks: SectionMapping | None = None,
        modules: SectionMapping | bool = True,
    ) -> ModeNetwork:
        """Make a network of the modes that are strong enough, as the workflow does.

        Parameters
        ----------
        threshold : {"auto", "rmt", "fdr", "power_law", "none"}, float or mapping
            Least size of an edge's correlation: sought by random matrix theory where that holds and
            a false discovery rate of 0.05 elsewhere (``notes`` say which and why), by one of them,
            or by the power law; none; or given; or a mapping with the keys of the configuration's
            ``threshold``.
        annotations : DataFrame or path, optional
            What is known of the samples, in rows, such as ``adata.obs``: edges are then tested for
            what their samples have in common.
        power : mapping or bool
            Removal of modes with too few samples for their correlation, after the threshold;
            `False` turns it off. Never of partial correlations.
        conditions : sequence
            Which columns of `annotations` to test; an empty list: every column that can be. Labels
            are tested for more samples in the mode than by chance, numbers and ranks for a
            regression on the expression of the two genes, all for a difference in co-expression.
        condition_networks : mapping, optional
            Which edges belong to a condition.
        modules : mapping or bool
            Groups of genes in the network; `False` turns it off.

        Returns
        -------
        ModeNetwork
            What needs attention, as a threshold that was not found, is also issued as a warning.

        Raises
        ------
        ValueError
            Settings that are not allowed; annotations of another kind.
        InputError
            Annotations that do not fit the samples; link communities of too large a network.
        """
        given, asked = locals() | {"conditions": list(conditions)}, threshold
        if isinstance(threshold, str):
            asked = {"method": threshold}
        elif not isinstance(threshold, Mapping):
            asked = {"method": "score", "score": threshold}
        held = self._config
        if annotations is not None:
            given["annotations"] = self.annotation_file(annotations)
        sources = "other_expression" if "columns" in self.state else "regulators"
        config = NETWORK.config(
            given,
            threshold=asked,
            **{sources: "in memory"} if self.state["regulators"].size else {},
            compatibility=held.compatibility,
            estimator=held.estimator.model_dump(),
            lag=held.lag,
        )
        if config.gene_modules is not None:
            raise ValueError("modules: find_modules finds those of wgcna, and eigengenes")
        update = {key: getattr(config, key) for key in ("threshold", *NETWORK.places)}
        run = replace(self.run, config=held.model_copy(update=update))
        # What was removed are the results of another call.
        found, said = finished(
            run, self.folder, after="merge", told=(*self.messages, "old_results_removed")
        )
        decided = found.summary["threshold"]
        made = network_tables(found)
        return ModeNetwork(
            edges=read_network(found.folder, self.labels),
            threshold=decided["correlation"],
            message=str(decided["message"]),
            curve=table_of_walk(found.scores or {}, "curve"),
            spacings=table_of_walk(found.scores or {}, "spacings"),
            tests=self._labelled(made.tests, TESTS),
            condition_networks=self._labelled(made.networks, NETWORKS),
            condition_counts=made.counts,
            modules=self._labelled(made.modules, MODULES),
            conditions=made.conditions,
            counts=found.counts,
            messages=said,
        )

    def _labelled(self, table: pd.DataFrame, name: str) -> pd.DataFrame:
        """A table of the network as read, with labels in place of names."""
        table = typed(table, name, __package__)
        ends = table.columns.intersection(["source", "target", "gene"])
        symbols = [f"{end}_symbol" for end in ends]
        named = {end: as_labelled(self.labels, table[end]) for end in ends}
        return table.assign(**named).drop(columns=["symbol", *symbols], errors="ignore")

    def annotation_file(self, annotations: pd.DataFrame | str | PathLike[str]) -> str:
        """The path of annotations; those in memory are written beside the results."""
        if isinstance(annotations, str | PathLike):
            return fspath(annotations)
        path = Path(self.folder.name) / "annotations.tsv"
        annotation_cells(annotations).to_csv(path, sep="\t", index_label="name of the sample")
        return str(path)

    def write_kinc(self, folder: str | PathLike[str], name: str = "pairtile") -> None:
        """Write the expression and all modes as KINC's texts: ``NAME.emx.txt`` for ``kinc run
        import-emx`` (missing values are ``NaN``) and ``NAME.cmx.txt`` for ``import-cmx``.

        Genes are the kept ones, in their order. Raises ValueError for partial correlations, modes
        with a lag, or between two tables, which KINC does not know.
        """
        config = self._config
        if not config.writes_kinc_text or "columns" in self.state:
            raise ValueError(
                "write_kinc: found partial correlations, modes with a lag, or of two tables; "
                "expected pairs of one table"
            )
        samples = mode_samples(config, self.state, self.merged.pairs)
        genes, names = [*map(str, self.labels)], [*map(str, self.samples)]
        write_emx(samples.values, genes, names, Path(folder) / f"{name}.emx.txt")
        before = config.estimator.outliers_before
        write_cmx(self.merged.pairs, samples, before, Path(folder) / f"{name}.cmx.txt")

    def _bits(self, column: str, modes: pd.DataFrame | None) -> pd.DataFrame:
        assert column in MASKS
        chosen = self.modes.index if modes is None else modes.index
        stored = self.merged.pairs[column].iloc[chosen].tolist()
        bits = np.unpackbits(
            packed_masks(stored, len(self.samples)), axis=1, count=len(self.samples)
        )
        return pd.DataFrame(bits.astype(bool), index=chosen, columns=self.samples, copy=False)


# --- the network of modes ---


@dataclass(frozen=True, repr=False)
class ModeNetwork(HasMessages):
    """A multimodal co-expression network.

    Attributes
    ----------
    edges : DataFrame
        A row for each mode that passed, strongest ``|correlation|`` first: the columns of
        ``network.parquet``.
    threshold : float or None
        Least size of an edge's correlation; None where none was found (``message`` says why).
    curve, spacings : DataFrame
        The walk to the threshold, and spacings of eigenvalues; empty for a given threshold.
    tests : DataFrame
        Every edge against every condition: the columns of ``condition_tests.tsv``.
    condition_networks, condition_counts : DataFrame
        The edges of each condition's network, and their numbers by label.
    modules : DataFrame
        ``gene``, ``module``, ``degree``, ``degree_in_module``.
    conditions : sequence
        Of the samples, as they were tested.
    counts, messages, notes, warnings
        How it came about.
    """

    edges: pd.DataFrame
    threshold: float | None
    message: str
    curve: pd.DataFrame
    spacings: pd.DataFrame
    tests: pd.DataFrame
    condition_networks: pd.DataFrame
    condition_counts: pd.DataFrame
    modules: pd.DataFrame
    conditions: list[Condition]
    counts: dict[str, int]
    messages: list[Message]

    def __repr__(self) -> str:
        genes = pd.unique(self.edges[["source", "target"]].to_numpy().ravel())
        return (
            f"ModeNetwork: {len(self.edges):,} edges between {len(genes):,} genes; {self.message}"
        )


# --- tests of conditions ---


def condition_tests(
    found: ModeCorrelation,
    annotations: pd.DataFrame | str | PathLike[str],
    conditions: Sequence[str | Mapping[str, object]] = (),
    *,
    modes: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Test modes against what is known of their samples.

    ``ModeCorrelation.network`` makes these tests for the edges of a network; this is for any modes.
    q-values are over the modes that are tested together.

    Parameters
    ----------
    found : ModeCorrelation
        What :func:`multimodal_correlation` returned.
    annotations : DataFrame or path
        Samples in rows, what is known of them in columns, such as ``adata.obs``.
    conditions : sequence
        Columns to test: names, or mappings with ``name``, ``kind`` ("categorical", "ordinal",
        "quantitative" or "auto") and ``levels``. Empty: all that can be tested.
    modes : DataFrame, optional
        Some rows of ``found.modes``; None: all.

    Returns
    -------
    DataFrame, a row for each mode and test
        ``source``, ``target``, ``cluster``, ``condition``, ``label``, ``test`` ("enrichment":
        hypergeometric, of a label; "regression": F-test of the linear model of both genes and their
        product), ``n``, ``n_mode``, ``n_label``, ``n_both``, ``p_value``, ``q_value`` (Benjamini
        and Hochberg, over all modes and labels of the condition), ``r_squared``: tests of the
        expression within a mode. And of a different co-expression of the pair: ``r_label`` and
        ``r_others`` (correlation of the samples with the label, and of the others; of a regression,
        at the highest and the lowest value), ``coexpression_p_value``, ``coexpression_q_value``.
        NaN where there was nothing to test. ``attrs["warnings"]``: what could not be tested, also
        issued as warnings.

    Raises
    ------
    ValueError
        Annotations of another kind; settings that are not allowed.
    InputError
        Annotations that do not fit the samples.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from pairtile import multimodal_correlation
    >>> random = np.random.default_rng(3)
    >>> treated, hidden = np.arange(100) < 50, random.normal(size=100)
    >>> pair = np.stack([hidden, np.where(treated, hidden, -hidden)]) + 6.0 * treated
    >>> found = multimodal_correlation(pair, max_clusters=2, preprocess={"log2": False})
    >>> samples = pd.DataFrame({"treated": treated})
    >>> tests = condition_tests(found, samples)
    >>> tests[["cluster", "label", "n_mode", "n_both"]].values.tolist()
    [[1, 'False', 50, 50], [1, 'True', 50, 0], [2, 'False', 47, 0], [2, 'True', 47, 47]]
    """
    config = analysis_config(
        MultimodalCorrelationConfig,
        annotations="annotations",
        conditions=list(conditions),
        estimator=found.settings["estimator"],
        compatibility=found.settings["compatibility"],
    )
    samples_, entries = found.state["samples"].tolist(), config.conditions
    asked = read_annotations(found.annotation_file(annotations), samples_, entries)
    chosen = found.modes if modes is None else found.modes.loc[modes.index]
    samples = mode_samples(config, found.state, found.merged.pairs.iloc[chosen.index])
    tests = conditions_tested(config, found.state, samples, asked.conditions)
    table = tests.table(chosen[["source", "target", "cluster"]])
    pairs = int(found.pairs_by_modes.sum())
    said = messages_on_tests(config, found.state, tests, asked.conditions, pairs)
    table.attrs["warnings"] = warnings_of(issue_warnings(said))
    return table


# --- thresholds ---

_ENDS = ["source", "target", "correlation"]


def rmt_threshold(
    correlation: ArrayLike,
    *,
    start: float = 0.99,
    step: float = 0.001,
    stop: float | None = None,
    rule: str = "symmetric",
    min_eigenvalues: int = 50,
    backend: str = "auto",
) -> Threshold:
    """The correlation at which a network of modules turns into one that noise ties together.

    Parameters
    ----------
    correlation : array or DataFrame
        A symmetric matrix (genes x genes), NaN where there is none; or a table with columns
        ``source``, ``target`` and ``correlation``, such as ``ModeCorrelation.modes``. Of several
        modes of a pair the strongest counts.
    start, step : float
        The walk goes down from ``start`` by ``step``.
    stop : float, optional
        Where it ends; None: at the smallest correlation there is.
    rule : {"symmetric", "kinc"}
        Genes of the matrix: with a strong enough correlation to any gene, or to one before them.
    min_eigenvalues : int
        The test is made where the matrix has so many distinct eigenvalues; at least 50.
    backend : {"auto", "cpu", "cuda"}
        Where to compute eigenvalues.

    Returns
    -------
    Threshold
        ``threshold`` (None where none was found), ``message`` (what was found, or why not),
        ``curve`` (of each step ``threshold``, ``genes``, ``edges``, distinct ``eigenvalues`` and
        ``chi_square``, NaN where these are too few), ``spacings`` (their distribution at the first
        step with a chi-square, at the threshold, and at the last). The figures ``threshold`` and
        ``spacings`` of a report draw them.

    Raises
    ------
    ValueError
        Neither a symmetric matrix nor such a table; correlations outside -1 to 1; settings that
        make no sense.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Source: Luo et al. 2007, BMC Bioinformatics 8:299.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> modules = np.repeat(random.normal(size=(80, 20)), 5, axis=0)  # 80 modules of 5 genes
    >>> r = np.corrcoef(modules + 0.6 * random.normal(size=modules.shape))
    >>> rmt_threshold(r, step=0.01).threshold
    0.64
    """
    return random_matrix_threshold(
        RankedPairs.of_modes(*_pairs(correlation)),
        start=start,
        step=step,
        stop=stop,
        rule=rule,
        min_eigenvalues=min_eigenvalues,
        device=choose(backend),
    )


def power_law_threshold(
    correlation: ArrayLike,
    *,
    start: float = 0.99,
    step: float = 0.01,
    stop: float | None = None,
    fit: float = 0.8,
    min_genes: int = 50,
) -> Threshold:
    """The lowest correlation at which the numbers of neighbours follow a power law.

    Parameters
    ----------
    correlation, start, step, stop
        As for :func:`rmt_threshold`.
    fit : float
        Least R² of the falling line through the logarithms.
    min_genes : int
        Networks of fewer genes are not fitted.

    Returns
    -------
    Threshold
        As for :func:`rmt_threshold`, without spacings; ``curve`` has ``threshold``, ``genes`` (with
        an edge), ``edges``, ``mean_degree``, ``max_degree``, ``fit``, ``slope``. The figure
        ``threshold`` of a report draws it.

    Raises
    ------
    ValueError
        As :func:`rmt_threshold`.

    Notes
    -----
    Source: Zhang and Horvath 2005, Stat Appl Genet Mol Biol 4:17.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(2)
    >>> r = np.corrcoef(random.normal(size=(80, 1)) * random.normal(size=60)
    ...                 + random.normal(size=(80, 60)))
    >>> found = power_law_threshold(r)
    >>> found.curve.columns.tolist()
    ['threshold', 'genes', 'edges', 'mean_degree', 'max_degree', 'fit', 'slope']
    """
    pairs = RankedPairs.of_modes(*_pairs(correlation))
    return scale_free_threshold(
        pairs, start=start, step=step, stop=stop, fit=fit, min_genes=min_genes
    )


def _pairs(
    correlation: ArrayLike,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], int]:
    """Gene numbers and correlation of each pair, and how many genes there are."""
    if isinstance(correlation, pd.DataFrame) and set(_ENDS) <= set(correlation.columns):
        codes, names = pd.factorize(correlation[_ENDS[:2]].to_numpy().ravel())
        r = correlation["correlation"].to_numpy(dtype=np.float64)
        return codes[::2], codes[1::2], r, len(names)
    try:
        matrix = np.asarray(correlation, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"correlation: found no numbers ({error}); {_EXPECTED}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"correlation: found shape {matrix.shape}; {_EXPECTED}")
    i, j = np.triu_indices(len(matrix), k=1)
    r = matrix[i, j]
    if not np.allclose(r, matrix[j, i], rtol=0.0, atol=1e-6, equal_nan=True):
        raise ValueError(f"correlation: found a matrix that is not symmetric; {_EXPECTED}")
    there = ~np.isnan(r)
    # Rounding leaves correlations of copies a little above 1.
    near = np.where(np.abs(r) <= 1.0 + 1e-9, np.clip(r, -1.0, 1.0), r)
    return i[there], j[there], near[there], len(matrix)


_EXPECTED = (
    "expected a symmetric matrix (genes x genes), or a table with columns source, target and "
    "correlation"
)
