"""Correlated motion of every pair of atoms, residues or time series, in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pairtile.api.analyse import finished, kept_run, read_network
from pairtile.api.messages import issue_warnings
from pairtile.api.prepare import Inputs
from pairtile.api.settings import Keywords, SectionMapping
from pairtile.declare.messages import HasMessages, Message
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.config_sections import FramesConfig
from pairtile.methods.trajectory_correlation.differences import (
    comparison_warnings,
    difference,
    matched_items,
)
from pairtile.methods.trajectory_correlation.forked import ReaderError
from pairtile.methods.trajectory_correlation.kinds import KINDS
from pairtile.methods.trajectory_correlation.matrices import Matrix, correlation_matrix
from pairtile.methods.trajectory_correlation.network import (
    ResidueNetwork,
    candidate_q_values,
    directed_pairs,
    path_ends,
    shortest_paths,
)
from pairtile.methods.trajectory_correlation.read_tables import EXPECTED, SeriesTable, unusable
from pairtile.methods.trajectory_correlation.read_trajectory import (
    Run,
    Trajectories,
)
from pairtile.methods.trajectory_correlation.score import TrajectoryCorrelation
from pairtile.methods.trajectory_correlation.tables import message, path_table
from pairtile.methods.trajectory_correlation.unwrap import Frame
from pairtile.runtime.files import read_table
from pairtile.steps.network import opened_network

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup, Universe
    from MDAnalysis.coordinates.base import ProtoReader

    Motion: TypeAlias = ArrayLike | pd.DataFrame | Universe | AtomGroup

_OF_MOLECULES = (
    "fit", "reference", "select", "positions", "dihedrals", "distances", "domains",
)  # fmt: skip
KEYWORDS = Keywords(
    TrajectoryCorrelationConfig,
    *("estimator.*", "unwrap", *_OF_MOLECULES, "direction", "variables", "frames", "ensemble"),
    *("contacts", "pairs", "keep", "score"),
)


def trajectory_correlation(
    trajectory: str | os.PathLike[str] | Motion | Sequence[Motion],
    trajectories: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    names: Sequence[str] | None = None,
    preset: Literal["none", "mdigest", "normi", "dynetan", "netsci"] = "none",
    kind: Literal["auto", "ksg", "gaussian", "dcc", "bspline", "dihedral"] = "auto",
    neighbours: int = 6,
    variant: int = 1,
    norm: Literal["euclidean", "max"] = "euclidean",
    scale: Literal["raw", "std"] = "raw",
    theiler: Literal["auto"] | int = "auto",
    lag: Literal["auto"] | int = "auto",
    corrected: bool = True,
    bins: Literal["auto"] | int = "auto",
    order: int = 3,
    transform: Literal["rank", "none"] = "rank",
    surrogates: int = 20,
    unwrap: bool = False,
    fit: bool | str | None = None,
    reference: Literal["first", "average"] | None = None,
    select: str | None = None,
    positions: Literal["atom", "ca", "center_of_mass"] | None = None,
    dihedrals: Sequence[object] | None = None,
    distances: SectionMapping | None = None,
    domains: SectionMapping | None = None,
    direction: bool = False,
    variables: Literal[
        "auto", "positions", "coordinates", "displacements", "dihedrals", "distances", "columns"
    ] = "auto",
    frames: SectionMapping | None = None,
    ensemble: Literal["auto"] | bool = "auto",
    contacts: SectionMapping | bool | Literal["auto"] = "auto",
    pairs: Literal["all", "in_contact"] = "all",
    keep: SectionMapping | Literal["all", "auto"] = "auto",
    score: Literal["auto", "correlation", "correlation_centred"] = "auto",
    seed: int = 1,
    backend: Literal["auto", "cpu", "cuda"] = "auto",
) -> MotionCorrelation:
    """Find which motions go together: mutual information and correlation of every pair.

    The same as an analysis of the workflow with these settings, seed and backend.

    Parameters
    ----------
    trajectory : array, DataFrame, Universe, AtomGroup, path, or a list of the former four
        An array (frames, variables, dimensions) with 1 to 3 dimensions, or (frames, variables) of
        scalars, taken as it is: **superpose positions first**. Angles in radians. A DataFrame
        (frames x variables) names its variables. A Universe or AtomGroup of MDAnalysis is read,
        superposed and selected as the workflow does it. A path is that of a topology. A list holds
        replicas: each is estimated by itself.
    trajectories : path or sequence of paths, optional
        Beside the path of a topology: the trajectories, each a replica.
    names : sequence, optional
        Of the variables of an array.
    preset : none, mdigest, normi, dynetan or netsci
        Of `ksg`: numbers as another tool gives them; decides `neighbours`, `variant`, `norm`,
        `scale` and `theiler` (of `netsci` not `neighbours`), whatever stands there:
        docs/methods/trajectory_correlation.md lists them.
    kind : auto, ksg, gaussian, dcc, bspline or dihedral
        `ksg`: nearest neighbours (Kraskov et al. 2004); any dependence; wants 50 effective frames
        or more. `gaussian`: linear mutual information; fast, blind to curved dependence. `auto`:
        `gaussian` where the median variable has fewer than 50 effective frames in a trajectory,
        else `ksg`; `ksg` wherever a key of it is not at its default. `dcc`: cosine (Pearson)
        correlation of displacements; blind to motions at right angles. `bspline`: B-spline mutual
        information, of scalars; of positions the sum over the nine pairs of coordinates; frames may
        be missing. `dihedral`: the same of angles, with splines that close at 360 degrees.
    neighbours : an integer between 1 and 64
        Of `ksg`: which nearest neighbour measures the density. Usual: 3 to 7.
    variant : an integer between 1 and 2
        Of `ksg`: the first or the second estimator of Kraskov et al.
    norm : euclidean or max
        Of `ksg`: how far apart two frames of one variable are. `euclidean`: the distance. `max`:
        the largest difference of a coordinate, which depends on how the system is turned.
    scale : raw or std
        Of `ksg`: coordinates as they are (`raw`), or each divided by its own standard deviation
        (`std`).
    theiler : auto or an integer between 0 and 1000000
        Of `ksg`: frames nearer in time than this are no neighbours, since successive frames are
        alike. `auto`: twice the correlation time. 0: all frames count.
    lag : auto
        Of `direction`: frames from source to target. `auto`: the median correlation time.
    corrected : True or False
        Of `gaussian`: take away the bias of few frames (exact for independent frames): about 0.05
        nats for two atoms and 100 frames.
    bins : auto or an integer between 2 and 64
        Of `bspline` and `dihedral`: bins of a variable. `auto`: 10, for angles 12.
    order : an integer between 1 and bins
        Of `bspline` and `dihedral`: spline order. 1: plain histogram; 3: usual.
    transform : rank or none
        Of `bspline`: values are replaced by their ranks, so that every bin is used and outliers do
        no harm, or are taken as they are, from the least to the greatest.
    surrogates : an integer between 0 and 10000
        How many times one motion of each pair is shifted in time (the end comes back in at the
        start): the null of the p-values, of unrelated motions that are as slow. Each costs as much
        as the estimate. 0: no p-values.
    unwrap : True or False
        Put together what the periodic box breaks, before anything else: molecules become whole, and
        chains that are near each other in the first frame stay so. Of the residues of `fit`,
        `select` and `distances`.
    fit : least_moving, a selection of atoms (text) or False
        Atoms on which frames are superposed (Kabsch, without weights), as a selection of
        MDAnalysis; best the rigid part. `least_moving`: those of `protein and name CA` that move
        least, or all of them where that changes few pairs; the default of two analyses of which one
        is to `compare` with the other. `False`: frames are used as they are.
    reference : first or average
        What frames are superposed on. `first`: the first frame used of the first trajectory.
        `average`: the average structure of all frames.
    select : a selection of atoms (text)
        Atoms whose motion is analysed, as a selection of MDAnalysis; independent of `fit`.
    positions : atom, ca or center_of_mass
        What is one position. `atom`: each selected atom. `ca`: the C-alpha of each residue with a
        selected atom. `center_of_mass`: of the selected atoms of each residue.
    dihedrals : a list of phi, psi, omega, chi1, chi2, chi3, chi4, chi5
        Which angles of each residue are variables, where it has them.
    distances : a mapping of NAME: [selection, selection]
        Distances to pair, by name: each between the geometric centres of two selections.
    domains : a mapping of NAME: selection
        Parts of the molecule to mark in heat maps and tables: a name, and the residues as a
        selection. A residue of two domains belongs to the first.
    direction : True or False
        Also the transfer entropy of every ordered pair, who drives whom (`kind: ksg`). Some eight
        times the work, on the CPU.
    variables : auto, positions, coordinates, displacements, dihedrals, distances or columns
        What is paired. `positions`: x, y, z of each, together. `coordinates`: each by itself.
        `displacements`: the distance of each from its mean position. `dihedrals`: angles of the
        selected residues. `distances`: those listed under `distances`. `columns`: of `time_series`.
        `auto`: positions; displacements for `kind: bspline`; dihedrals for `kind: dihedral`.
    frames : mapping, optional
        Which frames of each trajectory.
    ensemble : auto, True or False
        Whether frames are models without an order in time (NMR): they count as independent, and the
        null exchanges them. `auto`: of PDB files that say NMR, or in which a model is no nearer to
        the next than to any other.
    contacts : auto, False, or a mapping with keys cutoff and fraction
        Keep in the network only pairs of residues that touch. `False`: all, however far apart.
        `auto`: `{}` where variables belong to residues, else `False`. All pairs stay in
        `pairs.parquet` and `matrices.npz`, unless `pairs` says otherwise.
    pairs : all or in_contact
        Which pairs are scored. `in_contact`: only those of `contacts`, which are found first, for
        tens of thousands of atoms; the network is the same. There are then no matrices and maps of
        all pairs, and no `compare`.
    keep : auto, {p_value: x}, {fdr: x}, {correlation: x}, {top_edges: x} or all (one of them)
        Which pairs become edges; give one form. `auto`: `{fdr: 0.05}`, or `all` under `surrogates:
        0`.
    score : auto, correlation or correlation_centred
        What ranks pairs, for `keep`, communities, paths, the means of residues and the maps of the
        report. `correlation`: as estimated, which slow motions raise. `correlation_centred`:
        without the mean of the pair's surrogates, 0 for unrelated motions. `auto`: that, or
        `correlation` for `kind: dcc` and under `surrogates: 0`.
    seed : an integer between 0 and 4294967295
        Start of all random draws (permutations, bootstraps). The same seed gives the same result on
        any number of chunks and threads.
    backend : auto, cpu or cuda
        Where to compute. `auto`: a usable GPU, else all CPU cores.

    Returns
    -------
    MotionCorrelation
        ``correlation``, ``mi_nats``, ``dcc``, ``p_value`` as matrices (DataFrames with names,
        arrays without), ``network``, ``items`` with correlation times, ``communities()``,
        ``paths()``, ``difference()``. What needs attention, as few effective frames, is also issued
        as a warning.

    Raises
    ------
    ValueError
        Settings that are not allowed; arrays of another shape; names that do not fit.
    InputError
        Files that cannot be read; selections that match nothing; too few frames; values that are no
        finite numbers; frames that repeat others.
    ConfigError
        Selections that are not in MDAnalysis' language; MDAnalysis not installed.
    DeviceError
        ``backend="cuda"`` without a GPU.

    Notes
    -----
    Sources: Lange & Grubmueller 2006 (generalized correlation), Kraskov et al. 2004 (``ksg``),
    Daub et al. 2004 (B-splines). docs/methods/trajectory_correlation.md has every formula.

    Examples
    --------
    Three atoms; the second moves with the first, the third by itself:

    >>> import numpy as np
    >>> random = np.random.default_rng(1)
    >>> xyz = random.normal(size=(500, 3, 3))
    >>> xyz[:, 1] += 1.5 * xyz[:, 0]
    >>> found = trajectory_correlation(xyz, names=["a", "b", "c"])
    >>> found.correlation.round(2)
          a     b     c
    a   NaN  0.75  0.08
    b  0.75   NaN  0.00
    c  0.08  0.00   NaN
    >>> found.network[["source", "target"]].values.tolist()
    [['a', 'b']]
    """
    inputs, settings = Inputs(), locals()
    with ExitStack() as stack:
        config, held, labels = _asked(trajectory, trajectories, names, settings, stack)
        inputs.held |= held
        run, folder = kept_run(config, inputs, seed, backend)
        found, said = finished(run, folder)
    merged, items = (read_table(run.folder / f"{name}.parquet") for name in ("pairs", "items"))
    opened = opened_network(run, config, "cpu")
    assert isinstance(opened, TrajectoryCorrelation)
    items = items[items["kept"]].reset_index(drop=True)
    if config.topology is not None:
        labels = pd.Index(items["name"])
    return MotionCorrelation(
        items=items,
        pairs=merged,
        network=read_network(found.folder, pd.RangeIndex(len(items)) if labels is None else labels),
        labels=labels,
        contacts=opened.in_contact(merged["i"].to_numpy(), merged["j"].to_numpy()),
        counts=found.counts,
        community_agreement=found.summary["threshold"].get("community_agreement", {}),
        messages=said,
        device=found.summary["backend"]["device"],
        settings=found.parameters,
    )


def _asked(
    trajectory: str | os.PathLike[str] | Motion | Sequence[Motion],
    trajectories: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    names: Sequence[str] | None,
    settings: Mapping[str, object],
    stack: ExitStack,
) -> tuple[TrajectoryCorrelationConfig, dict[str, Any], pd.Index[str] | None]:
    """The configuration of a call, what is in memory by the names of its files, and the labels of
    the variables of arrays."""
    if isinstance(trajectory, str | os.PathLike):
        _not_beside(names is not None, "names", "a topology, which names its atoms")
        runs = [trajectories] if isinstance(trajectories, str | os.PathLike) else trajectories
        paths = [os.fspath(path) for path in runs or []]
        return KEYWORDS.config(settings, topology=trajectory, trajectories=paths), {}, None
    _not_beside(trajectories is not None, "trajectories", "anything but the path of a topology")
    sources = trajectory if isinstance(trajectory, list | tuple) else [trajectory]
    universes = [one for one in sources if is_universe(one)]
    if universes and len(universes) == len(sources):
        _not_beside(names is not None, "names", "a Universe, which names its atoms")
        called = [name_of(n) for n in range(len(universes))]
        config = KEYWORDS.config(settings, topology="topology", trajectories=called)
        source = OpenTrajectories(universes, config.frames)
        stack.callback(source.restore)
        return config, {"topology": source}, None
    for key in _OF_MOLECULES:
        _not_beside(settings[key] is not None, key, "an array, which is taken as it is")
    replicas, labels = as_arrays(trajectory, names)
    dimensions, angles = (
        replicas[0].shape[2],
        settings["kind"] in [kind.name for kind in KINDS.values() if kind.cyclic],
    )
    if angles and dimensions != 1:
        raise ValueError(
            f"trajectory: found {dimensions} dimensions; expected scalars, (frames, "
            "variables), beside kind dihedral"
        )
    config = KEYWORDS.config(
        settings,
        time_series=[name_of(n) for n in range(len(replicas))],
        table={"dimensions": dimensions, "angles": "radians" if angles else "none"},
    )
    called = [str(label) for label in (range(replicas[0].shape[1]) if labels is None else labels)]
    parts = {name_of(n): part for n, part in enumerate(replicas)}
    return config, {n: _series_table(n, called, part, config) for n, part in parts.items()}, labels


def _not_beside(found: bool, key: str, what: str) -> None:
    if found:
        raise ValueError(f"{key}: cannot be used with {what}")


# --- result ---------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class MotionCorrelation(HasMessages):
    """Correlated motion of all pairs of variables.

    Attributes
    ----------
    items : DataFrame
        A row for each variable, in the order of the matrices: ``name``, where it is (``chain``,
        ``resid``, ``resname``, ... of a molecule), ``sd`` (root mean square fluctuation of
        positions), ``correlation_time`` in frames, ``n_effective`` (independent frames).
    pairs : DataFrame
        A row for each pair, i < j: the columns of ``pairs.parquet``.
    network : DataFrame
        The pairs that were kept, strongest first: ``source``, ``target``, ``mi_nats``,
        ``correlation``, ``p_value``, ``q_value``, ``dcc``; with surrogates ``mi_centred``,
        ``correlation_centred``.
    community_agreement : dict
        Adjusted Rand index of the communities of two halves of the data, by method: below 0.3 there
        are none to speak of. Empty where it is not known.
    counts, messages, notes, warnings, device, settings
        How it came about.
    """

    items: pd.DataFrame
    pairs: pd.DataFrame
    network: pd.DataFrame
    labels: pd.Index[str] | None = field(repr=False)
    contacts: NDArray[np.bool_] | None = field(default=None, repr=False)
    counts: dict[str, int] = field(default_factory=dict)
    community_agreement: dict[str, float] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    device: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"MotionCorrelation: {len(self.pairs):,} pairs of {len(self.items):,} variables, "
            f"{len(self.network):,} kept"
        )

    def matrix(self, column: str = "correlation") -> pd.DataFrame | Matrix:
        """A column of ``pairs``, or ``q_value``, as a symmetric matrix, NaN on the diagonal.

        A DataFrame with names, or an array where the variables have none. Raises ``ValueError`` for
        a column that is not there.
        """
        pairs = self.pairs
        if column == "q_value":
            q = candidate_q_values(pairs["p_value"].to_numpy(), self.contacts)
            pairs = pairs[["i", "j"]].assign(q_value=q)
        if column not in pairs or column in ("i", "j"):
            there = [name for name in self.pairs.columns if name not in ("i", "j")]
            raise ValueError(
                f"column: found {column!r}; expected one of {', '.join([*there, 'q_value'])}"
            )
        values = correlation_matrix(pairs, self.items, column)
        if self.labels is None:
            return values
        return pd.DataFrame(values, index=self.labels, columns=self.labels, copy=False)

    @property
    def correlation(self) -> pd.DataFrame | Matrix:
        """Generalized correlation, 0 to 1 (under ``kind="dcc"`` the DCC); see ``matrix``."""
        return self.matrix("correlation")

    @property
    def correlation_centred(self) -> pd.DataFrame | Matrix:
        """Generalized correlation without the mean of the pair's surrogates; see ``matrix``."""
        return self.matrix("correlation_centred")

    @property
    def mi_nats(self) -> pd.DataFrame | Matrix:
        """Mutual information in nats; see ``matrix``."""
        return self.matrix("mi_nats")

    @property
    def dcc(self) -> pd.DataFrame | Matrix:
        """Dynamical cross-correlation, -1 to 1; see ``matrix``."""
        return self.matrix("dcc")

    @property
    def p_value(self) -> pd.DataFrame | Matrix:
        """p-values against time-shifted surrogates; see ``matrix``."""
        return self.matrix("p_value")

    @property
    def directions(self) -> pd.DataFrame:
        """Under ``direction=True``, both directions of every pair, the strongest first: the columns
        of ``directions.parquet``."""
        return directed_pairs(self.pairs, self._numbers, self.settings["estimator"]["lag"])

    def residue_network(self) -> ResidueNetwork:
        """The network as a graph: ``graph`` (igraph), ``betweenness()``, ``communities()``, ..."""
        number = self._numbers
        i, j = (number.get_indexer(pd.Index(self.network[end])) for end in ("source", "target"))
        score = self.settings.get("score", "correlation")
        return ResidueNetwork.of_edges(len(self.items), i, j, self.network[score])

    def communities(self, method: str = "leiden", seed: int = 1) -> pd.Series:
        """Community of each variable, from 1 (the largest) on; 0 without an edge.

        ``method``: "leiden" or "girvan_newman".
        """
        found = self.residue_network().communities(method, seed)
        return pd.Series(found, index=self._numbers, name="community")

    def betweenness(self) -> pd.Series:
        """Share of the pairs of others whose shortest path runs through each variable."""
        found = self.residue_network().betweenness()
        return pd.Series(found, index=self._numbers, name="betweenness")

    def paths(self, source: object, target: object, number: int = 1) -> pd.DataFrame:
        """The ``number`` shortest paths of the network between two variables, shortest first.

        A step is as long as -ln of its correlation. Columns: ``source``, ``target``, ``rank``,
        ``length``, ``n_edges``, ``weakest_correlation``, ``path`` (names with blanks between
        them). One row without ``rank`` where nothing joins the two. Raises ``ConfigError`` for a
        name that is not there.
        """
        ends = path_ends(self.items, [(str(source), str(target))])
        network = self.residue_network()
        found = [shortest_paths(network, start, end, number) for start, end in ends]
        table = path_table(self.items, network, ends, found)
        table.attrs["warnings"] = issue_warnings(
            [] if found[0] else [message("no_path", source=source, target=target)]
        )
        return table

    def difference(self, other: MotionCorrelation) -> pd.DataFrame:
        """How pairs that both have differ, this one minus ``other``.

        Variables are matched by name, else by chain, residue number and atom (a mutant). Columns:
        ``source``, ``target``, and of ``correlation``, ``mi_nats`` and ``dcc`` the value here,
        ``_other`` and ``_difference``; with two replicas or more in both, z, p-values and
        q-values of ``mi`` and ``dcc``. Raises ``InputError`` where the two share fewer than two
        variables.
        """
        matched = matched_items(self.items, other.items, ("this", "other"))
        seed = int(self.settings.get("seed", 1))
        table = difference(self.pairs, other.pairs, matched, len(other.items), seed)
        for place, (end, number) in enumerate((("source", "i"), ("target", "j"))):
            table.insert(place, end, self._numbers[table[number].to_numpy()])
        table = table.drop(columns=["i", "j"])
        kind = KINDS[self.settings["estimator"]["kind"]]
        table.attrs["warnings"] = issue_warnings(
            comparison_warnings(table, self.items, other.items, matched, ("this", "other"), kind)
        )
        return table

    @property
    def _numbers(self) -> pd.Index[str] | pd.RangeIndex:
        return pd.RangeIndex(len(self.items)) if self.labels is None else self.labels


# --- input ----------------------------------------------------------------------------------------


def is_universe(value: object) -> TypeGuard[Universe | AtomGroup]:
    """Whether this is a Universe or an AtomGroup of MDAnalysis, found without importing it."""
    return hasattr(value, "universe") and hasattr(value, "select_atoms")


class OpenTrajectories(Trajectories):
    """Universes that are open already, each a replica; they are left at the frame they were at.

    Parameters
    ----------
    sources
        Universes of the same atoms, or AtomGroups: then these are what is selected.
    frames
        As for ``Trajectories``.
    """

    def __init__(self, sources: Sequence[Universe | AtomGroup], frames: FramesConfig) -> None:
        self.topology = "topology"
        self._universes: dict[tuple[str, ...], Universe] = {
            (name_of(n),): one.universe for n, one in enumerate(sources)
        }
        self.files = [str(getattr(one.universe.trajectory, "filename", "")) for one in sources]
        self._chosen = [None if one is one.universe else one for one in sources]
        self.universe = sources[0].universe
        self.said = {}
        self._whole = None
        self._at = [universe.trajectory.frame for universe in self._universes.values()]
        self.runs = [self._opened(files, frames) for files in self._universes]

    def select(self, selection: str, key: str) -> NDArray[np.int64]:
        """As ``Trajectories.select``; under ``select`` the AtomGroups, where such were given."""
        if key != "select" or self._chosen[0] is None:
            return super().select(selection, key)
        found = [np.unique(np.asarray(group.indices, np.int64)) for group in self._chosen if group]
        if len(found) < len(self._chosen) or any(not np.array_equal(a, found[0]) for a in found):
            raise InputError.at("trajectory", "", "different atoms", "the same atoms in all groups")
        return self._meant(found[0], "", key)

    def restore(self) -> None:
        """Back to the frames at which the Universes were."""
        for universe, frame in zip(self._universes.values(), self._at, strict=True):
            universe.trajectory[frame]

    def _opened(self, files: tuple[str, ...], frames: FramesConfig) -> Run:
        trajectory = self._load(files)
        n_frames = int(trajectory.n_frames)
        used = range(n_frames)[frames.as_slice]
        if not used:
            wanted = ", ".join(f"{k}: {v}" for k, v in frames)
            raise InputError.at(files[0], "", f"no frame for {wanted}", f"some of {n_frames}")
        interval_ps = self._rising(files, float(trajectory.dt))
        start_ps = float(trajectory[0].time)
        return Run(files, n_frames, used, interval_ps * used.step, n_frames, start_ps)

    def _load(self, files: tuple[str, ...]) -> ProtoReader:
        n_atoms = self._universes[files].atoms.n_atoms
        if n_atoms != self.universe.atoms.n_atoms:
            found, wanted = f"{n_atoms} atoms", f"{self.universe.atoms.n_atoms}, as in the first"
            raise InputError.at(files[0], "", found, wanted)
        self.universe = self._universes[files]
        return self.universe.trajectory

    def _frames(self, run: Run, numbers: range) -> Iterator[Frame]:
        """Here: what is open may be no file."""
        try:
            yield from self._steps(run, numbers)
        except Exception as error:  # readers of some forty formats raise what they like
            raise ReaderError(type(error).__name__, str(error)) from error

    def _show_first(self, run: Run) -> None:
        _ = self._load(run.files)[run.frames[0]]


def as_arrays(
    values: object, names: Sequence[str] | None
) -> tuple[list[NDArray[np.float64]], pd.Index[str] | None]:
    """Take series as an array, a DataFrame (frames x variables), or a list of such: replicas, each
    float64 (frames, variables, dimensions), and labels of the variables (None: they are numbered).

    Raises
    ------
    ValueError
        Not numbers; not (frames, variables) or (frames, variables, dimensions) with one to three
        dimensions; replicas of other variables; names that are not one for each, or repeated.
    """
    parts = values if isinstance(values, list | tuple) else [values]
    if not len(parts):
        raise ValueError("trajectory: found an empty list; expected an array, or several")
    labels = parts[0].columns if isinstance(parts[0], pd.DataFrame) else None
    arrays = [
        _array(part, f"trajectory {n}" if n else "trajectory") for n, part in enumerate(parts)
    ]
    for n, part in enumerate(arrays):
        if part.shape[1:] != arrays[0].shape[1:]:
            raise ValueError(
                f"trajectory {n}: found shape {part.shape}; expected (frames, "
                f"{', '.join(map(str, arrays[0].shape[1:]))}), as in the first"
            )
    if names is not None:
        labels = pd.Index(names)
    if labels is not None and (len(labels) != arrays[0].shape[1] or not labels.is_unique):
        raise ValueError(
            f"names: found {len(labels)} ({labels.nunique()} different) for {arrays[0].shape[1]} "
            "variables; expected one for each"
        )
    return arrays, labels


def _series_table(
    path: str, names: list[str], part: NDArray[np.float64], config: TrajectoryCorrelationConfig
) -> SeriesTable:
    """The frames that ``config`` asks for, as a table of time series that has been read. Raises
    InputError for values that are no finite numbers."""
    part = part[config.frames.as_slice]
    wrong = unusable(part, config.estimator.facts.allows_missing)
    if wrong.any():
        frame, variable, axis = where = tuple(np.argwhere(wrong)[0])
        place = f"frame {frame}, variable {variable}, coordinate {axis}"
        raise InputError.at(path, place, f"{part[where]}", EXPECTED)

    def blocks(n: int, missing: bool) -> Iterator[NDArray[np.float64]]:
        yield from (part[first : first + n] for first in range(0, len(part), n))

    return SeriesTable(path, names, part.shape[2], range(len(part)), blocks)


def name_of(replica: int) -> str:
    """What messages call a replica."""
    return f"trajectory {replica}"


def _array(part: object, name: str) -> NDArray[np.float64]:
    try:
        found = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}: found no table of numbers ({error}); expected numbers"
        ) from error
    values = found[:, :, None] if found.ndim == 2 else found
    if values.ndim != 3 or not 1 <= values.shape[2] <= 3:
        raise ValueError(
            f"{name}: found shape {found.shape}; expected (frames, variables) or "
            "(frames, variables, dimensions) with 1 to 3 dimensions"
        )
    return values
