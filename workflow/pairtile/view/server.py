"""``pairtile view``: pages and all stored pairs of results, for a browser on this machine alone.

The server listens on the loopback address. An address begins with a secret that is new each time,
and a request must name this server as its host, so that neither other users of the machine nor
pages from elsewhere get an answer. It ends by itself when no page of it is open any more.
"""

from __future__ import annotations

import errno
import json
import mimetypes
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from markupsafe import Markup

from pairtile.errors import InputError, PairtileError
from pairtile.runtime.page_templates import content_policy, page_templates
from pairtile.view.index import index_page
from pairtile.view.pair_store import AnyStore, open_store

HERE = Path(__file__).parent / "templates"
REPORT = Path(__file__).parents[1] / "report/templates"

CLOSED_SECONDS = 10.0
"""So long it goes on when the last page was closed: a page that is loaded again is back by then."""

BEAT_SECONDS = 2.0
"""How often an open page is written to, which fails once it is closed."""


def view(folder: Path, port: int = 0, print_line: Callable[[str], None] = print) -> None:
    """Serve ``results/NAME/``, or all analyses of ``results/``, until its pages are closed.

    Raises InputError where there is no such folder, nothing finished in it, or the port is taken;
    StoreError where the pairs of the one analysis cannot be looked up.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; choose results/NAME, or results")
    folders = {path.parent.name: path.parent for path in sorted(folder.glob("*/report.html"))}
    try:
        server = Server(folder, folders, port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise InputError(
            f"port {port} cannot be had ({error.strerror}); choose another, or leave --port out"
        ) from error
    with server:
        if not folders:
            server.folders[folder.name] = folder
            print_line(f"{folder}: reading; the first time an index of all pairs is made ...")
            server.store(folder.name)  # what is wrong is said here, not in the browser
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print_line(f"open {server.address}  (ends when its pages are closed, or with Ctrl-C)")
        try:
            while not server.is_done():
                time.sleep(0.2)
        except KeyboardInterrupt:
            pass
        server.ending.set()
        server.shutdown()


class Server(ThreadingHTTPServer):
    """The server; ``folders``: name of an analysis -> its folder."""

    daemon_threads = True
    request_queue_size = 1024
    """Connections that wait; by default five, so that of many at once most were refused."""

    def __init__(self, root: Path, folders: Mapping[str, Path], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.root, self.folders = root, dict(folders)
        self.secret = secrets.token_urlsafe(24)
        self.hosts = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}
        self.ending = threading.Event()
        self.seen_page = False
        self._at_work, self._last, self._lock = 0, time.monotonic(), threading.Lock()
        self.store = cache(self._store)

    @property
    def address(self) -> str:
        """Of the analysis, or of the page over all of them."""
        only = f"{quote(self.root.name)}/" if self.root in self.folders.values() else ""
        return f"http://127.0.0.1:{self.server_port}/{self.secret}/{only}"

    def _store(self, name: str) -> AnyStore:
        with self._lock:
            return open_store(self.folders[name])

    def begin(self, step: int) -> None:
        """Count a request that begins (1) or ends (-1); an open page is one that goes on."""
        with self._lock:
            self._at_work += step
            self._last = time.monotonic()

    def is_done(self) -> bool:
        """Whether nothing is asked any more."""
        # Ten minutes are for a browser to open its first page.
        patience = CLOSED_SECONDS if self.seen_page else 600.0
        return not self._at_work and time.monotonic() - self._last > patience


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.begin(1)
        try:
            self._answer()
        except PairtileError as error:
            self._refuse(HTTPStatus.CONFLICT, str(error))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page was closed
        except Exception as error:  # of a file that somebody else has written, or a defect
            print(f"pairtile view: a request failed: {error!r}", file=sys.stderr)
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
        finally:
            self.server.begin(-1)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: an address holds the secret."""

    def _answer(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            return self._refuse(HTTPStatus.FORBIDDEN)
        try:
            address = urlsplit(self.path)
            _, secret, *rest = address.path.split("/", 3)
        except ValueError:
            return self._refuse(HTTPStatus.BAD_REQUEST)
        if "\0" in unquote(address.path):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        if not secrets.compare_digest(secret.encode(), self.server.secret.encode()) or not rest:
            return self._refuse(HTTPStatus.NOT_FOUND)
        asked = {key: values[-1] for key, values in parse_qs(address.query).items()}
        name, file = unquote(rest[0]), unquote(rest[1]) if len(rest) > 1 else None
        if name == "alive" and file is None:  # hold the connection of an open page, until it closes
            self._begin(HTTPStatus.OK, "text/event-stream")
            self.server.seen_page = True
            while not self.server.ending.wait(BEAT_SECONDS):
                self.wfile.write(b": open\n\n")
            return
        if not name and self.server.root not in self.server.folders.values():
            # By this script a page that is served holds its server.
            alive = (HERE / "alive.js").read_text(encoding="utf-8")
            return self._send_page(*index_page(self.server.root, script=alive))
        if name not in self.server.folders or file is None:
            return self._refuse(HTTPStatus.NOT_FOUND)
        if file == "":
            return self._send_page(*pairs_page(name, self.server.store(name)))
        if file.startswith("pairs/"):
            return self._send_pairs(self.server.store(name), file.removeprefix("pairs/"), asked)
        folder = self.server.folders[name].resolve()
        path = (folder / file).resolve()
        if not path.is_file() or not path.is_relative_to(folder):
            return self._refuse(HTTPStatus.NOT_FOUND)
        with path.open("rb") as content:
            self._begin(HTTPStatus.OK, mimetypes.guess_type(path.name)[0] or "text/plain")
            shutil.copyfileobj(content, self.wfile)

    def _send_pairs(self, store: AnyStore, wanted: str, asked: dict[str, str]) -> None:
        store.check_unchanged()
        if wanted == "names":
            like = asked.get("like", "").lower()
            names = [name for name in store.names if like in name.lower()]
            names.sort(key=lambda name: not name.lower().startswith(like))
            return self._send_json({"names": names[:20]})
        try:
            least = store.snapped(float(asked.get("least") or 0))
        except ValueError:
            raise InputError(f"score from {asked['least']!r}: choose a number from 0 on") from None
        of = asked.get("of")
        item = store.number(of) if of else None
        if of and item is None:
            raise InputError(f"{of!r} is not among the {len(store.names):,} items of this analysis")
        found = store.best(least) if item is None else store.partners(item, least)
        if wanted == "list":
            # A saved file has all rows.
            return self._send_json(
                {
                    "count": store.count(least) if item is None else len(found.score),
                    "least": least,
                    "rows": [
                        [*names, None if score != score else float(f"{score:.6g}")]
                        for names, score in store.named(found, 1000)
                    ],
                }
            )
        if wanted != "list.tsv":
            return self._refuse(HTTPStatus.NOT_FOUND)
        self._begin(
            HTTPStatus.OK,
            "text/tab-separated-values; charset=utf-8",
            **{"Content-Disposition": 'attachment; filename="pairs.tsv"'},
        )
        self.wfile.write(("\t".join([*store.columns, store.score]) + "\n").encode())
        for part in store.pairs(least) if item is None else [found]:
            lines = ("\t".join([*names, f"{score:.7g}\n"]) for names, score in store.named(part))
            self.wfile.write("".join(lines).encode())

    def _send_page(self, text: str, policy: str) -> None:
        self._begin(
            HTTPStatus.OK,
            "text/html; charset=utf-8",
            **{"Content-Security-Policy": f"{policy}; connect-src 'self'; frame-ancestors 'none'"},
        )
        self.wfile.write(text.encode())

    def _send_json(self, content: object) -> None:
        self._begin(HTTPStatus.OK, "application/json")
        self.wfile.write(json.dumps(content, allow_nan=False).encode())

    def _refuse(self, status: HTTPStatus, why: str = "") -> None:
        self._begin(status, "text/plain; charset=utf-8")
        self.wfile.write((why or status.phrase).encode())

    def _begin(self, status: HTTPStatus, kind: str, **more: str) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        for key, value in (headers | more).items():
            self.send_header(key, value)
        self.end_headers()


def pairs_page(name: str, store: AnyStore) -> tuple[str, str]:
    """The page of one analysis, and what its content policy allows."""
    own = (HERE / f"{part}.js" for part in ("choose", "pairs", "alive"))
    scripts = [
        file.read_text(encoding="utf-8")
        for file in (REPORT / "errors.js", *own, REPORT / "ready.js")
    ]
    text = (
        page_templates(HERE)
        .get_template("pairs.html.j2")
        .render(
            name=name,
            method=store.summary["method"].replace("_", " "),
            score=store.score,
            columns=[column.replace("_", " ") for column in store.columns],
            words=store.WORDS,
            n_pairs=store.rows,
            n_items=len(store.names),
            has_report=(store.path.parent / "report.html").is_file(),
            style=Markup((REPORT / "report.css").read_text(encoding="utf-8")),
            scripts=[Markup(script) for script in scripts],
        )
    )
    return text, content_policy(scripts)
