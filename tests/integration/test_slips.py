"""A user's mistakes: a sentence says what to do, or the mistake is corrected; none passes silently."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import pytest
from harness import Lake, Message, Project, Run, raw_row
from source_tables import CanalTable, CanalTopic

# Its tables are maintained, which looks for files.
LAKES = ("iceberg",)
SCHEMA = "shop_slips"
ROWS = ("orders", "items")
COLUMNS = "{'id': 'bigint', 'name': 'string', 'at': 'timestamp from milliseconds'}"
SELECT = "\nselect * from {{ ref('built') }}\n"
ALONE = "must be select * from {{ ref('...') }} and nothing else; got a select with more in it. A condition on messages belongs below"


def changes(
    materialized: str = "cdc_append", relation: str = "source('raw_slips', 'topic')", **arguments: str
) -> str:
    """Write a changes model."""
    named = {"format": "'canal'", "table": "'orders'", "key": "['id']", "columns": COLUMNS} | arguments
    call = ", ".join([relation, *(f"{name}={value}" for name, value in named.items())])
    return f"{{{{ config(materialized='{materialized}') }}}}\n{{{{ spark_cdc.changes({call}) }}}}\n"


def messages(**arguments: str) -> str:
    """Write a messages model."""
    named = {"format": "'canal'"} | arguments
    call = ", ".join(["source('raw_slips', 'topic')", *(f"{name}={value}" for name, value in named.items())])
    return f"{{{{ config(materialized='cdc_append') }}}}\n{{{{ spark_cdc.messages({call}) }}}}\n"


def current(changes: str, config: str = "") -> str:
    """Write a current model."""
    return f"{{{{ config(materialized='cdc_current', unique_key=['id']{config}) }}}}\nselect * from {{{{ ref('{changes}') }}}}\n"


def history(config: str, body: str = SELECT) -> str:
    """Write a history."""
    return f"{{{{ config(materialized='cdc_history', unique_key=['id']{config}) }}}}{body}"


def was(name: str, of: str, before: str, after: str, rebuilt: str = "", part: str = "") -> str:
    """Write the sentence of an argument that is another one now."""
    part = f" for `{part}`" if part else ""
    return (
        f"argument `{name}` must be what the rows of {SCHEMA}.{of} were made with, {before}{part}; got {after}{part}. Stored rows do "
        f"not change with it. Write what was there, or rebuild the table and all that is downstream: dbt run --full-refresh "
        f"--select {rebuilt or of}+"
    )


# name -> (model of the first run, of the second, the sentence)
CHANGED = {
    "of_table": (changes(), changes(table="'items'"), was("table", "of_table", "`orders`", "`items`")),
    "of_pattern": (changes(), changes(table="'*'"), was("table", "of_pattern", "`orders`", "`*`")),
    "of_database": (changes(), changes(database="'other'"), was("database", "of_database", "nothing", "`other`")),
    "of_format": (changes(), changes(format="'maxwell'"), was("format", "of_format", "`canal`", "`maxwell`")),
    "of_dialect": (changes(), changes(dialect="'flink'"), was("dialect", "of_dialect", "`canal`", "`flink`")),
    "of_key": (changes(), changes(key="['id', 'name']"), was("key", "of_key", "`id`", "`id, name`")),
    "of_time_zone": (changes(), changes(time_zone="'Asia/Shanghai'"), was("time_zone", "of_time_zone", "`UTC`", "`Asia/Shanghai`")),
    "of_from": (
        changes(), changes(columns=COLUMNS.replace("milliseconds", "seconds")),
        was("columns", "of_from", "`milliseconds`", "`seconds`", part="at"),
    ),
    "of_value": (
        changes(), changes(raw_columns="{'value': 'cast(key as string)'}"),
        was("raw_columns", "of_value", "`value`", "`cast(key as string)`", part="value"),
    ),
    "of_offset": (
        changes(), changes(raw_columns="{'offset': 'partition'}"),
        was("raw_columns", "of_offset", "`offset`", "`partition`", part="offset"),
    ),
    "messages_of_format": (messages(), messages(format="'maxwell'"), was("format", "messages_of_format", "`canal`", "`maxwell`")),
    "messages_of_headers": (
        messages(), messages(raw_columns="{'headers': 'headers'}"),
        was("raw_columns", "messages_of_headers", "nothing", "`headers`", part="headers"),
    ),
    "history_of_columns": (
        history(", track_columns=['name']"), history(", track_columns=['at']"),
        was("track_columns", "history_of_columns", "`name`", "`at`"),
    ),
    "history_of_deletes": (
        history(""), history(", hard_deletes='ignore'"), was("hard_deletes", "history_of_deletes", "`new_record`", "`ignore`"),
    ),
}  # fmt: skip
# The note of a table over a model that keeps no rows of earlier runs, or is rebuilt without it.
OVER = {
    "current_of_table": was("table", "current_of_table", "`orders`", "`items`", "table_of_table"),
    "current_of_rebuilt": was("table", "current_of_rebuilt", "`orders`", "`items`", "rebuilt"),
}
# name -> (model, the sentence)
WRONG = {
    "where": (current("built") + "where id = 1", "spark_cdc.cdc_current: argument `sql` " + ALONE),
    "limited": (current("built") + "limit 1", ALONE),
    "joined": (current("built") + "left semi join (select 1 as id) as one using (id)", ALONE),
    "ordered": (current("built") + "order by id", ALONE),
    "distinct": (history("", SELECT.replace("*", "distinct *")), "spark_cdc.cdc_history: argument `sql` " + ALONE),
    "cte": (history("", f"with b as ({SELECT} where id = 1) select * from b"), ALONE),
    "subquery": (history("", f"select * from ({SELECT}) as b"), ALONE),
    "union": (history("", SELECT + "union all" + SELECT), ALONE),
    "tracked_columns": (
        history(", tracked_columns=['name']"),
        "spark_cdc.cdc_history: argument `config` must be made of keys that exist; got `tracked_columns`. Did you mean track_columns?",
    ),
    "check_cols": (history(", check_cols='all'"), "got `check_cols`. Did you mean track_columns?"),
    "strategy": (
        history(", strategy='timestamp'"),
        "got `strategy`. Besides dbt's own there are unique_key, file_format, on_schema_change, tblproperties, source_tables_share_keys, "
        "track_columns, keep_unchanged, hard_deletes. Put what other tools read into `meta`.",
    ),
    "predicates": (
        current("built", ", incremental_predicates=['true']"),
        "spark_cdc.cdc_current: argument `incremental_predicates` must be left out; got `['true']`. A cdc_current model does not read "
        "it: each run merges all columns of the rows that new changes touch. Remove it; where dbt_project.yml sets it, set it there "
        "for the folders of other models only.",
    ),
    "merged_columns": (
        history(", merge_update_columns=['name']"),
        "spark_cdc.cdc_history: argument `merge_update_columns` must be left out; got `['name']`. A cdc_history model does not read it",
    ),
    "strategy_of_log": (
        changes().replace("cdc_append'", "cdc_append', incremental_strategy='append'"),
        "spark_cdc.cdc_append: argument `incremental_strategy` must be left out; got `append`. A cdc_append model does not read it: each run "
        "appends what it has not read yet. Remove it;",
    ),
    "strategy_of_current": (current("built", ", incremental_strategy='merge'"), "`incremental_strategy` must be left out; got `merge`."),
    "microbatch": (history(", batch_size='day'"), "spark_cdc.cdc_history: argument `batch_size` must be left out; got `day`."),
    "of_folder": (changes(), "spark_cdc.cdc_append: argument `config` must be made of keys that exist; got `retention`. Besides dbt's own"),
    "tracked_log": (
        changes().replace("cdc_append'", "cdc_append', track_columns=['name']"),
        "spark_cdc.cdc_append: argument `config` must be made of keys that exist; got `track_columns`. Besides dbt's own there are unique_key,",
    ),
    "messages_as_raw": (
        changes(relation="ref('messages')"),
        "spark_cdc.changes: argument `relation` must be a raw table; got `messages`, made by spark_cdc.messages. "
        "Write messages=ref('...') for a model made by spark_cdc.messages.",
    ),
    "seen_messages_as_raw": (
        changes(relation="ref('seen_messages')"),
        f"spark_cdc.changes: argument `relation` must be a raw table; got `{SCHEMA}.seen_messages`, which has the columns that "
        "spark_cdc.messages makes. Write messages=ref('...')",
    ),
    "letters_of_raw": (
        "{{ config(materialized='view') }}{{ spark_cdc.dead_letters(messages=[source('raw_slips', 'topic')]) }}",
        "spark_cdc.dead_letters: argument `messages` must be models made by spark_cdc.messages, or views over them; got "
        "`raw_slips.topic`, which has topic, partition, offset, timestamp, key, value, headers. Name a model that spark_cdc.messages "
        "makes of that table.",
    ),
    "faults_of_raw": (
        "{{ config(materialized='view') }}{{ spark_cdc.topic_anomalies(messages=[source('raw_slips', 'topic')]) }}",
        "spark_cdc.topic_anomalies: argument `messages` must be models made by spark_cdc.messages, or views over them; got",
    ),
    "messages_of_messages": (
        messages().replace("source('raw_slips', 'topic')", "ref('messages')"),
        "spark_cdc.messages: argument `relation` must be a raw table; got `messages`, made by spark_cdc.messages. Name the table that",
    ),
    "no_such_column": (
        messages(raw_columns="{'value': 'payload'}"),
        "spark_cdc.messages: argument `raw_columns` must be a mapping to columns of `raw_slips.topic`, which has topic, partition, "
        "offset, timestamp, key, value, headers; got `payload` for `value`. Correct the name.",
    ),
    "no_such_column_in_changes": (changes(raw_columns="{'key': '`Key `'}"), "got ``Key `` for `key`. Correct the name."),
    "no_such_column_in_an_expression": (messages(raw_columns="{'value': 'cast(payload as string)'}"), "`payload` cannot be resolved"),
}  # fmt: skip
FOR_ALL = {
    "location_root": "none", "meta": "{'owner': 'me'}", "tags": "['nightly']", "docs": "{'show': true}", "group": "none",
    "access": "'public'", "persist_docs": "{'relation': true}", "event_time": "'_cdc_committed_at'", "full_refresh": "none",
    "tblproperties": "{'write.parquet.compression-codec': 'zstd'}", "static_analysis": "'off'",
}  # fmt: skip


def files() -> dict[str, str]:
    """All models of the first run: path -> text."""
    configs = "".join(f", {name}={value}" for name, value in FOR_ALL.items())
    return {
        "models/sources.yml": "sources: [{name: raw_slips, tables: [{name: topic}, {name: cut}, {name: seen}]}]\n",
        "models/messages.sql": messages(),
        "models/view_of_seen.sql": "{{ config(materialized='view') }} select * from {{ source('raw_slips', 'seen') }}\n",
        "models/messages_of_seen.sql": messages().replace("source('raw_slips', 'topic')", "ref('view_of_seen')"),
        "models/built.sql": changes(),
        "models/rebuilt.sql": changes(),
        "models/table_of_table.sql": changes("table", "messages=ref('messages')"),
        "models/current_of_table.sql": current("table_of_table"),
        "models/current_of_rebuilt.sql": current("rebuilt"),
        # Comments, the case of letters and lines are nobody's condition; and what dbt takes in any model is taken in ours.
        "models/as_written.sql": f"/* where */ {current('built', configs)}".replace("select *", "SELECT\n  * -- where id = 1\n"),
        "models/seen_messages.sql": "{{ config(materialized='view') }} select * from {{ ref('messages') }}\n",
        **{f"models/changed/{name}.sql": first for name, (first, _, _) in CHANGED.items()},
        **{f"models/{'folder' if name == 'of_folder' else 'wrong'}/{name}.sql": text for name, (text, _) in WRONG.items()},
        **{f"models/cut/{name}.sql": text for name, text in CUT.items()},
    }  # fmt: skip


OF_CUT = "messages=[ref('cut_messages')], changes=[ref('cut_changes'), ref('cut_of_raw')]"
CUT = {
    "cut_messages": messages().replace("topic", "cut"),
    "cut_changes": changes(relation="messages=ref('cut_messages')"),
    "cut_of_raw": changes(relation="source('raw_slips', 'cut')"),
    "cut_current": current("cut_changes"),
    "cut_current_of_raw": current("cut_of_raw"),
    "cut_letters": f"{{{{ config(materialized='view') }}}}{{{{ spark_cdc.dead_letters({OF_CUT}) }}}}",
    "cut_accounts": f"{{{{ config(materialized='view') }}}}{{{{ spark_cdc.reconciliation({OF_CUT}, current=[ref('cut_current')]) }}}}",
    "cut_ledger": f"{{{{ config(materialized='cdc_append') }}}}{{{{ spark_cdc.run_ledger({OF_CUT}, current=[ref('cut_current')]) }}}}",
}
TESTS = """
models:
  - name: cut_messages
    data_tests:
      - spark_cdc.no_errors: {name: no_errors_of_messages}
      - spark_cdc.every_message_accounted_for:
          arguments: {raw: "source('raw_slips', 'cut')", changes: [ref('cut_changes'), ref('cut_of_raw')]}
          name: accounted_for
  - {name: cut_of_raw, data_tests: [spark_cdc.no_errors: {name: no_errors_of_changes}]}
  - name: cut_accounts
    data_tests: [spark_cdc.counts_reconcile: {name: accounts, arguments: {messages: [ref('cut_messages')]}}]
  - name: cut_ledger
    data_tests: [spark_cdc.counts_reconcile: {name: ledger, arguments: {messages: [ref('cut_messages')]}}]
"""


@dataclass
class Story:
    """What the runs said, and what the tables held after each."""

    runs: dict[str, Run] = field(default_factory=dict)
    rows: dict[tuple[str, str], Any] = field(default_factory=dict)
    printed: str = ""


@pytest.fixture(scope="module")
def story(lake: Lake, new_project: Callable[..., Project]) -> Story:
    """A first run, one with other arguments, a rebuild, and a cut message that lands again, whole."""
    project = new_project(SCHEMA, files() | {"models/cut/tests.yml": TESTS})
    settings = project.folder / "dbt_project.yml"
    text = settings.read_text()
    settings.write_text(text.replace("  shop:\n", "  shop:\n    folder:\n      +retention: 7\n", 1))
    assert "+retention" in settings.read_text()
    lake.create_raw("topic", "cut", "seen", schema="raw_slips")
    story, topic = Story(), CanalTopic()
    tables = {name: CanalTable(topic, name, ["id"]) for name in ROWS}

    def land(number: int) -> None:
        for name, table in tables.items():
            row = {"id": number, "name": name, "at": 1767225600000}
            lake.land("topic", table.insert(number, row).messages, schema="raw_slips")

    def run(stage: str, *arguments: str) -> None:
        story.runs[stage] = project.dbt("run", *arguments)
        for name in [*CHANGED, *OVER, "built", "as_written"]:
            story.rows[stage, name] = sorted(map(str, lake.rows(f"select * from {SCHEMA}.{name}")))

    land(1)
    (whole,) = tables["orders"].insert(5, {"id": 5, "name": "whole", "at": 1767225600000}).messages
    (broken,) = tables["orders"].insert(6, {"id": 6, "name": "broken", "at": 1767225600000}).messages
    (good,) = tables["orders"].insert(7, {"id": 7, "name": "good", "at": 1767225600000}).messages
    assert isinstance(whole.value, str)
    # Longer than the whole message: nothing can be told by the length.
    damaged = {0: Message(whole.value + whole.value), 1: Message("broken"), 2: good}
    lake.land_again("cut", damaged, schema="raw_slips")
    run("first")

    land(2)
    lake.land_again("cut", {0: whole, 1: Message("broken"), 3: broken}, schema="raw_slips")
    lake.append("raw_slips.cut", [raw_row("raw_slips.cut", 1, Message("broken, and otherwise"))])
    project.remove("models/wrong", "models/folder")
    project.write({f"models/changed/{name}.sql": second for name, (_, second, _) in CHANGED.items()})
    project.write({
        "models/table_of_table.sql": files()["models/table_of_table.sql"].replace("'orders'", "'items'"),
        "models/rebuilt.sql": files()["models/rebuilt.sql"].replace("'orders'", "'items'"),
    })  # fmt: skip
    project.run("--full-refresh", "--select", "rebuilt")
    run("changed")
    for stage in ("letters", "accounts", "ledger"):
        story.rows["whole", stage] = lake.rows(f"select * from {SCHEMA}.cut_{stage}")
    for name in ("cut_current", "cut_current_of_raw", "cut_of_raw", "cut_messages"):
        story.rows["whole", name] = lake.rows(f"select * from {SCHEMA}.{name}")
    story.runs["tests"] = project.dbt("test")
    lake.land_again("cut", {0: whole}, schema="raw_slips")
    project.run("--select", "cut_messages", "cut_of_raw")
    for name in ("cut_of_raw", "cut_messages"):
        story.rows["again", name] = lake.rows(f"select * from {SCHEMA}.{name}")
    run("rebuilt", "--full-refresh", "--select", "of_table+", "table_of_table+", "rebuilt+")
    with redirect_stdout(io.StringIO()) as output:
        for operation, arguments in {
            "maintain": "{models: [cut_ledger], dry_run: false}",
            "prune": "{older_than_days: 1, models: [built, rebuilt, messages_of_seen], sources: [raw_slips.seen, raw_slips.cut]}",
        }.items():
            done = project.dbt("run-operation", f"spark_cdc.{operation}", "--args", arguments)
            assert done.result.success, done.failure
    story.printed = output.getvalue()
    return story


@pytest.mark.parametrize("name", WRONG)
def test_a_slip_stops_with_a_sentence(story: Story, name: str) -> None:
    message = story.runs["first"].messages[name]
    assert story.runs["first"].statuses[name] == "error"
    assert WRONG[name][1] in message
    assert len(message) < 1500


@pytest.mark.parametrize("name", [*CHANGED, *OVER])
def test_rows_of_two_arguments_do_not_meet_in_one_table(story: Story, name: str) -> None:
    assert story.runs["first"].statuses[name] == "success", story.runs["first"].messages[name]
    assert story.runs["changed"].statuses[name] == "error"
    assert (CHANGED[name][2] if name in CHANGED else OVER[name]) in story.runs["changed"].messages[name]
    assert story.rows["changed", name] == story.rows["first", name] != []


def test_what_is_as_it_was_goes_on(story: Story) -> None:
    for name in ("built", "as_written"):
        assert story.runs["changed"].statuses[name] == "success", story.runs["changed"].messages[name]
        assert len(story.rows["changed", name]) == 2
    assert {status for name, status in story.runs["first"].statuses.items() if name not in WRONG} == {
        "success"
    }


def test_the_command_of_the_sentence_rebuilds(story: Story) -> None:
    assert story.runs["rebuilt"].result.success, story.runs["rebuilt"].messages
    for name in ("of_table", *OVER):
        assert len(story.rows["rebuilt", name]) == 2
        assert all("'name': 'items'" in row for row in story.rows["rebuilt", name])


def test_a_message_that_lands_again_whole_is_applied(story: Story) -> None:
    """By a changes model over messages and by one over raw; the copy that was read first is a closed dead letter."""
    for name in ("cut_current", "cut_current_of_raw"):
        assert sorted(row["id"] for row in story.rows["whole", name]) == [5, 6, 7]
    letters = {
        (row["offset"], row["code"], row["state"], row["closed_by"]) for row in story.rows["whole", "letters"]
    }
    assert letters == {(0, "text_after_message", "closed", "whole_copy"), (1, "not_json", "open", None)}
    totals = [
        sum(row[account] for row in story.rows["whole", "accounts"])
        for account in ("read", "applied", "superseded", "duplicate", "control", "unrouted", "rejected")
    ]
    assert totals == [7, 3, 0, 3, 0, 0, 1]
    assert sum(row["applied"] for row in story.rows["whole", "ledger"]) == 3


def test_each_copy_is_read_once(story: Story) -> None:
    """What still cannot be read has the row that it had, and what landed once more is a duplicate."""
    places = [(row["_cdc_offset"], row["_cdc_op"]) for row in story.rows["whole", "cut_of_raw"]]
    assert sorted(map(str, places)) == [
        "(0, 'insert')",
        "(0, None)",
        "(1, None)",
        "(2, 'insert')",
        "(3, 'insert')",
    ]
    assert sorted(map(str, story.rows["again", "cut_of_raw"])) == sorted(
        map(str, story.rows["whole", "cut_of_raw"])
    )
    assert sorted(row["offset"] for row in story.rows["whole", "cut_messages"]) == [0, 0, 1, 1, 1, 2, 3]
    assert sorted(row["offset"] for row in story.rows["again", "cut_messages"]) == [0, 0, 0, 1, 1, 1, 2, 3]
    values = [row["value"] for row in story.rows["whole", "cut_messages"] if row["offset"] == 1]
    assert sorted(values) == ["broken", "broken", "broken, and otherwise"]


def test_the_shipped_tests_agree(story: Story) -> None:
    statuses = story.runs["tests"].statuses
    assert statuses["accounted_for"] == statuses["accounts"] == statuses["ledger"] == "pass"
    assert statuses["no_errors_of_messages"] == statuses["no_errors_of_changes"] == "fail"


def test_a_ledger_is_maintained_like_any_table(story: Story) -> None:
    assert f"{SCHEMA}.cut_ledger')" in story.printed


@pytest.mark.parametrize(
    "sentence",
    [
        "raw_slips.seen: all rows are needed: messages_of_seen reads it through view_of_seen, which may leave rows out or change their "
        "offsets. Let messages_of_seen read the table itself, with raw_columns, or delete by hand what is no longer needed.",
        "raw_slips.cut: all rows are needed: cut_messages, cut_of_raw read it, and which rows a changes model needs the raw table does "
        "not say. Let them read one messages model.",
        f"{SCHEMA}.messages_of_seen: all rows are needed: no changes model reads it",
        f"{SCHEMA}.built: all rows are needed: history_of_columns, history_of_deletes build versions from them.",
    ],
)
def test_prune_says_why_all_rows_are_needed(story: Story, sentence: str) -> None:
    assert sentence in story.printed
