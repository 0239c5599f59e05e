"""The configuration: everything that a run of pairtile is given.

The models of the methods come from the registry (``pairtile.method``), and with them what the
schema, the documentation and the messages say of each.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    PrivateAttr,
    StringConstraints,
)
from pydantic_core import CoreSchema, core_schema

from pairtile.config.addresses import Checksums, address_rules
from pairtile.config.models import Analysis, ConfigModel, Rule
from pairtile.config.values import Expected, FullDescription, Text, join_list
from pairtile.errors import ConfigError
from pairtile.method import methods


def models() -> dict[str, type[Analysis]]:
    """The model of each method by the method's name."""
    return {name: method.part(method.config) for name, method in methods().items()}


METHOD_ERROR = "method"
"""Error type of an analysis without a known method; its message lists the methods."""


def model_of(section: object) -> type[Analysis] | None:
    """The model of an analysis' section by its ``method``, if that is known."""
    if isinstance(section, Analysis):
        return type(section)
    method = section.get("method") if isinstance(section, Mapping) else None
    return models().get(method) if isinstance(method, str) else None


class ByMethod:
    """Makes an ``Analysis`` the model that its ``method`` names."""

    def __get_pydantic_core_schema__(
        self, annotation: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        known = models()
        return core_schema.tagged_union_schema(
            {f"<{name}>": handler.generate_schema(model) for name, model in known.items()},
            discriminator=_tag,
            custom_error_type=METHOD_ERROR,
            custom_error_message="{expected}",
            custom_error_context={"expected": join_list(list(known)), "choices": " ".join(known)},
        )


def _tag(section: object) -> str | None:
    model = model_of(section)
    return f"<{model.method_name()}>" if model else None


_Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"),
    FullDescription(
        "a folder name of at most 100 letters, digits, '_', '.' and '-' that starts with a letter "
        "or digit"
    ),
]
"""Safe on every file system."""


class Split(NamedTuple):
    """What became of an analysis with ``split_by``.

    column : what it was split by. groups : the analysis of each group -> its label. left_out :
    labels with too few samples -> how many. unlabelled : samples without a label.
    """

    column: str
    groups: dict[str, str]
    left_out: dict[str, int]
    unlabelled: int


class Config(ConfigModel):
    """The whole configuration of a run."""

    _splits: dict[str, Split] = PrivateAttr(default_factory=dict)

    results: Annotated[str, Text("a folder path"), AfterValidator(posixpath.normpath)] = Field(
        default="results",
        description=(
            "Folder for all results, made when missing; each analysis gets a folder of its own in "
            "it, `results/NAME/`."
        ),
    )
    backend: Literal["auto", "cpu", "cuda", "both"] = Field(
        default="auto",
        description=(
            "Where pairs are scored. `auto`: on a usable NVIDIA GPU where CuPy is there and the "
            "work is worth its start, else on the CPU. `cpu`: on all cores that the job was "
            "given. `cuda`: on a GPU, and an error without one. `both`: as `cuda`, with part of "
            "large analyses on idle cores of the same host (docs/speed.md)."
        ),
    )
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = Field(
        default=1,
        description=(
            "Start of all random draws (permutations, bootstraps). The same seed gives the same "
            "result on any number of chunks and threads."
        ),
    )
    analyses: Annotated[
        dict[_Name, Annotated[Analysis, ByMethod()]],
        Expected("at least one analysis, as NAME: {method: ..., ...}"),
    ] = Field(
        min_length=1,
        description=(
            "The analyses to run, any number of them. NAME is yours to choose and becomes the "
            "name of the results' folder."
        ),
    )
    checksums: Checksums = Field(
        default={},
        description=(
            "Checksums of input files, by path or address as it stands in the analyses: "
            "`sha256:...`, or `md5:...` where only that is published. A file that differs is "
            "refused. A file by `https://` must have one."
        ),
    )

    def requirements(self) -> Iterator[Rule]:
        seen: dict[str, str] = {}
        for name, analysis in self.analyses.items():
            other = seen.setdefault(name.lower(), name)  # one folder on some file systems
            expected = f"names that differ in more than capitals, unlike {other} and {name}"
            yield Rule(other != name, "analyses", expected)
            for rule in analysis.requirements_among(name, self.analyses):
                yield rule._replace(key=f"analyses/{name}/{rule.key}")
        yield from address_rules(
            (
                (("analyses", name, *key.split(".")), path)
                for name, analysis in self.analyses.items()
                for key, path in analysis.input_files().items()
            ),
            self.checksums,
        )

    @property
    def splits(self) -> Mapping[str, Split]:
        """Analyses with ``split_by``, which ``analyses`` has the groups of in their place."""
        return self._splits

    def split(self, splits: Mapping[str, Split]) -> Self:
        """This configuration with an analysis for each group in place of those that are split.

        Raises ConfigError for groups whose names are those of other analyses.
        """
        analyses: dict[str, Analysis] = {}
        for name, analysis in self.analyses.items():
            if name not in splits:
                analyses[name] = analysis
                continue
            column = splits[name].column
            for group, label in splits[name].groups.items():
                if group.lower() in {known.lower() for known in [*self.analyses, *analyses]}:
                    found = f"label {label!r}, whose analysis would be {group}, which is there"
                    place = f"analyses.{name}.split_by"
                    raise ConfigError.at("config", place, found, "another name for either")
                analyses[group] = analysis.model_copy(
                    update={
                        "split_by": None,
                        "obs": {**getattr(analysis, "obs", {}), column: (label,)},
                    }
                )
        made = self.model_copy(update={"analyses": analyses})
        made._splits = dict(splits)
        return made
