"""The files of miRNA hits: ``miranda.txt`` and the tables of ``export.hits``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pairtile.engine.estimator import Merged, Written
from pairtile.methods.mirna_targets.export_hits import write_hits
from pairtile.methods.mirna_targets.hits import COLUMNS, Hits
from pairtile.methods.mirna_targets.miranda_text import TextSequences, write_miranda_text
from pairtile.methods.mirna_targets.prepare import header_lines
from pairtile.runtime.files import atomic_path

if TYPE_CHECKING:
    from pairtile.methods.mirna_targets.score import MirnaTargets


def write_target_tables(
    opened: MirnaTargets, merged: Merged, items: pd.DataFrame, folder: Path
) -> Written:
    """Write all files of hits into ``folder``; what they hold is said by their writers."""
    config, state = opened.config, opened.state
    restrict = np.asarray(state["restrict"]) if "restrict" in state else None
    if restrict is not None:
        restrict = np.unique(restrict, axis=0)
    with atomic_path(folder / "miranda.txt") as temporary, temporary.open("wb") as out:
        write_miranda_text(
            _hits(merged, opened.n_mirnas),
            _sequences(state, items, "mirna"),
            _sequences(state, items, "transcript"),
            opened.settings(),
            out,
            quiet=config["miranda_text"]["quiet"],
            keyval=config["miranda_text"]["keyval"],
            pairs=restrict,
        )
    done = write_hits(
        merged.batches(),
        items,
        state,
        folder,
        energies=config["estimator"]["energies"],
        annotation=config["annotation"],
        extras=config["extras"],
    )
    return Written(done.counts, done.warnings)


def _sequences(state: Any, items: pd.DataFrame, kind: str) -> TextSequences:
    """Names as in the file: those of the items are made unique."""
    names, headers = header_lines(np.asarray(state[f"{kind}_lines"]))
    kept = items[(items["kind"] == kind) & items["kept"]]
    return TextSequences(names, headers, kept["length"].to_numpy())


def _hits(merged: Merged, n_mirnas: int) -> Iterator[Hits]:
    """The merged hits in order, by rows of both files."""
    for batch in merged.batches():
        columns: dict[str, Any] = {}
        for name in COLUMNS:
            text = name in ("query_alignment", "match_line", "reference_alignment")
            columns[name] = batch[name].to_pylist() if text else batch[name].to_numpy()
        columns["j"] = columns["j"] - np.int32(n_mirnas)
        yield Hits(**columns)
