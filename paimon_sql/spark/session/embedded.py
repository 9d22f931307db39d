"""Embedded Spark: the JVM that this process starts, and its settings."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import deque
from pathlib import Path

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from paimon_sql.catalog.registry import CATALOG_PREFIX
from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.session.class_archive import archive_of
from paimon_sql.spark.session.prerequisites import check_java, check_pyspark
from paimon_sql.sql.text.secrets import SECRET_NAMES

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_EXECUTORS_JAVA_OPTIONS = "spark.executor.extraJavaOptions"
_PYTHON = "spark.pyspark.python"
_LOCAL = "local[*]"
_LOOPBACK = "127.0.0.1"
_BIND = "spark.driver.bindAddress"
_BIND_VARIABLE = "SPARK_LOCAL_IP"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable that spark-submit sets for its program; Spark's settings are then in its JVM already."""
_UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Spark checks for null before it reads a value from Arrow, so that Arrow need not check again."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


def start_spark(settings: dict[str, str]) -> SparkSession:
    """Start a JVM with Spark, with these settings over our defaults, and return its session.

    Raises:
        SetupError: Java or PySpark is missing or too old.
    """
    check_pyspark()
    archive = archive_of(check_java()).options()
    # Spark starts this interpreter on other machines, so a setting takes precedence over ours.
    os.environ.setdefault("PYSPARK_PYTHON", settings.get(_PYTHON, sys.executable))
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
    conf = SparkConf()
    given = {**dict(conf.getAll()), **settings}
    master = given.get("spark.master", _LOCAL)
    defaults = _defaults(master)
    if _is_local(master):
        # Spark's web UI has no setting for its address, and listens on all interfaces by default.
        os.environ.setdefault(_BIND_VARIABLE, given.get(_BIND, _LOOPBACK))
    # Java options of the user must not restore Spark's own log configuration.
    java = {key: f"{defaults[key]} {given.get(key, '')}".strip() for key in (_JAVA_OPTIONS, _EXECUTORS_JAVA_OPTIONS)}
    java[_JAVA_OPTIONS] = f"{archive} {java[_JAVA_OPTIONS]}".strip()
    conf.setAll(list((defaults | given | java).items()))
    if SparkContext._gateway is None:
        SparkContext._ensure_initialized(gateway=launch_jvm(_without_catalogs(conf)))
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _without_catalogs(conf: SparkConf) -> SparkConf:
    """The settings without those of catalogs, which the JVM gets when the session is created.

    They are passed on the JVM's command line, which all users of the machine can read.
    """
    result = SparkConf(loadDefaults=False)
    return result.setAll([(k, v) for k, v in conf.getAll() if not k.startswith(CATALOG_PREFIX)])


def join_spark(running: SparkContext, settings: dict[str, str]) -> SparkSession:
    """Return a new session of a running Spark, with these settings.

    Raises:
        InvalidInputError: Spark accepts a setting only at its start.
    """
    session = SparkSession(running).newSession()
    for key, value in settings.items():
        if session.conf.get(key, None) == value:
            continue
        if not key.startswith((CATALOG_PREFIX, "spark.paimon.")) and not session.conf.isModifiable(key):
            raise InvalidInputError(
                f"Spark is already running, so {key} can no longer be set to '{value}'.",
                remedy="Set it in the first connect() of the process.",
            )
        session.conf.set(key, value)
    return session


def _is_local(master: str) -> bool:
    """Whether Spark runs in one process, without connections from other machines."""
    return master == "local" or master.startswith("local[")


def _defaults(master: str) -> dict[str, str]:
    # On a cluster, Spark's own default number of tasks applies.
    local = {"spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2))} if _is_local(master) else {}
    # A driver that listens on the network accepts messages without authentication.
    if _is_local(master) and _BIND_VARIABLE not in os.environ:
        local |= {"spark.driver.host": _LOOPBACK, _BIND: _LOOPBACK}
    return {
        "spark.master": _LOCAL,
        "spark.python.daemon.module": "paimon_sql.spark.session.daemon",
        "spark.app.name": "paimon-sql",
        "spark.driver.memory": "4g",
        **local,
        "spark.ui.showConsoleProgress": "false",
        "spark.log.structuredLogging.enabled": "false",
        "spark.redaction.regex": SECRET_NAMES,
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {_UNCHECKED}",
        _EXECUTORS_JAVA_OPTIONS: _UNCHECKED,
    }


_EXPECTED = re.compile(
    r"""WARNING:\ (Using\ incubator\ modules | A\ restricted\ method | A\ terminally\ deprecated\ method
                 | java\.lang | sun\.misc | Use\ --enable-native-access | Restricted\ methods | package\ sun
                 | Please\ consider\ reporting)
      | Picked\ up\ \w+: | NOTE:\ Picked\ up
      | Using\ Spark's\ default\ log4j
      | Setting\ default\ log\ level\ to
      | To\ adjust\ logging\ level
    """,
    re.VERBOSE,
)
_UNCAUGHT = re.compile(r'^Exception in thread "\w+" (?:[\w.$]+: )?')
_MAX_LINES = 60


def launch_jvm(conf: SparkConf) -> JavaGateway:
    """Start a JVM that runs Spark's driver and return its gateway; its standard error is forwarded to ours.

    Lines are buffered until the JVM answers, then forwarded immediately. Lines that Spark prints at every start are
    dropped.

    Raises:
        SetupError: the JVM ended before it answered; the message contains its output.
    """
    reading, writing = os.pipe()
    lines = _Lines()
    pump = threading.Thread(target=lines.pump, args=(reading,), name="spark-stderr", daemon=True)
    pump.start()
    try:
        gateway = launch_gateway(conf, {"stderr": writing})
    except PySparkRuntimeError as error:
        os.close(writing)
        pump.join(timeout=5)
        output = "\n".join(_UNCAUGHT.sub("", line) for line in lines.held if not line.startswith("\tat ")) or str(error)
        raise SetupError(
            f"The JVM that runs Spark ended before it was ready. Output:\n{output}",
            remedy="Check JAVA_HOME, SPARK_HOME, the memory settings and the Java options.",
        ) from None
    except BaseException:
        os.close(writing)
        raise
    os.close(writing)
    lines.release()
    return gateway


class _Lines:
    """The lines of the JVM's standard error; thread-safe."""

    def __init__(self) -> None:
        self.held: deque[str] = deque(maxlen=_MAX_LINES)
        self._open = False
        self._lock = threading.Lock()

    def pump(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if _EXPECTED.match(line):
                    continue
                with self._lock:
                    if self._open:
                        _forward(line)
                    else:
                        self.held.append(line.rstrip("\n"))

    def release(self) -> None:
        with self._lock:
            self._open = True
            for line in self.held:
                _forward(line + "\n")
            self.held.clear()


def _forward(line: str) -> None:
    # It is None in a process without standard error, and during interpreter shutdown.
    if sys.stderr is not None:
        sys.stderr.write(line)
        sys.stderr.flush()
