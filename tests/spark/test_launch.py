"""The start of the JVM: its usual lines are left out, its errors are not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError

from paimon_sql.errors import SetupError
from paimon_sql.spark.session import embedded

USUAL = b"""WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
Setting default log level to "WARN".
To adjust logging level use sc.setLogLevel(newLevel).
Picked up JAVA_TOOL_OPTIONS: -Xss4m
"""


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Starts a JVM that is a function: it is given the descriptor of its standard error."""

    def start(body: Callable[[int], Any]) -> Any:
        monkeypatch.setattr(embedded, "launch_gateway", lambda _, how: body(how["stderr"]))
        return embedded.launch_jvm(SparkConf(loadDefaults=False))

    return start


def test_what_spark_always_says_is_left_out(jvm: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    def body(stderr: int) -> str:
        os.write(stderr, USUAL + b"10:00:00 ERROR Disk: it is full\n" + USUAL)
        return "gateway"

    assert jvm(body) == "gateway"
    assert _awaited(capsys) == "10:00:00 ERROR Disk: it is full\n"


def test_lines_are_passed_on_as_long_as_the_jvm_lives(
    jvm: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    copy: list[int] = []
    jvm(lambda stderr: copy.append(os.dup(stderr)))
    os.write(copy[0], "später\n".encode())
    assert _awaited(capsys) == "später\n"
    os.close(copy[0])


def test_a_jvm_that_does_not_start_is_one_error_with_what_it_said(
    jvm: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    def body(stderr: int) -> None:
        os.write(stderr, USUAL)
        os.write(
            stderr, b'Exception in thread "main" org.apache.spark.SparkException: No such master\n\tat a.b.C(D.java)\n'
        )
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    with pytest.raises(SetupError) as refused:
        jvm(body)
    assert refused.value.message == "The JVM that runs Spark ended before it was ready. Output:\nNo such master"
    assert capsys.readouterr().err == ""


def _awaited(capsys: pytest.CaptureFixture[str]) -> str:
    for _ in range(100):
        if text := capsys.readouterr().err:
            return text
        time.sleep(0.02)
    return ""
