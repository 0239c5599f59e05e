"""docs/library.md: every block of Python runs, from top to bottom, and gives what the text says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pairtile
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "library.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page's blocks leave behind, run in order in one namespace."""
    text = PAGE.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        # Empty lines in front, so that a traceback names the line of the page.
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), namespace)
    return namespace


@pytest.mark.complete
def test_every_block_of_the_page_runs(names: dict[str, Any]) -> None:
    assert len(BLOCK.findall(PAGE.read_text(encoding="utf-8"))) > 10
    assert len(names["network"]) > 0


def test_page_names_every_function() -> None:
    text = PAGE.read_text(encoding="utf-8")
    functions = [name for name in pairtile.__all__ if name.islower() and name != "__version__"]
    assert [name for name in functions if f"`{name}`" not in text] == []


def test_results_are_what_the_page_says(names: dict[str, Any]) -> None:
    assert names["by_regulator"].shape == (8, 60)
    assert names["between"].shape == (40, 20)
    assert len(names["same"]) == 100
    assert names["judged"]["aupr"] > 3 * names["judged"]["random_aupr"]
    np.testing.assert_allclose(names["adata"].varp["mi"], names["mi"], atol=1e-4)
    assert 0 < len(names["direct"]) < len(names["edges"])
    assert names["graph"].number_of_edges() == len(names["network"])
    assert (names["folder"] / "network.graphml").stat().st_size > 0
    assert 0 < len(names["trusted"]) < len(names["best"]) == 30
    assert names["chosen"]["target"].nunique() == 10
    assert names["judged_pairs"]["aupr"] > 10 * names["judged_pairs"]["random_aupr"]
    assert set(names["hits"]["mirna"]) == {"let-7a", "miR-1"}
    assert 0 < len(names["strong"]) < len(names["hits"])
    assert {"duplex_energy_kcal_mol", "accessibility"} < set(names["more"].columns)
    assert len(names["target_network"]) == 2
    assert names["modes"].modes["n_modes"].tolist() == [2, 2]
    assert names["scatter"].axes
    heat = names["of_modes"].condition_networks.query("label == 'heat'")
    assert heat[["source", "target", "direction"]].values.tolist() == [
        ["gene0", "gene1", "positive"]
    ]
    assert len(names["tests"]) == 4
    assert names["power"][0] < 0.5 < 0.99 < names["power"][1]
    assert 0.5 < names["limit"].threshold < 0.7
    assert names["motion"].correlation.shape == (5, 5)
    assert names["motion"].correlation.loc["A", "B"] > names["motion"].correlation.loc["A", "E"]
    assert names["motion"].communities()["E"] == 0
    assert names["route"]["rank"].tolist() == [1, 2, 3]
    assert len(names["change"]) == 10
    assert names["figure"].axes
    assert names["energies"][0] < names["energies"][1] < 0


def test_page_shows_the_message_as_it_is() -> None:
    with pytest.raises(ValueError) as caught:
        pairtile.mutual_information(np.ones((3, 30)), bins=4, order=5)
    assert f"# {caught.value}" in PAGE.read_text(encoding="utf-8")
