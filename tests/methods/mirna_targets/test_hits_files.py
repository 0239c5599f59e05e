"""Files of hits: pairs summed up, written whole or not at all, extra columns, strange names."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hand_made_hits as hand
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hand_made_hits import BODY, LET7, SEED
from pairtile.declare.tables import EXACT
from pairtile.engine.estimator import PreparedInput
from pairtile.errors import ConfigError, InputError
from pairtile.methods.mirna_targets import export, viennarna_columns
from pairtile.methods.mirna_targets.energy import WINDOW, site_accessibilities
from pairtile.methods.mirna_targets.export import FILES
from pairtile.methods.mirna_targets.tables import (
    targets_table,
    write_arrow_tsv,
)
from pairtile.methods.mirna_targets.viennarna_columns import (
    CACHE,
    Accessibilities,
    duplex_energies,
)


def several(folder: Path) -> tuple[PreparedInput, list[dict[str, Any]]]:
    site = BODY + SEED + "A"
    sequences = hand.prepared(
        folder,
        {"m1": LET7, "m2": LET7},
        {"long": "GG" + site + "G" * 30 + site, "short": site, "other": "C" + site},
    )
    hits = [
        hand.ungapped_hit(sequences, "m2", "short", 1, score=200.0),
        hand.ungapped_hit(sequences, "m1", "long", 55, rank=0, energy_kcal_mol=-30.25),
        hand.ungapped_hit(sequences, "m2", "long", 3, rank=0, score=145.5),
        hand.ungapped_hit(sequences, "m1", "long", 3, rank=1, energy_kcal_mol=-12.1),
    ]
    return sequences, hits


def test_targets_sum_up_each_pair(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    found = targets_table(hand.table(sequences, hits))
    first, second, third = found.to_pylist()
    assert (first["mirna"], first["transcript"], first["n_hits"]) == ("m1", "long", 2)
    assert (first["total_score"], first["max_score"]) == (300, 150)
    assert first["total_energy_kcal_mol"] == pytest.approx(-42.35)
    assert first["min_energy_kcal_mol"] == -30.25
    assert (first["best_seed_class"], first["n_canonical_sites"]) == ("8mer", 2)
    assert first["positions"] == "55 3"
    assert (second["transcript"], second["n_hits"], second["max_score"]) == ("long", 1, 145.5)
    assert (third["transcript"], third["positions"], third["total_score"]) == ("short", "1", 200)


def test_the_best_seed_class_of_a_pair_counts(tmp_path: Path) -> None:
    weak, strong = BODY + "GUACCUCG", BODY + SEED + "A"
    sequences = hand.prepared(tmp_path, {"m": LET7}, {"t": weak + strong + weak})
    hits = [hand.ungapped_hit(sequences, "m", "t", 1 + 22 * k, rank=k) for k in range(3)]
    (target,) = targets_table(hand.table(sequences, hits)).to_pylist()
    assert (target["best_seed_class"], target["n_canonical_sites"], target["n_hits"]) == (
        "8mer",
        1,
        3,
    )


def test_without_energies_they_are_missing_and_not_zero(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    found = hand.table(sequences, hits, energies=False)
    assert found["energy_kcal_mol"].null_count == 4
    assert str(found["energy_kcal_mol"].type) == "float"
    targets = targets_table(found)
    assert targets["total_energy_kcal_mol"].null_count == targets.num_rows == 3
    assert targets["min_energy_kcal_mol"].null_count == 3
    write_arrow_tsv(found, tmp_path / "hits.tsv")
    assert pd.read_csv(tmp_path / "hits.tsv", sep="\t")["energy_kcal_mol"].isna().all()


def test_no_hits_make_empty_files_with_all_columns(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    full = hand.table(sequences, hits)
    none = hand.table(sequences, [])
    assert none.num_rows == 0
    assert none.schema.equals(full.schema)
    assert targets_table(none).schema.equals(targets_table(full).schema)
    done = hand.write(sequences, lambda: [], tmp_path)
    assert done.counts == {"hits": 0, "pairs_with_hits": 0}
    assert (tmp_path / "hits.tsv").read_text() == "\t".join(full.column_names) + "\n"
    assert pq.read_table(tmp_path / "hits.parquet").column_names == full.column_names
    assert (tmp_path / "targets.tsv").read_text().count("\n") == 1
    assert (tmp_path / "hits.bed").read_text() == ""
    assert (tmp_path / "hits.gff3").read_text() == "##gff-version 3\n"


def test_tsv_and_parquet_hold_the_same(shared: Path, tmp_path: Path) -> None:
    sequences, rows = hand.golden(shared, "ts_quiet")
    hand.write(sequences, lambda: [rows], tmp_path)
    parquet = pd.read_parquet(tmp_path / "hits.parquet")
    assert parquet["mirna"].map(type).eq(str).all()
    assert parquet["seed_class"].map(type).eq(str).all()
    kinds = parquet.dtypes[["score", "energy_kcal_mol", "site_end"]].astype(str).tolist()
    assert kinds == ["float64", "float32", "int32"]
    tsv = pd.read_csv(tmp_path / "hits.tsv", sep="\t", keep_default_na=False, float_precision=EXACT)
    for name in ("seed_begin", "seed_end"):
        tsv[name] = pd.to_numeric(tsv[name])
    tsv = tsv.astype({"energy_kcal_mol": "float32"})
    pd.testing.assert_frame_equal(tsv, parquet, check_dtype=False)
    assert tsv["match_line"].str.len().eq(tsv["query_alignment"].str.len()).all()


@pytest.mark.parametrize("size", [1, 7, 30])
def test_files_do_not_depend_on_how_hits_come_in(
    shared: Path, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequences, rows = hand.golden(shared, "mplant_quiet")
    rows = rows.slice(0, 30)  # batches of one hit are gone through for each hit
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    batches = [rows.slice(at, size) for at in range(0, len(rows), size)]
    first = hand.write(sequences, lambda: [rows], whole)
    text = (whole / "hits.gff3").read_text()
    regions = [line.split()[1] for line in text.splitlines() if line.startswith("##seq")]
    assert regions == sorted(set(pd.read_csv(whole / "hits.tsv", sep="\t")["transcript"]))
    assert len(regions) > 5
    # So few are sorted at a time that each transcript is made again by itself.
    monkeypatch.setattr(export, "PLACED_AT_ONCE", size)
    assert hand.write(sequences, lambda: batches, parts) == first
    assert first.counts["hits"] == len(rows) == 30
    for name in FILES:
        if name == "hits.parquet":
            found = [pq.read_table(folder / name) for folder in (whole, parts)]
            assert found[0].equals(found[1])
        else:
            assert (whole / name).read_bytes() == (parts / name).read_bytes()


def test_an_annotation_that_cannot_be_read_leaves_no_file(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    (tmp_path / "a.gtf").write_text("chr1\tx\n")
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"a\.gtf: line 1: found 2 fields"):
        hand.write(
            sequences,
            lambda: [hand.rows(hits)],
            out,
            annotation=str(tmp_path / "a.gtf"),
        )
    assert not out.exists()


def test_a_failure_half_way_leaves_no_file(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)

    stops = iter([False, True])  # the first pass is that of hand.write

    def batches() -> Iterator[pa.Table]:
        yield hand.rows(hits)
        if next(stops):
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        hand.write(sequences, batches, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_transcripts_that_stay_where_they_are_are_told(tmp_path: Path) -> None:
    sequences, hits = several(tmp_path)
    lengths = dict(zip(sequences.items["name"], sequences.items["length"], strict=True))
    line = "chr1\t0\t{0}\t{1}\t0\t+\t0\t0\t0\t1\t{0}\t0\n"
    bed = line.format(lengths["long"], "long") + line.format(5, "short")
    (tmp_path / "a.bed").write_text(bed)
    done = hand.write(
        sequences,
        lambda: [hand.rows(hits)],
        tmp_path,
        annotation=str(tmp_path / "a.bed"),
    )
    assert done.counts["transcripts_in_genome"] == 1
    assert done.counts["hits_in_genome"] == 3
    (warning,) = done.warnings
    numbers = {"n": warning.numbers["n"], "n_other_length": warning.numbers["n_other_length"]}
    assert (warning.code, numbers) == ("not_in_genome", {"n": 2, "n_other_length": 1})
    assert done.counts["utrs_in_genome"] == 0


def test_extras_are_columns_before_the_alignment(tmp_path: Path) -> None:
    rna = pytest.importorskip("RNA")
    sequences, hits = several(tmp_path)
    asked = {"duplex_energy": True, "accessibility": True}
    hand.write(sequences, lambda: [hand.rows(hits)], tmp_path, extras=asked)
    found = pd.read_parquet(tmp_path / "hits.parquet")
    assert found.columns[-5:-3].tolist() == ["duplex_energy_kcal_mol", "accessibility"]
    for row in found.to_dict("records"):
        number = sequences.items["name"].tolist().index(row["transcript"])
        text = hand.text_of(sequences, "transcript", number - 2)
        span = text[row["reference_begin"] - 1 : row["reference_end"]]
        expected = rna.duplexfold(LET7, span).energy
        assert row["duplex_energy_kcal_mol"] == pytest.approx(expected, abs=0.006)
        assert 0 <= row["accessibility"] <= 1
    tsv = pd.read_csv(tmp_path / "hits.tsv", sep="\t")
    assert tsv["accessibility"].tolist() == found["accessibility"].tolist()
    hand.write(sequences, lambda: [hand.rows(hits)], tmp_path, extras={"accessibility": True})
    assert "duplex_energy_kcal_mol" not in pd.read_parquet(tmp_path / "hits.parquet")


def test_accessibilities_of_a_table_are_those_of_its_sites(tmp_path: Path) -> None:
    pytest.importorskip("RNA")
    rng = np.random.default_rng(3)
    texts = {name: "".join(rng.choice(list("ACGU"), 400)) for name in ("many", "few")}
    texts["short"] = texts["few"][:50]
    sequences = hand.prepared(tmp_path, {"m": LET7}, texts)
    places = [("many", begin) for begin in range(1, 378, 7)] + [("few", 9), ("short", 9)]
    hits = [hand.ungapped_hit(sequences, "m", *place, rank=n) for n, place in enumerate(places)]
    table = hand.table(sequences, hits)
    found = Accessibilities([table], sequences.state, tmp_path).column(table)
    rows = table.select(["transcript", "site_begin", "site_end"]).to_pylist()
    for row, probability in zip(rows, found.to_pylist(), strict=True):
        place = (np.array([row[name]]) for name in ("site_begin", "site_end"))
        expected = site_accessibilities(texts[row["transcript"]], *place)
        assert probability == pytest.approx(expected[0], rel=1e-5)
    assert len({*found.to_pylist()}) > 20


def test_a_site_longer_than_the_window_has_an_accessibility(tmp_path: Path) -> None:
    pytest.importorskip("RNA")
    long = "ACGU" * 25
    assert len(long) - 2 > WINDOW
    sequences = hand.prepared(tmp_path, {"m": long}, {"t": "A" * 200})
    hit = hand.ungapped_hit(sequences, "m", "t", 20)
    table = hand.table(sequences, [hit])
    found = Accessibilities([table], sequences.state, tmp_path).column(table)
    assert found.to_pylist() == [1.0]


def test_a_site_is_folded_once_and_found_again_by_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("RNA")
    rng = np.random.default_rng(4)
    one, other = ("".join(rng.choice(list("ACGU"), 120)) for _ in range(2))
    folded: list[str] = []
    real = viennarna_columns.site_accessibilities

    def counted(transcript: str, *sites: Any) -> Any:
        folded.append(transcript)
        return real(transcript, *sites)

    monkeypatch.setattr(viennarna_columns, "site_accessibilities", counted)

    def column(texts: dict[str, str], begins: list[int]) -> list[float]:
        sequences = hand.prepared(tmp_path, {"m": LET7, "n": LET7}, texts)
        places = [(m, t, b) for m in "mn" for t in texts for b in begins]
        hits = [hand.ungapped_hit(sequences, *place, rank=k) for k, place in enumerate(places)]
        table = hand.table(sequences, hits)
        parts = [table[: len(hits) // 2], table[len(hits) // 2 :]]
        found = Accessibilities(parts, sequences.state, tmp_path)
        return [value for part in parts for value in found.column(part).to_pylist()]

    texts = {"a": one, "isoform": one.lower().replace("u", "t"), "b": other}
    first = column(texts, [3, 40])
    assert sorted(folded) == sorted([one, other])
    assert first[:2] == first[2:4] == first[6:8]
    assert first[4:6] != first[:2]
    # Of another run only what is new: a site, and a transcript of other letters by the same name.
    folded.clear()
    assert column({"x": one, "y": other}, [40, 3])[:2] == first[1::-1]
    assert folded == []
    again = column({"a": other[::-1], "z": one}, [3, 60])
    assert folded == [other[::-1], one]
    assert again[2] == first[0]
    (tmp_path / CACHE).write_text("no table")
    assert column(texts, [3, 40]) == first


def test_forks_give_what_one_process_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("RNA")
    sequences, hits = several(tmp_path)
    table = hand.table(sequences, hits)

    def both() -> list[Any]:
        (tmp_path / CACHE).unlink(missing_ok=True)
        found = Accessibilities([table], sequences.state, tmp_path).column(table)
        return [found.to_pylist(), duplex_energies(table, sequences.state).to_pylist()]

    alone = both()
    monkeypatch.setattr(viennarna_columns, "FOR_ONE_PROCESS", 1)
    monkeypatch.setattr(viennarna_columns, "get_num_threads", lambda: 2)
    assert both() == alone


def test_without_viennarna_the_key_that_needs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sequences, hits = several(tmp_path)
    monkeypatch.setitem(sys.modules, "RNA", None)
    for name in ("duplex_energy", "accessibility"):
        with pytest.raises(ConfigError, match=rf"extras\.{name}: found no Python module RNA"):
            hand.write(sequences, lambda: [hand.rows(hits)], tmp_path, extras={name: True})


STRANGE = {
    "mirnas": '>=HYPERLINK(1) x\ty\n{0}\n>+1\n{0}\n>-m\n{0}\n>@a\n{0}\n>a"b\n{0}\n>"q"\n{0}\n',
    "transcripts": ">NA a\tb\n{1}\n>007\n{1}\n>#x\n{1}\n>t;,=%\n{1}\n>true\n{1}\n>\u00b5\n{1}\n",
}


def test_strange_names_are_read_back_as_they_are(tmp_path: Path) -> None:
    section: dict[str, Any] = {"method": "mirna_targets"}
    for key, text in STRANGE.items():
        (tmp_path / key).write_text(text.format(LET7, BODY + SEED + "A"))
        section[key] = str(tmp_path / key)
    sequences = hand.prepare(section)
    names = sequences.items["name"].tolist()
    hits = [
        hand.ungapped_hit(sequences, mirna, transcript, 1)
        for mirna, transcript in zip(names[:6], names[6:], strict=True)
    ]
    found = hand.table(sequences, hits)
    for table_, width in ((found, 23), (targets_table(found), 12)):
        path = tmp_path / "table.tsv"
        write_arrow_tsv(table_, path)
        with path.open(newline="", encoding="utf-8") as handle:
            lines = list(csv.reader(handle, delimiter="\t"))
        assert {len(line) for line in lines} == {width}
        assert [line[:2] for line in lines[1:]] == [
            list(p) for p in zip(names[:6], names[6:], strict=True)
        ]
        read = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
        assert read["mirna"].tolist() == names[:6]
        assert read["transcript"].tolist() == names[6:]


def test_large_tables_are_written_in_parts(tmp_path: Path) -> None:
    n = 150_000
    values = np.arange(n)
    names = pa.DictionaryArray.from_arrays(values % 3, pa.array(["a", "b", 'c"d']))
    write_arrow_tsv(pa.table({"name": names, "x": values / 4}), tmp_path / "x.tsv")
    found = pd.read_csv(tmp_path / "x.tsv", sep="\t")
    assert found["x"].tolist() == (values / 4).tolist()
    assert found["name"].value_counts().to_dict() == {"a": n // 3, "b": n // 3, 'c"d': n // 3}
