"""``pairtile init``, ``demo`` and ``network``: a configuration to begin with, and runs that need
no file of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import yaml

from pairtile.command.run import run, workflow_folder
from pairtile.config.root import models
from pairtile.errors import ConfigError
from pairtile.method import get_method
from pairtile.runtime.files import write_text


def init(method: str | None, out: Path | None = None, force: bool = False) -> str:
    """Write the example of ``method`` to ``out``; returns what is to be printed: the example
    itself without ``out``, the list of methods without ``method``.

    Raises
    ------
    ConfigError
        For a method that does not exist; for an ``out`` that does, unless ``force``.
    """
    names = models()
    if method is None:
        texts = {name: " ".join((names[name].__doc__ or "").split()) for name in names}
        return "".join(f"{name}: {texts[name].partition('. ')[0].rstrip('.')}\n" for name in names)
    if method not in names:
        raise ConfigError(f"found method {method!r}; expected one of {', '.join(names)}")
    text = example(method).read_text(encoding="utf-8")
    if out is None:
        return text
    if out.exists() and not force:
        raise ConfigError(f"{out}: is there already; --force writes over it")
    write_text(out, text.replace("THIS_FILE", str(out)))
    return f"wrote {out}: fill in what is marked (*), then: pairtile check {out}\n"


def example(method: str) -> Path:
    """The example of a method: of its package, or of pairtile's own."""
    own = get_method(method).folder / "example.yaml"
    return own if own.is_file() else workflow_folder() / f"config/examples/{method}.yaml"


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
    text = yaml.safe_dump(
        {"results": str(out), "analyses": {"network": section | keys}}, sort_keys=False
    )
    config = out / "config.yaml"
    if not config.exists():
        write_text(config, text)
    elif config.read_text(encoding="utf-8") != text:
        raise ConfigError(
            f"{config}: is of other settings; choose another --out, or: pairtile run {config}"
        )
    return run(config, arguments)
