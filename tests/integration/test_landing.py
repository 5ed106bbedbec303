"""`cdc_landing` lands topics of a real broker: each committed message once, whatever happens to a run or a topic."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from broker import Broker, Client, needs_broker
from click.testing import CliRunner
from dbt_spark_cdc.cli import main
from dbt_spark_cdc.registry import register
from harness import KAFKA_LOGIN, KAFKA_PASSWORD, KAFKA_USER, LAKES_ASKED_FOR, REPOSITORY, Lake, Project

pytestmark = needs_broker()

LAKES = LAKES_ASKED_FOR
MODEL = """
{{{{ config(materialized='cdc_landing') }}}}
{{{{ spark_cdc.kafka_messages(options={options}) }}}}
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    yield broker.start()
    broker.stop()


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project]) -> Project:
    return new_project("landing", {})


@pytest.fixture(scope="module")
def kafka(broker: Broker, project: Project, lake: Lake) -> Iterator[Client]:
    client = Client(lake.spark, broker.servers)
    yield client
    client.close()


@pytest.fixture
def land(project: Project, broker: Broker) -> Callable[..., Any]:
    """Run a landing model that is named like its topic; return dbt's line of it, or its error."""

    def run(name: str, *arguments: str, fails: bool = False, **options: str | None) -> str:
        write(project, broker, name, **options)
        done = project.dbt("run", "--select", name, *arguments)
        assert done.result.success != fails, done.messages or done.failure
        return done.messages.get(name) or done.failure

    return run


def write(project: Project, broker: Broker, name: str, **options: str | None) -> None:
    everything = {"kafka.bootstrap.servers": broker.servers, "subscribe": name} | options
    kept = {option: value for option, value in everything.items() if value is not None}
    project.write({f"models/{name}.sql": MODEL.format(options=kept)})


def values_of(lake: Lake, name: str) -> list[tuple[int, int, str | None]]:
    rows = lake.rows(f"select partition, offset, cast(value as string) as value from landing.{name}")
    return sorted((row["partition"], row["offset"], row["value"] or "") for row in rows)


def texts_of(lake: Lake, name: str) -> list[str]:
    return [value for _, _, value in values_of(lake, name)]


@contextmanager
def before_the_append(do: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Let something happen when a run has asked for the ends of the logs and begins to write."""
    from dbt.adapters.spark.session import Cursor

    execute = Cursor.execute

    def execute_later(cursor: Any, sql: str, *parameters: Any) -> None:
        if "insert into landing." in sql:
            do(lambda: execute(cursor, sql, *parameters))
        execute(cursor, sql, *parameters)

    Cursor.execute = execute_later
    try:
        yield
    finally:
        Cursor.execute = execute


def test_a_topic_lands_once(project: Project, land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    kafka.create("first", 3)
    assert land("first") == "nothing new"
    assert values_of(lake, "first") == []
    kafka.produce("first", ["a", None], key="k", headers={"h": "x"})
    kafka.produce("first", ["c"], partition=2)
    assert land("first") == "3 messages of 2 partitions landed"
    commits = lake.commits("landing.first")
    assert land("first") == "nothing new"
    assert lake.commits("landing.first") == commits
    kafka.add_partitions("first", 5)
    kafka.produce("first", ["d"])
    kafka.produce("first", ["e"], partition=4)
    assert land("first") == "2 messages of 2 partitions landed"
    assert project.step_of("first") == "landing the messages of 2 offsets"
    assert values_of(lake, "first") == [(0, 0, "a"), (0, 1, ""), (0, 2, "d"), (2, 0, "c"), (4, 0, "e")]
    [first] = lake.rows("select * from landing.first where partition = 0 and offset = 0")
    assert (first["topic"], first["key"], first["headers"]) == ("first", b"k", [{"key": "h", "value": b"x"}])
    [second] = lake.rows("select value from landing.first where partition = 0 and offset = 1")
    assert second["value"] is None


def test_what_a_rollback_took_back_lands_again(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    """Also after one to a commit that only moved rows: it names no state of its own."""
    if lake.file_format != "iceberg":
        pytest.skip("a restore of Delta is a commit like any other")
    kafka.create("back")
    kafka.produce("back", ["a"])
    land("back")
    lake.spark.sql(
        "call lake.system.rewrite_data_files(table => 'landing.back', options => map('rewrite-all', 'true'))"
    )
    [moved] = lake.rows("select snapshot_id from landing.back.snapshots where operation = 'replace'")
    kafka.produce("back", ["b"])
    assert land("back") == "1 message of 1 partition landed"
    lake.spark.sql(f"call lake.system.rollback_to_snapshot('landing.back', {moved['snapshot_id']})")
    assert texts_of(lake, "back") == ["a"]
    assert land("back") == "1 message of 1 partition landed"
    assert texts_of(lake, "back") == ["a", "b"]


def test_the_page_s_models_land(
    project: Project, kafka: Client, broker: Broker, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (REPOSITORY / "docs/how-to/land-a-topic.md").read_text()
    from_kafka, from_files = re.findall(r"```sql\n(-- models/landing/shop/raw_shop.sql\n.*?)```", page, re.S)
    line = re.findall(r"```json\n(.*?)```", page, re.S)[0]
    exports = project.folder / "of_the_page"
    exports.mkdir()
    (exports / "shop.jsonl").write_text(line)
    project.write(
        {
            "models/raw_shop.sql": from_kafka,
            "models/raw_files.sql": from_files.replace("s3a://exports/shop/", f"{exports}/"),
        }
    )
    kafka.create("shop")
    kafka.produce("shop", ["a"])
    monkeypatch.setenv("KAFKA_SERVERS", broker.servers)
    done = project.run("--select", "raw_shop", "raw_files")
    project.remove("models/raw_shop.sql", "models/raw_files.sql")
    assert done.messages["raw_shop"] == "1 message of 1 partition landed"
    assert done.messages["raw_files"] == "1 message of 1 file landed"
    assert texts_of(lake, "raw_files") == ["..."]


def test_what_is_noted_is_valid_for_one_commit(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    """As after a run that was killed between its rows and its note: then the rows count."""
    kafka.create("noted")
    kafka.produce("noted", ["a", "b", "c"])
    land("noted")
    lake.spark.sql(
        "alter table landing.noted unset tblproperties ('spark_cdc.landed', 'spark_cdc.read_commit')"
    )
    kafka.produce("noted", ["d"])
    assert land("noted") == "1 message of 1 partition landed"
    lake.spark.sql("delete from landing.noted where offset = 3")
    assert land("noted") == "1 message of 1 partition landed"
    assert texts_of(lake, "noted") == ["a", "b", "c", "d"]


def test_only_committed_messages_land(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    kafka.create("transactions")
    kafka.transaction("transactions", ["a"])
    kafka.transaction("transactions", ["b"], is_committed=False)
    assert land("transactions") == "1 message of 1 partition landed"
    commits = lake.commits("landing.transactions")
    kafka.transaction("transactions", ["c"], is_committed=False)
    assert land("transactions") == "0 messages of 1 partition landed"
    assert land("transactions") == "nothing new"
    assert lake.commits("landing.transactions") <= commits + 1
    producer = kafka.open_transaction("transactions", ["d"])
    kafka.produce("transactions", ["e"])
    assert land("transactions") == "nothing new"
    producer.commitTransaction()
    producer.close()
    assert land("transactions") == "2 messages of 1 partition landed"
    assert texts_of(lake, "transactions") == ["a", "d", "e"]


def test_a_run_has_a_limit(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    kafka.create("limited", 2)
    kafka.produce("limited", ["a"] * 30)
    kafka.produce("limited", ["b"] * 10, partition=1)
    limit = {"maxOffsetsPerTrigger": "20"}
    assert land("limited", **limit) == "20 messages of 2 partitions landed"
    assert [
        lake.rows(f"select count(*) as n from landing.limited where partition = {p}")[0]["n"] for p in (0, 1)
    ] == [15, 5]
    assert land("limited", **limit) == "20 messages of 2 partitions landed"
    assert land("limited", **limit) == "nothing new"
    assert [offset for _, offset, _ in values_of(lake, "limited")] == [*range(30), *range(10)]


def test_a_pattern_finds_new_topics_and_a_start_is_for_new_partitions(
    land: Callable[..., str], kafka: Client, lake: Lake
) -> None:
    for topic in ("many.one", "other"):
        kafka.create(topic)
        kafka.produce(topic, ["a", "b"])
    pattern = {
        "subscribe": None,
        "subscribePattern": r"many\..*",
        "startingOffsets": '{"many.one": {"0": 1}}',
    }
    assert land("pattern", **pattern) == "1 message of 1 partition landed"
    kafka.create("many.two")
    kafka.produce("many.two", ["c"])
    assert land("pattern", **pattern) == "1 message of 1 partition landed"
    assert texts_of(lake, "pattern") == ["b", "c"] or texts_of(lake, "pattern") == ["c", "b"]


def test_deleted_offsets_are_said(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    kafka.create("retention")
    kafka.produce("retention", ["a", "b"])
    land("retention")
    kafka.produce("retention", ["c", "d", "e"])
    kafka.delete_records("retention", before=4)
    assert land("retention") == (
        "1 message of 1 partition landed; deleted before they landed: topic retention, partition 0: offsets from 2 to 3"
    )
    assert land("retention") == "nothing new"
    assert texts_of(lake, "retention") == ["a", "b", "e"]
    said = land("retention", "--full-refresh", fails=True)
    assert (
        "would lose messages that Kafka no longer has, the first at: topic retention, partition 0, offset 0"
        in said
    )
    assert texts_of(lake, "retention") == ["a", "b", "e"]


def test_a_recreated_topic_stops_until_it_is_named(
    project: Project, land: Callable[..., str], kafka: Client, lake: Lake
) -> None:
    """Kafka's id of a topic shows it; where none is noted, a log that is shorter than what has landed does."""
    for topic in ("again", "shorter"):
        kafka.create(topic)
        kafka.produce(topic, ["a", "b"])
        land(topic)
        kafka.delete(topic)
        kafka.create(topic)
    lake.spark.sql("alter table landing.shorter unset tblproperties ('spark_cdc.landed')")
    kafka.produce("again", ["A", "B", "C"])
    kafka.produce("shorter", ["A"])
    said = project.dbt("run", "--select", "again", "shorter").messages
    assert "topic again was deleted and created again: Kafka has another id for it" in said["again"]
    assert "--vars '{spark_cdc__land_recreated_topics: [again]}'" in said["again"]
    assert "partition 0 ends at offset 1, and model shorter has landed it up to offset 1" in said["shorter"]
    assert "would lose messages that Kafka no longer has" in land("again", "--full-refresh", fails=True)
    assert texts_of(lake, "again") == texts_of(lake, "shorter") == ["a", "b"]

    def dies(_: Callable[[], None]) -> None:
        raise RuntimeError("killed")

    # The same for all runs, because dbt parses the project for each other one.
    named = [
        "--vars",
        "{spark_cdc__land_recreated_topics: [again, shorter], spark_cdc__allow_history_loss: [shorter]}",
    ]
    # Of the topic that was deleted: the new one has its own offsets, also after a run that died.
    beginning = {"startingOffsets": '{"again": {"0": 1}}'}
    with before_the_append(dies):
        land("again", *named, fails=True, **beginning)
    assert land("again", *named, **beginning) == "3 messages of 1 partition landed"
    assert land("again", *named) == "nothing new"
    assert land("shorter", *named) == "1 message of 1 partition landed"
    assert sorted(texts_of(lake, "shorter")) == ["A", "a", "b"]
    assert land("shorter", "--full-refresh", *named) == "1 message of 1 partition landed"
    assert texts_of(lake, "shorter") == ["A"]
    lake.spark.sql("alter table landing.again set tblproperties ('spark_cdc.read_commit' = 'unknown')")
    kafka.produce("again", ["D"])
    assert land("again") == "1 message of 1 partition landed"
    assert sorted(texts_of(lake, "again")) == ["A", "B", "C", "D", "a", "b"]


def test_two_runs_at_once_are_found(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    kafka.create("twice")
    land("twice")
    kafka.produce("twice", ["a"])
    with before_the_append(lambda append: append()):
        assert "another run wrote" in land("twice", fails=True)
    assert texts_of(lake, "twice") == ["a", "a"]
    kafka.produce("twice", ["b"])
    assert land("twice") == "1 message of 1 partition landed"


def test_a_broker_that_goes_away_leaves_nothing_half_written(
    land: Callable[..., str], kafka: Client, lake: Lake, broker: Broker
) -> None:
    kafka.create("gone")
    land("gone")
    kafka.produce("gone", ["a", "b"])
    short = {
        "kafkaConsumer.pollTimeoutMs": "2000", "kafka.default.api.timeout.ms": "3000", "kafka.request.timeout.ms": "2000",
    }  # fmt: skip
    with before_the_append(lambda append: broker.stop()):
        said = land("gone", fails=True, **short)
    assert "spark_cdc.cdc_landing: Kafka stopped answering while its messages were read (" in said
    assert "at org.apache" not in said
    assert texts_of(lake, "gone") == []
    said = land("gone", fails=True, **short)
    assert f"no Kafka broker answers at {broker.servers}" in said
    broker.start()
    assert land("gone") == "2 messages of 1 partition landed"


SASL = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
NO_LOGIN = KAFKA_LOGIN.replace(KAFKA_PASSWORD, "wrong password")
WRONG = {
    "no_topic": ({"subscribe": "no_topic"}, "has no topic `no_topic`"),
    "no_match": (
        {"subscribe": None, "subscribePattern": "wro"},
        "has no topic whose whole name matches `wro`; it has ",
    ),
    "no_pattern": (
        {"subscribe": None, "subscribePattern": "wrong[.*"},
        "option subscribePattern must be a regular expression as Java has them; got `wrong[.*`",
    ),
    "no_host": (
        {"kafka.bootstrap.servers": "no-such-host.invalid:9092"},
        "no host of kafka.bootstrap.servers is known here; got no-such-host.invalid:9092",
    ),
    "no_option": (
        {"kafka.fetch.max.wait": "1"},
        "got `kafka.fetch.max.wait`. Did you mean kafka.fetch.max.wait.ms?",
    ),
    "no_variable": (
        SASL | {"kafka.sasl.jaas.config": "${env:NO_LOGIN}"},
        "names the environment variable NO_LOGIN",
    ),
    "written": (SASL | {"kafka.sasl.jaas.config": NO_LOGIN}, "must have a reference in place of the secret"),
    "after_the_end": (
        {"subscribe": "wrong", "startingOffsets": '{"wrong": {"0": 7}}'},
        "got 7 for topic wrong, partition 0",
    ),
    "with_more": (
        {"subscribe": "wrong"},
        "must be one call of spark_cdc.kafka_messages or spark_cdc.file_messages and nothing else",
    ),
    "keyed": (
        {"subscribe": "wrong"},
        "A cdc_landing model does not read it: each run appends what it has not read yet.",
    ),
    "ours": ({"endingOffsets": "latest"}, "Remove it: cdc_landing sets it itself"),
    "latest": ({"startingOffsets": "latest"}, "would never land what comes before its first message"),
}


def test_what_is_wrong_is_said_in_a_sentence(project: Project, kafka: Client, broker: Broker) -> None:
    kafka.create("wrong")
    names = [name for name in WRONG if name not in ("written", "ours", "latest")]
    for name in names:
        write(project, broker, name, **WRONG[name][0])
    more = project.folder / "models/with_more.sql"
    more.write_text(more.read_text() + "where offset > 1")
    keyed = project.folder / "models/keyed.sql"
    keyed.write_text(keyed.read_text().replace("'cdc_landing'", "'cdc_landing', unique_key=['offset']"))
    login = {"kafka.bootstrap.servers": broker.sasl_servers, "subscribe": "wrong"} | SASL
    write(project, broker, "no_login", **login, **{"kafka.sasl.jaas.config": login_file(project)})
    done = project.dbt("run", "--select", *names, "no_login")
    for name in names:
        assert WRONG[name][1] in done.messages[name], name
        assert "Exception" not in done.messages[name]
    assert (
        "(SaslAuthenticationException: Authentication failed: Invalid username or password)"
        in done.messages["no_login"]
    )
    project.remove(*(f"models/{name}.sql" for name in [*names, "no_login"]))


def test_a_missing_right_is_said_in_a_sentence(
    land: Callable[..., str], kafka: Client, broker: Broker, lake: Lake
) -> None:
    login = {"kafka.bootstrap.servers": broker.sasl_servers, "kafka.sasl.jaas.config": "${env:KAFKA_LOGIN}"}
    kafka.create("of_another")
    kafka.let_describe("of_another", "another")
    said = land("of_another", fails=True, **SASL, **login)
    assert "does not let the model's user see the topic `of_another`. Give it the rights" in said
    kafka.create("described")
    kafka.produce("described", ["a"])
    kafka.let_describe("described", KAFKA_USER)
    said = land("described", fails=True, **SASL, **login)
    assert (
        "does not let the user of the model read a topic (Not authorized to access topics: [described])."
        in said
    )
    assert lake.rows("show tables in landing like 'described'") == []


def test_where_spark_has_no_plugin_it_is_said(land: Callable[..., str], kafka: Client, lake: Lake) -> None:
    """As over a Thrift server, which has none of the functions."""
    lake.spark.sql("drop temporary function cdc_detect")
    try:
        said = land("wrong", fails=True)
    finally:
        register(lake.spark)
    assert "Kafka is read where dbt itself runs Spark (method: session) and the Python half" in said


def login_file(project: Project) -> str:
    file = project.folder / "login.properties"
    file.write_text(f"login={NO_LOGIN}\n")
    return f"${{file:{file}:login}}"


@pytest.mark.parametrize("name", ["written", "ours", "latest"])
def test_a_wrong_option_stops_dbt_before_it_runs(project: Project, broker: Broker, name: str) -> None:
    write(project, broker, name, **WRONG[name][0])
    done = project.dbt("parse")
    project.remove(f"models/{name}.sql")
    assert WRONG[name][1] in done.failure
    assert "wrong password" not in done.failure


def test_a_secret_is_in_no_file_of_dbt(project: Project, kafka: Client, broker: Broker, lake: Lake) -> None:
    from dbt.cli.main import dbtRunner

    kafka.create("secret")
    kafka.produce("secret", ["a"])
    login = {"kafka.bootstrap.servers": broker.sasl_servers, "kafka.sasl.jaas.config": "${env:KAFKA_LOGIN}"}
    write(project, broker, "secret", **SASL, **login)
    folder = str(project.folder)
    command = [
        "--project-dir",
        folder,
        "--profiles-dir",
        folder,
        "--log-path",
        f"{folder}/logs",
        "--log-level-file",
        "debug",
    ]
    for verb in (["run", "--select", "secret"], ["docs", "generate", "--select", "secret"]):
        assert dbtRunner().invoke([*verb, *command, "--no-send-anonymous-usage-stats"]).success
    assert texts_of(lake, "secret") == ["a"]
    files = [
        file for file in project.folder.rglob("*") if file.is_file() and "dbt_packages" not in file.parts
    ]
    assert any("u0024{env:KAFKA_LOGIN}" in text(file) for file in files if file.name == "dbt.log")
    assert [file.name for file in files if KAFKA_PASSWORD in text(file)] == []


def text(file: Any) -> str:
    return file.read_text(errors="replace")


def test_messages_models_share_a_raw_table(
    project: Project, kafka: Client, broker: Broker, lake: Lake
) -> None:
    """Each names its topics; what counts the messages of one looks at no others."""
    for topic in ("mixed.orders", "mixed.users"):
        kafka.create(topic)
    order = '{"database":"d","table":"orders","type":"INSERT","isDdl":false,"es":1767225600000,"old":null,"data":[{"id":"%s"}]}'
    user = '{"database":"d","table":"users","type":"insert","ts":1767225600,"position":"mysql-bin.1:%s","data":{"id":1}}'
    write(project, broker, "mixed", subscribe="mixed.orders,mixed.users")
    append = "{{ config(materialized='cdc_append') }}"
    call = append + "{{ spark_cdc.messages(ref('mixed'), format='%s', topics=%s) }}"
    project.write(
        {
            "models/orders.sql": call % ("canal", "'mixed.orders'"),
            "models/users.sql": call % ("maxwell", "['no_topic', '.*[.]users']"),
            "models/mixed.yml": "models:\n"
            + "".join(
                f"  - name: {name}\n    data_tests: [spark_cdc.every_message_accounted_for: {{arguments: {{raw: ref('mixed')}}}}]\n"
                for name in ("orders", "users")
            ),
        }
    )
    for number in (1, 2):
        kafka.produce("mixed.orders", [order % number] * 2)
        kafka.produce("mixed.users", [user % number])
        done = project.dbt("build", "--select", "mixed+").must_succeed()
        assert done.messages["orders"] == "2 read: 2 unrouted"
        assert done.messages["users"] == "1 read: 1 unrouted"
    for name in ("orders", "users"):
        assert {row["topic"] for row in lake.rows(f"select topic from landing.{name}")} == {f"mixed.{name}"}
    project.remove("models/mixed.yml", "models/orders.sql", "models/users.sql")

    # Without FILES the landing model's table is read, through the project's profile.
    for source, name, topics in (("orders", "canal", "mixed.orders"), ("users", "maxwell", ".*[.]users")):
        call = f"ref('mixed'), format='{name}', raw_columns={{'headers': 'headers'}}, topics=['{topics}'])"
        options = ["--source", source, "--landing", "mixed", "--topics", topics, "--format", name]
        folders = ["--project-dir", str(project.folder), "--profiles-dir", str(project.folder)]
        done = CliRunner().invoke(main, ["generate", *options, *folders])
        assert done.exit_code == 0, done.output
        staging = f"models/staging/{source}"
        assert call in (project.folder / staging / f"stg_{source}__messages.sql").read_text()
        assert (project.folder / staging / f"stg_{source}__{source}_changes.sql").exists()
        assert not (project.folder / staging / f"_{source}__sources.yml").exists()
    done = project.dbt("build", "--select", "mixed+").must_succeed()
    orders = lake.rows("select id from landing.stg_orders__orders_changes order by id")
    assert [row["id"] for row in orders] == [1, 1, 2, 2]
    users = lake.rows("select id from landing.stg_users__users_changes")
    assert [row["id"] for row in users] == [1, 1]
    for folder in ("staging", "quality"):
        shutil.rmtree(project.folder / "models" / folder)
    (project.folder / "spark_cdc_plan.json").unlink()


CAPTURED = [
    {
        "topic": "shop",
        "partition": 2,
        "offset": 7,
        "timestamp": 1767225600000,
        "key": "k",
        "value": '{"n": 1.50}',
        "headers": [["h", "x"]],
    },
    {"topic": "shop", "partition": 2, "offset": 8, "value": None},
    {"topic": "shop", "partition": 2, "offset": 9, "value_base64": "AP8="},
]
# Each of them is a value itself: nobody knows what its writer meant.
OTHER = [
    b'{"topic": "shop", "partition": 2, "value": "no offset"}',
    b'{"topic": "shop", "partition": 2, "offset": 1, "value": {"not": "a text"}}',
    b'{"topic": "shop", "partition": 2, "offset": 1, "value": "half a character \\ud83d"}',
    b'{"topic": "shop", "partition": 2, "offset": 1, "value": "not UTF-8 \xff"}',
    b'{"topic": "shop", "partition": 2, "offset": 1, "value": "1", "value": "2"}',
    b"broken\rjson",
    b"null",
]


def test_the_lines_of_each_file_land_once(project: Project, lake: Lake) -> None:
    folder = project.folder / "exports"
    folder.mkdir()
    call = "{{ config(materialized='cdc_landing') }}{{ spark_cdc.file_messages(path='%s') }}"
    project.write({"models/lines.sql": call % folder})

    def land(*arguments: str, fails: bool = False) -> str:
        done = project.dbt("run", "--select", "lines", *arguments)
        assert done.result.success != fails, done.messages or done.failure
        return done.messages.get("lines") or done.failure

    assert land() == "nothing new"
    (folder / "a b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in CAPTURED))
    (folder / "other.jsonl").write_bytes(b"\n".join(OTHER))
    assert land() == "10 messages of 2 files landed"
    assert land() == "nothing new"
    rows = lake.rows("select * from landing.lines order by topic, partition, offset")
    shop = [row for row in rows if row["topic"] == "shop"]
    assert [(row["partition"], row["offset"], row["value"]) for row in shop] == [
        (2, 7, b'{"n": 1.50}'), (2, 8, None), (2, 9, b"\x00\xff"),
    ]  # fmt: skip
    assert (shop[0]["key"], shop[0]["headers"]) == (b"k", [{"key": "h", "value": b"x"}])
    assert shop[0]["timestamp"].timestamp() == 1767225600
    other = [row for row in rows if row["topic"].endswith("exports/other.jsonl")]
    assert [row["offset"] for row in other] == list(range(len(OTHER)))
    assert [row["value"] for row in other] == [*OTHER[:-1], None]
    (folder / "c.jsonl").write_text("{}\n")
    assert land() == "1 message of 1 file landed"
    assert project.step_of("lines") == "landing the messages of 1 file"
    # Each run is a commit with files of its own: `maintain` merges them, and nothing lands again.
    for name in "defg":
        (folder / f"{name}.jsonl").write_text("{}\n")
        assert land() == "1 message of 1 file landed"
    files = "select distinct input_file_name() as data_file from landing.lines"
    assert len(lake.rows(files)) > 5
    maintained = project.dbt(
        "run-operation", "spark_cdc.maintain", "--args", "{models: [lines], dry_run: false}"
    )
    assert maintained.result.success, maintained.failure
    assert len(lake.rows(files)) == 1
    assert land() == "nothing new"
    kept = lake.rows("select * from landing.lines order by topic, partition, offset")
    assert [row for row in kept if row["landed_at"] == rows[0]["landed_at"]] == rows
    (folder / "c.jsonl").write_text("{}\n{}\n")
    os.utime(folder / "c.jsonl", (1, 1))
    assert "a file changed after it landed: " in land(fails=True)
    (folder / "other.jsonl").unlink()
    (folder / "c.jsonl").unlink()
    assert "other.jsonl" in land("--full-refresh", fails=True)
    assert len(lake.rows("select * from landing.lines")) == 15


def test_what_every_model_has_read_can_be_pruned(
    project: Project, kafka: Client, broker: Broker, lake: Lake
) -> None:
    """Of each partition one message stays, and one of each file, so nothing lands twice."""
    order = '{"database":"d","table":"orders","type":"INSERT","isDdl":false,"es":1767225600000,"old":null,"data":[{"id":"%s"}]}'
    user = '{"database":"d","table":"users","type":"insert","ts":1767225600,"position":"mysql-bin.1:%s","data":{"id":1}}'
    values = {
        "old.orders": [order % 1, "{", order % 2, order % 3],
        "old.users": [user % 1, user % 2],
        "old.other": [order % 4, order % 5],
    }
    folder = project.folder / "old"
    folder.mkdir()
    for topic, texts in values.items():
        kafka.create(topic)
        kafka.produce(topic, texts, milliseconds=1767225600000)
        lines = [
            {"topic": topic, "partition": 0, "offset": offset, "timestamp": 1767225600000, "value": text}
            for offset, text in enumerate(texts)
        ]
        for name, of_file in (("first", lines[:-1]), ("last", lines[-1:])):
            (folder / f"{topic}.{name}.jsonl").write_text(
                "".join(json.dumps(line) + "\n" for line in of_file)
            )
    write(project, broker, "old", subscribe=None, subscribePattern="old[.].*")
    append = "{{ config(materialized='cdc_append') }}"
    call = append + "{{ spark_cdc.messages(ref('%s'), format='%s', topics=%s) }}"
    files = "{{ config(materialized='cdc_landing') }}{{ spark_cdc.file_messages(path='%s') }}"
    project.write({"models/old_files.sql": files % folder})
    for name in ("old", "old_files"):
        project.write({f"models/{name}_orders.sql": call % (name, "canal", "'old.orders'")})
        project.write({f"models/{name}_users.sql": call % (name, "maxwell", "'old.users'")})

    def prune(*models: str) -> None:
        arguments = json.dumps({"older_than_days": 1, "models": [], "sources": models, "dry_run": False})
        assert project.dbt("run-operation", "spark_cdc.prune", "--args", arguments).result.success

    def positions(name: str) -> list[tuple[str, int]]:
        rows = lake.rows(f"select topic, offset from landing.{name} order by topic, offset")
        return [(row["topic"], row["offset"]) for row in rows]

    everything = [(topic, offset) for topic in sorted(values) for offset in range(len(values[topic]))]
    project.run("--select", "old+", "old_files+", "--exclude", "old_users")
    prune("old", "old_files")
    assert positions("old") == everything, "a reader has not run"
    project.run("--select", "old_users")
    orders, other, users = everything[:4], everything[4:6], everything[6:]
    project.write({"models/old_users.sql": call % ("old", "maxwell", "'old[.](users|orders)'")})
    prune("old")
    assert positions("old") == [*orders, *other, users[-1]], "it has read no orders yet"
    project.write({"models/old_users.sql": call % ("old", "maxwell", "'old.users'")})
    prune("old", "old_files")
    _, broken, next_to_last, last = orders
    assert positions("old") == [broken, last, *other, users[-1]], (
        "a rejected message, the last ones, a topic of no model"
    )
    assert positions("old_files") == [broken, next_to_last, last, *other, *users], (
        "the last ones of each file, too"
    )
    done = project.dbt("run", "--select", "old+", "old_files+").must_succeed()
    assert set(done.messages.values()) == {"nothing new"}
    kafka.produce("old.orders", [order % 6])
    done = project.dbt("run", "--select", "old+").must_succeed()
    assert done.messages["old"] == "1 message of 1 partition landed"
    assert done.messages["old_orders"] == "1 read: 1 unrouted"
