"""Atoms and residues: their names and places, and which residues touch in how many frames."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike, NDArray

from pairtile.declare.messages import messages_of
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import InputError
from pairtile.methods.trajectory_correlation.arrays import ContactArrays, MotionArrays
from pairtile.methods.trajectory_correlation.atoms import (
    OXYGENS,
    alternate_positions,
    atomic_masses,
    chain_names,
    guessed_element,
    texts,
)
from pairtile.methods.trajectory_correlation.config import TrajectoryCorrelationConfig
from pairtile.methods.trajectory_correlation.read_trajectory import (
    DEFAULT_FIT,
    check_finite,
    trajectories_of,
)
from pairtile.preprocess.items import unique_names
from pairtile.runtime.record import Progress

if TYPE_CHECKING:
    from MDAnalysis import Universe

message = messages_of(__package__)

STRUCTURE = np.dtype(
    [
        ("name", "U8"),
        ("resname", "U16"),
        ("chain", "U32"),
        ("resid", "i4"),
        ("icode", "U2"),
        ("element", "U3"),
        ("residue", "i4"),
        ("position", "f8", (3,)),
    ]
)
"""An atom of the structure that results are drawn on; ``residue``: as in the items' table."""


@dataclass(frozen=True)
class Residues:
    """The residues of the selected atoms, in the order of the topology.

    ``table``: one row each, columns chain, resid, icode, resname, label (``A:LYS13``). ``atoms``:
    all their atoms, residue after residue: ``number`` in the topology, ``residue`` (row of
    ``table``), ``name``, ``element`` ("" where it is not known), ``hydrogen``.
    """

    table: pd.DataFrame
    atoms: pd.DataFrame

    def __len__(self) -> int:
        return len(self.table)

    def atom_masses(self, n_atoms: int) -> NDArray[np.float64]:
        """Masses of all ``n_atoms`` atoms of the topology by the elements of those of the residues;
        NaN where not all atoms of a residue are of a known element, and elsewhere."""
        masses = self.atoms["element"].str.upper().map(atomic_masses()).astype(np.float64)
        known = masses.notna().groupby(self.atoms["residue"]).transform("all")
        result = np.full(n_atoms, np.nan)
        result[self.atoms["number"]] = masses.where(known)
        return result

    @cached_property
    def by_name(self) -> list[dict[str, int]]:
        """Of each residue, atom name -> number; the first of several."""
        found: list[dict[str, int]] = [{} for _ in range(len(self))]
        columns = (self.atoms[key].tolist() for key in ("residue", "name", "number"))
        for residue, name, number in zip(*columns, strict=True):
            found[residue].setdefault(name, number)
        return found

    def structure(self, positions: NDArray[np.float64]) -> NDArray[np.void]:
        """All atoms as an array of type ``STRUCTURE``; ``positions``: of all of them, in order."""
        result = np.zeros(len(self.atoms), dtype=STRUCTURE)
        for key in ("resname", "chain", "resid", "icode"):
            result[key] = self.table[key].to_numpy()[self.atoms["residue"]]
        for key in ("name", "element", "residue"):
            result[key] = self.atoms[key]
        result["position"] = positions
        return result


def residues_of(universe: Universe, atoms: NDArray[np.int64]) -> Residues:
    """The residues that hold at least one of ``atoms``, without alternate positions.

    Elements are as the topology says; else by the name of the atom, as those of proteins and
    nucleic acids can be.
    """
    group = universe.atoms[atoms].residues
    chains, resnames = chain_names(group), texts(group, "resnames")
    icodes = texts(group, "icodes")
    resids = np.asarray(getattr(group, "resids", np.arange(1, len(group) + 1)))
    labels = [
        f"{chain}:" * bool(chain) + f"{resname}{resid}{icode}"
        for chain, resname, resid, icode in zip(chains, resnames, resids, icodes, strict=True)
    ]
    table = pd.DataFrame(
        {
            "chain": chains,
            "resid": resids.astype(np.int32),
            "icode": icodes,
            "resname": resnames,
            "label": unique_names(labels),
        }
    )
    own = group.atoms[~np.isin(group.atoms.indices, alternate_positions(universe, atoms))]
    owner = np.searchsorted(group.resindices, own.resindices)
    names, masses = texts(own, "names"), np.asarray(getattr(own, "masses", np.zeros(len(own))))
    several = (np.bincount(owner)[owner] > 1).tolist()
    guessed = [guessed_element(name) if n else "" for name, n in zip(names, several, strict=True)]
    elements = zip(texts(own, "elements"), guessed, strict=True)
    first = np.array([name.lstrip("0123456789")[:1].upper() for name in names], dtype=np.str_)
    columns = {
        "number": np.asarray(own.indices, dtype=np.int64),
        "residue": owner,
        "name": names,
        "element": [known or guess for known, guess in elements],
        # Under 3.5 u: hydrogen and its isotopes, and atoms whose mass is not known (0).
        "hydrogen": (masses < 3.5) & ((first == "H") | ((first == "D") & (masses > 1.5))),
    }
    return Residues(table, pd.DataFrame(columns))


def selection_of(table: pd.DataFrame, chosen: NDArray[np.bool_]) -> str:
    """A selection of C-alphas, by chain and number, of the chosen rows of a table of residues.

    Of rows of fewer than four residues none, where at least half are in longer ones.
    """
    part = table.loc[chosen, ["chain", "resid"]].drop_duplicates().sort_values(["chain", "resid"])
    begins = part["chain"].ne(part["chain"].shift()) | part["resid"].diff().ne(1)
    part["run"] = begins.cumsum()
    # Runs of four residues and more, where enough are in such runs.
    long = part.groupby("run")["resid"].transform("size") >= 4
    part = part[long] if 2 * long.sum() >= len(part) else part
    texts = []
    for chain, own in part.groupby("chain"):
        ends = own.groupby("run")["resid"].agg(["min", "max"]).to_numpy().tolist()
        numbers = "resid " + " ".join(f"{low}-{high}" for low, high in ends)
        by = "segid" if len(str(chain)) > 1 else "chainID"  # a letter is no segment's name
        several = table["chain"].nunique() > 1
        texts.append(f"{by} {chain!s} and {numbers}" if several else numbers)
    chains = texts[0] if len(texts) == 1 else f"(({') or ('.join(texts)}))"
    return f"{DEFAULT_FIT} and {chains}"


def domains_of(
    residues: Residues, selected: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.object_]:
    """The domain of each residue: the first of ``selected`` with one of its atoms, or ``""``."""
    result = np.full(len(residues), "", dtype=object)
    for name, atoms in reversed(list(selected.items())):
        result[residues.atoms.loc[residues.atoms["number"].isin(atoms), "residue"]] = name
    return result


def secondary_structure(residues: Residues, positions: NDArray[np.float64]) -> list[str]:
    """H (helix), E (strand) or - of each residue by its backbone's hydrogen bonds (DSSP, Kabsch
    and Sander 1983, as MDAnalysis computes it); ``""`` where N, CA, C or O is missing.

    ``positions``: of all atoms of the topology.
    """
    from MDAnalysis import Universe
    from MDAnalysis.analysis.dssp import DSSP

    backbone = ("N", "CA", "C")
    rows, places = [], []
    for k, names in enumerate(residues.by_name):
        oxygen = next((names[o] for o in OXYGENS if o in names), None)
        if oxygen is not None and all(name in names for name in backbone):
            rows.append(k)
            places.append([*(names[name] for name in backbone), oxygen])
    result = [""] * len(residues)
    if len(rows) > 5:  # fewer cannot form a bond that DSSP counts
        owners = np.repeat(np.arange(len(rows)), 4)
        alone = Universe.empty(len(owners), len(rows), atom_resindex=owners, trajectory=True)
        alone.add_TopologyAttr("names", [*backbone, "O"] * len(rows))
        alone.add_TopologyAttr("resids", np.arange(len(rows)))
        # DSSP takes residues by the names of amino acids; of them only proline, which has no
        # hydrogen to give, is unlike the others.
        proline = residues.table["resname"].iloc[rows] == "PRO"
        alone.add_TopologyAttr("resnames", np.where(proline, "PRO", "ALA").astype(object))
        alone.atoms.positions = positions[np.ravel(places)]
        for k, letter in zip(rows, DSSP(alone).run().results.dssp[0], strict=True):
            result[k] = str(letter)
    return result


# --- contacts -------------------------------------------------------------------------------------


CHECK_FRAMES, ALL_FRAMES = 20, 2**31
"""Frames of each trajectory in which contacts are counted: for ``pairtile check``, and a run."""

HEAVY_ATOM_CUTOFF, SINGLE_ATOM_CUTOFF = 4.5, 8.0
"""Angstrom: usual for all heavy atoms (Sethi et al. 2009), and between C-alphas."""


def trajectory_contacts(
    config: TrajectoryCorrelationConfig, items: pd.DataFrame, most_frames: int = ALL_FRAMES
) -> tuple[ContactArrays, dict[str, int]]:
    """Which variables belong to residues that touch, from the frames that the series are made of.

    The trajectories are read once, a frame at a time. Memory grows with the pairs that touch in
    some frame, never with all pairs. Under ``pairs: in_contact``, those that do so too seldom are
    left out.

    Parameters
    ----------
    config
        Of ``method: trajectory_correlation`` with ``contacts``, every default filled in.
    items
        As ``prepare_trajectory`` gives them for this section.
    most_frames
        Of each trajectory; where it has more, evenly spaced ones.

    Returns
    -------
    dict, dict
        As ``variable_contacts``; and ``contacts``, how many there are in enough of the frames.

    Raises
    ------
    ConfigError, InputError
        As ``prepare_trajectory``, here for positions of all heavy atoms of the residues.
    """
    rule = config.contact_rule
    assert rule is not None
    source = trajectories_of(config)
    residues = residues_of(source.universe, source.select(config.select, "select"))
    heavy = residues.atoms[~residues.atoms["hydrogen"]]
    atoms, owner = heavy["number"].to_numpy(), heavy["residue"].to_numpy()
    cutoff = contact_cutoff(owner) if rule.cutoff == "auto" else rule.cutoff
    n = len(residues)
    counts = [scipy.sparse.csr_array((n, n), dtype=np.int64) for _ in source.runs]
    chosen = [run.frames[:: -(-len(run.frames) // most_frames)] for run in source.runs]
    frames = np.array(list(map(len, chosen)))
    progress = Progress(int(frames.sum()), "frames")
    for k, run in enumerate(source.runs):
        for number, step in source.read(run, chosen[k]):
            positions = step.positions[atoms]
            check_finite(source, run, [number], atoms, positions[None])
            counts[k] = counts[k] + touching_residues(positions, step.dimensions, owner, n, cutoff)
            progress.advance(1)
    least = rule.fraction if config.pairs == "in_contact" else 0.0
    kept = items.loc[items["kept"], "residue"].to_numpy()
    found = variable_contacts(counts, frames, kept, least)
    return found, {"contacts": pairs_in_contact(found, rule.fraction)[0].size}


def add_contacts(
    config: TrajectoryCorrelationConfig,
    prepared: PreparedInput[MotionArrays],
    sample: bool = False,
) -> None:
    """Bring the contacts of a section with ``pairs: in_contact`` into its prepared state, and count
    them.

    ``sample``: of a few frames. Raises what ``trajectory_contacts`` does, and InputError where
    there are none.
    """
    assert config.contact_rule
    most_frames = CHECK_FRAMES if sample else ALL_FRAMES
    found, counts = trajectory_contacts(config, prepared.items, most_frames)
    if sample:
        prepared.messages.append(message("contacts_of_sample", n=CHECK_FRAMES))
    prepared.state.update(found)
    prepared.counts.update(counts)
    if not counts["contacts"]:
        raise InputError.at(
            str(config.topology),
            "pairs: in_contact",
            f"no pair in contact in {config.contact_rule.fraction:.0%} of the frames",
            "some, or a larger contacts.cutoff, a smaller contacts.fraction, pairs: all",
        )
    prepared.state["only_contacts"] = np.array(True)


def contact_cutoff(owner: NDArray[np.int64]) -> float:
    """Angstrom within which atoms touch: 8 where most residues have a single heavy atom, else 4.5.

    ``owner``: the residue of each heavy atom.
    """
    single = owner.size and np.median(np.bincount(owner)) == 1
    return SINGLE_ATOM_CUTOFF if single else HEAVY_ATOM_CUTOFF


def touching_residues(
    positions: NDArray[np.float32],
    box: NDArray[np.float32] | None,
    residue: NDArray[np.int64],
    n_residues: int,
    cutoff: float,
) -> scipy.sparse.csr_array:
    """Which residues touch in one frame: 1 at row i, column j of residues i < j.

    ``positions``: of the heavy atoms in Angstrom; with a box, the nearest images count.
    ``residue``: the residue of each. ``cutoff``: distance in Angstrom of two atoms that touch.
    """
    # Not MDAnalysis' self_capped_distance: a tree of SciPy is quicker than its own, and its grid
    # misses pairs in boxes of two slanted axes before 2.11.
    if box is not None:
        from MDAnalysis.lib.distances import apply_PBC, augment_coordinates

        positions = apply_PBC(positions, box)
        images, imaged = augment_coordinates(positions, box, cutoff)
        positions, residue = np.vstack([positions, images]), np.append(residue, residue[imaged])
    pairs = scipy.spatial.cKDTree(positions).query_pairs(cutoff, output_type="ndarray")
    ends = np.sort(residue[pairs], axis=1)
    low, high = ends[ends[:, 0] < ends[:, 1]].T
    # Of truth values, so that it is 1 however many of their atoms touch.
    found = np.ones(low.size, dtype=bool), (low, high)
    return scipy.sparse.csr_array(found, shape=(n_residues, n_residues)).astype(np.int64)


def variable_contacts(
    counts: Sequence[scipy.sparse.csr_array],
    frames: NDArray[np.int64],
    residue_of_variable: NDArray[np.integer],
    least: float = 0.0,
) -> ContactArrays:
    """Contacts of residues as contacts of the variables that belong to them.

    ``counts``: of each replica, in how many of its ``frames`` two residues i < j touch. Two
    variables of one residue touch always. ``least``: contacts in a lesser share of all frames are
    left out. Returns ``contact_i`` < ``contact_j`` (int32, in order), ``contact_fraction``
    (float32) and ``contact_fraction_replicas`` (replicas, contacts).
    """
    n = counts[0].shape[0]
    itself = scipy.sparse.eye_array(n, dtype=np.int64, format="csr")
    together = reduce(operator.add, counts, int(frames.sum()) * itself)
    together.data[_seldom(together.data / max(int(frames.sum()), 1), least)] = 0
    together.eliminate_zeros()
    both = together.tocoo()
    # Each contact of residues under a number of its own, from 1 on, to be found again by variables.
    low, high = both.coords
    number = np.arange(1, both.nnz + 1)
    upper = scipy.sparse.csr_array((number, (low, high)), shape=(n, n))
    whole = upper + scipy.sparse.csr_array((number * (low < high), (high, low)), shape=(n, n))
    owner = np.asarray(residue_of_variable, dtype=np.int64)
    touching = whole[owner][:, owner].sorted_indices().tocoo()
    i, j = touching.coords
    shares = [
        both.data / max(int(frames.sum()), 1),
        *(
            (count + n_frames * itself)[both.coords] / max(n_frames, 1)
            for count, n_frames in zip(counts, frames.tolist(), strict=True)
        ),
    ]
    fraction = np.array(shares, dtype=np.float32)[:, touching.data[i < j] - 1]
    return {
        "contact_i": i[i < j].astype(np.int32),
        "contact_j": j[i < j].astype(np.int32),
        "contact_fraction": fraction[0],
        "contact_fraction_replicas": fraction[1:],
    }


def in_contact(
    i: ArrayLike, j: ArrayLike, state: ContactArrays, fraction: float
) -> NDArray[np.bool_]:
    """Which pairs of variables belong to residues that touch.

    Parameters
    ----------
    i, j : array-like, shape (pairs,)
        Numbers of variables.
    state : mapping
        With ``contact_i``, ``contact_j``, ``contact_fraction``
        (``variable_contacts``).
    fraction : float
        Least share of the frames in which they touch.
    """
    touching = _keys(*pairs_in_contact(state, fraction))
    return np.isin(_keys(np.asarray(i), np.asarray(j)), touching)


def pairs_in_contact(
    state: ContactArrays, fraction: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """All pairs of variables, i < j, that ``in_contact`` says yes to."""
    often = ~_seldom(np.asarray(state["contact_fraction"]), fraction)
    return np.asarray(state["contact_i"])[often], np.asarray(state["contact_j"])[often]


def _seldom(share: NDArray[np.floating], fraction: float) -> NDArray[np.bool_]:
    # Shares are kept in single precision, in which 0.6 is a little above that of a double.
    return share.astype(np.float32) < np.float32(fraction)


def _keys(i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
    return (np.minimum(i, j).astype(np.int64) << 32) | np.maximum(i, j).astype(np.int64)
