"""Four days of a user's project, from an empty lake to a full refresh.

Each day some messages land and `dbt run` follows; a fold in plain Python over the logical changes gives the
expected tables. It is one story, run once; the tests check the result of each stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from harness import QUICK_LAKES_ASKED_FOR, Lake, Message, Project, Run
from reference import Change, current_rows, fold, history_rows
from source_tables import CanalTable, CanalTopic, DataWorksTable, DebeziumTable, Event

Rows = list[dict[str, Any]]
# On Delta each commit takes so long that the story would double the suite: `make delta` tells it there.
LAKES = QUICK_LAKES_ASKED_FOR


@dataclass(frozen=True)
class Target:
    """One source table and where the project builds it: the raw table, the key and the other columns."""

    raw: str
    changes: str
    key: list[str]
    columns: list[str]


TARGETS = {
    "orders": Target("messages", "stg_shop__orders_changes", ["id"], ["customer", "amount", "placed_at"]),
    "order_items": Target(
        "messages", "stg_shop__order_items_changes", ["order_id", "line"], ["sku", "quantity"]
    ),
    "customers": Target("customers", "stg_crm__customers_changes", ["id"], ["name", "bio"]),
    "profiles": Target("profiles", "stg_crm__profiles_changes", ["id"], ["name", "bio"]),
    "payments": Target("payments", "stg_erp__payments_changes", ["id"], ["state", "cents"]),
}
DAYS = (1, 2, 3, 4)


@dataclass
class Day:
    """What lands on one day: raw table -> messages, and source table -> logical changes."""

    messages: dict[str, list[Message]] = field(default_factory=dict)
    changes: dict[str, list[Change]] = field(default_factory=dict)

    def add(self, table: str, *events: Event) -> None:
        """Let events of a source table land, in this order."""
        for event in events:
            self.messages.setdefault(TARGETS[table].raw, []).extend(event.messages)
            self.changes.setdefault(table, []).extend(event.changes)


def order(number: int, customer: str | None, amount: str, minute: int = 0) -> dict[str, Any]:
    """Give a row of `orders`."""
    placed_at = datetime(2026, 2, 28, 12, minute)  # noqa: DTZ001 - a local time of the source
    return {"id": number, "customer": customer, "amount": Decimal(amount), "placed_at": placed_at}


def item(order_id: int, line: int, sku: str, quantity: int) -> dict[str, Any]:
    """Give a row of `order_items`."""
    return {"order_id": order_id, "line": line, "sku": sku, "quantity": quantity}


def shop_days() -> list[Day]:
    """Two tables in one Canal topic, with messages between them that cannot be read."""
    topic = CanalTopic()
    orders = CanalTable(topic, "orders", ["id"])
    items = CanalTable(topic, "order_items", ["order_id", "line"])
    one, two, three, four = days = [Day() for _ in DAYS]

    one.add("orders", orders.insert(1, *(order(n, f"c{n}", f"{n}.5000") for n in (1, 2, 3))))
    one.add("order_items", items.insert(2, item(1, 1, "a", 1), item(1, 2, "b", 2), item(2, 1, "c", 3)))
    one.add("orders", orders.update(3, (order(1, "c1", "1.5000"), order(1, "O'Brien \\ 汉字", "10.0001"))))
    one.add(
        "orders",
        orders.insert(4, order(4, "c4", "4.0000"), order(9, "nine", "9.0000"), order(10, "ten", "10.0000")),
    )
    one.add("orders", orders.delete(5, order(4, "c4", "4.0000")))
    one.add("order_items", items.delete(6, item(1, 2, "b", 2)))

    two.add("orders", orders.update(20, (order(2, "c2", "2.5000"), order(2, None, "2.5000"))))
    two.add("orders", orders.update(21, (order(3, "c3", "3.5000"), order(30, "c3", "3.5000"))))
    two.add("orders", orders.insert(22, order(4, "c4 again", "4.4000")))
    two.messages["messages"] += bad_shop_messages(topic)
    two.add("orders", orders.delete(23, order(1, "O'Brien \\ 汉字", "10.0001")))
    two.add("orders", orders.insert(24, order(6, "after the bad ones", "6.0000")))
    two.add("order_items", items.update(25, (item(2, 1, "c", 3), item(2, 7, "c", 3))))
    two.add("order_items", items.insert(26, item(1, 2, "b is back", 5)))

    three.add("orders", orders.update(40, (order(30, "c3", "3.5000"), order(3, "c3", "3.9999"))))
    three.add("orders", orders.delete(41, order(2, None, "2.5000")))
    three.add("orders", orders.insert(42, order(7, "seven", "7.0000")))
    three.add("orders", orders.delete(43, order(7, "seven", "7.0000")))
    three.add("orders", orders.insert(44, order(7, "seven again", "7.7000")))
    swap = (
        (order(9, "nine", "9.0000"), order(10, "nine", "9.0000")),
        (order(10, "ten", "10.0000"), order(9, "ten", "10.0000")),
    )
    three.add("orders", orders.update(45, *swap))
    three.add("order_items", items.insert(46, item(3, 1, "d", 1)))
    three.add("order_items", items.truncate(47))
    three.add("order_items", items.insert(48, item(1, 1, "after the truncate", 1)))

    # A commit time that is earlier than the version before it, and a change that changes nothing.
    four.add("orders", orders.update(30, (order(7, "seven again", "7.7000"), order(7, "seven", "7.8000"))))
    four.add("orders", orders.update(61, (order(9, "ten", "10.0000"), order(9, "ten", "10.0000"))))
    four.add(
        "order_items",
        items.update(62, (item(1, 1, "after the truncate", 1), item(1, 1, "after the truncate", 9))),
    )
    four.add("order_items", items.insert(63, item(2, 1, "c", 1)))
    return days


def bad_shop_messages(topic: CanalTopic) -> list[Message]:
    """What must stop nothing: unreadable messages, rows that do not fit, messages that are not ours."""
    good = {"id": 5, "customer": "five", "amount": "5.0000", "placed_at": "2026-02-28 12:00:00"}
    return [
        Message('{"data": [{"id": "5"'),
        Message("not json at all"),
        Message(b"\xff\xfe"),
        topic.message("FROBNICATE", "orders", ["id"], [good]),
        topic.message("INSERT", "orders", ["id"], [good | {"amount": "5.00001"}]),
        topic.message("INSERT", "orders", ["id"], [good | {"id": None}]),
        topic.message("INSERT", "orders", ["id"], [good | {"placed_at": "yesterday"}]),
        Message(None, key="5"),
        topic.message("INSERT", "no_model_of_ours", ["id"], [good]),
        topic.message("ALTER", "orders", ["id"], None, sql="alter table orders add column note text"),
    ]


BAD_MESSAGE_CODES = {"broken_json": 1, "not_json": 1, "invalid_utf8": 1, "unknown_op": 1}
BAD_ROW_CODES = {("invalid_value", "amount: decimal(20,4)"): 1, ("key_missing", "id"): 1,
                 ("invalid_value", "placed_at: timestamp_ntz"): 1}  # fmt: skip


def person(number: int, name: str, bio: str | None = None) -> dict[str, Any]:
    """Give a row of `customers` or `profiles`, with the large text or as the database sends it without."""
    row: dict[str, Any] = {"id": number, "name": name}
    return row if bio is None else row | {"bio": bio}


def crm_days() -> list[Day]:
    """A Debezium topic: late messages, duplicates, large texts that are not sent, key changes, a truncate."""
    table = DebeziumTable("customers")
    one, two, three, four = days = [Day() for _ in DAYS]
    first_of_3 = table.insert(15, person(3, "three", "bio 3"))

    one.add(
        "customers", table.insert(10, person(1, "one", "bio 1")), table.insert(11, person(2, "two", "bio 2"))
    )
    one.add("customers", table.update(14, person(2, "two, at 14", "bio 2, at 14")), first_of_3)
    for number in (4, 5, 6):
        one.add("customers", table.insert(12 + number, person(number, f"name {number}", f"bio {number}")))

    # An older one; the same message at a new offset; a large text that stays; a delete before its insert.
    two.add("customers", table.update(12, person(2, "two, at 12", "bio 2, at 12")))
    two.add("customers", Event([], first_of_3.messages))
    two.add("customers", table.update(20, person(4, "four")))
    two.add("customers", table.delete(21, 5))
    two.add("customers", *table.change_key(22, 6, person(61, "six moved")))
    two.add("customers", table.delete(23, 7))

    three.add("customers", table.insert(13, person(7, "seven, late", "bio 7")))
    three.add("customers", table.insert(30, person(5, "five again", "bio 5")))
    three.add("customers", table.update(31, person(61, "six, once more")))
    three.add("customers", table.update(19, person(1, "one, late", "bio 1, late")))

    # The truncate comes with late rows after it, which it has to undo, and newer ones, which it has to leave.
    four.add("customers", table.truncate(50))
    four.add(
        "customers", table.insert(25, person(8, "late", "bio 8")), table.update(26, person(3, "late", "late"))
    )
    four.add(
        "customers", table.insert(60, person(9, "new", "bio 9")), table.insert(61, person(1, "back", "bio 1"))
    )
    return days


# Keys of `profiles`, by what happens to them.
PROFILE_CASES: dict[str, tuple[int, ...]] = {
    "insert_after_its_partial_update": (10,),
    "full_update_between_insert_and_partial_update": (11,),
    "key_change_over_two_days": (12, 112),
    "late_change_of_a_new_key": (13, 113),
    "no_change_at_a_later_time": (14,),
    "partial_image_after_a_delete": (15,),
    "partial_image_a_day_after_a_delete": (16,),
    "two_late_changes_the_older_one_last": (17,),
    "late_insert_between_delete_and_partial_update": (18,),
    "chain_of_key_changes_in_one_day": (19, 119, 219),
    "late_value_before_key_changes_of_two_days": (20, 120, 220),
    "key_that_is_used_again_after_its_row_moved": (21, 121),
}


def profile_days() -> list[Day]:
    """Partial images beside everything that may happen between them."""
    table = DebeziumTable("profiles")
    one, two, three, four = days = [Day() for _ in DAYS]

    def happens(day: Day, *events: Event) -> None:
        day.add("profiles", *events)

    happens(one, table.update(20, person(10, "updated")))
    happens(two, table.insert(10, person(10, "inserted", "bio 10")))

    happens(
        one, table.insert(11, person(11, "inserted", "bio at 11")), table.update(21, person(11, "partial"))
    )
    happens(two, table.update(15, person(11, "late", "bio at 15")))

    leaves, arrives = table.change_key(22, 12, person(112, "moved"))
    happens(one, table.insert(12, person(12, "twelve", "bio 12")))
    happens(two, leaves)
    happens(three, arrives)

    happens(one, table.insert(13, person(13, "thirteen", "bio 13")))
    happens(two, *table.change_key(23, 13, person(113, "moved")))
    happens(three, table.delete(14, 113))

    happens(one, table.insert(16, person(14, "a", "bio"), 16), table.update(24, person(14, "a"), 90))
    happens(two, table.update(25, person(14, "b"), 30))

    happens(one, table.insert(17, person(15, "a", "bio 15")))
    happens(two, table.delete(26, 15), table.update(27, person(15, "b")))

    happens(one, table.insert(18, person(16, "a", "bio 16")))
    happens(two, table.delete(28, 16))
    happens(three, table.update(29, person(16, "b")))

    happens(one, table.update(40, person(17, "partial")))
    happens(two, table.update(39, person(17, "late", "bio at 39")))
    happens(three, table.insert(38, person(17, "later", "bio at 38")))

    happens(one, table.insert(41, person(18, "a", "old bio")), table.delete(42, 18))
    happens(one, table.update(44, person(18, "c")))
    happens(two, table.insert(43, person(18, "b", "new bio")))

    happens(one, table.insert(45, person(19, "a", "bio 19")))
    happens(two, *table.change_key(47, 19, person(119, "b")), *table.change_key(48, 119, person(219, "c")))

    happens(one, table.insert(50, person(20, "a", "bio at 50")))
    happens(two, *table.change_key(52, 20, person(120, "b")))
    happens(three, *table.change_key(53, 120, person(220, "c")))
    happens(four, table.update(51, person(20, "late", "bio at 51")))

    happens(one, table.insert(54, person(21, "a", "bio 21")))
    happens(two, *table.change_key(55, 21, person(121, "b")), table.insert(56, person(21, "new", "new bio")))
    happens(three, table.update(57, person(21, "newer")), table.update(58, person(121, "c")))
    happens(four, table.update(70, person(14, "last")))
    return days


def payment(number: int, state: str, cents: int) -> dict[str, Any]:
    """Give a row of `payments`."""
    return {"id": number, "state": state, "cents": cents}


def erp_days() -> list[Day]:
    """A DataWorks topic: updates whose parts fall into two days, a late pair, late rows after a truncate."""
    table = DataWorksTable("payments")
    one, two, three, four = days = [Day() for _ in DAYS]

    one.add("payments", *(table.insert(100 + n, payment(n, "new", 100 * n)) for n in (1, 2, 3, 4, 5)))
    first, second = table.update(110, payment(1, "new", 100), payment(1, "paid", 100))
    one.add("payments", first)
    two.add("payments", second)
    two.add("payments", *table.update(112, payment(2, "new", 200), payment(2, "sent", 200)))
    two.add("payments", *table.update(111, payment(2, "new", 200), payment(2, "late", 200)))
    first, second = table.update(113, payment(3, "new", 300), payment(33, "moved", 300))
    two.add("payments", first)
    three.add("payments", second)
    three.add("payments", table.delete(114, payment(4, "new", 400)))
    three.add("payments", table.insert(121, payment(6, "new", 600)), table.truncate(120))
    first, second = table.update(122, payment(6, "new", 600), payment(6, "paid", 600))
    three.add("payments", first)
    # A part whose other part never comes.
    three.add("payments", table.update(123, payment(6, "paid", 600), payment(6, "lost", 600))[0])
    four.add("payments", *table.update(118, payment(5, "new", 500), payment(5, "late", 500)))
    four.add("payments", table.delete(117, payment(2, "sent", 200)), second)
    # A truncate that comes after much that happened after it.
    four.add("payments", table.truncate(106))
    four.add("payments", table.insert(130, payment(1, "anew", 1)))
    return days


@dataclass
class Story:
    """What the runs said and what they left."""

    runs: dict[str, Run] = field(default_factory=dict)
    tables: dict[tuple[str, str], Rows] = field(default_factory=dict)
    commits: dict[tuple[str, str], int] = field(default_factory=dict)
    landed: dict[int, Day] = field(default_factory=dict)

    def look(self, stage: str, project: Project, lake: Lake) -> None:
        """Keep all rows of all tables as they are now."""
        for name, target in TARGETS.items():
            for table in (name, f"{name}_history", target.changes):
                self.tables[stage, table] = lake.rows(f"select * from {project.schema}.{table}")
                if stage in ("day 2", "nothing new"):
                    self.commits[stage, table] = lake.commits(f"{project.schema}.{table}")


@pytest.fixture(scope="module")
def story(lake: Lake, new_project: Callable[..., Project]) -> Story:
    """Run the four days, day by day in one schema and all at once in another."""
    story = Story()
    project = new_project("shop")

    def run(stage: str, *arguments: str) -> None:
        story.runs[stage] = project.dbt("run", *arguments)
        story.look(stage, project, lake)

    lake.create_raw("messages", "customers", "profiles", "payments")
    for number, parts in enumerate(
        zip(shop_days(), crm_days(), profile_days(), erp_days(), strict=True), start=1
    ):
        day = Day()
        for part in parts:
            day.messages |= part.messages
            day.changes |= part.changes
        story.landed[number] = day
    for number, day in story.landed.items():
        for raw, messages in day.messages.items():
            offsets = lake.land(raw, messages)
            # A sink that crashed wrote its last messages twice, and those of the day before once more.
            lake.land_again(raw, {offsets[-1]: messages[-1]})
            if number > 1:
                lake.land_again(raw, {0: story.landed[1].messages[raw][0]})
        run(f"day {number}")
        if number == 2:
            run("nothing new")
            run("empty", "--empty")

    project.schema = "shop_at_once"
    run("empty at first", "--empty")
    run("full refresh", "--full-refresh")
    run("nothing new after full refresh")
    return story


@pytest.mark.parametrize(
    "stage",
    [
        *(f"day {number}" for number in DAYS),
        "nothing new",
        "empty",
        "empty at first",
        "full refresh",
        "nothing new after full refresh",
    ],
)  # fmt: skip
def test_every_run_succeeds(story: Story, stage: str) -> None:
    """Bad messages are rows with a reason; they stop nothing."""
    story.runs[stage].must_succeed()


def expected(story: Story, table: str, until: int) -> Any:
    """Fold all that has come until a day."""
    return fold(
        change for number in DAYS if number <= until for change in story.landed[number].changes.get(table, [])
    )


def current_of(rows: Rows, target: Target) -> dict[Any, Any]:
    """Bring a current table into the reference's form; each key must stand there once."""
    found = {}
    for row in rows:
        key = tuple(row[name] for name in target.key)
        assert key not in found, f"key {key} occurs twice"
        found[key] = (row["_cdc_is_deleted"], *(row[name] for name in target.columns))
    return found


def history_of(rows: Rows, target: Target) -> dict[Any, Any]:
    """Bring a history table into the reference's form: versions in the order of their sequence."""
    found: dict[Any, Any] = {}
    for row in sorted(rows, key=lambda row: row["_cdc_sequence"]):
        versions = found.setdefault(tuple(row[name] for name in target.key), [])
        times = (_naive(row["valid_from"]), _naive(row["valid_to"]))
        versions.append((*times, row["_cdc_is_deleted"], *(row[name] for name in target.columns)))
    return found


def _naive(at: Any) -> Any:
    return at if at is None or at.tzinfo is None else at.astimezone(timezone.utc).replace(tzinfo=None)


def differences(got: dict[Any, Any], wanted: dict[Any, Any]) -> dict[Any, Any]:
    """Key -> (got, wanted), where they differ."""
    keys = sorted(got.keys() | wanted.keys())
    return {key: (got.get(key), wanted.get(key)) for key in keys if got.get(key) != wanted.get(key)}


# `profiles` is looked at case by case.
WHOLE_TABLES = [name for name in TARGETS if name != "profiles"]
STAGES = [*((f"day {number}", number) for number in DAYS), ("full refresh", 4)]


@pytest.mark.parametrize(("stage", "until"), STAGES)
@pytest.mark.parametrize("table", WHOLE_TABLES)
def test_current_table_holds_what_the_source_holds(story: Story, table: str, stage: str, until: int) -> None:
    """Row for row, deleted keys included."""
    target = TARGETS[table]
    wanted = current_rows(expected(story, table, until), target.columns)
    assert differences(current_of(story.tables[stage, table], target), wanted) == {}


@pytest.mark.parametrize(("stage", "until"), STAGES)
@pytest.mark.parametrize("table", WHOLE_TABLES)
def test_history_table_holds_each_version(story: Story, table: str, stage: str, until: int) -> None:
    """Row for row: the values, valid_from and valid_to, and the order of the versions."""
    target = TARGETS[table]
    wanted = history_rows(expected(story, table, until), target.columns)
    assert differences(history_of(story.tables[stage, f"{table}_history"], target), wanted) == {}


@pytest.mark.parametrize("kind", ["", "_history"])
@pytest.mark.parametrize("keys", PROFILE_CASES.values(), ids=PROFILE_CASES)
def test_partial_images(story: Story, keys: tuple[int, ...], kind: str) -> None:
    """A value that a message does not carry is the one that the source had, day by day and at once."""
    target = TARGETS["profiles"]
    found, wanted_of = (history_of, history_rows) if kind else (current_of, current_rows)
    for stage, until in STAGES:
        wanted = wanted_of(expected(story, "profiles", until), target.columns)
        got = found(story.tables[stage, f"profiles{kind}"], target)
        wrong = {key: pair for key, pair in differences(got, wanted).items() if key[0] in keys}
        assert wrong == {}, stage


@pytest.mark.parametrize("kind", ["", "_history"])
@pytest.mark.parametrize("table", TARGETS)
def test_tables_do_not_depend_on_how_the_days_were_cut(story: Story, table: str, kind: str) -> None:
    """A full refresh reads all at once. Every column of ours too: nothing depends on the runs before."""
    key = [*TARGETS[table].key, *(["_cdc_sequence"] if kind else [])]
    by_day, at_once = (
        {tuple(str(row[name]) for name in key): row for row in story.tables[stage, table + kind]}
        for stage in ("day 4", "full refresh")
    )
    assert differences(by_day, at_once) == {}


@pytest.mark.parametrize("table", [name + kind for name in TARGETS for kind in ("", "_history")])
@pytest.mark.parametrize(
    ("before", "after"),
    [("day 2", "nothing new"), ("nothing new", "empty"), ("full refresh", "nothing new after full refresh")],
)
def test_run_without_pending_changes_changes_nothing(
    story: Story, table: str, before: str, after: str
) -> None:
    """No row differs, its `_cdc_` columns included."""
    assert sorted(map(str, story.tables[before, table])) == sorted(map(str, story.tables[after, table]))


@pytest.mark.parametrize("table", [name + kind for name in TARGETS for kind in ("", "_history")])
def test_run_without_pending_changes_commits_nothing(story: Story, table: str) -> None:
    """The table is not even committed to."""
    assert story.commits["nothing new", table] == story.commits["day 2", table]


@pytest.mark.parametrize("table", TARGETS)
def test_run_without_pending_changes_adds_no_changes(story: Story, table: str) -> None:
    """A message is read once: also one with an error, and a part of an update that waits for its other part."""
    changes = TARGETS[table].changes
    counts = {stage: len(story.tables[stage, changes]) for stage in ("day 2", "nothing new", "empty")}
    assert len(set(counts.values())) == 1, counts


def test_empty_run_makes_empty_tables(story: Story) -> None:
    """`--empty` in a schema where nothing is."""
    assert {key: len(rows) for key, rows in story.tables.items() if key[0] == "empty at first" and rows} == {}


def test_bad_messages_are_counted_with_a_reason(story: Story, lake: Lake) -> None:
    """Each of them once, in the messages model; bad rows in the changes model of their table."""
    messages = lake.rows(
        "select error.code as code, count(*) as n from shop.stg_shop__messages "
        "where error is not null group by 1"
    )
    assert {row["code"]: row["n"] for row in messages} == BAD_MESSAGE_CODES
    rows: dict[Any, int] = {}
    for row in story.tables["day 4", "stg_shop__orders_changes"]:
        if row["_cdc_error"] is not None:
            reason = (row["_cdc_error"]["code"], row["_cdc_error"]["detail"])
            rows[reason] = rows.get(reason, 0) + 1
    assert rows == BAD_ROW_CODES


def test_half_an_update_is_one_row_however_many_runs_it_waits(story: Story) -> None:
    """It waits in the changes model under its reason and is in no table."""
    waiting = [
        row
        for row in story.tables["nothing new after full refresh", "stg_erp__payments_changes"]
        if row["_cdc_error"]
    ]
    assert [(row["_cdc_sequence"][0], row["_cdc_error"]["code"]) for row in waiting] == [
        (123, "unpaired_update")
    ]


def test_nothing_of_the_example_is_built(lake: Lake, story: Story) -> None:
    """Only this project's own models and sources are there."""
    # Spark's own catalog lists the session's temporary views too.
    tables = {row["tableName"] for row in lake.rows("show tables in shop") if not row["isTemporary"]}
    assert tables == {"stg_shop__messages", *TARGETS, *(f"{name}_history" for name in TARGETS),
                      *(target.changes for target in TARGETS.values())}  # fmt: skip
    assert {row["namespace"] for row in lake.rows("show schemas")} >= {"raw", "shop", "shop_at_once"}
    assert "demo" not in {row["namespace"] for row in lake.rows("show schemas")}
