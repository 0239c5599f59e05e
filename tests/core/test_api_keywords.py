"""Keywords of library functions that are settings: those of the models, in every place."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from library_keywords import FUNCTIONS, rewritten, settings
from pairtile.api.settings import Keywords
from pairtile.methods.mutual_information.config import MutualInformationConfig
from pydantic import BaseModel

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
    return KEYWORDS.config(locals() | more, expression="in memory")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_keyword_has_the_default_of_its_key_and_is_described(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    for name, field in settings(function):
        assert name in parameters, f"{function.__name__} has no keyword for the key {name}"
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            default = default.model_dump(mode="json")
        if isinstance(default, dict | list | tuple):
            default = None  # stands for the section with its defaults
        expected = OTHER_DEFAULTS.get((function.__name__, name), default)
        assert parameters[name].default == expected, name
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, name
    text = inspect.getdoc(function) or ""
    section = text[text.index("Parameters\n---") : text.index("Returns\n---")]
    found = re.findall(r"^(\w[\w, ]*?)(?: :|$)", section, re.MULTILINE)
    assert set(parameters) - {"self"} <= {name for names in found for name in names.split(", ")}


def choices(annotation: object) -> set[str]:
    """The texts that a type of the models allows."""
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return {part for part in parts if isinstance(part, str)}
    return set().union(*map(choices, parts))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_choices_in_signature_and_docstring_are_those_of_the_models(function: Any) -> None:
    document = inspect.getdoc(function) or ""
    for name, field in settings(function):
        literals = re.findall(
            r"Literal\[(.*?)\]", inspect.signature(function).parameters[name].annotation
        )
        found = {text for part in literals for text in re.findall(r"""['"](.*?)['"]""", part)}
        known = choices(field.annotation)
        if found and known:
            assert found == known, name
            entry = re.search(rf"^{name} : (.*)$", document, re.MULTILINE)
            assert entry, name
            of_entry = re.findall(r"\w+", entry[1])
            # More than a line holds are named by their description.
            assert of_entry == ["str"] or known <= set(of_entry), name


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_descriptions_are_those_of_the_models(function: Any) -> None:
    source = Path(inspect.getsourcefile(function) or "").read_text(encoding="utf-8")
    stale = "is not what the models say: run python tests/support/library_keywords.py"
    assert rewritten(source, function) == source, stale


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
