"""``pairtile demo`` and ``pairtile network``: runs that need no configuration file."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from pairtile.command.run import run
from pairtile.command.workflow_folder import workflow_folder
from pairtile.config.root import models
from pairtile.errors import ConfigError
from pairtile.runtime.files import atomic_path


def demo(arguments: Sequence[str] = (), only_files: bool = False) -> int:
    """Lay the demo's configuration and data into ``config/`` here, and run it, unless
    ``only_files`` are wanted; the exit code.

    Raises
    ------
    ConfigError
        Where another ``config/config.yaml`` is in its place.
    """
    source, config = workflow_folder() / "config", Path("config/config.yaml")
    if not config.exists():
        shutil.copytree(source / "demo", "config/demo", dirs_exist_ok=True)
        shutil.copyfile(source / "config.yaml", config)
    elif config.read_bytes() != (source / "config.yaml").read_bytes():
        raise ConfigError(f"{config}: is there already, and not the demo's; use an empty folder")
    return 0 if only_files else run(config, arguments)


class OneNetwork(NamedTuple):
    """What ``pairtile network`` is given."""

    table: Path
    out: Path
    method: str
    regulators: Path | None
    settings: str
    """Further keys of the analysis, as a mapping in YAML."""


def network(given: OneNetwork, arguments: Sequence[str] = ()) -> int:
    """Write the configuration of one analysis, ``OUT/config.yaml``, and run it; the exit code.
    Results are in ``OUT/network``.

    Raises
    ------
    ConfigError
        For a method that reads no expression table, settings that are no mapping, or an ``out``
        that holds another configuration.
    """
    methods = [name for name, model in models().items() if "expression" in model.model_fields]
    if given.method not in methods:
        raise ConfigError(f"found method {given.method!r}; expected one of {', '.join(methods)}")
    try:
        settings = yaml.safe_load(given.settings)
    except yaml.YAMLError:
        settings = given.settings
    if not isinstance(settings, dict):
        raise ConfigError(f"--settings: found {settings!r}; expected such as 'keep: {{fdr: 0.05}}'")
    section = {"method": given.method, "expression": str(given.table)}
    if given.regulators:
        section["regulators"] = str(given.regulators)
    content = {"results": str(given.out), "analyses": {"network": section | settings}}
    text = yaml.safe_dump(content, sort_keys=False)
    config = given.out / "config.yaml"
    if not config.exists():
        given.out.mkdir(parents=True, exist_ok=True)
        with atomic_path(config) as temporary:
            temporary.write_text(text, encoding="utf-8")
    elif config.read_text(encoding="utf-8") != text:
        raise ConfigError(
            f"{config}: is of other settings; choose another --out, or: pairtile run {config}"
        )
    return run(config, arguments)
