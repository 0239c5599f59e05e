"""``pairtile.mirna_targets`` and its companions: the workflow's answers, from whatever one has."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from message_codes import numbers_by_code
from mirna_sequences import of_workflow, random_sequences, write_fasta
from pairtile import (
    InputError,
    duplex_energy,
    export_network,
    mirna_edges,
    mirna_targets,
)

pytest.importorskip("RNA", reason="needs the package ViennaRNA")


@pytest.fixture(autouse=True)
def _on_the_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """``backend: auto`` is the CPU here."""
    if not request.node.get_closest_marker("gpu"):
        monkeypatch.setattr("pairtile.gpu.device._cuda_problem", lambda: "not in this test")


SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "loose": {"score": 90, "energy": -5.0},
    "strict": {"strict": True, "trim": 120},
    "other": {"scale": 2, "gap_open": -4, "gap_extend": -2, "score": 60.0},
    "no energies": {"energies": False, "score": 100},
}


@pytest.mark.parametrize(
    "name",
    [
        "defaults",
        *(pytest.param(n, marks=pytest.mark.complete) for n in SETTINGS if n != "defaults"),
    ],
)
@pytest.mark.complete
def test_hits_and_edges_are_those_of_the_workflow(tmp_path: Path, name: str) -> None:
    out = of_workflow(tmp_path, estimator=SETTINGS[name])
    expected = pd.read_csv(out / "hits.tsv", sep="\t", dtype={"score": np.float64})
    assert len(expected) > 0
    mirnas, transcripts = random_sequences()
    found = mirna_targets(mirnas, transcripts, **SETTINGS[name])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_exact=True)
    typed = pd.read_parquet(out / "hits.parquet")
    assert list(found.columns) == list(typed.columns)
    changed = found.astype({"energy_kcal_mol": np.float32})
    pd.testing.assert_frame_equal(changed, typed, check_exact=True)
    edges = pd.read_parquet(out / "network.parquet")
    pd.testing.assert_frame_equal(mirna_edges(found), edges, check_exact=True)


def test_restricted_search_and_extras_are_those_of_the_workflow(tmp_path: Path) -> None:
    pairs = [("mir-1", "tr-1"), ("mir-7", "tr-7"), ("mir-2", "nobody"), ("mir-0", "tr-8")]
    (tmp_path / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs))
    extras = {"duplex_energy": True, "accessibility": True}
    estimator = {"score": 80}
    out = of_workflow(tmp_path, restrict="pairs.tsv", extras=extras, estimator=estimator)
    expected = pd.read_csv(out / "hits.tsv", sep="\t", dtype={"score": np.float64})
    assert set(expected["mirna"]) == {"mir-0", "mir-1", "mir-7"}
    sequences = random_sequences()
    frame = pd.DataFrame(pairs, columns=["mirna", "transcript"])
    for restrict in (pairs, frame, tmp_path / "pairs.tsv"):
        with pytest.warns(UserWarning, match="mir-2 nobody"):
            found = mirna_targets(*sequences, restrict=restrict, extras=extras, score=80)
        numbers = numbers_by_code(found.attrs["warnings"])
        assert numbers["restrict_pairs_missing"]["n"] == 1
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
        assert found.attrs["counts"]["pairs"] == 3


def test_every_form_of_sequences_gives_the_same_hits(tmp_path: Path) -> None:
    mirnas, transcripts = random_sequences()
    expected = mirna_targets(mirnas, transcripts)
    counts = {
        "mirnas_kept": 8,
        "transcripts_kept": 10,
        "pairs": 80,
        "hits": len(expected),
        "pairs_with_hits": len(mirna_edges(expected)),
    }
    assert expected.attrs["counts"].items() >= counts.items()
    records = [SimpleNamespace(id=name, seq=letters) for name, letters in transcripts.items()]
    for given in (
        (pd.Series(mirnas), list(transcripts.items())),
        (str(write_fasta(tmp_path / "m.fa", mirnas)), records),
        (mirnas, write_fasta(tmp_path / "t.fa.gz", transcripts)),
        (mirnas, {name: f"{text[:9]}\n {text[9:]}" for name, text in transcripts.items()}),
    ):
        pd.testing.assert_frame_equal(mirna_targets(*given), expected)
    numbered = mirna_targets(list(mirnas.values()), list(transcripts.values()))
    changed = expected.replace({"mirna": {f"mir-{k}": f"mirna_{k}" for k in range(8)}})
    changed["transcript"] = changed["transcript"].str.replace("tr-", "transcript_")
    pd.testing.assert_frame_equal(numbered, changed)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SETTINGS)
def test_both_backends_give_the_same_hits(name: str) -> None:
    sequences = random_sequences(seed=9)
    on_cpu = mirna_targets(*sequences, **SETTINGS[name], backend="cpu")
    on_gpu = mirna_targets(*sequences, **SETTINGS[name], backend="cuda")
    pd.testing.assert_frame_equal(on_gpu, on_cpu, check_exact=True)


def test_nothing_found_is_a_table_with_its_columns() -> None:
    mirnas, transcripts = random_sequences()
    full = mirna_targets(mirnas, transcripts)
    empty = mirna_targets(mirnas, transcripts, score=1000)
    assert len(empty) == 0
    assert list(empty.columns) == list(full.columns)
    assert list(mirna_edges(empty).columns) == list(mirna_edges(full).columns)
    with pytest.warns(UserWarning, match="transcripts: no sequence"):
        assert len(mirna_targets(mirnas, {})) == 0


def test_names_that_are_there_twice_are_told_apart() -> None:
    mirnas, transcripts = random_sequences()
    twice = [*transcripts.items(), *transcripts.items()]
    found = mirna_targets(mirnas, twice)
    once = mirna_targets(mirnas, transcripts)
    pd.testing.assert_frame_equal(found, once)
    notes = {note.code: note.numbers for note in found.attrs["notes"]}
    assert notes["same_record_twice"]["n"] == 10
    twice = [*transcripts.items(), *((name, f"{text}A") for name, text in transcripts.items())]
    with pytest.warns(UserWarning, match="tr-0 as tr-0#2"):
        found = mirna_targets(mirnas, twice)
    assert found.attrs["warnings"][0].numbers["n"] == 10
    assert set(found["transcript"]) == {*once["transcript"], *(once["transcript"] + "#2")}


def test_bad_records_of_a_file_are_refused_or_left_out(tmp_path: Path) -> None:
    mirnas, transcripts = random_sequences()
    file = write_fasta(tmp_path / "t.fa", {"odd": "MKVLA", **transcripts, "nothing": ""})
    with pytest.raises(InputError, match=r"t\.fa: record 1 'odd', line 2: .*\n.*record 12"):
        mirna_targets(mirnas, file)
    with pytest.warns(UserWarning, match=r"2 unusable records of 12: .*t\.fa: record 1 'odd'"):
        found = mirna_targets(mirnas, file, on_bad_record="skip")
    pd.testing.assert_frame_equal(found, mirna_targets(mirnas, transcripts))


LET_7 = "UGAGGUAGUAGGUUGUAUAGUU"


@pytest.mark.parametrize(
    ("arguments", "error", "where"),
    [
        ((LET_7, {"a": "ACGU"}), ValueError, "mirnas: "),
        (("no such file.fa", {"a": "ACGU"}), InputError, "no such file.fa"),
        ((5, {"a": "ACGU"}), ValueError, "mirnas: "),
        (({"a": LET_7}, [3]), ValueError, "transcripts: "),
        (({"a": LET_7}, {"p": "MKV", "q": "GGZL"}), InputError, "'q': .*'Z'"),
        (({"a": LET_7}, {"p": "MKVLEF"}), InputError, r"'L' \(and 2 more\)"),
        (({"a": ""}, {"b": "ACGU"}), InputError, "mirnas: 'a'"),
    ],
)
def test_sequences_that_cannot_be_used(
    arguments: tuple[Any, Any], error: type[Exception], where: str
) -> None:
    with pytest.raises(error, match=where):
        mirna_targets(*arguments)


@pytest.mark.parametrize(
    "settings",
    [
        {"on_bad_record": "ignore"},
        {"backend": "gpu"},
        {"restrict": [("a", "b", "c")]},
        {"restrict": []},
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        mirna_targets({"a": LET_7}, {"b": "ACGU"}, **settings)


# --- edges --------------------------------------------------------------------------------------


def test_edges_sum_up_the_hits_of_a_pair_and_go_into_every_format(tmp_path: Path) -> None:
    hits = mirna_targets(*random_sequences(), score=60)
    edges = mirna_edges(hits)
    assert edges.attrs["directed"]
    assert (edges["n_hits"] > 1).any()
    for edge in edges.itertuples():
        its = hits[(hits["mirna"] == edge.source) & (hits["transcript"] == edge.target)]
        assert edge.score == its["score"].max()
        assert edge.total_score == its["score"].sum()
        assert edge.energy_kcal_mol == its["energy_kcal_mol"].min()
        assert edge.total_energy_kcal_mol == pytest.approx(its["energy_kcal_mol"].sum())
        assert edge.n_hits == len(its)
    assert edges["score"].is_monotonic_decreasing
    items = pd.DataFrame({"name": pd.unique(pd.concat([edges["source"], edges["target"]]))})
    path = tmp_path / "network.graphml"
    export_network(edges, items, "graphml", path, directed=True, name="x", metadata={})
    assert path.stat().st_size > 0


def test_edges_need_the_columns_of_hits() -> None:
    with pytest.raises(ValueError, match="hits: found no column transcript, energy_kcal_mol"):
        mirna_edges(pd.DataFrame({"mirna": ["a"], "score": [150.0]}))


# --- energies -----------------------------------------------------------------------------------


def test_energies_of_hits_come_again_from_their_aligned_lines() -> None:
    hits = mirna_targets(*random_sequences(), score=60)
    assert len(hits) > 30
    # At least one site lies beyond an end of its transcript, and one has a gap.
    assert hits["reference_alignment"].str.contains("^-|-$").any()
    assert hits["query_alignment"].str.contains("-").any()
    mirnas, sites = [], []
    for query, reference in hits[["query_alignment", "reference_alignment"]].itertuples(
        index=False
    ):
        mirnas.append(query.replace("-", "")[::-1])
        letters = [b for a, b in zip(query, reference, strict=True) if b != "-" or a.islower()]
        sites.append("".join(letters))
    found = duplex_energy(mirnas, sites)
    np.testing.assert_array_equal(found, hits["energy_kcal_mol"])


def test_one_pair_gives_a_number_and_many_an_array() -> None:
    site = "AACUAUACAACCUACUACCUCA"
    alone = duplex_energy(LET_7, site)
    assert isinstance(alone, float)
    assert duplex_energy([LET_7, LET_7], [site, "AAAAAAAAAA"]).tolist() == [alone, 0.0]
    assert duplex_energy([], []).tolist() == []


def test_viennarna_model_is_that_of_rnaduplex() -> None:
    import RNA

    site = "AACUAUACAACCTACUACCUCA"
    found = duplex_energy([LET_7, LET_7], [site, "AAAA"], model="viennarna")
    expected = RNA.duplexfold(LET_7, site.replace("T", "U")).energy
    assert found.tolist() == [pytest.approx(expected, abs=0.005), 0.0]


@pytest.mark.parametrize(
    ("mirnas", "sites", "model", "where"),
    [
        (LET_7, [LET_7], "miranda", "mirnas, sites"),
        ([LET_7], [], "miranda", "mirnas, sites: found 1 and 0"),
        ([LET_7], ["MKVL"], "miranda", "sites: found 'L'"),
        ([3], ["ACGU"], "miranda", "mirnas: found 3"),
        (LET_7, LET_7, "turner", "model"),
    ],
)
def test_duplexes_that_are_refused(mirnas: Any, sites: Any, model: str, where: str) -> None:
    with pytest.raises(ValueError, match=where):
        duplex_energy(mirnas, sites, model=model)


@pytest.mark.gpu
def test_energies_are_the_same_on_both_backends() -> None:
    draw = random.Random(1)
    mirnas = ["".join(draw.choices("ACGU", k=22)) for _ in range(500)]
    sites = ["".join(draw.choices("ACGTN", k=24)) for _ in range(500)]
    on_gpu = duplex_energy(mirnas, sites, backend="cuda")
    np.testing.assert_array_equal(on_gpu, duplex_energy(mirnas, sites, backend="cpu"))
