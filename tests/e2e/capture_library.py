"""Capture the messages of examples/library: a lending library's PostgreSQL database, read by Debezium through Kafka.

    python tests/e2e/capture_library.py

It writes the captured messages of 20 tables (snapshot, then transactions), those of one more morning in a second
file, and the database's own rows after all of them, which tests/integration/test_journey.py compares the tables
with. `make e2e` sets up what it needs. Payloads, keys and headers stay as they were captured, byte for byte; the
schema in a value keeps the row's fields only, so that the file is a fifth of its size.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from broker import Broker
from harness import KAFKA_JARS, REPOSITORY
from servers import Connect, Postgres, missing

EXAMPLE = REPOSITORY / "examples" / "library"
TRUTH = REPOSITORY / "tests" / "integration" / "library_truth.jsonl"
SEED = 20
# The last row of each part: when its message is there, all earlier ones are.
LAST = ("end of the first part", "Nora Vale")

TABLES = """
create type member_status as enum ('active', 'paused', 'left');
create table branches (
    branch_id int primary key, name varchar(60) not null, opened_on date not null, address jsonb, is_open boolean not null);
create table opening_hours (
    branch_id int references branches, weekday smallint, opens varchar(5), closes varchar(5),
    primary key (branch_id, weekday));
create table staff (
    staff_id int primary key, branch_id int not null references branches, full_name varchar(80) not null,
    hired_on date not null, salary numeric(10,2) not null, badge uuid);
create table members (
    member_id bigint primary key, card_no uuid not null, full_name varchar(80) not null, born_on date,
    status member_status not null, joined_at timestamptz not null, email varchar(120));
create table member_addresses (
    member_id bigint references members, kind varchar(10), street text not null, postcode varchar(12), city varchar(60),
    primary key (member_id, kind));
create table publishers (publisher_id int primary key, name text not null, country char(2));
create table authors (author_id int primary key, full_name text not null, born_year smallint, about text);
create table titles (
    title_id bigint primary key, publisher_id int references publishers, title text not null, isbn varchar(20),
    published_on date, price numeric(8,2), tags text[] not null, details jsonb);
create table title_authors (
    title_id bigint references titles, author_id int references authors, role varchar(20) not null,
    primary key (title_id, author_id));
create table subjects (subject_id int primary key, name text not null unique);
create table title_subjects (
    title_id bigint references titles, subject_id int references subjects, weight double precision not null,
    primary key (title_id, subject_id));
create table copies (
    copy_id bigint primary key, title_id bigint not null references titles, branch_id int not null references branches,
    barcode varchar(16) not null unique, bought_on date, is_out boolean not null);
create table loans (
    loan_id bigint primary key, copy_id bigint not null references copies, member_id bigint not null references members,
    lent_at timestamptz not null, due_on date not null, returned_at timestamptz, renewals smallint not null);
create table reservations (
    reservation_id uuid primary key, title_id bigint not null references titles,
    member_id bigint not null references members, made_at timestamp not null, note text);
create table fines (
    fine_id bigint primary key, loan_id bigint not null references loans, amount numeric(8,2) not null,
    is_paid boolean not null, reason text);
create table payments (
    payment_id uuid primary key, member_id bigint not null references members, amount numeric(12,4) not null,
    paid_at timestamp(6) not null, method varchar(10) not null);
create table events (
    event_id int primary key, branch_id int not null references branches, name text not null,
    starts_at timestamptz not null, seats int not null, fee numeric(6,2));
create table event_bookings (
    event_id int references events, member_id bigint references members, booked_at timestamptz not null,
    seats smallint not null, primary key (event_id, member_id));
create table reviews (
    title_id bigint references titles, member_id bigint references members, stars smallint not null, body text,
    written_at timestamp not null, primary key (title_id, member_id));
create table settings (name varchar(40) primary key, value jsonb, changed_at timestamptz not null);
alter table loans replica identity full;
"""
PEOPLE = (
    "Ada Lindqvist", "Bram O'Neill", "Chen 汉字", "Dora Müller", "Emre Yılmaz", "Fatou Diop", "Goran Šimić",
    "Hana \"Han\" Sato", "Inés Peña", "Jonas Berg", "Kofi Mensah", "Lea Novák", "Mira 😀 Roy", "Nils Åberg",
    "Olga Иванова", "Pia Rossi", "Quentin Roux", "Rosa Lima", "Sami Haddad", "Tove Dahl",
)  # fmt: skip
TITLES = (
    "The Harbour at Night", "Winter Bees", "A Short History of Rain", "岛与船", "Forty Small Gardens", "The Ferry Clerk",
    "Bread, Salt\nand Iron", "Letters to a Map", "100% Wool", "The Quiet Engine", "Der Fluß", "Night Trains",
    "What the Gulls Saw", "An Atlas of Doors", "The Second Orchard", "Cold Kitchen", "Seven Bridges", "Ink",
    "The Lamp \\ The Sea", "Paper Boats", "Under the Linden", "Slow Water", "The Last Tram", "Copper", "Fieldwork",
)  # fmt: skip
CITIES = ("Norrhamn", "Eastby", "Klein-Aue", "Bellacqua")


class Library(Postgres):
    """The server of the library's database."""

    name = "library"

    def connect(self) -> Any:
        """Open a connection to the library's own database, which is made by the first one."""
        import psycopg2

        server = f"host=127.0.0.1 port={self.port} user=postgres"
        with psycopg2.connect(f"{server} dbname=postgres") as first:
            pass
        first.autocommit = True
        with first.cursor() as cursor:
            cursor.execute("select 1 from pg_database where datname = 'library'")
            if not cursor.fetchall():
                cursor.execute("create database library")
        first.close()
        return psycopg2.connect(f"{server} dbname=library")

    def connector(self, servers: str) -> dict[str, str]:
        return super().connector(servers) | {
            "database.dbname": "library",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "key.converter.schemas.enable": "false",
            "provide.transaction.metadata": "false",
            "heartbeat.interval.ms": "0",
            "extended.headers.enabled": "false",
        }


class Life:
    """What happens in the library: the same for the same seed."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        self.chance = random.Random(SEED)
        self.now = datetime(2026, 3, 2, 8, 0, tzinfo=timezone.utc)
        self.loans = self.fines = self.copies = 0
        self.titles: list[int] = []
        self.members: list[int] = []

    def insert(self, table: str, **row: Any) -> None:
        marks = ", ".join(["%s"] * len(row))
        self.cursor.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))

    def run(self, sql: str, *values: Any) -> None:
        self.cursor.execute(sql, list(values) or None)

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        self.cursor.execute(sql, list(values) or None)
        return self.cursor.fetchall()

    def commit(self) -> None:
        self.connection.commit()
        self.now += timedelta(minutes=self.chance.randrange(3, 90), microseconds=self.chance.randrange(10**6))

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def date(self, first: int, last: int) -> date:
        return date(first, 1, 1) + timedelta(days=self.chance.randrange((last - first + 1) * 365))

    def local(self) -> datetime:
        return self.now.replace(tzinfo=None)

    # ---- what is there when the connector comes

    def begin(self) -> None:
        self.run(TABLES)
        chance = self.chance
        for number, city in enumerate(CITIES, 1):
            address = json.dumps({"city": city, "street": f"Quay {number}", "geo": [59.3 + number, 18.0]})
            self.insert("branches", branch_id=number, name=f"{city} library", opened_on=self.date(1950, 2020),
                        address=None if number == 4 else address, is_open=number != 3)  # fmt: skip
            for weekday in range(1, 5):
                self.insert("opening_hours", branch_id=number, weekday=weekday, opens="09:00",
                            closes=None if weekday == 4 else "18:30")  # fmt: skip
        for number in range(1, 9):
            self.insert("staff", staff_id=number, branch_id=1 + number % 4, full_name=PEOPLE[-number], hired_on=self.date(2001, 2024),
                        salary=Decimal(chance.randrange(2_400_000, 6_900_000)).scaleb(-3).quantize(Decimal("0.01")),
                        badge=self.uuid() if number % 3 else None)  # fmt: skip
        for _ in range(26):
            self.new_member()
        for number in range(1, 9):
            self.insert("publishers", publisher_id=number, name=f"{chance.choice(CITIES)} Press {number}",
                        country=chance.choice(["SE", "DE", "CN", None]))  # fmt: skip
        for number in range(1, 17):
            self.insert("authors", author_id=number, full_name=PEOPLE[number], born_year=chance.choice([None, *range(1900, 2000, 7)]),
                        about=chance.choice([None, "", "Writes at night.", "Lives in 北海.\nHas a cat."]))  # fmt: skip
        for number, name in enumerate(
            ("fiction", "history", "nature", "cooking", "travel", "poetry", "technology", "children"), 1
        ):
            self.insert("subjects", subject_id=number, name=name)
        for _ in range(22):
            self.new_title()
        for _ in range(18):
            self.lend()
        for number in range(1, 7):
            self.insert("events", event_id=number, branch_id=1 + number % 4, name=chance.choice(["Reading evening", "Chess", "Repair café", "Story hour"]),
                        starts_at=self.now + timedelta(days=number, hours=10), seats=10 * number,
                        fee=chance.choice([None, Decimal("0.00"), Decimal("4.50")]))  # fmt: skip
            for member in chance.sample(self.members, 3):
                self.book(number, member)
        for member in chance.sample(self.members, 10):
            self.review(chance.choice(self.titles), member)
        for _ in range(8):
            self.reserve()
        for name, value in {
            "loan_days": "28", "fine_per_day": "0.25", "currency": '"EUR"', "mail": '{"from": "desk@library.example", "retries": 3}',
            "closed_on": '["2026-05-01", "2026-12-25"]', "big": "12345678901234567890.50", "nothing": "null", "motd": '"Read 更多!"',
        }.items():  # fmt: skip
            self.insert("settings", name=name, value=value, changed_at=self.now)
        self.commit()

    def new_member(self) -> None:
        number = 1000 + len(self.members)
        name = self.chance.choice(PEOPLE)
        self.insert("members", member_id=number, card_no=self.uuid(), full_name=name, born_on=self.chance.choice([None, self.date(1930, 2015)]),
                    status=self.chance.choice(["active", "active", "active", "paused"]),
                    joined_at=self.now - timedelta(days=self.chance.randrange(2000), microseconds=self.chance.randrange(10**6)),
                    email=self.chance.choice([None, f"member{number}@mail.example"]))  # fmt: skip
        self.members.append(number)
        for kind in ["home", "work"][: self.chance.choice([1, 1, 2])]:
            self.insert("member_addresses", member_id=number, kind=kind, street=f"Street {self.chance.randrange(1, 90)}",
                        postcode=f"0{self.chance.randrange(1000, 9999)}", city=self.chance.choice([*CITIES, None]))  # fmt: skip

    def new_title(self) -> None:
        number, chance = 5_000_000_000 + len(self.titles), self.chance
        self.insert("titles", title_id=number, publisher_id=chance.choice([None, *range(1, 9)]), title=TITLES[len(self.titles) % len(TITLES)],
                    isbn=chance.choice([None, f"978-91-{chance.randrange(1000, 9999)}-{chance.randrange(100, 999)}-X"]),
                    published_on=self.date(1890, 2025), price=chance.choice([None, Decimal(chance.randrange(100, 99_999)).scaleb(-2)]),
                    tags=chance.sample(["new", "signed", "large print", "汉语", 'a "b"'], chance.randrange(3)),
                    details=chance.choice([None, '{"pages": 320, "weight_kg": 0.410}', '{"series": {"name": "Harbours", "no": 2}}']))  # fmt: skip
        self.titles.append(number)
        for author in chance.sample(range(1, 17), chance.choice([1, 1, 2])):
            self.insert(
                "title_authors",
                title_id=number,
                author_id=author,
                role=chance.choice(["author", "editor", "translator"]),
            )
        for subject in chance.sample(range(1, 9), chance.choice([1, 2])):
            self.insert(
                "title_subjects",
                title_id=number,
                subject_id=subject,
                weight=chance.choice([0.1, 0.5, 1.0, 1 / 3]),
            )
        for _ in range(chance.choice([1, 1, 2])):
            self.copies += 1
            self.insert("copies", copy_id=self.copies, title_id=number, branch_id=chance.randrange(1, 5), barcode=f"LB{self.copies:06d}",
                        bought_on=chance.choice([None, self.date(2015, 2025)]), is_out=False)  # fmt: skip

    # ---- what happens then

    def lend(self) -> None:
        free = self.ask("select copy_id from copies where not is_out order by copy_id")
        if not free:
            return
        [copy], self.loans = self.chance.choice(free), self.loans + 1
        self.insert("loans", loan_id=self.loans, copy_id=copy, member_id=self.chance.choice(self.members), lent_at=self.now,
                    due_on=(self.now + timedelta(days=28)).date(), returned_at=None, renewals=0)  # fmt: skip
        self.run("update copies set is_out = true where copy_id = %s", copy)

    def give_back(self) -> None:
        [loan, copy] = self.chance.choice(
            self.ask("select loan_id, copy_id from loans where returned_at is null order by 1")
        )
        self.run("update loans set returned_at = %s where loan_id = %s", self.now, loan)
        self.run("update copies set is_out = false where copy_id = %s", copy)
        if self.chance.random() < 0.6:
            self.fines += 1
            self.insert("fines", fine_id=self.fines, loan_id=loan, amount=Decimal(self.chance.randrange(25, 2000)).scaleb(-2),
                        is_paid=False, reason=self.chance.choice(["late", "damaged", None]))  # fmt: skip

    def renew(self) -> None:
        self.run("update loans set due_on = due_on + 14, renewals = renewals + 1 where returned_at is null and loan_id %% 5 = %s",
                 self.chance.randrange(5))  # fmt: skip

    def pay(self) -> None:
        unpaid = self.ask(
            "select member_id, sum(amount) from fines join loans using (loan_id) where not is_paid group by 1 order by 1"
        )
        if unpaid:
            member, amount = self.chance.choice(unpaid)
            self.run(
                "update fines set is_paid = true where not is_paid and loan_id in (select loan_id from loans where member_id = %s)",
                member,
            )
            self.insert("payments", payment_id=self.uuid(), member_id=member, amount=amount * Decimal("1.0125"), paid_at=self.local(),
                        method=self.chance.choice(["card", "cash"]))  # fmt: skip

    def reserve(self) -> None:
        self.insert("reservations", reservation_id=self.uuid(), title_id=self.chance.choice(self.titles),
                    member_id=self.chance.choice(self.members), made_at=self.local(), note=self.chance.choice([None, "", "call first", "紧急"]))  # fmt: skip

    def cancel(self) -> None:
        [reservation] = self.chance.choice(self.ask("select reservation_id from reservations order by 1"))
        self.run("delete from reservations where reservation_id = %s", reservation)

    def book(self, event: int, member: int) -> None:
        self.run(
            "insert into event_bookings values (%s, %s, %s, %s) on conflict (event_id, member_id) do update set seats = 9",
            event, member, self.now, self.chance.randrange(1, 5),
        )  # fmt: skip

    def review(self, title: int, member: int) -> None:
        self.run(
            "insert into reviews values (%s, %s, %s, %s, %s) on conflict (title_id, member_id) do update set stars = excluded.stars",
            title, member, self.chance.randrange(1, 6), self.chance.choice([None, "Fine.", "Très bien ✓", "Could not stop.\nRead it twice."]),
            self.local(),
        )  # fmt: skip

    def live(self) -> None:
        """The first part: some days with changes of each kind."""
        chance = self.chance
        for day in range(24):
            for step in (self.lend, self.give_back, self.reserve, self.pay if day % 2 else self.cancel):
                step()
                self.commit()
            if day % 4 == 0:
                self.renew()
            self.book(chance.randrange(1, 7), chance.choice(self.members))
            self.review(chance.choice(self.titles), chance.choice(self.members))
            self.commit()
        self.new_member()
        self.new_title()
        self.commit()
        # Keys change, also a part of one.
        self.run(
            "update settings set name = 'message_of_the_day', changed_at = %s where name = 'motd'", self.now
        )
        self.run("update opening_hours set weekday = 6 where branch_id = 2 and weekday = 4")
        self.commit()
        # One statement, several rows.
        self.run("update staff set salary = round(salary * 1.025, 2) where branch_id in (1, 2)")
        self.run("delete from event_bookings where event_id = 3")
        self.run("delete from events where event_id = 3")
        self.commit()
        # Nobody sees this.
        self.run("delete from reviews")
        self.connection.rollback()
        self.run("alter table members add column phone varchar(30)")
        self.commit()
        for member in chance.sample(self.members, 5):
            self.run(
                "update members set phone = %s where member_id = %s",
                f"+46 8 {chance.randrange(10**6)}",
                member,
            )
        self.run("update members set status = 'left', email = null where member_id = 1003")
        self.run(
            'update branches set is_open = true, address = \'{"city": "Klein-Aue"}\' where branch_id = 3'
        )
        self.commit()
        self.run("update authors set about = about || %s where about <> ''", " Reads here in May.")
        self.run("update publishers set country = 'NO' where publisher_id = 2")
        self.run("update subjects set name = 'for children' where name = 'children'")
        self.commit()

    def one_more_morning(self) -> None:
        """The second part: members only, and the last message is a new one's."""
        self.now = datetime(2026, 4, 13, 9, 0, tzinfo=timezone.utc)
        self.run("update members set status = 'active' where member_id = 1003")
        self.commit()
        self.run("update members set phone = '+46 8 000000' where member_id in (1000, 1001)")
        self.commit()
        self.insert("members", member_id=2000, card_no=self.uuid(), full_name=LAST[1], born_on=date(1999, 2, 28), status="active",
                    joined_at=self.now, email="nora@mail.example", phone="+46 8 123456")  # fmt: skip
        self.commit()

    def mark(self, text: str) -> None:
        self.run(
            "update settings set value = %s, changed_at = %s where name = 'nothing'",
            json.dumps(text),
            self.now,
        )
        self.commit()

    def rows(self) -> Iterable[dict[str, Any]]:
        """Give all rows as the database writes their values."""
        self.run("set time zone 'UTC'")
        tables = self.ask("""
            select table_name, array_agg(column_name || ' ' || data_type order by ordinal_position)
            from information_schema.columns where table_schema = 'public' group by 1 order by 1
        """)
        for table, columns in tables:
            names = [column.partition(" ")[0] for column in columns]
            texts = [
                f"array_to_json({name})::text" if column.endswith(" ARRAY") else f"{name}::text"
                for name, column in zip(names, columns, strict=True)
            ]
            for row in self.ask(f"select {', '.join(texts)} from {table} order by {table}"):
                yield {"table": table, "row": dict(zip(names, row, strict=True))}


def main() -> None:
    if lacks := missing(["pg"]):
        sys.exit(f"missing: {lacks}. Type make e2e first, which installs it.")
    # Not in a folder of root's own, which PostgreSQL's user cannot enter.
    with tempfile.TemporaryDirectory(prefix="spark_cdc_library_") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        first, second, rows = capture(folder)
    write(EXAMPLE / "captured" / "library.jsonl", first)
    write(EXAMPLE / "later.jsonl", second)
    write(TRUTH, rows)


def capture(folder: Path) -> tuple[list[dict], list[dict], list[dict]]:
    """Run the servers; give the messages of both parts, and the database's rows."""
    broker, database = Broker(folder / "kafka"), Library(folder)
    connect = None
    try:
        broker.start()
        database.start()
        connection = database.connect()
        life = Life(connection)
        life.begin()
        connect = Connect(folder / "connect", broker.servers, [database])
        connect.start()
        connect.waits_for_changes()
        life.live()
        life.mark(LAST[0])
        first = arrived(broker, LAST[0])
        life.one_more_morning()
        known = {place(message) for message in first}
        second = [message for message in arrived(broker, LAST[1]) if place(message) not in known]
        rows = list(life.rows())
        connection.close()
        second.sort(key=lambda message: LAST[1] in str(message["value"]))
        return first, second, rows
    finally:
        if connect is not None:
            connect.stop()
        database.stop()
        broker.stop()


def arrived(broker: Broker, last: str) -> list[dict[str, Any]]:
    """Read all topics of the library, once the last row is there."""
    from pyspark.sql import SparkSession

    jars = ",".join(str(REPOSITORY / ".jars" / name) for name in KAFKA_JARS)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    until, before = time.monotonic() + 120, -1
    while time.monotonic() < until:
        rows = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", broker.servers)
            .option("subscribePattern", r"library\..*")
            .option("includeHeaders", "true")
            .load()
            .selectExpr(
                "topic",
                "partition",
                "offset",
                "unix_millis(timestamp) as timestamp",
                "key",
                "headers",
                "value",
            )
            .orderBy("timestamp", "topic", "partition", "offset")
            .collect()
        )
        # Once more with nothing new: the partitions do not arrive in one order.
        if len(rows) == before and any(last in _text(row["value"]) for row in rows):
            return list(map(message_of, rows))
        before = len(rows)
    raise TimeoutError(f"no message has: {last}")


def message_of(row: Any) -> dict[str, Any]:
    """A captured message; its value is last, so that a line whose end is cut off has all of the rest."""
    headers = [[header.key, _text(header.value)] for header in row["headers"] or []]
    return {
        **{name: row[name] for name in ("topic", "partition", "offset", "timestamp")},
        "key": row["key"] and _text(row["key"]),
        **({"headers": headers} if headers else {}),
        "value": row["value"] and shortened(_text(row["value"])),
    }


def shortened(value: str) -> str:
    """Leave out of the schema what says nothing of the row: the payload stays as it is, byte for byte."""
    begin = '{"schema":'
    assert value.startswith(begin), value[:80]
    schema, end = json.JSONDecoder().raw_decode(value, len(begin))
    schema["fields"] = [part for part in schema["fields"] if part["field"] == "after"]
    return begin + json.dumps(schema, ensure_ascii=False, separators=(",", ":")) + value[end:]


def place(message: dict[str, Any]) -> tuple[str, int, int]:
    return message["topic"], message["partition"], message["offset"]


def write(file: Path, lines: Iterable[dict[str, Any]]) -> None:
    texts = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(texts), encoding="utf-8")
    print(f"{file.relative_to(REPOSITORY)}: {len(texts)} lines, {file.stat().st_size} bytes")


def _text(value: Any) -> str:
    return bytes(value).decode() if value is not None else ""


if __name__ == "__main__":
    main()
