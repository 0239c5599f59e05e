"""What the report says of correlated motion: the results it reads, findings, warnings, methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.engine.state import MANIFEST, open_state
from pairtile.errors import StoreError
from pairtile.methods.trajectory_correlation.figures import ResidueMarks
from pairtile.methods.trajectory_correlation.stability import LEAST_AGREEMENT
from pairtile.methods.trajectory_correlation.structures import centred_structure
from pairtile.report.formats import count, counted, listed, number, percent, plain
from pairtile.report.method_report import Reference
from pairtile.report.methods_parts import Part, paragraph, section, versions
from pairtile.report.references import read_references
from pairtile.report.results import Results

papers = read_references(__package__)


RESIDUES, COMMUNITIES, PATHS = "residues.tsv", "communities.tsv", "paths.tsv"
MATRICES, DIFFERENCE = "matrices.npz", "difference.npz"
METHOD_NAMES = {"leiden": "Leiden", "girvan_newman": "Girvan-Newman"}

_TEXTS = (
    *("name", "chain", "icode", "resname", "atom", "domain", "secondary_structure"),
    *("method", "members", "source", "target", "path", "items", "between"),
)


@dataclass(frozen=True)
class MotionResults:
    """What the report knows of correlated motion, beyond the network.

    ``residues``, ``communities``, ``paths``: the tables of these names; the latter two may be
    empty. Variables are numbered as the rows of ``residues`` and of every matrix.
    """

    folder: Path
    residues: pd.DataFrame
    communities: pd.DataFrame
    paths: pd.DataFrame

    @cached_property
    def marks(self) -> ResidueMarks:
        """What stands along the axes of figures."""
        return ResidueMarks.of(self.residues)

    @property
    def several_chains(self) -> bool:
        """Whether residue numbers alone are no names."""
        return len(set(self.marks.chains)) > 1

    @cached_property
    def number(self) -> dict[str, int]:
        """Row of each variable by its name."""
        return {name: row for row, name in enumerate(self.residues["name"])}

    def path_names(self, items: str) -> str:
        """``A:LYS13 → A:ASP84``: names of items whose numbers are parted by blanks."""
        names = self.residues.set_index("item")["name"]
        return " → ".join(names[[int(number) for number in items.split()]])

    def matrix(self, name: str) -> NDArray[Any] | None:
        """A matrix of all pairs; None where it was not written or holds no number."""
        return _matrix(self.folder / MATRICES, name)

    def difference(self, name: str) -> NDArray[Any] | None:
        """A matrix of differences from the analysis that this one is compared with."""
        return _matrix(self.folder / DIFFERENCE, f"{name}_difference")

    def difference_array(self, name: str) -> NDArray[Any] | None:
        """A matrix of ``difference.npz`` by its own name, such as ``mi_q_value``."""
        return _matrix(self.folder / DIFFERENCE, name)

    @cached_property
    def community_methods(self) -> list[str]:
        """How communities were sought, the first first."""
        prefix = "community_"
        return [str(c).removeprefix(prefix) for c in self.residues if str(c).startswith(prefix)]

    def members(self, method: str) -> NDArray[np.int64]:
        """Community of each variable, 0 for none."""
        return self.residues[f"community_{method}"].to_numpy(dtype=np.int64)

    @cached_property
    def places(self) -> NDArray[np.float64] | None:
        """Mean position of each variable, (n, 3) in Angstrom; None where the state is gone or
        positions are not known."""
        if not (self.folder / "state" / MANIFEST).is_file():
            return None
        means = np.asarray(open_state(self.folder / "state")["mean_positions"], dtype=np.float64)
        return (
            means if means.shape == (len(self.residues), 3) and np.isfinite(means).any() else None
        )

    @cached_property
    def structure(self) -> NDArray[Any] | None:
        """Atoms of the first frame (``residues.STRUCTURE``), as ``structure.pdb`` has them; None of
        tables of time series, and where the state is gone."""
        if not (self.folder / "state" / MANIFEST).is_file():
            return None
        state = open_state(self.folder / "state")
        return np.asarray(centred_structure(state)["structure"]) if "structure" in state else None

    @cached_property
    def interval_ps(self) -> float | None:
        """Time between two frames in picoseconds; None where not known or not one."""
        if not (self.folder / "state" / MANIFEST).is_file():
            return None
        found = np.asarray(open_state(self.folder / "state")["frame_interval_ps"])
        if not found.size or not np.isfinite(found).all() or np.ptp(found) > 1e-6 * found[0]:
            return None
        return float(found[0])

    def far_apart(self, first: NDArray[Any], second: NDArray[Any], least: int = 5) -> NDArray[Any]:
        """Which pairs of variables are no neighbours: another chain, or residues at least ``least``
        apart; of variables without residues, all."""
        if "resid" not in self.residues:
            return np.ones(len(first), dtype=bool)
        resid = self.residues["resid"].to_numpy(dtype=np.int64)
        chain = self.residues["chain"].to_numpy(dtype=object)
        distance = np.abs(resid[first] - resid[second])
        return np.asarray((distance >= least) | (chain[first] != chain[second]))


def read_motion_results(folder: Path) -> MotionResults:
    """Read the tables of ``folder``; ``communities.tsv`` and ``paths.tsv`` where they are there.

    Raises StoreError naming the file when ``residues.tsv`` is missing or a table is not what its
    name says.
    """
    residues = read_table(folder / RESIDUES, {"item", "name", "betweenness", "degree"})
    communities = read_table(
        folder / COMMUNITIES, {"method", "community", "members"}, required=False
    )
    paths = read_table(folder / PATHS, {"source", "target", "rank", "items"}, required=False)
    return MotionResults(folder, residues, communities, paths)


def _matrix(path: Path, name: str) -> NDArray[Any] | None:
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        if name not in arrays.files:
            return None
        values: NDArray[Any] = arrays[name]
    return values if np.isfinite(values).any() else None


def read_table(path: Path, columns: set[str], required: bool = True) -> pd.DataFrame:
    """A table of an analysis: names are text, whatever they look like, and only numbers can be
    missing; empty where the file is not there and not ``required``.

    Raises StoreError naming the file when it is missing or not what its name says.
    """
    if not path.is_file():
        if required:
            raise StoreError.at(path, "", "no such file", "the table that the step tables writes")
        return pd.DataFrame(columns=sorted(columns))
    try:
        header = pd.read_csv(path, sep="\t", nrows=0).columns
        table = pd.read_csv(
            path,
            sep="\t",
            dtype=dict.fromkeys(_TEXTS, str),
            keep_default_na=False,
            na_values={column: [""] for column in header if column not in _TEXTS},
        )
    except (OSError, ValueError) as error:
        raise StoreError.at(path, "", f"an unreadable file ({error})", "a table") from error
    missing = sorted(columns - set(table.columns))
    if missing:
        raise StoreError.at(path, "columns", ", ".join(table.columns), ", ".join(missing))
    return table


def motion_results(results: Results) -> MotionResults:
    """The tables and matrices of an analysis, for ``results.cached``."""
    return read_motion_results(results.folder)


# --- findings -------------------------------------------------------------------------------------


N_NAMED = 3
N_COMMUNITIES = 4
LEVEL = 0.05
FAR = 5
"""Residues so many apart in the chain, or more, are no neighbours."""


def findings(results: Results) -> list[str]:
    """Sentences for the top of the page."""
    found = results.cached(motion_results)
    if found is None:
        return []
    parts = [
        _strongest_finding,
        _community_finding,
        _path_finding,
        _betweenness_finding,
        _chance_finding,
        _replica_finding,
    ]
    sentences = [text for part in parts if (text := part(results, found))]
    return [*sentences, _time_finding(results, found), *_left_out_finding(results)]


def kind_of(results: Results) -> str:
    """The estimator's kind."""
    return str((results.parameters.get("estimator") or {}).get("kind", "ksg"))


def score_of(results: Results) -> str:
    """The column that ranks pairs."""
    return str(results.parameters.get("score") or "correlation")


def agreement_of(results: Results, method: str) -> float:
    """Adjusted Rand index of the communities of two halves of the data; NaN where not tested."""
    return float((results.scores or {}).get(f"community_agreement_{method}", np.nan))


def claimed_communities(results: Results, found: MotionResults) -> list[str]:
    """The methods whose communities were found again, or not tested."""
    return [m for m in found.community_methods if not agreement_of(results, m) < LEAST_AGREEMENT]


def rule_of_keep(results: Results) -> str:
    """`` (p ≤ 0.05)``: which pairs are kept, as far as it is a rule."""
    keep = results.parameters.get("keep")
    if not isinstance(keep, dict) or not keep:
        return ""
    key, value = next(iter(keep.items()))
    sign = {"p_value": "p ≤", "fdr": "q ≤", "correlation": "correlation ≥"}.get(key)
    return f" ({sign} {value:g})" if sign else " (the strongest)"


def ranges(numbers: Sequence[int]) -> str:
    """``1-29, 60-118``: the stretches of some whole numbers."""
    values = np.unique(np.asarray(numbers, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(values) > 1) + 1
    parts = [part for part in np.split(values, breaks) if part.size]
    return ", ".join(str(part[0]) if part.size == 1 else f"{part[0]}–{part[-1]}" for part in parts)


def members_in_words(residues: pd.DataFrame, chains_named: bool, limit: int = 6) -> str:
    """Where variables lie: ``A 1–29, 60–118``; names where there are no residues."""
    if "resid" not in residues:
        names = residues["name"].tolist()
        return listed(names) if len(names) <= limit else ", ".join(names[:limit]) + ", …"
    parts = []
    chains = residues.groupby("chain", sort=False)["resid"]
    for chain, numbers in chains:
        stretches = ranges(numbers.tolist()).split(", ")
        text = ", ".join(stretches[:limit]) + (", …" if len(stretches) > limit else "")
        parts.append(f"{chain} {text}".strip() if chains_named else text)
    return "; ".join(parts)


def _strongest_finding(results: Results, found: MotionResults) -> str:
    network = results.network
    if network.empty:
        return ""
    best = results.strongest(5000)
    i, j = (best[end].map(found.number).to_numpy() for end in ("source", "target"))
    far = best[found.far_apart(i, j, least=FAR)]
    score = score_of(results)
    text = f"Most strongly correlated: {_named(best, score)}."
    if "resid" in found.residues and len(far) and not far.head(N_NAMED).equals(best.head(N_NAMED)):
        apart = f"{FAR} residues or more apart"
        apart += ", or in different chains" if found.several_chains else ""
        text += f" Of those not next to each other ({apart}): {_named(far, score)}."
    return text


def _named(table: pd.DataFrame, score: str) -> str:
    rows = table.head(N_NAMED).to_dict("records")
    return listed([f"{row['source']} and {row['target']} ({number(row[score])})" for row in rows])


def difference_of(results: Results, found: MotionResults) -> NDArray[Any] | None:
    """The difference from another analysis, of the score where both have it."""
    matrix = found.difference(score_of(results))
    return found.difference("correlation") if matrix is None else matrix


def _community_finding(results: Results, found: MotionResults) -> str:
    if not found.community_methods or found.communities.empty:
        return ""
    method = found.community_methods[0]
    table = found.communities[found.communities["method"] == method]
    if table.empty:
        return ""
    agreement = agreement_of(results, method)
    halves = "the two halves of the data"
    if agreement < LEAST_AGREEMENT:
        return (
            f"No communities are claimed: those of {halves} ({METHOD_NAMES[method]}) agree with an "
            f"adjusted Rand index of {number(agreement, 2)} (0: as by chance, 1: the same)."
        )
    named = []
    member = found.members(method)
    for row in table.head(N_COMMUNITIES).to_dict("records"):
        where = members_in_words(found.residues[member == row["community"]], found.several_chains)
        named.append(f"{row['community']}: {where} ({count(row['n_members'])})")
    more = len(table) - len(named)
    text = f"{counted(len(table), 'community', 'communities')} ({METHOD_NAMES[method]}, modularity "
    text += f"{number(float(table['modularity'].iloc[0]))}): {'; '.join(named)}"
    text += f"; and {count(more)} smaller." if more > 0 else "."
    if np.isnan(agreement):
        return f"{text} Whether they are found again was not tested."
    return f"{text} Those of {halves} agree with an adjusted Rand index of {number(agreement, 2)}."


def _path_finding(results: Results, found: MotionResults) -> str:
    if found.paths.empty:
        return ""
    sentences = []
    for (source, target), rows in found.paths.groupby(["source", "target"], sort=False):
        first = rows.iloc[0]
        if not first["items"]:
            sentences.append(f"No path joins {source} and {target}.")
            continue
        sentences.append(
            f"Shortest path from {source} to {target}: {found.path_names(first['items'])} "
            f"(weakest correlation {number(float(first['weakest_correlation']))})."
        )
    return " ".join(sentences[:N_NAMED])


def _betweenness_finding(results: Results, found: MotionResults) -> str:
    table = found.residues.sort_values(["betweenness", "item"], ascending=[False, True])
    top = table[table["betweenness"] > 0].head(N_NAMED)
    if top.empty:
        return ""
    named = [f"{row['name']} ({percent(row['betweenness'])})" for row in top.to_dict("records")]
    return f"Most shortest paths of the network run through {listed(named)} of all pairs of others."


def _chance_finding(results: Results, found: MotionResults) -> str:
    matrix = found.matrix("p_value")
    if matrix is None:
        return ""
    p = matrix[np.triu_indices(len(matrix), 1)]
    total, small = int(np.isfinite(p).sum()), int((p <= LEVEL).sum())
    share = f"{count(small)} of {counted(total, 'pair')} ({percent(small / total)})"
    return (
        f"{share} with p ≤ {LEVEL:g}; unrelated motions as slow as these would give about "
        f"{count(LEVEL * total)}."
    )


def _replica_finding(results: Results, found: MotionResults) -> str:
    replicas = results.counts.get("replicas", 1)
    if replicas < 2:
        return ""
    spread = found.matrix("dcc_sd" if kind_of(results) == "dcc" else "correlation_sd")
    if spread is None:
        return ""
    typical = float(np.nanmedian(spread))
    return (
        f"Between the {count(replicas)} replicas the correlation of a pair differs by a standard "
        f"deviation of {number(typical, 2)} (median over pairs)."
    )


def _time_finding(results: Results, found: MotionResults) -> str:
    tau = float(found.residues["correlation_time"].median())
    effective = float(found.residues["n_effective"].median())
    frames = results.counts.get("frames", 0)
    span = _in_time(tau, found.interval_ps)
    return (
        f"Motions are remembered for a median of {number(tau, 2)} frames{span}, so that "
        f"the {counted(frames, 'frame')} are worth about {count(effective)} independent ones "
        f"(least: {count(float(found.residues['n_effective'].min()))})."
    )


def _in_time(frames: float, interval_ps: float | None) -> str:
    if interval_ps is None:
        return ""
    ps = frames * interval_ps
    return f" ({number(ps / 1000, 2)} ns)" if ps >= 1000 else f" ({number(ps, 2)} ps)"


def _left_out_finding(results: Results) -> list[str]:
    words, dropped = results.text, results.dropped
    sentences = []
    if len(dropped):
        reasons = dropped["reason"].astype(str).value_counts()
        why = listed([f"{reason} ({count(n)})" for reason, n in reasons.items()])
        kept = f"{count(len(dropped))} of {counted(len(results.items), words.item, words.items)}"
        sentences.append(f"{kept} left out: {why}.")
    alone = int(results.items["kept"].sum()) - len(results.degree)
    if alone > 0 and len(results.network):
        sentences.append(f"{counted(alone, words.item, words.items)} without an edge.")
    return sentences


# --- warnings -------------------------------------------------------------------------------------


MANY = 20
"""Correlation times that a trajectory should at least be long."""


def text_warnings(results: Results) -> list[str]:
    """Warnings that the settings themselves give rise to, beyond those of the summary."""
    settings: dict[str, Any] = results.parameters.get("estimator") or {}
    parts = (_no_null, _no_window, _blind, _one_trajectory, _length, _not_superposed)
    return [text for part in parts if (text := part(results, settings))]


def _no_null(results: Results, settings: dict[str, Any]) -> str:
    if settings.get("surrogates"):
        return ""
    return (
        "There are no p-values (surrogates: 0). Two unrelated slow motions look correlated as long "
        "as the run is short beside their correlation time; only surrogates tell."
    )


def _no_window(results: Results, settings: dict[str, Any]) -> str:
    preset = settings.get("preset", "none")
    if settings.get("kind", "ksg") != "ksg" or preset == "none":
        return ""
    found = results.cached(motion_results)
    if found is None or float(found.residues["correlation_time"].median()) < 1.0:
        return ""
    return (
        f"The preset {preset} has no Theiler window: frames that follow each other count as "
        "neighbours, which raises all values where motion is slow. Compare with the surrogates’ "
        "mean (null_mean), not with 0."
    )


def _blind(results: Results, settings: dict[str, Any]) -> str:
    kind = settings.get("kind", "ksg")
    if kind == "dcc":
        return (
            "Dynamical cross-correlation does not see motions at right angles to each other or "
            "out of step, however strongly they depend on each other."
        )
    if kind == "bspline" and results.parameters.get("variables") == "displacements":
        return (
            "Displacements are distances from the mean position: the direction of motion, and most "
            "of the correlation with it, is lost. kind: ksg or gaussian use all three coordinates."
        )
    if kind == "bspline" and results.parameters.get("variables") == "positions":
        return (
            "The mutual information of two positions is added up over the nine pairs of their "
            "coordinates, as the first GPU programs did: it changes with the orientation of the "
            "molecule and misses what coordinates share only jointly. kind: ksg or gaussian use "
            "all three at once."
        )
    return ""


def _one_trajectory(results: Results, settings: dict[str, Any]) -> str:
    found = results.cached(motion_results)
    if results.counts.get("replicas", 1) > 1 or found is None:
        return ""
    few = int((found.residues["n_effective"] < 50).sum())
    if not few or results.parameters.get("ensemble") is True:
        return ""
    return (
        "This is one trajectory: whether another run of the same system would show the same "
        "correlations cannot be told from it. Replicas can."
    )


def _length(results: Results, settings: dict[str, Any]) -> str:
    """A run of fewer than twenty correlation times has seen each motion a handful of times."""
    found = results.cached(motion_results)
    if found is None:
        return ""
    frames = results.counts.get("frames", 0) / max(results.counts.get("replicas", 1), 1)
    tau = float(found.residues["correlation_time"].median())
    if not frames or frames >= MANY * tau:
        return ""
    return (
        f"A trajectory is only {number(frames / tau, 2)} correlation times long "
        f"({count(frames)} frames, median {number(tau, 2)}): it drifts from one state to another "
        "rather than moving about one. Correlations then show that drift."
    )


def _not_superposed(results: Results, settings: dict[str, Any]) -> str:
    parameters = results.parameters
    if parameters.get("variables") not in ("positions", "coordinates", "displacements"):
        return ""
    if parameters.get("fit") is not False:
        return ""
    n = counted(results.counts.get("variables", 0), results.text.item, results.text.items)
    return (
        f"Frames were not superposed (fit: false). Unless they were before, all {n} share the "
        "tumbling of the whole molecule, and look correlated for it."
    )


# --- methods --------------------------------------------------------------------------------------


PRESET_TOOLS = {
    "mdigest": ("MDiGest (Maschietto et al. 2023)", papers.MASCHIETTO_2023),
    "normi": ("NorMI (Nagel et al.)", papers.NORMI),
    "dynetan": ("dynetan (Melo et al. 2020)", papers.MELO_2020),
    "netsci": ("NetSci", papers.NETSCI),
}
WHAT = {
    "positions": "positions",
    "coordinates": "x, y and z of positions, each by itself",
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
    settings = section(results, "estimator")
    kind = settings.get("kind", "ksg")
    if kind == "dcc":
        return (
            "The correlation of two variables is the dynamical cross-correlation ⟨Δrᵢ·Δrⱼ⟩ / "
            "(⟨Δrᵢ²⟩⟨Δrⱼ²⟩)^½ of their displacements (Ichiye and Karplus 1991)."
        ), [papers.ICHIYE_KARPLUS_1991]
    how, cited = _information(settings, kind)
    centred = ""
    if score_of(results) == "correlation_centred":
        centred = ", here of I less the mean of its surrogates"
    return (
        f"{how} The generalized correlation coefficient is (1 − exp(−2I/d))^½, with I the mutual "
        "information in nats and d the dimension of a variable (Lange and Grubmüller 2006)"
        f"{centred}."
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
    if results.parameters.get("ensemble") is True:
        return "The models have no order in time; each counts as an independent frame.", []
    tau = float(found.residues["correlation_time"].median())
    effective = float(found.residues["n_effective"].median())
    return (
        f"The integrated correlation time (window after Sokal 1997) has a median of "
        f"{number(tau, 2)} frames, which leaves a median of {count(effective)} effective frames."
    ), [papers.SOKAL_1997]


def _significance(results: Results) -> Part:
    n = section(results, "estimator").get("surrogates") or 0
    if not n:
        return "", []
    how = (
        "shifting one of the two series in time around its end, at least three correlation times "
        "from no shift"
    )
    if results.parameters.get("ensemble") is True:
        how = "exchanging the models of one of the two at random"
    text = (
        f"Significance was tested against {counted(n, 'surrogate')} of each pair, made by {how}; "
        "p-values are those of Student’s t for one more draw from a normal population "
        "known by these surrogates"
    )
    keep = results.parameters.get("keep")
    if not (isinstance(keep, dict) and "fdr" in keep):
        return f"{text}.", []
    text += "; q-values control the false discovery rate (Benjamini and Hochberg 1995)."
    return text, [papers.BENJAMINI_HOCHBERG_1995]


def _network(results: Results) -> Part:
    keep, contacts = results.parameters.get("keep"), results.parameters.get("contacts")
    rule = ""
    if isinstance(keep, dict) and keep:
        key, value = next(iter(keep.items()))
        rule = {
            "p_value": f" with p ≤ {number(value)}",
            "fdr": f" with q ≤ {number(value)}",
            "correlation": f" with a correlation of at least {plain(value)}",
            "top_edges": f", the most strongly correlated, at most {count(value)}",
        }[key]
    text = f"The network has {counted(len(results.network), 'pair')}{rule}"
    if isinstance(contacts, dict):
        share = f"{100 * contacts['fraction']:g}"
        cutoff = contacts["cutoff"]
        within = "4.5 Å (8 Å of residues of a single atom)"
        if cutoff != "auto":
            within = f"{plain(cutoff)} Å"
        text += (
            f", among residues with heavy atoms within {within} in at least {share} % of the frames"
        )
    return f"{text}.", []


def _communities(results: Results) -> Part:
    methods = results.parameters.get("communities") or []
    named, cited = [], []
    if "leiden" in methods:
        named.append("the Leiden algorithm (Traag et al. 2019), weighted by correlation")
        cited.append(papers.TRAAG_2019)
    if "girvan_newman" in methods:
        named.append("the algorithm of Girvan and Newman (2002)")
        cited.append(papers.GIRVAN_NEWMAN_2002)
    if not named or results.network.empty:
        return "", []
    text = f"Communities were found by {listed(named)}"
    if any(not np.isnan(agreement_of(results, method)) for method in methods):
        text += (
            "; they were sought in two halves of the data as well, in as many pairs, and compared "
            "by the adjusted Rand index (Hubert and Arabie 1985)"
        )
        cited.append(papers.HUBERT_ARABIE_1985)
    return f"{text}.", cited


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
