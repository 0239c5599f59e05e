"""The content security policy of our pages: what a browser may do with them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def content_policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded from anywhere, and only these scripts run: by their digest.

    So markup in a name could do nothing, even if it found its way into the page as such.
    """
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
        for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
