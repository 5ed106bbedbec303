"""`make demo`: build the worked example, show its tables, write the docs page; one process, one Spark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from dbt_spark_cdc.local_spark import quiet_spark
from rich.console import Console
from rich.table import Table
from rich.text import Text

ROWS = 12
CELL = 44
# A message is cut: what is beyond is in the sample files.
MESSAGE = 96
# Of our own columns only these say something to a reader; the rest is for machines.
READABLE = ("_cdc_op", "_cdc_is_deleted", "_cdc_sequence")


def main() -> None:
    if not Path("dbt_project.yml").is_file():
        sys.exit("spark-cdc demo: no dbt_project.yml here: type `make demo` in the repository's folder.")
    with quiet_spark():
        sys.exit(demo(Console(width=None if sys.stdout.isatty() else 150)))


def demo(console: Console) -> int:
    """Run dbt, print what it built, and return dbt's own exit code."""
    from dbt.cli.main import dbtRunner  # seconds of imports, so not at the top

    Path(os.environ.get("SPARK_CDC_LAKE", ".lake")).mkdir(parents=True, exist_ok=True)
    # Spark's workers would otherwise be the first python3 of the path, which may be another than this.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = ["--profiles-dir", "profiles", "--project-dir", "."]
    if not sys.stdout.isatty():
        options.append("--no-use-colors")

    runner = dbtRunner()
    built = runner.invoke(["build", *options])
    if not built.success:
        if built.exception is not None:
            return failed(f"dbt build stopped: {built.exception}", 2)
        return failed("some nodes failed: see dbt's lines above; Spark's are in logs/spark.log.", 1)
    show_models([run.node for run in built.result.results], console)

    documented = runner.invoke(["docs", "generate", "--static", "--quiet", *options])
    if not documented.success:
        if documented.exception is not None:
            return failed(f"dbt docs generate stopped: {documented.exception}", 2)
        return failed("dbt docs generate failed: see logs/dbt.log.", 1)
    console.print("Docs and lineage: open target/static_index.html in a browser.")
    return 0


def failed(sentence: str, code: int) -> int:
    print(f"spark-cdc demo: {sentence}", file=sys.stderr)
    return code


def show_models(nodes: list[Any], console: Console) -> None:
    """Print a few rows of each model tagged `demo`, a table after its messages; then the reconciliation."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()  # the one that dbt started
    by_id = {node.unique_id: node for node in nodes}
    models = sorted((node for node in nodes if node.resource_type == "model"), key=lambda node: node.name)
    shown: set[str] = set()
    for tag, limit in (("demo", ROWS), ("demo_reconciliation", None)):
        for model in models:
            if tag in model.tags and model.relation_name:
                console.print()
                console.print(Text(f"{model.name}: {' '.join(model.description.split())}", style="bold"))
                if model.config.materialized in ("cdc_current", "cdc_history"):
                    console.print(messages_of(spark, by_id[model.depends_on.nodes[0]], by_id, shown))
                console.print(as_table(spark, model.name, model.relation_name, limit))
    console.print()


def messages_of(spark: Any, changes: Any, by_id: dict[str, Any], shown: set[str]) -> Table | Text:
    """The first messages that a table was made from, as they came from Kafka; once, if several tables are."""
    if changes.name in shown:
        return Text("From the same messages:")
    shown.add(changes.name)
    messages = by_id[changes.depends_on.nodes[0]]
    # An update may be two messages, which `_cdc_offsets` names both.
    query = f"""
        select topic, partition, offset, value
        from {messages.relation_name} as messages
        left semi join (
            select _cdc_topic, explode(_cdc_offsets) as place from {changes.relation_name}
        ) as read
            on topic = _cdc_topic and partition = place.partition and offset = place.offset
        order by topic, partition, offset
    """
    rows = spark.sql(query).collect()
    table = Table(title=Text(f"From {len(rows)} messages:"), title_justify="left", caption_justify="left")
    table.caption = f"the first {ROWS} messages" if len(rows) > ROWS else None
    for heading in ("topic", "offset", "value"):
        table.add_column(heading, justify="right" if heading == "offset" else "left", no_wrap=True)
    for row in rows[:ROWS]:
        table.add_row(as_text(row.topic, None), str(row.offset), as_text(row.value, MESSAGE))
    return table


def as_table(spark: Any, name: str, relation: str, limit: int | None) -> Table:
    """The rows of a relation in a fixed order, as text."""
    fields = [
        field
        for field in spark.sql(f"select * from {relation}").schema.fields
        if not field.name.startswith("_cdc_") or field.name in READABLE
    ]
    columns = ["`" + field.name.replace("`", "``") + "`" for field in fields]
    kinds = [field.dataType.typeName() for field in fields]
    # Spark writes the text, so that a time is UTC and a decimal has all its digits.
    typed = list(zip(columns, kinds, strict=True))
    texts = [f"hex({c})" if kind == "binary" else f"cast({c} as string) as {c}" for c, kind in typed]
    order = [f"t.{c}" for c, kind in typed if kind not in ("map", "variant", "array", "struct")]
    query = f"select {', '.join(texts)} from {relation} as t"
    if order:
        query += f" order by {', '.join(order)}"
    rows = spark.sql(query if limit is None else f"{query} limit {limit + 1}").collect()
    more = limit is not None and len(rows) > limit

    table = Table(title=Text(name), title_justify="left", title_style="bold", caption_justify="left")
    table.caption = f"the first {limit} rows" if more else None
    numbers = ("byte", "short", "integer", "long", "float", "double", "decimal")
    for field, kind in zip(fields, kinds, strict=True):
        right = kind.startswith(numbers)
        table.add_column(Text(field.name), justify="right" if right else "left", no_wrap=right)
    for row in rows[:limit]:
        table.add_row(*(as_text(value, CELL if limit else None) for value in row))
    return table


def as_text(value: str | None, width: int | None) -> Text:
    """A value as the terminal may have it: no markup, no control characters, not too long."""
    if value is None:
        return Text("null", style="dim")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)
    return Text(shown if width is None or len(shown) <= width else shown[: width - 1] + "…")


if __name__ == "__main__":
    main()
