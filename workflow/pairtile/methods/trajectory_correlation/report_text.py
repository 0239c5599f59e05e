"""The methods paragraph of an analysis of motion, from the parameters as resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairtile.methods.trajectory_correlation.report_results import motion_results
from pairtile.report import references as papers
from pairtile.report.formats import count, counted, listed, number, plain
from pairtile.report.method_text import Reference
from pairtile.report.methods_parts import Part, paragraph, section, versions

if TYPE_CHECKING:
    from pairtile.report.results import Results

PRESET_TOOLS = {
    "mdigest": ("MDiGest (Maschietto et al. 2023)", papers.MASCHIETTO_2023),
    "normi": ("NorMI (Nagel et al.)", papers.NORMI),
    "dynetan": ("dynetan (Melo et al. 2020)", papers.MELO_2020),
    "netsci": ("NetSci", papers.NETSCI),
}
WHAT = {
    "positions": "positions",
    "displacements": "distances from their mean positions",
    "dihedrals": "dihedral angles",
    "distances": "distances",
    "columns": "time series",
}


def methods_paragraph(results: Results) -> tuple[str, list[Reference]]:
    """The paragraph, ready to paste, and the papers it cites in the order it cites them."""
    parts = [
        _input(results),
        _superposition(results),
        _estimator(results),
        _replicas(results),
        _time(results),
        _significance(results),
        _network(results),
        _communities(results),
        _paths(results),
        _compared(results),
    ]
    return paragraph(parts)


def _estimator_settings(results: Results) -> dict[str, Any]:
    return section(results, "estimator")


def _input(results: Results) -> Part:
    counts, parameters = results.counts, results.parameters
    kind = str(parameters.get("variables", "positions"))
    n = counted(counts["variables"], results.text.item, results.text.items)
    frames = counted(counts.get("frames", 0), "frame")
    replicas = counts.get("replicas", 1)
    of = f"{counted(replicas, 'replica')} with {frames} in all" if replicas > 1 else frames
    sentence = (
        f"Correlated motion was analysed with pairtile{versions(results)}, in {of}. The variables "
    )
    if kind == "columns":
        return f"{sentence}were {n}, each a time series.", []
    where = {"ca": " (C-alpha atoms)", "center_of_mass": " (centres of mass)"}
    which = where.get(str(parameters.get("positions")), "") if kind == "positions" else ""
    if kind == "distances":
        sentence += f"were {n} between groups of atoms"
    elif kind == "dihedrals":
        names = listed([str(name) for name in parameters.get("dihedrals") or ()])
        sentence += f"were {n} ({names}) of the selection “{parameters.get('select')}”"
    else:
        sentence += f"were the {WHAT[kind]} of {n}{which}, selection “{parameters.get('select')}”"
    return (f"{sentence}; trajectories were read with MDAnalysis (Michaud-Agrawal et al. 2011)."), [
        papers.MICHAUD_AGRAWAL_2011
    ]


def _superposition(results: Results) -> Part:
    parameters = results.parameters
    if not results.counts.get("fit_atoms"):
        if parameters.get("fit") is False and parameters.get("variables") == "positions":
            return "Frames were analysed as they are, without superposition.", []
        return "", []
    on = "the first frame"
    if parameters.get("reference") == "average":
        on = "the average structure, found by iteration"
    atoms = counted(results.counts["fit_atoms"], "atom")
    return (
        f"Frames were superposed on {on} by {atoms} (“{parameters.get('fit')}”; Kabsch 1976)."
    ), [papers.KABSCH_1976]


def _estimator(results: Results) -> Part:
    settings = _estimator_settings(results)
    kind = settings.get("kind", "ksg")
    if kind == "dcc":
        return (
            "The correlation of two variables is the dynamical cross-correlation ⟨Δrᵢ·Δrⱼ⟩ / "
            "(⟨Δrᵢ²⟩⟨Δrⱼ²⟩)^½ of their displacements (Ichiye and Karplus 1991)."
        ), [papers.ICHIYE_KARPLUS_1991]
    how, cited = _information(settings, kind)
    return (
        f"{how} The generalized correlation coefficient is (1 − exp(−2I/d))^½, with I the mutual "
        "information in nats and d the dimension of a variable (Lange and Grubmüller 2006)."
    ), [*cited, papers.LANGE_GRUBMUELLER_2006]


def _information(settings: dict[str, Any], kind: str) -> Part:
    if kind == "gaussian":
        corrected = ", corrected for the number of frames" if settings.get("corrected") else ""
        return (
            "The mutual information of two variables was estimated from their covariance matrices "
            f"as that of normal variables (linear mutual information){corrected}."
        ), []
    if kind in ("bspline", "dihedral"):
        closed = "cyclic " if kind == "dihedral" else ""
        ranks = " of ranks" if kind == "bspline" and settings.get("transform") == "rank" else ""
        return (
            f"Mutual information was estimated with {closed}B-splines{ranks} "
            f"({settings.get('bins')} bins, order {settings.get('order')}; Daub et al. 2004)."
        ), [papers.DAUB_2004]
    norm = "Euclidean distance" if settings.get("norm") == "euclidean" else "largest coordinate"
    scaled = ", coordinates divided by their standard deviation" * (settings.get("scale") == "std")
    text = (
        "Mutual information was estimated from nearest neighbours (estimator "
        f"{settings.get('variant', 1)} of Kraskov et al. 2004, k = {settings.get('neighbours')}, "
        f"{norm} within a variable{scaled})"
    )
    cited = [papers.KRASKOV_2004]
    preset = PRESET_TOOLS.get(str(settings.get("preset")))
    if preset:
        text += f", by the conventions of {preset[0]}"
        cited.append(preset[1])
    theiler = settings.get("theiler")
    decided = theiler if isinstance(theiler, list) else [theiler]
    windows = [window for window in decided if isinstance(window, int) and window > 0]
    if windows:
        frames = listed([count(window) for window in windows])
        text += f", without frames nearer in time than {frames} frames (Theiler 1986)"
        cited.append(papers.THEILER_1986)
    return f"{text}.", cited


def _replicas(results: Results) -> Part:
    n = results.counts.get("replicas", 1)
    if n < 2:
        return "", []
    return f"Each of the {count(n)} replicas was analysed by itself; values are their means.", []


def _time(results: Results) -> Part:
    found = results.cached(motion_results)
    if found is None:
        return "", []
    tau = float(found.residues["correlation_time"].median())
    effective = float(found.residues["n_effective"].median())
    return (
        f"The integrated correlation time (window after Sokal 1997) has a median of "
        f"{number(tau, 2)} frames, which leaves a median of {count(effective)} effective frames."
    ), [papers.SOKAL_1997]


def _significance(results: Results) -> Part:
    n = _estimator_settings(results).get("surrogates") or 0
    if not n:
        return "", []
    return (
        f"Significance was judged against {counted(n, 'surrogate')} of each pair, made by shifting "
        "one of the two series in time around its end, at least three correlation times from no "
        "shift; p-values are those of Student’s t for one more draw from a normal population "
        "known by these surrogates"
    ) + _q(results), _q_papers(results)


def _q(results: Results) -> str:
    keep = results.parameters.get("keep")
    if isinstance(keep, dict) and "fdr" in keep:
        return "; q-values control the false discovery rate (Benjamini and Hochberg 1995)."
    return "."


def _q_papers(results: Results) -> list[Reference]:
    keep = results.parameters.get("keep")
    fdr = isinstance(keep, dict) and "fdr" in keep
    return [papers.BENJAMINI_HOCHBERG_1995] if fdr else []


def _network(results: Results) -> Part:
    keep, contacts = results.parameters.get("keep"), results.parameters.get("contacts")
    rule = ""
    if isinstance(keep, dict) and keep:
        key, value = next(iter(keep.items()))
        rule = {
            "p_value": f" with p ≤ {number(value)}",
            "fdr": f" with q ≤ {number(value)}",
            "correlation": f" with a correlation of at least {plain(value)}",
            "top_edges": f", the {count(value)} most strongly correlated",
        }[key]
    text = f"The network has {counted(len(results.network), 'pair')}{rule}"
    if isinstance(contacts, dict):
        share = f"{100 * contacts['fraction']:g}"
        text += (
            f", among residues with heavy atoms within {plain(contacts['cutoff'])} Å in at least "
            f"{share} % of the frames"
        )
    return f"{text}.", []


def _communities(results: Results) -> Part:
    methods = results.parameters.get("communities") or []
    told, cited = [], []
    if "leiden" in methods:
        told.append("the Leiden algorithm (Traag et al. 2019), weighted by correlation")
        cited.append(papers.TRAAG_2019)
    if "girvan_newman" in methods:
        told.append("the algorithm of Girvan and Newman (2002)")
        cited.append(papers.GIRVAN_NEWMAN_2002)
    if not told or results.network.empty:
        return "", []
    return f"Communities were found by {listed(told)}.", cited


def _paths(results: Results) -> Part:
    if results.network.empty:
        return "", []
    text = "The length of an edge is −ln of its correlation (Sethi et al. 2009); "
    cited = [papers.SETHI_2009, papers.FREEMAN_1977]
    text += (
        "betweenness is the share of pairs whose shortest path runs through a node (Freeman 1977)"
    )
    if results.parameters.get("paths"):
        n = results.parameters.get("suboptimal_paths", 1)
        text += f", and the {count(n)} shortest paths between chosen residues are those of Yen 1971"
        cited.append(papers.YEN_1971)
    return f"{text}.", cited


def _compared(results: Results) -> Part:
    name = results.parameters.get("compare")
    if not name:
        return "", []
    return f"Differences are values of this analysis minus those of “{name}”.", []
