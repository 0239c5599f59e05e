"""``python -m pairtile``: the command, where it is not installed."""

from __future__ import annotations

import sys

from pairtile.command import main

sys.exit(main())
