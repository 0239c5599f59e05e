"""What was found with a multimodal network, in numbers and plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.multimodal_correlation.report_conditions_text import (
    condition_sentences,
    edges_with_condition,
)
from pairtile.methods.multimodal_correlation.report_results import mode_results
from pairtile.report.formats import count, counted, listed, percent, plain
from pairtile.report.methods_parts import section

if TYPE_CHECKING:
    from pairtile.methods.multimodal_correlation.report_results import ModeResults
    from pairtile.report.results import Results

N_HUBS = 5

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
            "power_law": "by the power law",
            "score": "as configured",
        }
        rule = str(section(results, "threshold").get("method"))
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
        _modes(results, found),
        _threshold(results),
        _edges(results, found),
        _hubs(found),
        _modules(found),
        *condition_sentences(found),
        _modes_left_out(results),
        _genes_left_out(results, found),
    ]
    return [sentence for sentence in parts if sentence]


def _modes(results: Results, found: ModeResults) -> str:
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


def _threshold(results: Results) -> str:
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


def _edges(results: Results, found: ModeResults) -> str:
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


def _hubs(found: ModeResults) -> str:
    if found.network.empty:
        return ""
    named = [
        f"{name} ({counted(int(n), 'partner')})" for name, n in found.partners.head(N_HUBS).items()
    ]
    return f"Largest {'hubs' if len(named) > 1 else 'hub'}: {listed(named)}."


def _modules(found: ModeResults) -> str:
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
    told = [f"{count(n)} with {why}" for n, why in parts if n]
    kept = counts.get("modes_kept")
    if not told or kept is None:
        return ""
    return f"{counted(kept, 'mode')} stored; not stored: {listed(told)}."


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
