"""``pairtile demo`` and ``pairtile network``: runs that need no configuration file."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import yaml

from pairtile.command.run import run
from pairtile.command.workflow_folder import workflow_folder
from pairtile.config.root import models
from pairtile.errors import ConfigError
from pairtile.runtime.files import write_text


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


def network(
    table: Path,
    out: Path,
    method: str,
    regulators: Path | None,
    settings: str,
    arguments: Sequence[str] = (),
) -> int:
    """Write the configuration of one analysis, ``OUT/config.yaml``, and run it; the exit code.
    Results are in ``OUT/network``. settings : further keys of the analysis, as a mapping in YAML.

    Raises
    ------
    ConfigError
        For a method that reads no expression table, settings that are no mapping, or an ``out``
        that holds another configuration.
    """
    methods = [name for name, model in models().items() if "expression" in model.model_fields]
    if method not in methods:
        raise ConfigError(f"found method {method!r}; expected one of {', '.join(methods)}")
    try:
        keys = yaml.safe_load(settings)
    except yaml.YAMLError:
        keys = settings
    if not isinstance(keys, dict):
        raise ConfigError(f"--settings: found {keys!r}; expected such as 'keep: {{fdr: 0.05}}'")
    section = {"method": method, "expression": str(table)}
    if regulators:
        section["regulators"] = str(regulators)
    content = {"results": str(out), "analyses": {"network": section | keys}}
    text = yaml.safe_dump(content, sort_keys=False)
    config = out / "config.yaml"
    if not config.exists():
        write_text(config, text)
    elif config.read_text(encoding="utf-8") != text:
        raise ConfigError(
            f"{config}: is of other settings; choose another --out, or: pairtile run {config}"
        )
    return run(config, arguments)
