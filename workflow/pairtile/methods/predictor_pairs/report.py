"""Report: text of the search for predictor sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairtile.methods.predictor_pairs import report_levels, report_predictors
from pairtile.methods.predictor_pairs.report_cautions import cautions
from pairtile.methods.predictor_pairs.report_methods import methods_paragraph
from pairtile.methods.predictor_pairs.report_pictures import FIGURES
from pairtile.methods.predictor_pairs.report_results import predictor_results
from pairtile.report.formats import count, counted, listed, number, percent
from pairtile.report.make_figures import COMMON_FIGURES
from pairtile.report.method_report import MethodReport, MethodText

if TYPE_CHECKING:
    from pairtile.report.results import Results

LEVEL = 0.05
"""p- and q-values at most this are counted at the top of the page."""

N_NAMED = 3


def headline(results: Results) -> str:
    """``120 edges: predictors of 60 of 60 targets, one best pair for 57``."""
    found = results.cached(predictor_results)
    if found is None or results.network.empty:
        return "No edges: no set of predictors passed the threshold"
    explained = count(results.network["target"].nunique())
    searched = counted(results.counts.get("targets_searched", len(found.best)), "target")
    alone = f"one best {found.word} for {count(len(found.best) - found.tied.sum())}"
    edges = counted(len(results.network), "edge")
    return f"{edges}: predictors of {explained} of {searched}, {alone}"


def key_numbers(results: Results) -> list[tuple[str, str, str]]:
    """Edges, targets with predictors, targets that chance does not explain, and ties."""
    found = results.cached(predictor_results)
    if found is None:
        return [(count(len(results.network)), "edges", "")]
    best, explained = found.best, results.network["target"].nunique()
    sets = f"from {counted(int(found.sets['kept'].sum()), found.word)}"
    searched = results.counts.get("targets_searched", len(best))
    tiles = [
        (count(len(results.network)), "edges", sets),
        (count(explained), "targets with predictors", f"of {count(searched)} searched"),
    ]
    if found.tested:
        small_q = f"q ≤ {LEVEL:g}: {count((best['q_value'] <= LEVEL).sum())}"
        small_p = count((best["p_value"] <= LEVEL).sum())
        tiles.append((small_p, f"targets with p ≤ {LEVEL:g}", small_q))
    tied = int(found.tied.sum())
    alone = count(len(best) - tied)
    tiles.append((alone, f"targets with one best {found.word}", f"tied: {count(tied)}"))
    return tiles


def answers(results: Results) -> list[str]:
    """Sentences on what the best sets tell, on chance, and on what only whole sets tell."""
    found = results.cached(predictor_results)
    if found is None or found.best.empty:
        return []
    best, word = found.best, found.word
    full = int((best["mi_bits"] >= best["target_entropy_bits"] - 1e-9).sum())
    share = float((best["mi_bits"] / best["target_entropy_bits"]).median())
    text = (
        f"The best {word} tells the target's level in every sample for {count(full)} of "
        f"{counted(len(best), 'target')}"
    )
    if 2 * full < len(best):
        text += f"; half of the best {word}s tell {percent(share)} or more of the target's entropy"
    sentences = [text + "."]
    if found.tested:
        tested = int(best["p_value"].notna().sum())
        sentences.append(
            f"{count((best['p_value'] <= LEVEL).sum())} of {counted(tested, 'target')} with "
            f"p ≤ {LEVEL:g}, where chance alone would give about {count(LEVEL * tested)}; "
            f"{count((best['q_value'] <= LEVEL).sum())} with q ≤ {LEVEL:g}."
        )
    if len(found.members) > 1:
        joint = best[~found.tied & (best["imp_bits"] > 0.5 * best["mi_bits"])]
        if len(joint):
            largest = joint.sort_values(["imp_bits", "target"], ascending=[False, True])
            named = [
                f"{row['target']} ({number(row['imp_bits'])} bits, from "
                f"{listed([row[m] for m in found.members])})"
                for row in largest.head(N_NAMED).to_dict("records")
            ]
            sentences.append(
                f"For {counted(len(joint), 'target')} without ties more than half of what is told "
                f"comes from the {word} as a whole, not from a part of it (IMP); most of all for "
                f"{listed(named)}."
            )
    return sentences


TEXT = MethodText(
    title="Predictor sets by mean conditional entropy",
    score="mean conditional entropy",
    score_axis="mean conditional entropy (bits)",
    score_unit="bits",
    ranking="the edges of all reported sets",
    # What a set tells says little of its weaker predictor: edges go by what each of them adds.
    strength=("gain_bits",),
    ties=("rank", "mce_bits"),
    directed_columns=("mce_bits",),
    columns={
        "rank": "rank",
        "mi_bits": "MI (bits)",
        "mce_bits": "MCE (bits)",
        "target_entropy_bits": "H(Y) (bits)",
        "gain_bits": "gain (bits)",
        "gain_1": "gain 1 (bits)",
        "gain_2": "gain 2 (bits)",
        "gain_3": "gain 3 (bits)",
        "imp_bits": "IMP (bits)",
        "n_ties": "equal sets",
        "n_sets": "sets with it",
        "n_samples": "samples",
        "p_value": "p-value",
        "q_value": "q-value",
        "kept": "in network",
        "predictor_1": "predictor 1",
        "predictor_2": "predictor 2",
        "predictor_3": "predictor 3",
    },
    counts={
        "genes_read": "genes read",
        "genes_kept": "genes kept",
        "genes_dropped_too_few_samples": "genes left out: too few observed samples",
        "genes_dropped_constant": "genes left out: constant",
        "genes_constant": "constant genes kept",
        "samples": "samples",
        "series": "time series",
        "transitions": "transitions (samples with their predictors' samples)",
        "values_missing_in_input": "missing values in the input",
        "zeros_to_missing": "zeros read as missing",
        "values_missing": "missing values after cleaning",
        "regulators_listed": "candidate predictors listed",
        "regulators_used": "candidate predictors",
        "targets_listed": "targets listed",
        "targets_used": "targets",
        "levels": "levels",
        "levels_missing": "missing levels",
        "genes_at_one_level": "genes with the same level in all samples",
        "null_draws": "shuffled targets, each searched like a target",
        "tiles": "tiles of the search",
        "chunks": "chunks of tiles",
        "pairs_stored": "sets stored, those of shuffled targets included",
        "targets_searched": "targets with a best set",
        "targets_constant": "targets with one level only (every set tells it)",
        "targets_with_tied_best": "targets whose best set is one of several equals",
        "sets_reported": "sets reported (predictors.tsv)",
        "sets_kept": "sets kept for the network",
        "edges": "edges in the network",
        "predictor_rows": "rows of predictors.tsv",
        "hyperedges": "rows of hyperedges.tsv (sets of the network)",
    },
    files={
        "predictors.tsv": "every reported set of predictors, best first for each target",
        "hyperedges.tsv": "the sets that make the network's edges",
    },
    headline=headline,
    key_numbers=key_numbers,
    findings=answers,
    warnings=cautions,
    empty=(
        "The network is empty: no set of predictors passed the keep rule. A larger p_value or fdr, "
        "or keep: best, shows what there is; more samples or fewer candidate predictors (under "
        "regulators) make it easier to tell from chance."
    ),
    methods=methods_paragraph,
)

REPORT = MethodReport(
    text=TEXT,
    figures={**COMMON_FIGURES, **FIGURES},
    sections=(
        report_levels.section,
        report_predictors.section,
    ),
)
