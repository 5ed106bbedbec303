"""What `cdc_landing` asks a Kafka broker for, through the Kafka client of Spark's own JVM.

Spark's SQL reads messages, but has no query for the partitions of a topic and the ends of their logs. The dbt
plugin answers such a query: `offsets_query` gives it as SQL with the numbers in it.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUESTION = re.compile(r"\bspark_cdc_kafka_offsets\('((?:[^'\\]|\\.)*)'\)")
# As the macro `_literal` escapes.
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
# Views that the landing materialization makes; a statement that reads one reads Kafka.
_READS = re.compile(r"\b_cdc_landing_kafka_[0-9a-f]{32}\b")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
# A Java exception in the text of Spark's error, with its message.
_KAFKA_ERROR = re.compile(r"org\.apache\.kafka\.(?:common\.errors|clients[\w.]*)\.(\w+Exception): ?([^\n]*)")
_TIMED_OUT = re.compile(r"java\.util\.concurrent\.(TimeoutException): ?([^\n]*)")
# Exceptions whose messages have names, paths and addresses, and never the value of an option.
_SAFE = ("org.apache.kafka.common.errors.", "java.nio.file.", "java.net.")
_NO_HOST = "No resolvable bootstrap urls given in bootstrap.servers"
# Of a cluster whose topics have no ids yet.
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
ADMIN_TIMEOUTS = {"default.api.timeout.ms": "15000", "request.timeout.ms": "10000", "retries": "3"}


class LandingError(DbtRuntimeError):
    """One sentence for the user of cdc_landing."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"spark_cdc.cdc_landing: {sentence}")


def question_in(sql: str) -> dict[str, Any] | None:
    """Return what a statement asks the broker for; None if it is not such a statement."""
    found = _QUESTION.search(sql)
    return json.loads(_ESCAPED.sub(_unescaped, found[1])) if found else None


def _unescaped(found: re.Match) -> str:
    return chr(int(found[1][1:], 16)) if len(found[1]) == 5 else found[1]


def offsets_query(session: SparkSession, question: dict[str, Any]) -> str:
    """Return the query of topic, topic_id, partition, earliest, latest: the logs as they are now.

    `question` has `kafka`, the options of Kafka's client, and `subscribe`, names, or `subscribePattern`.
    `latest` is the end of what is committed: no reader waits for an open transaction.
    """
    rows = [
        f"('{topic}', '{topic_id}', {partition}, {earliest}L, {latest}L)"
        for topic, topic_id, partition, earliest, latest in _offsets(session, question)
    ]
    names = "offsets(topic, topic_id, partition, earliest, latest)"
    if not rows:
        return f"select * from values ('', '', 0, 0L, 0L) as {names} where false"  # noqa: S608
    # Kafka's rules for names, and numbers: no text of another kind is in these rows.
    return f"select * from values {', '.join(rows)} as {names}"  # noqa: S608


@contextmanager
def one_sentence(sql: str) -> Iterator[None]:
    """Replace the Java pages of an error of a statement that reads Kafka by one sentence."""
    if not _READS.search(sql):
        yield
        return
    try:
        yield
    except Exception as error:
        found = _KAFKA_ERROR.findall(str(error)) or _TIMED_OUT.findall(str(error))
        if not found:
            raise
        name, message = found[-1]
        if name == "TopicAuthorizationException":
            raise LandingError(
                f"Kafka does not let the user of the model read a topic ({message.strip().rstrip('.')}). "
                "Nothing was written. Give the user the right READ, or leave the topic out."
            ) from None
        raise LandingError(
            f"Kafka stopped answering while its messages were read ({name}: {message.strip().rstrip('.')}). "
            "Nothing was written. Run the model again: it goes on after the messages that it has."
        ) from None


def _offsets(session: SparkSession, question: dict[str, Any]) -> list[tuple[str, str, int, int, int]]:
    jvm = _jvm(session)
    client = jvm.org.apache.kafka.clients
    options = question["kafka"]
    _refuse_unknown(client, options)
    _require_variables(jvm, options)
    servers = options["bootstrap.servers"]
    with _answers(servers):
        admin = client.admin.AdminClient.create(_java_map(jvm, ADMIN_TIMEOUTS | options))
    try:
        with _answers(servers):
            names = _topics(jvm, admin, question)
            described = _describe(jvm, admin, names, servers)
            places = [
                (topic, int(partition.partition()))
                for topic, description in described.items()
                for partition in description.partitions()
            ]
            earliest = _ends(jvm, admin, places, client.admin.OffsetSpec.earliest())
            latest = _ends(jvm, admin, places, client.admin.OffsetSpec.latest())
    finally:
        with suppress(Exception):
            admin.close(jvm.java.time.Duration.ofSeconds(2))
    return [
        (
            topic,
            str(described[topic].topicId().toString()).replace(_NO_ID, ""),
            partition,
            earliest[place],
            latest[place],
        )
        for place in sorted(places)
        for topic, partition in [place]
    ]


def _jvm(session: SparkSession) -> Any:
    jvm = getattr(session, "_jvm", None) if hasattr(session, "_sc") else None
    if jvm is None:
        raise LandingError(
            "Kafka is read where dbt itself runs Spark (method: session without a remote server). Here, let "
            "a sink or a streaming job fill the raw table: see docs/how-to/land-a-topic.md."
        )
    from py4j.java_gateway import JavaClass

    needed = (
        jvm.org.apache.kafka.clients.admin.AdminClient,
        jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider,
        jvm.org.apache.spark.kafka010.KafkaTokenUtil,
        jvm.org.apache.commons.pool2.impl.GenericKeyedObjectPool,
    )
    if not all(isinstance(found, JavaClass) for found in needed):
        scala = "2.13" if session.version.startswith("4.") else "2.12"
        raise LandingError(
            "Spark has no Kafka source. Add it to server_side_parameters of the profile: "
            f"spark.jars.packages: org.apache.spark:spark-sql-kafka-0-10_{scala}:{session.version}"
        )
    return jvm


def _refuse_unknown(client: Any, options: dict[str, str]) -> None:
    known = {str(name) for name in client.consumer.ConsumerConfig.configNames()}
    known |= {str(name) for name in client.admin.AdminClientConfig.configNames()}
    for name in options:
        # A listener or a provider has settings of its own.
        if name in known or re.match(r"(config\.providers(\.|$)|sasl\.oauthbearer\.|sasl\.login\.)", name):
            continue
        near = difflib.get_close_matches(name, known, 1)
        raise LandingError(
            f"argument `options` must be made of options that exist; got `kafka.{name}`. "
            + (f"Did you mean kafka.{near[0]}?" if near else "Kafka's consumer has no such setting.")
        )


def _require_variables(jvm: Any, options: dict[str, str]) -> None:
    # The client leaves an unknown variable as it is, and then complains about something else.
    for option, value in options.items():
        for name in re.findall(r"\$\{env:([^{}]*)\}", value):
            if jvm.java.lang.System.getenv(name) is None:
                raise LandingError(
                    f"`kafka.{option}` names the environment variable {name}, and dbt's process had none of "
                    "that name when its Spark started. Set it before you start dbt."
                )


@contextmanager
def _answers(servers: str) -> Iterator[None]:
    """Give what the broker, or the making of a client, has to say in one sentence, and no secret."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        name, message = _cause(error.java_exception)
        if message == _NO_HOST:
            raise LandingError(
                f"no host of kafka.bootstrap.servers is known here; got {servers}. Correct the names, or "
                "let this machine resolve them."
            ) from None
        if name == "TimeoutException":
            raise LandingError(
                f"no Kafka broker answers at {servers}. Check kafka.bootstrap.servers, "
                "kafka.security.protocol, and whether the broker is up and can be reached from here."
            ) from None
        raise LandingError(
            f"Kafka at {servers} cannot be read ({name}{': ' + message if message else ''}). Check the "
            "options of the model and the rights of its user."
        ) from None


def _cause(error: Any) -> tuple[str, str]:
    """Return the last cause of a Java exception: its class, and its message if it shows no option's value."""
    while error.getCause() is not None:
        error = error.getCause()
    name = str(error.getClass().getName())
    message = " ".join(str(error.getMessage() or "").split()).rstrip(".")
    return name.rpartition(".")[2], message if name.startswith(_SAFE) or message == _NO_HOST else ""


def _topics(jvm: Any, admin: Any, question: dict[str, Any]) -> list[str]:
    from pyspark.errors import IllegalArgumentException

    if "subscribe" in question:
        return list(question["subscribe"])
    try:
        pattern = jvm.java.util.regex.Pattern.compile(question["subscribePattern"])
    except IllegalArgumentException as error:
        raise LandingError(
            f"option subscribePattern must be a regular expression as Java has them; got "
            f"`{question['subscribePattern']}` ({str(error).splitlines()[0]}). Correct it."
        ) from None
    names = sorted(str(name) for name in admin.listTopics().names().get())
    found = [name for name in names if _TOPIC.fullmatch(name) and pattern.matcher(name).matches()]
    if not found:
        others = f"it has {', '.join(names[:3])}{', ...' if names[3:] else ''}" if names else "it shows none"
        raise LandingError(
            f"Kafka at {question['kafka']['bootstrap.servers']} has no topic whose whole name matches "
            f"`{question['subscribePattern']}`; {others}. Correct subscribePattern, or give the user of the "
            "model the right to describe the topics."
        )
    return found


def _describe(jvm: Any, admin: Any, names: list[str], servers: str) -> dict[str, Any]:
    from py4j.protocol import Py4JJavaError

    wanted = jvm.java.util.ArrayList()
    for name in names:
        wanted.add(name)
    described = {}
    for entry in admin.describeTopics(wanted).topicNameValues().entrySet():
        try:
            described[str(entry.getKey())] = entry.getValue().get()
        except Py4JJavaError as error:
            name, _ = _cause(error.java_exception)
            if name in ("UnknownTopicOrPartitionException", "InvalidTopicException"):
                raise LandingError(
                    f"Kafka at {servers} has no topic `{entry.getKey()}`. Correct the name in subscribe, or "
                    "give the user the right to describe the topic."
                ) from None
            if name == "TopicAuthorizationException":
                raise LandingError(
                    f"Kafka at {servers} does not let the model's user see the topic `{entry.getKey()}`. "
                    "Give it the rights DESCRIBE and READ."
                ) from None
            raise
    return described


def _ends(jvm: Any, admin: Any, places: list[tuple[str, int]], which: Any) -> dict[tuple[str, int], int]:
    common = jvm.org.apache.kafka.common
    asked = jvm.java.util.HashMap()
    for topic, partition in places:
        asked.put(common.TopicPartition(topic, partition), which)
    committed = jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(common.IsolationLevel.READ_COMMITTED)
    found = admin.listOffsets(asked, committed).all().get()
    return {
        (str(entry.getKey().topic()), int(entry.getKey().partition())): int(entry.getValue().offset())
        for entry in found.entrySet()
    }


def _java_map(jvm: Any, options: dict[str, str]) -> Any:
    properties = jvm.java.util.HashMap()
    for name, value in options.items():
        properties.put(name, value)
    return properties
