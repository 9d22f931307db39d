"""Threads of the JVM that have called Python leave nothing behind."""

from __future__ import annotations

import threading
import time

from pyspark.sql import SparkSession

from paimon_sql.spark.jvm.callbacks import release_idle_connections
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.session.bridge import Bridge


class Errand(Proxy):
    """What a thread of the JVM runs."""

    done = 0

    def run(self) -> None:
        Errand.done += 1

    implements = ["java.lang.Runnable"]


def run_threads(jvm: Jvm, number: int) -> None:
    threads = [jvm.new("java.lang.Thread", Errand(jvm)) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_connections_of_threads_that_have_ended_are_closed(spark: SparkSession) -> None:
    jvm = Bridge.of(spark.sparkContext).jvm
    release_idle_connections(jvm)
    before = threading.active_count()
    run_threads(jvm, 20)
    assert Errand.done == 20
    assert threading.active_count() >= before + 15
    release_idle_connections(jvm)
    run_threads(jvm, 1)
    until = time.monotonic() + 60
    while threading.active_count() > before + 5 and time.monotonic() < until:
        jvm.cls("java.lang.System").gc()
        time.sleep(0.2)
    assert threading.active_count() <= before + 5
    assert spark.sql("SELECT count(*) FROM range(3)").collect()[0][0] == 3
