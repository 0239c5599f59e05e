"""Files made to do harm: small ones that unpack without end, configurations with tricks."""

from __future__ import annotations

import gzip
import os
import resource
from collections.abc import Callable
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz import laughs
from pairtile.config.load import load_config
from pairtile.errors import ConfigError, InputError
from pairtile.io import text_file
from pairtile.io.annotations import read_annotations
from pairtile.io.expression import read_expression
from pairtile.io.gold_standard import read_gold_standard
from pairtile.io.regulators import read_regulators
from pairtile.methods.mirna_targets.fasta import read_fasta
from pairtile.methods.mirna_targets.transcript_model import read_transcript_models
from pairtile.methods.trajectory_correlation.read_tables import open_series_table
from workflow_runs import BASE, run, write_data

MIB = 1 << 20


# --- archive bombs ------------------------------------------------------------------------------


def bomb(path: Path, first: bytes, again: bytes, size: int) -> Path:
    """A gzip file that unpacks to ``first`` and then ``again``, over and over, to ``size``."""
    block = again * (MIB // len(again))
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(first)
        for _ in range(size // len(block)):
            file.write(block)
    return path


READERS: dict[str, tuple[str, bytes, bytes, Callable[[Path], object]]] = {
    "table": ("x.tsv.gz", b"gene\ta\tb\tc\n", b"g\t0\t0\t0\n", lambda p: expression(p)),
    "one_line": ("x.tsv.gz", b"gene\ta\tb\tc\ng\t", b"0", lambda p: expression(p)),
    "odd_table": ("x.csv.gz", b"gene,a,b,c\ng,1,x,2\n", b"g,0,0,0\n", lambda p: expression(p)),
    "gct": ("x.gct.gz", b"#1.2\n9\t3\nName\tDescription\ta\tb\tc\n", b"g\td\t0\t0\t0\n",
            lambda p: expression(p)),
    "fasta": ("x.fa.gz", b">a\n", b"ACGT" * 16, read_fasta),
    "regulators": ("x.txt.gz", b"", b"TF1\n", read_regulators),
    "gold_standard": ("x.tsv.gz", b"source\ttarget\n", b"a\tb\n", read_gold_standard),
    "annotations": ("x.tsv.gz", b"sample\tlabel\n", b"s\tx\n",
                    lambda p: read_annotations(p, ["s"], [])),
    "transcripts": ("x.gtf.gz", b"", b"#\n", read_transcript_models),
    "time_series": ("x.tsv.gz", b"a\tb\n", b"0\t0\n", lambda p: open_series_table(str(p))),
}  # fmt: skip


def expression(path: Path) -> object:
    return read_expression(path, "genes_in_rows")


@pytest.mark.complete
@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_unpacks_beyond_the_limits_is_refused(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_file, "FREE_BYTES", 4 * MIB)
    monkeypatch.setattr(text_file, "MAX_RATIO", 50)
    monkeypatch.setattr(text_file, "MAX_EQUAL_LINES", 1 << 40)  # would be reached earlier
    name, first, again, read = READERS[reader]
    path = bomb(tmp_path / name, first, again, 40 * MIB)
    assert path.stat().st_size < 40 * MIB / 50
    with pytest.raises(InputError, match=r"bytes that unpack to more than .* at most 50 times"):
        read(path)


def test_a_gzip_bomb_takes_little_more_memory_than_the_real_limits_allow(tmp_path: Path) -> None:
    path = bomb(tmp_path / "x.fa.gz", b">a\n", b"ACGT" * 16, 1 << 30)
    allowed = text_file.MAX_RATIO * path.stat().st_size
    assert allowed < 0.6 * (1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="at most 500 times its size beyond 134,217,728 bytes"):
        read_fasta(path)
    assert 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 1.2 * allowed


def test_sparse_counts_are_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_file, "FREE_BYTES", 1)
    random = np.random.default_rng(1)
    counts = (random.random((300, 4000)) < 0.002).astype(int)
    counts[:, 0] = 1
    table = pd.DataFrame(counts, [f"g{k}" for k in range(300)], [f"s{k}" for k in range(4000)])
    table.to_csv(tmp_path / "x.tsv.gz", sep="\t", index_label="gene")
    read = read_expression(tmp_path / "x.tsv.gz", "genes_in_rows")
    assert (read.values == counts).all()


def test_a_parquet_file_that_unpacks_beyond_the_limits_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 3_000_000
    zeros = pa.array(np.zeros(n))
    names = pa.array(np.full(n, "g"))
    table = pa.table({"gene": names, "a": zeros, "b": zeros, "c": zeros})
    pq.write_table(table, tmp_path / "x.parquet", compression="zstd")
    monkeypatch.setattr(text_file, "FREE_BYTES", 4 * MIB)
    with pytest.raises(InputError, match=r"bytes that unpack to more than 96,000,000"):
        expression(tmp_path / "x.parquet")


@pytest.mark.parametrize("stored", ["packed", "never_written"])
def test_an_h5ad_file_that_unpacks_beyond_the_limits_is_refused(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.h5ad"
    anndata.AnnData(np.ones((4, 3), dtype=np.float32)).write_h5ad(path)
    shape = (4000, 3000) if stored == "packed" else (1 << 20, 1 << 20)
    with h5py.File(path, "a") as file:
        attributes = dict(file["X"].attrs)
        del file["X"]
        made = file.create_dataset("X", shape, "f4", chunks=(500, 500), compression="gzip")
        made.attrs.update(attributes)
        if stored == "packed":
            made[...] = 0.0
    monkeypatch.setattr(text_file, "FREE_BYTES", 4 * MIB)
    with pytest.raises(InputError, match=r"x\.h5ad: found .* bytes that unpack to more than"):
        expression(path)


# --- names of analyses --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".", "../up", "a/b", "/etc", "a\\b", "~", "~root", ".hidden", "-rf", "a b", "a\n"),
        *("a\x00", "a:b", "$(touch x)", "`x`", "{0}", "{analysis}", "%s", "a;b", "a|b", "", "é"),
        "x" * 101,
    ],
)
def test_a_name_that_could_leave_its_folder_or_reach_a_shell_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="expected a folder name"):
        load_config({"analyses": {name: BASE}})


def test_another_analysis_can_only_be_named_not_pointed_at() -> None:
    motion = {
        "method": "trajectory_correlation",
        "time_series": ["a.tsv"],
        "compare": "../../elsewhere",
    }
    with pytest.raises(ConfigError, match=r"analyses\.net\.compare: found '../../elsewhere'"):
        load_config({"analyses": {"net": motion}})


def test_merge_keys_that_unfold_without_end_are_refused_by_our_own_reader(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{k}: &a{k} {{<<: [*a{k - 1}, *a{k - 1}]}}" for k in range(1, 60)]
    (tmp_path / "config.yaml").write_text("\n".join(lines) + "\n" + ANALYSES)
    # PyYAML before 6.0.4 unfolds them all.
    expected = "unfold to more than 10,000 keys; expected fewer|a0: found an unknown key"
    with pytest.raises(ConfigError, match=expected):
        load_config(tmp_path / "config.yaml")


# --- YAML as Snakemake reads it -----------------------------------------------------------------


ANALYSES = "analyses:\n  net:\n    method: mutual_information\n    expression: expression.tsv\n"
TRICKS = {
    "laughs": (laughs(9) + ANALYSES, "found more than 1,000,000 values"),
    "twice": (ANALYSES + "    expression: other.tsv\n", "line 5: found the key 'expression' twice"),
    "object": (ANALYSES + "seed: !!python/object/apply:os.system ['touch pwned']\n", "not valid"),
    "name": (ANALYSES + "seed: !!python/name:os.system ''\n", "could not determine a constructor"),
    "up": (ANALYSES.replace("net:", "../../net:"), "expected a folder name"),
}


@pytest.mark.workflow
@pytest.mark.parametrize("trick", TRICKS)
def test_a_configuration_with_a_trick_ends_in_one_message(trick: str, tmp_path: Path) -> None:
    text, message = TRICKS[trick]
    folder = tmp_path / "run"
    folder.mkdir()
    write_data(folder)
    (folder / "config.yaml").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    refused = run(folder)
    assert refused.code != 0
    assert message in refused.text
    made = {path for path in tmp_path.rglob("*") if path not in before}
    assert {path for path in made if ".snakemake" not in path.parts} == set()
    assert not os.path.exists("pwned")
