"""What jobs that compute tiles ask for, against what they take: enough, and not many times it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.runtime.requests import START_BYTES
from workflow_runs import ROOT

MI = {
    "method": "mutual_information",
    "score": "mi",
    "expression": "wide.tsv",
    "regulators": "few.txt",
}
MODES = {"method": "multimodal_correlation", "preprocess": {"log2": False}}
MOTION = {"method": "trajectory_correlation"}
CASES: dict[str, dict[str, Any]] = {
    "weights_of_many_samples": MI | {"null": {"permutations": 10_000}, "keep": {"p_value": 0.01}},
    "weights_of_many_bins": MI
    | {
        "expression": "middle.tsv",
        "estimator": {"bins": 40},
        "null": {"permutations": 10_000},
        "keep": {"p_value": 0.01},
    },
    "masks_of_every_pair": MODES
    | {
        "expression": "middle.tsv",
        "estimator": {"clustering": "none", "min_correlation": 0.0},
        "threshold": {"method": "score", "score": 0.5},
    },
    "missing_values": MODES
    | {
        "expression": "gaps.tsv",
        "estimator": {"clustering": "none", "correlation": "pearson", "outliers_before": False},
        "threshold": {"method": "score", "score": 0.5},
    },
    "mixtures": MODES
    | {
        "expression": "wide.tsv",
        "estimator": {"max_clusters": 1, "min_correlation": 0.9},
        "threshold": {"method": "score", "score": 0.95},
    },
    "predictors": {
        "method": "predictor_pairs",
        "expression": "gaps.tsv",
        "targets": "few.txt",
        "null": {"permutations": 2},
    },
    "alignments": {
        "method": "mirna_targets",
        "mirnas": "mirnas.fa",
        "transcripts": "transcripts.fa",
        "estimator": {"score": 90, "energies": False, "energy": 0},
    },
    "neighbours": MOTION | {"time_series": ["few.npy"], "estimator": {"surrogates": 0}},
    "gaussian": MOTION
    | {"time_series": ["many.npy"], "estimator": {"kind": "gaussian", "surrogates": 2}},
    "displacements": MOTION
    | {"time_series": ["many.npy"], "estimator": {"kind": "dcc", "surrogates": 2}},
    "splines_of_motion": MOTION
    | {"time_series": ["few.npy"], "estimator": {"kind": "bspline", "surrogates": 3, "bins": 16}},
}
"""Analyses in which the data, not the programs, take most of the memory."""

KERNELS = 128 << 20
"""What the first call of compiled kernels and their libraries takes; ``START_BYTES`` has room
for it."""


def write_table(path: Path, genes: int, samples: int, missing: float = 0.0) -> None:
    random_numbers = np.random.default_rng(1)
    values = random_numbers.normal(size=(genes, samples)) + random_numbers.normal(size=samples)
    texts = np.char.mod("%.4g", values)
    texts[random_numbers.random(values.shape) < missing] = "NA"
    lines = ["\t".join(["gene", *(f"s{k}" for k in range(samples))])]
    lines += ["\t".join([f"g{k}", *row]) for k, row in enumerate(texts)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    folder = tmp_path_factory.mktemp("memory")
    write_table(folder / "wide.tsv", 520, 6000)
    write_table(folder / "middle.tsv", 520, 2000)
    write_table(folder / "gaps.tsv", 1100, 600, missing=0.05)
    (folder / "few.txt").write_text("g1\ng5\ng7\n")
    draw = random.Random(3)
    for name, number, length in (("mirnas.fa", 60, 22), ("transcripts.fa", 300, 3000)):
        texts = ("".join(draw.choices("ACGU", k=length)) for _ in range(number))
        (folder / name).write_text("".join(f">{name[0]}{k}\n{t}\n" for k, t in enumerate(texts)))
    random_numbers = np.random.default_rng(2)
    np.save(folder / "few.npy", random_numbers.normal(size=(4000, 40, 3)))
    np.save(folder / "many.npy", random_numbers.normal(size=(1500, 1100, 3)))
    (folder / "cases.json").write_text(json.dumps(CASES))
    path = os.pathsep.join([str(ROOT / "tests/support"), str(ROOT / "workflow")])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_NUM_THREADS": "2"}
    # A compiler takes more memory than most of these.
    warm = [sys.executable, "-m", "pairtile", "warm"]
    subprocess.run(warm, env=environment, cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/support/job_memory.py"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    mark = "MEASURED "
    found = [json.loads(line[len(mark) :]) for line in done.stdout.splitlines() if mark in line]
    return {one.pop("name"): one for one in found}


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_a_chunk_takes_less_than_it_asks_for_and_not_much_less(
    name: str, measured: dict[str, dict[str, int]]
) -> None:
    asked = measured[name]["asked"] - START_BYTES
    taken = measured[name]["taken"]
    assert asked / 10 < taken < 0.9 * asked + KERNELS
