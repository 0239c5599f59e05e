"""Where the workflow lies: in a checkout, or as a wheel has installed it."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def workflow_folder() -> Path:
    """The folder that holds ``Snakefile`` and ``config/examples``."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "Snakefile").is_file():
        return checkout
    return Path(sysconfig.get_path("data")) / "share" / "pairtile"
