"""Rule ``network``: merged pairs -> the final network and the score histogram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairtile.estimators.base import Section
from pairtile.files import atomic_path, read_arrays, write_arrays
from pairtile.network.build import Network, Pairs, build_network, p_values, q_values, sort_edges
from pairtile.network.consensus import bootstrap_consensus
from pairtile.network.moments import ExactMoments
from pairtile.network.significance import Null
from pairtile.record import StepRecord, recorded
from pairtile.state import open_state
from pairtile.steps.plan import read_plan


def network(
    section: Section,
    plan_file: Path,
    state: Path,
    items: Path,
    null: Path,
    pairs: Path,
    summaries: Path,
    scan: Path | None,
    bootstraps: Sequence[Path],
    out: Path,
    scores: Path,
    record: Path,
) -> None:
    """Judge the merged pairs, apply ``keep`` and DPI, and write ``network.parquet``.

    With bootstraps, the edges are those of the consensus; their ``p_value`` and ``q_value`` are
    the consensus' and ``support`` counts the bootstrap networks that hold the edge.
    """
    with recorded("network", record) as step:
        plan = read_plan(plan_file)
        opened = plan.open_estimator(section, state)
        step.device = opened.device.name
        sums = read_arrays(summaries)
        null_distribution = Null.from_arrays(read_arrays(null))
        moments = None if scan is None else ExactMoments.from_summaries(read_arrays(scan))
        arrays_of_state = open_state(state)
        n_genes = int(arrays_of_state["z"].shape[0])
        is_regulator = regulator_flags(arrays_of_state)
        found = Pairs.from_frame(pq.read_table(pairs).to_pandas())
        n_tests = int(sums["pairs_scored"].sum())
        p, extrapolated = p_values(found, null_distribution)
        top_bits = max(1.0, float(np.log2(section["estimator"]["bins"])))
        samples = int(arrays_of_state["z"].shape[1])
        q = q_values(p, n_tests, null_distribution, sums["statistic_histogram"], samples, top_bits)
        result = build_network(
            found,
            p,
            q,
            extrapolated,
            n_genes=n_genes,
            keep=section["keep"],
            score=section["score"],
            moments=moments,
            dpi=section["dpi"] or None,
            is_regulator=is_regulator,
            backend=opened.device.backend,
        )
        if bootstraps:
            result = _consensus(section, opened, bootstraps, moments, is_regulator, step)
        step.count(**result.counts)
        extrapolated_edges = result.counts.get("edges_with_extrapolated_p", 0)
        step.details["threshold"] = {
            "keep": section["keep"],
            "mi_bits": result.threshold_bits,
            "p_method": "extrapolated" if extrapolated_edges else "empirical",
            "permutations": int(sum(s.size for s in null_distribution.statistic)),
        }
        if extrapolated_edges:
            step.note(
                f"{extrapolated_edges} edges have fewer than 10 null draws above them; their "
                "p-values are extrapolated from the top 1% of the null (p_method: extrapolated)"
            )
        write_network(result, pd.read_parquet(items), out)
        _write_histogram(scores, sums, null_distribution, samples, top_bits, result.threshold_bits)
        step.details["directed"] = result.directed


def regulator_flags(state: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_] | None:
    """Which genes may be a source; None where all may."""
    if not state["regulators"].size:
        return None
    flags = np.zeros(state["z"].shape[0], dtype=bool)
    flags[state["regulators"]] = True
    return flags


def write_network(result: Network, items: pd.DataFrame, out: Path) -> None:
    """Write the network with names in place of gene numbers."""
    names = items["name"].to_numpy()
    table = result.edges.copy()
    for column in ("source", "target"):
        table[column] = names[table[column].to_numpy()].astype(object)
    table["mi_bits"] = table["mi_bits"].astype(np.float64)
    table.attrs = {}
    with atomic_path(out) as temporary:
        table.to_parquet(temporary, index=False)


def _consensus(
    section: Section,
    opened: Any,
    bootstraps: Sequence[Path],
    moments: ExactMoments | None,
    is_regulator: NDArray[np.bool_] | None,
    step: StepRecord,
) -> Network:
    held = pd.concat([pd.read_parquet(path) for path in bootstraps], ignore_index=True)
    settings = section["bootstraps"]
    options = settings if isinstance(settings, Mapping) else {}
    number = int(options.get("number", settings if not options else 0))
    table = bootstrap_consensus(
        held["bootstrap"],
        held["i"],
        held["j"],
        n_bootstraps=number,
        n_possible=opened.n_pairs(),
        correction=options.get("correction", "bonferroni"),
    )
    step.count(bootstraps=number, edges_in_any_bootstrap=len(table))
    table = table[table["q_value"] <= options.get("alpha", 0.05)].reset_index(drop=True)
    i, j = table["i"].to_numpy(), table["j"].to_numpy()
    bits, n_samples = opened.score_pairs(i, j)
    pairs = Pairs(i, j, bits, n_samples)
    result = build_network(
        pairs,
        table["p_value"].to_numpy(),
        table["q_value"].to_numpy(),
        np.zeros(len(table), dtype=bool),
        n_genes=opened.genes,
        keep="all",
        score=section["score"],
        moments=moments,
        dpi=None,
        is_regulator=is_regulator,
    )
    support = {(a, b): s for a, b, s in zip(i, j, table["support"], strict=True)}
    edges = result.edges
    ends = zip(edges["source"], edges["target"], strict=True)
    edges.insert(
        list(edges.columns).index("p_method"),
        "support",
        [support[e] if (e := (a, b)) in support else support[(b, a)] for a, b in ends],
    )
    result.edges = sort_edges(edges, "mi_bits" if section["score"] == "mi" else section["score"])
    return result


def _write_histogram(
    out: Path,
    sums: Mapping[str, NDArray[np.int64]],
    null: Null,
    samples: int,
    top_bits: float,
    threshold: float | None,
) -> None:
    counts = sums["histogram"]
    edges = np.linspace(0.0, top_bits, counts.size + 1)
    bits = np.concatenate(null.statistic) / samples
    null_counts, _ = np.histogram(np.minimum(bits, top_bits), bins=edges)
    write_arrays(
        out,
        {
            "edges": edges,
            "counts": counts,
            "null_counts": null_counts,
            "threshold_bits": np.array(np.nan if threshold is None else threshold),
        },
    )
