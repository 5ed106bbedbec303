"""`dbt docs generate --static` writes one page, and a browser shows on it how the messages flow.

dbt writes the page from the parsed project alone: its lineage needs no catalog, so no Spark is started.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from browser import CHROMIUM, PATIENCE, browser_tab

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
