"""The page names the pairs of the lowest p, by symbols, and cuts no name in the middle."""

from __future__ import annotations

import random

import pandas as pd
import pytest
from pairtile.methods.mirna_targets.report import N_PAIRS, lowest_p
from pairtile.report.results import Results, read_results
from pairtile.report.text import page_text
from workflow_runs import Analysis

LET_7 = "UGAGGUAGUAGGUUGUAUAGUU"
SITE = "AACUAUACAACCUACUACCUCA"
RANDOM = random.Random(2)
N_TRANSCRIPTS = 24


def utr(sites: int) -> str:
    letters = "".join(RANDOM.choices("ACGT", k=300))
    return "".join(letters[k * 60 : (k + 1) * 60] + SITE * (k < sites) for k in range(5))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """An analysis of BioMart's 3' UTRs: two isoforms with four sites each, one with none at all."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "m.fa").write_text(f">hsa-let-7a-5p MIMAT\n{LET_7}\n")
    records = [
        f">ENSG{k // 2:011}|ENST{k:011}.2|GENE{k // 2}\n{utr(4 if k < 2 else 0)}\n"
        for k in range(N_TRANSCRIPTS)
    ]
    text = "".join([*records, ">ENSG00000099999|ENST00000099999.1|NONE\nSequence unavailable\n"])
    (folder / "t.fa").write_text(text)
    changes = {
        "method": "mirna_targets",
        "mirnas": str(folder / "m.fa"),
        "transcripts": str(folder / "t.fa"),
        "estimator": {"energies": False, "score": 100},
        "null": {"shuffles": 200},
        "export": ["tsv"],
    }
    analysis = Analysis(folder, changes).all().report()
    return read_results(analysis.out)


def test_significant_pairs_are_named(found: Results) -> None:
    network = found.network
    significant = network[network["joint_q_value"] <= 0.05]
    names = {f"GENE0 (ENST{k:011}.2)" for k in (0, 1)}
    assert set(significant["target"]) == names
    text = " ".join(page_text(found).lines("findings"))
    for name in names:
        assert f"hsa-let-7a-5p on {name} (p " in text
    assert "by score" not in text
    page = (found.folder / "report.html").read_text()
    assert all(f"hsa-let-7a-5p on {name} (p " in page for name in names)


def test_files_have_transcript_gene_and_symbol(found: Results) -> None:
    targets = pd.read_csv(found.folder / "targets.tsv", sep="\t")
    assert list(targets.columns[:4]) == ["mirna", "transcript", "gene", "symbol"]
    best = targets.iloc[:2]
    assert set(best["transcript"]) == {"ENST00000000000.2", "ENST00000000001.2"}
    assert set(best["symbol"]) == {"GENE0"}
    assert set(best["gene"]) == {"ENSG00000000000"}
    network = pd.read_csv(found.folder / "network.tsv", sep="\t")
    assert set(network["target"]) <= set(targets["transcript"])
    assert set(network["target_symbol"].head(2)) == {"GENE0"}
    hits = pd.read_csv(found.folder / "hits.tsv", sep="\t")
    assert set(hits["transcript"]) == set(targets["transcript"])
    text = (found.folder / "miranda.txt").read_text()
    assert "\tENSG00000000000|ENST00000000000.2|GENE0\t" in text


def test_the_lowest_p_come_first_and_few_are_named() -> None:
    network = pd.DataFrame(
        {
            "source": "m",
            "target": [f"t{k}" for k in range(9)],
            "joint_p_value": [10.0 ** (k - 9) for k in range(9)],
            "joint_q_value": 0.01,
            "n_hits": 1,
            "score": range(9),
        }
    )
    named = lowest_p(network, 9)
    assert [pair[1] for pair in named] == [f"t{k}" for k in range(N_PAIRS)]
    assert [pair[1] for pair in lowest_p(network, 1)] == ["t0"]
