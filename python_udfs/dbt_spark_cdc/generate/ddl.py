"""CREATE TABLE and ALTER TABLE in messages: the types and keys that they name, as sqlglot reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

logging.getLogger("sqlglot").setLevel(logging.ERROR)

# A statement of another database mostly does not parse, and is then left out.
DIALECTS = ("mysql", "postgres", "oracle", "tsql")
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


@dataclass
class Declared:
    """What the statements of one table say, the later ones over the earlier ones."""

    types: dict[str, str] = field(default_factory=dict)
    # None if no statement, or not for certain, says it.
    key: list[str] | None = None


def declared(statements: Iterable[tuple[str | None, str]]) -> dict[tuple[str | None, str], Declared]:
    """Read statements in their order; each has the database of its message. A name is (qualifier, table).

    >>> [found] = declared([("shop", "create table a (id int primary key, x decimal(9,2))")]).values()
    >>> found.types, found.key
    ({'id': 'int', 'x': 'decimal(9,2)'}, ['id'])
    """
    tables: dict[tuple[str | None, str], Declared] = {}
    for database, text in statements:
        for statement in _parsed(text):
            if isinstance(statement, exp.Create) and statement.kind == "TABLE":
                _create(statement, database, tables)
            elif isinstance(statement, exp.Alter):
                _alter(statement, database, tables)
    return tables


def _parsed(text: str) -> list[exp.Expression]:
    """Return the statements of a text in the first dialect that reads it whole."""
    for dialect in DIALECTS:
        try:
            found = [statement for statement in sqlglot.parse(text, dialect=dialect) if statement is not None]
        except (sqlglot.ParseError, sqlglot.TokenError, RecursionError):
            continue
        if not any(isinstance(statement, exp.Command) for statement in found):
            return found
    return []


def _name(table: exp.Table, database: str | None) -> tuple[str | None, str]:
    return table.db or database, table.name


def _create(
    statement: exp.Create, database: str | None, tables: dict[tuple[str | None, str], Declared]
) -> None:
    schema = statement.this
    if not isinstance(schema, exp.Schema) or not isinstance(schema.this, exp.Table):
        return  # as another table, or as a query
    found = Declared(key=[])
    for part in schema.expressions:
        if isinstance(part, exp.ColumnDef):
            _put(found, part)
            if any(isinstance(c.kind, exp.PrimaryKeyColumnConstraint) for c in part.constraints):
                found.key = [part.name]
        for key in part.find_all(exp.PrimaryKey):
            found.key = [name.name for name in key.find_all(exp.Identifier)]
    if not set(found.key or ()) <= found.types.keys():
        found.key = None
    tables[_name(schema.this, database)] = found


def _alter(
    statement: exp.Alter, database: str | None, tables: dict[tuple[str | None, str], Declared]
) -> None:
    if not isinstance(statement.this, exp.Table):
        return
    found = tables.setdefault(_name(statement.this, database), Declared())
    for action in statement.args.get("actions") or ():
        if isinstance(action, exp.ColumnDef):
            _put(found, action)
        elif isinstance(action, exp.ModifyColumn):
            if action.args.get("rename_from"):
                found.types.pop(action.args["rename_from"].name, None)
                found.key = None
            _put(found, action.this)
        else:
            # What else it may do to a column's type or to the key is not read: neither is certain any more.
            for name in action.find_all(exp.Identifier):
                found.types.pop(name.name, None)
            found.key = None


def _put(found: Declared, column: exp.ColumnDef) -> None:
    kind = column.kind
    if not isinstance(kind, exp.DataType):
        return
    found.types.pop(column.name, None)
    spark_type = _spark_type(kind)
    if spark_type is not None:
        found.types[column.name] = spark_type


def _spark_type(kind: exp.DataType) -> str | None:
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
