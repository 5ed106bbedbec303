"""A page in a headless browser, for tests that look at what a person would see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1000",
)
PATIENCE = 60.0


class Tab:
    """A page in the browser, driven over two pipes: one JSON text a message, a zero byte after each."""

    def __init__(self, to_browser: int, from_browser: int, url: str) -> None:
        self._to_browser, self._from_browser = to_browser, from_browser
        self._received = b""
        self._calls = 0
        self._session: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result; events in between are kept."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters} | self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._received:
                part = os.read(self._from_browser, 65536)
                assert part, "the browser ended"
                self._received += part
            text, self._received = self._received.split(b"\0", 1)
            answer = json.loads(text)
            if "id" not in answer:
                self.events.append(answer)
            if answer.get("id") == self._calls:
                assert "result" in answer, answer
                return answer["result"]

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")


@contextmanager
def browser_tab(url: str, folder: Path) -> Iterator[Tab]:
    """Open the address in a browser of its own; its profile is a new folder."""
    assert CHROMIUM is not None
    read_by_browser, to_browser = os.pipe()
    from_browser, written_by_browser = os.pipe()
    # The browser's side of the pipes has fixed numbers: 3 to read and 4 to write.
    pipes = f'exec "$@" 3<&{read_by_browser} 4>&{written_by_browser}'
    options = [*OPTIONS, f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe", "about:blank"]
    browser = subprocess.Popen(
        ["bash", "-c", pipes, "bash", CHROMIUM, *options],
        pass_fds=(read_by_browser, written_by_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_by_browser)
    os.close(written_by_browser)
    # A browser that hangs ends the wait for its answer.
    watchdog = threading.Timer(2 * PATIENCE, browser.kill)
    watchdog.start()
    try:
        yield Tab(to_browser, from_browser, url)
    finally:
        watchdog.cancel()
        browser.terminate()
        browser.wait()
        os.close(to_browser)
        os.close(from_browser)
