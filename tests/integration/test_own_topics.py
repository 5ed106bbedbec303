"""The page for somebody with topics of their own, as it is typed: a real broker, Debezium's topics, tables equal to the database's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from broker import Broker, Client, needs_broker
from harness import REPOSITORY, Lake, Project, profile_named
from ruamel.yaml import YAML
from test_journey import EXAMPLE, must_equal_the_database
from typed_pages import Shell, files, steps

pytestmark = needs_broker()
# Another process reads its tables.
LAKES = ("iceberg",)

PAGE = (REPOSITORY / "docs" / "how-to" / "start-with-your-topics.md").read_text(encoding="utf-8")
KAFKA_SOURCE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
TABLES = ("members", "loans", "fines")
# `dbt build` of the page makes and tests everything, which takes minutes: other tests build what is left out here.
SHORT_BUILD = ["--select", "+config.materialized:cdc_current", "members_history", "--resource-type", "model"]


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """A broker where the page says that it is."""
    broker = Broker(tmp_path / "kafka").start()
    monkeypatch.setenv("KAFKA_SERVERS", broker.servers)
    yield broker
    broker.stop()


@pytest.fixture
def project(lake: Lake, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The files of the page; only the profile is that of the tests, whose session is shared."""
    template = tmp_path / "page"
    shown = files(PAGE)
    of_page, of_example = (
        YAML(typ="safe").load(text)["library"]["outputs"]["local"]["server_side_parameters"]
        for text in (shown["profiles.yml"], (EXAMPLE / "profiles.yml").read_text(encoding="utf-8"))
    )
    assert of_page == of_example | {
        "spark.jars.packages": f"{of_example['spark.jars.packages']},{KAFKA_SOURCE}"
    }
    shown["profiles.yml"] = profile_named("library")
    shown["packages.yml"] = shown["packages.yml"].replace("../dbt-spark-cdc\n", "../..\n")
    for path, text in shown.items():
        (template / path).parent.mkdir(parents=True, exist_ok=True)
        (template / path).write_text(text)
    project = Project(tmp_path / "library", "topics", template=template)
    monkeypatch.chdir(project.folder)
    project.start_spark()
    return project


@pytest.fixture
def topics(lake: Lake, broker: Broker, project: Project) -> None:
    """Three topics of the library, with what Debezium wrote to them."""
    client = Client(lake.spark, broker.servers)
    for table in TABLES:
        client.create(f"library.public.{table}", 3)
    for file in ("captured/library.jsonl", "later.jsonl"):
        for line in (EXAMPLE / file).read_text(encoding="utf-8").splitlines():
            message = json.loads(line)
            if message["topic"].removeprefix("library.public.") in TABLES:
                client.produce(message["topic"], [message["value"]], message["partition"], key=message["key"])
    client.close()


@pytest.mark.usefixtures("topics")
def test_the_page_makes_tables_of_topics(lake: Lake, project: Project) -> None:
    shell = Shell(project, SHORT_BUILD)
    for command, printed in steps(PAGE):
        shell.type(command, printed)
    assert shell.kinds == ["deps", "run", "generate", "build", "show", "build"]
    assert must_equal_the_database(lake, project, "topics", TABLES) == 78
    assert shell.differences == []
