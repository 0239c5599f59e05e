"""Memory of the step network for each stored pair, against what its job asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pairtile.api.settings import analysis_config
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.runtime.requests import data_bytes
from workflow_runs import ROOT

sys.path.append(str(ROOT))
from benchmarks.bench_many_pairs import CASES, write_pairs

GENES = (1200, 2400)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("pairs")
    paths = {genes: folder / f"{genes}.parquet" for genes in GENES}
    for genes, path in paths.items():
        write_pairs(path, genes)
    return paths


def peak(path: Path, genes: int, case: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_many_pairs", "--measure", path, str(genes), case],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow"), "NUMBA_NUM_THREADS": "2"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(json.loads(done.stdout)["peak_bytes"])


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_a_network_takes_less_than_it_asks_for_and_not_much_less(
    case: str, stored: dict[int, Path]
) -> None:
    less, more = (peak(stored[genes], genes, case) for genes in GENES)
    bytes_less, bytes_more = (data_bytes([stored[genes]]) for genes in GENES)
    times = (more - less) / (bytes_more - bytes_less)
    asked = analysis_config(
        MutualInformationConfig, expression="e.tsv", **CASES[case]
    ).network_memory_factor
    assert asked / 6 < times < 0.9 * asked
