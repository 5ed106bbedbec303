"""`make bench`: parse speed of each format's staging model against a hand-written from_json for the same columns.

Both read the same messages in one process, turn about, after a warm-up; the figure is the JVM's CPU seconds, which a busy
machine disturbs least, and the answer is their ratio. Each pair must give the same rows: a checksum over all columns.

    make bench ARGS="--messages 200000 --formats canal"
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from dbt_spark_cdc.macros import MacroLibrary
from pyspark.sql import DataFrame, SparkSession

PROJECT = Path(__file__).parents[2]
BARS = {"canal": 1.25, "debezium": 1.5, "dataworks": 1.25}
COLUMNS = {
    "id": "bigint",
    "code": "string",
    "amount": "decimal(20,4)",
    "created_at": "timestamp_ntz",
    "note": "string",
    "state": "int",
    "score": "double",
    "kind": "string",
    "email": "string",
    "qty": "int",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--formats", default=",".join(BARS))
    options = arguments.parse_args()
    spark = session()
    macros = MacroLibrary(PROJECT)
    missed = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.formats.split(","):
            path = f"{scratch}/{name}"
            messages(spark, name, options.messages).write.parquet(path)
            spark.read.parquet(path).createOrReplaceTempView("raw")
            ratio = compare(spark, name, ours(macros, name), BY_HAND[name], options.repeats)
            verdict = "within" if ratio <= BARS[name] else "MISSED"
            print(f"{name:10s} ratio {ratio:.2f}, bar {BARS[name]}: {verdict}", flush=True)
            missed += [name] if ratio > BARS[name] else []
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


def session() -> SparkSession:
    settings = {
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "localhost",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={PROJECT / 'profiles/log4j2.properties'}",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.codegen.hugeMethodLimit": "8000",  # as the dbt plugin sets it, for both queries
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def ours(macros: MacroLibrary, name: str) -> str:
    units = {"debezium": "timestamp_ntz from microseconds"}
    columns = {**COLUMNS, "created_at": units.get(name, COLUMNS["created_at"])}
    return macros.call("changes", "raw", format=name, table="orders", key=["id"], columns=columns)


def compare(spark: SparkSession, name: str, ours: str, by_hand: str, repeats: int) -> float:
    checksums = {query: checksum(spark.sql(query)) for query in (ours, by_hand)}
    if len(set(checksums.values())) > 1:
        sys.exit(f"{name}: the two queries give different rows: {list(checksums.values())}")
    seconds: dict[str, list[float]] = {ours: [], by_hand: []}
    for turn in range(repeats + 1):
        for query in (ours, by_hand):
            started = cpu_seconds(spark)
            spark.sql(query).write.format("noop").mode("overwrite").save()
            if turn:
                seconds[query].append(cpu_seconds(spark) - started)
    for label, query in (("spark_cdc", ours), ("by hand", by_hand)):
        times = " ".join(f"{value:.1f}" for value in sorted(seconds[query]))
        print(f"{name:10s} {label:10s} CPU seconds {times}", flush=True)
    return statistics.median(seconds[ours]) / statistics.median(seconds[by_hand])


def checksum(rows: DataFrame) -> tuple[int, int]:
    """Number of rows and a sum of hashes over the columns that both queries have."""
    names = ", ".join([*COLUMNS, "_cdc_op", "_cdc_offset", *(f"_cdc_before.{column}" for column in COLUMNS)])
    result = rows.selectExpr(f"xxhash64({names}) as h").selectExpr(
        "count(*)", "sum(cast(h as decimal(38,0)))"
    )
    return tuple(result.first())


def cpu_seconds(spark: SparkSession) -> float:
    """Of the JVM, user and system, as Linux counts them."""
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


ROW = """named_struct(
    'id', {q}id{q}, 'code', format_string('C%08d', id), 'amount', cast(cast(id * 7.0131 + {v} as decimal(20,4)) as string),
    'created_at', {time}, 'note', concat('order ', id, ' café 数据 line "quoted" \\\\ ', repeat('x', cast(id % 40 as int))),
    'state', {q}{v}{q}, 'score', {q}id % 1000 / 8{q}, 'kind', element_at(array('new', 'paid', 'sent', 'void'), cast(id % 4 + 1 as int)),
    'email', if(id % 3 = 0, null, concat('u', id, '@example.org')), 'qty', if(id % 5 = 0, null, {q}id % 500{q})
)"""


def messages(spark: SparkSession, name: str, count: int) -> DataFrame:
    """Deterministic messages of about 800 bytes: a fifth inserts, a tenth deletes, the rest updates."""

    def row(version: int, time: str, as_text: bool) -> str:
        text = ROW.format(q="\0", v=version, time=time)
        parts = text.split("\0")
        for index in range(1, len(parts), 2):
            parts[index] = f"cast({parts[index]} as string)" if as_text else parts[index]
        return "".join(parts)

    local = "date_format(timestamp_seconds(1700000000 + id), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    if name == "canal":
        types = ", ".join(f"'{column}', 'varchar(64)'" for column in COLUMNS)
        codes = ", ".join(f"'{column}', 12" for column in COLUMNS)
        value = f"""named_struct(
            'data', array({row(2, local, True)}), 'database', 'shop', 'es', 1700000000000 + id, 'id', id div 30,
            'isDdl', false, 'mysqlType', named_struct({types}),
            'old', if(op = 1, array(named_struct('amount', '1.5000', 'state', '1')), null),
            'pkNames', array('id'), 'sql', '', 'sqlType', named_struct({codes}), 'table', 'orders',
            'ts', 1700000000100 + id, 'type', element_at(array('INSERT', 'UPDATE', 'DELETE'), op + 1))"""
    elif name == "debezium":
        before, after = (row(version, "1700000000000000 + id", False) for version in (1, 2))
        value = f"""named_struct(
            'before', if(op = 0, null, {before}), 'after', if(op = 2, null, {after}),
            'source', named_struct('version', '3.5.0.Final', 'connector', 'mysql', 'name', 's', 'ts_ms', 1700000000000 + id,
                'snapshot', 'false', 'db', 'shop', 'sequence', cast(null as string), 'table', 'orders', 'server_id', 1,
                'gtid', cast(null as string), 'file', 'binlog.000003', 'pos', id * 100, 'row', 0),
            'transaction', cast(null as string), 'op', element_at(array('c', 'u', 'd'), op + 1),
            'ts_ms', 1700000000100 + id)"""
    else:
        before, after = (row(version, "1700000000000 + id", False) for version in (1, 2))
        types = ", ".join(f"named_struct('name', '{column}', 'type', 'STRING')" for column in COLUMNS)
        value = f"""named_struct(
            'schema', named_struct('dataColumn', array({types}), 'primaryKey', array('id'),
                'source', named_struct('dbType', 'MySQL', 'dbName', 'shop', 'tableName', 'orders')),
            'payload', named_struct(
                'before', if(op = 0, null, named_struct('dataColumn', {before})),
                'after', if(op = 2, null, named_struct('dataColumn', {after})),
                'sequenceId', cast(1620457642589000000 + id as string),
                'timestamp', named_struct('eventTime', 1620457896000 + id, 'systemTime', 1620457896977 + id),
                'op', element_at(array('INSERT', 'UPDATE_AFTER', 'DELETE'), op + 1), 'ddl', cast(null as string)),
            'version', '0.0.1')"""
    return spark.sql(f"""
        select 'orders' as topic, cast(0 as int) as partition, id as offset, timestamp_seconds(1700000000) as timestamp,
            cast(null as string) as key, to_json({value}, map('ignoreNullFields', 'false')) as value
        from (select id, case when id % 10 < 2 then 0 when id % 10 < 9 then 1 else 2 end as op from range(0, {count}, 1, 4))
    """)


def typed(image: str, time: str) -> list[str]:
    """What somebody who knows the messages writes: one try_cast a column."""
    source = {"created_at": time.format(f"{image}.created_at")}
    return [source.get(column, f"try_cast({image}.{column} as {kind})") for column, kind in COLUMNS.items()]


def hand_written(
    images: str, op: str, committed: str, source: str, time: str = "try_cast({} as timestamp_ntz)"
) -> str:
    row = ", ".join(
        f"{value} as {column}" for column, value in zip(COLUMNS, typed("image", time), strict=True)
    )
    before = ", ".join(
        f"'{column}', {value}" for column, value in zip(COLUMNS, typed("before", time), strict=True)
    )
    return f"""
        select {row}, op as _cdc_op, committed_at as _cdc_committed_at,
            case when before is not null then named_struct({before}) end as _cdc_before,
            topic as _cdc_topic, partition as _cdc_partition, offset as _cdc_offset
        from (select topic, partition, offset, {op} as op, {committed} as committed_at, {images} from {source})
    """


TEXTS = "struct<" + ", ".join(f"{column}: string" for column in COLUMNS) + ">"
MICROSECONDS = "timestampadd(MICROSECOND, try_cast({} as bigint), timestamp_ntz'1970-01-01 00:00:00')"
MILLISECONDS = "timestampadd(MICROSECOND, try_cast({} as bigint) * 1000, timestamp_ntz'1970-01-01 00:00:00')"


def parsed(schema: str) -> str:
    # explode of one element: Spark would otherwise parse the message once for each field that is read
    return f"(select topic, partition, offset, explode(array(from_json(value, '{schema}'))) as m from raw)"


OLD = ", ".join(f"'{column}', coalesce(old.{column}, data.{column})" for column in COLUMNS)
BY_HAND = {
    "canal": hand_written(
        "data as image, case m.type when 'DELETE' then data "
        f"when 'UPDATE' then if(old is null, null, named_struct({OLD})) end as before",
        "case m.type when 'INSERT' then 'insert' when 'UPDATE' then 'update' when 'DELETE' then 'delete' end",
        "timestamp_millis(m.es)",
        "(select topic, partition, offset, m, inline(arrays_zip(m.data, m.old)) from (select topic, partition, offset, "
        "named_struct('data', m.data, 'old', coalesce(m.old, array()), 'type', m.type, 'es', m.es) as m from "
        + parsed(
            f"database string, `table` string, type string, es bigint, data array<{TEXTS}>, old array<{TEXTS}>"
        )
        + " where m.`table` = 'orders'))",
    ),
    "debezium": hand_written(
        "if(m.op = 'd', m.before, m.after) as image, m.before as before",
        "case m.op when 'c' then 'insert' when 'r' then 'snapshot' when 'u' then 'update' when 'd' then 'delete' end",
        "timestamp_millis(m.source.ts_ms)",
        parsed(
            f"op string, before {TEXTS}, after {TEXTS}, "
            "source struct<ts_ms: bigint, db: string, `table`: string, file: string, pos: bigint, `row`: bigint>"
        )
        + " where m.source.`table` = 'orders'",
        MICROSECONDS,
    ),
    "dataworks": hand_written(
        "if(m.payload.op = 'DELETE', m.payload.before.dataColumn, m.payload.after.dataColumn) as image, "
        "m.payload.before.dataColumn as before",
        "case m.payload.op when 'INSERT' then 'insert' when 'UPDATE_AFTER' then 'update' when 'DELETE' then 'delete' end",
        "timestamp_millis(m.payload.`timestamp`.eventTime)",
        parsed(
            f"payload struct<before: struct<dataColumn: {TEXTS}>, after: struct<dataColumn: {TEXTS}>, op: string, "
            "sequenceId: string, `timestamp`: struct<eventTime: bigint>>, "
            "`schema` struct<source: struct<dbName: string, tableName: string>>"
        )
        + " where m.`schema`.source.tableName = 'orders'",
        MILLISECONDS,
    ),
}


if __name__ == "__main__":
    main()
