"""What the report says of a multimodal network: findings, warnings, and the methods paragraph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairtile.methods.multimodal_correlation.conditions import unique_names
from pairtile.methods.multimodal_correlation.report_results import (
    SMALL_P,
    differs_in,
    edges_with_condition,
    label_counts,
    mode_results,
)
from pairtile.report.formats import count, counted, largest, listed, percent, plain
from pairtile.report.method_report import Reference
from pairtile.report.methods_parts import (
    Part,
    evaluation_part,
    paragraph,
    preparation,
    section,
    versions,
)
from pairtile.report.references import read_references

if TYPE_CHECKING:
    from pairtile.methods.multimodal_correlation.report_results import ModeResults
    from pairtile.report.results import Results

papers = read_references(__package__)


N_LABELS = 6

NUMBER_WORDS = ("no", "one", "two", "three", "four", "five")


def mixture(results: Results) -> bool:
    """Whether pairs were split into modes at all."""
    return bool(section(results, "estimator").get("clustering") != "none")


def threshold_in_words(results: Results) -> str:
    """``|r| ≥ 0.837``; empty where none was found or asked for."""
    found = results.cached(mode_results)
    if found is None or not found.threshold:
        return ""
    return f"|r| ≥ {as_set(found.threshold)}"


def as_set(value: float) -> str:
    """A limit as one would write it: ``0.8``, ``0.837``."""
    return plain(round(value, 4))


def threshold_method(results: Results) -> str:
    """How the threshold was found, with ``auto`` as it was decided."""
    method = str(section(results, "threshold").get("method"))
    return str((results.summary.get("threshold") or {})["method"]) if method == "auto" else method


def headline(results: Results) -> str:
    """``371 edges between 142 genes, |r| ≥ 0.8, in 15 modules; 116 go with a condition``."""
    found = results.cached(mode_results)
    if found is None or found.network.empty:
        return "No edges: no correlation passed the threshold"
    text = f"{counted(len(found.network), 'edge')} between {counted(len(found.partners), 'gene')}"
    limit = threshold_in_words(results)
    text += f", {limit}" if limit else ""
    if len(found.modules):
        text += f", in {counted(found.modules['module'].nunique(), 'module')}"
    specific = edges_with_condition(found)
    return text + (f"; {count(specific)} go with a condition" if specific else "")


def key_numbers(results: Results) -> list[tuple[str, str, str]]:
    """Pairs and their modes, threshold, edges, genes, modules, condition-specific edges."""
    found, counts = results.cached(mode_results), results.counts
    if found is None:
        return [(count(len(results.network)), "edges", "")]
    of_pairs = f"of {counted(counts['pairs'], 'pair')}" if counts.get("pairs") else ""
    pairs = counted(len(found.pairs), "pair") + f" of genes, {of_pairs}" if of_pairs else ""
    kept = int(results.items["kept"].sum())
    tiles = [
        (count(len(found.network)), "edges (modes)" if mixture(results) else "edges", pairs),
        (count(len(found.partners)), "genes in the network", f"of {count(kept)} analysed"),
    ]
    if found.threshold:
        how = {
            "rmt": "by random matrix theory",
            "fdr": "of the weakest edge",
            "power_law": "by the power law",
            "score": "as configured",
        }
        rule = threshold_method(results)
        tiles.append((as_set(found.threshold), "threshold of |r|", how.get(rule, "")))
    heights = found.arrays.get("pairs_by_modes")
    if heights is not None and mixture(results) and heights[1:].sum():
        several, fitted = int(heights[2:].sum()), int(heights[1:].sum())
        share = f"{percent(several / fitted)} of {count(fitted)} with any"
        tiles.append((count(several), "pairs with two or more modes", share))
    if len(found.modules):
        largest = f"the largest of {counted(found.modules['module'].value_counts().max(), 'gene')}"
        tiles.append((count(found.modules["module"].nunique()), "modules", largest))
    if found.conditions:
        networks = found.networks[["condition", "label"]].drop_duplicates()
        labels = f"in {counted(len(networks), 'condition network')}" if len(networks) else ""
        tiles.append((count(edges_with_condition(found)), "condition-specific edges", labels))
    return tiles


def findings(results: Results) -> list[str]:
    """Sentences on modes, threshold, edges, hubs, modules, conditions and what was left out."""
    found = results.cached(mode_results)
    if found is None:
        return []
    parts = [
        _on_modes(results, found),
        _on_threshold(results),
        _on_edges(results, found),
        _on_hubs(found),
        _on_modules(found),
        *condition_sentences(results, found),
        _modes_left_out(results),
        _genes_left_out(results, found),
    ]
    return [sentence for sentence in parts if sentence]


def _on_modes(results: Results, found: ModeResults) -> str:
    heights: Any = found.arrays.get("pairs_by_modes")
    if heights is None or not heights.sum():
        return ""
    total, none = counted(int(heights.sum()), "pair"), int(heights[0])
    least = section(results, "estimator").get("min_samples")
    why = f"too few samples in common (fewer than {least}) or a constant gene"
    if not mixture(results):
        text = f"Of {total} of genes, {count(heights[1])} were correlated over all their samples"
        return text + (f"; {count(none)} have {why}." if none else ".")
    shown = [
        f"{count(heights[k])} {NUMBER_WORDS[k]}"
        for k in range(1, len(heights))
        if heights[k] or k == 1
    ]
    first, *more = shown
    first = first.replace(" one", " has one mode" if heights[1] == 1 else " have one mode")
    text = f"Of {total} of genes, {listed([first, *more])}"
    return text + (f"; {count(none)} have none: {why}." if none else ".")


def _on_threshold(results: Results) -> str:
    stated = results.summary.get("threshold") or {}
    message = str(stated.get("message") or "")
    if not message or stated.get("correlation") is None:
        return ""
    rule = {
        "rmt": "Random matrix theory gave the ",
        "power_law": "The power law gave the ",
    }.get(str(stated.get("method")), "")
    if not rule:
        return message[0].upper() + message[1:] + "."
    return f"{rule}{message}."


def _on_edges(results: Results, found: ModeResults) -> str:
    if found.network.empty:
        return ""
    edges, counts = found.network, results.counts
    whole = int((edges["n_modes"] == 1).sum())
    negative = int((edges["correlation"] < 0).sum())
    text = f"Of {counted(len(edges), 'edge')}, {count(negative)} are negative"
    if mixture(results):
        text += (
            f"; {count(whole)} hold all samples of a pair with one mode, "
            f"{count(len(edges) - whole)} only a part of them"
        )
        both = int((found.pairs["signs"] > 1).sum())
        if both:
            text += (
                f". {counted(both, 'pair')} {'has' if both == 1 else 'have'} edges of both signs: "
                "together in some samples, against each other in others"
            )
    weak = counts.get("modes_without_power", 0)
    if weak:
        above = counted(counts.get("modes_above_threshold", 0), "mode")
        text += (
            f". Of {above} above the threshold, {count(weak)} were left out because they have too "
            "few samples for their correlation (power)"
        )
    return text + "."


def _on_hubs(found: ModeResults) -> str:
    named = largest(found.partners.to_dict(), "partner")
    return f"Largest hubs: {named}." if named else ""


def _on_modules(found: ModeResults) -> str:
    if found.modules.empty:
        return ""
    sizes = found.modules["module"].value_counts().sort_index()
    first = found.modules.drop_duplicates("module").head(3)
    named = [
        f"{counted(int(sizes[row['module']]), 'gene')} around {row['gene']}"
        for row in first.to_dict("records")
    ]
    return f"{counted(len(sizes), 'module')}; the largest: {listed(named)}."


def _modes_left_out(results: Results) -> str:
    counts, settings = results.counts, section(results, "estimator")
    least, weakest = settings.get("min_samples"), settings.get("min_correlation")
    parts = [
        (counts.get("modes_small", 0), f"fewer than {least} samples"),
        (counts.get("modes_below", 0), f"|r| below {weakest}"),
        (counts.get("modes_above", 0), f"|r| above {settings.get('max_correlation')}"),
        (counts.get("modes_undefined", 0), "a constant gene"),
    ]
    named = [f"{count(n)} with {why}" for n, why in parts if n]
    kept = counts.get("modes_kept")
    if not named or kept is None:
        return ""
    return f"{counted(kept, 'mode')} stored; not stored: {listed(named)}."


def _genes_left_out(results: Results, found: ModeResults) -> str:
    dropped = results.dropped
    text = ""
    if len(dropped):
        reasons = dropped["reason"].astype(str).value_counts()
        ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], str(pair[0])))
        why = [f"{reason or 'no reason given'} ({count(n)})" for reason, n in ordered]
        why = [why[0].removesuffix(f" ({count(len(dropped))})")] if len(why) == 1 else why
        text = f"{count(len(dropped))} of {counted(len(results.items), 'gene')} left out: "
        text += f"{listed(why)}. "
    alone = int(results.items["kept"].sum()) - len(found.partners)
    if alone > 0 and len(found.network):
        text += f"{counted(alone, 'gene')} analysed but without an edge."
    return text.strip()


def condition_sentences(results: Results, found: ModeResults) -> list[str]:
    """How many edges go with which label, and which conditions have none."""
    if not found.conditions:
        return []
    counts = label_counts(found)
    sentences = []
    for name, part in counts.groupby("condition", sort=False):
        part = part[part["edges"] > 0]
        if part.empty:
            sentences.append(_without_edges(results, str(name)))
            continue
        ordered = part.sort_values("edges", ascending=False, kind="stable")
        if (ordered["label"] == "").all():
            sentences.append(f"{counted(int(ordered['edges'].sum()), 'edge')} go with {name}.")
            continue
        named = [
            f"{count(row['edges'])} with {row['label']} ({count(row['unique'])} of "
            f"{counted(row['pairs'], 'pair')} with no other label)"
            for row in ordered.head(N_LABELS).to_dict("records")
        ]
        more = len(ordered) - N_LABELS
        named += [f"{counted(more, 'more label')}"] if more > 0 else []
        sentences.append(f"{name}: edges that go with a label: {listed(named)}.")
    return [sentence for sentence in sentences if sentence]


def _without_edges(results: Results, name: str) -> str:
    """That no edge goes with a condition, how many were tested, and what would have been found."""
    for said in results.summary.get("messages") or []:
        numbers = said["numbers"]
        if said["code"] == "condition_tested" and numbers["condition"] == name:
            return (
                f"No edge goes with {name}: {count(numbers['tested'])} of "
                f"{counted(numbers['edges'], 'edge')} could be tested, and pairs that are no edge "
                "were not. The least that is found with a power of 0.8, if one edge differs: "
                f"{numbers['found']}."
            )
    return ""


# --- warnings ---

UNFINISHED = 0.05
"""Share of fits that had not settled from which it is said."""

FEW_COMMON = 0.2
"""Share of pairs with too few samples from which it is said."""

SHARE_WARNED = 0.1
"""Share of a condition's edges with a sign of bias from which it is said."""

COLLIDING = (25, 36, 40, 48, 188, 277, 554)
"""Numbers of samples for which two of KINC's starting points are the same sample."""

N_NAMED = 6


def mode_warnings(results: Results) -> list[str]:
    """Warnings that the settings, counts and tables themselves give rise to."""
    found = results.cached(mode_results)
    if found is None:
        return []
    parts = [_common_samples(results), _no_threshold(results)]
    if mixture(results):
        parts += [
            _few_samples(results),
            _small_labels(results, found),
            _outliers(results, found),
            _fits(results),
            _kinc_fault(results),
            _forced(results),
            _one_gene(found),
        ]
    parts += _missing(found)
    return [text for text in parts if text]


def _n_samples(results: Results) -> tuple[int, int]:
    """How many there are, and how many a mode needs."""
    least = section(results, "estimator").get("min_samples") or 0
    return int(results.counts.get("samples") or 0), int(least)


def _common_samples(results: Results) -> str:
    pairs, few = results.counts.get("pairs", 0), results.counts.get("too_few_samples", 0)
    if not pairs or few <= FEW_COMMON * pairs:
        return ""
    return (
        f"{percent(few / pairs)} of the pairs share fewer than {_n_samples(results)[1]} samples "
        "and have no correlation: values are missing in one gene or the other. A smaller "
        "estimator.min_samples, or preprocess.pseudocount where zeros were read as missing, keeps "
        "more of them."
    )


def _no_threshold(results: Results) -> str:
    if threshold_method(results) != "none" or results.network.empty:
        return ""
    return (
        "No threshold was set (threshold: none): every stored mode is an edge, and many may be "
        "chance."
    )


def _few_samples(results: Results) -> str:
    samples, least = _n_samples(results)
    if not samples or samples >= 2 * least:
        return ""
    if samples < least:
        return (
            f"Too few samples: there are {count(samples)}, and a mode needs {least} "
            "(estimator.min_samples), so no pair of genes can have one. Lower "
            "estimator.min_samples."
        )
    return (
        f"Few samples: of {count(samples)}, no two groups can have the {least} that a mode needs "
        "(estimator.min_samples). Where a pair has two modes, at most one of them got a "
        "correlation."
    )


def _label_sizes(found: ModeResults) -> list[tuple[str, int]]:
    return [
        (f"{each.name} {label}", int((each.codes == k).sum()))
        for each in found.conditions
        if each.kind == "categorical"
        for k, label in enumerate(each.labels)
    ]


def _named(labels: list[tuple[str, int]]) -> str:
    named = [f"{label} ({count(n)})" for label, n in labels[:N_NAMED]]
    more = len(labels) - N_NAMED
    return listed([*named, counted(more, "more label")] if more > 0 else named)


def _small_labels(results: Results, found: ModeResults) -> str:
    _, least = _n_samples(results)
    small = [(label, n) for label, n in _label_sizes(found) if n < least]
    if not small:
        return ""
    return (
        f"No mode can be made of these alone, since a mode needs {least} samples: {_named(small)}. "
        "Edges of theirs show only together with other samples, or with a smaller "
        "estimator.min_samples."
    )


def _outliers(results: Results, found: ModeResults) -> str:
    samples, least = _n_samples(results)
    if not section(results, "estimator").get("outliers_before") or 4 * least >= samples:
        return ""
    rare = [(label, n) for label, n in _label_sizes(found) if least <= n < samples / 4]
    if found.conditions and not rare:
        return ""
    whom = f" Here that can be {_named(rare)}." if rare else ""
    return (
        "Outliers were taken away before pairs were split (outliers_before): a group of fewer than "
        f"a quarter of the samples ({count(samples / 4)}) that lies far from the rest counts as "
        f"outliers, and no mode is made of it.{whom} outliers_before: false keeps such groups."
    )


def _fits(results: Results) -> str:
    counts = results.counts
    fits, unfinished = counts.get("fits", 0), counts.get("fits_unfinished", 0)
    text = ""
    if fits and unfinished > UNFINISHED * fits:
        steps = 100 if results.parameters.get("compatibility") == "kinc" else 200
        text = (
            f"{percent(unfinished / fits)} of {counted(fits, 'fit')} had not settled after {steps} "
            "steps; the number of modes of these pairs, and which samples are in them, is less "
            "sure."
        )
        if steps == 100:
            text += " KINC's fits are like that; compatibility: none lets them go on."
    failed = counts.get("failed", 0)
    if failed:
        text += (
            f"{' ' if text else ''}Of {counted(failed, 'pair')} every fit failed: they have no "
            "mode and are not in the network, however strong their correlation."
        )
    return text


def _kinc_fault(results: Results) -> str:
    samples, _ = _n_samples(results)
    if results.parameters.get("compatibility") != "kinc" or samples not in COLLIDING:
        return ""
    return (
        f"With {samples} samples two of KINC's starting points are the same sample, so pairs "
        "observed in all of them are never split into two modes. compatibility: none does not have "
        "this fault."
    )


def _forced(results: Results) -> str:
    least = int(section(results, "estimator").get("min_clusters") or 1)
    if least < 2:
        return ""
    return (
        f"Every pair was split into {least} modes or more (min_clusters), whether or not its "
        "samples form groups; cutting one cloud changes its correlation by itself."
    )


def _one_gene(found: ModeResults) -> str:
    apart = differs_in(found.network)
    if apart is None or found.networks.empty:
        return ""
    specific = _condition_edges(found)
    words = apart[specific & (apart != "").to_numpy()]
    other = int((words != "both").sum())
    if other <= SHARE_WARNED * len(words):
        return ""
    return (
        f"In {count(other)} of {counted(len(words), 'condition-specific edge')} the mode differs "
        f"from the pair's other samples in one gene or neither (Welch's test, p > {SMALL_P:g}): "
        "one gene's expression alone, or a cut through one cloud, may have made them. Prefer those "
        "that differ in both."
    )


def _missing(found: ModeResults) -> list[str]:
    """Conditions whose edges may come of values that are missing under one label."""
    categorical = [each for each in found.conditions if each.kind == "categorical"]
    names = unique_names([(each.name,) for each in categorical])
    sentences = []
    for condition, name in zip(categorical, names, strict=True):
        column = f"missing_by_{name}_p_value"
        edges = _condition_edges(found, condition.name)
        if column not in found.network or not edges.any():
            continue
        biased = int((found.network.loc[edges, column] <= SMALL_P).sum())
        if biased > SHARE_WARNED * edges.sum():
            sentences.append(
                f"In {count(biased)} of {counted(int(edges.sum()), 'edge')} that go with "
                f"{condition.name}, values are missing more often under one label than another "
                f"({column} ≤ {SMALL_P:g}): the pattern of missing values may have made them."
            )
    return sentences


def _condition_edges(found: ModeResults, condition: str | None = None) -> np.ndarray[Any, Any]:
    """Of each edge of the network, whether it is in a network of a condition (of any)."""
    keys = ["source", "target", "cluster"]
    table = found.networks
    if condition is not None:
        table = table[table["condition"] == condition]
    wanted = pd.MultiIndex.from_frame(table[keys].astype({"cluster": np.int64}))
    have = pd.MultiIndex.from_frame(found.network[keys].astype({"cluster": np.int64}))
    return np.asarray(have.isin(wanted))


# --- methods ---

CRITERIA: dict[str, Part] = {
    "icl": (
        "the integrated completed likelihood (Biernacki et al. 2000)",
        [papers.BIERNACKI_2000],
    ),
    "bic": ("the Bayesian information criterion (Schwarz 1978)", [papers.SCHWARZ_1978]),
    "aic": ("Akaike's information criterion (Akaike 1974)", [papers.AKAIKE_1974]),
}
COEFFICIENTS = {"spearman": "Spearman's rank correlation", "pearson": "Pearson's correlation"}


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        preparation(results),
        _samples_part(results),
        _mixture_part(results),
        _correlation_part(results),
        _threshold_part(results),
        _power_part(results),
        _conditions_part(results),
        _modules_part(results),
        evaluation_part(results),
    ]
    return paragraph(parts)


def _is_kinc(results: Results) -> bool:
    return results.parameters.get("compatibility") == "kinc"


def _samples_part(results: Results) -> Part:
    settings, counts = section(results, "estimator"), results.counts
    kept = counts.get("genes_kept")
    pairs = f"the {counted(counts['pairs'], 'pair')}" if counts.get("pairs") else "all pairs"
    genes = f"{counted(kept, 'gene')}" if kept else "the genes"
    samples = f" in {counted(counts['samples'], 'sample')}" if counts.get("samples") else ""
    low, high = settings.get("min_expression"), settings.get("max_expression")
    limits = [
        f"{word} {plain(limit)}"
        for word, limit in (("at least", low), ("at most", high))
        if limit is not None
    ]
    within = f" at values of {' and '.join(limits)}" if limits else ""
    sentence = (
        f"Co-expression of {pairs} of {genes}{samples} was computed with pairtile"
        f"{versions(results)}, for each pair over the samples in which both genes were observed"
        f"{within}"
    )
    if settings.get("outliers_before"):
        sentence += (
            ", without outliers (values of either gene more than 1.5 interquartile ranges beyond "
            "the quartiles)"
        )
    return f"{sentence}.", []


def _mixture_part(results: Results) -> Part:
    if not mixture(results):
        return "", []
    settings = section(results, "estimator")
    low, high = settings.get("min_clusters", 1), settings.get("max_clusters", 5)
    sizes = f"{low} to {high} components" if low != high else counted(low, "component")
    criterion, cited = CRITERIA.get(str(settings.get("criterion")), ("", []))
    sentence = (
        f"The samples of each pair were split into modes by Gaussian mixture models of {sizes} "
        "(Shealy et al. 2019), "
    )
    if _is_kinc(results):
        sentence += "fitted as KINC 3.4.2 does it"
    else:
        starts = counted(int(settings.get("restarts", 1)), "k-means++ start")
        sentence += (
            f"fitted to standardised values by expectation-maximisation from the best of {starts}"
        )
    sentence += f"; the number of components was chosen by {criterion}." if criterion else "."
    return sentence, [papers.SHEALY_2019, *cited]


def _correlation_part(results: Results) -> Part:
    settings = section(results, "estimator")
    coefficient = COEFFICIENTS.get(str(settings.get("correlation")), "the correlation")
    least = settings.get("min_samples")
    if not mixture(results):
        return (
            f"{coefficient[0].upper()}{coefficient[1:]} was computed for pairs with at least "
            f"{least} samples."
        ), []
    after = (
        ", outliers of the mode left out by the same rule" if settings.get("outliers_after") else ""
    )
    return (
        f"{coefficient[0].upper()}{coefficient[1:]} was computed within each mode of at least "
        f"{least} samples{after}."
    ), []


def _threshold_part(results: Results) -> Part:
    settings, found = section(results, "threshold"), results.cached(mode_results)
    method = threshold_method(results)
    value = found.threshold if found is not None else None
    if method == "none" or (method == "score" and value is None):
        least = section(results, "estimator").get("min_correlation")
        return f"Every mode with |r| ≥ {least:g} made an edge.", []
    if method == "score" and value is not None:
        return f"Modes with |r| ≥ {as_set(value)} made the edges.", []
    if method == "fdr":
        return (
            f"Edges are modes with a false discovery rate of {settings.get('fdr'):g} or less: the "
            "modes as strong that pairs of permuted genes have, over those found."
        ), []
    if method == "rmt":
        how = "random matrix theory (Luo et al. 2007"
        how += ", with KINC's choice of genes)" if settings.get("rule") == "kinc" else ")"
        cited = [papers.LUO_2007]
    else:
        how = "the fit of a power law to the numbers of neighbours (Zhang and Horvath 2005)"
        cited = [papers.ZHANG_HORVATH_2005]
    if value is None:
        return f"A threshold was sought by {how}, and none was found.", cited
    return f"Edges are modes with |r| ≥ {as_set(value)}, a threshold found by {how}.", cited


def _power_part(results: Results) -> Part:
    settings = section(results, "power")
    if not settings:
        return "", []
    left_out = results.counts.get("modes_without_power", 0)
    return (
        f"Modes with less than {settings.get('power'):g} power at a significance level of "
        f"{settings.get('alpha'):g} (Cohen 1988) were left out ({count(left_out)})."
    ), [papers.COHEN_1988]


def _conditions_part(results: Results) -> Part:
    found = results.cached(mode_results)
    if found is None or not found.conditions:
        return "", []
    labels = [each.name for each in found.conditions if each.kind == "categorical"]
    numbers = [each.name for each in found.conditions if each.kind != "categorical"]
    tests = []
    if labels:
        tests.append(
            f"for each label of {listed(labels)} by the hypergeometric test of its samples in the "
            "mode among those of the pair"
        )
    if numbers:
        tests.append(
            f"for {listed(numbers)} by the F-test of a linear regression on the expression of both "
            "genes and their product"
        )
    limits: dict[str, Any] = section(results, "condition_networks")
    return (
        f"Edges were tested {listed(tests)} (SciPy; Virtanen et al. 2020), with q-values by "
        "Benjamini and Hochberg (1995) over all edges and labels of a condition: tests of "
        "expression. Differences in co-expression were tested by Fisher's z of samples centred "
        "within each label, against permuted samples; condition-specific networks hold edges with "
        f"q ≤ {limits.get('q_value'):g} by that test."
    ), [papers.VIRTANEN_2020, papers.BENJAMINI_HOCHBERG_1995]


def _modules_part(results: Results) -> Part:
    settings, found = section(results, "modules"), results.cached(mode_results)
    if not settings or found is None or found.modules.empty:
        return "", []
    n = counted(found.modules["module"].nunique(), "module")
    version = (results.summary.get("versions") or {}).get("igraph")
    igraph = f", igraph {version}" if version else ""
    resolution = float(settings.get("resolution", 1.0))
    at = "" if resolution == 1.0 else f", resolution {resolution:g}"
    if settings.get("method") == "link_communities":
        return (
            f"Edges fall into {n} by Leiden communities of the line graph (Evans and Lambiotte "
            f"2010; Traag et al. 2019{igraph}{at})."
        ), [papers.EVANS_LAMBIOTTE_2010, papers.TRAAG_2019]
    return (
        f"The genes of the network fall into {n} by the Leiden algorithm, edges weighted by |r| "
        f"(Traag et al. 2019{igraph}{at})."
    ), [papers.TRAAG_2019]
