"""Keywords of library functions that are settings: those of the models, in every place."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pairtile
import pytest
from pairtile.api.keywords import Keywords
from pairtile.config import Config
from pairtile.config.downstream import DifferentialConfig
from pairtile.config.preprocess import Preprocess, TableAnalysis
from pairtile.methods.mirna_targets import api as hits
from pairtile.methods.mirna_targets import api_signal as signal
from pairtile.methods.multimodal_correlation import api as modes
from pairtile.methods.mutual_information import api as matrices
from pairtile.methods.mutual_information import api_network as networks
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pairtile.methods.predictor_pairs import api as predictors
from pairtile.methods.trajectory_correlation import api as motion
from pydantic import BaseModel
from pydantic.fields import FieldInfo

FUNCTIONS: dict[Any, Keywords[Any] | None] = {
    pairtile.differential: None,
    pairtile.infer_network: networks.KEYWORDS,
    pairtile.mirna_signal: signal.KEYWORDS,
    pairtile.mirna_targets: hits.KEYWORDS,
    pairtile.multimodal_correlation: modes.MODES,
    pairtile.mutual_information: matrices.SCORES,
    pairtile.permutation_null: matrices.NULL,
    pairtile.predictor_pairs: predictors.KEYWORDS,
    pairtile.prepare_expression: None,
    pairtile.trajectory_correlation: motion.KEYWORDS,
    pairtile.ModeCorrelation.network: modes.NETWORK,
}
"""Functions with settings; those without ``Keywords`` have some of a section."""

OTHER_DEFAULTS = {
    ("permutation_null", "permutations"): 1_000_000,
    ("network", "power"): True,
    ("network", "modules"): True,
    ("network", "conditions"): (),
    **dict.fromkeys(
        [("trajectory_correlation", key) for key in ("fit", "reference", "select", "positions")]
    ),
}
KEYWORDS = Keywords(
    MutualInformationConfig, "dpi", "keep", "estimator.*", "null.kind", null="null.kind"
)


def settings_of(
    dpi: Any = None,
    keep: Any = "auto",
    bins: Any = "auto",
    order: Any = "auto",
    knots: Any = "clamped",
    transform: Any = "auto",
    precision: Any = "auto",
    seed: Any = 1,
    **more: Any,
) -> Any:
    return KEYWORDS.config(locals() | more)


def shared(name: str) -> FieldInfo | None:
    """A key that is in no method's model alone."""
    for model in (Config, TableAnalysis):
        if name in ("seed", "orientation", "obs") and name in model.model_fields:
            return model.model_fields[name]
    return None


def settings(function: Any) -> Iterator[tuple[str, FieldInfo]]:
    keywords = FUNCTIONS[function]
    if function is pairtile.differential:
        yield "score", DifferentialConfig.model_fields["score"]
    elif keywords is None:
        cleaning = dict(Preprocess.model_fields)
        del cleaning["regress_out"]
        yield from cleaning.items()
    else:
        yield from ((name, keywords.field(path)) for name, path in keywords.places.items())
    for name in inspect.signature(function).parameters:
        if (field := shared(name)) is not None:
            yield name, field


def entries(function: Any) -> Mapping[str, str]:
    """The text of each parameter in a docstring."""
    text = inspect.getdoc(function) or ""
    section = text[text.index("Parameters\n---") : text.index("Returns\n---")]
    found = re.findall(r"^(\w[\w, ]*?)(?: :.*)?\n((?:    .*\n|\n)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}


def in_python(text: str) -> str:
    """What a description of a key calls true, false and null."""
    text = re.sub(r"(?<![`\w.])null(?=[:;]|$)|(?<=or )null\b|(?<=as )null\b", "None", text)
    return re.sub(r"\b(true|false)(?=[:`,;.)]| or\b|$)", lambda m: m[0].title(), text)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_keyword_has_default_and_description_of_its_key(function: Any) -> None:
    parameters, described = inspect.signature(function).parameters, entries(function)
    assert set(parameters) - {"self"} <= set(described)
    keywords = FUNCTIONS[function]
    for name, field in settings(function):
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            default = default.model_dump(mode="json")
        if isinstance(default, dict | list | tuple):
            default = None  # stands for the section with its defaults
        expected = OTHER_DEFAULTS.get((function.__name__, name), default)
        assert parameters[name].default == expected, name
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, name
        text = in_python(field.description or "")
        for argument, path in keywords.places.items() if keywords else ():
            text = text.replace(path, argument) if "." in path else text
        assert " ".join(text.split()) in described[name], f"{name}: expected {text}"


def test_none_leaves_the_default_of_the_model() -> None:
    asked = settings_of(null="auto")
    assert (asked.dpi.tolerance, asked.estimator.knots) == (0.1, "clamped")
    assert asked == settings_of(dpi=None, knots=None, null=None)


def test_settings_reach_their_keys() -> None:
    asked = settings_of(dpi=True, bins=np.int64(7), null="circular_shift", keep={"fdr": 0.1})
    assert (asked.dpi.tolerance, asked.estimator.bins) == (0.0, 7)
    assert (asked.null.kind, asked.keep.fdr) == ("circular_shift", 0.1)
    assert settings_of(dpi=False, null="auto").dpi is False


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
        settings_of(**({"null": "auto"} | settings))
    assert str(caught.value).startswith(f"{place}: ")
