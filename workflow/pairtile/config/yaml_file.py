"""Read a mapping from a YAML or JSON file; a key that stands twice is refused, not lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

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
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8 text"
        raise ConfigError.at(path, "", reason, "a readable YAML or JSON file") from None
    try:
        return json.loads(text, object_pairs_hook=_each_key_once)
    except _Twice as twice:
        raise ConfigError.at(path, "", f"the key {twice} twice", "each key once") from None
    except (ValueError, RecursionError):
        pass  # no JSON, so YAML

    class Loader(yaml.SafeLoader):
        """Notes keys that stand twice in one mapping."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value != "<<" and key.value in seen:
                    place = f"line {key.start_mark.line + 1}"
                    raise ConfigError.at(path, place, f"the key {key.value!r} twice", "each once")
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

        def flatten_mapping(self, node: Any) -> None:
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


class _Twice(ValueError):
    """A key that stands twice."""


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _Twice(repr(key))
        result[key] = value
    return result
