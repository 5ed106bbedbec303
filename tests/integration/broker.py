"""A real Kafka broker for tests: one node on this machine, from the jars in .jars/kafka, and what tests do with it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
from harness import KAFKA_JARS, KAFKA_PASSWORD, KAFKA_USER, REPOSITORY

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

JARS = REPOSITORY / ".jars" / "kafka-broker"
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},SASL_PLAINTEXT://127.0.0.1:{sasl}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
log.dirs={folder}/data
num.network.threads=1
num.io.threads=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
log.retention.ms=-1
"""


@dataclass
class Broker:
    """A broker process and its addresses; `jvm` is that of Spark, whose Kafka client the tests use."""

    folder: Path
    ports: dict[str, int] = field(default_factory=dict)
    _process: subprocess.Popen | None = None

    @staticmethod
    def can_start() -> bool:
        """Whether `make` could fetch the jars."""
        return JARS.is_dir() and bool(KAFKA_JARS) and shutil.which("java") is not None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.ports['plain']}"

    @property
    def sasl_servers(self) -> str:
        return f"127.0.0.1:{self.ports['sasl']}"

    def start(self) -> Broker:
        """Start it, once more with the same data if it was stopped, and wait until it answers."""
        settings = self.folder / "server.properties"
        if not settings.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self.ports = {name: free_port() for name in ("plain", "controller", "sasl")}
            settings.write_text(
                SETTINGS.format(**self.ports, folder=self.folder, user=KAFKA_USER, password=KAFKA_PASSWORD)
            )
            name = ["-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(settings)]
            self._java("kafka.tools.StorageTool", "format", *name).wait(timeout=60)
        self._process = self._java("kafka.Kafka", str(settings))
        wait_for_port(self.ports["sasl"], self._process, self.folder / "kafka.log")
        return self

    def stop(self, suddenly: bool = False) -> None:
        """End it."""
        if self._process is not None:
            (self._process.kill if suddenly else self._process.terminate)()
            self._process.wait(timeout=60)
            self._process = None

    def _java(self, *arguments: str) -> subprocess.Popen:
        log = (self.folder / "kafka.log").open("a")
        # Spark's resolver leaves Scala's own library out, because Spark has it.
        [scala] = (Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")
        options = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return subprocess.Popen(
            ["java", *options, *arguments],
            env=os.environ | {"CLASSPATH": f"{JARS}/*{os.pathsep}{scala}"}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip


def needs_broker() -> pytest.MarkDecorator:
    """Mark tests of a broker. `make` goes on if Maven cannot be reached: all other tests need no broker."""
    import pytest  # not above: the processes that `make torture` kills need none

    return pytest.mark.skipif(
        not Broker.can_start(), reason="the jars of a Kafka broker could not be fetched"
    )


class Client:
    """What producers and administrators do, through the Kafka client of Spark's JVM."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._gateway, self._jvm, self._servers = spark.sparkContext._gateway, spark._jvm, servers
        self._admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(self._map({}))
        self._plain = self._producer({})

    def close(self) -> None:
        self._plain.close(self._jvm.java.time.Duration.ofSeconds(1))
        self._admin.close(self._jvm.java.time.Duration.ofSeconds(1))

    def create(self, topic: str, partitions: int = 1) -> None:
        """Create a topic."""
        new = self._jvm.org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1)
        self._admin.createTopics(self._list([new])).all().get()
        self._until(lambda: topic in {str(name) for name in self._admin.listTopics().names().get()})
        # A producer that asks before may wait for the leader of a partition until it gives up.
        self._until(lambda: self._has_leaders(topic))

    def _has_leaders(self, topic: str) -> bool:
        found = self._admin.describeTopics(self._list([topic])).allTopicNames().get().get(topic)
        leaders = [partition.leader() for partition in found.partitions()]
        return all(leader is not None and leader.id() >= 0 for leader in leaders)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.deleteTopics(self._list([topic])).all().get()
        self._until(lambda: topic not in {str(name) for name in self._admin.listTopics().names().get()})

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Let a topic have so many partitions."""
        asked = self._jvm.java.util.HashMap()
        asked.put(topic, self._jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions))
        self._admin.createPartitions(asked).all().get()

    def let_describe(self, topic: str, user: str) -> None:
        """Let one user describe a topic: nobody who logs in has another right to it then."""
        acl, resource = self._jvm.org.apache.kafka.common.acl, self._jvm.org.apache.kafka.common.resource
        pattern = resource.ResourcePattern(resource.ResourceType.TOPIC, topic, resource.PatternType.LITERAL)
        entry = acl.AccessControlEntry(
            f"User:{user}", "*", acl.AclOperation.DESCRIBE, acl.AclPermissionType.ALLOW
        )
        self._admin.createAcls(self._list([acl.AclBinding(pattern, entry)])).all().get()

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        """What retention does: the log of a partition begins at this offset."""
        # By reflection: py4j takes its static method for the one of its instances, which has the same name.
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        to_delete = loader.loadClass("org.apache.kafka.clients.admin.RecordsToDelete")
        types = self._gateway.new_array(self._jvm.java.lang.Class, 1)
        types[0] = self._jvm.java.lang.Long.TYPE
        arguments = self._gateway.new_array(self._jvm.java.lang.Object, 1)
        arguments[0] = before
        asked = self._jvm.java.util.HashMap()
        asked.put(
            self._jvm.org.apache.kafka.common.TopicPartition(topic, partition),
            to_delete.getMethod("beforeOffset", types).invoke(None, arguments),
        )
        self._admin.deleteRecords(asked).all().get()

    def produce(self, topic: str, values: Iterable[str | None], partition: int = 0, **more: Any) -> None:
        """Write messages to a partition; `more` has their key, headers and time. A message that Kafka refused is an error."""
        sent = [self._plain.send(self._record(topic, partition, value, **more)) for value in values]
        self._plain.flush()
        for message in sent:
            message.get()

    def transaction(self, topic: str, values: Iterable[str], is_committed: bool = True) -> None:
        """Write messages in a transaction and commit or abort it."""
        producer = self.open_transaction(topic, values, name="of")
        (producer.commitTransaction if is_committed else producer.abortTransaction)()
        producer.close()

    def open_transaction(self, topic: str, values: Iterable[str], name: str = "open") -> Any:
        """Write messages in a transaction and return its producer."""
        producer = self._producer({"transactional.id": f"{name}-{topic}"})
        producer.initTransactions()
        producer.beginTransaction()
        for value in values:
            producer.send(self._record(topic, 0, value))
        producer.flush()
        return producer

    def _record(
        self,
        topic: str,
        partition: int,
        value: str | None,
        key: str | None = None,
        headers: dict | None = None,
        milliseconds: int | None = None,
    ) -> Any:
        record = self._jvm.org.apache.kafka.clients.producer.ProducerRecord(
            topic, partition, milliseconds, self._bytes(key), self._bytes(value)
        )
        for name, text in (headers or {}).items():
            record.headers().add(name, self._bytes(text))
        return record

    def _bytes(self, text: str | None) -> Any:
        return None if text is None else text.encode()

    def _producer(self, options: dict[str, str]) -> Any:
        serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
        both = {"key.serializer": serializer, "value.serializer": serializer}
        return self._jvm.org.apache.kafka.clients.producer.KafkaProducer(self._map(both | options))

    def _map(self, options: dict[str, str]) -> Any:
        properties = self._jvm.java.util.HashMap()
        for name, value in ({"bootstrap.servers": self._servers} | options).items():
            properties.put(name, value)
        return properties

    def _list(self, values: list[Any]) -> Any:
        filled = self._jvm.java.util.ArrayList()
        for value in values:
            filled.add(value)
        return filled

    @staticmethod
    def _until(holds: Any) -> None:
        for _ in range(100):
            if holds():
                return
            time.sleep(0.05)
        raise AssertionError("the broker did not do it")


def wait_for_port(port: int, process: subprocess.Popen, log: Path, seconds: int = 60) -> None:
    """Wait until a server takes connections; fail with the end of its log if it does not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, log.read_text()[-3000:]
        time.sleep(0.25)
    raise AssertionError(log.read_text()[-3000:])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
