"""Rule ``download``: an input file from a web server, taken only when its checksum is right.

Not by pooch: it knows no ``SSL_CERT_FILE`` and asks again after a 404 or a wrong checksum.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from pathlib import Path

from pairtile import __version__
from pairtile.config.addresses import is_download
from pairtile.errors import InputError
from pairtile.io.input_files import verify_checksum
from pairtile.runtime.files import atomic_path
from pairtile.runtime.record import Progress, log, recorded

_OF_THE_NETWORK = (  # and not of the disk that the file is written to
    urllib.error.URLError,
    http.client.HTTPException,
    TimeoutError,
    ConnectionError,
    ValueError,
)


def download(
    address: str, checksum: str, out: Path, waits: tuple[float, ...] = (1.0, 5.0, 20.0)
) -> None:
    """Fetch a file by http or https; it is there whole, with the right checksum, or not at all.

    Parameters
    ----------
    address
        ``https://...`` or ``http://...``; redirections are followed to such addresses only.
    checksum
        ``sha256:...`` or ``md5:...`` of the file.
    out
        Where to put it.
    waits
        Seconds before each further attempt.

    Raises
    ------
    InputError
        If the file cannot be had, or does not have its checksum.
    """
    with recorded(f"download of {address}"):
        for wait in (*waits, None):
            try:
                with atomic_path(out) as temporary:
                    _fetch(address, temporary)
                    verify_checksum(address, str(temporary), checksum)
                return
            except _OF_THE_NETWORK as error:
                if wait is None or not _may_pass(error):
                    raise InputError.at(address, "", _error_text(error), "a file") from error
                log.warning("%s: %s; next attempt in %.0f s", address, _error_text(error), wait)
                time.sleep(wait)


class _NoWebServer(urllib.error.URLError):
    """A redirection to something else."""


class _TooShort(urllib.error.URLError):
    """A file that ended before its announced length."""


class _WebOnly(urllib.request.HTTPRedirectHandler):
    """No redirection to anything but a web server."""

    def redirect_request(  # type: ignore[no-untyped-def]
        self, req, fp, code, msg, headers, newurl
    ) -> urllib.request.Request | None:
        if not is_download(newurl):
            raise _NoWebServer(f"a redirection to {newurl[:200]}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(address: str, out: Path) -> None:
    headers = {"User-Agent": f"pairtile/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(address.replace(" ", "%20"), headers=headers)
    opener = urllib.request.build_opener(_WebOnly)
    # A minute without a byte ends the attempt.
    with opener.open(request, timeout=60.0) as answer, out.open("wb") as file:
        length = answer.headers.get("Content-Length", "")
        expected = int(length) if length.isdecimal() else None
        progress, written = Progress(expected or 0, "bytes"), 0
        while block := answer.read(1 << 20):
            file.write(block)
            written += len(block)
            if expected:
                progress.advance(len(block))
    if expected is not None and written != expected:
        raise _TooShort(f"a transfer that ended after {written:,} of {expected:,} bytes")


def _may_pass(error: Exception) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code in {408, 425, 429, 500, 502, 503, 504}
    reason = getattr(error, "reason", error)
    for_good = isinstance(error, _NoWebServer | ValueError | http.client.InvalidURL)
    return not (for_good or "certificate" in str(reason))


def _error_text(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"status {error.code} ({error.reason})"
    if isinstance(error, _TooShort):
        return str(error.reason)
    return f"no file ({getattr(error, 'reason', None) or error or type(error).__name__})"
