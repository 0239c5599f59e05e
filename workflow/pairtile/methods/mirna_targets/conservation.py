"""Conservation of sites: which species keep them in orthologous transcripts, and how many would by
chance.

A species keeps a site where its ortholog has the letters of the site's seed class, anywhere: no
alignment is needed. Of long orthologs, and of letters that are common, so many do by chance. What
chance gives is measured on the shuffled miRNAs, whose sites lie in the same transcripts: after
Friedman et al. 2009 (Genome Res. 19:92), with S the sites of a seed class that are kept in k
species or more, and B the sites of the class times the share of the shuffles' sites that are kept
so, (S - B) / S is the share of the S that chance does not explain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairtile.declare.messages import messages_of
from pairtile.errors import InputError
from pairtile.io.names import join_first
from pairtile.io.text_file import is_number, open_lines
from pairtile.methods.mirna_targets.arrays import OrthologArrays, SequenceArrays
from pairtile.methods.mirna_targets.fasta import Fasta
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.kernels.kept_sites import (
    SPECIES_OF_A_WORD,
    OrthologRecords,
    SpeciesTree,
    kept_sites,
    measure_kept,
)
from pairtile.methods.mirna_targets.records import PreparedPart
from pairtile.methods.mirna_targets.scoring import SequenceBatch, reverse_cumsum

message = messages_of(__package__)

CANONICAL = slice(3, len(SEED_CLASSES))
"""The seed classes 7mer-A1, 7mer-m8 and 8mer."""

BRANCH_STEPS = 20
"""With a tree, sites are counted by branch length in so many steps of the whole tree."""


# --- input ----------------------------------------------------------------------------------------


def prepare_orthologs(
    orthologs: Fasta,
    transcripts: Sequence[str],
    genes: Mapping[str, str],
    reference: str | None,
    tree: str | PathLike[str] | None,
    spelled: Callable[[str], str] = str,
) -> PreparedPart[OrthologArrays]:
    """Sort orthologs (``maf.read_orthologs``), named ``transcript|species``, by transcript.

    orthologs : what follows the last ``|`` of a name is its species; several records of a species
    count as one. transcripts : names, rows as in the state. genes : gene of a transcript; what
    precedes ``|`` is looked for among these, too. reference : species of the transcripts; its
    records are left out. tree : Newick file with the reference and all species. spelled :
    ``Fasta.spelled`` of the transcripts.

    Raises InputError for a name without ``|``; no record of any transcript; a tree that lacks a
    species, or has a branch without a length.
    """
    split = [name.rpartition("|") for name in orthologs.names]
    for record, (name, _, species) in enumerate(split):
        if not (name and species):
            raise InputError.at(
                orthologs.path,
                f"record {orthologs.records[record]}",
                f"the name {orthologs.names[record]!r}",
                "transcript|species, or gene|species",
            )
    split = [(spelled(name), bar, species) for name, bar, species in split]
    groups = {name: k for k, name in enumerate(dict.fromkeys(name for name, _, _ in split))}
    group = np.array(
        [groups.get(name, groups.get(genes.get(name, ""), -1)) for name in transcripts], np.int32
    )
    used = set(group.tolist())
    strange = [name for name, _, _ in split if groups[name] not in used]
    of_record = np.array([groups[name] for name, _, _ in split], dtype=np.int64)
    known = [groups[name] in used and species != reference for name, _, species in split]
    kept = np.flatnonzero(known)
    if not kept.size and transcripts:
        found = f"no ortholog of any transcript ({' '.join(orthologs.names[:3]) or 'no record'})"
        maf = f"in MAF, of the reference's rows {reference or 'SPECIES'}.{transcripts[0]}"
        raise InputError.at(
            orthologs.path, "", found, f"names such as {transcripts[0]}|SPECIES ({maf})"
        )
    kept = kept[np.argsort(of_record[kept], kind="stable")]
    first = np.searchsorted(of_record[kept], np.arange(len(groups) + 1))
    group = np.where((group >= 0) & (np.diff(first, append=0)[group] > 0), group, -1)
    names = sorted({split[k][2] for k in kept})
    number = {name: k for k, name in enumerate(names)}
    tree_of = SpeciesTree(species_bits(np.empty((0, len(names) + 1), bool)), np.empty(0))
    if tree is not None:
        tree_of = read_tree(tree, [*names, str(reference)])
    lines = "".join(f"{name}\n" for name in [*names, reference or ""])
    letters = orthologs.letters.block(kept)
    messages, path, without = [], orthologs.path, int((group < 0).sum())
    if strange:
        messages.append(
            message(
                "orthologs_of_no_transcript",
                file=path,
                n=len(strange),
                names=join_first(list(dict.fromkeys(strange))),
            )
        )
    if without:
        messages.append(message("no_orthologs", file=path, n=without, transcripts=len(transcripts)))
    return PreparedPart(
        state={
            "ortholog_codes": letters.codes,
            "ortholog_offsets": letters.offsets,
            "ortholog_species": np.array([number[split[k][2]] for k in kept], dtype=np.int32),
            "ortholog_first": first.astype(np.int64),
            "ortholog_group": group.astype(np.int32),
            "ortholog_names": np.frombuffer(lines.encode("utf-8", "surrogateescape"), np.uint8),
            "tree_below": tree_of.below,
            "tree_length": tree_of.length,
        },
        counts={
            "ortholog_species": len(names),
            "ortholog_records": len(kept),
            "ortholog_records_unknown": len(strange),
            "transcripts_with_orthologs": len(transcripts) - without,
        },
        messages=messages,
    )


_PARTS = re.compile(r"[(),;]|:[^(),:;]+|'(?:[^']|'')*'|[^(),:;'\s]+")


def read_tree(path: str | PathLike[str], species: Sequence[str]) -> SpeciesTree:
    """The branches of a Newick tree that have some of ``species``, bits in that order, below them.

    Names may be in quotes; comments in brackets and names of inner nodes are passed over, as are
    leaves that are not among ``species``.

    Raises InputError for no Newick tree, a branch without a length, a species that no leaf has.
    """
    with open_lines(path) as lines:
        text = re.sub(r"\[[^\]]*\]", "", " ".join(line for _, line in lines))
    branches: list[tuple[set[str], float]] = []
    open_nodes: list[set[str]] = [set()]  # leaves below those that are not closed yet
    last: set[str] | None = None  # leaves below the node that was read last
    measured, ended = True, False
    for part in _PARTS.findall(text):
        if ended or (part == ")" and len(open_nodes) == 1):
            raise InputError.at(path, "", f"{part!r} behind the end of the tree", "a Newick tree")
        if part == "(":
            open_nodes.append(set())
        elif part in ",);":
            if not measured and part != ";":
                raise InputError.at(
                    path,
                    "",
                    f"a branch without a length (to {', '.join(sorted(last or set())[:3])})",
                    "a length, as in (human:0.1,mouse:0.3);",
                )
            open_nodes[-1] |= last or set()
            last = open_nodes.pop() if part == ")" else None
            measured, ended = part != ")", part == ";"
        elif part.startswith(":"):
            measured, length = True, part[1:].strip()
            if not is_number(length) or not 0 <= float(length) < float("inf"):
                raise InputError.at(path, "", f"the length {length!r}", "a number of 0 or more")
            branches.append((last or set(), float(length)))
        elif last is None:  # a leaf; else the name of an inner node
            last = {part[1:-1].replace("''", "'") if part.startswith("'") else part}
            measured = False
    if not ended or len(open_nodes) > 1:
        raise InputError.at(path, "", "a tree without an end", "a Newick tree that ends in ';'")
    missing = sorted(set(species) - open_nodes[0])
    if missing:
        raise InputError.at(
            path,
            "",
            f"no leaf {', '.join(missing[:5])}, of {len(open_nodes[0])} leaves",
            "a tree of reference_species and all species of the orthologs",
        )
    kept = [(names, length) for names, length in branches if not names.isdisjoint(species)]
    below = np.array([[name in names for name in species] for names, _ in kept], dtype=bool)
    return SpeciesTree(
        species_bits(below.reshape(-1, len(species))), np.array([length for _, length in kept])
    )


def species_bits(chosen: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Species as bits: bool (rows, species) to uint64 (rows, words)."""
    n_words = -(-chosen.shape[1] // SPECIES_OF_A_WORD)
    wide = np.zeros((len(chosen), n_words * SPECIES_OF_A_WORD), dtype=bool)
    wide[:, : chosen.shape[1]] = chosen
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


# --- sites ----------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """Of sites: species int32, how many keep each; branch_length float64, of the smallest part of
    the tree that joins these and the reference (0 without a tree); level int64, what counts go by:
    steps of branch length with a tree, else species."""

    species: NDArray[np.int32]
    branch_length: NDArray[np.float64]
    level: NDArray[np.int64]


class Conservation:
    """Looks up which species keep sites; opened once on the state."""

    def __init__(self, state: SequenceArrays) -> None:
        self.records = OrthologRecords(
            np.asarray(state["ortholog_codes"]),
            np.asarray(state["ortholog_offsets"]),
            np.asarray(state["ortholog_species"]),
            np.asarray(state["ortholog_first"]),
        )
        self.group = np.asarray(state["ortholog_group"])
        lines = np.asarray(state["ortholog_names"]).tobytes().decode("utf-8", "surrogateescape")
        self.species = lines.split("\n")[:-2]
        self.tree = SpeciesTree(np.asarray(state["tree_below"]), np.asarray(state["tree_length"]))
        self.has_tree = len(self.tree.length) > 0
        self.measure = "min_branch_length" if self.has_tree else "min_species"
        self.levels = (BRANCH_STEPS if self.has_tree else len(self.species)) + 1
        # The reference is the last.
        last = np.arange(len(self.species) + 1) == len(self.species)
        self._reference, others = species_bits(np.stack([last, ~last]))
        self.whole_tree = float(self._measured(others[None])[1][0])
        number = [
            len(np.unique(self.records.species[begin:end]))
            for begin, end in pairwise(self.records.first)
        ]
        self.species_of_group = np.array([*number, 0], np.int32)

    def least(self) -> NDArray[np.float64]:
        """The least number of species, or with a tree the least branch length, of each level."""
        steps = np.arange(self.levels)
        return steps * self.whole_tree / BRANCH_STEPS if self.has_tree else steps.astype(float)

    def species_of(self, transcripts: NDArray[np.integer]) -> NDArray[np.int32]:
        """How many species have an ortholog of transcripts (rows of the state)."""
        return self.species_of_group[self.group[transcripts]]

    def kept(
        self,
        mirnas: SequenceBatch,
        i: NDArray[np.integer],
        j: NDArray[np.integer],
        seed_class: NDArray[np.int8],
    ) -> Kept:
        """Conservation of sites of miRNAs (rows ``i``) on transcripts (rows ``j`` of the state)."""
        group = self.group[j]
        order = np.argsort(group, kind="stable")
        found = np.zeros((len(order), len(self._reference)), np.uint64)
        first = np.searchsorted(group[order], np.arange(len(self.records.first))).astype(np.int64)
        kept_sites(
            self.records,
            (mirnas.codes, mirnas.offsets),
            (i[order].astype(np.int32), seed_class[order]),
            (first[:-1], first[1:]),
            found,
        )
        bits = np.empty_like(found)
        bits[order] = found
        species, branch_length = self._measured(bits)
        level = species.astype(np.int64)
        if self.has_tree:
            # A hair above: what is summed in another order must not fall into another step.
            share = branch_length / max(self.whole_tree, 1e-300) * (1 + 1e-9)
            level = np.minimum((share * BRANCH_STEPS).astype(np.int64), BRANCH_STEPS)
        return Kept(species, branch_length, level)

    def _measured(self, bits: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        species, branch_length = np.empty(len(bits), np.int32), np.empty(len(bits))
        measure_kept(bits, self._reference, self.tree, species, branch_length)
        return species, branch_length


# --- rates ----------------------------------------------------------------------------------------


def conserved_sites(
    observed: NDArray[np.integer], shuffled: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sites that are kept, and those that chance keeps (Friedman et al. 2009).

    observed, shuffled   int (..., levels): sites of a seed class by level, of miRNAs and shuffles;
                         where shuffles have no site, none is expected

    Returns float64 (..., levels), of each level and those above: S, sites that are kept so; B, as
    many as chance keeps: all sites times the share of the shuffles' sites.
    """
    kept, of_shuffles = (reverse_cumsum(x).astype(np.float64) for x in (observed, shuffled))
    share = of_shuffles / np.maximum(of_shuffles[..., :1], 1.0)
    return kept, kept[..., :1] * share


def conserved_share(
    kept: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(S - B) / S; NaN where S is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(kept > 0, (kept - expected) / kept, np.nan)


def conservation_rates(sums: Mapping[str, NDArray[np.integer]]) -> NDArray[np.float64]:
    """(S - B) / S of each seed class and level, of all miRNAs: float64 (CLASSES, levels)."""
    shuffled = sums["null_kept_counts"].sum(axis=0)
    return conserved_share(*conserved_sites(sums["kept_counts"], shuffled))
