"""Parts of methods paragraphs that several methods share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.report.formats import count, counted, number
from pairtile.report.method_report import Reference
from pairtile.report.references import read_references

if TYPE_CHECKING:
    from pairtile.report.results import Results

papers = read_references()

Part = tuple[str, list[Reference]]
"""A sentence, and the papers that it cites."""


def paragraph(parts: list[Part]) -> tuple[str, list[Reference]]:
    """The sentences as one text, and the papers they cite, each once, in the order of citing."""
    sentences = [sentence for sentence, _ in parts if sentence]
    cited = dict.fromkeys(paper for _, listed in parts for paper in listed)
    return " ".join(sentences), list(cited)


def preparation(results: Results) -> Part:
    """How expression values were cleaned, and which genes were left out."""
    settings, counts = section(results, "preprocess"), results.counts
    cited: list[Reference] = []
    steps = []
    if settings.get("log2") is True:
        pseudocount = settings.get("pseudocount") or 0
        after = f" after adding {number(pseudocount)}" if pseudocount else ""
        zeros = "" if pseudocount else " (zeros taken as missing)"
        steps.append(f"log2-transformed{after}{zeros}")
    normalize = settings.get("normalize")
    if normalize == "quantile":
        steps.append("quantile-normalised (Bolstad et al. 2003)")
        cited.append(papers.BOLSTAD_2003)
    elif normalize == "median_ratio":
        steps.append("scaled by median-of-ratios size factors (Anders and Huber 2010)")
        cited.append(papers.ANDERS_HUBER_2010)
    elif normalize == "tmm":
        steps.append("scaled by trimmed means of M-values (Robinson and Oshlack 2010)")
        cited.append(papers.ROBINSON_OSHLACK_2010)
    elif normalize == "vst":
        steps.append(
            "divided by median-of-ratios size factors and given a stable variance (Anders and "
            "Huber 2010)"
        )
        cited.append(papers.ANDERS_HUBER_2010)
    elif normalize == "depth_ranks":
        steps.append("ranked among samples of about the same total, as normal scores")
    elif normalize in ("cpm", "cp10k"):
        total = "million" if normalize == "cpm" else "10,000"
        steps.append(f"scaled to counts per {total}")
    elif normalize == "zscore":
        steps.append("standardised gene by gene")
    sentence = f"Expression values were {' and '.join(steps)}. " if steps else ""
    read, kept = counts.get("genes_read"), counts.get("genes_kept")
    if read is not None and kept is not None and read != kept:
        reasons = []
        if counts.get("genes_dropped_too_few_samples"):
            least = settings.get("min_samples")
            reasons.append(
                f"observed in fewer than {least} samples" if least else "rarely observed"
            )
        if counts.get("genes_dropped_constant"):
            reasons.append("constant")
        sentence += f"Of {counted(read, 'gene')}, {count(read - kept)} were left out"
        sentence += f" ({' or '.join(reasons)})." if reasons else "."
    return sentence.strip(), cited


def evaluation_part(results: Results) -> Part:
    """How the ranking did against a gold standard; empty without one."""
    evaluation = results.evaluation
    if not evaluation or evaluation.get("aupr") is None:
        return "", []
    return (
        f"Against the {counted(evaluation.get('n_gold_edges', 0), 'edge')} of the gold standard "
        f"the ranking reached an area under the precision-recall curve of "
        f"{number(evaluation['aupr'])} (random: {number(evaluation.get('random_aupr'))}; rule of "
        "the DREAM5 challenge, Marbach et al. 2012)."
    ), [papers.MARBACH_2012]


def section(results: Results, key: str) -> dict[str, Any]:
    """A section of the parameters; empty where it is none."""
    found = results.parameters.get(key)
    return found if isinstance(found, dict) else {}


def versions(results: Results) -> str:
    """`` 0.1.0 (Python 3.11.7, NumPy 2.4.6; the device)``, as far as known."""
    names = {"python": "Python", "numpy": "NumPy", "numba": "Numba"}
    known = results.summary.get("versions") or {}
    found = [f"{name} {known[key]}" for key, name in names.items() if key in known]
    device = str((results.summary.get("backend") or {}).get("device") or "")
    inside = "; ".join(part for part in (", ".join(found), device) if part)
    version = str(results.summary.get("pairtile_version") or "")
    return (f" {version}" if version else "") + (f" ({inside})" if inside else "")
