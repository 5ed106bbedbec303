"""The plan -> the files of a dbt project, as README and the tutorial tell people to write them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from dbt_spark_cdc.generate.plan import Plan, Table
from dbt_spark_cdc.message_text import jinja_literal

WIDTH = 120
# A longer mapping is easier to read with one column a line.
COLUMNS_IN_A_LINE = 4
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_PLAIN = frozenset(["yes", "no", "true", "false", "null", "on", "off", "y", "n"])
# A type that a message names is shown only if it can be nothing but a type.
_SHOWN = re.compile(r"[\w ().,:'-]{1,60}", re.ASCII)


def project_files(plans: Mapping[str, Plan]) -> dict[str, str]:
    """Return all files of all sources: path under the project -> text."""
    files: dict[str, str] = {}
    for plan in plans.values():
        files |= _staging(plan) | _marts(plan)
    return files | _quality([plan for plan in plans.values() if plan.tables])


# ---- SQL


def _staging(plan: Plan) -> dict[str, str]:
    folder = f"models/staging/{plan.source}"
    files = {
        **({} if plan.is_landed else {plan.sources_file: _sources(plan)}),
        f"{folder}/_{plan.source}__models.yml": _staging_yaml(plan),
        f"{folder}/{plan.messages_model}.sql": _messages(plan),
    }
    for table in plan.tables:
        files[f"{folder}/{plan.changes_model(table)}.sql"] = _changes(plan, table)
    return files


def _messages(plan: Plan) -> str:
    headers = ", raw_columns={'headers': 'headers'}" if plan.has_headers else ""
    topics = f", topics={_list(map(jinja_literal, plan.topics))}" if plan.topics else ""
    return (
        "{{ config(materialized='cdc_append') }}\n"
        f"{{{{ spark_cdc.messages({_raw(plan)}, {_format(plan)}{headers}{topics}) }}}}\n"
    )


def _changes(plan: Plan, table: Table) -> str:
    arguments = [f"messages=ref('{plan.messages_model}')", _format(plan)]
    if table.needs_database and table.database is not None:
        arguments.append(f"database={jinja_literal(table.database)}")
    if table.needs_schema and table.schema_name is not None:
        arguments.append(f"schema={jinja_literal(table.schema_name)}")
    arguments += [f"table={jinja_literal(table.name)}", f"key={_list(map(jinja_literal, table.key))}"]
    entries = [f"{jinja_literal(column.name)}: {jinja_literal(column.type)}" for column in table.columns]
    columns = f"{{{', '.join(entries)}}}"
    if len(entries) > COLUMNS_IN_A_LINE or len(columns) > WIDTH - 20:
        columns = "{\n" + "".join(f"           {entry},\n" for entry in entries) + "       }"
    # As the docs of shards say, changes of several source tables are stored.
    config = "materialized='cdc_append'" if table.is_of_shards else "materialized='cdc_view'"
    call = _filled("{{ spark_cdc.changes(", arguments, " " * 7)
    return f"{{{{ config({config}) }}}}\n{_comments(table)}{call}\n       columns={columns}) }}}}\n"


def _filled(head: str, arguments: Sequence[str], indent: str) -> str:
    """Put whole arguments on lines, each with its comma: a name's blank is no place to break a line."""
    lines = [head + arguments[0] + ","]
    for argument in arguments[1:]:
        if len(lines[-1]) + len(argument) + 2 <= WIDTH:
            lines[-1] += f" {argument},"
        else:
            lines.append(f"{indent}{argument},")
    return "\n".join(lines)


def _comments(table: Table) -> str:
    guesses: dict[str, list[str]] = {}
    for column in table.columns:
        if column.shown_guess is not None:
            guesses.setdefault(column.shown_guess, []).append(column.name)
    lines = (
        [] if table.key else ["-- no key is known: name columns that identify a row before you build tables"]
    )
    for reason, names in guesses.items():
        lines += textwrap.wrap(
            f"-- a guess: {', '.join(names)} ({reason})",
            WIDTH,
            subsequent_indent="--     ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "".join(line + "\n" for line in lines)


def _table_model(plan: Plan, table: Table, materialized: str) -> str:
    key = _list(map(jinja_literal, table.key))
    return (
        f"{{{{ config(materialized='{materialized}', unique_key={key}) }}}}\n"
        f"select * from {{{{ ref('{plan.changes_model(table)}') }}}}\n"
    )


def _quality(plans: Sequence[Plan]) -> dict[str, str]:
    if not plans:
        return {}
    messages = [plan.messages_model for plan in plans]
    changes = [plan.changes_model(table) for plan in plans for table in plan.tables]
    current = [table.model for plan in plans for table in plan.tables if table.key]
    outcomes = {"messages": messages, "changes": changes, "current": current}
    files = {
        "models/quality/cdc_dead_letters.sql": _quality_model(
            "cdc_view", "dead_letters", {"messages": messages, "changes": changes}
        ),
    }
    if current:
        files["models/quality/cdc_reconciliation.sql"] = _quality_model("table", "reconciliation", outcomes)
        files["models/quality/cdc_run_summary.sql"] = _quality_model("cdc_append", "run_summary", outcomes)
    return files | {"models/quality/_quality__models.yml": _quality_yaml(messages, bool(current))}


def _quality_model(materialized: str, macro: str, arguments: Mapping[str, Sequence[str]]) -> str:
    config = f"{{{{ config(materialized='{materialized}') }}}}\n"
    call = ", ".join(f"{name}={_refs(models)}" for name, models in arguments.items())
    line = f"{{{{ spark_cdc.{macro}({call}) }}}}\n"
    if len(line) <= WIDTH + 20:
        return config + line
    lines = ",\n".join(f"       {name}={_refs(models, ' ' * 7)}" for name, models in arguments.items())
    return f"{config}{{{{ spark_cdc.{macro}(\n{lines}\n   ) }}}}\n"


def _refs(models: Sequence[str], indent: str | None = None) -> str:
    refs = [f"ref('{model}')" for model in models]
    if indent is None or len(refs) == 1:
        return _list(refs)
    return "[\n" + "".join(f"{indent}    {ref},\n" for ref in refs) + f"{indent}]"


def _raw(plan: Plan) -> str:
    return f"ref('{plan.raw_table}')" if plan.is_landed else f"source('{plan.source}', '{plan.raw_table}')"


def _format(plan: Plan) -> str:
    return f"format='{plan.format}'" + (f", dialect='{plan.dialect}'" if plan.dialect else "")


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(texts)}]"


# ---- YAML


def _sources(plan: Plan) -> str:
    schema = f"    schema: {plan.raw_schema}\n" if plan.raw_schema != plan.source else ""
    return f"""\
sources:
  - name: {_scalar(plan.source)}
    description: Messages of {plan.source} as Kafka has them.
{schema}    config:
      loaded_at_field: timestamp
      freshness:
        warn_after: {{count: 1, period: day}}
    tables:
      - name: {_scalar(plan.raw_table)}
        description: One row for each message{"" if plan.topics else f", in the format {plan.format}"}.
"""


def _staging_yaml(plan: Plan) -> str:
    changes = [plan.changes_model(table) for table in plan.tables]
    text = f"""\
models:
  - name: {plan.messages_model}
    description: The messages of {plan.source}, each read once.
    data_tests:
      - spark_cdc.every_message_accounted_for:
          arguments:{_arguments({"raw": json.dumps(_raw(plan)), "changes": changes}, 10)}
      - spark_cdc.no_unread_tables:
          arguments:{_arguments({"changes": changes}, 10)}
          config: {{severity: warn}}
      - spark_cdc.no_undeclared_columns
      - spark_cdc.no_errors: {{config: {{severity: warn}}}}
"""
    for table in plan.tables:
        text += f"""\
  - name: {_scalar(plan.changes_model(table))}
    description: {_words(f"Changes of {table.full_name}.")}
    data_tests:
      - spark_cdc.matches_messages
      - spark_cdc.no_errors: {{config: {{severity: warn}}}}
"""
    return text


def _arguments(arguments: Mapping[str, str | Sequence[str]], indent: int) -> str:
    """Return arguments of a test: in the same line, or below it if there are many models."""
    inline = [
        f"{name}: {value if isinstance(value, str) else _refs(value)}" for name, value in arguments.items()
    ]
    if indent + len(", ".join(inline)) + 20 <= WIDTH:
        return f" {{{', '.join(inline)}}}"
    margin = "\n" + " " * (indent + 2)
    return "".join(
        f"{margin}{name}: {value}"
        if isinstance(value, str)
        else f"{margin}{name}:" + "".join(f"{margin}  - ref('{model}')" for model in value)
        for name, value in arguments.items()
    )


def _marts(plan: Plan) -> dict[str, str]:
    tables = [table for table in plan.tables if table.key]
    if not tables:
        return {}
    folder = f"models/marts/{plan.source}"
    files = {
        f"{folder}/_{plan.source}__models.yml": "models:\n" + "".join(map(_table_yaml, tables)),
        f"{folder}/_{plan.source}__exposures.yml": _exposure(plan, tables),
    }
    for table in tables:
        for model, materialized in zip(table.built_models, ("cdc_current", "cdc_history"), strict=False):
            files[f"{folder}/{model}.sql"] = _table_model(plan, table, materialized)
    return files


def _table_yaml(table: Table) -> str:
    what = table.description or f"The latest row of each key of {table.full_name}."
    key = f"{{key: [{', '.join(map(_scalar, table.table_key))}]}}"
    history = f"{{history: ref('{table.model}_history'), {key[1:]}"
    # dbt writes the names of a contract into SQL as they are.
    has_backtick = any("`" in column.name for column in table.columns)
    contract = "" if has_backtick else "    config: {contract: {enforced: true}}\n"
    text = f"""\
  - name: {_scalar(table.model)}
    description: {_words(what)}
{contract}    columns:
"""
    for column in table.columns:
        quote = "" if _PLAIN.fullmatch(column.name) else "        quote: true\n"
        text += f"""\
      - name: {_scalar(column.name)}
        description: {_words(_description(table, column.name, column.source_type, column.shown_guess))}
        data_type: {column.type.split(" from ")[0]}
{quote}"""
    text += f"""\
    data_tests:
      - spark_cdc.one_row_per_key: {{arguments: {key}}}
"""
    if table.names_of_history:
        return text
    return (
        text
        + f"""\
      - spark_cdc.current_equals_open_history: {{arguments: {history}}}
  - name: {_scalar(f"{table.model}_history")}
    description: {_words(f"Every version of each key of {table.full_name}.")}
"""
    )


def _description(table: Table, name: str, source_type: str | None, guess: str | None) -> str:
    parts = ["Part of the key" if len(table.key) > 1 else "Key"] if name in table.key else []
    if source_type is not None and _SHOWN.fullmatch(source_type):
        parts.append(f"{source_type} in the source")
    if guess is not None:
        parts.append(f"the type is a guess, because {guess}")
    text = "; ".join(parts) or "Column of the source"
    return text[0].upper() + text[1:] + "." if text[0].isupper() or not source_type else text + "."


def _exposure(plan: Plan, tables: Sequence[Table]) -> str:
    refs = "".join(f"      - ref('{model}')\n" for table in tables for model in table.built_models)
    return f"""\
exposures:
  - name: {plan.source}_tables
    label: Tables of {plan.source}
    type: application
    description: Who reads the tables of {plan.source}.
    owner: {{name: not named yet}}
    depends_on:
{refs}"""


def _quality_yaml(messages: Sequence[str], has_outcomes: bool) -> str:
    text = """\
models:
  - name: cdc_dead_letters
    description: Each rejected message or row, with its reason and its text.
"""
    if has_outcomes:
        text += f"""\
  - name: cdc_reconciliation
    description: What became of each message, counted for each topic and table.
    data_tests:
      - spark_cdc.counts_reconcile: {{arguments: {{messages: {_refs(messages)}}}}}
  - name: cdc_run_summary
    description: What each run read and what became of it, counted for each topic and table.
"""
    return text


def _scalar(text: str) -> str:
    """Return a name as YAML has it, also in a list of one line."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN:
        return text
    return json.dumps(text, ensure_ascii=False)


def _words(text: str) -> str:
    """Return a sentence as YAML has it, plain if nothing in it means anything there."""
    is_plain = re.fullmatch(r"[A-Za-z][\w (),.;*-]*", text) and text.strip().lower() not in _NOT_PLAIN
    return text if is_plain else json.dumps(text, ensure_ascii=False)
