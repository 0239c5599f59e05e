"""The public names: all there, none too early, with the configuration's defaults."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pairtile
import pandas as pd
import pytest
from pairtile.config.load import load_config
from pairtile.io.expression import Expression
from pairtile.method import methods
from pairtile.simulate.modes import simulate_modes


@pytest.mark.parametrize("name", pairtile.__all__)
def test_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(pairtile, name)
    assert name in dir(pairtile)
    if name != "__version__":
        assert len(inspect.getdoc(value) or "") > 30


def test_unknown_names_are_refused_as_for_any_module() -> None:
    with pytest.raises(AttributeError, match=r"pairtile.*nothing"):
        _ = pairtile.nothing  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        exec("from pairtile import nothing")


def test_defaults_are_those_of_the_configuration() -> None:
    config = load_config(
        {"analyses": {"x": {"method": "mutual_information", "expression": "table.tsv"}}}
    )
    section = config.analyses["x"].resolved()
    own: dict[str, Any] = {
        **section["estimator"],
        **section["preprocess"],
        "orientation": section["orientation"],
        "layer": section["layer"],
        "seed": config.seed,
        "backend": config.backend,
    }
    for function in (
        pairtile.mutual_information,
        pairtile.permutation_null,
        pairtile.prepare_expression,
        pairtile.infer_network,
    ):
        for name, parameter in inspect.signature(function).parameters.items():
            if name in own and name != "regress_out":  # here the columns themselves
                assert parameter.default == own[name], (function.__name__, name)


def test_what_the_library_returns_prints_as_one_line() -> None:
    kinetic = pairtile.simulate_kinetic(n_genes=30, n_samples=60)
    table = pd.DataFrame(kinetic.values, index=kinetic.genes, columns=kinetic.samples)
    motion = np.random.default_rng(1).normal(size=(200, 4, 3))
    returned = [
        kinetic,
        pairtile.simulate_boolean(n_genes=30, n_steps=8),
        simulate_modes(n_pairs=2, n_samples=60),
        pairtile.prepare_expression(table, pseudocount=1),
        Expression(kinetic.values, kinetic.genes, kinetic.samples, "table.tsv"),
        pairtile.permutation_null(table, permutations=1000),
        pairtile.trajectory_correlation(motion, kind="gaussian", surrogates=0),
    ]
    for found in returned:
        text = repr(found)
        assert text.startswith(type(found).__name__)
        assert len(text) < 120
        assert "\n" not in text


@pytest.mark.parametrize("method", list(methods()))
def test_no_step_or_page_loads_the_tests_of_scipy_before_it_uses_them(method: str) -> None:
    """``scipy.stats`` is four hundred modules: a third to half a second of each run."""
    script = f"""
import pkgutil, sys
import pairtile.downstream.charts, pairtile.report.page, pairtile.steps
from pairtile.method import get_method
for module in pkgutil.iter_modules(pairtile.steps.__path__, "pairtile.steps."):
    __import__(module.name)
method = get_method({method!r})
method.part("score")
pkgutil.resolve_name(method.part(method.report).figures)
assert "matplotlib" in sys.modules  # figures are there
print("scipy.stats" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
