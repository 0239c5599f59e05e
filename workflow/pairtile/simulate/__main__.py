"""``python -m pairtile.simulate``."""

from __future__ import annotations

from pairtile.simulate.command import main

main()
