"""Start the JVM of Spark without the lines that it always says, and with one clear error when it does not start."""

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
_REMEMBERED = 60


def launch_jvm(conf: SparkConf) -> Any:
    """The gateway to a new JVM that runs Spark's driver; what it writes on standard error goes to ours.

    Until the JVM answers its lines are held back, afterwards each is passed on at once. Lines that a sound Spark
    writes at every start are left out.

    Raises:
        SetupError: the JVM ended before it answered; the message holds what it said.
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
        said = "\n".join(_UNCAUGHT.sub("", line) for line in lines.held if not line.startswith("\tat ")) or str(error)
        raise SetupError(
            f"The JVM that runs Spark ended before it was ready. It said:\n{said}",
            remedy="Look at JAVA_HOME, SPARK_HOME, the memory settings and the Java options.",
        ) from None
    except BaseException:
        os.close(writing)
        raise
    os.close(writing)
    lines.release()
    return gateway


class _Lines:
    """The lines that the JVM writes on standard error, from whichever thread reads them."""

    def __init__(self) -> None:
        self.held: deque[str] = deque(maxlen=_REMEMBERED)
        self._open = False
        self._lock = threading.Lock()

    def pump(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if _EXPECTED.match(line):
                    continue
                with self._lock:
                    if self._open:
                        _pass_on(line)
                    else:
                        self.held.append(line.rstrip("\n"))

    def release(self) -> None:
        with self._lock:
            self._open = True
            for line in self.held:
                _pass_on(line + "\n")
            self.held.clear()


def _pass_on(line: str) -> None:
    # It is None in a process that has no standard error, and while the interpreter ends.
    if sys.stderr is not None:
        sys.stderr.write(line)
        sys.stderr.flush()
