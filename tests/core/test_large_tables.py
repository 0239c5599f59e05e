"""Tables too large for memory are prepared in files: the same bytes as in memory, little memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from pairtile.config.root import models
from pairtile.engine import large_table
from pairtile.engine.estimator import estimator_of
from pairtile.engine.large_table import (
    GrowingTable,
    in_row_order,
    map_rows,
    stored,
    take_columns,
    take_rows,
)
from pairtile.engine.state import open_state, scratch_beside, write_state
from pairtile.io import anndata_file, binary_table, text_table
from pairtile.io.expression import read_expression, read_sparsely
from pairtile.method import get_method
from pairtile.methods.mutual_information import prepare as spline_input
from pairtile.runtime.threads import one_ahead
from programs import python

N_GENES, N_SAMPLES = 60, 80
GENES = [f"g{k}" for k in range(N_GENES)]
SAMPLES = [f"s{k}" for k in range(N_SAMPLES)]


def awkward() -> np.ndarray:
    """Ties, missing values, a constant gene, one with few samples, large and small numbers."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(N_GENES, N_SAMPLES)) * np.logspace(-6, 6, N_GENES)[:, None]
    values[:15] = np.round(4 * values[:15] / values[:15].max(axis=1, keepdims=True))
    values[rng.random(values.shape) < 0.1] = np.nan
    values[20], values[21, 5:] = 2.5, np.nan
    return values


def counts() -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.negative_binomial(2, 0.02, (N_GENES, N_SAMPLES)).astype(float)


def text(path: Path, values: np.ndarray) -> None:
    lines = [
        f"{name}\t" + "\t".join(map(str, row))
        for name, row in zip(GENES, values.tolist(), strict=True)
    ]
    path.write_text("\n".join(["\t".join(["gene", *SAMPLES]), *lines]) + "\n")


def turned_text(path: Path, values: np.ndarray) -> None:
    pd.DataFrame(values, GENES, SAMPLES).T.to_csv(path, sep="\t", na_rep="NA")


def parquet(path: Path, values: np.ndarray) -> None:
    pd.DataFrame(values, GENES, SAMPLES).to_parquet(path, row_group_size=17)


def h5ad(path: Path, values: np.ndarray) -> None:
    names = {"obs": pd.DataFrame(index=SAMPLES), "var": pd.DataFrame(index=GENES)}
    anndata.AnnData(values.T, **names).write_h5ad(path)


FORMS: dict[str, tuple[str, Callable[[Path, np.ndarray], None], dict[str, Any]]] = {
    "text": (".tsv", text, {}),
    "text, turned": (".tsv", turned_text, {"orientation": "samples_in_rows"}),
    "parquet": (".parquet", parquet, {"preprocess": {"normalize": "zscore"}}),
    "h5ad": (".h5ad", h5ad, {"preprocess": {"normalize": "quantile", "top_variable": 30}}),
    "replicates": (".tsv", text, {"samples": {"annotations": "", "replicate": "of"}}),
    "times": (".parquet", parquet, {"samples": {"annotations": "", "time": "time"}}),
    "counts": (".tsv", lambda path, _: text(path, counts()), {}),
    "ratios": (
        ".h5ad",
        lambda path, _: h5ad(path, counts()),
        {"preprocess": {"normalize": "median_ratio", "drop_constant": True}},
    ),
}


@pytest.mark.parametrize("method", ["mutual_information", "multimodal_correlation"])
@pytest.mark.parametrize("form", FORMS)
def test_states_are_the_same_bytes_from_files_as_from_memory(
    form: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix, write, settings = FORMS[form]
    path = tmp_path / f"table{suffix}"
    write(path, awkward())
    rows = [f"{name}\t{k * 7 % N_SAMPLES}\tr{k // 2}" for k, name in enumerate(SAMPLES)]
    (tmp_path / "samples.tsv").write_text("\n".join(["sample\ttime\tof", *rows]) + "\n")
    section = {"method": method, "expression": str(path)} | settings
    if "samples" in settings:
        section["samples"] = settings["samples"] | {"annotations": str(tmp_path / "samples.tsv")}
    known = get_method(method)
    found = []
    for state in (tmp_path / "memory", tmp_path / "file"):
        if found:
            monkeypatch.setattr(large_table, "IN_MEMORY_BYTES", 1000)
            monkeypatch.setattr(large_table, "_BLOCK_BYTES", 3000)
            monkeypatch.setattr(binary_table, "_BLOCK_BYTES", 3000)
            monkeypatch.setattr(anndata_file, "_BLOCK_BYTES", 3000)
            monkeypatch.setattr(text_table, "_PIECE", 2000)
            monkeypatch.setattr(large_table, "BLOCK_VALUES", 300)
            monkeypatch.setattr(spline_input, "_BLOCK_VALUES", 500)
        with scratch_beside(state) as scratch:
            prepared = estimator_of(known.name).prepare(
                models()[known.name].model_validate(section), 1, scratch
            )
            large = prepared.state["z" if method == "mutual_information" else "values"]
            assert isinstance(large, np.memmap) == bool(found)
            digest = write_state(state, prepared.state, scratch)
        found.append((digest, prepared.items, prepared.counts, prepared.notes, prepared.warnings))
    assert found[0][0] == found[1][0]
    pd.testing.assert_frame_equal(found[0][1], found[1][1], check_exact=True)
    assert found[0][2:] == found[1][2:]


@pytest.mark.parametrize("how", ["mean", "max", "first"])
def test_genes_of_one_name_become_one_in_a_file(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.tsv"
    text(path, awkward())
    path.write_text(path.read_text().replace("\ng9\t", "\ng3\t").replace("\ng40\t", "\ng3\t"))
    expected = read_expression(path, duplicates=how)
    monkeypatch.setattr(large_table, "IN_MEMORY_BYTES", 1000)
    found = read_sparsely(path, duplicates=how, scratch=tmp_path)
    assert isinstance(found.values, np.memmap)
    assert found.genes == expected.genes
    np.testing.assert_array_equal(found.values, expected.values)


def test_a_growing_table_is_what_was_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "IN_MEMORY_BYTES", 8 * 7 * 100)
    rows = np.random.default_rng(0).normal(size=(200, 7))
    for scratch in (None, tmp_path):
        table = GrowingTable(7, scratch)
        for begin, end in ((0, 3), (3, 120), (120, 121), (121, 200)):
            table.append(rows[begin:end])
        found = table.values()
        assert isinstance(found, np.memmap) == (scratch is not None)
        np.testing.assert_array_equal(found, rows)
        order = np.array([6, 0, 3])
        np.testing.assert_array_equal(take_rows(found, order, scratch), rows[order])
        np.testing.assert_array_equal(take_columns(found, order, scratch), rows[:, order])
        np.testing.assert_array_equal(in_row_order(found.T, scratch), rows.T)


def test_stored_values_become_the_state_without_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(12.0).reshape(4, 3)
    assert stored(values, None) is stored(values, tmp_path) is values
    monkeypatch.setattr(large_table, "BLOCK_VALUES", 11)
    with scratch_beside(tmp_path / "state") as scratch:
        mapped = stored(values, scratch)
        assert stored(mapped, scratch) is mapped
        assert len(list(scratch.rglob("*.npy"))) == 1
        write_state(tmp_path / "state", {"z": mapped}, scratch)
        assert not list(scratch.rglob("*.npy"))
    assert np.array_equal(open_state(tmp_path / "state")["z"], values)


def test_rows_are_mapped_block_by_block_in_place_and_to_other_shapes(tmp_path: Path) -> None:
    values = np.arange(21.0).reshape(7, 3)
    sums = map_rows(lambda block: block.sum(axis=1), values, np.empty(7), n_values=6)
    assert np.array_equal(sums, values.sum(axis=1))
    sizes: list[int] = []

    def doubled(block: np.ndarray) -> np.ndarray:
        sizes.append(len(block))
        return 2.0 * block

    assert map_rows(doubled, values, values, n_values=6) is values
    assert np.array_equal(values, 2.0 * np.arange(21.0).reshape(7, 3))
    assert sorted(sizes) == [1, 2, 2, 2]


def test_the_first_rows_of_a_file_become_the_state_without_a_copy(tmp_path: Path) -> None:
    with scratch_beside(tmp_path / "state") as scratch:
        large = np.lib.format.open_memmap(scratch / "z.npy", "w+", np.float64, shape=(50, 4))
        large[:] = np.arange(200).reshape(50, 4)
        inode = (scratch / "z.npy").stat().st_ino
        arrays = {"some": large[:20], "others": np.array(large[30:])}
        digest = write_state(tmp_path / "state", arrays, scratch)
    assert (tmp_path / "state/some.npy").stat().st_ino == inode
    np.testing.assert_array_equal(
        open_state(tmp_path / "state")["some"], np.arange(80).reshape(20, 4)
    )
    plain = {"some": np.arange(80.0).reshape(20, 4), "others": np.arange(120.0, 200).reshape(20, 4)}
    assert write_state(tmp_path / "plain", plain) == digest
    with scratch_beside(tmp_path / "state") as scratch:  # rows from within are copied
        large = np.lib.format.open_memmap(scratch / "z.npy", "w+", np.float64, shape=(50, 4))
        large[:] = np.arange(200).reshape(50, 4)
        write_state(tmp_path / "state", {"some": large[10:30]}, scratch)
    np.testing.assert_array_equal(open_state(tmp_path / "state")["some"][0], np.arange(40.0, 44))


MEASURE = """
import sys
from pathlib import Path
from pairtile.engine import large_table
large_table.IN_MEMORY_BYTES = 1 << 24
from pairtile.config.load import load_config
from pairtile.runtime.host_memory import peak_host_bytes
from pairtile.steps.analysis_run import AnalysisRun
from pairtile.steps.prepare import prepare
content = {"analyses": {"a": {"method": "mutual_information", "expression": sys.argv[1]}}}
config = load_config(content).analyses["a"]
out = Path(sys.argv[1]).parent
prepare(AnalysisRun("a", config, out))
print(peak_host_bytes())
"""


@pytest.mark.complete
def test_preparing_takes_less_memory_than_the_values(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    rng = np.random.default_rng(0)
    words = np.array([f"{x:.4f}" for x in rng.normal(size=10_000)], dtype=object)
    with path.open("w") as file:
        file.write("\t".join(["gene", *(f"s{k}" for k in range(12_000))]) + "\n")
        for gene in range(8_000):
            file.write(f"g{gene}\t" + "\t".join(words[rng.integers(0, 10_000, 12_000)]) + "\n")
    of_values = 8 * 8_000 * 12_000
    assert int(python(MEASURE, path).splitlines()[-1]) < of_values


def test_one_part_is_made_ahead_and_no_more() -> None:
    made: list[int] = []
    second = threading.Event()

    def parts() -> Iterator[int]:
        for k in range(5):
            if k == 4:
                raise RuntimeError("stopped")
            made.append(k)
            if k == 1:
                second.set()
            yield k

    seen: list[int] = []

    def work() -> None:
        for part in one_ahead(parts()):
            # The second is made while the first is worked on, the third not yet.
            assert part > 0 or (second.wait(30) and made == [0, 1])
            assert len(made) <= part + 2
            seen.append(part)

    with pytest.raises(RuntimeError, match="stopped"):
        work()
    assert seen == [0, 1, 2, 3]
    assert list(one_ahead(())) == []
