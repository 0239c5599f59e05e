"""Read a configuration: checked, every default filled in, or an error that lists all faults."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pairtile.config.addresses import no_file, scheme
from pairtile.config.models import InputFile, marked
from pairtile.config.problems import line, problems, shown
from pairtile.config.root import Config
from pairtile.errors import ConfigError

_MAX_MERGED = 10_000
"""Keys of one mapping: a few lines of merge keys may double them again and again."""


def read_mapping_file(path: str | os.PathLike[str]) -> Any:
    """The content of a configuration file, by the rules of YAML 1.1 that Snakemake goes by.

    Raises:
        ConfigError: the file is missing, no YAML, or a key stands twice in one mapping.
    """
    import yaml  # here: most callers hand over a mapping, and need no parser

    try:
        if found := no_file(path) or (os.stat(path).st_size > 64 << 20 and "a huge file"):
            raise ConfigError.at(path, "", found, "a YAML or JSON file")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8 text"
        raise ConfigError.at(path, "", reason, "a readable YAML or JSON file") from None

    def each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in pairs:
            if key in result:
                raise ConfigError.at(path, "", f"the key {key!r} twice", "each key once")
            result[key] = value
        return result

    try:
        return json.loads(text, object_pairs_hook=each_key_once)
    except (ValueError, RecursionError):
        pass  # no JSON, so YAML

    class Loader(yaml.SafeLoader):
        """Notes keys that stand twice in one mapping."""

        def construct_mapping(
            self, node: yaml.MappingNode, deep: bool = False
        ) -> dict[Hashable, object]:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value != "<<" and key.value in seen:
                    place = f"line {key.start_mark.line + 1}"
                    raise ConfigError.at(path, place, f"the key {key.value!r} twice", "each once")
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            super().flatten_mapping(node)
            if len(node.value) > _MAX_MERGED:
                place = f"line {node.start_mark.line + 1}"
                found = f"merge keys (<<) that unfold to more than {_MAX_MERGED:,} keys"
                raise ConfigError.at(path, place, found, "fewer")

    try:
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "a value that cannot be read"
        raise ConfigError.at(
            path, place, what, "YAML (indent with blanks, no tabs; quote text with ':' or '#')"
        ) from None


_MAX_DEPTH = 20
_MAX_VALUES = 1_000_000
"""YAML's aliases make a few lines stand for more values than memory holds."""
_Faults = list[tuple[tuple[str, ...], str]]  # path of a key, what is wrong with its value


def load_config(source: Mapping[str, object] | str | os.PathLike[str]) -> Config:
    """Check a configuration, given as Snakemake's ``config`` mapping or as a YAML or JSON file.

    Returns the configuration with every default filled in. Files that it names are not looked
    at: ``check_inputs_exist`` does that.

    Raises:
        ConfigError: one line for each fault, ``config: KEY.PATH: found VALUE; expected WHAT``
            (or the file's path in place of ``config``).
    """
    if isinstance(source, str | os.PathLike):
        place, raw = os.fspath(source), read_mapping_file(source)
    else:
        place, raw = "config", source
    faults: _Faults = []
    if _n_values(raw) > _MAX_VALUES:
        found = f"found more than {_MAX_VALUES:,} values"
        raise ConfigError(line(place, (), f"{found}; expected fewer (see its aliases, &x and *x)"))
    plain = _to_builtin(raw, (), faults)
    bad_names = {path for path, _ in faults}
    if not isinstance(plain, dict):
        faults = [((), f"found {shown(plain)}; expected a mapping with the key analyses")]
    else:
        try:
            config = Config.model_validate(plain)
        except ValidationError as error:
            faults += [(p, text) for p, text in problems(error, plain) if p not in bad_names]
        else:
            # Snakemake takes {...} for a wildcard and <...> for a variable.
            paths: dict[tuple[str, ...], str] = {("results",): config.results}
            for name, analysis in config.analyses.items():
                for key, path in analysis.input_files().items():
                    paths["analyses", name, *key.split(".")] = path
            allowed = "a path without {, }, < and > (Snakemake fills in what they enclose)"
            faults += [
                (where, f"found {shown(path)}; expected {allowed}: rename it")
                for where, path in paths.items()
                if set(path) & set("{}<>")
            ]
    if faults:
        raise ConfigError("\n".join(line(place, path, text) for path, text in faults))
    return config


def check_inputs_exist(config: Config, only: str | None = None) -> None:
    """Check that the files that the analyses read, or only that of one name, are there, before any
    job starts.

    Relative paths start at the working directory. Addresses (``https://...``) are not asked for.

    Raises:
        ConfigError: one line for each path that is missing, unreadable, or a folder where a file
            is needed, naming the key.
    """
    faults = []
    analyses = config.analyses if only is None else {only: config.analyses[only]}
    for name, analysis in analyses.items():
        files = marked(type(analysis), InputFile)
        for key, given in analysis.input_files().items():
            if scheme(given):
                continue  # an address: it is fetched when it is needed
            if fault := _path_fault(Path(given), key in files and files[key].folder):
                found, expected = fault
                text = f"found {given!r}, {found}; expected {expected}"
                faults.append(line("config", ("analyses", name, key), text))
    if faults:
        raise ConfigError("\n".join(faults))


def check_results_writable(config: Config) -> None:
    """Check that results can be written, and are no input, before any job starts. Nothing is made.

    Raises:
        ConfigError: the folder, or the nearest one above it that is there, may not be written; or
            it is what an analysis reads.
    """
    place = Path(config.results).absolute()
    read = {
        Path(path).absolute(): f"analyses.{name}.{key}"
        for name, analysis in config.analyses.items()
        for key, path in analysis.input_files().items()
    }
    if place in read:
        text = (
            f"found {config.results!r}, which is {read[place]}; expected a folder for results alone"
        )
        raise ConfigError(line("config", ("results",), text))
    while not place.exists():
        place = place.parent
    if place.is_dir() and os.access(place, os.W_OK | os.X_OK):
        return
    why = "may not be written" if place.is_dir() else "is no folder"
    at = "" if place == Path(config.results).absolute() else f" (at {place})"
    text = f"found {config.results!r}, which {why}{at}; expected a folder that may be written"
    raise ConfigError(line("config", ("results",), text))


def _path_fault(path: Path, folder_allowed: bool) -> tuple[str, str] | None:
    if not os.path.exists(path):
        where = "" if path.is_absolute() else f" in the working directory {Path.cwd()}"
        hint = " ('~' is not expanded: write the whole path)" if str(path).startswith("~") else ""
        return f"which does not exist{where}", f"an existing file{hint}"
    if found := no_file(path):
        if not (path.is_dir() and folder_allowed):
            return f"which is {found}", "a file"
        for part in path.rglob("*"):
            if part.exists() and not part.is_dir() and (found := no_file(part)):
                return f"in which {part.name} is {found}", "a folder of files"
    if not os.access(path, os.R_OK):
        return "which may not be read", "a readable file (see its permissions)"
    return None


def _n_values(raw: object) -> int:
    """Values in mappings and lists; counting ends beyond ``_MAX_VALUES`` and at ``_MAX_DEPTH``."""
    total = 0
    waiting = [(raw, 0)]
    while waiting and total <= _MAX_VALUES:
        value, depth = waiting.pop()
        if depth <= _MAX_DEPTH and isinstance(value, Mapping | list | tuple):
            total += len(value)
            inner = value.values() if isinstance(value, Mapping) else value
            waiting += [(one, depth + 1) for one in inner if not isinstance(one, str)]
    return total


def _to_builtin(value: object, path: tuple[str, ...], faults: _Faults) -> object:
    """``value`` as plain dicts and lists. Keys that are no text are noted and made text."""
    if len(path) > _MAX_DEPTH:
        faults.append((path[:3], f"found more than {_MAX_DEPTH} levels; expected at most 5"))
        return None
    if isinstance(value, Mapping):
        result: dict[str, object] = {}
        for key, inner in value.items():
            name = key if isinstance(key, str) else str(shown(key)).split(" (")[0]
            if key is None and len(path) == 2:
                # In analyses.NAME: YAML's bare `null:` is no text, yet so is that key written.
                name = "null"
            elif not isinstance(key, str):
                text = f"found a name that YAML does not read as text, {shown(key)}"
                faults.append(((*path, name), f"{text}; expected text: put it in quotes"))
            if name in result:
                faults.append(((*path, name), "found the key twice; expected each key once"))
            result[name] = _to_builtin(inner, (*path, name), faults)
        return result
    if isinstance(value, list | tuple):
        return [_to_builtin(inner, (*path, str(n)), faults) for n, inner in enumerate(value)]
    return value
