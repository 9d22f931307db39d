"""The JVM's log: one line per error, in the format that a server's own log has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.session.embedded import _LOGGING

PROPERTY = "paimon.log.format"
CORE = "org.apache.logging.log4j.core"


@pytest.fixture
def line(spark: SparkSession) -> Iterator[Callable[[str], str]]:
    """Formats an error of the JVM by our configuration, with a value of the property."""
    jvm = Bridge.of(spark.sparkContext).jvm
    system = jvm.cls("java.lang.System")

    def format_error(form: str) -> str:
        if form:
            system.setProperty(PROPERTY, form)
        source = jvm.new(f"{CORE}.config.ConfigurationSource", jvm.new("java.io.FileInputStream", str(_LOGGING)))
        factory = jvm.new(f"{CORE}.config.properties.PropertiesConfigurationFactory")
        configuration = factory.getConfiguration(jvm.new(f"{CORE}.LoggerContext", "test"), source)
        configuration.initialize()
        message = jvm.new("org.apache.logging.log4j.message.SimpleMessage", 'It "failed"\n\u001b[31m')
        event = (
            jvm.cls(f"{CORE}.impl.Log4jLogEvent").newBuilder().setLoggerName("org.apache.spark.Thing")
            .setLevel(jvm.cls("org.apache.logging.log4j.Level").ERROR).setMessage(message)
            .setThrown(jvm.new("java.lang.IllegalStateException", "by chance")).setTimeMillis(1_700_000_000_123)
        ).build()  # fmt: skip
        return str(configuration.getAppender("console").getLayout().toSerializable(event))

    yield format_error
    system.clearProperty(PROPERTY)


def test_a_shell_shows_errors_for_people(line: Callable[[str], str]) -> None:
    assert re.match(r"\d\d:\d\d:\d\d ERROR Thing: It", line(""))


def test_a_server_shows_errors_in_its_format(line: Callable[[str], str]) -> None:
    found = json.loads(line("json"))
    assert found["time"] == "2023-11-14T22:13:20.123Z" and found["level"] == "error"
    assert found["logger"] == "org.apache.spark.Thing" and found["message"] == 'It "failed"\n\u001b[31m: by chance'
    text = line("logfmt")
    assert text.startswith("time=2023-11-14T22:13:20.123Z level=error logger=org.apache.spark.Thing message=")
    assert json.loads(text.partition("message=")[2]) == found["message"] and text.count("\n") == 1
