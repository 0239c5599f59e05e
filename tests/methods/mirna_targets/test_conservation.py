"""Conservation of sites: which species keep them, along which branches, and how many by chance."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mirna_sequences import plain, write_fasta, write_random
from pairtile import mirna_signal
from pairtile.errors import ConfigError, InputError
from pairtile.methods.mirna_targets import score as mirna_targets
from pairtile.methods.mirna_targets.conservation import (
    Conservation,
    conserved_share,
    conserved_sites,
    prepare_orthologs,
    read_tree,
)
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.kernels.hit_sites import SEED_CLASSES
from pairtile.methods.mirna_targets.maf import read_orthologs
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from workflow_runs import Analysis

OPPOSITE = str.maketrans("ACGU", "UGCA")


def words(mirna: str) -> dict[str, str]:
    """The letters of each seed class, from their definition."""
    seven, six, late = (mirna[a:b][::-1].translate(OPPOSITE) for a, b in ((1, 8), (1, 7), (2, 8)))
    return {
        "8mer": seven + "A",
        "7mer-m8": seven,
        "7mer-A1": six + "A",
        "6mer": six,
        "offset 6mer": late,
    }


def keep(mirna: str, seed_class: str, orthologs: list[tuple[str, str]]) -> set[str]:
    """The species of which a record has the letters of a site."""
    if seed_class == "none":
        return set()
    word = words(mirna)[seed_class]
    return {species for species, text in orthologs if word in text.upper().replace("T", "U")}


def random_tree(draw: random.Random, species: list[str]) -> tuple[str, dict[str, dict[str, float]]]:
    """A Newick tree, and of each species the branches between it and the root."""
    nodes = [(name, [name]) for name in species]
    paths: dict[str, dict[str, float]] = {name: {} for name in species}
    while len(nodes) > 1:
        draw.shuffle(nodes)
        joined, leaves = [], []
        for text, below in (nodes.pop() for _ in range(min(draw.choice([2, 2, 3]), len(nodes)))):
            length = round(draw.uniform(0, 2), 3)
            joined.append(f"{text}:{length}")
            for name in below:
                paths[name]["+".join(sorted(below))] = length
            leaves += below
        nodes.append((f"({','.join(joined)})inner[&x=1]", leaves))
    return nodes[0][0] + ";\n", paths


def branch_length(paths: dict[str, dict[str, float]], species: set[str]) -> float:
    """Of all branches that part some of the species from others of them."""
    of_all = {name: length for path in paths.values() for name, length in path.items()}
    below = {name: set(name.split("+")) for name in of_all}
    return sum(of_all[name] for name in of_all if species & below[name] and species - below[name])


def test_species_and_branches_are_those_of_a_plain_search(tmp_path: Path) -> None:
    draw = random.Random(2)
    species = [f"s{k}" for k in range(70)]  # more than the bits of one word
    mirnas = ["".join(draw.choices("ACGU", k=22)) for _ in range(5)]
    orthologs: dict[str, list[tuple[str, str]]] = {}
    records = {}
    for transcript in ("t0", "t1", "gene", "t3"):
        for name in draw.choices(species, k=60):  # some twice
            text = "".join(draw.choices("ACGTN", [9, 9, 9, 9, 1], k=draw.randint(5, 150)))
            for _ in range(8):
                word = draw.choice(list(words(draw.choice(mirnas)).values()))
                at = draw.randint(0, len(text))
                text = text[:at] + draw.choice([word, word.lower()]) + text[at:]
            orthologs.setdefault(transcript, []).append((name, text))
            records[f"{transcript}|{name}"] = records.get(f"{transcript}|{name}", "") + text
    # What is joined under one name has a word more where two records meet; so search that.
    orthologs = {t: [(k[len(t) + 1 :], v) for k, v in records.items() if k.startswith(f"{t}|")]
                 for t in orthologs}  # fmt: skip
    records |= {"t0|home": "ACGU", "elsewhere|s1": "ACGU"}
    write_fasta(tmp_path / "o.fa", records)
    tree, paths = random_tree(draw, [*species, "home", "beyond"])
    (tmp_path / "tree.nwk").write_text(tree)
    made = prepare_orthologs(
        read_fasta(tmp_path / "o.fa"), ["t3", "t2", "none", "t0"], {"t2": "gene"}, "home",
        tmp_path / "tree.nwk",
    )  # fmt: skip
    assert made.counts["ortholog_records_unknown"] == len(orthologs["t1"]) + 1
    assert made.counts["transcripts_with_orthologs"] == 3
    assert len(made.messages) == 2
    conservation = Conservation(made.state)
    known = [orthologs["t3"], orthologs["gene"], [], orthologs["t0"]]
    found_in = sorted({name for group in known for name, _ in group})
    whole = branch_length(paths, {*found_in, "home"})
    assert conservation.whole_tree == pytest.approx(whole)
    i, j, kind = (np.array([draw.randrange(n) for _ in range(400)]) for n in (5, 4, 6))
    batch = SequenceBatch.of_strings(mirnas)
    kept = conservation.kept(batch, i, j, kind.astype(np.int8))
    wanted = [
        keep(mirnas[a], SEED_CLASSES[c], known[b]) for a, b, c in zip(i, j, kind, strict=True)
    ]
    assert kept.species.tolist() == [len(names) for names in wanted]
    assert len(set(kept.species.tolist())) > 5
    lengths = [branch_length(paths, {*names, "home"}) for names in wanted]
    np.testing.assert_allclose(kept.branch_length, lengths, atol=1e-9)
    assert kept.level.tolist() == [int(20 * x / whole + 1e-7) for x in lengths]
    number = [len({name for name, _ in group}) for group in known]
    assert conservation.species_of(np.arange(4)).tolist() == number


def test_rates_are_what_shuffles_do_not_keep() -> None:
    draw = np.random.default_rng(3)
    observed, shuffled = draw.integers(1, 50, (6, 8)), draw.integers(1, 50, (9, 6, 8))
    found, chance = conserved_sites(observed, shuffled.sum(axis=0))
    for level in range(8):
        kept = observed[4, level:].sum()
        share = shuffled[:, 4, level:].sum() / shuffled[:, 4].sum()
        expected = observed[4].sum() * share
        assert found[4, level] == kept
        assert conserved_share(found, chance)[4, level] == pytest.approx((kept - expected) / kept)
    none = np.zeros(3, int)
    assert np.isnan(conserved_share(*conserved_sites(none, none))).all()


def with_orthologs(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Random sequences, and orthologs of eight of nine. Species a keeps the site that is planted
    from letter 41 on and half of the letters, b keeps it in every other transcript, c nothing."""
    write_random(folder)
    draw = random.Random(4)
    fasta = read_fasta(folder / "transcripts.fa")
    found = {}
    for k in range(8):
        text = fasta.letters.sequence(k)
        drifted, other = (
            "".join(draw.choice("ACGT") if draw.random() < rate else x for x in text)
            for rate in (0.6, 1.0)
        )
        kept = (text[39:62] + drifted, text[39:62] * (k % 2) + other, other[::-1])
        found[fasta.names[k]] = list(zip("abc", kept, strict=True))
    lines = {f"{name}|{species}": text for name, of in found.items() for species, text in of}
    write_fasta(folder / "orthologs.fa.gz", lines | {"tr-0|home": "ACGUACGU"})
    of_home = {name: fasta.letters.sequence(k) for k, name in enumerate(fasta.names)}
    write_maf(folder / "orthologs.maf.gz", of_home, found)
    (folder / "tree.nwk").write_text("(((home:1,a:0.5):0.25,b:1):1,c:2);")
    return found


def write_maf(
    path: Path, reference: dict[str, str], orthologs: dict[str, list[tuple[str, str]]]
) -> None:
    """The orthologs cut into three blocks for each transcript, with gaps, one species on strand -,
    one that lacks the second block."""
    draw = random.Random(6)
    lines = ["##maf version=1 scoring=none", "# a comment", ""]

    def row(source: str, strand: str, begin: int, letters: str, width: int) -> str:
        gapped = list(letters)
        for _ in range(width - len(letters)):
            gapped.insert(draw.randint(0, len(gapped)), "-")
        return f"s {source}\t{begin} {len(letters)} {strand} 9999 {''.join(gapped)}"

    for transcript, others in orthologs.items():
        rows = {f"home.{transcript}": ("+", reference[transcript])}
        rows |= {f"{name}.chr{k}.1": ("+-"[k % 2], text) for k, (name, text) in enumerate(others)}
        cuts = {
            source: [0, *sorted(draw.choices(range(1, len(text)), k=2)), len(text)]
            for source, (_, text) in rows.items()
        }
        last = next(reversed(cuts))
        cuts[last][1] = cuts[last][2]
        for block in range(3):
            parts = {
                source: (strand, cuts[source][block], text[slice(*cuts[source][block : block + 2])])
                for source, (strand, text) in rows.items()
            }
            width = 3 + max(len(text) for *_, text in parts.values())
            lines += ["a score=1", *(row(name, *of, width) for name, of in parts.items() if of[2])]
            lines += ["i a.chr0 C 0 C 0", "e b.chr1 3 4 + 9 C", ""]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_an_alignment_gives_the_records_that_a_fasta_file_would(tmp_path: Path) -> None:
    found = with_orthologs(tmp_path)
    read = read_orthologs(tmp_path / "orthologs.maf.gz", "orthologs", "home")
    letters = {name: read.letters.sequence(k) for k, name in enumerate(read.names)}
    assert letters == {f"{name}|{species}": text for name, of in found.items()
                       for species, text in of}  # fmt: skip
    # A row that does not go on where the last of its name ended; another chromosome; another
    # strand; a row of gaps alone.
    (tmp_path / "o.maf").write_text(
        "##maf version=1\na\ns home.t.1 5 4 + 9 ACGU\ns a.x 0 2 + 9 A--C\ns b 0 4 - 9 ACGT\n\n"
        "a\ns home.t.1 9 2 + 9 A-G\ns a.x 4 3 + 9 TTT\ns b 4 2 - 9 G-G\ns a.y 2 1 + 9 --c\n"
        "s b 6 1 + 9 -R-\ns c.z 6 0 + 9 ---\n"
    )
    read = read_orthologs(tmp_path / "o.maf", "orthologs", "home")
    assert read.names == ["t.1|a", "t.1|b", "t.1|a", "t.1|b"]
    assert [read.letters.sequence(k) for k in range(4)] == ["ACNTTT", "ACGTGG", "c", "R"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("s home.t 0 4 + 9 ACGU", "line 2: found a row before any block"),
        ("a\ns home.t 0 4 + ACGU", "line 3: found 6 fields; expected 7: s SOURCE"),
        ("a\ns home.t x 4 + 9 ACGU", "line 3: found the START 'x'; expected a whole number"),
        ("a\ns home.t 0 -4 + 9 ACGU", "line 3: found the SIZE '-4'"),
        ("a\ns home.t 0 4 . 9 ACGU", "line 3: found the STRAND '.'; expected + or -"),
        ("a\ns .t 0 4 + 9 ACGU", "line 3: found the SOURCE '.t'"),
        ("a\ns home.t 0 4 + 9 AC.U", "line 3: found illegal character '.'"),
        ("a\ns home.t 0 5 + 9 AC-GU", "line 3: found 4 letters and the SIZE 5"),
        ("a\ns home.t 0 4 + 9 AC-GU\ns a.x 0 4 + 9 ACGU", "line 4: found a row of 4 columns"),
        ("a\ns a.x 0 4 + 9 ACGU", "line 2: found a block with 0 rows home.TRANSCRIPT"),
        ("a\n" + 2 * "s home.t 0 4 + 9 ACGU\n", "line 2: found a block with 2 rows home.TRANS"),
        ("a\ns home.t 0 4 - 9 ACGU", "line 3: found home.t on strand -; expected strand +"),
        ("a\ns home.t 4 4 + 9 ACGU\n\na\ns home.t 7 1 + 9 A", "line 6: found home.t from 7 on"),
        ("a\ns home.chr1 0 4 + 9 ACGU\ns a.x 0 4 + 9 ACGU", "no ortholog of any transcript (chr1|"),
    ],
)  # fmt: skip
def test_an_alignment_that_cannot_be_used_is_refused(
    tmp_path: Path, lines: str, message: str
) -> None:
    (tmp_path / "o.maf").write_text(f"##maf version=1\n{lines}\n")

    def prepared() -> None:
        read = read_orthologs(tmp_path / "o.maf", "orthologs", "home")
        prepare_orthologs(read, ["t"], {}, "home", None)

    with pytest.raises(InputError) as refused:
        prepared()
    assert message in str(refused.value)


def test_an_alignment_needs_a_reference(tmp_path: Path) -> None:
    (tmp_path / "o.maf").write_text("##maf version=1\n")
    with pytest.raises(InputError, match="no reference_species; expected the species of the tr"):
        read_orthologs(tmp_path / "o.maf", "orthologs", None)


@pytest.mark.complete
def test_tables_say_how_many_species_keep_each_site_and_how_many_chance_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orthologs = with_orthologs(tmp_path)
    asked = {
        "orthologs": "orthologs.fa.gz", "reference_species": "home", "species_tree": "tree.nwk",
        "null": {"shuffles": 20}, "estimator": {"energies": False},
    }  # fmt: skip
    whole = Analysis(tmp_path, plain(**asked), name="whole").all().out
    hits = pd.read_csv(whole / "hits.tsv", sep="\t")
    mirnas = read_fasta(tmp_path / "mirnas.fa")
    sequence = {name: mirnas.letters.sequence(k) for k, name in enumerate(mirnas.names)}
    length = {
        "": 0,
        "a": 1.5,
        "b": 2.25,
        "c": 4.25,
        "ab": 2.75,
        "ac": 4.75,
        "bc": 5.25,
        "abc": 5.75,
    }
    kept = [
        keep(sequence[row.mirna], row.seed_class, orthologs.get(row.transcript, []))
        for row in hits.itertuples()
    ]
    known = hits["transcript"].isin(orthologs) & (hits["seed_class"] != "none")
    assert hits["species_with_ortholog"].tolist() == [
        3 * (name in orthologs) for name in hits["transcript"]
    ]
    assert hits["species_kept"].isna().tolist() == (~known).tolist()
    species = np.array([len(names) for names in kept])
    assert hits["species_kept"][known].tolist() == species[known].tolist()
    branches = np.array([length["".join(sorted(names))] for names in kept])
    np.testing.assert_allclose(hits["branch_length_kept"][known], branches[known])
    # Levels are twentieths of the whole tree, 5.75.
    table = pd.read_csv(whole / "conservation.tsv", sep="\t")
    table = table[table["mirna"] == "all"]
    assert table["min_branch_length"].nunique() == 20
    for name in ("8mer", "6mer", "canonical"):
        some = known & hits["seed_class"].isin(
            [name] if name != "canonical" else ["8mer", "7mer-m8", "7mer-A1"]
        )
        rows = table[table["seed_class"] == name]
        assert (rows["sites"] == some.sum()).all()
        least = rows["min_branch_length"].to_numpy()
        assert rows["kept"].tolist() == [
            (branches[some] * 1.000001 >= x * 0.999).sum() for x in least
        ]
        rate = (rows["kept"] - rows["expected"]) / rows["kept"]
        np.testing.assert_allclose(rows["conservation_rate"], rate, rtol=2e-3, atol=2e-3)
    # The planted sites, 8mers, are kept more often than those of shuffles.
    best = table[(table["seed_class"] == "8mer") & (table["min_branch_length"] > 0.2)].iloc[0]
    assert best["p_value"] <= 0.05
    assert 0 < best["rate_low"] <= best["conservation_rate"] <= best["rate_high"] <= 1
    targets = pd.read_csv(whole / "targets.tsv", sep="\t").set_index(["mirna", "transcript"])
    most = hits.groupby(["mirna", "transcript"])["species_kept"].max()
    pd.testing.assert_series_equal(
        targets["max_species_kept"].sort_index(), most.sort_index(), check_names=False
    )
    # The library gives the same, and so does an alignment.
    found = mirna_signal(
        tmp_path / "mirnas.fa", str(tmp_path / "transcripts.fa"), shuffles=20, energies=False,
        orthologs=tmp_path / "orthologs.maf.gz", reference_species="home",
        species_tree=str(tmp_path / "tree.nwk"), backend="cpu", seed=3,
    )  # fmt: skip
    for file in ("targets", "hits", "signal", "signal_curve", "conservation"):
        written = pd.read_csv(whole / f"{file}.tsv", sep="\t", dtype={"positions": str})
        pd.testing.assert_frame_equal(getattr(found, file), written, check_dtype=False)
    monkeypatch.setattr(mirna_targets, "MIRNAS_OF_A_TILE", 2)
    monkeypatch.setattr(mirna_targets, "TRANSCRIPTS_OF_A_TILE", 4)
    asked["orthologs"] = "orthologs.maf.gz"
    parts = Analysis(tmp_path, plain(chunks=4, **asked), name="parts").all().out
    for file in ("conservation.tsv", "hits.tsv", "targets.tsv"):
        assert (whole / file).read_bytes() == (parts / file).read_bytes(), file


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ("(home:1,a:1", "a tree without an end"),
        ("(home:1,a:1)):1;", "behind the end"),
        ("(home:1,a:1); (b:1)", "behind the end"),
        ("(home:1,a);", r"a branch without a length \(to a\)"),
        ("((home:1,a:1),b:1);", "a branch without a length"),
        ("(home:1,a:x);", "the length 'x'"),
        ("(home:1,a:-2);", "the length '-2'"),
        ("(home:1,b:1);", "no leaf a, of 2 leaves"),
        ("", "a tree without an end"),
    ],
)
def test_a_tree_that_cannot_be_used_is_refused(tmp_path: Path, tree: str, found: str) -> None:
    (tmp_path / "t.nwk").write_text(tree or " \n")
    with pytest.raises(InputError, match=found):
        read_tree(tmp_path / "t.nwk", ["a", "home"])


def test_names_in_a_tree_may_be_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.nwk").write_text("('Homo sapiens''s':1.5,[who](b:1e-1,c:2)0.98:3)root;\n")
    tree = read_tree(tmp_path / "t.nwk", ["Homo sapiens's", "c"])
    assert tree.below.ravel().tolist() == [1, 2, 2]
    assert tree.length.tolist() == [1.5, 2.0, 3.0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["tr-0", "tr-1|a"], "record 1: found the name 'tr-0'; expected transcript|species"),
        (["tr-0|"], "record 1: found the name 'tr-0|'"),
        (["x|a", "y|b"], r"no ortholog of any transcript (x|a y|b); expected names such as tr-"),
    ],
)
def test_orthologs_that_cannot_be_matched_are_refused(
    tmp_path: Path, names: list[str], message: str
) -> None:
    write_random(tmp_path)
    write_fasta(tmp_path / "o.fa", dict.fromkeys(names, "ACGUACGU"))
    with pytest.raises(InputError) as refused:
        Analysis(tmp_path, plain(orthologs="o.fa")).all()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"species_tree": "t.nwk"}, "species_tree"),
        ({"reference_species": "home"}, "reference_species"),
        ({"orthologs": "o.fa", "species_tree": "t.nwk"}, "reference_species"),
    ],
)
def test_keys_of_conservation_that_do_not_go_together_are_refused(
    tmp_path: Path, keys: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError, match=key):
        Analysis(tmp_path, plain(**keys))
