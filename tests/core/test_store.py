"""Chunk files are whole or refused, and their union is the same for any chunking."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chunk_tables import EDGE, PRINT, SCHEMA, cut, merged, tile_rows, write
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pairtile.engine.chunk_file import ChunkFile, ChunkHeader, write_chunk
from pairtile.engine.merging import row_order
from pairtile.errors import StoreError
from programs import PYTHONPATH, python


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=16), st.randoms(), st.booleans())
def test_merge_is_identical_for_any_chunking(tmp_path_factory, lengths, random, ranked):
    folder = tmp_path_factory.mktemp("chunks")
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    options = {"top": 12} if ranked else {}
    one = merged(write(folder / "a", cut([16]), ranked), folder / "a/pairs.parquet", **options)
    paths = write(folder / "b", cut([*lengths, 16]), ranked)
    random.shuffle(paths)
    many = merged(paths, folder / "b/pairs.parquet", **options)
    assert (folder / "a/pairs.parquet").read_bytes() == (folder / "b/pairs.parquet").read_bytes()
    assert one[0] == many[0]  # rows
    assert one[1]["pairs"] == many[1]["pairs"] == 16 * EDGE * EDGE


def test_merged_rows_are_all_rows_sorted(tmp_path):
    merged(write(tmp_path, cut([3, 9, 4])), tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet").to_pandas()
    tiles = [tile_rows(n) for n in range(16)]
    expected = {k: np.concatenate([t[k] for t in tiles]) for k in ("i", "j", "mi_bits")}
    order = np.lexsort((expected["j"], expected["i"]))
    for name, values in expected.items():
        assert np.array_equal(found[name], values[order])


def test_best_rows_are_the_best_of_all_with_ties(tmp_path):
    merged(write(tmp_path, cut([5, 5, 6]), ranked=True), tmp_path / "out.parquet", top=20)
    found = pq.read_table(tmp_path / "out.parquet").to_pandas()
    tiles = [tile_rows(n, ranked=True) for n in range(16)]
    score = np.concatenate([t["rank_score"] for t in tiles])
    passed = np.concatenate([t["passed"] for t in tiles])
    limit = np.sort(score)[-20]
    assert len(found) == (passed | (score >= limit)).sum()
    assert list(found.columns) == ["i", "j", "mi_bits"]


def test_row_groups_are_streamed_in_fixed_sizes(tmp_path, monkeypatch):
    monkeypatch.setattr("pairtile.engine.merging.MERGED_ROW_GROUP", 7)
    for name, lengths in (("a", [16]), ("b", [1, 2, 3, 4, 6])):
        (tmp_path / name).mkdir()
        merged(write(tmp_path / name, cut(lengths)), tmp_path / name / "pairs.parquet")
    assert (tmp_path / "a/pairs.parquet").read_bytes() == (
        tmp_path / "b/pairs.parquet"
    ).read_bytes()
    groups = pq.ParquetFile(tmp_path / "a/pairs.parquet").metadata
    assert {groups.row_group(k).num_rows for k in range(groups.num_row_groups - 1)} == {7}


def test_no_rows_at_all_give_an_empty_table_with_columns(tmp_path):
    path = tmp_path / "tiles-000000-000000.parquet"
    empty = {f.name: np.empty(0, dtype=f.type.to_pandas_dtype()) for f in SCHEMA}
    write_chunk(path, SCHEMA, [(0, empty)], ChunkHeader(PRINT, [], {}))
    merged([path], tmp_path / "out.parquet", band_of_tile=[0])
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 0
    assert table.schema.names == SCHEMA.names


def test_missing_and_repeated_tiles_are_refused(tmp_path):
    paths = write(tmp_path, cut([8, 8]))
    with pytest.raises(StoreError, match="missing \\[8, 9"):
        merged(paths[:1], tmp_path / "out.parquet")
    (tmp_path / "x").mkdir()
    extra = write(tmp_path / "x", [[3, 4]])
    with pytest.raises(StoreError, match="tile 3"):
        merged(paths + extra, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_chunk_of_another_analysis_is_never_merged(tmp_path):
    paths = write(tmp_path, cut([8]))
    foreign = write(tmp_path, [list(range(8, 16))], fingerprint="0" * 64)
    with pytest.raises(StoreError, match="another analysis"):
        merged(paths + foreign, tmp_path / "out.parquet")


def test_fingerprint_and_tiles_are_compared_whole(tmp_path):
    [path] = write(tmp_path, cut([16]))
    chunk = ChunkFile(path)
    chunk.verify(PRINT, range(16))
    with pytest.raises(StoreError, match="another analysis"):
        chunk.verify(PRINT[:-1] + ("0" if PRINT[-1] != "0" else "1"))
    with pytest.raises(StoreError, match="tiles 0 to 15; expected tiles 1 to 16"):
        chunk.verify(PRINT, range(1, 17))


def test_tiles_beyond_the_plan_are_refused(tmp_path):
    paths = write(tmp_path, cut([8, 8]))
    with pytest.raises(StoreError, match="found 16 tiles in 2 chunk files"):
        merged(paths, tmp_path / "out.parquet", band_of_tile=[0] * 12)


def test_older_format_is_named(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("pairtile.engine.chunk_file.FORMAT_VERSION", 0)
        paths = write(tmp_path, cut([16]))
    with pytest.raises(StoreError, match="chunk format 0; expected format 2"):
        merged(paths, tmp_path / "out.parquet")


@pytest.mark.parametrize("keep", [0, 1, 3, 100, 0.5, 0.99])
def test_truncated_file_is_found_and_named(tmp_path, keep):
    path = write(tmp_path, cut([16]))[0]
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole)) if keep < 1 else keep])
    with pytest.raises(StoreError, match=path.name):
        ChunkFile(path).verify(PRINT)


def test_any_flipped_bit_is_found(tmp_path):
    path = write(tmp_path, cut([16]))[0]
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    places = random.choice(len(whole), size=min(400, len(whole)), replace=False)
    for place in places:
        broken = bytearray(whole)
        broken[place] ^= 1 << int(random.integers(8))
        path.write_bytes(broken)
        with pytest.raises(StoreError, match=path.name):
            ChunkFile(path)


def test_altered_value_is_found_even_in_a_valid_parquet_file(tmp_path):
    path = write(tmp_path, cut([16]))[0]
    file = pq.ParquetFile(path)
    metadata = file.metadata.metadata
    groups = [file.read_row_group(k) for k in range(file.num_row_groups)]
    changed = groups[0].to_pandas()
    changed.loc[0, "mi_bits"] += 1e-12
    groups[0] = pa.Table.from_pandas(changed, schema=SCHEMA, preserve_index=False)
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for group in groups:
            writer.write_table(group)
        writer.add_key_value_metadata({k: v for k, v in metadata.items() if k == b"pairtile"})
    with pytest.raises(StoreError, match="checksum"):
        ChunkFile(path).verify(PRINT)


def test_failure_while_writing_leaves_nothing(tmp_path):
    def tiles():
        yield 0, tile_rows(0)
        raise RuntimeError("the job dies")

    with pytest.raises(RuntimeError, match="dies"):
        write_chunk(tmp_path / "chunk.parquet", SCHEMA, tiles(), ChunkHeader(PRINT, [], {}))
    assert list(tmp_path.iterdir()) == []


WRITER = """
import time
from chunk_tables import *
def tiles():
    for n in range(16):
        yield n, tile_rows(n)
        print(n, flush=True)
        time.sleep(0.05)
write_chunk({out!r}, SCHEMA, tiles(), ChunkHeader(PRINT, [], {{}}))
"""


def test_killed_half_way_the_chunk_is_not_there(tmp_path):
    out = tmp_path / "tiles-000000-000015.parquet"
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER.format(out=str(out))],
        env=os.environ | {"PYTHONPATH": PYTHONPATH},
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if int(line) == 5:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.05)
    assert not out.exists()
    write(tmp_path, cut([16]))
    ChunkFile(out).verify(PRINT, list(range(16)))


MERGER = """
from pairtile.runtime.host_memory import peak_host_bytes
from chunk_tables import *
merged({paths!r}, {out!r}, band_of_tile=list(range({bands})))
print(peak_host_bytes() >> 20)
"""


@pytest.mark.complete
def test_merge_needs_far_less_memory_than_the_table(tmp_path):
    rows = 500_000
    peaks = {}
    # Two sizes at which the memory pools have settled.
    for bands in (8, 48):
        path = tmp_path / f"bands-{bands}.parquet"
        random = np.random.default_rng(0)
        column = np.arange(rows, dtype=np.int32)
        tiles = (
            (b, {"i": np.full(rows, b, np.int32), "j": column, "mi_bits": random.random(rows)})
            for b in range(bands)
        )
        write_chunk(path, SCHEMA, tiles, ChunkHeader(PRINT, [], {}))
        out = str(tmp_path / "out.parquet")
        peaks[bands] = int(python(MERGER.format(paths=[str(path)], out=out, bands=bands)))
    grown = 40 * rows * 16 / 2**20  # MiB that the larger table has more
    assert peaks[48] - peaks[8] < 0.25 * grown


# --- columns of text ----------------------------------------------------------------------------

TEXTS = pa.schema([("i", pa.int32()), ("j", pa.int32()), ("text", pa.string())])


def write_texts(path, texts):
    rows = {"i": np.zeros(len(texts), dtype=np.int32), "j": np.arange(len(texts), dtype=np.int32)}
    rows["text"] = np.array(texts, dtype=object)
    write_chunk(path, TEXTS, [(0, rows)], ChunkHeader(PRINT, [], {}))


def test_columns_of_text_are_read_back(tmp_path):
    path = tmp_path / "tiles-000000-000000.parquet"
    texts = ["5' UGAG 3'", "", "|||:| \u00b5", "x"]
    write_texts(path, texts)
    file = ChunkFile(path)
    file.verify(PRINT)
    assert file.read_tile(0)["text"].to_pylist() == texts
    merged([path], tmp_path / "out.parquet", band_of_tile=[0])
    assert pq.read_table(tmp_path / "out.parquet")["text"].to_pylist() == texts


BYTES = pa.schema([("i", pa.int32()), ("j", pa.int32()), ("samples", pa.binary(3))])


def byte_rows(number, rows=4):
    random = np.random.default_rng(number)
    i = np.full(rows, number, dtype=np.int32)
    masks = random.integers(0, 256, (rows, 3)).astype(np.uint8)
    return {"i": i, "j": np.arange(rows, dtype=np.int32), "samples": masks}


def test_columns_of_bytes_are_read_back(tmp_path):
    path = tmp_path / "tiles-000000-000001.parquet"
    tiles = ((number, byte_rows(number)) for number in range(2))
    write_chunk(path, BYTES, tiles, ChunkHeader(PRINT, [], {}))
    chunk = ChunkFile(path)
    chunk.verify(PRINT, [0, 1])
    found = chunk.read_tile(1)["samples"].to_pylist()
    assert found == [row.tobytes() for row in byte_rows(1)["samples"]]
    merged([path], tmp_path / "m.parquet", band_of_tile=[0, 1])
    assert pq.read_table(tmp_path / "m.parquet")["samples"].to_pylist()[4:] == found


def test_bytes_of_another_width_are_refused(tmp_path):
    rows = byte_rows(0) | {"samples": np.zeros((4, 2), dtype=np.uint8)}
    with pytest.raises(ValueError, match="shape"):
        write_chunk(tmp_path / "c.parquet", BYTES, [(0, rows)], ChunkHeader(PRINT, [], {}))


MANY = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from chunk_tables import *
merged({paths!r}, {out!r}, band_of_tile=list(range(200)))
"""


@pytest.mark.complete
def test_more_chunks_are_merged_than_a_process_may_hold_open(tmp_path):
    paths = []
    for number in range(200):
        paths.append(tmp_path / f"tiles-{number:06d}-{number:06d}.parquet")
        rows = {"i": np.array([number], np.int32), "j": np.array([0], np.int32)}
        rows["mi_bits"] = np.array([0.5])
        write_chunk(paths[-1], SCHEMA, [(number, rows)], ChunkHeader(PRINT, [], {}))
    out = tmp_path / "out.parquet"
    python(MANY.format(paths=[str(path) for path in paths], out=str(out)))
    assert pq.read_table(out)["i"].to_pylist() == list(range(200))


@example([(0, 0), (-3, -2)], False)  # the sum of both went below the least int64
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), max_size=40), st.booleans())
def test_rows_are_ordered_as_by_several_keys(rows, wide):
    """Of repeated rows the first stays first, whether two columns are sorted as one or not."""
    ends = np.array([0, 1, 2, 5, 2**30, 2**31 - 2, 2**31 - 1])
    keys = [ends[np.array(column, dtype=int) + 3] for column in zip(*rows, strict=True)] or [[], []]
    keys = [np.array(key, dtype=np.int64 if wide else np.int32) for key in keys]
    expected = sorted(range(len(rows)), key=lambda row: (keys[0][row], keys[1][row]))
    assert row_order(keys).tolist() == expected
