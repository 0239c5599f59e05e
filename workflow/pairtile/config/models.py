"""What every section of a configuration is, and what every analysis must say of itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict


class ConfigModel(BaseModel):
    """A mapping of known keys. Immutable; unknown keys and wrong types are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, defer_build=True
    )


class Fault(NamedTuple):
    """A key whose value does not do, what would, and values to suggest."""

    key: str
    expected: str
    choices: tuple[str, ...] = ()


class Analysis(ConfigModel):
    """One entry of ``analyses``. Each method has a model that extends this one, with the keys
    ``method``, ``chunks`` and ``export``, ``gold_standard`` where it has known edges, and ``names``
    where its items may have symbols."""

    method: str
    if TYPE_CHECKING:
        chunks: Literal["auto"] | int
        export: Literal["auto"] | tuple[str, ...]
        gold_standard: str | None

    input_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that name input files or folders; their values are a path or None."""

    in_memory_paths: ClassVar[tuple[str, ...]] = ("expression",)
    """Keys of paths that must be given; a library call, with values in memory, fills them in."""

    input_folders: ClassVar[tuple[str, ...]] = ()
    """Those of ``input_keys`` that may name a folder."""

    tables: ClassVar[tuple[str, ...]] = ()
    """Result files of this method beside those that every method has (rule ``tables``)."""

    node_tables: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Those of ``tables`` that say more of the network's nodes: the column of their names, then
    those that graphs have as attributes."""

    table_inputs: ClassVar[tuple[str, ...]] = ()
    """Those of ``input_keys`` that only the tables are made from."""

    network_inputs: ClassVar[tuple[str, ...]] = ()
    """Those of ``input_keys`` that are first needed to make the network of the scored pairs."""

    names_of_items: ClassVar[tuple[str, ...]] = ()
    """Keys with names of things in the data that only a later step uses, but preparation looks
    for."""

    report_needs_state: ClassVar[bool] = False
    """Whether the report draws from the state (the values that were paired)."""

    report_needs_pairs: ClassVar[bool] = False
    """Whether the report draws from the merged table of pairs."""

    draws_in_prepare: ClassVar[bool] = False
    """Whether preparation draws at random: then another seed runs it again."""

    network_on_cpu: ClassVar[bool] = False
    """Whether the network is made on the CPU whatever the backend of the tiles: then its job asks
    for all cores and no GPU."""

    works_beside_gpu: ClassVar[bool] = False
    """Whether much of a chunk is done on the CPU where the rest is done on a GPU: then its job asks
    for its share of the cores (all, divided by the GPUs), else for one."""

    used_by: ClassVar[Mapping[str, frozenset[str]]] = {
        "chunks": frozenset({"plan"}),
        "export": frozenset(),
        "names": frozenset({"network", "tables"}),
    }
    """The steps that depend on a key: a change of it runs no other again. Keys that are not named
    here matter to every step. Steps: prepare, plan, score (null, chunks, merge), network_data,
    network (and bootstraps), evaluate, tables."""

    @property
    def network_times(self) -> int:
        """How many times the bytes of the stored pairs the step ``network`` takes at most."""
        return 20

    @classmethod
    def method_name(cls) -> str:
        """What ``method:`` says for this model."""
        return str(get_args(cls.model_fields["method"].annotation)[0])

    def for_step(self, step: str) -> Self:
        """This analysis without the keys that ``step`` does not use: reading one of them raises
        AttributeError, and a change of them does not run the step again."""
        return self._without({k for k, steps in self.used_by.items() if step not in steps})

    def to_prepare(self) -> Self:
        """``for_step("prepare")``, with ``names_of_items``: a change of these does not run the step
        again."""
        unused = {k for k, steps in self.used_by.items() if "prepare" not in steps}
        return self._without(unused.difference(self.names_of_items))

    def _without(self, keys: Collection[str]) -> Self:
        copy = self.model_copy()
        for key in keys:
            copy.__dict__.pop(key, None)
        return copy

    def input_files(self) -> dict[str, str]:
        """The files (or folders) this analysis reads: key -> path, keys without one left out."""
        paths = {key: getattr(self, key) for key in self.input_keys}
        return {key: path for key, path in paths.items() if path is not None}

    def later_inputs(self) -> dict[str, str]:
        """Those of ``input_files`` that only a later step reads: another gold standard must not
        score again."""
        later = {"gold_standard", *self.table_inputs, *self.network_inputs}
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

    def validate_against(self, name: str, others: Mapping[str, Analysis]) -> Fault | None:
        """What does not fit the other analyses of the configuration; this one, ``name``, is among
        them. None: all well."""
        return None

    def resolved(self) -> dict[str, Any]:
        """All keys, every default filled in, as JSON can hold it."""
        return self.model_dump(mode="json")


def _with_value(inner: Any, place: Sequence[str], value: Any) -> Any:
    """A copy of nested models and lists with another value at a place."""
    if not place:
        return value
    first, *rest = place
    if isinstance(inner, ConfigModel):
        return inner.model_copy(update={first: _with_value(getattr(inner, first), rest, value)})
    n = int(first)
    return (*inner[:n], _with_value(inner[n], rest, value), *inner[n + 1 :])


def models_in(annotation: Any) -> list[type[ConfigModel]]:
    """The models that a field's type is made of (several where it has several forms)."""
    if isinstance(annotation, type) and issubclass(annotation, ConfigModel):
        return [annotation]
    return [section for part in get_args(annotation) for section in models_in(part)]
