"""cdc_ddl(text, dialect): what a DDL statement does to tables and columns, or `unknown`."""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_spark_cdc.functions._arrow import texts

if TYPE_CHECKING:
    import pyarrow as pa

# Of sqlglot, by the name that a format gives as its `sql_dialect`.
DIALECTS = ("mysql", "oracle", "postgres", "tsql")
# After the columns of CREATE TABLE: words with which a query, or another table, adds columns.
_ADDS_COLUMNS = frozenset({"AS", "LIKE", "SELECT", "TABLE", "ROW", "WITH", "INHERITS", "OF"})
_SPATIAL = (
    *("POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON"),
    *("GEOMCOLLECTION", "GEOMETRYCOLLECTION"),
)
# Of ALTER TABLE: properties that change no column. sqlglot reads PostgreSQL's RENAME a TO b with another one.
_OPTIONS = (
    *("AlgorithmProperty", "AutoIncrementProperty", "CharacterSetProperty", "CollateProperty"),
    *("EngineProperty", "LockProperty", "Order", "SchemaCommentProperty"),
)
_NAMES_AND_VALUES = frozenset({"VAR", "IDENTIFIER", "STRING", "NUMBER"})
# Words that sqlglot leaves out or replaces by another one of the same meaning.
_SAME_MEANING = frozenset({"KEY", "INDEX", "COLUMN", "TO", "TYPE", "DATA", "GENERATED", "ALWAYS"})
# Where such a word stands for a column's name, a database reads something else: ADD PARTITION p0.
_NO_NAMES = (
    *("CHECK", "CLUSTERING", "CONSTRAINT", "DEFAULT", "FOREIGN", "FULLTEXT", "INDEX", "KEY", "LOB", "NESTED"),
    *("OVERFLOW", "PARTITION", "PERIOD", "PRIMARY", "SPATIAL", "SUBPARTITION", "SUPPLEMENTAL", "UNIQUE"),
    *("VARRAY", "VERSIONING"),
)
# Attributes of a column; in MODIFY a INVISIBLE sqlglot reads one as a type. A type ends before them.
_NO_TYPES = (
    *("AS", "BASICFILE", "CHECK", "COLLATE", "CONSTRAINT", "DECRYPT", "DEFAULT", "DISABLE", "ENABLE"),
    *("ENCRYPT", "FORCE", "GENERATED", "HIDDEN", "IDENTITY", "INVISIBLE", "MASKED", "NOT", "NULL", "OPTIONS"),
    *("PERSISTED", "PRIMARY", "REFERENCES", "RESERVABLE", "ROWGUIDCOL", "SECUREFILE", "SORT", "SPARSE"),
    *("STORED", "SUBSTITUTABLE", "UNIQUE", "VIRTUAL", "VISIBLE"),
)
# A type has few tokens that are none by themselves: TIMESTAMP(6) WITH LOCAL TIME ZONE.
_MOST_TOKENS_WITHOUT_A_TYPE = 8


class Table(NamedTuple):
    """A table that a statement names, in the statement's own letters."""

    qualifier: str | None
    name: str
    new_name: str | None = None


class Column(NamedTuple):
    """A column that a statement adds, changes, renames or drops; None for what the statement does not say."""

    change: str
    name: str
    old_name: str | None = None
    type: str | None = None
    nullable: bool | None = None


class Ddl(NamedTuple):
    """A statement: its action, its tables, and its columns, None if they are not certain."""

    action: str
    is_conditional: bool | None = None
    tables: tuple[Table, ...] | None = None
    columns: tuple[Column, ...] | None = None


UNKNOWN = Ddl("unknown")


# The tokens of each type in a statement.
Types = list[list[Any]]


class _UnclearError(Exception):
    """The statement, or a part of it, is not read exactly."""


def ddl(text: str | None, dialect: str | None) -> Ddl | None:
    """Read one DDL statement exactly, or as `unknown`.

    Shape: `dialect` is mysql, oracle, postgres or tsql; None if it is not known: then the dialects that read
    the statement must agree. `action` is create, alter, drop, rename or truncate of tables, `other` for a
    statement about something else, such as an index or a database, and `unknown`. Names have the letters of
    the statement. A column's `change` is add, change, rename or drop; its `type` is the statement's own text
    in lower case. `columns` is None if the statement does not list them, as CREATE TABLE ... LIKE; it is
    empty if it changes no column. With `is_conditional` the statement has IF [NOT] EXISTS and may have done
    nothing.

    Errors: NULL gives None. What sqlglot cannot read, reads as a Command or does not write back with the same
    names, numbers and texts is `unknown`, never an exception. So is a statement about a temporary table,
    which is none of the source's. ImportError if sqlglot is not installed.

    >>> ddl("ALTER TABLE orders ADD note VARCHAR(20)", "mysql").columns
    (Column(change='add', name='note', old_name=None, type='varchar(20)', nullable=None),)
    """
    if text is None:
        return None
    if dialect is not None:
        return _ddl(text, dialect) if dialect in DIALECTS else UNKNOWN
    found = {_ddl(text, one) for one in DIALECTS} - {UNKNOWN}
    return found.pop() if len(found) == 1 else UNKNOWN


def primary_key(text: str, dialect: str) -> list[str] | None:
    """Return the primary key of a CREATE TABLE, [] if it has none, None if `ddl` does not read it.

    >>> primary_key("CREATE TABLE t (a int, b int, PRIMARY KEY (b, a))", "mysql")
    ['b', 'a']
    """
    from sqlglot import exp

    found = _ddl(text, dialect)
    if found.action != "create" or found.columns is None:
        return None
    tree = _Statement(text, dialect).without_options().tree()
    keys = [
        [part.name]
        for part in tree.this.expressions
        if isinstance(part, exp.ColumnDef)
        and any(isinstance(each.kind, exp.PrimaryKeyColumnConstraint) for each in part.constraints)
    ]
    keys += [
        [name.name for name in key.expressions]
        for part in tree.this.expressions
        if not isinstance(part, exp.ColumnDef)
        for key in part.find_all(exp.PrimaryKey)
    ]
    # A key's column has the letters of its definition.
    names = {column.name.lower(): column.name for column in found.columns}
    if len(keys) > 1 or not all(name.lower() in names for key in keys for name in key):
        return None
    return [names[name.lower()] for key in keys for name in key]


@functools.lru_cache(maxsize=1024)
def _ddl(text: str, dialect: str) -> Ddl:
    import sqlglot  # noqa: F401  a missing package is an error, and no unknown statement

    # It warns of each statement that it reads as a Command.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    # MySQL runs such a comment, and sqlglot drops it.
    if "/*!" in text or "/*M!" in text:
        return UNKNOWN
    try:
        return _read(text, dialect)
    except Exception:  # whatever a parser stumbles over in a stranger's text must not stop a batch
        return UNKNOWN


def _read(text: str, dialect: str) -> Ddl:
    statement = _Statement(text, dialect)
    words = statement.words
    if words[0] == "RENAME":
        # The tokenizer takes all that follows for one text.
        return _renamed(_Statement(f"ALTER{text[statement.tokens[0].end + 1 :]}", dialect))
    if words[:2] == ["CREATE", "TABLE"]:
        return _created(statement.without_options())
    if words[:2] == ["ALTER", "TABLE"]:
        return _together([_altered(part) for part in statement.actions()])
    return _other(statement)


@functools.cache
def _parser(dialect: str) -> Any:
    """Return sqlglot's dialect; to MySQL's, which knows GEOMETRY alone, the other spatial types are added."""
    from sqlglot.dialects.mysql import MySQL
    from sqlglot.tokens import TokenType

    if dialect != "mysql":
        return dialect

    class MySQLWithSpatialTypes(MySQL):
        class Tokenizer(MySQL.Tokenizer):
            KEYWORDS = MySQL.Tokenizer.KEYWORDS | dict.fromkeys(_SPATIAL, TokenType.GEOMETRY)

    return MySQLWithSpatialTypes


class _Statement:
    """One statement with its tokens."""

    def __init__(self, text: str, dialect: str) -> None:
        import sqlglot

        self.text, self.dialect = text, dialect
        self.tokens = sqlglot.tokenize(text, read=_parser(dialect))
        while self.tokens and self.tokens[-1].token_type.name == "SEMICOLON":
            self.tokens.pop()
        if not self.tokens or any(token.token_type.name == "SEMICOLON" for token in self.tokens):
            raise _UnclearError
        self.words = [token.text.upper() for token in self.tokens]

    def slice(self, tokens: list[Any]) -> str:
        return self.text[tokens[0].start : tokens[-1].end + 1]

    def split(self, tokens: list[Any]) -> Iterator[list[Any]]:
        """Split tokens at the commas that no parenthesis encloses."""
        part: list[Any] = []
        depth = 0
        for token in tokens:
            depth += _depth(token)
            if token.token_type.name == "COMMA" and depth == 0:
                yield part
                part = []
            else:
                part.append(token)
        yield part

    def with_head(self, head: str, tokens: list[Any]) -> _Statement:
        return _Statement(f"{head} {self.slice(tokens)}", self.dialect)

    def without(self, dropped: set[int]) -> _Statement:
        """Leave out the tokens at these places."""
        text, end = "", 0
        for place in sorted(dropped):
            text += self.text[end : self.tokens[place].start]
            end = self.tokens[place].end + 1
        return _Statement(text + self.text[end:], self.dialect)

    def without_options(self) -> _Statement:
        """Leave out what follows the columns of CREATE TABLE: options of the table change none of them."""
        end, depth = None, 0
        for place, token in enumerate(self.tokens):
            depth += _depth(token)
            if depth == 0 and token.token_type.name == "R_PAREN":
                end = place + 1
                break
        if end is None or _ADDS_COLUMNS & {
            token.text.upper() for token in self.tokens[end:] if token.token_type.name != "STRING"
        }:
            return self._plain()
        return _Statement(self.text[: self.tokens[end - 1].end + 1], self.dialect)._plain()

    def actions(self) -> Iterator[_Statement]:
        """Give each action of ALTER TABLE as a statement of its own, as sqlglot reads it."""
        if self.dialect not in ("mysql", "oracle"):
            yield self
            return
        head = self.head()
        name = self.slice(self.tokens[:head])
        for action in self.split(self.tokens[head:]):
            for verb, tokens in self._expanded(action):
                yield self.with_head(f"{name} {verb}", tokens)._plain()

    def head(self) -> int:
        """Return the place after the table's name in ALTER TABLE."""
        head = 3
        while self.tokens[head : head + 1] and self.tokens[head].token_type.name == "DOT":
            head += 2
        return head

    def _expanded(self, action: list[Any]) -> Iterator[tuple[str, list[Any]]]:
        """ADD, MODIFY or DROP of a list in parentheses becomes one action for each."""
        words = [token.text.upper() for token in action]
        verb = words[0] if words else ""
        listed = 2 if words[1:2] == ["COLUMN"] else 1
        is_list = verb in ("ADD", "MODIFY", "DROP") and words[listed : listed + 1] == ["("]
        if is_list and _closing(action, listed) != len(action) - 1:
            raise _UnclearError
        parts = self.split(action[listed + 1 : -1]) if is_list else [action]
        for part in parts:
            if verb == "DROP" and is_list:
                yield "DROP COLUMN", part
            elif verb == "MODIFY" and self.dialect == "oracle":
                yield "MODIFY", part if is_list else action[listed:]
            else:
                yield verb if is_list else "", part

    def _plain(self) -> _Statement:
        """Leave out attributes of a column that sqlglot cannot read; they change neither name nor type."""
        dropped = set()
        for place, word in enumerate(self.words):
            before = self.words[place - 1] if place else ""
            if word == "ENABLE" and before == "NULL" and self.dialect == "oracle":
                dropped.add(place)
            is_number = self.tokens[place].token_type.name == "NUMBER"
            if is_number and before == "SRID" and self.dialect == "mysql":
                dropped |= {place - 1, place}
        return self.without(dropped) if dropped else self

    def tree(self) -> Any:
        """Parse it; what sqlglot does not understand is unclear, wherever it is in the tree."""
        import sqlglot
        from sqlglot import exp

        (tree,) = sqlglot.parse(self.text, dialect=_parser(self.dialect))
        if tree is None or tree.find(exp.Command):
            raise _UnclearError
        return tree

    def must_be_whole(self, tree: Any, types: Types) -> None:
        """Write the tree back: the same names, numbers and texts must be there, but for those of types."""
        from sqlglot import exp

        copied = tree.copy()
        for definition in copied.find_all(exp.ColumnDef, exp.AlterColumn):
            for name in ("kind", "dtype"):
                if definition.args.get(name):
                    definition.set(name, exp.DataType.build("int"))
        of_types = {token.start for tokens in types for token in tokens}
        written = _Statement(copied.sql(dialect=_parser(self.dialect)), self.dialect)
        given = Counter(_named(token for token in self.tokens if token.start not in of_types))
        if given != Counter(_named(written.tokens)):
            raise _UnclearError

    def type_after(self, identifier: Any, kind: Any, skipped: tuple[str, ...] = ()) -> tuple[str, list[Any]]:
        """Return the text and the tokens of the type that follows a column's name."""
        tokens = [token for token in self.tokens if token.start > identifier.meta["end"]]
        while tokens and tokens[0].text.upper() in skipped:
            tokens = tokens[1:]
        found, depth = 0, 0
        for place, token in enumerate(tokens, 1):
            depth += _depth(token)
            if depth < 0 or (depth == 0 and token.token_type.name == "COMMA"):
                break
            if found and depth == 0 and place - found > _MOST_TOKENS_WITHOUT_A_TYPE:
                break
            if token.token_type.name != "IDENTIFIER" and token.text.upper() in _NO_TYPES:
                break
            if depth == 0 and self._is_type(self.slice(tokens[:place]), kind):
                found = place
        if not found:
            raise _UnclearError
        # sqlglot takes it for a constraint; MySQL's name of the type has it, and it makes the type unsigned.
        is_filled = tokens[found : found + 1] and tokens[found].text.upper() == "ZEROFILL"
        return _type_text(self.text, tokens[: found + bool(is_filled)]), tokens[:found]

    def _is_type(self, text: str, kind: Any) -> bool:
        import sqlglot
        from sqlglot import exp

        try:
            tree = sqlglot.parse_one(f"CREATE TABLE t (c {text})", dialect=_parser(self.dialect))
        except sqlglot.errors.SqlglotError:
            return False
        definition = tree.find(exp.ColumnDef)
        if definition is None or definition.args.get("kind") != kind:
            return False
        return not _others(definition, "this", "kind")


def _others(node: Any, *names: str) -> bool:
    return any(value for name, value in node.args.items() if name not in names)


def _depth(token: Any) -> int:
    return {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)


def _closing(tokens: list[Any], opening: int) -> int:
    depth = 0
    for place in range(opening, len(tokens)):
        depth += _depth(tokens[place])
        if depth == 0:
            return place
    return -1


def _named(tokens: Any) -> Iterator[str]:
    for token in tokens:
        kind = token.token_type.name
        if kind == "VAR" and token.text.upper() not in _SAME_MEANING:
            yield token.text.upper()
        elif kind in _NAMES_AND_VALUES and kind != "VAR":
            yield token.text


def _type_text(text: str, tokens: list[Any]) -> str:
    """Write a type in lower case, but for what is in quotes, with a blank between words only."""
    written = ""
    for place, token in enumerate(tokens):
        piece = text[token.start : token.end + 1]
        piece = piece if piece[:1] in ("'", '"', "`", "[") else piece.lower()
        is_word = place and piece[:1] not in "(),[]." and tokens[place - 1].text not in ("(", ",", "[", ".")
        written += (" " if is_word else "") + piece
    return written


# -- the statements


def _table(node: Any, new_name: str | None = None) -> Table:
    from sqlglot import exp

    if not isinstance(node, exp.Table) or not node.name or _others(node, "this", "db", "catalog"):
        raise _UnclearError
    # sqlglot leaves out the # of a temporary table of SQL Server, whose name is then that of another table.
    is_temporary = _others(node.this, "this", "quoted") or node.name.startswith("#")
    places = [node.catalog.lower(), node.db.lower()]
    if is_temporary or "tempdb" in places or any(place.startswith("pg_temp") for place in places):
        raise _UnclearError
    return Table(".".join(filter(None, (node.catalog, node.db))) or None, node.name, new_name)


def _renamed(statement: _Statement) -> Ddl:
    """Read each `a TO b` of RENAME TABLE as the ALTER TABLE that sqlglot knows."""
    if statement.words[:2] != ["ALTER", "TABLE"]:
        raise _UnclearError
    tables: list[Table] = []
    for part in statement.split(statement.tokens[2:]):
        to = [token.text.upper() for token in part].index("TO")
        before, after = statement.slice(part[:to]), statement.slice(part[to + 1 :])
        renamed = _altered(_Statement(f"ALTER TABLE {before} RENAME TO {after}", statement.dialect))
        tables += renamed.tables or ()
    return Ddl("rename", False, tuple(tables), ())


def _together(parts: list[Ddl]) -> Ddl:
    """Put the actions of one ALTER TABLE together again."""
    tables = {table for part in parts for table in part.tables or ()}
    renamed = {table for table in tables if table.new_name is not None}
    if len({table[:2] for table in tables}) != 1 or len(renamed) > 1:
        raise _UnclearError
    return Ddl(
        "alter",
        any(part.is_conditional for part in parts),
        tuple(renamed or tables),
        tuple(column for part in parts for column in part.columns or ()),
    )


def _altered(statement: _Statement) -> Ddl:
    from sqlglot import exp

    is_change = False
    if statement.dialect == "oracle" and statement.words[statement.head()] == "MODIFY":
        # sqlglot reads no MODIFY of Oracle, but the definition after it like one after ADD.
        token = statement.tokens[statement.head()]
        text = f"{statement.text[: token.start]}ADD {statement.text[token.end + 1 :]}"
        statement, is_change = _Statement(text, statement.dialect), True
    tree = statement.tree()
    if not isinstance(tree, exp.Alter) or tree.args.get("kind") != "TABLE":
        raise _UnclearError
    if any(type(option).__name__ not in _OPTIONS for option in tree.args.get("options") or []):
        raise _UnclearError
    types: Types = []
    columns: list[Column] = []
    table, is_conditional = _table(tree.this), bool(tree.args.get("exists"))
    for action in tree.args.get("actions") or []:
        is_conditional |= bool(action.args.get("exists"))
        if isinstance(action, exp.AlterRename):
            target = _table(action.this)
            table = table._replace(new_name=".".join(filter(None, (target.qualifier, target.name))))
        else:
            columns += _columns(statement, action, types)
    if is_change:
        if [column.change for column in columns] != ["add"]:
            raise _UnclearError
        columns = [columns[0]._replace(change="change")]
    statement.must_be_whole(tree, types)
    return Ddl("alter", is_conditional, (table,), tuple(columns))


def _columns(statement: _Statement, action: Any, types: Types) -> Iterator[Column]:
    """Give the columns that one action of ALTER TABLE changes: none if it is about an index or an option."""
    from sqlglot import exp

    if isinstance(action, exp.ColumnDef):
        yield _defined(statement, action, "add", types)
    elif isinstance(action, exp.ModifyColumn):
        column = _defined(statement, action.this, "change", types)
        old = action.args.get("rename_from")
        yield column._replace(old_name=old.name if old and old.name != column.name else None)
    elif isinstance(action, exp.RenameColumn):
        yield Column("rename", action.args["to"].name, action.this.name)
    elif isinstance(action, exp.Drop) and action.args.get("kind") == "COLUMN":
        for dropped in action.args["tables"]:
            yield Column("drop", dropped.name)
    elif isinstance(action, exp.AlterColumn):
        kind, allow_null = action.args.get("dtype"), action.args.get("allow_null")
        if kind is not None:
            text, tokens = statement.type_after(action.this, kind, ("SET", "DATA", "TYPE"))
            types.append(tokens)
            yield Column("change", action.this.name, None, text, allow_null)
        elif allow_null is not None:
            yield Column("change", action.this.name, None, None, allow_null)
    elif not isinstance(action, (exp.AddConstraint, exp.Drop, exp.DropPrimaryKey, exp.RenameIndex)):
        raise _UnclearError


def _defined(statement: _Statement, definition: Any, change: str, types: Types) -> Column:
    from sqlglot import exp

    kind, name = definition.args.get("kind"), definition.name
    is_no_name = not definition.this.args["quoted"] and (name.upper() in _NO_NAMES or " " in name)
    if kind is None or is_no_name:
        raise _UnclearError
    text, tokens = statement.type_after(definition.this, kind)
    types.append(tokens)
    nullable = None
    for constraint in definition.args.get("constraints") or []:
        if isinstance(constraint.kind, exp.NotNullColumnConstraint):
            nullable = bool(constraint.kind.args.get("allow_null"))
        elif isinstance(constraint.kind, exp.PrimaryKeyColumnConstraint):
            nullable = False
    return Column(change, definition.name, None, text, nullable)


def _created(statement: _Statement) -> Ddl:
    from sqlglot import exp

    tree = statement.tree()
    if not isinstance(tree, exp.Create) or tree.args.get("kind") != "TABLE":
        raise _UnclearError
    is_conditional = bool(tree.args.get("exists"))
    if not isinstance(tree.this, exp.Schema):
        return Ddl("create", is_conditional, (_table(tree.this),), None)
    tables = (_table(tree.this.this),)
    if tree.args.get("expression") is not None or tree.find(exp.LikeProperty, exp.InheritsProperty):
        return Ddl("create", is_conditional, tables, None)
    types: Types = []
    columns: list[Column] = []
    keys: set[str] = set()
    for part in tree.this.expressions:
        if isinstance(part, exp.ColumnDef):
            columns.append(_defined(statement, part, "add", types))
            continue
        if not isinstance(
            part,
            (
                exp.Constraint,
                exp.PrimaryKey,
                exp.ForeignKey,
                exp.IndexColumnConstraint,
                exp.UniqueColumnConstraint,
                exp.CheckColumnConstraint,
            ),
        ):
            raise _UnclearError
        for key in part.find_all(exp.PrimaryKey):
            keys.update(name.name.lower() for name in key.expressions)
    statement.must_be_whole(tree, types)
    return Ddl(
        "create",
        is_conditional,
        tables,
        tuple(
            column._replace(nullable=False) if column.name.lower() in keys else column for column in columns
        ),
    )


def _other(statement: _Statement) -> Ddl:
    from sqlglot import exp

    tree = statement.tree()
    statement.must_be_whole(tree, [])
    if isinstance(tree, exp.TruncateTable) and tree.args.get("partition"):
        raise _UnclearError
    if isinstance(tree, exp.TruncateTable):
        return Ddl("truncate", bool(tree.args.get("exists")), tuple(map(_table, tree.expressions)), ())
    if not isinstance(tree, (exp.Create, exp.Drop)):
        raise _UnclearError
    is_conditional = bool(tree.args.get("exists"))
    if tree.args.get("kind") != "TABLE":
        return Ddl("other", is_conditional, (), ())
    if isinstance(tree, exp.Drop) and not tree.args.get("temporary"):
        return Ddl("drop", is_conditional, tuple(map(_table, tree.args["tables"])), ())
    # A temporary table may hide the source's, and CREATE OR REPLACE may drop it.
    raise _UnclearError


def ddl_arrow(text: pa.Array, dialect: pa.Array) -> pa.Array:
    """Apply `ddl` to Arrow columns."""
    import pyarrow as pa

    string = pa.string()
    table = pa.struct([("qualifier", string), ("name", string), ("new_name", string)])
    column = pa.struct(
        [
            ("change", string),
            ("name", string),
            ("old_name", string),
            ("type", string),
            ("nullable", pa.bool_()),
        ]
    )
    returned = pa.struct(
        [
            ("action", string),
            ("is_conditional", pa.bool_()),
            ("tables", pa.list_(table)),
            ("columns", pa.list_(column)),
        ]
    )
    return pa.array(map(_as_row, map(ddl, texts(text), texts(dialect))), type=returned)


def _as_row(found: Ddl | None) -> dict[str, Any] | None:
    if found is None:
        return None
    row = found._asdict()
    for name in ("tables", "columns"):
        if row[name] is not None:
            row[name] = [part._asdict() for part in row[name]]
    return row
