"""``pairtile.analyse``: the steps of the workflow in Python, over values in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from pairtile import analyse
from pairtile.errors import PairtileError
from workflow_runs import Analysis, write_data

SETTINGS: dict[str, Any] = {"score": "mi", "keep": {"top_edges": 20}, "export": ["tsv"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("analyse")
    write_data(found, 30, 60)
    return found


def table(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "expression.tsv", sep="\t", index_col=0)


def test_a_table_in_memory_gives_the_files_of_a_run(folder: Path, tmp_path: Path) -> None:
    expected = Analysis(folder, SETTINGS | {"regulators": "regulators.txt"}).all()
    regulators = pd.Index((folder / "regulators.txt").read_text().split())
    given = {"expression": table(folder), "regulators": regulators}
    found = analyse(
        "mutual_information", **given, **SETTINGS, folder=tmp_path / "out", seed=3, backend="cpu"
    )
    assert len(found.network) == 20
    for name in ("network.tsv", "network.parquet", "pairs.parquet", "items.parquet"):
        assert (found.folder / name).read_bytes() == (expected.out / name).read_bytes(), name


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pd.Index])
def test_a_list_of_names_is_taken_in_any_form(folder: Path, kind: Any) -> None:
    names = (folder / "regulators.txt").read_text().split()
    found = analyse(
        "mutual_information",
        expression=table(folder),
        regulators=kind(names),
        **SETTINGS,
        backend="cpu",
    )
    assert set(found.network["source"]) <= set(names)
    assert found.counts["regulators_used"] == len(names)


def test_columns_of_obs_say_what_is_regressed_out(folder: Path) -> None:
    values = table(folder).T
    plates = np.arange(len(values)) % 2
    obs = pd.DataFrame({"plate": [f"p{k}" for k in plates]}, index=values.index)
    shifted = values * np.exp(0.8 * plates)[:, None]
    preprocess = {"regress_out": ["plate"], "log2": True}
    of_cells = analyse(
        "mutual_information",
        expression=anndata.AnnData(shifted, obs=obs),
        preprocess=preprocess,
        **SETTINGS,
        backend="cpu",
    )
    of_tables = analyse(
        "mutual_information",
        expression=shifted.T,
        samples={"annotations": obs},
        preprocess=preprocess,
        **SETTINGS,
        backend="cpu",
    )
    pd.testing.assert_frame_equal(of_cells.network, of_tables.network)


def test_files_of_a_result_are_there_as_long_as_it_is(folder: Path) -> None:
    found = analyse("mutual_information", expression=table(folder), **SETTINGS, backend="cpu")
    files = found.folder
    assert (files / "network.tsv").is_file()
    del found
    assert not files.exists()


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"keep": {"top": 1}}, ValueError), ({"expresion": "x"}, ValueError), ({}, PairtileError)],
)
def test_what_a_configuration_refuses_is_refused(
    folder: Path, settings: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        analyse("mutual_information", expression=str(folder / "nowhere.tsv"), **settings)
