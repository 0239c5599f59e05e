"""Every method against results of another program, on input that is simulated here.

``tests/golden`` holds what these programs gave, with version and call; ``python -m benchmarks.peers
--golden`` installs them and records it anew. The input is made again and must have the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.method import methods
from paths import TESTS

from benchmarks.peers import ours
from benchmarks.peers.__main__ import PEERS
from benchmarks.peers.inputs import checksums, make

GOLDEN = TESTS / "golden"
RECORDED = sorted(path.stem for path in GOLDEN.glob("*.json"))


def golden(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text())
    return found


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    make(folder)
    return folder


@pytest.mark.parametrize("name", RECORDED)
def test_the_input_is_the_one_that_the_program_had(name, inputs):
    assert golden(name)["inputs"] == checksums(inputs)


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_version_is_the_one_that_is_compared(name):
    found = golden(name)
    assert PEERS[name].requirements[0] == f"{found['program']}=={found['version']}"


@pytest.mark.parametrize("name", [name for name in RECORDED if name != "mixtures"])
def test_numbers_are_those_of_the_other_program(name, inputs):
    expected = np.array(golden(name)["results"])
    assert expected.std() > 0
    np.testing.assert_allclose(getattr(ours, name)(inputs), expected, rtol=0, atol=1e-12)


def test_modes_and_their_samples_are_those_of_the_other_program(inputs):
    expected = golden("mixtures")["results"]
    assert {number for number, _ in expected} == {1, 2, 3}
    assert ours.mixtures(inputs) == expected


def test_every_method_has_such_a_result():
    assert {PEERS[name].method for name in RECORDED} == set(methods())
