"""From stored modes to the multimodal network: threshold, power, tests of conditions, bias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pairtile.declare.messages import Message, messages_of
from pairtile.engine.estimator import MergedResults
from pairtile.engine.network import Network
from pairtile.gpu.device import Device
from pairtile.io.annotations import (
    Annotations,
    Condition,
    read_annotations,
)
from pairtile.io.cells import as_text
from pairtile.io.text_file import EMPTY
from pairtile.methods.multimodal_correlation.arrays import ModeArrays
from pairtile.methods.multimodal_correlation.coexpression import DRAWS
from pairtile.methods.multimodal_correlation.conditions import (
    ConditionTests,
    arrays_of_conditions,
    condition_tests,
    mode_bias,
    tested_edges,
)
from pairtile.methods.multimodal_correlation.config import (
    MultimodalCorrelationConfig,
    ThresholdConfig,
)
from pairtile.methods.multimodal_correlation.modes import ModeSamples, packed_masks
from pairtile.methods.multimodal_correlation.null import (
    ModeNull,
    draws_needed,
    log_orders,
    mode_null,
)
from pairtile.methods.multimodal_correlation.p_values import standard_correlation
from pairtile.methods.multimodal_correlation.thresholds import (
    RankedPairs,
    Threshold,
    arrays_of_walk,
    power_filter,
    random_matrix_threshold,
    scale_free_threshold,
)
from pairtile.statistics.counting_noise import Counts
from pairtile.statistics.dependence import evenly_spaced
from pairtile.statistics.exchangeable import Exchangeable
from pairtile.statistics.group_factors import MAX_GENES, group_factors

CHANCE_SHARE = 0.05
"""Share of the modes above a threshold of random matrix theory that may be there by chance."""

MIN_GENES_FOR_RMT = 1_000
"""Genes below which ``threshold: auto`` does not try random matrix theory."""

message = messages_of(__package__)

COUNT = "count_"
"""What summaries that are counts of pairs or modes begin with."""

MASKS = ("samples", "outliers")
KEYS = ("i", "j", "cluster")
_REPORTED = ("n_clusters", "n_samples", "correlation", "p_value")
_ALSO = ("n_modes", "weight")


def multimodal_network(
    config: MultimodalCorrelationConfig,
    state: ModeArrays,
    merged: MergedResults,
    device: Device,
    seed: int = 0,
) -> Network:
    """Choose modes by the configured threshold and power, and test those that are left.

    Where no threshold is found the network is empty, and a warning says why and what to do.
    ``seed``: of the permutations of ``threshold: {method: fdr}``.

    Raises
    ------
    InputError
        If the annotations do not fit the samples.
    """
    asked, found, rates, on_threshold = _sought(config, state, merged, device, seed)
    modes, counts = _strong_modes(config, merged, asked, found, rates)
    outcome = f"{found.message.removesuffix('.')}."
    first_said = (
        message("no_threshold", reason=outcome)
        if found.threshold is None
        else message("threshold_found", outcome=outcome[0].upper() + outcome[1:])
    )
    messages = [first_said, *on_threshold]
    samples = mode_samples(config, state, modes)
    columns: dict[str, NDArray[np.generic]] = {}
    arrays = arrays_of_walk(found)
    annotations = annotations_of(config, state)
    if annotations is not None:
        tests = conditions_tested(config, state, samples, annotations.conditions)
        columns |= tests.columns()
        arrays |= arrays_of_conditions(annotations.conditions)
        messages += annotations.notes
        messages += messages_on_tests(config, state, tests, annotations.conditions, counts["pairs"])
    if config.estimator.clustering == "gmm":
        columns |= mode_bias(samples, [] if annotations is None else annotations.conditions)
    tested = ["q_value"] if rates else []
    first = [*KEYS, *_REPORTED, *tested, *(["power"] if config.power else [])]
    edges = pd.concat(
        [modes[first], pd.DataFrame(columns, index=modes.index), modes[list(_ALSO)]], axis=1
    ).rename(columns={"i": "source", "j": "target"})
    counts["edges"] = len(edges)
    counts["pairs_in_network"] = len(edges[["source", "target"]].drop_duplicates())
    counts["genes_in_network"] = len(np.union1d(edges["source"], edges["target"]))
    return Network(
        edges,
        directed=config.lag > 0,
        counts=counts,
        threshold={
            "method": asked.method,
            "correlation": found.threshold,
            "message": found.message,
        },
        arrays=arrays,
        messages=messages,
    )


def mode_counts(sums: Mapping[str, NDArray[np.int64]]) -> dict[str, int]:
    """The counts of all pairs and modes that the chunks added up."""
    return {
        name.removeprefix(COUNT): int(value[0])
        for name, value in sums.items()
        if name.startswith(COUNT)
    }


def annotations_of(config: MultimodalCorrelationConfig, state: ModeArrays) -> Annotations | None:
    """The conditions that the configuration names, for the samples of the state; None without."""
    if config.annotations is None:
        return None
    return read_annotations(
        config.annotations,
        state["samples"].tolist(),
        config.conditions,
        config.samples.unannotated,
        of_group=bool(config.obs),
    )


def annotation_cells(annotations: object) -> pd.DataFrame:
    """A table of annotations in memory as a file would hold it: text, samples as its index.

    Raises ValueError for what is no DataFrame, or names a sample or column twice.
    """
    if not isinstance(annotations, pd.DataFrame):
        raise ValueError(
            f"annotations: found {type(annotations).__name__}; expected a DataFrame with samples "
            "as its index, or the path of a table"
        )
    table = annotations.map(_cell)
    for axis, kind in (("index", "sample"), ("columns", "column")):
        labels = pd.Index([str(label) for label in getattr(table, axis)])
        if not labels.is_unique:
            twice = labels[labels.duplicated()][0]
            raise ValueError(f"annotations: found {kind} {twice!r} twice; expected each once")
        setattr(table, axis, labels)
    return table


def _cell(value: Any) -> str:
    """A value as a file would hold it."""
    text = as_text(value)
    return "" if text in EMPTY else text


def mode_samples(
    config: MultimodalCorrelationConfig, state: ModeArrays, modes: pd.DataFrame
) -> ModeSamples:
    """The samples of modes: a table with i, j and the packed masks."""
    n_samples = int(state["values"].shape[1])
    estimator = config.estimator
    return ModeSamples(
        modes["i"].to_numpy(),
        modes["j"].to_numpy(),
        packed_masks(modes["samples"].tolist(), n_samples),
        np.asarray(state["values"]),
        packed_masks(modes["outliers"].tolist(), n_samples),
        estimator.min_expression,
        estimator.max_expression,
    )


def conditions_tested(
    config: MultimodalCorrelationConfig,
    state: ModeArrays,
    samples: ModeSamples,
    conditions: Sequence[Condition],
) -> ConditionTests:
    """Every mode against every condition, with the samples' series and batches as the state has
    them."""
    counts = Counts.of_state(state)
    tests = condition_tests(
        samples,
        conditions,
        Exchangeable.of_state(state),
        config.estimator.facts.of_ranks,
        counts,
    )
    if counts is None and np.any(state.get("quality_counted", False)):
        for test in tests.tests:
            test.results["counting_noise"] = "unknown"
    return tests


def modes_of_edges(merged: MergedResults, edges: pd.DataFrame) -> pd.DataFrame:
    """The stored rows of edges: a table with i, j, cluster; in the order of ``edges``."""
    wanted = pd.MultiIndex.from_frame(edges[list(KEYS)])
    parts = []
    for batch in merged.batches():
        # The pairs first: a table of all modes is far larger than a network.
        here = pd.MultiIndex.from_frame(batch.select(list(KEYS)).to_pandas()).isin(wanted)
        parts.append(batch.filter(pa.array(here)).to_pandas())
    return pd.concat(parts, ignore_index=True).set_index(list(KEYS)).loc[wanted].reset_index()


def strongest_modes(batches: Iterable[pa.Table]) -> pd.DataFrame:
    """The largest \\|r\\| of each pair: i, j, correlation (its size), in order of i and j.

    batches : rows i, j, correlation, sorted by i and j.
    """
    table = pd.concat([batch.to_pandas() for batch in batches], ignore_index=True)
    table["correlation"] = table["correlation"].abs()
    return table.groupby(["i", "j"], sort=True, as_index=False)["correlation"].max()


def _sought(
    config: MultimodalCorrelationConfig,
    state: ModeArrays,
    merged: MergedResults,
    device: Device,
    seed: int,
) -> tuple[ThresholdConfig, Threshold, _FalseDiscoveries | None, list[Message]]:
    """Seek the threshold; ``auto`` takes ``rmt`` where it holds, else ``fdr``. The section with
    ``auto`` decided, what was found by it, its rates, and messages."""
    genes, asked = int(state["values"].shape[0]), config.threshold
    null_of = cache(lambda pairs: mode_null(config, state, device, seed, pairs))
    messages: list[Message] = []
    walked = None
    if asked.method == "auto" and (reason := _against_rmt(config, genes)):
        asked, messages = asked.taking("fdr"), [reason]
    if asked.method in ("auto", "rmt"):
        walked = _threshold(asked.taking("rmt"), merged, genes, device)
        chance = (
            {}
            if walked.threshold is None
            else _expected_by_chance(walked.threshold, merged, null_of(_rmt_draws(genes)))
        )
        holds = bool(chance) and chance["share"] <= CHANCE_SHARE
        if asked.method == "rmt":
            if chance:
                messages.append(message("rmt_holds" if holds else "rmt_does_not_hold", **chance))
            return asked, walked, None, messages
        if holds:
            messages.append(message("threshold_auto_rmt", **chance))
            return asked.taking("rmt"), walked, None, messages
        if chance:
            messages.append(message("threshold_auto_chance", **chance, allowed=CHANCE_SHARE))
        else:
            messages.append(message("threshold_auto_not_found", outcome=walked.message))
        asked = asked.taking("fdr")
    if asked.method != "fdr":
        return asked, _threshold(asked, merged, genes, device), None, messages
    assert asked.fdr is not None
    null = null_of(draws_needed(genes, asked.fdr))
    orders = log_orders(np.asarray(state["values"]))
    rates = _false_discoveries(
        asked.fdr, merged, null, orders, standardised=not config.estimator.facts.product_moment
    )
    found = rates.threshold
    if walked is not None:  # the page shows why it was not taken
        found = replace(found, curve=walked.curve, spacings=walked.spacings)
    return asked, found, rates, messages


def _against_rmt(config: MultimodalCorrelationConfig, genes: int) -> Message | None:
    """Why ``auto`` does not try random matrix theory; None where it does."""
    if (config.regulators or config.other_expression) is not None:
        return message("threshold_auto_regulators")
    if config.lag:
        return message("threshold_auto_lag")
    if genes < MIN_GENES_FOR_RMT:
        return message("threshold_auto_few_genes", genes=genes, least=MIN_GENES_FOR_RMT)
    return None


def _threshold(
    asked: ThresholdConfig, merged: MergedResults, genes: int, device: Device
) -> Threshold:
    if asked.method == "none":
        return Threshold(0.0, pd.DataFrame(), "every stored mode is kept (threshold: none)")
    if asked.method == "score":
        assert asked.score is not None
        return Threshold(asked.score, pd.DataFrame(), f"threshold {asked.score:g}, as configured")
    settings = asked.of_method()
    table = pa.concat_tables(list(merged.batches(["i", "j", "correlation"])))
    i, j, r = (table[name].to_numpy() for name in ("i", "j", "correlation"))
    pairs = RankedPairs.of_modes(i, j, r, genes)
    if asked.method == "rmt":
        return random_matrix_threshold(pairs, device=device, **settings)
    return scale_free_threshold(pairs, **settings)


class _FalseDiscoveries(NamedTuple):
    """p- and q-values of all stored modes, in order; the weakest edge; counts of the null."""

    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]
    threshold: Threshold
    counts: dict[str, int]


def pairs_permuted(config: MultimodalCorrelationConfig, n_genes: int) -> int:
    """Pairs of permuted genes that the threshold is held against, at most."""
    asked = config.threshold
    tried = asked.method == "auto" and _against_rmt(config, n_genes) is None
    draws = {_rmt_draws(n_genes)} if tried or asked.method == "rmt" else set()
    if asked.method in ("auto", "fdr"):
        assert asked.fdr is not None
        draws.add(draws_needed(n_genes, asked.fdr))
    return sum(draws)


def _rmt_draws(n_genes: int) -> int:
    return min(n_genes * (n_genes - 1) // 2, draws_needed(n_genes, CHANCE_SHARE))


def _false_discoveries(
    rate: float,
    merged: MergedResults,
    null: ModeNull,
    orders: NDArray[np.float64],
    standardised: bool,
) -> _FalseDiscoveries:
    """``orders``: ``log_orders`` of each gene."""
    columns = ["i", "j", "n_samples", "correlation", *(["p_value"] if standardised else [])]
    table = pa.concat_tables(list(merged.batches(columns)))
    r, n = table["correlation"].to_numpy(), table["n_samples"].to_numpy()
    score = standard_correlation(table["p_value"].to_numpy(), n) if standardised else r
    fewest = np.minimum(*(orders[table[end].to_numpy()] for end in ("i", "j")))
    p = np.maximum(null.p_value(score, n), np.exp(-fewest))
    q = null.q_value(p, int(merged.sums["count_pairs"][0]))
    edges = np.abs(r[q <= rate])
    weakest = float(edges.min()) if edges.size else None
    searched = f"{null.modes:,} modes of {null.pairs:,} pairs of permuted genes"
    if weakest is None:
        least = f"the least q_value is {q.min():.3g}" if q.size else "no mode was stored"
        message = f"no mode has a false discovery rate of {rate:g} or less, by {searched}: {least}"
    else:
        message = (
            f"{edges.size:,} modes have a false discovery rate of {rate:g} or less, by {searched}; "
            f"the weakest has |r| = {weakest:.4g}"
        )
    counts = {"null_pairs": null.pairs, "null_modes": null.modes}
    return _FalseDiscoveries(p, q, Threshold(weakest, pd.DataFrame(), message), counts)


def _expected_by_chance(
    threshold: float, merged: MergedResults, null: ModeNull
) -> dict[str, float]:
    """How many modes above a threshold there are, and how many of them would be there if no two
    genes had anything to do with each other: the numbers of the messages on ``rmt``.

    The eigenvalues know no error rate; those of noise give a threshold, too, now and then.
    """
    limit = np.float32(threshold)
    sizes = (np.abs(part["correlation"].to_numpy()) for part in merged.batches(["correlation"]))
    found = sum(int((size >= limit).sum()) for size in sizes)
    reaching = null.reaching(float(limit))
    expected = (1 + reaching) / null.pairs * int(merged.sums["count_pairs"][0])
    return {
        "correlation": threshold,
        "modes": found,
        "reaching": reaching,
        "permuted": null.pairs,
        "expected": expected,
        "share": min(1.0, expected / max(found, 1)),
    }


def _strong_modes(
    config: MultimodalCorrelationConfig,
    merged: MergedResults,
    asked: ThresholdConfig,
    found: Threshold,
    rates: _FalseDiscoveries | None,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Modes above the threshold with enough power, with their masks, by falling correlation; and
    all counts of modes."""
    limit = np.float32(np.inf if found.threshold is None else found.threshold)
    parts, begin = [], 0
    for batch in merged.batches([*KEYS, *_REPORTED, *_ALSO, *MASKS]):
        rows = slice(begin, begin := begin + batch.num_rows)
        if rates is None:
            chosen, rated = np.abs(batch["correlation"].to_numpy()) >= limit, {}
        else:
            chosen = rates.q_value[rows] <= (asked.fdr or 0.0)
            rated = {name: getattr(rates, name)[rows][chosen] for name in ("p_value", "q_value")}
        parts.append(batch.filter(pa.array(chosen)).to_pandas().assign(**rated))
    modes = pd.concat(parts, ignore_index=True)
    above = len(modes)
    if config.power:
        reached, strong = power_filter(
            config.estimator.facts.as_pearson(np, modes["correlation"].to_numpy()),
            modes["n_samples"].to_numpy(),
            config.power.alpha,
            config.power.power,
        )
        modes = modes.assign(power=reached)[strong]
    size = np.abs(modes["correlation"].to_numpy())
    order = np.lexsort((modes["cluster"], modes["j"], modes["i"], -size))
    counts = mode_counts(merged.sums) | {
        "modes_above_threshold": above,
        "modes_without_power": above - len(modes),
        **(rates.counts if rates else {}),
    }
    return modes.iloc[order].reset_index(drop=True), counts


def messages_on_tests(
    config: MultimodalCorrelationConfig,
    state: ModeArrays,
    tests: ConditionTests,
    conditions: Sequence[Condition],
    pairs: int,
) -> list[Message]:
    """How many edges of ``pairs`` pairs were tested for each condition, and what difference could
    have been found."""
    spearman = config.estimator.facts.of_ranks
    limit = config.condition_networks.q_value
    found = []
    for condition in conditions:
        reach = tested_edges(tests, condition, Exchangeable.of_state(state), spearman, limit)
        numbers = {"condition": condition.name, **reach}
        if reach["tested"]:
            numbers |= {"pairs": pairs, "q": limit}
            found.append(message("condition_tested", **numbers))
        elif reach["edges"]:
            found.append(message("condition_untested", **numbers))
        # The mark of an edge is the same in all tests of a condition.
        own = [test.results for test in tests.tests if test.condition == condition.name]
        marks = own[0]["counting_noise"] if own else pd.Series(dtype=object)
        found += [
            message(code, **numbers, n=int((marks == mark).sum()))
            for mark, code in (
                ("thinned", "counting_noise_thinned"),
                ("unequal", "counting_noise_unequal"),
                ("unknown", "counting_noise_unknown"),
            )
            if (marks == mark).any()
        ]
        if condition.kind == "categorical":  # of ordered conditions nothing is said
            # What most genes share under a label only.
            genes = evenly_spaced(len(state["values"]), MAX_GENES)
            codes = np.asarray(condition.codes)
            values = np.asarray(state["values"])[genes]
            if (counts := Counts.of_state(state)) is not None:
                values = counts.equalised(values, genes, codes).values
            permuted, _ = Exchangeable.of_state(state).permute(codes, DRAWS)
            found += [
                message(
                    "hidden_factors_of_label",
                    condition=condition.name,
                    label=condition.labels[group],
                    share=share,
                    factors=number,
                )
                for group, share, number in group_factors(values, codes, permuted)
            ]
    return found
