"""Gene sets: files that hold them, names as the genes are spelled, and the tests of enrichment."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from pairtile.downstream.eigengenes import correlations
from pairtile.downstream.enrichment_tests import excess_by_profile, overlap_tests, rank_tests
from pairtile.downstream.gene_sets import find_gene_sets, membership, read_gene_sets
from pairtile.errors import InputError
from pairtile.io.names import GeneNames
from scipy.stats import fisher_exact, mannwhitneyu

GENES = [f"G{k}" for k in range(40)]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_gmt_and_tables_of_two_columns_hold_the_same(tmp_path: Path) -> None:
    sets = {"first": ["G1", "G2", "G3"], "second set": ["G3", "other"]}
    lines = "\n".join(f"{name}\tsource\t" + "\t".join(genes) for name, genes in sets.items())
    (tmp_path / "a.gmt").write_text(f"# comment\n{lines}\n\n")
    (tmp_path / "b.gmt.gz").write_bytes(gzip.compress(lines.replace("G2", "G2,1.0").encode()))
    rows = [(gene, name) for name, genes in sets.items() for gene in genes]
    (tmp_path / "c.tsv").write_text("gene\tset\n" + "\n".join(map("\t".join, rows)))
    (tmp_path / "d.tsv").write_text("\n".join(f"{name}\t{gene}" for gene, name in rows))
    (tmp_path / "e.csv").write_text("term,gene\n" + "\n".join(f"{b},{a}" for a, b in rows))
    for path in sorted(tmp_path.iterdir()):
        assert read_gene_sets(path, GENES) == (sets, []), path


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.gmt", "one\tdescription", "line 1"),
        ("a.gmt", "one\t\tG1\none\t\tG2", "line 2"),
        ("a.gmt", "# nothing", "no gene sets"),
        ("a.tsv", "G1\tone\tmore", "line 1"),
        ("a.tsv", "G1\tone\nG2\t", "line 2"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_gene_sets(tmp_path / name)
    assert name in str(caught.value)
    assert place in str(caught.value)


def test_names_are_found_as_the_genes_are_spelled_and_sets_are_counted() -> None:
    sets = {
        "exact": GENES[:5],
        "small": ["g1", "g2", "g3", "g4", "g5"],
        "versions": [f"{gene}.2" for gene in GENES[:6]],
        "few": GENES[:4],
        "none": ["x", "y"],
    }
    plain = find_gene_sets(sets, GeneNames(GENES))
    assert plain.names == ["exact", "small"]
    assert [(note.code, note.numbers["n"]) for note in plain.messages] == [("names_matched", 5)]
    assert plain.counts["gene_sets_without_genes"] == 2
    assert plain.counts["gene_sets_with_few_genes"] == 1
    both = find_gene_sets(sets, GeneNames(GENES, ignore_case=True, ignore_versions=True))
    assert both.names == ["exact", "small", "versions"]
    assert both.members.toarray()[2].nonzero()[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert both.counts["gene_set_names_unknown"] == 2
    with pytest.raises(InputError, match="none has more than 4"):
        find_gene_sets({"few": GENES[:4]}, GeneNames(GENES))
    symbols = [f"S{k // 2}" for k in range(40)]
    by_symbol = find_gene_sets({"s": ["S0", "S1", "S2"]}, GeneNames(GENES, symbols))
    assert by_symbol.members.toarray()[0].nonzero()[0].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("one\tG1\tG2\tG3\ntwo\tG4\tG5\tG1\n", True),
        ("one\tG1\tG2\tG3\ntwo\tna\tG5\tG1\n", False),
        ("regulon_G1\tG1\tG2\tG3\nregulon_G4\tG4\tG5\tG1\n", False),
    ],
)
def test_sets_without_description_keep_their_first_gene(
    tmp_path: Path, text: str, missing: bool
) -> None:
    (tmp_path / "a.gmt").write_text(text)
    sets, said = read_gene_sets(tmp_path / "a.gmt", GENES)
    assert [len(genes) for genes in sets.values()] == ([3, 3] if missing else [2, 2])
    assert [note.code for note in said] == ["sets_without_description"] * missing


def test_overlaps_are_tested_as_fisher_does(rng: np.random.Generator) -> None:
    sets = membership([rng.choice(40, size, replace=False) for size in (5, 12, 30)], 40)
    listed, possible = rng.random(40) < 0.4, rng.random(40) < 0.8
    for background in (np.ones(40, dtype=bool), possible):
        found = overlap_tests(listed, sets, background)
        for k in range(3):
            member = sets.toarray()[k] > 0
            table = [
                [((listed == a) & (member == b) & background).sum() for b in (True, False)]
                for a in (True, False)
            ]
            assert found.p_value[k] == pytest.approx(fisher_exact(table, "greater").pvalue)
            assert found.overlap[k] == table[0][0]
            expected = sum(table[0]) * (table[0][0] + table[1][0]) / background.sum()
            assert found.expected[k] == pytest.approx(expected)


def test_ranks_are_tested_as_by_mann_and_whitney(rng: np.random.Generator) -> None:
    scores = np.round(rng.standard_normal(200), 1)  # with ties
    members = [rng.choice(200, size, replace=False) for size in (5, 20, 150)]
    found = rank_tests(scores, membership(members, 200), np.zeros(3), 10.0)
    for k, rows in enumerate(members):
        other = np.delete(scores, rows)
        peer = mannwhitneyu(scores[rows], other, use_continuity=False, method="asymptotic")
        assert found.p_value[k] == pytest.approx(peer.pvalue)
        assert found.effect[k] == pytest.approx(peer.statistic / rows.size / other.size)


def test_variance_of_ranks_is_that_of_new_samples(rng: np.random.Generator) -> None:
    """Correlated genes that have nothing to do with a profile: what is added is what their mean
    rank varies by from one set of samples to another; of random sets it is nothing."""
    n_genes, n, drawn = 400, 40, 300
    block = np.repeat(np.arange(8), 50)
    together, apart = np.arange(50), np.arange(0, 400, 8)
    sets = membership([together, apart], n_genes)
    observed, stated = [], []
    for _ in range(drawn):
        factors = rng.standard_normal((8, n))
        values = 0.7 * factors[block] + np.sqrt(1 - 0.49) * rng.standard_normal((n_genes, n))
        profile = rng.standard_normal(n)
        scores = correlations(values, profile[None])[:, 0]
        excess, degrees = excess_by_profile(scores, values, profile, sets, n)
        assert degrees == n - 2
        found = rank_tests(scores, sets, excess, degrees)
        plain = rank_tests(scores, sets, np.zeros(2), degrees)
        observed.append((found.effect - 0.5) * n_genes)
        stated.append(((plain.effect - 0.5) * n_genes / np.where(plain.z, plain.z, 1)) ** 2)
        stated[-1] = stated[-1] * found.inflation
    ratio = np.mean(stated, axis=0) / np.var(observed, axis=0)
    assert 0.8 < ratio[0] < 1.4
    assert np.median([s[0] / s[1] for s in stated]) > 5
    # Spread over the blocks, each of which moves as a whole, the set moves as the others do.
    assert ratio[1] > 0.9
