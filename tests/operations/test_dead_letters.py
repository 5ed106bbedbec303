"""Dead letters of a user's project from the first rejected message to the last: seen, repaired, replayed, closed."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from contents import contents
from harness import LAKES_ASKED_FOR, REPOSITORY, Lake, Message, Project, Run
from source_tables import CanalTable, CanalTopic

LAKES = LAKES_ASKED_FOR
SCHEMA = "letters"
TOPIC = "raw_letters.shop"
PAGE = (REPOSITORY / "docs" / "how-to" / "find-and-repair-rejected-messages.md").read_text(encoding="utf-8")
CHANGES = """{{{{ config(materialized='{how}') }}}}
{{{{ spark_cdc.changes(messages=ref('{messages}'), format='{format}', table='{table}', key=['id'], columns={columns}) }}}}
"""
APPLY = "{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}}\nselect * from {{{{ ref('{changes}') }}}}\n"
MESSAGES = "{{{{ config(materialized='cdc_append') }}}}\n{{{{ spark_cdc.messages(source('raw', '{raw}'), format='{format}') }}}}\n"
ORDERS = "{'id': 'bigint', 'name': 'string', 'price': 'int'}"
OF_SHOP = "messages=[ref('stg_shop__messages')], changes=[ref('stg_shop__orders_changes'), ref('stg_shop__items_changes')]"
OUTCOMES = f"{OF_SHOP}, current=[ref('orders'), ref('items')]"
ACKNOWLEDGED = [
    {
        "code": "not_json",
        "topic": TOPIC,
        "partition": 0,
        "from_offset": 2,
        "to_offset": 2,
        "because": "a 'test'",
    },
    {"code": "unknown_op", "table": "orders"},
]
LETTERS = (
    "{{ config(materialized='table') }}\n{{ spark_cdc.dead_letters(messages=[ref('stg_shop__messages'), ref('stg_dw__messages')], "
    "changes=[ref('stg_shop__orders_changes'), ref('stg_shop__items_changes'), ref('stg_dw__orders_changes')]"
)
(SNAPSHOT,) = re.findall(r"^```yaml\n# (snapshots/\S+)\n(.*?)^```$", PAGE, re.M | re.S)
TESTS = """
models:
  - name: stg_shop__messages
    data_tests:
      - spark_cdc.every_message_accounted_for:
          arguments: {raw: "source('raw', 'shop')", changes: [ref('stg_shop__orders_changes'), ref('stg_shop__items_changes')]}
          name: accounted_for
      - spark_cdc.topics_intact: {name: intact}
  - name: accounts
    data_tests: [spark_cdc.counts_reconcile: {name: accounts_add_up, arguments: {messages: [ref('stg_shop__messages')]}}]
  - name: ledger
    data_tests: [spark_cdc.counts_reconcile: {name: ledger_adds_up, arguments: {messages: [ref('stg_shop__messages')]}}]
  - name: cdc_dead_letters
    data_tests:
      - spark_cdc.no_open_dead_letters: {name: none_open, config: {severity: warn}}
      - spark_cdc.no_open_dead_letters:
          {name: by_code, arguments: {max_open: 2, max_open_by_code: {invalid_value: 1}}, config: {severity: warn}}
      - spark_cdc.no_open_dead_letters: {name: of_items, config: {where: "table_name = 'items'", severity: warn}}
"""
MODELS = {
    "models/sources.yml": "sources: [{name: raw, schema: raw_letters, tables: [{name: shop}, {name: dw}]}]\n",
    "models/tests.yml": TESTS,
    "models/stg_shop__messages.sql": MESSAGES.format(raw="shop", format="canal"),
    "models/stg_dw__messages.sql": MESSAGES.format(raw="dw", format="dataworks"),
    "models/stg_shop__orders_changes.sql": CHANGES.format(
        how="view", messages="stg_shop__messages", format="canal", table="orders", columns=ORDERS
    ),
    "models/stg_shop__items_changes.sql": CHANGES.format(
        how="cdc_append", messages="stg_shop__messages", format="canal", table="items", columns="{'id': 'bigint', 'n': 'int'}"
    ),
    "models/stg_dw__orders_changes.sql": CHANGES.format(
        how="cdc_append", messages="stg_dw__messages", format="dataworks", table="orders", columns="{'id': 'bigint', 'n': 'string'}"
    ),
    "models/orders.sql": APPLY.format(kind="current", changes="stg_shop__orders_changes"),
    "models/orders_history.sql": APPLY.format(kind="history", changes="stg_shop__orders_changes"),
    "models/items.sql": APPLY.format(kind="current", changes="stg_shop__items_changes"),
    "models/cdc_dead_letters.sql": f"{LETTERS}) }}}}\n",
    "models/accounts.sql": f"{{{{ config(materialized='view') }}}}\n{{{{ spark_cdc.reconciliation({OUTCOMES}) }}}}\n",
    "models/ledger.sql": f"{{{{ config(materialized='cdc_append') }}}}\n{{{{ spark_cdc.run_ledger({OUTCOMES}) }}}}\n",
    "models/own_sql.sql": "{{ config(materialized='cdc_append') }}\nselect * from (\n"
    "{{ spark_cdc.messages(source('raw', 'shop'), format='canal') }}\n)\n",
}  # fmt: skip
TABLES = ("orders", "orders_history", "items", "stg_shop__items_changes")
WRONG = {
    "{model: stg_shop__messages}": "argument `model` must be a model with the arguments that its rows were made with; got "
    "`stg_shop__messages`, whose dialect was `canal` and is `seatunnel`. All its messages have to be read again: dbt run "
    "--full-refresh --select stg_shop__messages+",
    "{}": "argument `model` must be one of own_sql, stg_dw__messages, stg_shop__messages; got nothing.",
    "{model: orders}": "argument `model` must be one of own_sql, stg_dw__messages, stg_shop__messages; got `orders`.",
    "{modle: orders}": "there is no argument `modle`; there are model, code, table, topic, partition, from_offset, to_offset, dry_run.",
    "{model: stg_shop__messages, code: 3}": "argument `code` must be a text; got `3`.",
    "{model: stg_shop__messages, table: ''}": "argument `table` must be a text; got",
    "{model: stg_shop__messages, partition: -1}": "argument `partition` must be a whole number from 0 on; got `-1`.",
    "{model: stg_shop__messages, from_offset: '7'}": "argument `from_offset` must be a whole number from 0 on; got `7`.",
    "{model: stg_shop__messages, to_offset: true}": "argument `to_offset` must be a whole number from 0 on; got `True`.",
    "{model: stg_shop__messages, dry_run: 1}": "argument `dry_run` must be one of True, False; got `1`.",
    "{model: own_sql}": "argument `model` must be a model that is materialized='cdc_append' and is one call of spark_cdc.messages over a "
    "table or a view, without SQL of its own; got `own_sql`. Rebuild it: dbt run --full-refresh --select own_sql+",
}  # fmt: skip


def dataworks(op: str, **rows: Any) -> Message:
    source = {"dbType": "MySQL", "dbName": "shop", "tableName": "orders"}
    schema = {
        "dataColumn": [{"name": "id", "type": "LONG"}, {"name": "n", "type": "STRING"}],
        "primaryKey": ["id"],
    }
    at = {"eventTime": 1620457896000, "systemTime": 1620457896977, "checkpointTime": 1620457896000}
    payload = {
        "before": None,
        "after": None,
        "sequenceId": "1620457642700009010",
        "timestamp": at,
        "op": op,
        "ddl": None,
    }
    images = {name: {"dataColumn": row} for name, row in rows.items()}
    return Message(json.dumps({"schema": schema | {"source": source}, "payload": payload | images, "version": "0.0.1"}))  # fmt: skip


@dataclass
class Story:
    """What the commands said, and what the tables held after each."""

    lake: Lake
    project: Project
    runs: dict[str, Run] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    letters: dict[str, dict[tuple[int, str], dict[str, Any]]] = field(default_factory=dict)
    tables: dict[tuple[str, str], Any] = field(default_factory=dict)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def build(self, stage: str, *arguments: str) -> None:
        self.runs[stage] = self.project.dbt("build", "--exclude", "own_sql", *arguments).must_succeed("warn")
        self.keep(stage)

    def replay(self, stage: str, arguments: str) -> None:
        self.commands.append(f"dbt run-operation spark_cdc.replay --args '{arguments}'")
        with redirect_stdout(io.StringIO()) as output:
            run = self.project.dbt("run-operation", "spark_cdc.replay", "--args", arguments)
        self.printed[stage] = output.getvalue()
        assert run.result.success, (run.failure, self.printed[stage])
        self.commits[stage] = self.lake.commits(f"{SCHEMA}.stg_shop__messages")

    def keep(self, stage: str) -> None:
        found = self.lake.rows(f"select * from {SCHEMA}.cdc_dead_letters")
        self.letters[stage] = {(row["offset"], row["model"], row["code"]): row for row in found}
        assert len(self.letters[stage]) == len(found)
        for table in TABLES:
            self.tables[stage, table] = contents(self.lake, f"{SCHEMA}.{table}")
        outcomes = ("read", "applied", "superseded", "duplicate", "control", "unrouted", "rejected")
        (row,) = self.lake.rows(
            f"select {', '.join(f'sum({name}) as {name}' for name in outcomes)} from {SCHEMA}.accounts"
        )
        self.totals[stage] = row

    def states(self, stage: str) -> dict[tuple[int, str], str]:
        """Offset and model -> state, of the topic shop."""
        return {
            (at, model): row["state"] + (f" by {row['closed_by']}" if row["closed_by"] else "")
            for (at, model, _), row in self.letters[stage].items()
            if row["topic"] == TOPIC
        }


@pytest.fixture(scope="module")
def story(lake: Lake, new_project: Callable[..., Project]) -> Story:
    snapshot = {SNAPSHOT[0]: SNAPSHOT[1].replace("iceberg", lake.file_format)}
    story = Story(lake, new_project(SCHEMA, MODELS | snapshot))
    lake.create_raw("shop", "dw", schema="raw_letters")
    topic = CanalTopic()
    orders, items = CanalTable(topic, "orders", ["id"]), CanalTable(topic, "items", ["id"])

    def order(number: int, price: Any = 1) -> dict[str, Any]:
        return {"id": number, "name": f"o{number}", "price": price}

    (first,) = orders.insert(1, order(1)).messages
    (second,) = orders.insert(2, order(2)).messages
    (later,) = orders.update(3, (order(2), order(2, 20))).messages
    (third,) = orders.insert(4, order(3)).messages
    (unfit,) = orders.insert(5, order(4, "much")).messages
    (item,) = items.insert(6, {"id": 1, "n": 5}).messages
    (fourth,) = orders.insert(7, order(5)).messages

    def cut(message: Message) -> Message:
        return Message(str(message.value)[:-20], "k")

    # 0 good, 1 cut, 2 not JSON, 3 an update of the cut row, 4 cut, 5 does not fit, 6 cut, of another table, 7 good
    sent = [first, cut(second), Message("broken"), later, cut(third), unfit, cut(item), fourth]
    lake.land("shop", sent, schema="raw_letters")
    lake.land("dw", [dataworks("UPDATE_BEFOR", before={"id": 1, "n": "a"})], schema="raw_letters")
    story.build("rejected", "--exclude-resource-type", "test")
    (shown,) = re.findall(r"^dbt (show .*)$", PAGE, re.M)
    story.runs["shown"] = story.project.dbt(*shlex.split(shown))

    # somebody repairs raw in place: neither offset nor timestamp says so, and no run reads these again
    for offset, message in {1: second, 4: third, 6: item}.items():
        value = str(message.value).replace("\\", "\\\\").replace("'", "\\'")
        lake.spark.sql(
            f"update raw_letters.shop set value = cast('{value}' as binary) where offset = {offset}"
        )
    lake.land("dw", [dataworks("UPDATE_AFTER", after={"id": 1, "n": "b"})], schema="raw_letters")
    messages = MODELS["models/stg_shop__messages.sql"]
    story.project.write({
        "models/cdc_dead_letters.sql": f"{LETTERS}, acknowledged={ACKNOWLEDGED}) }}}}\n",
        **{
            f"models/wrong/replay_{number}.sql": f"{{% if execute %}}{{{{ spark_cdc.replay(**{yaml.safe_load(arguments)}) }}}}"
            "{% endif %}\n-- depends_on: {{ ref('stg_shop__messages') }}\n"
            for number, arguments in enumerate(WRONG)
        },
        "models/stg_shop__messages.sql": messages.replace("'canal')", "'canal', dialect='seatunnel')"),
    })  # fmt: skip
    story.runs["wrong"] = story.project.dbt("run", "--select", "path:models/wrong")
    story.project.remove("models/wrong")
    story.project.write({"models/stg_shop__messages.sql": messages})

    for stage, arguments in {
        "dry": "{model: stg_shop__messages, dry_run: true}",
        "none of them": "{model: stg_shop__messages, code: unknown_op}",
        "by code and place": f"{{model: stg_shop__messages, code: not_json, topic: {TOPIC}, partition: 0, from_offset: 2, to_offset: 2}}",
        "by offsets": "{model: stg_shop__messages, topic: raw_letters.shop, partition: 0, from_offset: 4, to_offset: 6, table: orders}",
        "all tables": "{model: stg_shop__messages, table: '*', dry_run: true}",
        "again": "{model: stg_shop__messages, table: orders, from_offset: 4}",
    }.items():
        story.replay(stage, arguments)
    story.build("one replayed")
    story.replay("all", "{model: stg_shop__messages}")
    # what a kill between the rows and the property leaves: the table has a commit that the property does not name
    lake.spark.sql(
        f"alter table {SCHEMA}.stg_shop__messages set tblproperties ('spark_cdc.read_commit' = '0')"
    )
    lake.land_again("shop", {4: third}, schema="raw_letters")
    lake.land("shop", [unfit], schema="raw_letters")
    story.build("all replayed")
    changes = MODELS["models/stg_shop__orders_changes.sql"]
    corrected = changes.replace("'price': 'int'", "'price': 'string'")
    story.project.write({"models/stg_shop__orders_changes.sql": corrected})
    story.build("corrected", "--full-refresh", "--exclude-resource-type", "test")
    return story


OPEN = {
    (1, "stg_shop__messages"): "open",
    (2, "stg_shop__messages"): "open",
    (4, "stg_shop__messages"): "open",
    (5, "stg_shop__orders_changes"): "open",
    (6, "stg_shop__messages"): "open",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_a_wrong_argument_stops_a_replay_with_one_sentence(story: Story, arguments: str) -> None:
    name = f"replay_{list(WRONG).index(arguments)}"
    assert story.runs["wrong"].statuses[name] == "error"
    assert WRONG[arguments] in story.runs["wrong"].messages[name]


def test_a_dead_letter_has_what_can_be_known(story: Story) -> None:
    letters = story.letters["rejected"]
    assert story.states("rejected") == OPEN
    row = letters[5, "stg_shop__orders_changes", "invalid_value"]
    assert (row["database_name"], row["table_name"], row["row_key"]) == ("shop", "orders", '{"id":4}')
    assert row["detail"] == "price: int"
    cut = letters[1, "stg_shop__messages", "broken_json"]
    assert (cut["table_name"], cut["row_key"], cut["key"]) == (None, None, "k")
    assert cut["value"].startswith('{"data": [{"id": "2"')
    assert cut["loaded_at"] is not None
    assert len({row["dead_letter_id"] for row in letters.values()}) == len(letters) == 6


def test_an_acknowledged_one_says_why(story: Story) -> None:
    row = story.letters["one replayed"][2, "stg_shop__messages", "not_json"]
    assert row["acknowledged_because"] == "a 'test'"
    (warning,) = {line for line in story.runs["one replayed"].logged if "acknowledges" in line}
    assert (
        'spark_cdc.no_open_dead_letters: cdc_dead_letters acknowledges {"code": "unknown_op", "table": "orders"}, and no dead '
        "letter is like that. Remove it from `acknowledged`" in warning
    )


def test_a_part_is_closed_by_its_partner(story: Story) -> None:
    place = (0, "stg_dw__orders_changes", "unpaired_update")
    assert story.letters["rejected"][place]["state"] == "open"
    closed = story.letters["one replayed"][place]
    assert (closed["state"], closed["closed_by"]) == ("closed", "update_partner")


def test_a_replay_says_what_it_finds(story: Story) -> None:
    said = {stage: text.replace("`", "") for stage, text in story.printed.items()}
    assert (
        "stg_shop__messages: 4 rejected messages, 3 can be read now.\n"
        "    broken_json: 3 can be read now\n"
        "    not_json: 1 still rejected as not_json\n"
        "spark_cdc.replay: nothing was appended. Run it again with dry_run: false.\n" in said["dry"]
    )
    assert (
        "stg_shop__messages: 0 rejected messages.\nspark_cdc.replay: nothing to replay.\n"
        in said["none of them"]
    )
    assert (
        "    not_json: 1 still rejected as not_json\nspark_cdc.replay: nothing to replay.\n"
        in said["by code and place"]
    )
    assert (
        "stg_shop__messages: 2 rejected messages, 1 can be read now.\n"
        "    broken_json: 1 can be read now, 1 of other tables\n"
        "spark_cdc.replay: 1 message appended. Run dbt build, which applies it.\n" in said["by offsets"]
    )
    assert (
        "1 rejected message, 0 can be read now.\n    broken_json: 1 of other tables\nspark_cdc.replay: nothing to replay."
        in said["again"]
    )
    assert "spark_cdc.replay: 2 messages appended. Run dbt build, which applies them." in said["all"]
    assert story.commits["dry"] == story.commits["none of them"] == story.commits["by code and place"]
    assert story.commits["again"] == story.commits["by offsets"]


def test_a_replay_closes_and_keeps_its_dead_letters(story: Story) -> None:
    open_yet = OPEN | {(2, "stg_shop__messages"): "acknowledged"}
    assert story.states("one replayed") == open_yet | {(4, "stg_shop__messages"): "closed by whole_copy"}
    closed = {(at, "stg_shop__messages"): "closed by whole_copy" for at in (1, 4, 6)}
    again = {(8, "stg_shop__orders_changes"): "open"}
    assert story.states("all replayed") == open_yet | closed | again


def test_a_run_after_a_replay_reads_nothing_of_raw(story: Story) -> None:
    """The property holds of the commit of the replay, too."""
    assert "nothing new" in story.runs["one replayed"].messages["stg_shop__messages"]
    assert story.runs["one replayed"].messages["orders"].startswith("1 row change: 1 row merged")


@pytest.mark.parametrize("table", TABLES)
def test_what_was_replayed_is_as_if_it_had_never_been_cut(story: Story, table: str) -> None:
    """A replayed message may be older than what its key has: row for row as a build from the repaired raw table."""

    def rows(stage: str) -> list[tuple[tuple[str, Any], ...]]:
        """All but those of the corrected declaration: the price is a text there, and the order 4 fits."""
        return [
            tuple((name, str(value) if name == "price" else value) for name, value in row)
            for row in story.tables[stage, table]
            if dict(row)["id"] != 4
        ]

    assert rows("all replayed") == rows("corrected") != []
    if table == "orders_history":
        prices = [dict(row)["price"] for row in rows("all replayed") if dict(row)["id"] == 2]
        assert sorted(prices) == ["1", "20"]


def test_a_star_means_all_tables(story: Story) -> None:
    assert ", 2 can be read now." in story.printed["all tables"]


def test_each_message_has_one_outcome(story: Story) -> None:
    def outcomes(**counts: int) -> dict[str, int]:
        return (
            dict.fromkeys(
                ("read", "applied", "superseded", "duplicate", "control", "unrouted", "rejected"), 0
            )
            | counts
        )

    assert story.totals["rejected"] == outcomes(read=8, applied=3, rejected=5)
    assert story.totals["one replayed"] == outcomes(read=9, applied=4, duplicate=1, rejected=4)
    # raw has two copies of offset 4 now, and so has the messages model: it needs no third one
    assert story.totals["all replayed"] == outcomes(read=12, applied=5, superseded=1, duplicate=3, rejected=3)
    assert story.totals["corrected"] == outcomes(read=10, applied=6, superseded=2, duplicate=1, rejected=1)


@pytest.mark.parametrize("stage", ["one replayed", "all replayed"])
def test_the_shipped_tests_agree(story: Story, stage: str) -> None:
    statuses = story.runs[stage].statuses
    assert {statuses[name] for name in ("accounted_for", "intact", "accounts_add_up", "ledger_adds_up")} == {
        "pass"
    }


def test_thresholds_count_open_ones_by_code(story: Story) -> None:
    found = {
        stage: {name: story.runs[stage].statuses[name] for name in ("none_open", "by_code", "of_items")}
        for stage in ("one replayed", "all replayed")
    }
    assert found == {
        "one replayed": {"none_open": "warn", "by_code": "pass", "of_items": "pass"},
        "all replayed": {"none_open": "warn", "by_code": "warn", "of_items": "pass"},
    }


def test_a_snapshot_keeps_what_a_corrected_declaration_removes(story: Story) -> None:
    """A view of changes has no error any more once its declaration fits: only the snapshot remembers."""
    assert (5, "stg_shop__orders_changes") not in story.states("corrected")
    rows = story.lake.rows(
        f"select offset, model, state, dbt_valid_to is null as is_now from {SCHEMA}.cdc_dead_letters_log "
        f"where topic = '{TOPIC}' order by offset, dbt_valid_from"
    )
    kept = [(row["offset"], row["state"], row["is_now"]) for row in rows]
    assert [row for row in kept if row[0] in (2, 4, 5)] == [
        (2, "open", False),
        (2, "acknowledged", True),
        (4, "open", False),
        (4, "closed", False),
        (5, "open", False),
    ]


def test_the_page_shows_what_was_typed_and_what_was_printed(story: Story) -> None:
    assert story.runs["shown"].result.success, story.runs["shown"].failure
    commands = re.findall(r"^dbt run-operation .*$", PAGE, re.M)
    assert len(commands) == 2 and set(commands) <= set(story.commands)
    (block,) = re.findall(r"^```text\n(spark_cdc.replay: .*?)^```", PAGE, re.M | re.S)
    said = (story.printed["dry"] + story.printed["all"]).replace("`", "").replace(f"lake.{SCHEMA}", SCHEMA)
    said = said.replace("2 messages", "3 messages").replace(f"{SCHEMA}.stg", "shop.stg").splitlines()
    assert [line for line in block.splitlines() if line not in said] == []


def test_a_dead_letter_has_one_id_whatever_the_time_zone_is(story: Story) -> None:
    """Last: a message lands damaged a second time, with another text and the same detail."""
    table, zone = f"{SCHEMA}.stg_shop__messages", "spark.sql.session.timeZone"
    spark = story.lake.spark
    others = {"value": "'broken again'", "loaded_at": "loaded_at + interval 1 day"}
    columns = ", ".join(others.get(name, f"`{name}`") for name in spark.table(table).columns)
    spark.sql(f"insert into {table} select {columns} from {table} where offset = 2 and kind = 'unreadable'")
    compiled = (
        story.project.dbt("compile", "--select", "cdc_dead_letters").must_succeed().result.result.results
    )
    (sql,) = (one.node.compiled_code for one in compiled if one.node.name == "cdc_dead_letters")
    before, found = spark.conf.get(zone), []
    for name in ("UTC", "Asia/Shanghai"):
        spark.conf.set(zone, name)
        found.append({row["dead_letter_id"]: row["value"] for row in story.lake.rows(sql)})
        assert len(found[-1]) == len(story.lake.rows(sql))
    spark.conf.set(zone, before)
    assert found[0] == found[1]
    assert "broken again" in found[0].values() and "broken" not in found[0].values()
