"""Keywords of library functions that are settings: those of the models, in every place."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pairtile
import pytest
from pairtile.api.keywords import Keywords
from pairtile.methods.mutual_information.config import MutualInformationConfig

FUNCTIONS = [
    pairtile.infer_network,
    pairtile.mirna_signal,
    pairtile.mirna_targets,
    pairtile.multimodal_correlation,
    pairtile.mutual_information,
    pairtile.permutation_null,
    pairtile.predictor_pairs,
    pairtile.prepare_expression,
    pairtile.trajectory_correlation,
    pairtile.ModeCorrelation.network,
]
KEYWORDS = Keywords(
    MutualInformationConfig,
    *("dpi", "keep", "estimator.*", "seed", "backend"),
    optional=("knots",),
    null="null.kind",
)


@KEYWORDS.signature
def settings_of(values: Any = 0, **settings: Any) -> Any:
    """What was asked for.

    Parameters
    ----------
    values : any

    Returns
    -------
    The settings.
    """
    return KEYWORDS.config(settings)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_keyword_is_described_and_known_to_type_checkers(function: Any) -> None:
    text = inspect.getdoc(function) or ""
    section = text[text.index("Parameters\n---") : text.index("Returns\n---")]
    described = re.findall(r"^(\w[\w, ]*?)(?: :|$)", section, re.MULTILINE)
    names = {name for names in described for name in names.split(", ")}
    parameters = inspect.signature(function).parameters
    assert set(parameters) - {"self"} <= names
    for name in re.findall(r"^    (\w+):", function.keyword_types, re.MULTILINE):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY


def test_defaults_are_those_of_the_model_and_none_leaves_them() -> None:
    given = {name: p.default for name, p in inspect.signature(settings_of).parameters.items()}
    assert given["keep"] == given["bins"] == "auto"
    assert given["dpi"] is given["knots"] is None
    asked = settings_of()
    assert (asked.dpi.tolerance, asked.estimator.knots) == (0.1, "clamped")
    assert asked == settings_of(dpi=None, knots=None) == settings_of(5)


def test_settings_reach_their_keys() -> None:
    asked = settings_of(dpi=True, bins=np.int64(7), null="circular_shift", keep={"fdr": 0.1})
    assert (asked.dpi.tolerance, asked.estimator.bins) == (0.0, 7)
    assert (asked.null.kind, asked.keep.fdr) == ("circular_shift", 0.1)
    assert settings_of(dpi=False).dpi is False


def test_unknown_keywords_are_no_arguments() -> None:
    with pytest.raises(TypeError, match="'bin'"):
        settings_of(bin=4)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"bins": 0}, "bins"),
        ({"null": "x"}, "null"),
        ({"dpi": {"tolerance": 2}}, "dpi.tolerance"),
        ({"seed": -1}, "seed"),
    ],
)
def test_faults_name_the_keyword(settings: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError) as caught:
        settings_of(**settings)
    assert str(caught.value).startswith(f"{place}: ")
