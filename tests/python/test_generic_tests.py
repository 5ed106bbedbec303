"""The shipped dbt tests, in a user's project: each finds the bad rows and passes the good ones.

All cases are views of one small project, which one process builds and tests in one Spark session. A case
runs a test's compiled query once more there, to compare the rows that it returns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from dbt_spark_cdc.macros import CompilerError, MacroLibrary

REPOSITORY = Path(__file__).resolve().parents[2]
GENERIC_TESTS = REPOSITORY / "macros" / "generic_tests"


@dataclass(frozen=True)
class Case:
    """A model, the test put on it, and the rows that the test has to return."""

    says: str
    test: str
    model: str
    arguments: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    column: str | None = None
    found: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.test}__{re.sub('[^a-z0-9]+', '_', self.says.lower())}"


def raw_of(*messages: dict[str, Any]) -> str:
    """Write a raw table of these messages; MongoDB's have a key."""
    rows = [
        f"({offset}L, {literal(message.pop('key', ''))}, {literal(json.dumps(message))})"
        for offset, message in enumerate(messages)
    ]
    return f"""
        select 'types' as topic, 0 as partition, offset, timestamp'2026-01-01' as timestamp, key, value
        from values {", ".join(rows)} as sent(offset, key, value)
    """


def literal(text: str) -> str:
    """Write a text as a literal of SQL that Jinja leaves alone."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{{% raw %}}{escaped}{{% endraw %}}'"


def canal(table: str, second: int, row: dict[str, str], types: dict[str, str] | None) -> dict[str, Any]:
    """One INSERT of Canal."""
    return {
        "database": "shop", "table": table, "type": "INSERT", "isDdl": False, "es": 1767225600000 + 1000 * second, "old": None,
        "data": [row], "mysqlType": types,
    }  # fmt: skip


DECIMAL = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "version": 1,
    "parameters": {"scale": "2"},
}
TIME = {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}


def fields(**types: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the fields of a struct in a schema of Kafka Connect."""
    return [{"field": name} | kind for name, kind in types.items()]


ROW_FIELDS = fields(id={"type": "int64"}, price=DECIMAL, placed_at=TIME, spot={"type": "int99"})
SOURCE = {
    "connector": "mysql",
    "db": "shop",
    "table": "orders",
    "file": "binlog.1",
    "pos": 4,
    "ts_ms": 1767225600000,
}
ROW = {"id": 1, "price": "AfQ=", "placed_at": 1767225600000000, "spot": 7}
CHANGES_OF = """
    {{{{ spark_cdc.changes(messages=ref('{messages}'), format='{format}', {table}, key=['{key}'], columns={columns}) }}}}
"""

# Relations that the cases share, and the ones that their tests compare with.
MODELS = {
    "raw_of_types": raw_of(
        canal(
            "orders_1",
            0,
            {"id": "1", "amount": "1.50", "Name": "a"},
            {"id": "bigint", "amount": "decimal(10,2)", "Name": "text"},
        ),
        canal(
            "orders_1",
            1,
            {"id": "2", "amount": "1.5000", "Name": "b", "it's": "x", "_CDC_x": "y"},
            {
                "id": "bigint",
                "amount": "decimal(20,4)",
                "Name": "text",
                "it's": "varchar(9)",
                "_CDC_x": "int",
            },
        ),
        canal(
            "orders_2",
            2,
            {"id": "3", "amount": "3", "spot": "z"},
            {"id": "bigint", "amount": "int", "spot": "cube"},
        ),
        canal("customers", 3, {"id": "1", "mail": "m", "note": "n", "line\nend": ""}, None),
        canal("nobodys", 4, {"id": "1", "unread": "u"}, {"unread": "int"}),
    ),
    "types_canal": "{{ spark_cdc.messages(ref('raw_of_types'), format='canal') }}",
    "types_orders": CHANGES_OF.format(
        messages="types_canal",
        format="canal",
        table="table='orders_*'",
        key="id",
        columns={"id": "bigint", "name": "string"},
    ),
    "types_customers": CHANGES_OF.format(
        messages="types_canal", format="canal", table="table='customers'", key="id", columns={"id": "bigint"}
    ),
    "types_customers_mail": CHANGES_OF.format(
        messages="types_canal",
        format="canal",
        table="database='shop', table='customers'",
        key="id",
        columns={"id": "bigint", "mail": "string"},
    ),
    "raw_of_debezium_types": raw_of(
        {
            "schema": {
                "type": "struct",
                "fields": [{"type": "struct", "field": "after", "fields": ROW_FIELDS}],
            },
            "payload": {"op": "c", "before": None, "after": ROW, "source": SOURCE, "ts_ms": 1767225600000},
        }
    ),
    "types_debezium": "{{ spark_cdc.messages(ref('raw_of_debezium_types'), format='debezium') }}",
    "types_debezium_orders": CHANGES_OF.format(
        messages="types_debezium",
        format="debezium",
        table="table='orders'",
        key="id",
        columns={"id": "bigint"},
    ),
    "raw_of_flat_types": raw_of({"schema": {"type": "struct", "fields": ROW_FIELDS}, "payload": ROW}),
    "types_flat": "{{ spark_cdc.messages(ref('raw_of_flat_types'), format='debezium', dialect='flat') }}",
    "types_flat_orders": CHANGES_OF.format(
        messages="types_flat",
        format="debezium",
        table="dialect='flat', table='*'",
        key="id",
        columns={"id": "bigint", "placed_at": "timestamp_ntz"},
    ),
    "raw_of_mongodb_types": raw_of(
        {
            "key": '{"id":"7"}',
            "op": "u",
            "before": None,
            "after": None,
            "ts_ms": 1767225600000,
            "updateDescription": {
                "removedFields": ["kept"],
                "updatedFields": '{"address.city":"Bern","tags.0":"x","age":7}',
                "truncatedArrays": None,
            },
            "source": {
                "connector": "mongodb",
                "db": "shop",
                "collection": "people",
                "ord": 1,
                "ts_ms": 1767225600000,
            },
        }
    ),
    # No view of Spark's reads a function of a session.
    "types_mongodb": "{{ config(materialized='table', file_format='iceberg') }}"
    "{{ spark_cdc.messages(ref('raw_of_mongodb_types'), format='debezium_mongodb') }}",
    "types_people": CHANGES_OF.format(
        messages="types_mongodb",
        format="debezium_mongodb",
        table="table='people'",
        key="_id",
        columns={"_id": "string", "kept": "bigint", "tags": "bigint"},
    ),
    "changes_good": """
        select * from values
            (1, 'a', 'insert', array(10.0, 0.0), null, null, null, 't', 0, 10L),
            (1, 'b', 'update', array(11.0, 0.0), named_struct('id', 1), array('more'), null, 't', 0, 11L),
            (2, 'c', 'snapshot', array(12.0, 0.0), null, null, null, 't', 1, 12L),
            (2, null, 'delete', array(13.0, 0.0), named_struct('id', 2), null, {{ no_error() }}, 't', 1, 13L)
        as changes(
            id, name, _cdc_op, _cdc_sequence, _cdc_before, _cdc_missing_columns, _cdc_error,
            _cdc_topic, _cdc_partition, _cdc_offset
        )
    """,
    "current_good": """
        select * from values
            (1, 'a', double('NaN'), parse_json('{"b":1}'), false, array(5.0, 0.0), null, 'update',
                't', 0, 5L),
            (2, null, null, null, true, array(6.0, 0.0), null, 'delete', 't', 0, 6L)
        as rows(
            id, name, ratio, extra, _cdc_is_deleted, _cdc_sequence, _cdc_missing_columns, _cdc_op,
            _cdc_topic, _cdc_partition, _cdc_offset
        )
    """,
    "history_good": """
        select * from values
            (1, null, null, null, timestamp'2026-01-01', timestamp'2026-01-02', false, array(1.0, 0.0)),
            (1, 'b', null, null, timestamp'2026-01-02', timestamp'2026-01-02', false, array(2.0, 0.0)),
            (1, 'a', double('NaN'), parse_json('{"b":1}'), timestamp'2026-01-02', null, false,
                array(5.0, 0.0)),
            (2, null, null, null, timestamp'2026-01-02', null, true, array(6.0, 0.0))
        as versions(id, name, ratio, extra, valid_from, valid_to, _cdc_is_deleted, _cdc_last_sequence)
    """,
    "history_other": """
        select * from values
            (1, 'b', double('NaN'), parse_json('{"b":2}'), timestamp'2026-01-02', null, false,
                array(5.0, 0.0)),
            (2, null, null, null, timestamp'2026-01-02', null, false, array(7.0, 0.0)),
            (3, 'c', null, null, timestamp'2026-01-02', null, false, array(8.0, 0.0))
        as versions(id, name, ratio, extra, valid_from, valid_to, _cdc_is_deleted, _cdc_last_sequence)
    """,
    "history_closed": """
        select * except (valid_to), timestamp'2026-01-03' as valid_to from {{ ref('history_good') }}
    """,
    "raw_good": """
        select * from values
            ('t', 0, 1L), ('t', 0, 2L), ('t', 0, 3L), ('t', 1, 1L), ('t', 1, 2L), ('t', 1, 2L)
        as raw(topic, partition, offset)
    """,
    "raw_other_names": """
        select topic as name, partition as part, cast(offset as string) as position from {{ ref('raw_good') }}
    """,
    "raw_grown": """
        select * from {{ ref('raw_good') }}
        union all select * from values ('t', 0, 4L), ('t', 2, 1L) as raw(topic, partition, offset)
    """,
    "messages_good": """
        select *, timestamp'2026-01-01' as loaded_at from values
            ('t', 0, 1L, 'rows', 'shop', cast(null as string), 'orders', 'INSERT', array(), {{ no_error() }}),
            ('t', 0, 2L, 'ddl', 'shop', null, 'orders', 'ALTER', array(), null),
            ('t', 0, 3L, 'rows', 'shop', null, 'items', 'UPDATE_BEFOR', array(7.0), null),
            ('t', 1, 1L, 'rows', 'shop', null, 'items', 'UPDATE_AFTER', array(7.0), null),
            ('t', 1, 2L, 'rows', 'shop', null, 'not_read', 'INSERT', array(), null)
        as messages(
            topic, partition, offset, kind, database_name, schema_name, table_name, op, sequence, error
        )
    """,
    "messages_bad": """
        select * from {{ ref('messages_good') }} where not (partition = 1 and offset = 2)
        union all select * from {{ ref('messages_good') }} where partition = 0 and offset = 2
        union all select *, timestamp'2026-01-01' as loaded_at from values
            ('t', 1, 8L, 'rows', 'shop', null, 'items', 'UPDATE_AFTER', array(7.0), null),
            ('t', 1, 9L, 'rows', 'shop', null, 'orders', 'INSERT', array(), null)
        as messages(
            topic, partition, offset, kind, database_name, schema_name, table_name, op, sequence, error
        )
    """,
    "messages_of_two_runs_at_once": """
        select * from {{ ref('messages_good') }}
        union all select * except (loaded_at), timestamp'2026-01-01 00:00:01' as loaded_at
        from {{ ref('messages_good') }} where partition = 0
    """,
    "messages_that_raw_no_longer_has": """
        select * from {{ ref('messages_good') }}
        union all select *, timestamp'2026-01-01' as loaded_at from values
            ('t', 0, 0L, 'ddl', 'shop', null, 'orders', 'ALTER', array(), null),
            ('t', 7, 3L, 'ddl', 'shop', null, 'orders', 'ALTER', array(), null),
            ('t', 0, 2L, 'unreadable', 'shop', null, 'orders', 'INSERT', array(), {{ error('offset_reused') }}),
            ('t', 1, 5L, 'unreadable', 'shop', null, 'orders', 'INSERT', array(), {{ error('offset_reused') }})
        as messages(
            topic, partition, offset, kind, database_name, schema_name, table_name, op, sequence, error
        )
    """,
    "changes_of_orders": """
        select 'insert' as _cdc_op, array(1.0, 0.0) as _cdc_sequence, 't' as _cdc_topic,
            0 as _cdc_partition, 1L as _cdc_offset, array(named_struct('partition', 0, 'offset', 1L)) as _cdc_offsets
    """,
    "changes_of_items": """
        select 'update' as _cdc_op, array(7.0, 1.0, 0.0) as _cdc_sequence, 't' as _cdc_topic,
            1 as _cdc_partition, 1L as _cdc_offset,
            array(named_struct('partition', 0, 'offset', 3L), named_struct('partition', 1, 'offset', 1L)) as _cdc_offsets
    """,
    "changes_with_halves": """
        select * from values
            ('update', array(7.0, 1.0, 0.0), {{ error('unpaired_update', 'before') }}, 't', 0, 1L),
            ('update', array(7.0, 2.0, 0.0), null, 't', 0, 2L)
        as changes(_cdc_op, _cdc_sequence, _cdc_error, _cdc_topic, _cdc_partition, _cdc_offset)
    """,
    "changes_of_two_topics": """
        select * from {{ ref('changes_with_halves') }} where _cdc_error is not null
        union all select * except (_cdc_topic), 'u' as _cdc_topic
        from {{ ref('changes_with_halves') }} where _cdc_error is null
    """,
    "changes_with_errors": """
        select * from {{ ref('changes_with_halves') }}
        union all select * from values
            ('insert', array(8.0, 3.0, 0.0), {{ error('invalid_value', 'id: int') }}, 't', 0, 3L),
            ('update', array(9.0, 4.0, 0.0), {{ error('unpaired_update', 'after') }}, 't', 0, 4L)
        as changes(_cdc_op, _cdc_sequence, _cdc_error, _cdc_topic, _cdc_partition, _cdc_offset)
    """,
    "changes_of_a_message_that_landed_again_whole": """
        select * from values
            (cast(null as string), array(1.0, 0.0), {{ error('broken_json') }}, 't', 0, 1L),
            ('insert', array(1.0, 0.0), null, 't', 0, 1L),
            (null, null, {{ error('broken_json') }}, 't', 0, 2L),
            ('insert', array(1.0, 0.0), null, 't', 1, 2L),
            ('insert', array(1.0, 0.0), null, 't', 0, 3L),
            (null, null, {{ error('offset_reused') }}, 't', 0, 3L)
        as changes(_cdc_op, _cdc_sequence, _cdc_error, _cdc_topic, _cdc_partition, _cdc_offset)
    """,
    "messages_that_landed_again_whole": """
        select * from values
            ('t', 0, 1L, timestamp'2026-01-01', {{ error('broken_json') }}),
            ('t', 0, 1L, timestamp'2026-01-01', null),
            ('t', 0, 2L, timestamp'2026-01-01', {{ error('not_json') }}),
            ('t', 0, 3L, timestamp'2026-01-01', null),
            ('t', 0, 3L, timestamp'2026-01-02', {{ error('offset_reused') }})
        as messages(topic, partition, offset, timestamp, error)
    """,
    "letters": """
        select topic, partition, offset, code, detail, 'orders_changes' as model, table_name, state from values
            ('t', 0, 1L, 'broken_json', 'broken off at byte 5', null, 'open'),
            ('t', 0, 2L, 'not_json', 'no object', null, 'acknowledged'),
            ('t', 0, 3L, 'not_json', 'no object', null, 'closed'),
            ('t', 0, 4L, 'invalid_value', 'n: int', 'orders', 'open'),
            ('t', 0, 5L, 'invalid_value', 'n: int', 'items', 'open')
        as letters(topic, partition, offset, code, detail, table_name, state)
    """,
    "raw_of_shop": """
        select 'shop' as topic, 0 as partition, offset, timestamp'2026-01-01' as timestamp, '' as key,
            '{"database":"shop","table":"' || table || '","type":"INSERT","isDdl":false,"es":1767225600000,"old":null,'
                || '"data":[{"id":"1"}]}' as value
        from values (1L, 'orders'), (2L, 'orders'), (3L, 'items'), (4L, 'tmp_1') as messages(offset, table)
    """,
    "shop_messages": "{{ spark_cdc.messages(ref('raw_of_shop'), format='canal') }}",
    "shop_orders": """
        {{ spark_cdc.changes(messages=ref('shop_messages'), format='canal', table='orders', key=['id'], columns={'id': 'bigint'}) }}
    """,
    "shop_orders_misspelt": """
        {{ spark_cdc.changes(messages=ref('shop_messages'), format='canal', database='shop', table='Orders', key=['id'],
            columns={'id': 'bigint'}) }}
    """,
    "shop_orders_of_raw": """
        {{ spark_cdc.changes(ref('raw_of_shop'), format='canal', table='orders', key=['id'], columns={'id': 'bigint'}) }}
    """,
    "shop_orders_of_raw_misspelt": """
        {{ spark_cdc.changes(ref('raw_of_shop'), format='canal', database='shopp', table='orders', key=['id'],
            columns={'id': 'bigint'}) }}
    """,
    "messages_with_an_error": """
        select offset, 't' as topic, 0 as partition, timestamp'2026-01-01' as timestamp,
            case when offset = 7 then {{ error('broken_json') }} end as error
        from range(10) as offsets(offset)
    """,
    "changes_with_ops": """
        select * from values
            ('upsert', null, 't', 0, 1L),
            (null, null, 't', 0, 2L),
            (null, {{ error('broken_json') }}, 't', 0, 3L),
            ('truncate', null, 't', 0, 4L)
        as changes(_cdc_op, _cdc_error, _cdc_topic, _cdc_partition, _cdc_offset)
    """,
    "changes_without_keys": """
        select * from values
            (1, null, 'insert', null, 't', 0, 1L),
            (null, null, 'delete', null, 't', 0, 2L),
            (1, 'a', 'insert', null, 't', 0, 3L),
            (null, null, 'truncate', null, 't', 0, 4L),
            (1, null, 'insert', {{ error('key_missing', 'kind') }}, 't', 0, 5L)
        as changes(id, kind, _cdc_op, _cdc_error, _cdc_topic, _cdc_partition, _cdc_offset)
    """,
    "rows_with_repeated_keys": """
        select * from values (1, 'a'), (1, 'a'), (1, 'b'), (null, 'a'), (null, 'a') as rows(id, kind)
    """,
    "history_with_overlaps": """
        select * from values
            (1, timestamp'2026-01-01', timestamp'2026-01-03'),
            (1, timestamp'2026-01-02', timestamp'2026-01-02'),
            (1, timestamp'2026-01-02', timestamp'2026-01-04'),
            (2, timestamp'2026-01-01', null),
            (2, timestamp'2026-01-05', timestamp'2026-01-06'),
            (3, timestamp'2026-01-02', timestamp'2026-01-01'),
            (4, null, null),
            (5, timestamp'2026-01-01', timestamp'2026-01-09'),
            (5, timestamp'2026-01-02', timestamp'2026-01-03'),
            (5, timestamp'2026-01-08', timestamp'2026-01-10')
        as versions(id, valid_from, valid_to)
    """,
    "history_with_open_versions": """
        select * from values (1, timestamp'2026-01-01'), (2, null), (3, null), (3, null)
        as versions(id, valid_to)
    """,
    "changes_in_partitions": """
        select * from values
            (1, 'insert', null, null, 't', 0),
            (1, 'update', named_struct('id', 1), null, 't', 1),
            (2, 'insert', null, null, 't', 0),
            (3, 'update', named_struct('id', 2), null, 't', 1),
            (4, 'insert', null, null, 't', 0),
            (4, 'insert', null, {{ error('invalid_value', '') }}, 't', 1)
        as changes(id, _cdc_op, _cdc_before, _cdc_error, _cdc_topic, _cdc_partition)
    """,
    "changes_with_a_truncate": """
        select * from values
            (1, 'insert', cast(null as struct<id: int>), null, 't', 0),
            (2, 'insert', null, null, 't', 1),
            (null, 'truncate', null, null, 't', 0)
        as changes(id, _cdc_op, _cdc_before, _cdc_error, _cdc_topic, _cdc_partition)
    """,
    "changes_with_a_typo": """
        select * from values
            (1, null, null, 'insert', array('nmae', 'note'), null, 't', 0, 1L),
            (1, null, 'x', 'update', array('nmae'), null, 't', 0, 2L),
            (1, null, null, 'delete', null, null, 't', 0, 3L),
            (null, null, null, null, null, {{ error('broken_json', '') }}, 't', 0, 4L)
        as changes(
            id, nmae, note, _cdc_op, _cdc_missing_columns, _cdc_error, _cdc_topic, _cdc_partition, _cdc_offset
        )
    """,
    "changes_with_a_typo_in_the_key": """
        select null as di, 'insert' as _cdc_op, array('di') as _cdc_missing_columns,
            {{ error('key_missing', 'di') }} as _cdc_error
    """,
    "changes_none": "select * from {{ ref('changes_good') }} where false",
    "messages_of_runs": """
        select 't' as topic, partition, offset, timestamp'2026-01-01 00:00:00' as timestamp,
            timestamp_seconds(1767225600 + 3600 * run) as loaded_at, {{ no_error() }} as error, {{ no_position() }}
        from values (0, 1L, 1), (0, 3L, 1), (0, 5L, 1), (0, 7L, 2), (1, 0L, 1) as read(partition, offset, run)
    """,
    "messages_of_a_bad_night": """
        select * from {{ ref('messages_of_runs') }}
        union all select 't', 0, 10L, timestamp'2026-01-01 00:00:00', timestamp'2026-01-02 00:00:00', {{ no_error() }}, {{ no_position() }}
        union all select 't', 2, 0L, timestamp'2026-01-01 00:00:00', timestamp'2026-01-02 00:00:00', {{ no_error() }}, {{ no_position() }}
        union all select 't', 3, 40L, timestamp'2026-01-01 00:00:00', timestamp'2026-01-02 00:00:00', {{ no_error() }}, {{ no_position() }}
        union all select 't', 1, 0L, timestamp'2026-02-01 00:00:00', timestamp'2026-01-02 00:00:00',
            {{ error('offset_reused') }}, {{ no_position() }}
        union all select 't', 0, offset, timestamp'2026-01-01 00:00:00', timestamp'2026-01-03 00:00:00', {{ no_error() }}, {{ no_position() }}
        from values (11L), (17L) as read(offset)
    """,
    "messages_of_a_recreated_topic": """
        select 't' as topic, partition, offset, timestamp_seconds(1767225600 + time) as timestamp,
            timestamp_seconds(1767225600 + 3600 * run) as loaded_at, {{ no_error() }} as error, {{ no_position() }}
        from values (0, 5L, 50, 1), (0, 6L, 60, 1), (0, 3L, 60, 2), (0, 4L, 40, 2), (1, 5L, 50, 1), (1, 0L, 51, 2), (1, 1L, 52, 2)
            as read(partition, offset, time, run)
    """,
    "messages_of_a_recreated_topic_twice": """
        select 't' as topic, 0 as partition, offset, timestamp_seconds(1767225600 + 86400 * day) as timestamp,
            timestamp_seconds(1767225600 + 3600 * run) as loaded_at,
            if(is_taken, {{ error('offset_reused') }}, {{ no_error() }}) as error, {{ no_position() }}
        from values (0L, 0, 1, false), (1L, 0, 1, false), (0L, 30, 2, true), (1000000000L, 30, 3, false),
            (1000000001L, 31, 3, false), (1000000000L, 60, 4, true)
            as read(offset, day, run, is_taken)
    """,
    "messages_of_a_recreated_topic_that_went_on": """
        select 't' as topic, 0 as partition, offset, timestamp_seconds(1767225600 + 86400 * day) as timestamp,
            timestamp_seconds(1767225600 + 3600 * run) as loaded_at,
            if(is_taken, {{ error('offset_reused') }}, {{ no_error() }}) as error, {{ no_position() }}
        from values (0L, 0, 1, false), (1L, 0, 1, false), (0L, 30, 2, true), (2L, 31, 3, false) as read(offset, day, run, is_taken)
        union all select 't', 1, 0L, timestamp_seconds(1767225600), timestamp_seconds(1767229200), {{ no_error() }}, {{ no_position() }}
        union all select 't', 1, 0L, timestamp'2026-02-09', timestamp_seconds(1767232800), {{ error('offset_reused') }}, {{ no_position() }}
    """,
    "raw_of_two_servers": """
        select 't' as topic, partition, offset, timestamp'2026-01-01' as timestamp, cast(key as binary) as key,
            cast(to_json(named_struct('op', op, 'before', null, 'after', if(op = 't', null, named_struct('id', 1)), 'source',
                named_struct('connector', 'mysql', 'db', 'shop', 'table', 'orders', 'server_id', server, 'file', file, 'pos', pos,
                    'ts_ms', 1785500000000 + 1000 * pos + second))) as binary) as value
        from values
            (0, 0L, '{"id":1}', 'r', 1, 'binlog.000100', 500, 0),
            (0, 1L, '{"id":1}', 'u', 1, 'binlog.000100', 600, 0),
            (0, 2L, '{"id":2}', 'u', 1, 'binlog.000100', 700, 0),
            (0, 3L, '{"id":1}', 'u', 1, 'binlog.000100', 600, 0),
            (0, 4L, '{"id":2}', 'u', 1, 'binlog.000100', 700, 0),
            (0, 5L, '{"id":2}', 'u', 1, 'binlog.000101', 40, 0),
            (0, 6L, '{"id":3}', 'c', 2, 'mysql-bin.000007', 200, 0),
            (0, 7L, '{"id":1}', 'u', 2, 'mysql-bin.000007', 300, 0),
            (0, 8L, '{"id":1}', 'u', 2, 'mysql-bin.000007', 400, 0),
            (1, 0L, '{"id":4}', 'u', 1, 'binlog.000100', 650, 0),
            (1, 1L, '{"id":5}', 'c', 2, 'mysql-bin.000007', 250, 0),
            (1, 2L, '{"id":4}', 'u', 2, 'mysql-bin.000101', 250, 0),
            (2, 0L, '{"id":6}', 'c', 1, 'binlog.000100', 50, 0),
            (2, 1L, null, 't', 2, 'mysql-bin.000007', 500, 0),
            (3, 0L, null, 't', 1, 'binlog.000100', 900, 0),
            (3, 1L, '{"id":7}', 'c', 2, 'mysql-bin.000007', 600, 0),
            (4, 0L, '{"id":8}', 'u', 1, 'binlog.000100', 950, 0),
            (4, 1L, '{"id":8}', 'u', 1, 'binlog.000100', 960, 0),
            (4, 2L, '{"id":8}', 'u', 2, 'binlog.000100', 950, 60000)
            as sent(partition, offset, key, op, server, file, pos, second)
    """,
    "messages_of_two_servers": "{{ spark_cdc.messages(ref('raw_of_two_servers'), format='debezium') }}",
    "messages_of_two_servers_by_offset": """
        {{ spark_cdc.messages(ref('raw_of_two_servers'), format='debezium', dialect='by_offset') }}
    """,
    "ledger_good": """
        select * from values
            ('t', 'shop', null, 'orders', timestamp_seconds(1767229200), 4, 2, 1, 0, 1, 0, 0),
            ('t', 'shop', null, 'orders', timestamp_seconds(1767232800), 1, 0, 0, 0, 0, 1, 0)
        as ledger(
            topic, database_name, schema_name, table_name, loaded_at, read, applied, superseded, duplicate, control, unrouted, rejected
        )
    """,
    "ledger_of_two_runs_at_once": """
        select * from {{ ref('ledger_good') }}
        union all select * from {{ ref('ledger_good') }} where read = 4
    """,
    "ledger_bad": """
        select * except (unrouted, rejected), 0 as unrouted, rejected
        from {{ ref('ledger_good') }}
        union all select 't', 'shop', null, 'orders', timestamp_seconds(0), 1, 1, 0, 0, 0, 0, 0
    """,
    "current_with_unknown_values": """
        select * from values (1, array('note', 'name')), (2, null) as rows(id, _cdc_missing_columns)
    """,
}
MACROS = """
{%- macro error(code, detail=none) -%}
    named_struct('code', '{{ code }}', 'detail', cast({{ detail_literal(detail) }} as string))
{%- endmacro -%}
{%- macro detail_literal(detail) -%}{{ "null" if detail is none else "'" ~ detail ~ "'" }}{%- endmacro -%}
{%- macro no_error() -%}cast(null as struct<code: string, detail: string>){%- endmacro -%}
{%- macro no_position() -%}
    cast(null as string) as key, 'debezium' as format, 'rows' as kind, 'shop' as database_name, cast(null as string) as schema_name,
    'orders' as table_name, cast(array() as array<decimal(20,0)>) as sequence, cast(null as timestamp) as committed_at
{%- endmacro -%}
"""
KEY = {"key": ["id"]}


def undeclared(
    table: str, name: str, vendor_type: str | None, declare: str | None, rows: int, seconds: tuple[int, int], models: str,
    note: str | None = None, is_plain: bool = True,
) -> str:  # fmt: skip
    """One row of no_undeclared_columns."""
    in_quotes = name.replace("'", "\\'")
    line = None if declare is None else f"'{in_quotes}': '{declare}'"
    first, last = (f"2026-01-01 00:00:{second:02}" for second in seconds)
    what = (line or name) if is_plain else "its name is in the row"
    reason = f"no changes model declares a column of shop.{table}: {what}" + (f" ({note})" if note else "")
    return f"shop None {table} {name} {vendor_type} {line} {note} {rows} {first} {last} {models} {reason}"


UNDECLARED_OF_CANAL = (
    undeclared("orders_1", "Name", "text", None, 2, (0, 1), "types_orders",
               note="declared in other letters, as name: correct that name"),
    undeclared("orders_1", "_CDC_x", "int", None, 1, (1, 1), "types_orders", note="a column of this name cannot be declared"),
    undeclared("orders_1", "amount", "decimal(20,4)", "decimal(20,4)", 2, (0, 1), "types_orders"),
    undeclared("orders_1", "it's", "varchar(9)", "string", 1, (1, 1), "types_orders", is_plain=False),
    undeclared("orders_2", "amount", "int", "int", 1, (2, 2), "types_orders"),
    undeclared("orders_2", "spot", "cube", "string", 1, (2, 2), "types_orders",
               note="string, because the type codes of this package do not have this type"),
    undeclared("customers", "note", None, "string", 1, (3, 3), "types_customers, types_customers_mail",
               note="string, because the messages name no type"),
)  # fmt: skip
UNDECLARED_OF_DEBEZIUM = (
    undeclared("orders", "price", "org.apache.kafka.connect.data.Decimal(2)", "decimal(38,2)", 1, (0, 0), "types_debezium_orders"),
    undeclared("orders", "placed_at", "io.debezium.time.MicroTimestamp", "timestamp_ntz", 1, (0, 0), "types_debezium_orders"),
    undeclared("orders", "spot", "int99", "string", 1, (0, 0), "types_debezium_orders",
               note="string, because the type codes of this package do not have this type"),
)  # fmt: skip
UNDECLARED_OF_MONGODB = (
    undeclared("people", "address", None, "string", 1, (0, 0), "types_people",
               note="string, because the messages name no type"),
    undeclared("people", "age", "number", "string", 1, (0, 0), "types_people",
               note="string, because the type codes of this package do not have this type"),
)  # fmt: skip
CASES = [
    Case("every known operation passes", "valid_op", "changes_good"),
    Case(
        "another operation and none are found",
        "valid_op",
        "changes_with_ops",
        found=("t 0 1 the operation is upsert", "t 0 2 the operation is null"),
    ),
    Case(
        "it can stand below the column",
        "valid_op",
        "changes_with_ops",
        column="_cdc_op",
        config={"where": "_cdc_offset = 1"},
        found=("t 0 1 the operation is upsert",),
    ),
    Case("whole keys pass", "key_not_null", "changes_good", KEY),
    Case(
        "a null in any part of a key is found but not in errors and truncates",
        "key_not_null",
        "changes_without_keys",
        {"key": ["id", "kind"]},
        found=("1 None kind is null t 0 1", "None None id is null and kind is null t 0 2"),
    ),
    Case("different keys pass", "one_row_per_key", "current_good", KEY),
    Case(
        "what dbt computes with the columns of the rows is computed of no rows too",
        "one_row_per_key",
        "current_good",
        KEY,
        config={"fail_calc": "count(distinct id)"},
    ),
    Case(
        "repeated keys are found and null is a value",
        "one_row_per_key",
        "rows_with_repeated_keys",
        {"key": ["id", "kind"]},
        found=("1 a the key has 2 rows", "None a the key has 2 rows"),
    ),
    Case(
        "a where takes rows out",
        "one_row_per_key",
        "rows_with_repeated_keys",
        {"key": ["id", "kind"]},
        {"where": "id = 1"},
        found=("1 a the key has 2 rows",),
    ),
    Case("touching versions and one of no length pass", "no_overlapping_history", "history_good", KEY),
    Case(
        "overlapping reversed and timeless versions are found",
        "no_overlapping_history",
        "history_with_overlaps",
        KEY,
        found=(
            "1 2026-01-02 00:00:00 2026-01-04 00:00:00 begins before an earlier version ends",
            "2 2026-01-05 00:00:00 2026-01-06 00:00:00 begins before an earlier version ends",
            "3 2026-01-02 00:00:00 2026-01-01 00:00:00 ends before it begins",
            "4 None None valid_from is null",
            "5 2026-01-02 00:00:00 2026-01-03 00:00:00 begins before an earlier version ends",
            "5 2026-01-08 00:00:00 2026-01-10 00:00:00 begins before an earlier version ends",
        ),
    ),
    Case("one open version a key passes", "one_open_version_per_key", "history_good", KEY),
    Case(
        "none and several open versions are found",
        "one_open_version_per_key",
        "history_with_open_versions",
        KEY,
        found=("1 the key has 0 open versions", "3 the key has 2 open versions"),
    ),
    Case(
        "equal rows pass with nulls not a number variants and deleted rows",
        "current_equals_open_history",
        "current_good",
        KEY | {"history": "ref('history_good')"},
    ),
    Case(
        "every difference is named and rows of one side are found",
        "current_equals_open_history",
        "current_good",
        KEY | {"history": "ref('history_other')"},
        found=(
            "1 name differs and extra differs",
            "2 only one of them is deleted and their last changes differ",
            "3 no row in the current model",
        ),
    ),
    Case(
        "a key without an open version is found",
        "current_equals_open_history",
        "current_good",
        KEY | {"history": "ref('history_closed')"},
        found=("1 no open version in the history", "2 no open version in the history"),
    ),
    Case(
        "the same messages pass though raw has one twice",
        "every_message_accounted_for",
        "messages_good",
        {"raw": "ref('raw_good')"},
    ),
    Case(
        "raw columns may have other names",
        "every_message_accounted_for",
        "messages_good",
        {
            "raw": "ref('raw_other_names')",
            "raw_columns": {"topic": "name", "partition": "part", "offset": "cast(position as bigint)"},
        },
    ),
    Case(
        "missing added and repeated messages are found",
        "every_message_accounted_for",
        "messages_bad",
        {"raw": "ref('raw_good')"},
        found=(
            "t 0 2 one run read it 2 times, the raw table has it 1",
            "t 1 2 the messages model lacks it",
            "t 1 8 the raw table lacks it",
            "t 1 9 the raw table lacks it",
        ),
    ),
    Case(
        "messages that two runs at the same time have both appended pass",
        "every_message_accounted_for",
        "messages_of_two_runs_at_once",
        {"raw": "ref('raw_good')", "changes": ["ref('changes_of_orders')", "ref('changes_of_items')"]},
    ),
    Case(
        "messages that were deleted from raw since, and those of a recreated topic that were read once more, pass",
        "every_message_accounted_for",
        "messages_that_raw_no_longer_has",
        {"raw": "ref('raw_good')"},
    ),
    Case(
        "messages that came after the run are found",
        "every_message_accounted_for",
        "messages_good",
        {"raw": "ref('raw_grown')"},
        found=("t 0 4 the messages model lacks it", "t 2 1 the messages model lacks it"),
    ),
    Case(
        "messages that came after the run are left to the next where raw is growing",
        "every_message_accounted_for",
        "messages_good",
        {"raw": "ref('raw_grown')", "raw_is_growing": True},
    ),
    Case(
        "row messages are in their changes models and parts in the update they became",
        "every_message_accounted_for",
        "messages_good",
        {"raw": "ref('raw_good')", "changes": ["ref('changes_of_orders')", "ref('changes_of_items')"]},
    ),
    Case(
        "a row message of a table that is read is found where its changes lack it",
        "every_message_accounted_for",
        "messages_bad",
        {"raw": "ref('raw_good')", "changes": ["ref('changes_of_orders')", "ref('changes_of_items')"]},
        found=(
            "t 0 2 one run read it 2 times, the raw table has it 1",
            "t 1 2 the messages model lacks it",
            "t 1 8 changes_of_items lacks it",
            "t 1 9 changes_of_orders lacks it",
            "t 1 8 the raw table lacks it",
            "t 1 9 the raw table lacks it",
        ),
    ),
    Case("changes without errors pass", "no_errors", "changes_good"),
    Case("a part whose update came whole later is no error", "no_errors", "changes_with_halves"),
    Case(
        "an update of another topic is not that of a part",
        "no_errors",
        "changes_of_two_topics",
        found=("t 0 1 unpaired_update: before",),
    ),
    Case(
        "changes with errors are found with code and detail",
        "no_errors",
        "changes_with_errors",
        found=("t 0 3 invalid_value: id: int", "t 0 4 unpaired_update: after"),
    ),
    Case(
        "messages with errors are found",
        "no_errors",
        "messages_with_an_error",
        found=("t 0 7 broken_json",),
    ),
    Case(
        "a message that landed again whole is no error and what only looks so is",
        "no_errors",
        "messages_that_landed_again_whole",
        found=("t 0 2 not_json", "t 0 3 offset_reused"),
    ),
    Case(
        "a change that landed again whole is no error and what only looks so is",
        "no_errors",
        "changes_of_a_message_that_landed_again_whole",
        found=("t 0 2 broken_json", "t 0 3 offset_reused"),
    ),
    Case(
        "as many open dead letters as are allowed pass and the others do not count",
        "no_open_dead_letters",
        "letters",
        {"max_open": 1, "max_open_by_code": {"invalid_value": 2}},
    ),
    Case(
        "open dead letters are found",
        "no_open_dead_letters",
        "letters",
        found=(
            "t 0 1 orders_changes None broken_json: broken off at byte 5",
            "t 0 4 orders_changes orders invalid_value: n: int",
            "t 0 5 orders_changes items invalid_value: n: int",
        ),
    ),
    Case(
        "one more of a code than is allowed is found with all of the code",
        "no_open_dead_letters",
        "letters",
        {"max_open": 3, "max_open_by_code": {"invalid_value": 1}},
        found=(
            "t 0 4 orders_changes orders invalid_value: n: int",
            "t 0 5 orders_changes items invalid_value: n: int",
        ),
    ),
    Case(
        "those of one table count alone",
        "no_open_dead_letters",
        "letters",
        {"max_open": 1},
        config={"where": "table_name = 'items'"},
    ),
    Case("a table that the messages name passes", "matches_messages", "shop_orders"),
    Case("a table that the messages of raw name passes", "matches_messages", "shop_orders_of_raw"),
    Case(
        "a misspelt table is found beside the tables that the messages name",
        "matches_messages",
        "shop_orders_misspelt",
        found=(
            "shop shop None items 1 messages of shop.items, none of shop.Orders",
            "shop shop None orders 2 messages of shop.orders, none of shop.Orders",
            "shop shop None tmp_1 1 messages of shop.tmp_1, none of shop.Orders",
        ),
    ),
    Case(
        "a misspelt database is found where the model reads raw",
        "matches_messages",
        "shop_orders_of_raw_misspelt",
        found=(
            "shop shop None items 1 messages of shop.items, none of shopp.orders",
            "shop shop None orders 2 messages of shop.orders, none of shopp.orders",
            "shop shop None tmp_1 1 messages of shop.tmp_1, none of shopp.orders",
        ),
    ),
    Case(
        "tables that are read or ignored pass",
        "no_unread_tables",
        "shop_messages",
        {"changes": ["ref('shop_orders')"], "ignored_tables": ["shop.items", "shop.tmp_*"]},
    ),
    Case(
        "tables that no model reads are found",
        "no_unread_tables",
        "shop_messages",
        {
            "changes": ["ref('shop_orders_misspelt')", "ref('shop_orders_of_raw')"],
            "ignored_tables": ["shop.tmp_*"],
        },
        found=("shop shop None items 1 no changes model reads shop.items",),
    ),
    Case(
        "columns that no model of the table declares are found with the newest type that a message names",
        "no_undeclared_columns",
        "types_canal",
        {"ignored": {"shop.customers": ["line*"]}},
        found=UNDECLARED_OF_CANAL,
    ),
    Case(
        "columns that are declared or ignored pass",
        "no_undeclared_columns",
        "types_canal",
        {"ignored": {"shop.orders_*": ["*"], "*": ["note", "line*"]}},
    ),
    Case(
        "types of a schema are found",
        "no_undeclared_columns",
        "types_debezium",
        found=UNDECLARED_OF_DEBEZIUM,
    ),
    Case(
        "types of another dialect are found where the topic names the table",
        "no_undeclared_columns",
        "types_flat",
        {"ignored": {"types": ["spot"]}},
        found=(
            "None None types price org.apache.kafka.connect.data.Decimal(2) 'price': 'decimal(38,2)' None 1 2026-01-01 00:00:00 "
            "2026-01-01 00:00:00 types_flat_orders no changes model declares a column of types: "
            "'price': 'decimal(38,2)'",
        ),
    ),
    Case(
        "of a part of a nested value the column is found",
        "no_undeclared_columns",
        "types_mongodb",
        found=UNDECLARED_OF_MONGODB,
    ),
    Case("as many errors as allowed pass", "no_errors", "changes_with_errors", {"max_count": 2}),
    Case(
        "more errors than allowed are found",
        "no_errors",
        "changes_with_errors",
        {"max_count": 1, "max_share": 0.49},
        found=("t 0 3 invalid_value: id: int", "t 0 4 unpaired_update: after"),
    ),
    Case("the share that is allowed passes", "no_errors", "messages_with_an_error", {"max_share": 0.1}),
    Case(
        "more than the share that is allowed is found",
        "no_errors",
        "messages_with_an_error",
        {"max_share": 0.09},
        found=("t 0 7 broken_json",),
    ),
    Case(
        "a where goes with the column",
        "no_errors",
        "messages_with_an_error",
        column="error",
        config={"where": "offset < 7"},
    ),
    Case("keys in one partition each pass", "one_partition_per_key", "changes_good", KEY),
    Case(
        "keys in two partitions are found with the key before an update",
        "one_partition_per_key",
        "changes_in_partitions",
        KEY,
        found=("1 the key has changes in 2 partitions", "2 the key has changes in 2 partitions"),
    ),
    Case(
        "a truncate in another partition is found",
        "one_partition_per_key",
        "changes_with_a_truncate",
        KEY,
        found=("2 a truncate stands in another partition",),
    ),
    Case(
        "columns that some messages lack pass",
        "declared_columns_present",
        "changes_good",
        {"columns": ["id", "name", "more"]},
    ),
    Case(
        "a column that no message carried is found",
        "declared_columns_present",
        "changes_with_a_typo",
        found=("nmae no message carried this column",),
    ),
    Case(
        "a column of the key that no message carried is found",
        "declared_columns_present",
        "changes_with_a_typo_in_the_key",
        found=("di no message carried this column",),
    ),
    Case("a model without rows says nothing", "declared_columns_present", "changes_none"),
    Case("gaps of Kafka's own pass", "topics_intact", "messages_of_runs"),
    Case(
        "an offset gap an added partition and a recreated topic are found",
        "topics_intact",
        "messages_of_a_bad_night",
        found=(
            "t 0 offset_gap 10 Offsets 8 to 9 of partition 0 of topic t were never read: they were deleted between two "
            "runs. Land them from a copy of the topic, which the next dbt run reads; or let the source send the rows "
            "of its tables again. offset_gap t 0 10",
            "t 1 recreated 0 Topic t was deleted and recreated: from 2026-02-01 00:00:00 on, messages of partition 1 "
            "have offsets that others had before, or came with such. Give them offsets after those in raw_columns of the models "
            "that read it, {'offset': \"offset + case when topic = 't' and timestamp >= '2026-02-01 00:00:00' then "
            '1000000000 else 0 end"}, and the next dbt run reads them. recreated t 1 0',
            "t 2 partition_added 0 Partition 2 of topic t was first read at 2026-01-02 00:00:00, later than the topic: "
            "it was added, and is read. Where the format is ordered by offset, test its changes models with "
            "spark_cdc.one_partition_per_key. partition_added t 2 0",
            "t 3 partition_added 40 Partition 3 of topic t was first read at 2026-01-02 00:00:00, later than the topic: "
            "it was added, and is read. Its first message has offset 40: if the partition was new, those before it "
            "were never read. Where the format is ordered by offset, test its changes models with "
            "spark_cdc.one_partition_per_key. partition_added t 3 40",
        ),
    ),
    Case(
        "anomalies that are settled pass",
        "topics_intact",
        "messages_of_a_bad_night",
        {
            "acknowledged": [
                "offset_gap t 0 10",
                "recreated t 1 0",
                "partition_added t 2 0",
                "partition_added t 3 40",
            ]
        },
    ),
    Case(
        "a recreated topic whose messages have lower offsets than all old ones is found, and old ones that land late are not",
        "topics_intact",
        "messages_of_a_recreated_topic",
        {"acknowledged": ["offset_gap t 1 5"]},
        found=(
            "t 1 recreated 0 Topic t was deleted and recreated: from 2026-01-01 00:00:51 on, messages of partition 1 "
            "have lower offsets than older ones, or offsets that others had before. Give them offsets after those in raw_columns "
            "of the models that read it, {'offset': \"offset + case when topic = 't' and timestamp >= '2026-01-01 00:00:51' "
            'then 1000000000 else 0 end"}, and rebuild these models, dbt run --full-refresh: some were read as part of the old '
            "topic. recreated t 1 0",
        ),
    ),
    Case(
        "a topic recreated once more is found although the first anomaly is settled, and the new offsets are no offset gap",
        "topics_intact",
        "messages_of_a_recreated_topic_twice",
        {"acknowledged": ["recreated t 0 0"]},
        found=(
            "t 0 recreated 1000000000 Topic t was deleted and recreated: from 2026-03-02 00:00:00 on, messages of partition "
            "0 have offsets that others had before, or came with such. Give them offsets after those in raw_columns of the models that "
            "read it, {'offset': \"offset + case when topic = 't' and timestamp >= '2026-03-02 00:00:00' then 2000000000 "
            'else 0 end"}, in one `case` with what is there, the latest time first, and the next dbt run reads them. '
            "recreated t 0 1000000000",
        ),
    ),
    Case(
        "a recreated topic has to be rebuilt where its later messages were read as the old one's",
        "topics_intact",
        "messages_of_a_recreated_topic_that_went_on",
        found=(
            "t 0 recreated 0 Topic t was deleted and recreated: from 2026-01-31 00:00:00 on, messages of partition 0 "
            "have offsets that others had before, or came with such. Give them offsets after those in raw_columns of the models that "
            "read it, {'offset': \"offset + case when topic = 't' and timestamp >= '2026-01-31 00:00:00' then "
            '1000000000 else 0 end"}, and rebuild these models, dbt run --full-refresh: some were read as part of the old '
            "topic. recreated t 0 0",
            "t 1 recreated 0 Topic t was deleted and recreated: from 2026-01-31 00:00:00 on, messages of partition 1 "
            "have offsets that others had before, or came with such. Give them offsets after those in raw_columns of the models that "
            "read it, {'offset': \"offset + case when topic = 't' and timestamp >= '2026-01-31 00:00:00' then "
            '1000000000 else 0 end"}, and rebuild these models, dbt run --full-refresh: some were read as part of the old '
            "topic. recreated t 1 0",
        ),
    ),
    Case(
        "positions that went back after a failover are found and a restart of the connector passes",
        "topics_intact",
        "messages_of_two_servers",
        found=tuple(
            f"t {partition} position_back {offset} Partition {partition} of topic t has a change at offset {offset} with a lower "
            "position than an earlier change of the same key or table: the connector reads the log of another server, or a log that "
            "was reset or restored. The change loses against the earlier one. Let the source send the rows of its tables to a new "
            "topic, and read that one; or, of a connector of Debezium, set dialect='by_offset' in the models that read the "
            "topic, and rebuild them and the tables over them: dbt run --full-refresh. "
            f"position_back t {partition} {offset}"
            for partition, offset in [(0, 7), (2, 1), (3, 1), (4, 2)]
        ),
    ),
    Case(
        "messages that are ordered by the offset have no positions that go back",
        "topics_intact",
        "messages_of_two_servers_by_offset",
    ),
    Case(
        "outcomes that add up pass",
        "counts_reconcile",
        "ledger_good",
        {"messages": ["ref('messages_of_runs')"]},
    ),
    Case(
        "a run that two runs at the same time have both entered counts once",
        "counts_reconcile",
        "ledger_of_two_runs_at_once",
        {"messages": ["ref('messages_of_runs')"]},
    ),
    Case(
        "messages without an outcome and runs that read nothing are found",
        "counts_reconcile",
        "ledger_bad",
        {"messages": ["ref('messages_of_runs')"]},
        found=(
            "t 1970-01-01 00:00:00 None 1 1 the models hold 0 messages, and 1 are counted",
            "t 2026-01-01 02:00:00 1 1 0 0 of 1 have an outcome",
        ),
    ),
    Case("rows whose values are all known pass", "no_missing_values", "current_good", KEY),
    Case(
        "rows with values that were never sent are found",
        "no_missing_values",
        "current_with_unknown_values",
        KEY,
        found=("1 never sent: note, name",),
    ),
]

# name -> (test, model, arguments, sentence): tests put on models that do not have the columns that they read.
PUT_ON = "Put the test on such a model, or correct the names in its arguments."
RAW_HAS = "got `generic_tests.raw_good`, which has topic, partition, offset. " + PUT_ON
MISPLACED: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "key_misspelt": (
        "one_row_per_key", "raw_good", {"key": ["topik"]},
        f"spark_cdc.one_row_per_key: argument `model` must be a model with topik; {RAW_HAS}",
    ),
    "history_test_on_raw": (
        "one_open_version_per_key", "raw_good", {"key": ["topic"]},
        f"spark_cdc.one_open_version_per_key: argument `model` must be a history with topic, valid_to; {RAW_HAS}",
    ),
    "raw_as_history": (
        "current_equals_open_history", "current_good", {"key": ["id"], "history": "ref('raw_good')"},
        "spark_cdc.current_equals_open_history: argument `history` must be a history with valid_to, _cdc_is_deleted, "
        f"_cdc_last_sequence; {RAW_HAS}",
    ),
    "changes_test_on_raw": (
        "declared_columns_present", "raw_good", {},
        "spark_cdc.declared_columns_present: argument `model` must be a model made by spark_cdc.changes, with _cdc_op, _cdc_missing_columns, "
        f"_cdc_error; {RAW_HAS}",
    ),
    "accounts_test_on_raw": (
        "counts_reconcile", "raw_good", {"messages": ["ref('messages_good')"]},
        "spark_cdc.counts_reconcile: argument `model` must be a model made by spark_cdc.reconciliation or spark_cdc.run_ledger, with topic, read, ",
    ),
    "no_errors_on_raw": (
        "no_errors", "raw_good", {},
        "spark_cdc.no_errors: argument `model` must be a model made by spark_cdc.messages, with topic, partition, offset, "
        "timestamp, error; "
        f"{RAW_HAS}",
    ),
    "matches_messages_on_a_view": (
        "matches_messages", "changes_good", {},
        "spark_cdc.matches_messages: argument `model` must be a model made by spark_cdc.changes; got `generic_tests.changes_good`. "
        "Put the test on the changes model itself.",
    ),
    "no_undeclared_columns_on_raw": (
        "no_undeclared_columns", "raw_good", {},
        "spark_cdc.no_undeclared_columns: argument `model` must be a model made by spark_cdc.messages, with format, kind, database_name, "
        f"schema_name, table_name, column_types, rows; {RAW_HAS}",
    ),
    "raw_columns_of_no_column": (
        "every_message_accounted_for", "messages_good", {"raw": "ref('raw_good')", "raw_columns": {"offset": "position"}},
        "spark_cdc.every_message_accounted_for: argument `raw_columns` must be a mapping to columns of `generic_tests.raw_good`, which "
        "has topic, partition, offset; got `position` for `offset`. Correct the name.",
    ),
    "raw_without_offsets": (
        "every_message_accounted_for", "messages_good", {"raw": "ref('rows_with_repeated_keys')"},
        "spark_cdc.every_message_accounted_for: argument `raw` must be a table with the columns topic, partition, offset; got "
        "`generic_tests.rows_with_repeated_keys`, which has id, kind. Name those of another name: raw_columns: {offset: position}.",
    ),
    "raw_as_changes": (
        "every_message_accounted_for", "messages_good", {"raw": "ref('raw_good')", "changes": ["ref('raw_good')"]},
        "spark_cdc.every_message_accounted_for: argument `changes` must be a list of models made by spark_cdc.changes, with "
        f"_cdc_topic, _cdc_offsets; {RAW_HAS}",
    ),
}  # fmt: skip

# In the process of dbt: the session that dbt started answers each test's own query once more, as text.
# Not `dbt build`, which leaves out what stands on a model whose test fails.
RUN_DBT_AND_READ = """
import io, json, sys
from contextlib import redirect_stdout
from pathlib import Path
from dbt.cli.main import dbtRunner
answers, lines = {}, []
def keep(event):
    if event.info.name == "JinjaLogInfo":
        lines.append(event.info.msg)
for command in ("run", "test"):
    done = dbtRunner(callbacks=[keep]).invoke(["--no-use-colors", command, "--select", "package:this"])
    if done.result is None:
        sys.exit(str(done.exception))
    from pyspark.sql import SparkSession
    session = SparkSession.builder.getOrCreate()
    for result in done.result.results:
        found = session.sql(result.node.compiled_code).collect() if result.failures else []
        rows = sorted(" ".join(str(value) for value in row) for row in found)
        answer = {"status": str(result.status), "message": result.message, "rows": rows}
        answers[result.node.name] = answer
answers["log"] = lines
with redirect_stdout(io.StringIO()) as printed:
    done = dbtRunner().invoke(["--quiet", "--no-use-colors", "run-operation", "spark_cdc.undeclared_columns"])
answers["printed"] = printed.getvalue() + str(done.exception or "")
Path("answers.json").write_text(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of every node of the project: status, message, and for a failed test its rows."""
    project = tmp_path_factory.mktemp("project")
    write_project(project)
    jars = [str(jar) for jar in sorted((REPOSITORY / ".jars").glob("*.jar"))]
    assert jars, "no jars in .jars: type `make setup`"
    (project / "lake").mkdir()
    own = {
        "DBT_PROFILES_DIR": str(project),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "SPARK_CDC_JARS": ",".join(jars),
        "SPARK_CDC_LAKE": str(project / "lake"),
        "SPARK_CDC_LOG4J2": str(REPOSITORY / "profiles" / "log4j2.properties"),
        "SPARK_CDC_SCHEMA": "generic_tests",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN_DBT_AND_READ],
        cwd=project,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (project / "answers.json").is_file(), done.stdout + done.stderr
    return json.loads((project / "answers.json").read_text(encoding="utf-8"))


def write_project(project: Path) -> None:
    """Write a project that has this package installed as `dbt deps` installs a local one."""
    installed = project / "dbt_packages" / "spark_cdc"
    installed.mkdir(parents=True)
    shutil.copy(REPOSITORY / "dbt_project.yml", installed)
    shutil.copytree(REPOSITORY / "macros", installed / "macros")

    profile = yaml.safe_load((REPOSITORY / "profiles" / "profiles.yml").read_text(encoding="utf-8"))[
        "spark_cdc_example"
    ]
    # A handful of rows a view: one task is enough, and compiling a query costs more than running it.
    profile["outputs"]["local"]["server_side_parameters"] |= {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.shuffle.partitions": "1",
    }
    project_file = {
        "name": "generic_tests",
        "version": "1.0.0",
        "profile": "generic_tests",
        "models": {"+materialized": "view"},
        "flags": {"validate_macro_args": True, "require_generic_test_arguments_property": True},
    }
    models: dict[str, Any] = {name: {"name": name, "data_tests": [], "columns": []} for name in MODELS}
    for case in CASES:
        name = f"spark_cdc.{case.test}"
        test: dict[str, Any] = {name: {"name": case.name, "config": case.config}}
        if case.arguments:
            test[name]["arguments"] = case.arguments
        if case.column is None:
            models[case.model]["data_tests"].append(test)
        else:
            models[case.model]["columns"].append({"name": case.column, "data_tests": [test]})
    for name, (test, model, arguments, _) in MISPLACED.items():
        models[model]["data_tests"].append({f"spark_cdc.{test}": {"name": name, "arguments": arguments}})
    for folder in ("macros", "models"):
        (project / folder).mkdir()
    (project / "macros" / "errors.sql").write_text(MACROS, encoding="utf-8")
    for name, sql in MODELS.items():
        (project / "models" / f"{name}.sql").write_text(sql, encoding="utf-8")
        if "spark_cdc.messages(" in sql:
            # As a project has it: each test would read all messages again.
            models[name]["config"] = {"materialized": "table"}
    for path, content in {
        "dbt_project.yml": project_file,
        "profiles.yml": {"generic_tests": profile},
        "models/models.yml": {"models": list(models.values())},
    }.items():
        (project / path).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


@pytest.mark.dbt
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.test}: {case.says}")
def test_exactly_the_bad_rows_are_found(answers: dict[str, Any], case: Case) -> None:
    answer = answers[case.name]
    assert answer["rows"] == sorted(case.found), answer["message"]
    says = "warn" if case.test == "no_undeclared_columns" else "fail"
    assert answer["status"] == (says if case.found else "pass"), answer["message"]


@pytest.mark.dbt
def test_what_is_found_is_told_where_dbt_runs(answers: dict[str, Any]) -> None:
    """By reason, with how many rows and where the first is; of rows that hold values of the source nothing else."""
    log = "\n".join(answers["log"])
    assert (
        "spark_cdc.no_errors on changes_with_errors found:\n"
        '    1 x invalid_value: id: int, first at {"_cdc_topic":"t","_cdc_partition":0,"_cdc_offset":3}\n'
        '    1 x unpaired_update: after, first at {"_cdc_topic":"t","_cdc_partition":0,"_cdc_offset":4}'
        in log
    )
    assert "spark_cdc.one_row_per_key on rows_with_repeated_keys found:\n    2 x the key has 2 rows\n" in log
    assert "spark_cdc.no_errors on changes_good found" not in log


NO_CODE = "; string, because the type codes of this package do not have this type"
DIFFER = "; string, because the types of the tables differ"
FIRST, SECOND, THIRD = (f"first at 2026-01-01 00:00:0{n}, last at 2026-01-01 00:00:0{n}" for n in range(3))
BOTH = "first at 2026-01-01 00:00:00, last at 2026-01-01 00:00:01"
PRINTED = {
    "shop_orders": ["does not declare 0 columns of its messages."],
    "shop_orders_of_raw": [
        "reads raw messages: make a messages model of them, and let it read that one, `messages=ref(...)`. The columns of messages are "
        "known from messages models."
    ],
    "types_orders": [
        "does not declare 5 columns of its messages:",
        "    'amount': 'string',",
        "    'it\\'s': 'string',",
        "    'spot': 'string',",
        f"  Name of shop.orders_1: text in 2 rows, {BOTH}; declared in other letters, as name: correct that name",
        f"  _CDC_x of shop.orders_1: int in 1 row, {SECOND}; a column of this name cannot be declared",
        f"  amount of shop.orders_1: decimal(20,4) in 2 rows, {BOTH}{DIFFER}",
        f"  amount of shop.orders_2: int in 1 row, {THIRD}{DIFFER}",
        f"  it's of shop.orders_1: varchar(9) in 1 row, {SECOND}",
        f"  spot of shop.orders_2: cube in 1 row, {THIRD}{NO_CODE}",
    ],
    "types_customers": [
        "does not declare 2 columns of its messages:",
        "    'note': 'string',",
        "  line\\nend of shop.customers in 1 row, first at 2026-01-01 00:00:03, last at 2026-01-01 00:00:03; a column of this name cannot "
        "be declared",
        "  note of shop.customers in 1 row, first at 2026-01-01 00:00:03, last at 2026-01-01 00:00:03; string, because the messages name "
        "no type",
    ],
    "types_debezium_orders": [
        "does not declare 3 columns of its messages:",
        "    'placed_at': 'timestamp_ntz',",
        "    'price': 'decimal(38,2)',",
        "    'spot': 'string',",
        f"  placed_at of shop.orders: io.debezium.time.MicroTimestamp in 1 row, {FIRST}",
        f"  price of shop.orders: org.apache.kafka.connect.data.Decimal(2) in 1 row, {FIRST}",
        f"  spot of shop.orders: int99 in 1 row, {FIRST}{NO_CODE}",
    ],
}  # fmt: skip


@pytest.mark.dbt
@pytest.mark.parametrize("name", PRINTED)
def test_the_operation_prints_lines_to_paste_for_each_changes_model(
    answers: dict[str, Any], name: str
) -> None:
    expected = "\n".join(PRINTED[name])
    parts = answers["printed"].split("spark_cdc.undeclared_columns: ")
    assert [part.rstrip("\n") for part in parts if part.startswith(f"{name} ")] == [f"{name} {expected}"]


@pytest.mark.dbt
def test_the_printed_lines_are_columns_that_a_model_may_declare(
    answers: dict[str, Any], library: MacroLibrary
) -> None:
    lines = re.findall(r"(?m)^    ('.*),$", answers["printed"])
    assert len(lines) >= len({line for lines in PRINTED.values() for line in lines if line[0:4] == "    "})
    for line in lines:
        columns = jinja2.Environment().compile_expression("{" + line + "}")()
        assert len(library.call("_columns", columns, "changes")) == 1


@pytest.mark.dbt
@pytest.mark.parametrize("name", MISPLACED)
def test_a_test_on_another_model_is_refused_with_a_sentence(answers: dict[str, Any], name: str) -> None:
    assert answers[name]["status"] == "error"
    assert MISPLACED[name][3] in answers[name]["message"]


def test_every_shipped_test_has_a_case_that_passes_and_one_that_fails() -> None:
    shipped = {file.stem for file in GENERIC_TESTS.glob("[!_]*.sql")}
    assert {case.test for case in CASES if not case.found} == shipped
    assert {case.test for case in CASES if case.found} == shipped


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MacroLibrary]:
    """The package's macros, its tests among them as plain macros: no dbt run is needed to render them."""
    project = tmp_path_factory.mktemp("macros")
    shutil.copytree(REPOSITORY / "macros", project / "macros", ignore=shutil.ignore_patterns("generic_tests"))
    for file in GENERIC_TESTS.glob("*.sql"):
        text = re.sub(r"{%- test (\w+)\(", r"{%- macro test_\1(", file.read_text(encoding="utf-8"))
        text = text.replace("{%- endtest -%}", "{%- endmacro -%}")
        (project / "macros" / "_internal" / f"test_{file.name}").write_text(text, encoding="utf-8")
    yield MacroLibrary(project)


RAW = {"identifier": "raw"}
KEY_NEXT = "Name the columns that identify a row, such as key: [id]."
KEY_SAYS = f"argument `key` must be a list of column names, such as ['id']; got nothing. {KEY_NEXT}"


@pytest.mark.parametrize(
    ("test", "arguments", "sentence"),
    [
        *(
            (test, {}, KEY_SAYS)
            for test in (
                "key_not_null",
                "one_row_per_key",
                "no_overlapping_history",
                "one_open_version_per_key",
                "one_partition_per_key",
                "no_missing_values",
            )
        ),
        ("one_row_per_key", {"key": "id"}, KEY_SAYS.replace("nothing", "`id`")),
        (
            "one_row_per_key",
            {"key": ["id", "id"]},
            f"argument `key` must be a list that names each column once; got `['id', 'id']`. {KEY_NEXT}",
        ),
        ("current_equals_open_history", {"history": RAW}, KEY_SAYS),
        (
            "current_equals_open_history",
            {"history": "orders", "key": ["id"]},
            "argument `history` must be a model or a source; got `orders`. "
            "Write history: ref('...') or history: source('...', '...').",
        ),
        (
            "every_message_accounted_for",
            {},
            "argument `raw` must be a model or a source; got nothing. "
            "Write raw: ref('...') or raw: source('...', '...').",
        ),
        (
            "every_message_accounted_for",
            {"raw": RAW, "raw_columns": "offset"},
            "argument `raw_columns` must be a mapping of Kafka's names to the raw table's; got `offset`. Write "
            "raw_columns={'value': 'payload'}, or leave it out where the raw table has Kafka's own names.",
        ),
        (
            "every_message_accounted_for",
            {"raw": RAW, "changes": RAW},
            "argument `changes` must be a list of models; got `{'identifier': 'raw'}`. "
            "Write changes: [ref('...')].",
        ),
        (
            "every_message_accounted_for",
            {"raw": RAW, "changes": ["orders"]},
            "argument `changes` must be a model or a source; got `orders`. "
            "Write changes: ref('...') or changes: source('...', '...').",
        ),
        (
            "every_message_accounted_for",
            {"raw": RAW, "raw_is_growing": "yes"},
            "argument `raw_is_growing` must be one of True, False; got `yes`. "
            "Correct the spelling, or leave the argument out where it has a default.",
        ),
        (
            "no_errors",
            {"column_name": "id"},
            "argument `column_name` must be one of _cdc_error, error; got `id`. "
            "Correct the spelling, or leave the argument out where it has a default.",
        ),
        (
            "no_errors",
            {"max_count": "1"},
            "argument `max_count` must be a whole number from 0 on; got `1`. Leave the argument out to allow none.",
        ),
        (
            "no_errors",
            {"max_share": 5},
            "argument `max_share` must be a number from 0 to 1; got `5`. "
            "Leave the argument out to allow none.",
        ),
        (
            "no_errors",
            {},
            "argument `model` must be a model or a source without a `where`; got a query. "
            "With a `where`, test the column: put no_errors below _cdc_error or error.",
        ),
        (
            "no_undeclared_columns",
            {"ignored": ["note"]},
            "argument `ignored` must be a mapping of tables to lists of columns, such as {'shop.orders': ['note']}; got `['note']`. "
            "Write each table as the test names it: database, schema and table with dots between.",
        ),
        (
            "no_undeclared_columns",
            {"ignored": {"shop.orders": "note"}},
            "argument `ignored` must be a mapping of tables to lists of columns, such as {'shop.orders': ['note']}; got "
            "`{'shop.orders': 'note'}`. Write each table as the test names it: database, schema and table with dots between.",
        ),
        (
            "declared_columns_present",
            {"columns": "id"},
            "argument `columns` must be a list of column names, such as ['id']; got `id`. "
            "Leave it out to test all columns of the changes model.",
        ),
        (
            "declared_columns_present",
            {},
            "argument `model` must be a model or a source without a `where`; got a query. "
            "With a `where`, name the columns: columns: [...].",
        ),
        (
            "current_equals_open_history",
            {"history": RAW, "key": ["id"]},
            "argument `model` must be a model or a source without a `where`; got a query. "
            "Take the `where` out: the whole of both models is compared.",
        ),
        (
            "counts_reconcile",
            {"messages": RAW},
            "argument `messages` must be a list of relations, such as [ref('orders')]; "
            "got `{'identifier': 'raw'}`. Name each with ref(...), in square brackets.",
        ),
        (
            "topics_intact",
            {"acknowledged": "offset_gap"},
            "argument `acknowledged` must be a list of texts, such as ['offset_gap shop 0 1200']; got `offset_gap`. "
            "Copy the column acknowledge of each anomaly that is settled.",
        ),
        (
            "no_unread_tables",
            {},
            "argument `changes` must be a list of relations, such as [ref('orders')]; got nothing. "
            "Name each with ref(...), in square brackets.",
        ),
        (
            "no_unread_tables",
            {"changes": [RAW], "ignored_tables": "shop.audit"},
            "argument `ignored_tables` must be a list of names, such as ['shop.audit']; got `shop.audit`. "
            "Write each as the test names it: database, schema and table with dots between.",
        ),
        (
            "no_open_dead_letters",
            {"max_open": -1},
            "argument `max_open` must be a whole number from 0 on; got `-1`. Leave the argument out to allow none.",
        ),
        (
            "no_open_dead_letters",
            {"max_open_by_code": 10},
            "argument `max_open_by_code` must be a mapping of error codes to whole numbers; got `10`. Write {unpaired_update: 10}, "
            "or leave it out.",
        ),
        (
            "no_open_dead_letters",
            {"max_open_by_code": {"not_json": "many"}},
            "argument `max_open_by_code` must be a whole number from 0 on; got `many`. Leave the argument out to allow none.",
        ),
        (
            "valid_op",
            {"column_name": ""},
            "argument `column_name` must be a text; got ``. Leave it out to test _cdc_op.",
        ),
    ],
)
def test_a_wrong_argument_is_refused_with_a_sentence(
    library: MacroLibrary, test: str, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CompilerError) as refused:
        library.call(f"test_{test}", "(select 1) dbt_subquery", **arguments)
    assert str(refused.value) == f"spark_cdc.{test}: {sentence}"
