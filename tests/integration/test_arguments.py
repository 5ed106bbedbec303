"""A wrong macro argument is one sentence at compile time: argument, allowed, given, next step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from dbt_spark_cdc.macros import MacroLibrary
from harness import Project, Run

CHANGES = "source('raw', 'messages')"
SOURCES = "sources: [{name: raw, tables: [{name: messages}]}]"
GOOD = {
    "format": "'canal'",
    "table": "'orders'",
    "key": "['id']",
    "columns": "{'id': 'bigint', 'amount': 'decimal(20,4)'}",
}
_LISTED = MacroLibrary(Path(__file__).resolve().parents[2]).formats()
FORMATS = ", ".join(_LISTED)
DIALECTS = ", ".join(_LISTED["debezium"])
SPELLING = "Correct the spelling, or leave the argument out where it has a default."
TYPES = (
    "a type of string, binary, boolean, tinyint, smallint, int, bigint, decimal, float, double, date, timestamp, "
    "timestamp_ntz, variant (decimal as decimal(p,s), the others without parentheses)"
)
EXACT_AS_STRING = (
    "A value without a type here, such as a time of day or an interval, is kept exactly as string."
)


def changes(relation: str | None = CHANGES, **arguments: str | None) -> str:
    """Write a call of `changes` that is right but for the arguments given; None leaves one out."""
    kept = {name: value for name, value in (GOOD | arguments).items() if value is not None}
    words = [*([relation] if relation else []), *(f"{name}={value}" for name, value in kept.items())]
    return f"spark_cdc.changes({', '.join(words)})"


def columns(name: str, declaration: str) -> str:
    """Write a call of `changes` that declares one column wrongly."""
    return changes(columns=f"{{'id': 'bigint', '{name}': '{declaration}'}}")


CASES = {
    "no_format": (
        changes(format=None),
        f"spark_cdc.changes: argument `format` must be a text; got nothing. Formats of this package: {FORMATS}.",
    ),
    "unknown_format": (
        changes(format="'Canal'"),
        f"spark_cdc.changes: argument `format` must be one of {FORMATS}; got `Canal`. {SPELLING}",
    ),
    "unknown_dialect": (
        changes(format="'debezium'", dialect="'flattened'"),
        f"spark_cdc.changes: argument `dialect` must be one of {DIALECTS}; got `flattened`. {SPELLING}",
    ),
    "name_that_is_no_text": (
        changes(columns="{'id': 'bigint', 5: 'int'}"),
        "spark_cdc.changes: argument `columns` must be a text; got `5`. Put the names of columns in quotes.",
    ),
    "no_relation": (
        changes(relation=None),
        "spark_cdc.changes: argument `relation` must be given when `messages` is not, and only then; got neither. "
        "Pass a raw table first, or messages=ref(...) of a model made by spark_cdc.messages.",
    ),
    "two_relations": (
        changes(messages=CHANGES),
        "spark_cdc.changes: argument `relation` must be given when `messages` is not, and only then; got both. "
        "Pass a raw table first, or messages=ref(...) of a model made by spark_cdc.messages.",
    ),
    "no_table": (
        changes(table=None),
        "spark_cdc.changes: argument `table` must be a text; got nothing. Write the source table's name as its messages do.",
    ),
    "empty_table": (
        changes(table="' '"),
        "spark_cdc.changes: argument `table` must be a text; got ` `. Write the source table's name as its messages do.",
    ),
    "no_key": (
        changes(key=None),
        "spark_cdc.changes: argument `key` must be a list of column names, such as ['id']; got nothing. "
        "Name the columns that identify a row, such as key=['id'], or key=[] where there are none.",
    ),
    "key_as_text": (
        changes(key="'id'"),
        "spark_cdc.changes: argument `key` must be a list of column names, such as ['id']; got `id`. "
        "Name the columns that identify a row, such as key=['id'], or key=[] where there are none.",
    ),
    "key_twice": (
        changes(key="['id', 'id']"),
        "spark_cdc.changes: argument `key` must be a list that names each column once; got `['id', 'id']`. "
        "Name the columns that identify a row, such as key=['id'], or key=[] where there are none.",
    ),
    "key_not_declared": (
        changes(key="['ID']"),
        "spark_cdc.changes: argument `key` must be one of id, amount; got `ID`. "
        "Declare it in `columns`, or take it out of `key`.",
    ),
    "no_columns": (
        changes(columns=None),
        "spark_cdc.changes: argument `columns` must be a mapping of column names to types, such as {'id': 'bigint'}; "
        "got nothing. List the columns of the source table that this model needs.",
    ),
    "columns_as_list": (
        changes(columns="['id']"),
        "spark_cdc.changes: argument `columns` must be a mapping of column names to types, such as {'id': 'bigint'}; "
        "got `['id']`. List the columns of the source table that this model needs.",
    ),
    "reserved_column": (
        columns("_cdc_op", "string"),
        "spark_cdc.changes: argument `columns` must be names that do not start with _cdc_, which is reserved; "
        "got `_cdc_op`. A source column of that name cannot be read; leave it out.",
    ),
    "unknown_time_zone": (
        changes(time_zone="'Asia/Shangai'"),
        "spark_cdc.changes: argument `time_zone` must be the name of a region or an offset, such as Asia/Shanghai or "
        "+08:00; got `Asia/Shangai`. Correct the spelling; upper and lower case count.",
    ),
    "raw_table_as_a_list": (
        "spark_cdc.messages([source('raw', 'messages')], format='canal')",
        "spark_cdc.messages: argument `relation` must be a source or a model; got `[",
    ),
    "raw_columns_as_list": (
        "spark_cdc.messages(source('raw', 'messages'), format='canal', raw_columns=['payload'])",
        "spark_cdc.messages: argument `raw_columns` must be a mapping of Kafka's names to the raw table's; got `['payload']`. "
        "Write raw_columns={'value': 'payload'}, or leave it out where the raw table has Kafka's own names.",
    ),
    "changes_raw_columns_as_list": (
        changes(raw_columns="['payload']"),
        "spark_cdc.changes: argument `raw_columns` must be a mapping of Kafka's names to the raw table's; got `['payload']`. "
        "Write raw_columns={'value': 'payload'}, or leave it out where the raw table has Kafka's own names.",
    ),
    "raw_columns_of_numbers": (
        changes(raw_columns="{'value': 1}"),
        "spark_cdc.changes: argument `raw_columns` must be a mapping of Kafka's names to the raw table's; got `{'value': 1}`. ",
    ),
    "argument_misspelt": (
        changes(tabel="'orders'"),
        "spark_cdc.changes: there is no argument `tabel`; there are relation, format, table, key, columns, database, schema, "
        "dialect, messages, raw_columns, time_zone. Correct the spelling.",
    ),
    "too_many_arguments": (
        "spark_cdc.messages(source('raw', 'messages'), 'canal', none, none, none, 'orders')",
        "spark_cdc.messages: there are 5 arguments, relation, format, dialect, raw_columns, topics; got 6. Write each with its name.",
    ),
    "dead_letters_of_names": (
        "spark_cdc.dead_letters(messages=['no_key'])",
        "spark_cdc.dead_letters: argument `messages` must be relations; got the name `no_key`. Write ref('no_key') in its place.",
    ),
    "dead_letters_of_one_relation": (
        f"spark_cdc.dead_letters(messages={CHANGES})",
        "spark_cdc.dead_letters: argument `messages` must be a list of relations, such as [ref('orders')]; got ",
    ),
    "dead_letters_of_one_changes_model": (
        f"spark_cdc.dead_letters(messages=[{CHANGES}], changes={CHANGES})",
        "spark_cdc.dead_letters: argument `changes` must be a list of relations, such as [ref('orders')]; got ",
    ),
    "acknowledged_as_text": (
        f"spark_cdc.dead_letters(messages=[{CHANGES}], acknowledged='not_json')",
        "spark_cdc.dead_letters: argument `acknowledged` must be a list of mappings such as {'code': 'not_json', 'topic': 'shop', "
        "'partition': 0, 'from_offset': 4, 'to_offset': 9, 'because': 'a test of the producer'}; got `not_json`. Leave it out for none.",
    ),
    "acknowledged_for_no_reason": (
        f"spark_cdc.dead_letters(messages=[{CHANGES}], acknowledged=['not_json'])",
        "got `not_json`. Each names one or more of code, model, table, topic, partition, from_offset, to_offset; offsets and partitions "
        "are whole numbers.",
    ),
    "acknowledged_all_of_them": (
        f"spark_cdc.dead_letters(messages=[{CHANGES}], acknowledged=[{{'because': 'all of them'}}])",
        "got `{'because': 'all of them'}`. Each names one or more of code, model, ",
    ),
    "acknowledged_by_an_unknown_name": (
        f"spark_cdc.dead_letters(messages=[{CHANGES}], acknowledged=[{{'code': 'not_json', 'offset': 4}}])",
        "got `{'code': 'not_json', 'offset': 4}`. Each names one or more of code, model, ",
    ),
    "acknowledged_offset_as_text": (
        f"spark_cdc.dead_letters(messages=[{CHANGES}], acknowledged=[{{'from_offset': '4'}}])",
        "got `{'from_offset': '4'}`. Each names one or more of code, model, ",
    ),
    "ddl_log_of_nothing": (
        "spark_cdc.ddl_log()",
        "spark_cdc.ddl_log: argument `messages` must be a list of relations, such as [ref('orders')]; got nothing. Name each with "
        "ref(...), in square brackets.",
    ),
    "source_schemas_of_one_relation": (
        f"spark_cdc.source_schemas(messages={CHANGES})",
        "spark_cdc.source_schemas: argument `messages` must be a list of relations, such as [ref('orders')]; got ",
    ),
    "lag_of_one_current_table": (
        f"spark_cdc.lag(messages=[{CHANGES}], current={CHANGES})",
        "spark_cdc.lag: argument `current` must be a list of relations, such as [ref('orders')]; got ",
    ),
    "lag_of_raw_tables": (
        f"spark_cdc.lag(messages=[{CHANGES}], raw=[source('raw', 'messages')])",
        "spark_cdc.lag: there is no argument `raw`; there are messages, current. Correct the spelling.",
    ),
    "unknown_type": (
        columns("amount", "number"),
        f"spark_cdc.changes: argument `columns` must be {TYPES}; got `amount: number`. {EXACT_AS_STRING}",
    ),
    "decimal_without_scale": (
        columns("amount", "decimal(20)"),
        f"spark_cdc.changes: argument `columns` must be {TYPES}; got `amount: decimal(20)`. {EXACT_AS_STRING}",
    ),
    **{
        f"parentheses_after_{declaration.partition('(')[0]}": (
            columns("amount", declaration),
            f"spark_cdc.changes: argument `columns` must be {TYPES}; got `amount: {declaration}`. {EXACT_AS_STRING}",
        )
        for declaration in (
            "int(11)",
            "timestamp(3)",
            "string(5)",
            "double(10,2)",
            "boolean(1)",
            "date(0)",
            "bigint(20) from bits",
        )
    },
    "decimal_too_wide": (
        columns("amount", "decimal(39,2)"),
        "spark_cdc.changes: argument `columns` must be a decimal of at most 38 digits, with a scale that is not above "
        "them; got `amount: decimal(39,2)`. Declare a wider number as string: its text is exact.",
    ),
    "unknown_encoding": (
        columns("placed_on", "date from hours"),
        "spark_cdc.changes: argument `columns` must be one of `date from text`, `date from days`, `date from seconds`, "
        "`date from milliseconds`, `date from microseconds`, `date from nanoseconds`; got `placed_on: date from hours`. "
        "Without `from` the format's own encoding is read.",
    ),
    "columns_of_one_name": (
        changes(columns="{'id': 'bigint', 'ID': 'string'}"),
        "spark_cdc.changes: argument `columns` must be names that differ in more than the case of their letters, which Spark "
        "does not tell apart; got `id`. Read them with two models; each joins the other by the key.",
    ),
    "column_with_a_backtick": (
        changes(columns="{'id': 'bigint', 'a`b': 'string'}"),
        "spark_cdc.changes: argument `columns` must be names without a backtick, which dbt's `incremental` does not quote; "
        "got `a`b`. Leave it out, or write materialized='cdc_append'.",
    ),
    "column_of_two_lines": (
        changes(columns="{'id': 'bigint', 'a\\nb': 'string'}"),
        "spark_cdc.changes: argument `columns` must be names of one line; got `'a\\u000ab'`. A source column of that name cannot be "
        "read; leave it out.",
    ),
    "schema_is_no_text": (
        changes(schema="5"),
        "spark_cdc.changes: argument `schema` must be a text; got `5`. Write the source schema's name as its messages do.",
    ),
    "time_of_the_run_as_that_of_a_message": (
        changes(raw_columns="{'timestamp': 'current_timestamp()'}"),
        "spark_cdc.changes: argument `raw_columns` must be a mapping in which `timestamp` is the same whenever a message is "
        "read; got `current_timestamp()`. Name the column that has Kafka's, or write 'timestamp': 'cast(null as timestamp)' "
        "where there is none.",
    ),
    "raw_columns_beside_messages": (
        changes(None, messages=CHANGES, raw_columns="{'value': 'v'}"),
        "spark_cdc.changes: argument `raw_columns` must be left out with `messages`; got `{'value': 'v'}`. A messages "
        "model has Kafka's own names: give raw_columns to spark_cdc.messages.",
    ),
    "messages_unknown_format": (
        "spark_cdc.messages(source('raw', 'messages'), format='maxwel')",
        f"spark_cdc.messages: argument `format` must be one of {FORMATS}; got `maxwel`. {SPELLING}",
    ),
    "messages_raw_columns": (
        "spark_cdc.messages(source('raw', 'messages'), format='canal', raw_columns={'payload': 'v'})",
        "spark_cdc.messages: argument `raw_columns` must be one of topic, partition, offset, timestamp, key, value, "
        f"headers; got `payload`. {SPELLING}",
    ),
}


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Project]) -> Project:
    """A project whose only models are the wrong ones: behind `execute`, so that one command compiles them all."""
    models = {
        f"models/wrong/{name}.sql": "{{ config(materialized='incremental') }}{% if execute %}{{ "
        + call
        + " }}{% endif %}"
        for name, (call, _) in CASES.items()
    }
    return new_project("shop_arguments", models | {"models/sources.yml": SOURCES})


@pytest.fixture(scope="module")
def compiled(project: Project) -> Run:
    """What dbt says of them; each is compiled before it is run."""
    return project.dbt("run")


@pytest.mark.parametrize("name", CASES)
def test_sentence_says_what_is_wrong(compiled: Run, name: str) -> None:
    """The whole sentence, and no traceback around it."""
    assert compiled.statuses[name] == "error"
    message = compiled.messages[name]
    assert CASES[name][1] in message
    assert "Traceback" not in message


def test_plain_model_fails_while_dbt_parses(project: Project) -> None:
    """Without `execute` around it the same sentence stops `dbt parse`, which needs no Spark."""
    call, sentence = CASES["unknown_format"]
    project.write({"models/wrong/plain.sql": "{{ " + call + " }}"})
    run = project.dbt("parse")
    project.remove("models/wrong/plain.sql")
    assert not run.result.success
    assert sentence in run.failure


def test_placeholders_are_a_list(project: Project) -> None:
    """Of a text each letter would be one, and every value that is that letter would count as not sent."""
    call = "spark_cdc.changes(source('raw', 'messages'), format='debezium', table='t', key=['id'], columns={'id': 'int'})"
    project.write({"models/wrong/plain.sql": "{{ " + call + " }}"})
    run = project.dbt("parse", "--vars", "{spark_cdc__debezium_unavailable_values: abc}")
    project.remove("models/wrong/plain.sql")
    assert (
        "spark_cdc.vars: argument `spark_cdc__debezium_unavailable_values` must be a list of texts; got `abc`. Write --vars "
        "'{spark_cdc__debezium_unavailable_values: [__debezium_unavailable_value]}', with what the connector writes."
        in run.failure
    )


def test_a_variable_that_is_not_known_stops_every_command(project: Project) -> None:
    """It would do nothing, silently."""
    for name in ("spark_cdc__backfill", "spark_cdc_allow_history_loss"):
        run = project.dbt("parse", "--vars", f"{{{name}: [orders]}}")
        assert (
            "spark_cdc.vars: argument `--vars` must be one of spark_cdc__debezium_other_connectors, "
            "spark_cdc__debezium_unavailable_values, spark_cdc__debezium_unavailable_pattern, "
            "spark_cdc__debezium_invalid_pattern, spark_cdc__allow_history_loss, spark_cdc__land_recreated_topics; "
            f"got `{name}`. {SPELLING}" in run.failure
        )


def test_a_variable_that_dbt_does_not_find_stops_every_command(project: Project) -> None:
    """dbt's users write the variables of a package under its name, which is for the models in the package."""
    file = project.folder / "dbt_project.yml"
    before = file.read_text(encoding="utf-8")
    project.write(
        {"models/of_debezium.sql": "{{ spark_cdc.messages(source('raw', 'shop'), format='debezium') }}\n"}
    )
    file.write_text(
        before + "\nvars:\n  spark_cdc:\n    spark_cdc__debezium_other_connectors: [singlestoredb]\n"
    )
    run = project.dbt("parse")
    project.remove("models/of_debezium.sql")
    file.write_text(before)
    assert (
        "spark_cdc.vars: `spark_cdc__debezium_other_connectors` is under `spark_cdc:` in the vars of dbt_project.yml, where it "
        "has no effect on your models. Write it at the top level of vars."
    ) in run.failure
