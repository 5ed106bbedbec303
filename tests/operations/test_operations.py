"""restate, maintain, prune and undeclared_columns on tables of a user's project."""

from __future__ import annotations

import io
import os
import re
import shlex
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from contents import contents
from harness import LAKES_ASKED_FOR, Lake, Message, Project
from reference import Change, current_rows, fold
from source_tables import CanalTable, CanalTopic, DebeziumTable

LAKES = LAKES_ASKED_FOR
SCHEMA = "shop_operations"
LATE = 60 * 24 * 400  # minutes: a commit time that is younger than any horizon
CURRENT = ("orders", "customers", "profiles")
TABLES = (*CURRENT, "orders_history", "profiles_history")
# Those of pages on a broker are run by test_landing.py and test_own_topics.py of tests/integration, and those of replays by
# test_dead_letters.py.
PAGES = sorted(
    page
    for page in (Path(__file__).resolve().parents[2] / "docs" / "how-to").glob("*.md")
    if page.stem not in ("land-a-topic", "start-with-your-topics", "find-and-repair-rejected-messages")
)
COMMANDS = [
    command
    for page in PAGES
    for command in re.findall(r"^dbt run(?:-operation)? .*", page.read_text(), re.MULTILINE)
]
CHANGES = """{{{{ config(materialized='incremental') }}}}
{{{{ spark_cdc.changes({source}, table='{table}', key=['id'], columns={columns}) }}}}
"""
APPLY = "{{{{ config(materialized='cdc_{kind}', unique_key=['id']) }}}}\nselect * from {{{{ ref('stg_{table}_changes') }}}}\n"


def files() -> dict[str, str]:
    """All models: orders behind a messages model, the others from raw tables of their own."""
    sources = {
        "orders": ("messages=ref('stg_messages'), format='canal'", {"id": "bigint", "name": "string", "price": "int"}),
        "customers": ("source('raw', 'customers'), format='debezium'", {"id": "bigint", "name": "string", "bio": "string"}),
        "profiles": (
            "source('raw', 'profiles'), format='debezium', raw_columns={'headers': 'headers'}",
            {"id": "bigint", "name": "string", "bio": "string"},
        ),
    }  # fmt: skip
    made = {
        "models/sources.yml": "sources: [{name: raw, schema: raw_operations, "
        "tables: [{name: shop}, {name: customers}, {name: profiles}]}]\n",
        "models/stg_messages.sql": "{{ config(materialized='incremental') }}\n"
        "{{ spark_cdc.messages(source('raw', 'shop'), format='canal') }}\n",
    }
    for table, (source, columns) in sources.items():
        made[f"models/stg_{table}_changes.sql"] = CHANGES.format(source=source, table=table, columns=columns)
        made[f"models/{table}.sql"] = APPLY.format(kind="current", table=table)
        if f"{table}_history" in TABLES:
            made[f"models/{table}_history.sql"] = APPLY.format(kind="history", table=table)
    # A reader is one through a view, too.
    made["models/seen_orders.sql"] = (
        "{{ config(materialized='view') }}\nselect * from {{ ref('stg_orders_changes') }}\n"
    )
    history = made["models/orders_history.sql"]
    made["models/orders_history.sql"] = history.replace("ref('stg_orders_changes')", "ref('seen_orders')")
    return made


@dataclass
class Story:
    """What the operations printed, and what the tables held after each."""

    lake: Lake
    project: Project
    printed: dict[str, str] = field(default_factory=dict)
    contents: dict[tuple[str, str], Any] = field(default_factory=dict)
    files: dict[tuple[str, str], int] = field(default_factory=dict)
    changes: dict[str, list[Change]] = field(default_factory=dict)
    raw: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    orphans: dict[str, bool] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)

    def land(self, raw: str, *events: Any) -> None:
        """Let events land, in this order."""
        for event in events:
            self.lake.land(raw, event.messages, schema="raw_operations")
            self.changes.setdefault(raw, []).extend(event.changes)

    def run(self, stage: str) -> None:
        self.project.run("--vars", "{}")
        self.keep(stage)

    def dbt(self, stage: str, command: str, *tables: str) -> None:
        """Run one command as the docs write it, and keep what it says of its models."""
        self.commands.append(command)
        run = self.project.dbt(*shlex.split(command)[1:])
        self.printed[stage] = "\n".join(run.messages.values())
        self.keep(stage, *tables)

    def operate(self, stage: str, operation: str, arguments: str | None = None) -> None:
        """Run an operation, and keep what it prints."""
        command = ["run-operation", f"spark_cdc.{operation}", *(["--args", arguments] if arguments else [])]
        with redirect_stdout(io.StringIO()) as output:
            run = self.project.dbt(*command)
        self.commands.append(
            " ".join(["dbt", *command[:2], *(["--args", f"'{arguments}'"] if arguments else [])])
        )
        self.printed[stage] = output.getvalue()
        assert run.result.success, self.printed[stage]

    def keep(self, stage: str, *tables: str) -> None:
        for table in tables or (*TABLES, "stg_orders_changes"):
            self.contents[stage, table] = contents(self.lake, f"{SCHEMA}.{table}")


def order(number: int, name: str, price: int = 1) -> dict[str, Any]:
    """Give a row of `orders`."""
    return {"id": number, "name": name, "price": price}


def person(number: int, name: str, bio: str | None = None) -> dict[str, Any]:
    """Give a row of `customers` or `profiles`."""
    return {"id": number, "name": name, "bio": bio}


@pytest.fixture(scope="module")
def story(lake: Lake, new_project: Callable[..., Project]) -> Story:
    """One story on one set of tables."""
    project = new_project(SCHEMA, files())
    story = Story(lake, project)
    lake.create_raw("shop", "customers", "profiles", schema="raw_operations")
    shop = CanalTopic()
    orders = CanalTable(shop, "orders", ["id"])
    customers, profiles = DebeziumTable("customers"), DebeziumTable("profiles")

    story.land("shop", orders.insert(1, *(order(number, f"o{number}") for number in (1, 2, 3, 4))))
    story.land("shop", orders.update(2, (order(3, "o3"), order(30, "o3"))), orders.delete(3, order(4, "o4")))
    lake.land("shop", [Message("broken"), shop.message("ALTER", "orders", ["id"], None, sql="alter table orders add x int")],
              schema="raw_operations")  # fmt: skip
    lake.land(
        "shop",
        [shop.message("INSERT", "orders", ["id"], [order(5, "o5") | {"price": "much", "note": "n"}])],
        schema="raw_operations",
    )
    lake.land("shop", [shop.message("INSERT", "nobodys", ["id"], [{"id": 1}])], schema="raw_operations")
    story.land(
        "profiles", profiles.insert(10, person(1, "a", "bio 1")), profiles.insert(11, person(2, "b", "bio 2"))
    )
    story.land(
        "profiles",
        *profiles.change_key(12, 1, {"id": 7, "name": "a moves"}),
        profiles.insert(13, person(1, "again", "new")),
    )
    story.land(
        "customers",
        *(customers.insert(10 + number, person(number, f"c{number}", "bio")) for number in (1, 2, 3, 4)),
    )
    story.land("customers", customers.update(20, person(1, "c1 whole", "new bio")), customers.delete(21, 2))
    project.run()
    story.land("shop", orders.update(40, (order(1, "o1"), order(1, "o1", 2))))
    story.land(
        "customers",
        customers.update(30, {"id": 3, "name": "c3 partial"}),
        customers.update(31, person(4, "c4 young"), LATE),
    )
    story.land("profiles", profiles.update(30, {"id": 7, "name": "a stays"}))
    story.land("profiles", profiles.update(31, {"id": 2, "name": "b", "note": "new at the source"}))
    story.run("right")

    damage(lake)
    story.keep("damaged")
    wrong_arguments(story)
    story.operate("dry restate", "restate", "{model: orders, keys: [1], dry_run: true}")
    story.keep("dry restate", "orders")
    story.operate("restate orders", "restate", "{model: orders, keys: [1, 99]}")
    story.operate("restate orders_history", "restate", "{model: orders_history, keys: [{id: '2'}]}")
    story.operate(
        "restate since",
        "restate",
        "{model: orders, since: {topic: raw_operations.shop, partition: 0, offset: 7}}",
    )
    for table in ("profiles", "profiles_history"):
        story.operate(
            f"restate {table}",
            "restate",
            f"{{model: {table}, since: {{topic: raw_operations.profiles, partition: 0, offset: 5}}}}",
        )
    story.keep("restated")

    for stage, arguments in [("dry maintain", "{models: [orders]}"), ("maintain", "{dry_run: false}")]:
        if stage == "maintain":
            leave_orphans(story)
        count_files(story, f"before {stage}")
        story.operate(stage, "maintain", arguments)
        count_files(story, f"after {stage}")
    story.keep("maintained")
    story.orphans = {name: path.exists() for name, path in orphans(lake).items()}

    story.operate("prune nothing", "prune", "{older_than_days: 100000}")
    story.operate("dry prune", "prune", "{older_than_days: 30, sources: [raw.shop]}")
    for table in ("raw_operations.shop", f"{SCHEMA}.stg_messages", f"{SCHEMA}.stg_customers_changes"):
        story.raw["before prune", table] = positions(lake, table)
    story.operate("prune", "prune", "{older_than_days: 30, sources: [raw.shop], dry_run: false}")
    story.operate(
        "prune raw", "prune", "{older_than_days: 30, models: [], sources: [raw.customers], dry_run: false}"
    )
    for table in ("raw_operations.shop", f"{SCHEMA}.stg_messages", f"{SCHEMA}.stg_customers_changes"):
        story.raw["after prune", table] = positions(lake, table)
    story.keep("pruned")
    story.run("pruned and run")
    # Late ones: below the delete that is gone, below a whole row, below a partial one, and a key that is new.
    story.land(
        "customers", customers.insert(15, person(2, "too late", "x")), customers.update(16, {"id": 1, "name": "too late"}),
        customers.update(25, {"id": 3, "bio": "late bio"}), customers.insert(17, person(8, "late and new", "y")),
    )  # fmt: skip
    story.dbt("late", "dbt run --exclude path:models/quality")
    of_orders = ("stg_orders_changes", "orders", "orders_history")
    story.dbt("full refresh", "dbt run --full-refresh", *of_orders)
    changes = "models/stg_orders_changes.sql"
    wider = (
        files()[changes].replace("incremental", "cdc_append").replace("'price': 'int'", "'price': 'bigint'")
    )
    story.project.write({changes: wider})
    story.dbt("wider", "dbt run --select stg_orders_changes+", *of_orders)
    story.project.write({changes: files()[changes]})
    story.dbt(
        "told twice",
        "dbt run --full-refresh --select stg_orders_changes --vars '{spark_cdc__allow_history_loss: [stg_orders_changes]}'",
        "stg_orders_changes",
    )
    story.project.write(UNBUILT)
    story.operate("undeclared", "undeclared_columns")
    story.project.remove("models/unbuilt")
    return story


def damage(lake: Lake) -> None:
    """Edit, delete and add rows by hand, and copy one."""
    for sql in [
        "update {}.orders set name = 'by hand' where id = 1",
        "insert into {0}.orders select * from {0}.orders where id = 1",
        "insert into {}.orders (id, name, _cdc_is_deleted) values (99, 'by hand', false)",
        "delete from {}.orders_history where id = 2",
        "update {}.profiles set bio = 'by hand' where id = 7",
        "delete from {}.profiles_history where id in (1, 7)",
    ]:
        lake.spark.sql(sql.format(SCHEMA))


WRONG = {
    "restate": {
        "{model: order, keys: [1]}": "argument `model` must be one of customers, orders, orders_history, profiles, "
        "profiles_history; got `order`.",
        "{keys: [1]}": "argument `model` must be one of customers, orders, orders_history, profiles, profiles_history; got nothing.",
        "{modle: orders}": "there is no argument `modle`; there are model, keys, since, dry_run. Correct the spelling.",
        "{model: [orders], keys: [1]}": "must be one of customers, orders, orders_history, profiles, profiles_history; got",
        "{model: orders}": "argument `keys` must be given when `since` is not, and only then; got neither.",
        "{model: orders, keys: [{id: 1, line: 2}]}": "must be a list of keys with the columns id; got",
        "{model: orders, keys: [one]}": "must be a list of keys whose `id` is a bigint; got",
        "{model: orders, keys: [1, 987654]}": "must be a list of keys that the table or its changes have; got `987654`.",
        "{model: orders, keys: []}": "must be a list of keys; got `[]`.",
        "{model: orders, since: {offset: 1}}": "must be a mapping of topic, partition and offset; got",
        "{model: orders, since: {topic: nosuch, partition: 0, offset: 1}}": "must be a topic and a partition that the changes",
    },
    "maintain": {
        "{models: orders}": "argument `models` must be a list of customers, orders, ",
        "{models: [[orders]]}": "argument `models` must be a list of customers, orders, ",
        "{retain_days: 2}": "argument `retain_days` must be a whole number from 7 on; got `2`.",
        "{retain_days: 10000000}": "argument `retain_days` must be a whole number from 7 to 700000; got `10000000`.",
        "{retain: 7}": "there is no argument `retain`; there are models, retain_days, dry_run.",
        "{dry_run: 1 day}": "argument `dry_run` must be one of True, False; got `1 day`.",
    },
    "prune": {
        "{older_than: 30}": "there is no argument `older_than`; there are older_than_days, models, sources, dry_run.",
        "{older_than_days: 30, dry_run: 0}": "argument `dry_run` must be one of True, False; got `0`.",
        "{older_than_days: 0.5}": "argument `older_than_days` must be a whole number from 1 on; got `0.5`.",
        "{older_than_days: 1, sources: [raw.other]}": "argument `sources` must be a list of raw.customers, raw.profiles, "
        "raw.shop; got",
        "{older_than_days: 1, sources: [[raw.shop]]}": "argument `sources` must be a list of raw.customers, raw.profiles, ",
        "{older_than_days: '7'}": "argument `older_than_days` must be a whole number from 1 on; got the text `7`.",
        "{older_than_days: 1, models: [orders_history]}": "argument `models` must be a list of customers, orders, profiles, "
        "stg_customers_changes, ",
    },
    "undeclared_columns": {
        "{model: orders}": "there is no argument `model`; there is models. Correct the spelling.",
        "{models: [orders]}": "argument `models` must be a list of stg_customers_changes, stg_orders_changes, stg_profiles_changes; got",
    },
}  # fmt: skip
UNBUILT = {
    "models/unbuilt/unbuilt_messages.sql": "{{ config(materialized='cdc_append') }}\n"
    "{{ spark_cdc.messages(source('raw', 'shop'), format='canal') }}\n",
    "models/unbuilt/unbuilt_changes.sql": "{{ config(materialized='cdc_append') }}\n{{ spark_cdc.changes("
    "messages=ref('unbuilt_messages'), format='canal', table='orders', key=['id'], columns={'id': 'bigint'}) }}\n",
}


def wrong_arguments(story: Story) -> None:
    """Calls from models, behind `execute`: one command has the sentences of all."""
    calls = [(operation, arguments) for operation, cases in WRONG.items() for arguments in cases]
    models = {
        f"wrong_{number}": f"{{% if execute %}}{{{{ spark_cdc.{operation}(**{yaml.safe_load(arguments)}) }}}}{{% endif %}}\n"
        "-- depends_on: {{ ref('stg_orders_changes') }}\n"
        for number, (operation, arguments) in enumerate(calls)
    }
    story.project.write({f"models/wrong/{name}.sql": text for name, text in models.items()})
    run = story.project.dbt("run", "--select", "path:models/wrong")
    story.project.remove("models/wrong")
    for name, (operation, arguments) in zip(models, calls, strict=True):
        assert run.statuses[name] == "error"
        story.printed[f"{operation} {arguments}"] = run.messages[name]


def positions(lake: Lake, table: str) -> list[int]:
    column = "_cdc_offset" if table.endswith("_changes") else "offset"
    return sorted(row["at"] for row in lake.rows(f"select {column} as at from {table}"))


def count_files(story: Story, stage: str) -> None:
    for table in TABLES:
        if story.lake.file_format == "delta":
            [row] = story.lake.rows(f"describe detail {SCHEMA}.{table}")
            story.files[stage, table] = row["numFiles"]
        else:
            [row] = story.lake.rows(f"select count(*) as number from {SCHEMA}.{table}.files")
            story.files[stage, table] = row["number"]


def orphans(lake: Lake) -> dict[str, Path]:
    if lake.file_format == "delta":
        [row] = lake.rows(f"describe detail {SCHEMA}.orders")
        folder = Path(row["location"].removeprefix("file:"))
    else:
        [row] = lake.rows(f"select file_path from {SCHEMA}.orders.files limit 1")
        folder = Path(row["file_path"].removeprefix("file:")).parent
    return {"old": folder / "left-by-a-dead-run.parquet", "young": folder / "being-written.parquet"}


def leave_orphans(story: Story) -> None:
    for path in (found := orphans(story.lake)).values():
        path.write_bytes(b"x")
    long_ago = time.time() - 30 * 86400
    os.utime(found["old"], (long_ago, long_ago))


@pytest.mark.parametrize(
    ("operation", "arguments"), [(name, case) for name, cases in WRONG.items() for case in cases]
)
def test_wrong_argument_stops_with_one_sentence(story: Story, operation: str, arguments: str) -> None:
    """Operation, argument, what is allowed, what was got."""
    said = story.printed[f"{operation} {arguments}"]
    assert f"spark_cdc.{operation}: " in said
    assert WRONG[operation][arguments] in said


@pytest.mark.parametrize("table", [table for table in TABLES if table != "customers"])
def test_restated_rows_are_those_of_a_full_build(story: Story, table: str) -> None:
    """Edited, copied, deleted and invented rows; a key whose values came from another one."""
    assert story.contents["damaged", table] != story.contents["right", table]
    assert story.contents["restated", table] == story.contents["right", table]


def test_restate_says_what_it_does(story: Story) -> None:
    """A dry run counts and writes nothing."""
    assert (
        f"1 keys of {SCHEMA}.orders would be rebuilt. Run it again with dry_run: false."
        in story.printed["dry restate"]
    )
    assert story.contents["dry restate", "orders"] == story.contents["damaged", "orders"]
    assert f"2 keys of {SCHEMA}.orders were rebuilt." in story.printed["restate orders"]


@pytest.mark.parametrize("table", TABLES)
def test_maintenance_changes_files_and_no_row(story: Story, table: str) -> None:
    """Iceberg rewrites five small files or more, and files with deletes."""
    assert story.contents["maintained", table] == story.contents["restated", table]
    assert story.files["after dry maintain", table] == story.files["before dry maintain", table]
    assert story.files["after maintain", table] <= story.files["before maintain", table]


def test_maintenance_leaves_fewer_files(story: Story) -> None:
    """What a dead run left goes; what a run may be writing stays."""
    before, after = (
        sum(story.files[f"{when} maintain", table] for table in TABLES) for when in ("before", "after")
    )
    assert after < before
    assert story.orphans == {"old": False, "young": True}
    compaction = {
        "iceberg": f"call `lake`.system.rewrite_data_files(table => '{SCHEMA}.orders')",
        "delta": f"optimize `{SCHEMA}`.`orders`",
    }
    assert compaction[story.lake.file_format] in story.printed["dry maintain"]
    assert "nothing was done. Run it again with dry_run: false." in story.printed["dry maintain"]


def test_maintenance_merges_messages_by_source_table(story: Story) -> None:
    """So that a model of one table opens few parts of large files."""
    if story.lake.file_format == "iceberg":
        sorted_by = "strategy => 'sort', sort_order => 'database_name, schema_name, table_name, loaded_at'"
        [statement] = [line for line in story.printed["maintain"].splitlines() if sorted_by in line]
        assert f"{SCHEMA}.stg_messages" in statement


def test_prune_keeps_what_is_needed(story: Story) -> None:
    """What could not be read, what no model reads, what is young, and the last message of each partition."""
    assert "stg_messages: 0 rows would go" in story.printed["prune nothing"]
    assert "raw_operations.shop: 6 rows would go" in story.printed["dry prune"]
    # 0 insert, 1 update, 2 delete, 3 broken, 4 DDL, 5 does not fit, 6 nobody's, 7 update
    assert story.raw["before prune", "raw_operations.shop"] == list(range(8))
    # What a messages model has may leave the raw table; from it no message goes that nobody has read well.
    assert story.raw["after prune", "raw_operations.shop"] == [3, 7]
    assert story.raw["after prune", f"{SCHEMA}.stg_messages"] == [3, 5, 6, 7]
    assert f"{SCHEMA}.stg_orders_changes: all rows are needed" in story.printed["prune"]
    gone = set(story.raw["before prune", f"{SCHEMA}.stg_customers_changes"]) - set(
        story.raw["after prune", f"{SCHEMA}.stg_customers_changes"]
    )
    assert gone == {0, 1}  # the inserts of 1 and of 2, after a whole row and after a delete


@pytest.mark.parametrize("table", TABLES)
def test_pruned_tables_lack_deleted_keys_alone(story: Story, table: str) -> None:
    """Nothing else changes, neither at once nor with the next run."""
    live = [
        row
        for row in story.contents["maintained", table]
        if "history" in table or not dict(row)["_cdc_is_deleted"]
    ]
    assert story.contents["pruned", table] == live
    assert [row for row in story.contents["pruned and run", table] if row in live] == live


def test_late_changes_find_what_was_pruned(story: Story) -> None:
    """Row for row as the fold of all changes says: a deleted key that is gone does not come back to life."""
    rows = {dict(row)["id"]: dict(row) for row in story.contents["late", "customers"]}
    found = {(key,): (row["_cdc_is_deleted"], row["name"], row["bio"]) for key, row in rows.items()}
    assert found == current_rows(fold(story.changes["customers"]), ["name", "bio"])


def test_full_refresh_after_prune_is_refused(story: Story) -> None:
    """With topic, partition, offsets and what to type to lose them."""
    said = story.printed["full refresh"]
    assert (
        "spark_cdc.messages: a full refresh of stg_messages would lose what raw_operations.shop no longer holds: "
        "topic raw_operations.shop, partition 0: 2 offsets from 5 to 6. " in said
    )
    assert "--vars '{spark_cdc__allow_history_loss: [stg_messages]}'" in said
    assert (
        "spark_cdc.changes: a full refresh of stg_customers_changes would lose what raw_operations.customers "
        "no longer holds: topic raw_operations.customers, partition 0: " in said
    )
    for table in ("orders", "orders_history"):
        assert story.contents["full refresh", table] == story.contents["late", table]


def test_rebuild_after_prune_is_refused(story: Story) -> None:
    """For a column that is wider now: with what keeps the rows, and what to type to lose some of them."""
    said = story.printed["wider"]
    assert (
        f"spark_cdc.changes: a rebuild of stg_orders_changes for price would lose what {SCHEMA}.stg_messages no longer holds: "
        "topic raw_operations.shop, partition 0: " in said
    )
    assert (
        "Set on_schema_change='evolve' to keep the stored rows as they are. To lose this history, say so"
        in said
    )
    for table in ("stg_orders_changes", "orders", "orders_history"):
        assert story.contents["wider", table] == story.contents["late", table]


def test_a_history_is_lost_where_that_is_said(story: Story) -> None:
    """The var names the model."""
    assert len(story.contents["told twice", "stg_orders_changes"]) < len(
        story.contents["late", "stg_orders_changes"]
    )


def test_undeclared_columns_are_lines_to_paste(story: Story) -> None:
    """For all models at once; for a model whose messages cannot be read, the operation prints what to do."""
    reads_raw = (
        " reads raw messages: make a messages model of them, and let it read that one, `messages=ref(...)`. The columns of messages "
        "are known from messages models.\n"
    )
    said = [f"spark_cdc.undeclared_columns: {line}" for line in [
        f"stg_customers_changes{reads_raw}",
        "stg_orders_changes does not declare 1 column of its messages:\n"
        "    'note': 'string',\n"
        "  note of shop.orders in 1 row, first at 2026-03-01 08:00:00, last at 2026-03-01 08:00:00; string, because the messages name "
        "no type\n",
        f"stg_profiles_changes{reads_raw}",
        "unbuilt_changes reads unbuilt_messages, which is not there as a table. Run dbt run --select unbuilt_messages first.\n",
    ]]  # fmt: skip
    assert story.printed["undeclared"] == "".join(said)


@pytest.mark.parametrize("command", COMMANDS)
def test_documented_command_is_one_that_ran(story: Story, command: str) -> None:
    """The docs show no command that nobody ever typed."""
    assert command in story.commands
