"""The templates of pages, and what a page allows to run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2

from pairtile.runtime.user_cache import code_folder

NOTHING = "'none'"


def compiled_templates() -> jinja2.BytecodeCache:
    """Keeps templates as code: to compile those of a page takes a quarter of a second."""
    folder = code_folder(Path(__file__).parent / "__pycache__/templates", "pairtile/templates")
    return jinja2.FileSystemBytecodeCache(str(folder))


def page_templates(*folders: Path) -> jinja2.Environment:
    """Templates of these folders, the first first; all that they are given is escaped."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        bytecode_cache=compiled_templates(),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def content_policy(scripts: Sequence[str], images: str = "data: blob:") -> str:
    """Nothing is loaded from anywhere but ``images``, and only these scripts run: by their digest.

    So markup in a name could do nothing, even if it found its way into the page as such.
    """
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(d).decode('ascii')}'" for d in digests)
    return (
        f"default-src 'none'; script-src {allowed or NOTHING}; style-src 'unsafe-inline'; "
        f"img-src {images}; base-uri 'none'; form-action 'none'"
    )
