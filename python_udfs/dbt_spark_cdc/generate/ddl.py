"""CREATE TABLE and ALTER TABLE in messages: the types and keys that they name, as `cdc_ddl` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbt_spark_cdc.functions.ddl import DIALECTS, UNKNOWN, Ddl, ddl, primary_key

_T = exp.DataType.Type
_TYPES = {
    _T.TINYINT: "tinyint",
    _T.UTINYINT: "smallint",
    _T.SMALLINT: "smallint",
    _T.USMALLINT: "int",
    _T.MEDIUMINT: "int",
    _T.UMEDIUMINT: "int",
    _T.INT: "int",
    _T.UINT: "bigint",
    _T.BIGINT: "bigint",
    _T.UBIGINT: "decimal(20,0)",
    # In some databases it has the digits of a double, which a float would round.
    _T.FLOAT: "double",
    _T.DOUBLE: "double",
    _T.BOOLEAN: "boolean",
    _T.DATE: "date",
    _T.DATETIME: "timestamp_ntz",
    _T.TIMESTAMP: "timestamp_ntz",
    _T.BINARY: "binary",
    _T.VARBINARY: "binary",
    _T.BLOB: "binary",
    _T.TINYBLOB: "binary",
    _T.MEDIUMBLOB: "binary",
    _T.LONGBLOB: "binary",
}
_TEXTS = {
    *exp.DataType.TEXT_TYPES,
    *(_T.TINYTEXT, _T.MEDIUMTEXT, _T.LONGTEXT, _T.JSON, _T.JSONB, _T.UUID, _T.ENUM, _T.SET),
}
_MOST_DIGITS = 38
# Where a database means something else by the name of a type; None if no type holds all of its values.
_OF_DIALECT = {
    ("mysql", _T.BOOLEAN): "tinyint",
    ("mysql", _T.SERIAL): "decimal(20,0)",
    ("oracle", _T.DATE): "timestamp_ntz",
    ("oracle", _T.FLOAT): None,
    ("oracle", _T.INT): "decimal(38,0)",
    ("oracle", _T.SMALLINT): "decimal(38,0)",
    ("postgres", _T.SMALLSERIAL): "smallint",
    ("postgres", _T.SERIAL): "int",
    ("postgres", _T.BIGSERIAL): "bigint",
}
# Texts or bytes of MySQL and Oracle, which sqlglot takes for a bigint.
_MISREAD = re.compile(r"\s*long\b", re.IGNORECASE)
# Oracle's own name for FLOAT(126), which has more digits than a double.
_OF_126_BITS = re.compile(r"\s*double\b", re.IGNORECASE)
_TEMPORARY = re.compile(
    r"\s*(?:create|drop)\s+(?:(?:global|local|private)\s+)?temp(?:orary)?\b", re.IGNORECASE
)
# With one of these words an ALTER TABLE may change the key.
_OF_A_KEY = re.compile(r"\b(?:primary|key|constraint)\b", re.IGNORECASE)


class Statement(NamedTuple):
    """A statement with the database or schema, the table and the SQL dialect that its message names."""

    qualifier: str | None
    table: str | None
    text: str
    dialect: str | None


# The qualifier and the name of a table.
Name = tuple[str | None, str]


@dataclass
class Declared:
    """What the statements of one table say, the later ones over the earlier ones."""

    # By the names of the columns in small letters.
    types: dict[str, str] = field(default_factory=dict)
    # None if no statement, or not for certain, says it.
    key: list[str] | None = None


def declared(statements: Iterable[Statement]) -> dict[Name, Declared]:
    """Read statements in their order.

    >>> text = "create table a (id int primary key, x decimal(9,2))"
    >>> [found] = declared([Statement("shop", None, text, "mysql")]).values()
    >>> found.types, found.key
    ({'id': 'int', 'x': 'decimal(9,2)'}, ['id'])
    """
    tables: dict[Name, Declared] = {}
    for statement in statements:
        found = ddl(statement.text, statement.dialect)
        # A conditional statement may have done nothing, and a temporary table is not the source's.
        if found is None or found.is_conditional or _TEMPORARY.match(statement.text):
            continue
        if found == UNKNOWN:
            # It may have changed the table of its message; without one it changes nobody knows what.
            if statement.table is not None:
                tables.pop((statement.qualifier, statement.table), None)
            continue
        if found.action == "create":
            _create(found, statement, tables)
        elif found.action in ("alter", "rename", "drop"):
            _change(found, statement, tables)
    return tables


def _name(qualifier: str | None, name: str, statement: Statement) -> Name:
    return (qualifier or statement.qualifier or "").rsplit(".", 1)[-1] or None, name


def _create(found: Ddl, statement: Statement, tables: dict[Name, Declared]) -> None:
    for table in found.tables or ():
        name = _name(table.qualifier, table.name, statement)
        tables.pop(name, None)
        if found.columns is not None:  # else as another table, or as a query
            tables[name] = its = Declared(key=_key(found, statement))
            for column in found.columns:
                _put(its, column.name, column.type, found, statement)


def _change(found: Ddl, statement: Statement, tables: dict[Name, Declared]) -> None:
    for table in found.tables or ():
        name = _name(table.qualifier, table.name, statement)
        if found.action == "drop" or table.new_name is not None:
            tables.pop(name, None)
            if table.new_name is not None:
                qualifier, _, renamed = table.new_name.rpartition(".")
                tables.pop(_name(qualifier or table.qualifier, renamed, statement), None)
            continue
        its = tables.setdefault(name, Declared())
        columns = found.columns or ()
        for column in columns:
            for gone in (column.old_name, column.name if column.change == "drop" else None):
                its.types.pop((gone or "").lower(), None)
            if column.change == "rename":
                its.types.pop(column.name.lower(), None)
            elif column.type is not None:
                _put(its, column.name, column.type, found, statement)
        keeps_names = all(c.change in ("add", "change") and c.old_name is None for c in columns)
        if not columns or not keeps_names or _OF_A_KEY.search(statement.text):
            its.key = None


def _dialects(found: Ddl, statement: Statement) -> list[str]:
    """Return the dialects in which the statement is what was found."""
    if statement.dialect is not None:
        return [statement.dialect]
    return [dialect for dialect in DIALECTS if ddl(statement.text, dialect) == found]


def _key(found: Ddl, statement: Statement) -> list[str] | None:
    keys = [primary_key(statement.text, dialect) for dialect in _dialects(found, statement)]
    return keys[0] if all(key == keys[0] for key in keys) else None


def _put(its: Declared, column: str, type_: str | None, found: Ddl, statement: Statement) -> None:
    its.types.pop(column.lower(), None)
    types = {spark_type(type_ or "", dialect) for dialect in _dialects(found, statement)}
    found_type = types.pop() if len(types) == 1 else None
    if found_type is not None:
        its.types[column.lower()] = found_type


def spark_type(text: str, dialect: str) -> str | None:
    """Return the type that holds the values of a database's type; None if none is known to hold them all.

    >>> spark_type("binary_double", "oracle"), spark_type("ntext", "tsql"), spark_type("number", "oracle")
    ('double', 'string', None)
    """
    if _MISREAD.match(text) or (dialect == "oracle" and _OF_126_BITS.match(text)):
        return None
    try:
        kind = exp.DataType.build(text, dialect=dialect)
    except (SqlglotError, ValueError):
        return None
    if (dialect, kind.this) in _OF_DIALECT:
        return _OF_DIALECT[dialect, kind.this]
    if kind.this in _TEXTS:
        return "string"
    if kind.this in (_T.DECIMAL, _T.UDECIMAL):
        numbers = [int(p.name) for p in kind.expressions if p.name.isdigit()]
        if not numbers:
            return None  # databases differ in what they take then
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        fits = scale <= precision <= _MOST_DIGITS and len(numbers) == len(kind.expressions)
        return f"decimal({precision},{scale})" if fits else "string"
    return _TYPES.get(kind.this)
