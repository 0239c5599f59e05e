"""Sparse input is prepared by blocks of genes: the same bytes as dense input, little memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pairtile
import pandas as pd
import pytest
from pairtile.config.preprocess import Preprocess
from pairtile.config.root import models
from pairtile.engine import large_table
from pairtile.engine.estimator import PreparedInput, estimator_of
from pairtile.engine.state import scratch_beside, write_state
from pairtile.errors import InputError
from pairtile.io.expression import Expression, read_expression, read_sparsely
from pairtile.io.sparse_rows import SparseRows
from pairtile.method import get_method
from pairtile.preprocess.expression import prepare_expression
from programs import python
from scipy import io, sparse

N_GENES, N_CELLS = 37, 330
GENES = [f"g{k}" for k in range(N_GENES)]
CELLS = [f"c{k}" for k in range(N_CELLS)]


def counts() -> np.ndarray:
    """Counts of cells, float64 (genes, cells), most of them zero; one gene without any."""
    rng = np.random.default_rng(5)
    mean = np.outer(rng.lognormal(0, 1, N_GENES), rng.lognormal(0, 0.5, N_CELLS))
    found = rng.negative_binomial(0.8, 0.8 / (0.8 + mean)).astype(float)
    found[3], found[4, 0] = 0.0, 25.0
    return found


def write(folder: Path, form: str, values: np.ndarray, genes: list[str]) -> str:
    """The same table in one of the forms."""
    if form == "10x":
        folder.mkdir()
        io.mmwrite(folder / "matrix.mtx", sparse.coo_array(values))
        (folder / "genes.tsv").write_text("".join(f"{name}\n" for name in genes))
        (folder / "barcodes.tsv").write_text("".join(f"{name}\n" for name in CELLS))
        return str(folder)
    kinds = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "dense": np.asarray}
    path = folder.with_suffix(".h5ad")
    names = {"obs": pd.DataFrame(index=CELLS), "var": pd.DataFrame(index=genes)}
    anndata.AnnData(kinds[form](values.T.astype(np.float32)), **names).write_h5ad(path)
    return str(path)


METHODS: dict[str, dict[str, Any]] = {
    "mutual_information": {},
    "multimodal_correlation": {"preprocess": {"normalize": "cp10k", "top_variable": 20}},
    "predictor_pairs": {"lag": 0, "preprocess": {"min_expressed": 0.2}},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.complete
def test_states_are_those_of_a_dense_table_byte_by_byte(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "BLOCK_VALUES", 5 * N_CELLS)
    (tmp_path / "samples.tsv").write_text(
        "cell\ttime\n" + "".join(f"{name}\t{k * 7 % N_CELLS}\n" for k, name in enumerate(CELLS))
    )
    found = {}
    for form in ("dense", "csr", "csc", "10x"):
        known = get_method(method)
        path = write(tmp_path / form, form, counts(), GENES)
        samples = {"annotations": str(tmp_path / "samples.tsv"), "time": "time"}
        section = {"method": method, "expression": path, "samples": samples} | METHODS[method]
        state = tmp_path / "states" / form
        with scratch_beside(state) as scratch:
            prepared = estimator_of(known.name).prepare(
                models()[known.name].model_validate(section), 1, scratch
            )
            digest = write_state(state, prepared.state, scratch)
        found[form] = (digest, prepared)
    expected, dense = found.pop("dense")
    for form, (digest, prepared) in found.items():
        assert digest == expected, form
        assert same_account(dense, prepared), form


def same_account(one: PreparedInput, other: PreparedInput) -> bool:
    """Whether items, counts and warnings are the same, and notes but for what the file is."""
    notes = [[note for note in p.notes if "AnnData" not in note] for p in (one, other)]
    pd.testing.assert_frame_equal(one.items, other.items)
    return one.counts == other.counts and one.warnings == other.warnings and notes[0] == notes[1]


SETTINGS = [
    {},
    {"normalize": "cpm", "pseudocount": 0, "drop_constant": True},
    {"normalize": "median_ratio"},
    {"normalize": "none", "log2": False, "top_variable": 9},
    {"normalize": "zscore", "min_expressed": 0.3},
    {"normalize": "quantile"},
    {"normalize": "depth_ranks", "top_variable": 9},
    {"normalize": "nb_residuals", "top_variable": 9},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("missing", [False, True])
def test_blocks_of_genes_are_prepared_as_all_at_once(
    settings: dict[str, Any], missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sparse by blocks, against a dense table in one block."""
    values = counts()
    values[7:10] += 1.0  # genes above zero in every sample
    if missing:
        values[5, 3:9] = values[6] = np.nan
    checked = Preprocess.model_validate({"min_samples": 10} | settings)
    whole = prepare_expression(Expression(values, GENES, CELLS, "t"), checked)
    monkeypatch.setattr(large_table, "BLOCK_VALUES", 4 * N_CELLS)
    rows = SparseRows(sparse.csr_array(values.astype(np.float32)))
    parts = prepare_expression(Expression(rows, GENES, CELLS, "t"), checked)
    np.testing.assert_array_equal(parts.values, whole.values)
    pd.testing.assert_frame_equal(parts.items, whole.items)
    assert (parts.notes, parts.warnings) == (whole.notes, whole.warnings)
    assert parts.counts == whole.counts


@pytest.mark.parametrize("how", ["mean", "max", "first"])
def test_genes_of_one_name_become_one_without_a_dense_table(how: str, tmp_path: Path) -> None:
    values = counts()
    values[2, 4] = values[3, 4] = np.nan
    names = ["a", "b", "a", "c", "b", *GENES[5:]]
    dense, few = (
        read_sparsely(write(tmp_path / form, form, values, names), duplicates=how)
        for form in ("dense", "csc")
    )
    assert isinstance(few.values, SparseRows)
    np.testing.assert_array_equal(few.values[:], dense.values)
    assert few.genes == dense.genes == ["a", "b", "c", *GENES[5:]]


def test_entries_that_are_there_twice_are_added_up() -> None:
    twice = sparse.csr_matrix(([1, 250, 250], [0, 2, 2], [0, 1, 3]), shape=(2, 3))
    twice.data = twice.data.astype(np.uint8)
    np.testing.assert_array_equal(SparseRows(twice)[:], [[1.0, 0, 0], [0, 0, 500]])


def test_places_outside_the_matrix_are_refused(tmp_path: Path) -> None:
    import h5py

    path = write(tmp_path / "t", "csr", counts(), GENES)
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = N_GENES + 9
    with pytest.raises(InputError, match="no sound HDF5"):
        read_expression(path)


TYPES = ["<f2", ">f2", ">f4", ">f8", "<f8", "i1", ">i2", "u8", "?"]


@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
@pytest.mark.parametrize("kind", TYPES)
def test_numbers_of_every_type_are_read(kind: str, form: str, tmp_path: Path) -> None:
    """HDF5 holds types that scipy and numba do not take."""
    import h5py

    values = np.minimum(counts(), 100.0).astype(kind)
    path = write(tmp_path / "t", form, values.astype(float), GENES)
    stored = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix, "dense": np.asarray}[form](
        values.T.astype(np.float32)
    )
    with h5py.File(path, "r+") as file:
        if form == "dense":
            del file["X"]
            file["X"] = stored.astype(kind)
        else:
            for part, array in (("data", stored.data.astype(kind)), ("indices", stored.indices)):
                del file[f"X/{part}"]
                file[f"X/{part}"] = array.astype(">u8") if part == "indices" else array
    expected = values.astype(np.float64)
    np.testing.assert_array_equal(read_expression(path).values, expected)
    found = prepare_expression(read_sparsely(path))
    np.testing.assert_array_equal(
        found.values, prepare_expression(Expression(expected, GENES, CELLS, "t")).values
    )


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse_values_in_memory_may_have_16_bits(form: Any) -> None:
    values = np.minimum(counts(), 100.0)
    matrix = form(values.astype(np.float32))
    matrix.data = matrix.data.astype(np.float16)
    np.testing.assert_array_equal(SparseRows(matrix)[:], values)


def test_the_library_reads_sparse_values_by_blocks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    values = counts()
    settings: dict[str, Any] = {"top_variable": 5, "normalize": "cp10k"}
    cells = anndata.AnnData(sparse.csr_matrix(values.T))
    whole = pairtile.prepare_expression(values, **settings)
    sizes = []
    take = SparseRows.__getitem__

    def counted(self: SparseRows, rows: Any) -> np.ndarray:
        sizes.append(len(take(self, rows)))
        return take(self, rows)

    with monkeypatch.context() as patch:
        patch.setattr(large_table, "BLOCK_VALUES", 4 * N_CELLS)
        # Some genes are looked at together, to find totals among the samples: a million values.
        patch.setattr("pairtile.api.table.without_others", lambda read: read)
        patch.setattr(SparseRows, "__getitem__", counted)
        few = pairtile.prepare_expression(cells, **settings)
    np.testing.assert_array_equal(few.values, whole.values)
    assert max(sizes) == 4
    cells.X.data[7] = np.inf
    with pytest.raises(ValueError, match="1 infinite values in all"):
        pairtile.prepare_expression(cells)


MEASURE = """
import sys
from pathlib import Path
from pairtile.config.root import models
from pairtile.engine.estimator import estimator_of
from pairtile.engine.state import scratch_beside, write_state
from pairtile.method import get_method
from pairtile.runtime.host_memory import peak_host_bytes
known = get_method("mutual_information")
section = {"method": "mutual_information", "expression": sys.argv[1]}
section |= {"preprocess": {"normalize": "cp10k"}}
estimator, config = estimator_of(known.name), models()[known.name].model_validate(section)
import anndata, numba
state = Path(sys.argv[1]).with_name("state")
before = peak_host_bytes()
with scratch_beside(state) as scratch:
    write_state(state, estimator.prepare(config, 1, scratch).state, scratch)
print(peak_host_bytes() - before)
"""


@pytest.mark.complete
def test_memory_stays_far_below_that_of_the_dense_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((2500, 30_000), density=0.05, format="csr", rng=rng)
    matrix.data = np.ceil(30 * matrix.data).astype(np.float32)
    path = tmp_path / "t.h5ad"
    anndata.AnnData(matrix).write_h5ad(path)
    assert int(python(MEASURE, path)) < 0.75 * 8 * 30_000 * 2500
