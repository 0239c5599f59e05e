"""What every section of a configuration is, and what every analysis must say of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A mapping of known keys. Immutable; unknown keys and wrong types are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)


class Fault(NamedTuple):
    """A key whose value does not do, what would, and words to suggest."""

    key: str
    expected: str
    choices: tuple[str, ...] = ()


class Analysis(Section):
    """One entry of ``analyses``. Each method has a model that extends this one."""

    method: str

    input_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that name input files or folders; their values are a path or None."""

    input_folders: ClassVar[tuple[str, ...]] = ()
    """Those of ``input_keys`` that may name a folder."""

    tables: ClassVar[tuple[str, ...]] = ()
    """Result files of this method beside those that every method has (rule ``tables``)."""

    table_inputs: ClassVar[tuple[str, ...]] = ()
    """Those of ``input_keys`` that only the tables are made from."""

    network_inputs: ClassVar[tuple[str, ...]] = ()
    """Those of ``input_keys`` that are first needed to make the network of the scored pairs."""

    names_of_items: ClassVar[tuple[str, ...]] = ()
    """Keys beside ``input_keys`` with names of things in the data that only a later step looks
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

    used_by: ClassVar[Mapping[str, frozenset[str]]] = {}
    """The steps that depend on a key: a change of it runs no other again. Keys that are not named
    here matter to every step. Steps: prepare, plan, score (null, chunks, merge), contacts, network
    (and bootstraps), evaluate, tables."""

    def for_step(self, step: str) -> dict[str, Any]:
        """The section, every default filled in, without the keys that ``step`` does not use."""
        return {
            key: value
            for key, value in self.resolved().items()
            if key not in self.used_by or step in self.used_by[key]
        }

    def input_files(self) -> dict[str, str]:
        """The files (or folders) this analysis reads: key -> path, keys without one left out."""
        paths = {key: getattr(self, key) for key in self.input_keys}
        return {key: path for key, path in paths.items() if path is not None}

    def later_inputs(self) -> dict[str, str]:
        """Those of ``input_files`` that only a later step reads: another gold standard must not
        score again."""
        later = {"gold_standard", *self.table_inputs, *self.network_inputs}
        return {key: path for key, path in self.input_files().items() if key in later}

    def to_check(self) -> dict[str, Any]:
        """The section for the rule ``check_inputs``: all but what only the plan or no step uses.
        Empty where only later steps read nothing."""
        if not (self.later_inputs() or any(getattr(self, key) for key in self.names_of_items)):
            return {}
        unused = {key for key, steps in self.used_by.items() if steps <= {"plan"}}
        return {key: value for key, value in self.resolved().items() if key not in unused}

    @property
    def needs_contacts(self) -> bool:
        """Whether network and tables ask which items touch (rule ``contacts``)."""
        return False

    def result_tables(self) -> tuple[str, ...]:
        """Those of ``tables`` that this analysis asks for."""
        return self.tables

    def other_results(self) -> tuple[str, ...]:
        """Results of other analyses that the tables are made from, as ``NAME/file``."""
        return ()

    def fault_beside(self, name: str, others: Mapping[str, Analysis]) -> Fault | None:
        """What does not fit the other analyses of the configuration; this one, ``name``, is among
        them. None: all well."""
        return None

    def resolved(self) -> dict[str, Any]:
        """This section with every default filled in, as JSON can hold it."""
        return self.model_dump(mode="json")


def sections_in(annotation: Any) -> list[type[Section]]:
    """The section models that a field's type is made of (several where it has several forms)."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [section for part in get_args(annotation) for section in sections_in(part)]
