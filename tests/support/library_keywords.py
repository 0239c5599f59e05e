"""What docstrings of library functions say of their settings: the descriptions of the models.

``python tests/support/library_keywords.py`` writes them into the source anew; a test compares.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pairtile
from pairtile.api.settings import Keywords
from pairtile.config.downstream import DifferentialConfig
from pairtile.config.preprocess import Preprocess, TableAnalysis
from pairtile.config.root import Config
from pairtile.methods.mirna_targets import api as hits
from pairtile.methods.mirna_targets import api_signal as signal
from pairtile.methods.multimodal_correlation import api as modes
from pairtile.methods.mutual_information import api as matrices
from pairtile.methods.mutual_information import api_network as networks
from pairtile.methods.predictor_pairs import api as predictors
from pairtile.methods.trajectory_correlation import api as motion
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

OWN_WORDS = {("network", "annotations")}
"""Settings that take more than the configuration does, and say so themselves."""


def settings(function: Any) -> Iterator[tuple[str, FieldInfo]]:
    """The settings of a function, and what the models say of them."""
    keywords = FUNCTIONS[function]
    if function is pairtile.differential:
        yield "score", DifferentialConfig.model_fields["score"]
    elif keywords is None:
        yield from ((k, one) for k, one in Preprocess.model_fields.items() if k != "regress_out")
    else:
        yield from ((name, keywords.field(path)) for name, path in keywords.places.items())
    shared = {**Config.model_fields, **TableAnalysis.model_fields}
    for name in ("seed", "orientation", "obs"):
        if name in inspect.signature(function).parameters:
            yield name, shared[name]


def descriptions(function: Any) -> Iterator[tuple[str, str]]:
    """What its docstring says of each setting, in words of its keywords."""
    keywords = FUNCTIONS[function]
    for name, field in settings(function):
        if (function.__name__, name) in OWN_WORDS:
            continue
        text = in_python(field.description or "")
        for argument, path in keywords.places.items() if keywords else ():
            text = text.replace(path, argument) if "." in path else text
        yield name, " ".join(text.split())


def in_python(text: str) -> str:
    """What a description of a key calls true, false and null."""
    text = re.sub(r"(?<![`\w.])null(?=[:;]|$)|(?<=or )null\b|(?<=as )null\b", "None", text)
    return re.sub(r"\b(true|false)(?=[:`,;.)]| or\b|$)", lambda m: m[0].title(), text)


def rewritten(source: str, function: Any) -> str:
    """Source with the descriptions in the docstring of a function."""
    begin = source.index(f"def {function.__name__}(")
    end = source.index("Returns\n", begin)
    doc = source[begin:end]
    for name, text in descriptions(function):
        entry = re.search(rf"^( +){name} : .*\n((?:\1 {{4}}.*\n)+)", doc, re.MULTILINE)
        lacking = f"{function.__name__}: add an entry `{name} : its type` and any line below it"
        assert entry, lacking
        indent = entry[1] + "    "
        lines = textwrap.wrap(text, 100 - len(indent), break_on_hyphens=False)
        block = textwrap.indent("\n".join(lines), indent) + "\n"
        doc = doc[: entry.start(2)] + block + doc[entry.end(2) :]
    return source[:begin] + doc + source[end:]


if __name__ == "__main__":
    for function in FUNCTIONS:
        path = Path(inspect.getsourcefile(function) or "")
        path.write_text(rewritten(path.read_text("utf-8"), function), "utf-8")
