"""The top of the page: what was found, in numbers and plain sentences, and what to beware of."""

from __future__ import annotations

from pairtile.report.formats import (
    count,
    counted,
    duration,
    largest,
    listed,
    memory,
    number,
    percent,
)
from pairtile.report.method_report import CaptionedFigure, PageSection
from pairtile.report.results import Results


def findings_section(results: Results, pictures: list[CaptionedFigure]) -> PageSection:
    """Headline, key numbers, sentences and warnings."""
    return PageSection(
        id="findings",
        title="What was found",
        template="section_findings.html.j2",
        values={
            "headline": headline(results),
            "numbers": key_numbers(results),
            "sentences": [
                *_findings(results),
                *results.text.findings(results),
                *_evaluation(results),
                *_cost(results),
            ],
            "warnings": results.warnings,
        },
    )


def headline(results: Results) -> str:
    """``312 edges between 40 regulators and 180 genes``."""
    text, network = results.text, results.network
    if text.headline is not None:
        return text.headline(results)
    if network.empty:
        return "No edges: nothing passed the threshold"
    edges = counted(len(network), "directed edge" if _both_ways(results) else "edge")
    if results.regulators:
        regulators = counted(network["source"].nunique(), text.regulator, text.regulators)
        targets = counted(network["target"].nunique(), text.item, text.items)
        return f"{edges} between {regulators} and {targets}"
    return f"{edges} between {counted(len(results.degree), text.item, text.items)}"


def key_numbers(results: Results) -> list[tuple[str, str, str]]:
    """The tiles at the top: value, what it is, what it is set against."""
    tiles = (results.text.key_numbers or _network_numbers)(results)
    if results.evaluation and results.evaluation.get("aupr") is not None:
        chance = results.evaluation.get("random_aupr")
        against = f"random ranking: {number(chance)}" if chance is not None else ""
        tiles.append((number(results.evaluation["aupr"]), "AUPR", against))
    return tiles


def _network_numbers(results: Results) -> list[tuple[str, str, str]]:
    text, kept = results.text, int(results.items["kept"].sum())
    pairs = results.counts.get("pairs_scored")
    scored = f"of {counted(pairs, 'scored pair')}" if pairs else ""
    connected = f"of {count(kept)} {text.items} in the table"
    tiles = [
        (count(len(results.network)), "edges", scored),
        (count(len(results.degree)), f"{text.items} in the network", connected),
    ]
    if results.regulators:
        active = sum(name in results.regulators for name in results.out_degree.index)
        among = f"of {count(len(results.regulators))}"
        tiles.append((count(active), f"{text.regulators} with targets", among))
    return tiles


def _findings(results: Results) -> list[str]:
    if results.text.remarks is not None:
        return results.text.remarks(results)
    return [*_hubs(results), *_left_out(results)]


def _both_ways(results: Results) -> bool:
    return results.directed and not results.regulators


def _hubs(results: Results) -> list[str]:
    if results.network.empty:
        return []
    if results.regulators:
        hubs, noun = results.out_degree, "target"
    elif _both_ways(results):
        hubs, noun = results.out_degree, "outgoing edge"
    else:
        hubs, noun = results.degree, "edge"
    named = largest(hubs.to_dict(), noun)
    return [f"Largest {'hubs' if len(hubs) > 1 else 'hub'}: {named}."] if named else []


def _left_out(results: Results) -> list[str]:
    text, dropped = results.text, results.dropped
    sentences = []
    if len(dropped):
        reasons = dropped["reason"].astype(str).value_counts()
        if len(reasons) == 1:
            why = f": {reasons.index[0] or 'no reason given'}"
        else:
            ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], str(pair[0])))
            parts = [f"{reason or 'no reason given'} ({count(n)})" for reason, n in ordered]
            why = f": {listed(parts)}"
        share = f"{count(len(dropped))} of {counted(len(results.items), text.item, text.items)}"
        sentences.append(f"{share} left out{why}.")
    alone = int(results.items["kept"].sum()) - len(results.degree)
    if alone > 0 and len(results.network):
        sentences.append(f"{counted(alone, text.item, text.items)} analysed but without an edge.")
    return sentences


def _evaluation(results: Results) -> list[str]:
    found = results.evaluation
    if not found or found.get("aupr") is None:
        return []
    gold = found.get("n_gold_edges")
    against = f" of {counted(gold, 'edge')}" if gold else ""
    text = f"Against the gold standard{against}: AUPR {number(found['aupr'])}"
    chance = found.get("random_aupr")
    if chance:
        text += f", {number(found['aupr'] / chance, 2)} times a random ranking"
    if found.get("auroc") is not None:
        text += f"; AUROC {number(found['auroc'])}"
    network = found.get("network") or {}
    if network.get("precision") is not None and network.get("recall") is not None:
        text += (
            f". Of the network's edges that it covers, {percent(network['precision'])} are true "
            f"(precision); of its own edges, {percent(network['recall'])} were found (recall)"
        )
    return [text + "."]


def _cost(results: Results) -> list[str]:
    steps = results.summary.get("steps") or {}
    if not steps:
        return []
    seconds = sum(float(step.get("seconds") or 0) for step in steps.values())
    peak = max(float(step.get("peak_memory_bytes") or 0) for step in steps.values())
    backend = results.summary.get("backend") or {}
    where = " on " + str(backend.get("device") or backend.get("name")) if backend else ""
    text = f"Computed in {duration(seconds)}{where}"
    return [text + (f", with at most {memory(peak)} of memory." if peak else ".")]
