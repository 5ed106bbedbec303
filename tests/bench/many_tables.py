"""`make bench`: one topic of many tables, `dbt run` of messages, changes and current, against incremental models by hand.

By hand is one model a table: from_json, one cast a column, the newest row of each key, MERGE; it reads what has a higher offset
than its table. Each run is a process of its own, as a scheduled job starts it. The figure is the CPU seconds of dbt and its JVM,
start included; runs go turn about, with the same new messages in the raw table of both. In the end both have the same rows.

    .venv/bin/python tests/bench/many_tables.py --tables 200 --changes 20 --formats canal
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from harness import REPOSITORY, USER_PROJECT, environment  # noqa: E402
from run import cpu_seconds  # noqa: E402

# With new messages, with nothing new: times the CPU of the models by hand, for ten tables of a hundred changes.
BARS = {"changes": 1.2, "nothing new": 0.6}
TYPES = ("string", "decimal(20,4)", "timestamp_ntz", "int", "double")
VALUES = {
    "string": "concat('text {n} of ', id, ' in ', v)",
    "decimal(20,4)": "concat(id % 100000, '.', lpad(({n} + v) % 10000, 4, '0'))",
    "timestamp_ntz": "concat('2026-01-01 00:{minute}:', lpad(id % 60, 2, '0'))",
    "int": "cast((id * {n} + v) % 1000 as string)",
    "double": "cast((id % 1000) / 8 as string)",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--tables", type=int, default=10)
    arguments.add_argument("--columns", type=int, default=20)
    arguments.add_argument("--changes", type=int, default=100, help="of each table, in each batch")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument(
        "--formats", nargs="+", default=["canal", "debezium"], choices=["canal", "debezium"]
    )
    arguments.add_argument("--only-ours", action="store_true")
    arguments.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        run(options.run)
        return
    missed = []
    for name in options.formats:
        with tempfile.TemporaryDirectory() as scratch:
            missed += Bench(Path(scratch), name, options).measure()
    sys.exit(f"bars missed: {', '.join(missed)}" if missed else 0)


@dataclass
class Bench:
    """Two projects on one lake."""

    folder: Path
    format: str
    options: argparse.Namespace

    def measure(self) -> list[str]:
        self.columns = {"id": "bigint"} | {
            f"c{n}": TYPES[n % len(TYPES)] for n in range(1, self.options.columns)
        }
        self.land(0)
        sides = ["ours"] if self.options.only_ours else ["ours", "by_hand"]
        for side in sides:
            self.write_project(side)
            self.dbt(side, "run")
        seconds: dict[str, dict[str, list[float]]] = {what: {side: [] for side in sides} for what in BARS}
        for batch in range(1, self.options.repeats + 1):
            self.land(batch)
            for what in BARS:
                for side in sides if batch % 2 else reversed(sides):
                    seconds[what][side].append(self.dbt(side, "run"))
        if not self.options.only_ours:
            self.compare()
        missed = []
        for what, bar in BARS.items():
            medians = {side: statistics.median(values) for side, values in seconds[what].items()}
            shown = ", ".join(f"{side} {median:.1f}" for side, median in medians.items())
            line = f"{self.format} {self.options.tables} tables, {what}: CPU seconds {shown}"
            if len(medians) > 1:
                ratio = medians["ours"] / medians["by_hand"]
                line += f", ratio {ratio:.2f} (bar {bar})"
                missed += [f"{self.format} {what}"] if ratio > bar else []
            print(line, flush=True)
        return missed

    def land(self, batch: int) -> None:
        """All tables' changes lie in the topic one after the other, in turn: the first batch are inserts."""
        tables, changes = self.options.tables, self.options.changes
        values = {"id": "cast(id as string)"} | {
            name: VALUES[kind].format(n=n, minute=f"{n % 60:02d}")
            for n, (name, kind) in enumerate(self.columns.items()) if n
        }  # fmt: skip
        # Canal writes each value as a text, a connector only what JSON has no type for.
        numbers = ("bigint", "int", "double") if self.format == "debezium" else ()
        values |= {
            name: f"cast({values[name]} as {kind})" for name, kind in self.columns.items() if kind in numbers
        }
        row = ", ".join(f"'{name}', {value}" for name, value in values.items())
        first = batch * changes * tables
        rows = f"""
            select n + {first} as offset, n div {tables} as id, {batch} as v, concat('table_', n % {tables}) as source_table
            from (select id as n from range({tables * changes}))
        """
        message = {"canal": self.canal, "debezium": self.debezium}[self.format](f"named_struct({row})", batch)
        query = f"""
            select 'shop' as topic, 0 as partition, offset, timestamp_seconds(1700000000 + offset) as timestamp,
                cast(null as binary) as key,
                cast(to_json({message}, map('ignoreNullFields', 'false')) as binary) as value,
                cast(null as array<struct<key: string, value: binary>>) as headers
            from ({rows})
        """
        verb = "create table raw.shop using iceberg as" if batch == 0 else "insert into raw.shop"
        statements = ["create schema if not exists raw", f"{verb} {query}"]
        self.process("sql", json.dumps(statements))

    @staticmethod
    def canal(row: str, batch: int) -> str:
        old = "cast(null as array<struct<c5: string>>)" if batch == 0 else "array(named_struct('c5', 'old'))"
        return f"""named_struct(
            'data', array({row}), 'database', 'shop', 'es', 1700000000000 + offset, 'id', offset, 'isDdl', false,
            'old', {old}, 'pkNames', array('id'), 'sql', '', 'table', source_table, 'ts', 1700000000100 + offset,
            'type', '{"UPDATE" if batch else "INSERT"}')"""

    @staticmethod
    def debezium(row: str, batch: int) -> str:
        return f"""named_struct(
            'before', if({batch} = 0, null, {row}), 'after', {row},
            'source', named_struct('version', '3.5.0.Final', 'connector', 'mysql', 'name', 's', 'ts_ms', 1700000000000 + offset,
                'snapshot', 'false', 'db', 'shop', 'sequence', cast(null as string), 'table', source_table, 'server_id', 1,
                'gtid', cast(null as string), 'file', 'binlog.000003', 'pos', offset * 100, 'row', 0),
            'transaction', cast(null as string), 'op', '{"u" if batch else "c"}', 'ts_ms', 1700000000100 + offset)"""

    def write_project(self, side: str) -> None:
        project = self.folder / side
        (project / "models").mkdir(parents=True)
        (project / "profiles.yml").write_text(
            PROFILE.read_text().replace("threads: 4", f"threads: {self.options.threads}")
        )
        settings = {
            "name": side,
            "version": "1.0.0",
            "profile": "shop",
            "flags": {"send_anonymous_usage_stats": False},
        }
        (project / "dbt_project.yml").write_text(json.dumps(settings))
        sources = {"sources": [{"name": "raw", "schema": "raw", "tables": [{"name": "shop"}]}]}
        (project / "models" / "sources.yml").write_text(json.dumps(sources))
        for name, sql in (self.ours() if side == "ours" else self.by_hand()).items():
            (project / "models" / f"{name}.sql").write_text(sql)
        if side == "ours":
            (project / "packages.yml").write_text(json.dumps({"packages": [{"local": str(REPOSITORY)}]}))
            self.dbt(side, "deps")

    def ours(self) -> dict[str, str]:
        models = {
            "messages": "{{ config(materialized='cdc_append', file_format='iceberg') }}\n"
            f"{{{{ spark_cdc.messages(source('raw', 'shop'), format='{self.format}') }}}}\n"
        }
        for number in range(self.options.tables):
            models[f"table_{number}_changes"] = (
                "{{ config(materialized='cdc_view') }}\n"
                f"{{{{ spark_cdc.changes(messages=ref('messages'), format='{self.format}', table='table_{number}', key=['id'], "
                f"columns={self.columns}) }}}}\n"
            )
            models[f"table_{number}"] = (
                "{{ config(materialized='cdc_current', unique_key=['id'], file_format='iceberg') }}\n"
                f"select * from {{{{ ref('table_{number}_changes') }}}}\n"
            )
        return models

    def by_hand(self) -> dict[str, str]:
        texts = f"struct<{', '.join(f'{name}: string' for name in self.columns)}>"
        schema, image, deleted, table = {
            "canal": (f"`table` string, type string, data array<{texts}>", "m.data[0]", "m.type = 'DELETE'", "m.`table`"),
            "debezium": (
                f"op string, before {texts}, after {texts}, source struct<`table`: string>",
                "if(m.op = 'd', m.before, m.after)", "m.op = 'd'", "m.source.`table`",
            ),
        }[self.format]  # fmt: skip
        typed = ",\n    ".join(
            f"try_cast(image.{name} as {kind}) as {name}" for name, kind in self.columns.items()
        )
        models = {}
        for number in range(self.options.tables):
            models[f"hand_{number}"] = f"""
{{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', file_format='iceberg') }}}}
with parsed as (
    select offset, explode(array(from_json(cast(value as string), '{schema}'))) as m
    from {{{{ source('raw', 'shop') }}}}
    {{% if is_incremental() %}}where offset > (select max(last_offset) from {{{{ this }}}}){{% endif %}}
),
changes as (
    select offset, {image} as image, {deleted} as is_deleted from parsed where {table} = 'table_{number}'
),
newest as (
    select *, row_number() over (partition by image.id order by offset desc) as place from changes
)
select
    {typed},
    is_deleted, offset as last_offset
from newest where place = 1
"""
        return models

    def compare(self) -> None:
        names = ", ".join(self.columns)
        counts = [
            f"select count(*) from ((select {names} from {one}.table_{n}) except all (select {names} from {other}.hand_{n}))"
            if one == "ours" else
            f"select count(*) from ((select {names} from {one}.hand_{n}) except all (select {names} from {other}.table_{n}))"
            for n in range(self.options.tables) for one, other in (("ours", "by_hand"), ("by_hand", "ours"))
        ]  # fmt: skip
        found = self.process(
            "sql",
            json.dumps(
                [f"select sum(c) from ({' union all '.join(f'select ({one}) as c' for one in counts)})"]
            ),
        )
        if found["rows"] != [[0]]:
            sys.exit(f"{self.format}: the tables differ in {found['rows']} rows")

    def dbt(self, side: str, *arguments: str) -> float:
        done = self.process("dbt", str(self.folder / side), *arguments)
        if not done["success"]:
            sys.exit(f"dbt {arguments} of {side} failed: {done}")
        return done["cpu"]

    def process(self, *arguments: str) -> dict:
        side = Path(arguments[1]).name if arguments[0] == "dbt" else "raw"
        done = subprocess.run(
            [sys.executable, __file__, "--run", *arguments], capture_output=True, text=True, check=False,
            env=os.environ | environment(self.folder, "iceberg") | {"SHOP_SCHEMA": side}, cwd=self.folder,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{arguments[0]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])


PROFILE = USER_PROJECT / "profiles.yml"


def run(arguments: list[str]) -> None:
    """In a process of its own: one dbt command, or statements; prints what it cost."""
    from pyspark.sql import SparkSession

    kind, what, *rest = arguments
    answer: dict = {"success": True}
    if kind == "dbt":
        from dbt.cli.main import dbtRunner

        command = [
            *rest,
            "--quiet",
            "--log-level-file",
            "none",
            "--project-dir",
            what,
            "--profiles-dir",
            what,
        ]
        done = dbtRunner().invoke(command)
        answer["success"] = done.success
        nodes = getattr(done.result, "results", ())
        answer["messages"] = [str(node.message)[:500] for node in nodes if str(node.status) != "success"]
    else:
        import yaml
        from jinja2 import Environment

        text = (
            Environment()
            .from_string(PROFILE.read_text())
            .render(env_var=lambda name, default="": os.environ.get(name, default))
        )
        settings = yaml.safe_load(text)["shop"]["outputs"]["iceberg"]["server_side_parameters"]
        builder = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        for statement in json.loads(what):
            answer["rows"] = [list(row) for row in spark.sql(statement).collect()]
    cpu = time.process_time()
    if (session := SparkSession._instantiatedSession) is not None:
        cpu += cpu_seconds(session)
    print(json.dumps(answer | {"cpu": cpu}, default=str))


if __name__ == "__main__":
    main()
