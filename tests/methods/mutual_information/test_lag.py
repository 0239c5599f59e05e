"""Lagged mutual information is that of the source and the later target, within series."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pairtile import infer_network, mutual_information
from pairtile.preprocess.transitions import lagged_samples

RAW = {"preprocess": {"log2": False, "sample_scale": False}, "backend": "cpu"}
SPLINES = {"bins": 6, "order": 2, "transform": "rank"}
SERIES = np.repeat([0, 1, 2], [30, 1, 33])


def courses(missing: float = 0.0) -> np.ndarray:
    """Gene 1 follows gene 0 two samples later, gene 3 the square of gene 2."""
    random = np.random.default_rng(1)
    values = random.normal(size=(8, SERIES.size))
    for series in range(3):
        here = np.flatnonzero(series == SERIES)
        values[1, here[2:]] = values[0, here[:-2]] + 0.2 * random.normal(size=max(0, here.size - 2))
        values[3, here[2:]] = values[2, here[:-2]] ** 2
    values[random.random(values.shape) < missing] = np.nan
    return values


def every_pair(values: np.ndarray, **settings: object) -> pd.DataFrame:
    series = [f"s{k}" for k in SERIES]
    asked = {"lag": 2, "keep": "all", "min_samples": 10, **SPLINES, **RAW, **settings}
    cleaning = {**RAW["preprocess"], "min_samples": asked.pop("min_samples")}
    return infer_network(values, series=series, **{**asked, "preprocess": cleaning})


@pytest.mark.parametrize("missing", [0.0, 0.1], ids=["", "missing"])
def test_scores_are_those_of_source_and_later_target_side_by_side(missing: float) -> None:
    values = courses(missing)
    found = every_pair(values)
    lagged = lagged_samples(SERIES, 2, "table")
    assert lagged.source.size == 28 + 31
    sources, targets = values[:, lagged.source], values[:, lagged.target]
    both = mutual_information(sources, other=targets, min_samples=10, backend="cpu", **SPLINES)
    assert found.attrs["directed"]
    assert len(found) == 8 * 7
    assert (found["source"] != found["target"]).all()
    expected = np.asarray(both)[found["source"], found["target"]]
    np.testing.assert_allclose(found["mi_bits"], expected, rtol=1e-9)


def test_delayed_relations_are_found_with_their_direction_and_no_others() -> None:
    found = every_pair(courses(), keep={"fdr": 0.01})
    ends = set(zip(found["source"], found["target"], strict=True))
    assert ends == {(0, 1), (2, 3)}
    modes = found.set_index("source")["mode"]
    assert modes[0] == "activation"
    assert modes[2] == "non-monotonic"
    assert every_pair(courses(), keep={"fdr": 0.01}, lag=0, dpi=False).empty


def test_regulators_alone_are_sources() -> None:
    found = every_pair(courses(), regulators=[0, 3])
    assert set(found["source"]) == {0, 3}
    assert len(found) == 2 * 7
    alone = every_pair(courses()).set_index(["source", "target"])["mi_bits"]
    both = found.set_index(["source", "target"])["mi_bits"]
    pd.testing.assert_series_equal(both.sort_index(), alone.loc[both.index].sort_index())


@pytest.mark.parametrize(
    ("settings", "refused"),
    [({"score": "clr"}, "score.*mi or auto beside lag"), ({"lag": -1}, "lag")],
)
def test_settings_that_do_not_go_with_a_lag_are_refused(
    settings: dict[str, object], refused: str
) -> None:
    with pytest.raises(ValueError, match=refused):
        every_pair(courses(), **settings)


@pytest.mark.gpu
def test_gpu_agrees_with_cpu() -> None:
    expected = every_pair(courses(0.1), precision="float64").set_index(["source", "target"])
    found = every_pair(courses(0.1), precision="float64", backend="cuda")
    found = found.set_index(["source", "target"]).loc[expected.index]
    np.testing.assert_allclose(found["mi_bits"], expected["mi_bits"], rtol=1e-9)
