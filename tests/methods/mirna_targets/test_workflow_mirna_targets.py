"""``method: mirna_targets`` through its steps: miRanda's own text, chunking, bad records."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from backends import both_backends
from mirna_sequences import plain, write_random
from pairtile.command.check import check
from pairtile.errors import InputError
from pairtile.methods.mirna_targets import export
from pairtile.methods.mirna_targets import score as mirna_targets
from pairtile.runtime.files import read_json
from workflow_runs import Analysis, run, write_config

from benchmarks.peers import built
from benchmarks.peers.inputs import checksums

pytest.importorskip("RNA", reason="needs the package ViennaRNA")

OPTIONS = {
    "-sc": ("score", float),
    "-en": ("energy", float),
    "-go": ("gap_open", float),
    "-ge": ("gap_extend", float),
    "-scale": ("scale", float),
    "-trim": ("trim", int),
}
SWITCHES = {"-strict": ("strict", True), "-noenergy": ("energies", False)}

COMMANDS = (
    *(f"bantam_{form}" for form in ("default", "quiet", "keyval", "trim3000", "en-20")),
    *(f"planted_{form}" for form in ("quiet", "keyval_noen", "strict", "sc120_en-15")),
    "planted_go-4_ge-2",
    "planted_scale1_sc60",
    *(f"mplant_{form}" for form in ("quiet", "keyval_noen", "strict", "sc120_en-15", "verbose")),
    "mplant_restrict",
    "mplant_trim50",
    *(f"rnd_{form}" for form in ("quiet", "keyval_noen", "strict")),
    *(f"ts_{form}" for form in ("quiet", "keyval_noen", "strict")),
    "long_quiet",
    "crlf",
    "nonewline_end",
    "emptyfile",
)
"""The golden runs in which miRanda reads its whole input."""

RECORDED = json.loads((built.GOLDEN / "miranda.json").read_text())
"""What miRanda gave on sequences that are made here; each run's hits lie beside it."""

QUICK = ("default", "keyval", "strict", "energy", "any_letter_low", "long", "line_ends")
"""Recorded runs of every change: both forms of text, most hits, all letters."""

# Those in which it gives up: test_inputs_fasta has the files.
BAD = {"bad_query", "bad_empty", "bad_char", "bad_nohdr", "bad_noname", "bad_trunc"}


def section(command: str, inputs: Path) -> dict[str, Any]:
    """The configuration that says what a miRanda command line says."""
    program, mirnas, transcripts, *arguments = command.split()
    assert program == "miranda"
    result: dict[str, Any] = {
        "method": "mirna_targets",
        "mirnas": str(inputs / mirnas),
        "transcripts": str(inputs / transcripts),
        "export": ["tsv"],
    }
    estimator: dict[str, Any] = {}
    text = {"quiet": False, "keyval": False}
    while arguments:
        option = arguments.pop(0)
        if option in OPTIONS:
            name, kind = OPTIONS[option]
            value = kind(arguments.pop(0))
            estimator[name] = int(value) if value == int(value) else value
        elif option in SWITCHES:
            name, value = SWITCHES[option]
            estimator[name] = value
        elif option == "-restrict":
            result["restrict"] = str(inputs / arguments.pop(0))
        else:
            text[option.removeprefix("-")] = True
    return result | {"estimator": estimator, "miranda_text": text}


def golden(shared: Path) -> dict[str, str]:
    with (shared / "golden/mirna/commands.tsv").open() as lines:
        return dict(csv.reader(lines, delimiter="\t"))


def expected_text(shared: Path, name: str) -> bytes:
    """What miRanda printed after the fourth rule line."""
    with gzip.open(shared / f"golden/mirna/expected/{name}.txt.gz") as file:
        lines = file.read().splitlines(keepends=True)
    rules = [number for number, line in enumerate(lines) if b"=-=-" in line]
    return b"".join(lines[rules[3] + 1 :])


@both_backends
@pytest.mark.parametrize("name", COMMANDS)
def test_miranda_text_is_that_of_miranda(
    shared: Path, tmp_path: Path, name: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Analysis, "backend", backend)
    monkeypatch.setattr(export, "TEXT_ROWS", 7)  # most pairs go on in the next part
    changes = section(golden(shared)[name], shared / "golden/mirna/inputs")
    analysis = Analysis(tmp_path, changes).pairs().network().results()
    assert (analysis.out / "miranda.txt").read_bytes() == expected_text(shared, name)


@pytest.fixture(scope="module")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sequences")
    built.write_sequences(folder)
    return folder


def test_the_sequences_are_those_that_miranda_had(sequences: Path) -> None:
    assert RECORDED["inputs"] == checksums(sequences)


@both_backends
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.complete)
        for name in built.MIRANDA_RUNS
    ],
)
def test_recorded_hits_and_text_are_those_of_miranda(
    sequences: Path, tmp_path: Path, name: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Analysis, "backend", backend)
    recorded = RECORDED["runs"][name]
    changes = section(f"miranda {recorded['arguments']}", sequences)
    analysis = Analysis(tmp_path, changes).pairs().network().results()
    text = (analysis.out / "miranda.txt").read_text()
    with gzip.open(built.GOLDEN / "miranda_hits.tsv.gz", "rt") as lines:
        expected = [line.strip() for line in lines if line.startswith(f"{name}\t")]
    assert [f"{name}\t{row}" for row in built.hits_of(text)] == expected
    assert hashlib.sha256(text.encode()).hexdigest() == recorded["sha256"]


def test_every_golden_command_is_tested(shared: Path) -> None:
    assert set(golden(shared)) == {*COMMANDS, *BAD}


def test_results_are_the_same_bytes_for_any_number_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirna_targets, "MIRNAS_OF_A_TILE", 2)
    monkeypatch.setattr(mirna_targets, "TRANSCRIPTS_OF_A_TILE", 4)
    write_random(tmp_path)
    files = ("pairs.parquet", "miranda.txt", "hits.tsv", "targets.tsv", "hits.bed", "hits.gff3")
    found = {}
    for chunks in (1, 4):
        analysis = Analysis(tmp_path, plain(chunks=chunks), name=f"n{chunks}").all()
        assert (len(analysis.plan.tiles), len(analysis.plan.chunks)) == (9, chunks)
        found[chunks] = [(analysis.out / name).read_bytes() for name in files]
    monkeypatch.setattr(mirna_targets, "MIRNAS_OF_A_TILE", 512)
    monkeypatch.setattr(mirna_targets, "TRANSCRIPTS_OF_A_TILE", 256)
    whole = Analysis(tmp_path, plain(), name="whole").all()
    assert len(whole.plan.tiles) == 1
    assert [(whole.out / name).read_bytes() for name in files] == found[1] == found[4]
    assert len(pd.read_csv(whole.out / "hits.tsv", sep="\t")) >= 9


def test_edges_point_to_genes_by_their_best_transcript(tmp_path: Path) -> None:
    write_random(tmp_path)
    rows = ["transcript\tgene", *(f"tr-{k}\tg{k % 6}" for k in range(8))]
    (tmp_path / "genes.tsv").write_text("\n".join(rows) + "\n")
    by_gene = Analysis(tmp_path, plain(genes="genes.tsv"), name="genes").all().report()
    plainly = Analysis(tmp_path, plain(), name="plain").all()
    for name in ("hits.tsv", "miranda.txt", "targets.tsv"):
        assert (by_gene.out / name).read_bytes() == (plainly.out / name).read_bytes()
    edges = pd.read_csv(by_gene.out / "network.tsv", sep="\t")
    assert set(edges["target"]) <= {*(f"g{k}" for k in range(6)), "tr-8"}
    before = pd.read_csv(plainly.out / "network.tsv", sep="\t")
    gene = before["target"].map(lambda name: f"g{int(name[3:]) % 6}" if name != "tr-8" else name)
    groups = before.assign(target=gene).groupby(["source", "target"])
    found = edges.set_index(["source", "target"]).sort_index()
    assert found["score"].to_dict() == groups["score"].max().to_dict()
    assert found["n_transcripts"].to_dict() == groups.size().to_dict()
    page = (by_gene.out / "report.html").read_text()
    assert "Strongest miRNAs and genes" in page
    assert "pairs of miRNA and gene; of " in page
    warnings = read_json(by_gene.out / "summary.json")["warnings"]
    assert any("genes.tsv: 1 of 9 transcripts" in text for text in warnings)


def test_a_record_that_is_left_out_does_not_change_what_is_true_of_genes(tmp_path: Path) -> None:
    """Genes are items of their own, and numbers of items are those of the evaluation, too."""
    found = []
    for name, left_out in (("all", ""), ("cut", ">tr-x\nSequence unavailable\n")):
        folder = tmp_path / name
        folder.mkdir()
        write_random(folder)
        rows = [f"tr-{k}\tg{k}" for k in range(9)]
        (folder / "genes.tsv").write_text("\n".join([*rows, "tr-x\tg9"]) + "\n")
        ranked = Analysis(folder, plain(genes="genes.tsv"), name="net").all()
        best = pd.read_parquet(ranked.out / "network.parquet")[["source", "target"]][:3]
        best.to_csv(folder / "gold.tsv", sep="\t", index=False)
        with (folder / "transcripts.fa").open("a") as file:
            file.write(left_out)
        asked = plain(genes="genes.tsv", gold_standard="gold.tsv", on_bad_record="skip")
        judged = Analysis(folder, asked, name="judged").all()
        items = pd.read_parquet(judged.out / "items.parquet")
        assert (~items["kept"]).sum() == bool(left_out)
        assert items["item"].tolist() == [*range(len(items))]
        found.append(read_json(judged.out / "evaluation.json"))
    assert found[0]["aupr"] == found[1]["aupr"] > 0.9
    assert found[0]["n_ranked"] == found[1]["n_ranked"]


def test_gene_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    write_random(tmp_path)
    (tmp_path / "genes.tsv").write_text("other-1\tg1\n")
    with pytest.raises(InputError, match=r"genes\.tsv.*none of the 9 transcripts"):
        Analysis(tmp_path, plain(genes="genes.tsv")).prepare()
    (tmp_path / "genes.tsv").write_text("tr-1\tg1\ntr-1\tg2\n")
    with pytest.raises(InputError, match=r"genes\.tsv.*tr-1.*'g1' and 'g2'"):
        Analysis(tmp_path, plain(genes="genes.tsv")).prepare()


def test_a_restrict_list_bounds_the_search_in_every_tile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirna_targets, "MIRNAS_OF_A_TILE", 2)
    monkeypatch.setattr(mirna_targets, "TRANSCRIPTS_OF_A_TILE", 4)
    write_random(tmp_path)
    (tmp_path / "pairs.tsv").write_text("mir-1\ttr-1\nmir-5\ttr-5\nmir-0\ttr-3\n")
    analysis = Analysis(tmp_path, plain(restrict="pairs.tsv")).all()
    hits = pd.read_csv(analysis.out / "hits.tsv", sep="\t")
    found = set(zip(hits["mirna"], hits["transcript"], strict=True))
    assert {("mir-1", "tr-1"), ("mir-5", "tr-5")} <= found
    assert found <= {("mir-1", "tr-1"), ("mir-5", "tr-5"), ("mir-0", "tr-3")}
    assert read_json(analysis.out / "summary.json")["counts"]["pairs_scored"] == 3


def test_the_whole_workflow_through_snakemake(tmp_path: Path) -> None:
    write_random(tmp_path)
    write_config(tmp_path, {"net": plain(export=["tsv", "graphml"])})
    done = run(tmp_path)
    assert done.code == 0, done.text
    out = tmp_path / "results/net"
    for name in ("hits.tsv", "hits.parquet", "miranda.txt", "hits.bed", "hits.gff3"):
        assert (out / name).stat().st_size > 0
    assert (out / "report.html").stat().st_size > 0
    assert run(tmp_path).done_before
    # The form of the text concerns the tables only.
    write_config(tmp_path, {"net": plain(miranda_text={"keyval": True})})
    planned = run(tmp_path, "-n")
    assert "network" in planned.rules
    assert not planned.rules & {"prepare", "plan", "chunk", "merge"}


def test_check_draws_no_shuffles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than all that is read; the run draws them, and says what they show."""
    write_random(tmp_path)
    section = {"method": "mirna_targets", **plain(null={"shuffles": 30})}
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"analyses": {"a": section}}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mirna_targets, "prepare_null", None)
    lines = [line.strip() for line in check(config)]
    assert any(line.startswith("work: ") for line in lines)
    monkeypatch.undo()
    analysis = Analysis(tmp_path, plain(null={"shuffles": 30})).prepare()
    codes = {said["code"] for said in read_json(analysis.record("prepare"))["messages"]}
    assert "shuffles" in codes
    assert "shuffles_by_run" not in codes
