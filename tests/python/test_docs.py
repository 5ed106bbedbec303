"""`dbt docs generate --static` writes one page, and a browser shows on it how the messages flow.

dbt writes the page from the parsed project alone: its lineage needs no catalog, so no Spark is started.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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
WAYS = {
    "canal": (
        "canal_mysql",
        "stg_example__canal_messages",
        "stg_example__canal_t_pk_changes",
        "example__canal_t_pk",
    ),
    "debezium": (
        "debezium_postgresql",
        "stg_example__debezium_messages",
        "stg_example__debezium_t_pk_full_changes",
        "example__debezium_t_pk_full",
    ),
    "dataworks": (
        "dataworks_shop",
        "stg_example__dataworks_messages",
        "stg_example__dataworks_orders_changes",
        "example__dataworks_orders",
    ),
}
# The page draws its graph on a canvas; the library that draws keeps what it has drawn at the canvas' element.
SHOWN_GRAPH = """
(() => {
    const drawn = [...document.querySelectorAll('*')].find(element => element._cyreg && element._cyreg.cy);
    if (!drawn) return null;
    const label = node => node.data('label');
    const edges = drawn._cyreg.cy.edges(':visible').map(edge => [label(edge.source()), label(edge.target())]);
    return {labels: drawn._cyreg.cy.nodes(':visible').map(label), edges: edges};
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The page of the worked example, as `make docs` writes it, without the tables' sizes."""
    target = tmp_path_factory.mktemp("docs")
    for command in (["parse"], ["docs", "generate", "--static", "--empty-catalog", "--no-compile"]):
        paths = ["--profiles-dir", "profiles", "--target-path", target, "--log-path", target]
        done = subprocess.run(
            [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *command, *paths],
            cwd=repository,
            # Without Java a Spark that is started after all fails.
            env=os.environ | {"JAVA_HOME": str(target / "no_java"), "SPARK_CDC_SCHEMA": "docs"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return target / "static_index.html"


class Tab:
    """A page in the browser, driven over two pipes: one JSON text a message, a zero byte after each."""

    def __init__(self, to_browser: int, from_browser: int, url: str) -> None:
        self._to_browser, self._from_browser = to_browser, from_browser
        self._received = b""
        self._calls = 0
        self._session: dict[str, str] = {}
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = {"sessionId": session}

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result; events in between are dropped."""
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


@pytest.mark.dbt
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
def test_the_page_shows_the_way_of_the_messages_to_current_and_history(page: Path, tmp_path: Path) -> None:
    url = f"{page.as_uri()}#!/model/model.spark_cdc.example__canal_t_pk?g_v=1"
    with browser_tab(url, tmp_path) as tab:
        give_up = time.monotonic() + PATIENCE
        while not (shown := tab.value(SHOWN_GRAPH)) or not shown["labels"]:
            assert time.monotonic() < give_up, "the page shows no graph"
            time.sleep(0.2)
        picture = base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"])
    (tmp_path / "lineage.png").write_bytes(picture)

    edges = {tuple(edge) for edge in shown["edges"]}
    for format_name, (topic, messages, changes, current) in WAYS.items():
        way = {
            (f"kafka.{topic}", f"example__raw_{format_name}"),
            (f"example__raw_{format_name}", messages),
            (messages, changes),
            (changes, current),
            (changes, f"{current}_history"),
            (current, "Example dashboard"),
            (f"{current}_history", "Example dashboard"),
        }
        assert way <= edges
        assert {label for edge in way for label in edge} <= set(shown["labels"])
