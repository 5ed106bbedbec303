"""What the plugin says for `cdc_landing` where there is no Kafka to ask; tests/integration/test_landing.py asks a broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_spark_cdc.kafka import LandingError, offsets_query, one_sentence, question_in
from dbt_spark_cdc.macros import CompilerError, MacroLibrary

VIEW = "_cdc_landing_kafka_" + "0" * 32
OPTIONS = {"kafka.bootstrap.servers": "kafka:9092", "subscribe": "shop"}


class NoClasses:
    """A JVM without a jar: each name is a package."""

    def __getattr__(self, name: str) -> Any:
        return NoClasses()


def test_a_question_is_read_as_the_macro_writes_it() -> None:
    sql = (
        r"""/* by dbt */ select * from spark_cdc_kafka_offsets('{"kafka": {"a": "\u0024{env:A}"}, "subscribePattern": """
        r""""it\'s a \\\\d"}')"""
    )
    assert question_in(sql) == {"kafka": {"a": "${env:A}"}, "subscribePattern": "it's a \\d"}
    assert question_in("select 1") is None


def test_a_missing_jar_is_named_for_the_running_spark() -> None:
    session = SimpleNamespace(_sc=None, _jvm=NoClasses(), version="4.1.3")
    with pytest.raises(
        LandingError, match=r"spark\.jars\.packages: org\.apache\.spark:spark-sql-kafka-0-10_2\.13:4\.1\.3$"
    ):
        offsets_query(session, {"kafka": {}, "subscribe": ["shop"]})


def test_a_session_without_a_jvm_is_said() -> None:
    with pytest.raises(LandingError, match="method: session without a remote server"):
        offsets_query(SimpleNamespace(), {"kafka": {}, "subscribe": ["shop"]})


def test_an_error_of_kafka_is_one_sentence() -> None:
    java = (
        "Job aborted.\n\tat java.base/java.lang.Thread.run\nCaused by: java.util.concurrent.TimeoutException: "
        "Cannot fetch record for offset 3 in 2000 milliseconds\n\tat org.apache.spark"
    )
    with pytest.raises(LandingError) as said, one_sentence(f"insert into t select * from {VIEW}"):
        raise RuntimeError(java)
    assert (
        "(TimeoutException: Cannot fetch record for offset 3 in 2000 milliseconds). Nothing was written."
        in str(said.value)
    )
    assert "\n" not in said.value.msg


@pytest.mark.parametrize("sql", ["select 1", f"insert into t select * from {VIEW}"])
def test_another_error_stays_as_it_is(sql: str) -> None:
    with pytest.raises(RuntimeError, match=r"^no space left$"), one_sentence(sql):
        raise RuntimeError("no space left")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (None, "must be a mapping of texts"),
        ({"subscribe": "shop"}, "a mapping with kafka.bootstrap.servers"),
        (OPTIONS | {"subscribePattern": "x"}, "got both"),
        ({"kafka.bootstrap.servers": "kafka:9092"}, "got neither"),
        (OPTIONS | {"subscribe": "a*"}, "A regular expression is subscribePattern"),
        (OPTIONS | {"minpartitions": "3"}, "got `minpartitions`"),
        (OPTIONS | {"maxOffsetsPerTrigger": "0"}, "a whole number above 0"),
        (OPTIONS | {"maxOffsetsPerTrigger": 5}, "must be a mapping of texts"),
        (OPTIONS | {"startingOffsets": '{"shop": {"0": -1}}'}, "Offsets are whole numbers"),
        (OPTIONS | {"startingOffsets": '{"shop": 3}'}, "Offsets are whole numbers"),
        (OPTIONS | {"startingOffsets": "newest"}, "Offsets are whole numbers"),
        (OPTIONS | {"failOnDataLoss": "false"}, "Remove it"),
    ],
)
def test_wrong_options_are_named(library: MacroLibrary, options: Any, said: str) -> None:
    with pytest.raises(
        CompilerError, match=r"spark_cdc\.kafka_messages: argument `options` must be"
    ) as refused:
        library.call("_require_kafka_options", options)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka.sasl.jaas.config", 'x.PlainLoginModule required username="u" password="SECRET";'),
        ("kafka.sasl.jaas.config", "x.OAuthBearerLoginModule required clientId='u' clientSecret='SECRET';"),
        ("kafka.sasl.jaas.config", "x.ScramLoginModule required username=u password=SECRET;"),
        ("kafka.sasl.jaas.config", 'x.PlainLoginModule required username="u" password="$SECRET";'),
        ("kafka.sasl.jaas.config", 'x.PlainLoginModule required username="u" password="${env:A}SECRET";'),
        ("kafka.sasl.jaas.config", 'x.LoginModule required apiKey="SECRET";'),
        ("kafka.ssl.keystore.password", "SECRET"),
        ("kafka.ssl.key.password", "SECRET${env:A}"),
        ("kafka.ssl.keystore.key", "SECRET"),
    ],
)
def test_a_secret_that_is_written_out_is_an_error_that_does_not_show_it(
    library: MacroLibrary, name: str, value: str
) -> None:
    with pytest.raises(CompilerError) as refused:
        library.call("_require_kafka_options", OPTIONS | {name: value})
    assert name in str(refused.value)
    assert "SECRET" not in str(refused.value)


def test_references_are_allowed_in_the_place_of_secrets(library: MacroLibrary) -> None:
    login = 'x.PlainLoginModule required username="u" password="${file:/run/secrets/kafka:password}";'
    kerberos = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/etc/u.keytab";'
    for name, value in [
        ("kafka.sasl.jaas.config", login),
        ("kafka.sasl.jaas.config", login.replace("password=", "password = ")),
        ("kafka.sasl.jaas.config", "${env:KAFKA_LOGIN}"),
        ("kafka.sasl.jaas.config", kerberos),
        ("kafka.ssl.key.password", "${dir:/run/secrets:key}"),
    ]:
        library.call("_require_kafka_options", OPTIONS | {name: value})


def test_a_limit_is_shared_by_what_each_partition_has_to_read(library: MacroLibrary) -> None:
    ranges = [
        {"topic": "shop", "partition": 0, "from": 10, "to": 100},
        {"topic": "shop", "partition": 1, "from": 0, "to": 9},
        {"topic": "shop", "partition": 2, "from": 5, "to": 6},
    ]
    limited = library.call("_limited", ranges, "50")
    assert [(part["from"], part["to"]) for part in limited] == [(10, 55), (0, 4), (5, 6)]
    assert library.call("_limited", ranges, "100") == ranges
    assert library.call("_limited", ranges, None) == ranges
