"""Launch of Spark's JVM: filters its usual log lines, and raises one clear error if it does not start."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import deque
from typing import Any

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from paimon_sql.errors import SetupError

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


def launch_jvm(conf: SparkConf) -> Any:
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
            f"The JVM that runs Spark ended before it was ready. It said:\n{output}",
            remedy="Look at JAVA_HOME, SPARK_HOME, the memory settings and the Java options.",
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
