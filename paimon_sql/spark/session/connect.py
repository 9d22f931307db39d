"""Spark sessions with Paimon catalogs: ``connect`` starts Spark, ``install`` configures an existing session."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from paimon_sql.catalog.registry import normalized_warehouse
from paimon_sql.errors import InvalidInputError, SetupError
from paimon_sql.spark.session.attached import CATALOG_PREFIX, IMPLEMENTATION
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.session.class_archive import archive_of
from paimon_sql.spark.session.notebook import in_notebook, show_in_notebook
from paimon_sql.sql.text.secrets import SECRET_NAMES

DEFAULT_CATALOG = "paimon"
DEFAULT_WAREHOUSE = "warehouse"
_WAREHOUSE = f"{CATALOG_PREFIX}{DEFAULT_CATALOG}.warehouse"
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
_NOTEBOOK_SETTINGS = {"spark.sql.repl.eagerEval.enabled": "true", "spark.sql.repl.eagerEval.truncate": "200"}
"""A DataFrame as the last line of a cell is displayed as a table of its first rows."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


def connect(warehouse: str | os.PathLike[str] | None = None, **spark_conf: object) -> SparkSession:
    """Start an embedded Spark, or join a running one, with the catalog ``paimon`` over a warehouse directory.

    The catalog is the current one, and its database ``default`` exists. Calls with other warehouses in one process
    return separate sessions in the same Spark.

    Args:
        warehouse: a directory or URI; ``./warehouse`` by default. It is created if it does not exist.
        **spark_conf: Spark's settings by name, for example ``**{"spark.sql.shuffle.partitions": "4"}``;
            ``spark.sql.catalog.<name>.<option>`` adds further catalogs.

    Raises:
        SetupError: Java or PySpark is missing or too old.
        InvalidInputError: a name is not a setting of Spark, or Spark runs already and accepts it only at its start.
    """
    settings = {k: str(v) for k, v in spark_conf.items()}
    if foreign := [key for key in settings if not key.startswith("spark.")]:
        raise InvalidInputError(
            f"'{foreign[0]}' is not a setting of Spark, which would ignore it.",
            remedy=f"Names of settings begin with spark., as in **{{'spark.{foreign[0]}': …}}.",
        )
    prefix = f"{CATALOG_PREFIX}{DEFAULT_CATALOG}."
    path = normalized_warehouse(
        warehouse if warehouse is not None else settings.get(_WAREHOUSE, DEFAULT_WAREHOUSE),
        {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)},
    )
    settings |= {_WAREHOUSE: path}
    settings.setdefault(CATALOG_PREFIX + DEFAULT_CATALOG, IMPLEMENTATION)
    settings.setdefault("spark.sql.defaultCatalog", DEFAULT_CATALOG)
    if in_notebook():
        settings = _NOTEBOOK_SETTINGS | settings
    running = SparkContext._active_spark_context
    session = _join(running, settings) if running is not None else _start(settings)
    return install(session)


def install(spark: SparkSession, catalogs: Mapping[str, Mapping[str, str]] | None = None) -> SparkSession:
    """Add Paimon's catalogs, SQL and procedures to a session, and to every session created from it.

    Args:
        spark: any classic session.
        catalogs: options by catalog name; they override the session's settings
            ``spark.sql.catalog.<name>.<option>``. A catalog named in neither is not changed.

    Returns:
        The same session.
    """
    check_pyspark()
    for name, options in (catalogs or {}).items():
        spark.conf.set(CATALOG_PREFIX + name, IMPLEMENTATION)
        for key, value in options.items():
            spark.conf.set(f"{CATALOG_PREFIX}{name}.{key}", str(value))
    Bridge.of(spark.sparkContext).attach(spark._jsparkSession)
    # PySpark logs each failing statement as a JSON line with its Java stack, in addition to raising the error.
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    show_in_notebook()
    return spark


def _start(settings: dict[str, str]) -> SparkSession:
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


def _join(running: SparkContext, settings: dict[str, str]) -> SparkSession:
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


OLDEST_JAVA = 17
OLDEST_PYSPARK = (4, 1)
FIRST_UNKNOWN_PYSPARK = (5, 0)


def check_pyspark(version: str = pyspark.__version__) -> None:
    """Check that the version of PySpark is supported.

    Raises:
        SetupError: it is too old or too new.
    """
    found = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if not OLDEST_PYSPARK <= found < FIRST_UNKNOWN_PYSPARK:
        raise SetupError(
            f"PySpark {version} is not supported: paimon-sql needs 4.1 or newer, and older than 5.",
            remedy='Run: pip install "pyspark>=4.1,<5".',
        )


def check_java() -> str:
    """The Java executable that Spark would start, which is new enough.

    Raises:
        SetupError: there is no Java, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = (
        "Install a JDK of 17 or newer (for example: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one."
    )
    if java is None or not Path(java).exists():
        problem = f"JAVA_HOME is {home}, but there is no bin/java in it." if home else "There is no java on the PATH."
        raise SetupError(f"Spark needs Java {OLDEST_JAVA} or newer. {problem}", remedy=remedy)
    version = java_version(java)
    if version is not None and version < OLDEST_JAVA:
        raise SetupError(f"Spark needs Java {OLDEST_JAVA} or newer, but {java} is Java {version}.", remedy=remedy)
    return java


def java_version(java: str) -> int | None:
    """Return the major version of a Java executable; None if it is unknown."""
    release = Path(java).resolve().parent.parent / "release"
    found = re.search(r'JAVA_VERSION="([\d.]+)', release.read_text()) if release.exists() else None
    if found is None:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
        found = re.search(r'version "([\d.]+)', output)
    # Java 8 and older have versions such as 1.8.
    return None if found is None else int(found[1].removeprefix("1.").split(".")[0])


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
