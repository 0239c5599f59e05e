"""``pairtile init``: the commented example configuration of a method."""

from __future__ import annotations

from pathlib import Path

from pairtile.command.workflow_folder import workflow_folder
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
