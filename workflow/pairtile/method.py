"""What a method is, and which methods there are.

A method is a package that names its parts in one ``Method``. Shared code asks this registry and
knows no method by name. The methods of pairtile itself lie in ``pairtile/methods/``; another
package publishes one through an entry point of the group ``pairtile.methods`` that leads to its
``Method``, and changes no file here.

The parts are named as ``MODULE:NAME`` and imported when they are first asked for: Snakemake reads
the configuration at every start and must wait for pydantic alone.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from pairtile.declare.columns import Columns, declared_columns
from pairtile.errors import ConfigError

GROUP = "pairtile.methods"
"""Entry points of other packages; the modules of pairtile's own methods."""


@dataclass(frozen=True)
class Method:
    """The parts of one method; each but ``name`` and ``package`` as ``MODULE:NAME`` in ``package``.

    Parameters
    ----------
    name
        What ``method:`` says in a configuration.
    package
        Where the parts lie: ``__name__`` of the method's package. Its folder may hold
        ``text.md.j2``, ``references.bib`` and ``templates/`` for the report, ``messages.toml``, and
        ``example.yaml`` for ``pairtile init``.
    config
        The configuration model, an ``Analysis``. Its module imports pydantic and
        ``pairtile.config`` alone.
    estimator
        The ``Estimator``: prepares input, scores tiles, makes the network and tables. Where the
        settings decide which it is: a function that gives it, of these or None.
    report
        The ``MethodReport``: names, sentences, figures and sections. "": text made from keys and
        columns.
    trial
        A function that writes small input into a folder and gives the section of an analysis of it
        (paths within the folder), for ``pairtile warm``. "": none, nothing is compiled ahead.
    """

    name: str
    package: str
    config: str
    estimator: str
    report: str = ""
    trial: str = ""

    def write_trial(self, folder: Path) -> dict[str, object] | None:
        """Small input in a folder, and the section of an analysis of it; None where there is
        none."""
        return self.part(self.trial)(folder) if self.trial else None

    @property
    def folder(self) -> Path:
        """The folder of the method's package."""
        return Path(import_module(self.package).__path__[0])

    def part(self, name: str) -> Any:
        """A part, imported. Each room gives those of its own types: ``config.root.models``,
        ``engine.estimator.estimator_of``, ``report.method_report``."""
        return resolve_name(f"{self.package}.{name}")


@cache
def methods() -> Mapping[str, Method]:
    """Every method by its name: those of pairtile, then those of other packages.

    Raises
    ------
    ConfigError
        If another package's method cannot be loaded, is no ``Method``, or has a name that is taken.
    """
    own = import_module(GROUP).BUILT_IN
    found: dict[str, Method] = {name: import_module(f"{GROUP}.{name}").METHOD for name in own}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        place = f"entry point {entry.name} = {entry.value} ({GROUP})"
        try:
            loaded = entry.load()
        except Exception as error:
            raise ConfigError(f"{place}: found a method that cannot be loaded: {error}") from error
        if not isinstance(loaded, Method):
            raise ConfigError(f"{place}: found {type(loaded).__name__}; expected a Method")
        if loaded.name in found:
            raise ConfigError(f"{place}: found a second method {loaded.name!r}")
        found[loaded.name] = loaded
    return found


def sign_column(columns: Container[str], method: str = "", text: bool = False) -> str | None:
    """The one of a network's columns whose sign is that of the relation of an edge's ends, as
    ``columns.toml`` of the method declares it; of a network of no known method, as any does. None
    where no column says it. ``text``: the one that says it in a word.
    """
    declared = (
        name
        for column in _edge_columns(method)
        if column.sign and (column.type == "string") == text
        for name in column.names
    )
    return next((name for name in declared if name in columns), None)


def value_columns(columns: Iterable[Hashable], method: str = "") -> list[str]:
    """Those of a table's columns that say what a pair is worth in its own unit, as ``columns.toml``
    of the method declares it of an edge; in a table of no known method, as any does. The first is
    the pair's value.
    """
    declared = {name for column in _edge_columns(method) if column.value for name in column.names}
    return [str(name) for name in columns if name in declared]


def _edge_columns(method: str) -> Iterator[Columns]:
    """What the method declares of edges; without a known method, what each does."""
    known = methods()
    for one in [known[method]] if method in known else known.values():
        yield from declared_columns(one.package, "network.parquet")


def get_method(name: str) -> Method:
    """The method of a name.

    Raises
    ------
    KeyError
        For a method that does not exist (the configuration refuses it earlier).
    """
    return methods()[name]
