"""Runs a notebook's cells in this process, in order; as a command, stores what they give in it.

    python tests/support/notebook_cells.py docs/notebooks/walkthrough.ipynb

The notebooks of the documentation hold plain Python, so that no kernel is needed to run them.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure


def run_cells(path: Path, namespace: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of code, as the notebook format has them; raises what a cell raises.

    ``namespace`` is left with the names that the cells define.
    """
    outputs = []
    for number, cell in enumerate(code_cells(json.loads(path.read_text(encoding="utf-8")))):
        source = "".join(cell["source"])
        outputs.append(_run(source, f"{path.name}[{number}]", namespace, number + 1))
    return outputs


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def _run(source: str, name: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if isinstance(value, Figure):
            picture = io.BytesIO()
            value.savefig(picture, format="png", dpi=60, metadata={"Software": None})
            data = {
                "image/png": base64.b64encode(picture.getvalue()).decode("ascii"),
                "text/plain": ["<Figure>"],
            }
        elif hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        found.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "metadata": {},
                "data": data,
            }
        )
    return found


def main(path: Path) -> None:
    """Run the notebook and write its outputs into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = run_cells(path, {"__name__": "__main__"})
    for number, (cell, found) in enumerate(zip(code_cells(notebook), outputs, strict=True)):
        cell["execution_count"], cell["outputs"] = number + 1, found
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
