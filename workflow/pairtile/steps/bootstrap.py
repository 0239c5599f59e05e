"""Rule ``bootstrap``: some bootstrap networks, each MI -> threshold -> DPI on resampled samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pairtile.errors import InputError
from pairtile.estimators.base import Section
from pairtile.files import atomic_path
from pairtile.network.in_memory import network_in_memory
from pairtile.record import Progress, recorded
from pairtile.state import open_state
from pairtile.steps.plan import Plan, read_plan


def bootstrap(
    section: Section, plan_file: Path, state: Path, first: int, last: int, out: Path
) -> None:
    """Compute bootstraps ``first`` .. ``last`` and write their edges: bootstrap, i, j."""
    with recorded(f"bootstrap {first}-{last}"):
        plan = read_plan(plan_file)
        opened: Any = plan.open_estimator(section, state)
        arrays = open_state(state)
        progress = Progress(last - first + 1, "bootstraps")
        parts = []
        for number in range(first, last + 1):
            replicate = opened.resampled(resample_samples(section, arrays, plan.seed, number))
            i, j = _edges(replicate, plan)
            columns = {"bootstrap": np.full(i.size, number, dtype=np.int32), "i": i, "j": j}
            parts.append(pd.DataFrame(columns))
            progress.advance(1)
        with atomic_path(out) as temporary:
            pd.concat(parts, ignore_index=True).to_parquet(temporary, index=False)


def resample_samples(
    section: Section, state: Mapping[str, NDArray[Any]], seed: int, number: int
) -> NDArray[np.int64]:
    """Samples of bootstrap ``number``: keyed on (seed, number) alone.

    ``bootstrap`` draws as many as there are with replacement, every sample as likely as any other;
    ``subsample`` draws a fraction without replacement.
    """
    n = int(state["z"].shape[1])
    settings = section["bootstraps"]
    options = settings if isinstance(settings, Mapping) else {}
    key = [np.uint64(seed), np.uint64(0x626F6F74)]  # "boot"
    random = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, number]))
    if options.get("resample", "bootstrap") == "subsample":
        size = round(n * float(options["fraction"]))
        least = int(section["preprocess"]["min_samples"])
        if size < least:
            raise InputError(
                f"bootstraps.fraction: found {options['fraction']}, which leaves {size} of {n} "
                f"samples; expected at least preprocess.min_samples ({least})"
            )
        return np.sort(random.choice(n, size=size, replace=False))
    return np.sort(random.integers(0, n, size=n))


def _edges(opened: Any, plan: Plan) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The undirected edges of one network, as in the merged table: sorted by (i, j)."""
    result = network_in_memory(opened, plan.tiles, plan.seed)
    is_regulator = opened.is_regulator
    a = result.edges["source"].to_numpy()
    b = result.edges["target"].to_numpy()
    # The regulator first, else the smaller number first.
    swap = b < a
    if is_regulator is not None:
        swap = is_regulator[b] & (~is_regulator[a] | (b < a))
    i, j = np.where(swap, b, a), np.where(swap, a, b)
    unique = np.unique(np.stack([i, j]), axis=1) if i.size else np.empty((2, 0))
    return unique[0].astype(np.int32), unique[1].astype(np.int32)
