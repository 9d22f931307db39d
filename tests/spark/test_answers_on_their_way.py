"""What Python answers reaches the JVM, however late the answer and however quick Python's garbage collection."""

from __future__ import annotations

import gc
import time
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.session.bridge import Bridge

_LATE = 2.5
"""Seconds: Py4J tells the JVM of collected objects every second."""


class Question(Proxy):
    """Answers with a new Java object, which nobody else holds, or with an error."""

    fails = False

    def call(self) -> Any:
        if self.fails:
            raise ValueError("no answer")
        return self.jvm.new("java.lang.StringBuilder", "seven")

    implements = ["java.util.concurrent.Callable"]


@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_outlives_its_journey(fails: bool, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = ClientServerConnection._call_proxy

    def late(self: Any, *arguments: Any) -> Any:
        answer = answered(self, *arguments)
        gc.collect()
        time.sleep(_LATE)
        return answer

    jvm = Bridge.of(spark.sparkContext).jvm
    question = Question(jvm)
    question.fails = fails
    asked = jvm.new("java.util.concurrent.FutureTask", question)
    monkeypatch.setattr(ClientServerConnection, "_call_proxy", late)
    asked.run()
    monkeypatch.undo()
    if fails:
        with pytest.raises(Py4JJavaError, match="ValueError: no answer"):
            asked.get()
    else:
        assert asked.get().toString() == "seven"
