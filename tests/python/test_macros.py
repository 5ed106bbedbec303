"""The harness that renders the macros without dbt must reject what dbt rejects, with the same sentences."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import shutil
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
from dbt.artifacts.resources.v1.model import ModelConfig
from dbt_spark_cdc import macros
from dbt_spark_cdc.macros import CompilerError, MacroLibrary
from dbt_spark_cdc.project import project_root

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]
COLUMNS = {"id": "bigint", "name": "string"}


def changes(library: MacroLibrary, **arguments: object) -> str:
    call = {
        "relation": "raw",
        "format": "canal",
        "table": "t",
        "key": ["id"],
        "columns": COLUMNS,
        **arguments,
    }
    return library.changes(**call)


def test_the_project_is_found(repository: Path) -> None:
    assert project_root() == repository


def test_every_format_writes_every_query(library: MacroLibrary) -> None:
    for name, dialects in library.formats().items():
        for dialect in (None, *dialects):
            for query in (
                library.messages("raw", name, dialect),
                library.decoded("raw", name, dialect),
                changes(library, format=name, dialect=dialect),
            ):
                assert query.lstrip().startswith("with ")


# Of messages, whose texts of errors are long; 400 is the bar of `make bench`.
LONGEST_LINE = 190
TEN_COLUMNS = {
    "id": "bigint", "code": "string", "amount": "decimal(20,4)", "created_at": "timestamp_ntz", "note": "string",
    "state": "int", "score": "double", "kind": "string", "email": "string", "qty": "int",
}  # fmt: skip


# Literals, names and comments, which may hold anything.
WHOLE = (
    r"""(?s)(?<!\w)[rR]'[^']*'|\w+'(?:[^'\\]|\\.)*'|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*"""
)


def test_compiled_messages_have_lines_to_read(library: MacroLibrary) -> None:
    for name, dialects in library.formats().items():
        for dialect in dialects:
            query = library.call("messages", "raw", name, dialect)
            assert longest_line(query) <= LONGEST_LINE, (name, dialect)


def test_compiled_changes_have_lines_to_read(library: MacroLibrary) -> None:
    for name, dialects in library.formats().items():
        for dialect in dialects:
            query = library.changes(
                relation=None, messages="messages", format=name, dialect=dialect, table="orders", key=["id"],
                columns=TEN_COLUMNS,
            )  # fmt: skip
            assert longest_line(query) <= 160, (name, dialect)


def longest_line(query: str) -> int:
    return max(map(len, query.split("\n")))


def test_compiled_changes_read_each_column_that_they_select(library: MacroLibrary) -> None:
    """A person who reads the query of a view need not ask what a column is for."""
    for name, dialects in library.formats().items():
        for dialect in dialects:
            query = library.changes(
                relation=None, messages="messages", format=name, dialect=dialect, table="orders", key=["id"],
                columns={"id": "bigint", "amount": "decimal(20,4)"},
            )  # fmt: skip
            for cte in ("message_rows", "row_changes"):
                selected, rest = re.search(
                    rf"(?s)\b{cte} as \(\n\n    select\n(.*?)\n    from (.*)", re.sub(WHOLE, "''", query)
                ).groups()
                names = re.findall(r"(?m)^ {8}(?:\S.* as )?(\w+),?$", selected)
                assert len(names) > 5
                unread = [name for name in names if name != "case" and not re.search(rf"\b{name}\b", rest)]
                assert unread == [], (name, dialect, cte)


def test_only_a_literal_makes_a_line_longer(library: MacroLibrary) -> None:
    """No line has more than 160 characters, of a literal not more than 60 counted."""
    for name, dialects in library.formats().items():
        for dialect in dialects:
            arguments = {
                "format": name,
                "dialect": dialect,
                "table": "orders",
                "key": ["id"],
                "columns": TEN_COLUMNS,
            }
            for query in (
                library.messages("raw", name, dialect), library.changes(relation="raw", **arguments),
                library.changes(relation=None, messages="messages", **arguments),
            ):  # fmt: skip
                cut = re.sub(WHOLE, lambda literal: literal[0][:60].replace("\n", " "), query)
                assert longest_line(cut) <= 160, (name, dialect)


def test_a_query_with_short_lines_is_the_same_query(library: MacroLibrary) -> None:
    for name, dialects in library.formats().items():
        for dialect in dialects:
            query = library.call(
                "spark__messages", "raw", library.call("_format", name, dialect, "messages"), None, None
            )
            assert tokens(library.messages("raw", name, dialect)) == tokens(query), (name, dialect)


@pytest.mark.parametrize(
    "text",
    [
        r"'it\'s, and (not) when'", r"r'\(,'", '"a \\" and, b"', "`a, b and c`", "'two\nlines, and more'", "'case'", "a.end",
        "b between 1 and 2", "-- a comment, and more", "(a, (b, c)", ") and c", "array(1)[0]", "x -> x",
    ],
)  # fmt: skip
def test_short_lines_leave_everything_whole(library: MacroLibrary, text: str) -> None:
    line = f"    case when f({'a, ' * 60} b) then {text}"
    short = library.call("_with_short_lines", line)
    assert text in short
    assert tokens(short) == tokens(line)
    assert library.call("_with_short_lines", short) == short


@pytest.mark.parametrize("quote", ["'", "r'", "R'"])
def test_a_long_literal_is_written_in_pieces(library: MacroLibrary, quote: str) -> None:
    literals = [quote + "a|b, " * 60 + "'", quote + r"\\d|" * 90 + "'"]
    name = f"`it's, {'x' * 99}|{literals[0]}s`"
    line = f"    and {'long' * 12} rlike {literals[0]} || {literals[1]} or {name} = {literals[0]}"
    short = library.call("_with_short_lines", line)
    assert longest_line(short.replace(name, "")) <= 160
    assert short.count(f"|| {quote}") > 5
    assert tokens(short) == tokens(line)
    assert library.call("_with_short_lines", short) == short


@pytest.mark.parametrize(
    "literal",
    ["X'" + "ab" * 120 + "'", "'" + "y" * 200 + "'", "'" + "a,\n" * 60 + "'", "/* 'a, " + "b|" * 90 + "' */"],
)
def test_a_literal_that_cannot_be_cut_stays_whole(library: MacroLibrary, literal: str) -> None:
    assert literal in library.call("_with_short_lines", f"    and payload = {literal} and x")


def tokens(query: str) -> list[str]:
    """The words, signs and literals of a query; literals that are put together are one."""
    found: list[str] = []
    for token in re.findall(WHOLE + r"|\w+|\s+|.", query):
        quotes = [re.match("[rR]?'", each) for each in (found[-3] if len(found) > 2 else "", token)]
        if found[-2:] == ["|", "|"] and all(quotes) and quotes[0][0] == quotes[1][0]:
            found[-3:] = [found[-3][:-1] + token[quotes[1].end() :]]
        elif token.strip():
            found.append(token)
    return found


@pytest.mark.parametrize("text", ["__debezium_unavailable_value", "a", "ab", "abc", "\u00fc\u20ac", "/?>>~~"])
def test_forms_of_a_text_are_those_of_other_tools(library: MacroLibrary, text: str) -> None:
    assert library.call("_base64", list(text.encode())) == base64.b64encode(text.encode()).decode()
    digest = bytearray(hashlib.md5(text.encode(), usedforsecurity=False).digest())
    digest[6], digest[8] = digest[6] & 0x0F | 0x30, digest[8] & 0x3F | 0x80
    assert library.call("_uuid_of_name", text) == str(uuid.UUID(bytes=bytes(digest)))


@pytest.mark.parametrize("macro", ["_error", "_error_of"])
def test_a_code_has_no_colon(library: MacroLibrary, macro: str) -> None:
    sentence = "spark_cdc: the code of an error must be small letters, digits and _; got `a: b`. What follows"
    with pytest.raises(CompilerError, match=re.escape(sentence)):
        library.call(macro, "a: b", "'c'")


def test_a_query_makes_its_format_once(repository: Path) -> None:
    """All that reads a format has it as one argument, `fmt`."""
    library = MacroLibrary(repository)
    make, made = library["_format"], []
    library._macros["_format"] = lambda *arguments: made.append(arguments[0]) or make(*arguments)
    library.messages("raw", "canal")
    library.decoded("raw", "debezium", "flat")
    changes(library, format="oms")
    changes(library, relation=None, messages="messages", format="drs")
    assert made == ["canal", "debezium", "oms", "drs"]


def test_each_rule_of_a_format_says_which_field_it_is_about(library: MacroLibrary) -> None:
    """A code stands for many rules: the detail is what a reader has to look at."""
    wrong = []
    for name, dialects in library.formats().items():
        for dialect in dialects:
            for code, rules in library.call("_format", name, dialect)["header"]["errors"].items():
                details = re.findall(r"'detail', '([^']*)'", rules) if code == "fault" else rules
                if isinstance(details, str):
                    wrong.append((name, dialect, code))
                    continue
                wrong += [
                    (name, dialect, code, detail)
                    for detail in details
                    if not re.fullmatch(
                        r"(before or after|columns\[\] or keys\[\]|the row|[\w.\[\]-]+): [^:]{5,}", detail
                    )
                ]
    assert wrong == []


@pytest.mark.parametrize(
    ("arguments", "argument", "got"),
    [
        ({"format": "cannal"}, "format", "cannal"),
        ({"dialect": "flat"}, "dialect", "flat"),
        ({"table": ""}, "table", "``"),
        ({"key": "id"}, "key", "id"),
        ({"key": ["id", "id"]}, "key", "id"),
        ({"key": ["no"]}, "key", "no"),
        ({"columns": {}}, "columns", "{}"),
        ({"columns": {"id": "bigint", "n": "decimal"}}, "columns", "n: decimal"),
        ({"columns": {"id": "bigint", "n": "decimal(39,2)"}}, "columns", "n: decimal(39,2)"),
        ({"columns": {"id": "bigint", "n": "date from hours"}}, "columns", "n: date from hours"),
        ({"columns": {"id": "bigint", "_cdc_op": "string"}}, "columns", "_cdc_op"),
        ({"relation": None}, "relation", "neither"),
    ],
)
def test_a_refusal_names_argument_and_value(
    library: MacroLibrary, arguments: dict[str, object], argument: str, got: str
) -> None:
    with pytest.raises(CompilerError) as refused:
        changes(library, **arguments)
    assert f"argument `{argument}` must be " in str(refused.value)
    assert got in str(refused.value)


def test_an_unknown_macro_is_named(library: MacroLibrary) -> None:
    with pytest.raises(AttributeError, match="no macro `nothing`"):
        library.call("nothing")


def test_names_of_models_are_quoted(library: MacroLibrary) -> None:
    query = changes(library, table="o'r`x", columns={"id": "bigint", "a`b'c": "string"})
    assert "'o\\'r`x'" in query
    assert "`a``b'c`" in query


def test_the_name_of_a_table_keeps_its_lines(library: MacroLibrary) -> None:
    assert "'a\\u000ab\\u2028\\u000dc'" in changes(library, table="a\nb\u2028\rc")


@pytest.mark.parametrize(
    "name", ["spark_cdc__debezium_unavailable_pattern", "spark_cdc__debezium_invalid_pattern"]
)
def test_a_pattern_is_a_text(repository: Path, name: str) -> None:
    """Of a list the text would be Python's, and match nothing."""
    arguments = {"format": "debezium", "table": "t", "key": ["id"], "columns": {"id": "int", "doc": "string"}}
    sentence = rf"spark_cdc.vars: argument `{name}` must be a regular expression as a text, or empty; got `\[.a.\]`\."
    with pytest.raises(CompilerError, match=sentence):
        MacroLibrary(repository, {name: ["a"]}).call("changes", "raw", **arguments)
    assert MacroLibrary(repository, {name: None}).call("changes", "raw", **arguments)


def test_a_part_of_a_format_that_nothing_reads_is_a_slip(library: MacroLibrary) -> None:
    with pytest.raises(
        CompilerError, match=r"spark_cdc\.acme_rows: .* must be one of op, image; got `imagee`"
    ):
        library.call(
            "_known_parts", "acme_rows", {"op": "'insert'", "imagee": "message.row"}, ["op", "image"]
        )


@pytest.mark.parametrize("source", ["parquet.`/topic`", "raw.topic.branch_audit", "lake.raw.topic.TAG_a"])
def test_only_a_table_is_asked_for_its_latest_commit(library: MacroLibrary, source: str) -> None:
    assert library.call("_latest_commit", source) == "none"


@pytest.fixture(scope="module")
def configs(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> MacroLibrary:
    """The macros that look at a model's config, which stand among those that need a run."""
    project = tmp_path_factory.mktemp("configs")
    shutil.copytree(repository / "macros", project / "macros")
    shutil.copy(repository / "macros" / "materializations" / "_config.sql", project / "macros" / "_internal")
    return MacroLibrary(project)


def test_what_dbt_takes_in_a_model_is_known(configs: MacroLibrary) -> None:
    """The keys of the installed dbt: a newer one may have more."""
    fields = {one.metadata.get("alias", one.name) for one in dataclasses.fields(ModelConfig)} - {"_extra"}
    assert len(fields) > 20
    taken, refused = set(configs.call("_keys_of_dbt")), set(configs.call("_keys_without_effect"))
    assert fields - taken - refused == set()
    assert taken & refused == set()


def test_a_select_with_more_in_it_is_no_whole_one(configs: MacroLibrary) -> None:
    """Also one after a long name, for which a pattern may not try all ways to cut it."""
    name = "`a.b`." + "long_" * 40
    for select in (f"select * from {name}", f"\nSELECT  *\nFROM /* where */ {name} -- limit 1\n"):
        assert configs.call("_is_whole_select", select)
    injected = " __dbt__cte__b as (\nselect 1 where true\n)"
    assert configs.call("_is_whole_select", f"with {injected} select * from __dbt__cte__b", [injected])
    for rest in (" where id = 1", ", other", " limit 1", " as b", ";", " union all select * from b"):
        assert not configs.call("_is_whole_select", f"select * from {name}{rest}")
    for start in ("select distinct *", "select id", "select *, 1 as n"):
        assert not configs.call("_is_whole_select", f"{start} from {name}")


LATE_READING = {
    "partitions": [
        {
            "topic": "topic",
            "partition": 0,
            "after_offset": 10,
            "up_to_offset": 20,
            "fingerprint": 1,
            "messages": 1,
            "has_late_messages": True,
            "late_ranges": [[0, 9999]],
            "has_copies": True,
        }
    ],
    "positions_read": "select topic, partition, offset, false as is_reused from raw",
    "counts_copies": False,
    "read_again": [{"topic": "topic", "partition": 0, "offset": 5}],
    "read_again_query": "select topic, partition, offset from raw",
}


def test_no_query_comes_near_the_depth_at_which_spark_gives_up(
    session: SparkSession, library: MacroLibrary
) -> None:
    """Spark's analyzer resolves a level of a query at each of its 100 walks; what a user builds upon it needs some, too."""
    session.sql(
        "select 'topic' as topic, 0 as partition, 0L as offset, current_timestamp() as timestamp, '' as key, '{}' as value"
    ).createOrReplaceTempView("raw")
    incremental = MacroLibrary(REPOSITORY)
    incremental._macros |= {
        "_is_incremental_run": lambda: True,
        "_is_log": lambda: True,
        "_reasons_to_rebuild_log": lambda *_: [],
        "_refuse_append_of_other_arguments": lambda *_: None,
        "_messages_to_read": lambda *_, **__: LATE_READING,
    }
    families = library.call("_type_families")
    columns = {family: "decimal(20,4)" if family == "decimal" else family for family in families}
    columns |= {"id": "bigint", "set": "string from set", "amount": "decimal(20,4) from base64"}
    typed = {"columns": columns, "time_zone": "Asia/Shanghai"}

    def analyzed(sql: str, walks: int) -> DataFrame:
        session.conf.set("spark.sql.analyzer.maxIterations", str(walks))
        try:
            return session.sql(sql)
        finally:
            session.conf.unset("spark.sql.analyzer.maxIterations")

    for name, dialects in library.formats().items():
        for dialect in (None, "flat") if "flat" in dialects else (None,):
            messages = analyzed(library.messages("raw", name, dialect), 64)
            session.createDataFrame([], messages.schema).createOrReplaceTempView("messages")
            arguments = typed | {"format": name, "dialect": dialect}
            analyzed(changes(library, relation=None, messages="messages", **arguments), 50)
            # Messages and changes in one query.
            analyzed(changes(library, **arguments), 97)
            # A later run of it that also reads late messages, and some once more: the deepest that a model can be.
            analyzed(changes(incremental, **arguments), 100)


@pytest.mark.parametrize("version", ["2.4.8", "3.5.1", "3.5.8-amzn-0"])
def test_an_old_spark_is_one_sentence(repository: Path, version: str) -> None:
    library = MacroLibrary(repository)
    library._macros |= {"_is_run": lambda: True, "_spark_version": lambda: version}
    with pytest.raises(CompilerError) as refused:
        library.call("_require_spark", "messages")
    assert str(refused.value) == (
        f"spark_cdc.messages: Spark must be 4.0 or newer; got Spark {version}. Run this model on a newer Spark: an older one "
        "cannot parse the SQL of this package, or reads times wrong."
    )


@pytest.mark.parametrize("version", ["4.0.0", "4.1.3", "4.2.0-SNAPSHOT", "10.0.0"])
def test_a_newer_spark_is_taken(repository: Path, version: str) -> None:
    library = MacroLibrary(repository)
    library._macros |= {"_is_run": lambda: True, "_spark_version": lambda: version}
    library.call("_require_spark", "messages")


def test_formats_that_need_functions_are_refused_where_there_are_none(repository: Path) -> None:
    """A Thrift server has no session that could register them."""
    plain, library = MacroLibrary(repository), MacroLibrary(repository)
    asked: list[str] = []
    library._macros |= {"_is_run": lambda: True, "_has_function": lambda name: asked.append(name)}
    for format_name, dialects in library.formats().items():
        sql = plain.messages("raw", format_name)
        for dialect in dialects:
            sql += plain.decoded("raw", format_name, dialect)
        if "cdc_mongo_" in sql or "cdc_dts_" in sql:
            assert format_name in ("debezium_mongodb", "drs_mongodb", "dts_avro")
            with pytest.raises(CompilerError) as refused:
                library.call("_require_functions", "messages", format_name, sql)
            assert str(refused.value) == (
                "spark_cdc.messages: argument `format` must be one that built-in SQL reads, where the session has no Python "
                f"functions; got `{format_name}`. These formats need the functions: debezium_mongodb, drs_mongodb, dts_avro. "
                "Run their models with a target of `method: session`, which may be a local Spark, a cluster or Spark Connect, "
                "and install dbt-spark-cdc next to dbt. With thrift, http and odbc there are no such functions; all other formats "
                "work there."
            )
        else:
            library.call("_require_functions", "messages", format_name, sql)
    assert set(asked) == {"cdc_dts_avro", "cdc_mongo_fields"}


def test_a_text_with_signs_is_a_regular_expression_of_topics(library: MacroLibrary) -> None:
    condition = library.call("_topics_condition", {"topic": "t"}, ["shop.orders", "shop[.].*", "it's"])
    assert condition == r"t rlike '^(?:shop[.].*)\\z' or t rlike '^(?:it\'s)\\z' or t in ('shop.orders')"
    assert library.call("_topics_condition", None, "orders") == "topic in ('orders')"
    assert library.call("_topics_condition", None, None) is None


@pytest.mark.parametrize("topics", [[], "", [1], {"a": 1}, ["a", " "]])
def test_topics_are_texts(library: MacroLibrary, topics: object) -> None:
    with pytest.raises(CompilerError, match=r"argument `topics` must be a topic or a list of topics; got"):
        library.call("_require_topics", "messages", topics)


def noted_state(notes: list[dict[str, Any]], is_build: bool = False) -> dict[str, Any]:
    """What `cdc_append` makes of the notes of one model in a run of the id `now`."""

    def give(value: Any) -> None:
        raise Given(value)

    class Given(Exception):
        pass

    def refuse(sentence: str) -> None:
        raise CompilerError(sentence)

    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    source = (REPOSITORY / "macros/progress/run_state.sql").read_text(encoding="utf-8")
    template = environment.from_string(source)
    context = template.new_context(
        {
            "return": give,
            "exceptions": SimpleNamespace(raise_compiler_error=refuse),
            "graph": SimpleNamespace(nodes={"m": {"spark_cdc.states": notes}}),
            "model": SimpleNamespace(unique_id="m", name="m"),
            "invocation_id": "now",
        }
    )
    list(template.root_render_func(context))
    try:
        context.vars["_noted_state"](is_build)
    except Given as given:
        return given.args[0]
    raise AssertionError("it returned nothing")


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ("{{ config(materialized='view') }}\n-- a guess: x\n{{ spark_cdc.changes(table='a--b') }}", True),
        ("{# one #}{{- spark_cdc.changes(columns={'id': 'bigint'}) -}}", True),
        ("{{ spark_cdc.changes(table='a') }} union all {{ spark_cdc.changes(table='b') }}", False),
        ("{{ spark_cdc.changes(table='a') }} where id > 1", False),
        ("{% for name in names %}{{ spark_cdc.changes(table=name) }}{% endfor %}", False),
        ("{{ changes_of_mine('a') }}", False),
        ("{{ spark_cdc.messages(ref('raw')) }}", False),
    ],
)
def test_a_model_of_one_call_is_known(library: MacroLibrary, code: str, is_one: bool) -> None:
    assert library.call("_is_one_call", {"raw_code": code}, "changes") is is_one


def note(state: str, run: str = "now", **others: Any) -> dict[str, Any]:
    return {"run": run, "state": state, "rebuilt_for": [], "read_positions": None, "messages": None} | others


def test_a_state_is_that_of_this_run() -> None:
    """A program may run several of dbt's commands on one manifest, and its graph keeps the notes."""
    earlier = note("rebuild", run="before", rebuilt_for=["price"])
    assert noted_state([earlier, note("append", read_positions={"text": "p"})])["state"] == "append"
    assert noted_state([earlier, note("nothing_new")])["state"] == "nothing_new"
    assert noted_state([note("rebuild", rebuilt_for=["price"])])["rebuilt_for"] == ["price"]
    assert noted_state([note("rebuild", rebuilt_for=["price"])], is_build=True)["state"] == "first_build"


def test_several_calls_in_one_model_are_one_state() -> None:
    one = note("append", read_positions={"text": "p"}, messages=7)
    assert noted_state([one])["read_positions"] == {"text": "p"}
    assert noted_state([one])["messages"] == 7
    assert noted_state([one, note("nothing_new")]) == {
        "state": "append", "rebuilt_for": [], "read_positions": None, "messages": None,
    }  # fmt: skip
    assert noted_state([note("nothing_new"), note("nothing_new")])["state"] == "nothing_new"
    with pytest.raises(CompilerError) as refused:
        noted_state([note("rebuild", rebuilt_for=["region"]), one])
    assert str(refused.value) == (
        "spark_cdc.cdc_append: model m calls spark_cdc.changes several times, and one of the calls declares region otherwise than "
        "the table. Rebuild it: dbt run --full-refresh --select m+"
    )


def node(name: str, kind: str | None, reads: list[str], **meta: Any) -> dict[str, Any]:
    is_table = kind == "cdc_current"
    return {
        "unique_id": name,
        "name": name,
        "relation_name": name,
        "resource_type": "model",
        "depends_on": {"nodes": reads},
        "config": {
            "materialized": kind if is_table else "view",
            "meta": {} if is_table or kind is None else {"spark_cdc": kind, **meta},
        },
    }


def test_a_table_waits_for_readers_of_its_own_messages(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two topics have a table of one name; a table is read by the changes over the messages that have it."""
    noted = {"spark_cdc.arguments": {"database": "", "schema": "", "table": "orders"}}
    nodes = [
        node("a", "messages", []),
        node("b", "messages", []),
        node("both", None, ["a", "b"]),
        node("orders_changes", "changes", ["a"], **noted),
        node("orders", "cdc_current", ["orders_changes"]),
        node("all_changes", "changes", ["both"], **noted),
        node("all", "cdc_current", ["all_changes"]),
        node("raw_changes", "changes", [], **noted),
        node("of_raw", "cdc_current", ["raw_changes"]),
    ]
    graph = SimpleNamespace(nodes={one["unique_id"]: one for one in nodes})
    monkeypatch.setattr(macros, "RENDERED_FOLDERS", (*macros.RENDERED_FOLDERS, "quality"))
    monkeypatch.setattr(
        macros, "SimpleNamespace", lambda **facts: graph if "nodes" in facts else SimpleNamespace(**facts)
    )
    library = MacroLibrary(repository)

    def readers(current: list[str], messages: list[str]) -> list[str]:
        return library.call("_current_readers", current, messages).split(",\n    ")

    def of(number: int) -> str:
        return f"(array_contains(messages_numbers, {number}) and (table_name = 'orders'))"

    assert readers(["orders", "all", "of_raw"], ["a", "b"]) == [
        f"case when {of(1)} then 1 end",
        f"case when {of(1)} or {of(2)} then 2 end",
        "case when false then 3 end",
    ]
    assert readers(["orders"], ["b", "a"]) == [f"case when {of(2)} then 1 end"]
    # A view over both has the messages of each.
    assert readers(["orders"], ["both"]) == [f"case when {of(1)} then 1 end"]
    query = library.call("spark__lag", ["a", "b"], ["orders"])
    assert query.count(" as messages_number,") == 2
