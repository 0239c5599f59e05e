"""A network to cite, made of public data by one command (``make published``): *B. subtilis*.

    python -m benchmarks.bench_published [FOLDER]

Fetches the compendium (``fetch_data bsub``: 4,218 genes, 266 samples of GSE27219, with its checksum
held), runs ``CONFIG`` and leaves page and files in FOLDER/bsubtilis (default: published/).
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.fetch_data import SETS, checksum, data_folder, fetch
from benchmarks.machine import write

SET = "bsub"
CONFIG = {
    "method": "mutual_information",
    "regulators": "regulators.txt",
    "gold_standard": "gold_standard.tsv",
    "export": ["tsv", "graphml", "regulon", "html"],
}
"""Of the analysis, as in docs/recipes.md; the rest is left to the defaults."""


def run(folder: Path) -> dict[str, object]:
    """Make the network in ``folder``; what it is and how it agrees with the curated edges."""
    data = data_folder()
    source = data / SET if (data / SET).is_dir() else fetch(SET, data)
    if checksum(source) != SETS[SET].sha256:
        sys.exit(f"{source}: not the data that are published; remove the folder and run this again")
    keys = ("regulators", "gold_standard")
    section = CONFIG | {key: str(source / str(CONFIG[key])) for key in keys}
    section["expression"] = str(source / "expression.tsv.gz")
    folder.mkdir(parents=True, exist_ok=True)
    content = {"results": str(folder), "backend": "cpu", "analyses": {"bsubtilis": section}}
    (folder / "config.json").write_text(json.dumps(content, indent=1) + "\n")
    command = [sys.executable, "-m", "pairtile", "run", str(folder / "config.json")]
    subprocess.run(command, check=True)
    made = folder / "bsubtilis"
    summary = json.loads((made / "summary.json").read_text())
    evaluation = json.loads((made / "evaluation.json").read_text())
    judged = evaluation["network"]
    table = (made / "network.tsv").read_bytes()
    return {
        "data_sha256": SETS[SET].sha256,
        "cite": SETS[SET].cite,
        "licence": SETS[SET].licence,
        "warnings": [each["code"] for each in summary["messages"] if each["severity"] != "note"],
        "network": {"edges": table.count(b"\n") - 1, "sha256": hashlib.sha256(table).hexdigest()},
        "evaluation": {
            **{key: evaluation[key] for key in ("aupr", "random_aupr")},
            **{key: judged[key] for key in ("n_edges_judged", "precision", "recall")},
        },
    }


if __name__ == "__main__":
    write("published", "cpu", run(Path(sys.argv[1] if len(sys.argv) > 1 else "published")))
