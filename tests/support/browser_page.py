"""Pages in headless Chromium: opened once for their final state (``opened``), or as a ``Page`` that
a test can type into and ask (DevTools over a pipe)."""

from __future__ import annotations

import base64
import io
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import axe_core_python
import lxml.html
import matplotlib.image
import numpy as np
import pytest
from numpy.typing import NDArray

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH"),
]
"""Marks of tests that open pages."""

DARK = "--blink-settings=preferredColorScheme=0"
KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowDown": 40, "End": 35}


def table_rows(table: str) -> str:
    """An expression: the text of every cell in each row that a table shows, by its id."""
    return (
        f"[...document.querySelectorAll('#{table} tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


class Page:
    """One open page. What it complained of is in ``complaints``, what it asked for in
    ``requests``. ``fresh`` makes another of it, with nothing left of the one before."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._write, self._read = to_browser, from_browser
        self._number, self._rest, self._session, self._context = 0, b"", "", ""
        self.complaints: list[str] = []
        self.requests: list[str] = []

    @contextmanager
    def fresh(self, downloads: Path) -> Iterator[Page]:
        """This page without memory or settings, which saves files in ``downloads``."""
        self.complaints, self.requests = [], []
        self._context = self.call("Target.createBrowserContext")["browserContextId"]
        where = {"downloadPath": str(downloads), "browserContextId": self._context}
        self.call("Browser.setDownloadBehavior", behavior="allow", **where)
        try:
            yield self
        finally:
            self._session = ""
            self.call("Target.disposeBrowserContext", browserContextId=self._context)

    def open(self, address: str) -> float:
        """Load ``address``; the seconds until its scripts have run."""
        self._session = ""
        where = {"url": "about:blank", "browserContextId": self._context}
        target = self.call("Target.createTarget", **where, width=1280, height=900)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        begin = time.perf_counter()
        self.call("Page.navigate", url=address)
        self.wait_for("document.documentElement?.dataset.ready === 'true'")
        return time.perf_counter() - begin

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        how = {"returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 60.0) -> None:
        """Wait until an expression is true."""
        end = time.perf_counter() + seconds
        while not self.ask(expression):
            assert time.perf_counter() < end, f"never true: {expression}"
            time.sleep(0.02)

    def press(self, key: str, times: int = 1, *, shift: bool = False) -> None:
        """Press a key of the keyboard; a letter types itself."""
        named = KEY_CODES.get(key)
        event: dict[str, Any] = {"key": key, "modifiers": 8 if shift else 0}
        if named:
            event |= {"code": key, "windowsVirtualKeyCode": named}
        text = {} if named and key != "Enter" else {"text": "\r" if named else key}
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer, noting what happens meanwhile."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], 180)
            assert ready, "Chromium did not answer within three minutes"
            self._rest += os.read(self._read, 1 << 20)
        message, self._rest = self._rest.split(b"\0", 1)
        decoded: dict[str, Any] = json.loads(message)
        return decoded

    def _note(self, event: dict[str, Any]) -> None:
        method, content = event.get("method"), event.get("params", {})
        if content.get("entry", {}).get("source") == "rendering":
            return  # the browser on its own drawing without a GPU, not the page
        if method in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(content))
        elif method == "Runtime.consoleAPICalled" and content["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(content["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(content["request"]["url"][:100])


@contextmanager
def browser(profile: Path, *flags: str) -> Iterator[Page]:
    """A browser with an empty profile, closed at the end."""
    assert CHROMIUM is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--remote-debugging-pipe", "--window-size=1280,900",
        # Without these it may draw no more where memory shared among programs is short, or where it
        # takes its window for hidden.
        "--disable-dev-shm-usage", "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        f"--user-data-dir={profile}", *flags, "about:blank",
    ]  # fmt: skip
    # Chromium reads from descriptor 3 and writes to 4.
    shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    running = subprocess.Popen(
        ["bash", "-c", shell, "bash", *command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Page(ours_out, ours_in)
    finally:
        running.terminate()
        running.wait(timeout=30)
        os.close(ours_out)
        os.close(ours_in)


AXE = Path(axe_core_python.__file__).parent / "axe.min.js"
VIOLATIONS = """axe.run(document).then((r) => r.violations.map(
  (v) => [v.id, v.nodes.map((n) => n.html.slice(0, 100))]))"""


def axe_violations(page: Page) -> list[tuple[str, list[str]]]:
    """Rules of axe that the page breaks as it is shown now, and where."""
    page.ask(f"{AXE.read_text(encoding='utf-8')};0")
    return [(rule, places) for rule, places in page.ask(VIOLATIONS)]


def resize(page: Page, width: int) -> None:
    """Make the page so wide, and wait until it is at rest."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    page.wait_for(f"innerWidth === {width}")
    screenshot(page)  # what is out of view, such as a structure, follows only where it is drawn
    heights = [0]
    while len(set(heights[-4:])) > 1 or len(heights) < 5:
        time.sleep(0.1)
        heights.append(page.ask("document.documentElement.scrollHeight"))
        assert len(heights) < 200, "the page never comes to rest"


SCALE, SLICE = 0.5, 4000  # of a screenshot; browsers draw none of more than 16,384 lines


def screenshot(page: Page) -> NDArray[np.float32]:
    """The whole page, (lines, columns, colours), at half its size."""
    width, height = page.ask("[innerWidth, document.documentElement.scrollHeight]")
    slices = []
    for top in range(0, height, SLICE):
        high = min(SLICE, height - top) // 2 * 2
        clip = {"x": 0, "y": top, "width": width, "height": high, "scale": SCALE}
        shot = page.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        slices.append(matplotlib.image.imread(io.BytesIO(base64.b64decode(shot)))[..., :3])
    return np.concatenate(slices)


def browse(address: str, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open ``address`` headless in an empty profile; the console goes to stderr."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--hide-scrollbars", "--virtual-time-budget=8000",
        "--enable-logging=stderr", "--v=0", *flags, address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done


def opened(address: str, profile: Path) -> lxml.html.HtmlElement:
    """The page after its scripts ran, once it is certain that none complained."""
    done = browse(address, profile, "--dump-dom")
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not console
    page = lxml.html.fromstring(done.stdout)
    assert page.get("data-ready") == "true"
    assert page.get("data-errors") is None
    return page


def canvas(page: Page) -> dict[str, Any]:
    """What the drawing says of itself."""
    found = page.ask("({...document.getElementById('network-canvas').dataset})")
    return dict(found)


def choose(page: Page, name: str, value: str) -> None:
    """Choose in a list, or set the slider, and raise the page's events."""
    event = "input" if name == "least" else "change"
    page.ask(
        f"(() => {{ const e = document.getElementById('network-{name}'); e.value = '{value}';"
        f" e.dispatchEvent(new Event('{event}')); }})()"
    )


def look_at(page: Page, *names: str) -> str:
    """Choose an item or a pair on a page that is open; the text of the side panel."""
    page.ask(f"choose({json.dumps(names)})")
    return str(page.ask("document.getElementById('evidence').innerText"))


def drawn_samples(page: Page) -> list[tuple[float, float]]:
    """What the side panel says of each point of a pair's samples: both values, to four digits."""
    titles = page.ask(
        "[...document.querySelectorAll('#evidence circle')].map((c) => c.textContent)"
    )
    both = ([part.rsplit(" ", 1)[1] for part in title.split(", ")[-2:]] for title in titles)
    return [(float(x), float(y)) for x, y in both]
