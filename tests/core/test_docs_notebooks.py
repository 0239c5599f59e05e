"""docs/notebooks: every notebook is valid, runs from top to bottom and holds what it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pairtile
import pytest
from notebook_cells import code_cells, run_cells

pytestmark = pytest.mark.complete

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def executed(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any], list[Any]]:
    """A notebook, the names that its cells leave, and their outputs."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    return request.param, namespace, run_cells(request.param, namespace)


def test_there_is_a_walkthrough() -> None:
    assert FOLDER / "walkthrough.ipynb" in NOTEBOOKS


def test_cells_give_what_the_notebook_shows(
    executed: tuple[Path, dict[str, Any], list[Any]],
) -> None:
    path, _, outputs = executed
    cells = code_cells(json.loads(path.read_text(encoding="utf-8")))
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True)):
        assert [_kind(output) for output in cell["outputs"]] == [_kind(output) for output in found]
        for stored, made in zip(cell["outputs"], found, strict=True):
            assert _text(stored) == _text(made), (
                f"cell {number}: run tests/support/notebook_cells.py again"
            )


def test_the_notebook_is_small_and_valid(
    executed: tuple[Path, dict[str, Any], list[Any]],
) -> None:
    path = executed[0]
    assert path.stat().st_size < 300_000
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(path, as_version=4))


def test_the_walkthrough_arrives(executed: tuple[Path, dict[str, Any], list[Any]]) -> None:
    path, names, _ = executed
    if path.stem != "walkthrough":
        pytest.skip("another notebook")
    judged = names["judged"]
    assert judged["aupr"] > 2 * judged["random_aupr"]
    assert isinstance(names["found"], pairtile.ModeCorrelation)
    heat, cold = names["found"].modes["correlation"]
    assert heat > 0.9
    assert cold < -0.9
    assert names["adata"].varp["network"].nnz > 0


def _kind(output: dict[str, Any]) -> tuple[str, ...]:
    return output["output_type"], *sorted(output.get("data", {}))


def _text(output: dict[str, Any]) -> str:
    lines = output.get("text") or output["data"]["text/plain"]
    return "".join(lines)
