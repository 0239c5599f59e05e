"""What every section of a configuration is, and what every analysis must say of itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, model_validator

from pairtile.config.values import read_exponents, validation_error


class Rule(NamedTuple):
    """What keys must meet together.

    broken : whether they do not, by its truth. key : the one at fault, ``a/b`` for key b within a,
    or its parts where they may hold a stroke.
    expected : what would do. choices : values to suggest.
    """

    broken: object
    key: str | tuple[str, ...]
    expected: str
    choices: tuple[str, ...] = ()


class ConfigModel(BaseModel):
    """A mapping of known keys. Immutable; unknown keys and wrong types are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        defer_build=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _read_exponents(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        fields = {key: field for key, field in cls.model_fields.items() if key in given}
        numbers = {
            key: read_exponents(given[key], field.annotation, field.metadata)
            for key, field in fields.items()
        }
        return {**given, **numbers}

    def resolve_auto(self) -> Mapping[str, object]:
        """Values in place of those that ``auto``, or another key, leaves open, once each key is
        good."""
        return {}

    def requirements(self) -> Iterator[Rule]:
        """What the keys must meet together, once each is good; the first that is broken is
        reported."""
        yield from ()

    def input_files(self) -> dict[str, str]:
        """The files (or folders) that are named here: key -> path, keys without one left out. Those
        of a section: ``SECTION.KEY``."""
        found = {key: getattr(self, key) for key in marked(type(self), InputFile)}
        for section, part in self.__dict__.items():
            inner = part.input_files() if isinstance(part, ConfigModel) else {}
            found |= {f"{section}.{key}": path for key, path in inner.items()}
        return {key: path for key, path in found.items() if path is not None}

    @model_validator(mode="after")
    def _keys_fit_each_other(self) -> Self:
        self.__dict__.update(self.resolve_auto())  # the model is frozen for everyone else
        for rule in self.requirements():
            if rule.broken:
                raise validation_error(rule.expected, rule.choices, key=rule.key)
        return self


class InputFile:
    """Marks a key that names an input file, or a list of them; in ``Annotated``, beside its kind.

    read_by : the steps that read it, of network, evaluate and tables; none: prepare. folder : it
    may be a folder.
    """

    def __init__(self, *read_by: str, folder: bool = False) -> None:
        self.read_by, self.folder = read_by or ("prepare",), folder


class UsedBy:
    """Marks a key that only some steps depend on: a change of it runs no other again. Keys without
    this mark matter to every step.

    steps : of prepare, plan, score (null, chunks, merge), network_data, network (and bootstraps),
    evaluate, tables. names_items : the key names things in the data, which preparation looks for.
    """

    def __init__(self, *steps: str, names_items: bool = False) -> None:
        self.steps, self.names_items = steps, names_items


@dataclass(frozen=True)
class JobNeeds:
    """What the jobs of a method need beside their input files.

    report_state, report_pairs : the report draws from the state (the values that were paired), from
    the merged table. prepare_seed : preparation draws at random, so another seed runs it again.
    network_gpu : the network is made on the backend of the tiles; else on the CPU, with all cores.
    cores_with_gpu : much of a chunk is done on the CPU where the rest is done on a GPU, so that its
    job asks for its share of the cores (all, divided by the GPUs), else for one. small_bytes,
    small_gpu_bytes : of input, unpacked, up to which an analysis takes seconds on the CPU, on a
    GPU. many_draws : the key (KEY.KEY) that says how often all of it is repeated.
    """

    report_state: bool = False
    report_pairs: bool = False
    prepare_seed: bool = False
    network_gpu: bool = True
    cores_with_gpu: bool = False
    small_bytes: int = 1 << 17
    small_gpu_bytes: int = 1 << 22
    many_draws: str = ""


M = TypeVar("M", InputFile, UsedBy)


@cache
def marked(model: type[BaseModel], kind: type[M]) -> dict[str, M]:
    """The keys of a model that have a mark, in its order; of several, the outermost counts."""
    return {
        key: mark
        for key, field in model.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, kind)
    }


class Analysis(ConfigModel):
    """One entry of ``analyses``. Each method has a model that extends this one, with the keys
    ``method``, ``chunks`` and ``export``, ``gold_standard`` where it has known edges, and ``names``
    where its items may have symbols."""

    method: str
    if TYPE_CHECKING:
        chunks: Literal["auto"] | int
        export: Literal["auto"] | tuple[str, ...]
        gold_standard: str | None

    tables: ClassVar[tuple[str, ...]] = ()
    """Result files of this method beside those that every method has (step ``tables``)."""

    node_tables: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Those of ``tables`` that say more of the network's nodes: the column of their names, then
    those that graphs have as attributes."""

    jobs: ClassVar[JobNeeds] = JobNeeds()
    """What jobs of this method need beside their input files."""

    @property
    def network_memory_factor(self) -> int:
        """How many times the bytes of the stored pairs the step ``network`` takes at most."""
        return 20

    @classmethod
    def method_name(cls) -> str:
        """What ``method:`` says for this model."""
        return str(get_args(cls.model_fields["method"].annotation)[0])

    def for_step(self, step: str, with_names: bool = False) -> Self:
        """This analysis without the keys that ``step`` does not use (``UsedBy``): reading one of
        them is an error, and a change of them does not run the step again. ``with_names``: keys
        that name things in the data stay, too, which preparation looks for."""
        used = marked(type(self), UsedBy)
        named = {key for key, mark in used.items() if with_names and mark.names_items}
        return self._without({k for k, mark in used.items() if step not in mark.steps} - named)

    def _without(self, keys: Collection[str]) -> Self:
        copy = self.model_copy()
        for key in keys:
            copy.__dict__.pop(key, None)
        return copy

    if not TYPE_CHECKING:

        def __getattr__(self, key: str) -> object:
            # No AttributeError: getattr(config, key, default) would take the default unseen.
            if key in type(self).model_fields:
                raise RuntimeError(
                    f"a step reads {key}, which is not marked as used by it (UsedBy)"
                )
            return super().__getattr__(key)

    @classmethod
    def inputs(cls, step: str) -> tuple[str, ...]:
        """Keys of input files that a step reads."""
        files = marked(cls, InputFile)
        return tuple(key for key, file in files.items() if step in file.read_by)

    def downstream_inputs(self) -> dict[str, str]:
        """Those of ``input_files`` that only a later step reads: another gold standard must not
        score again."""
        files = marked(type(self), InputFile)
        later = {key for key, file in files.items() if "prepare" not in file.read_by}
        return {key: path for key, path in self.input_files().items() if key in later}

    def with_inputs(self, paths: Mapping[str, str]) -> Self:
        """This analysis with other paths of its inputs, by the keys of ``input_files``."""
        changed = self
        for key, path in paths.items():
            changed = _with_value(changed, key.split("."), path)
        return changed

    @property
    def needs_network_data(self) -> bool:
        """Whether network and tables need what the method's ``NetworkData`` reads (rule
        ``network_data``)."""
        return False

    def result_tables(self) -> tuple[str, ...]:
        """Those of ``tables`` that this analysis asks for."""
        return self.tables

    def other_results(self) -> tuple[str, ...]:
        """Results of other analyses that the tables are made from, as ``NAME/file``."""
        return ()

    def requirements_among(self, name: str, others: Mapping[str, Analysis]) -> Iterator[Rule]:
        """What it must meet beside the other analyses of the configuration; this one, ``name``, is
        among them."""
        yield from ()

    def resolved(self) -> dict[str, object]:
        """All keys, every default filled in, as JSON can hold it."""
        return self.model_dump(mode="json")


def in_sections(values: Mapping[str, object]) -> dict[str, Any]:
    """Keys such as ``estimator.bins`` in the sections that they are of, as a configuration has
    them."""
    written: dict[str, Any] = {}
    for path, value in values.items():
        *sections, key = path.split(".")
        place = written
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
    return written


def _with_value(inner: Any, place: Sequence[str], value: object) -> Any:
    """A copy of nested models and lists with another value at a place."""
    if not place:
        return value
    first, *rest = place
    if isinstance(inner, ConfigModel):
        return inner.model_copy(update={first: _with_value(getattr(inner, first), rest, value)})
    n = int(first)
    return (*inner[:n], _with_value(inner[n], rest, value), *inner[n + 1 :])


def models_in(annotation: object) -> list[type[ConfigModel]]:
    """The models that a field's type is made of (several where it has several forms)."""
    if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
        return [annotation]
    return [section for part in get_args(annotation) for section in models_in(part)]
