"""What JVMs of tests are started with."""

from __future__ import annotations

import sys
from pathlib import Path

QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m -XX:+UseSerialGC"
"""For queries that are many and short: compiling each thoroughly took half of their processors' time.

Such compilation has little room by default: a JVM of hundreds of tests compiled the same again and again.
"""
CLASS_ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
"""Where ``tests.class_archive`` keeps Spark's classes, from which a JVM starts in half its processor time."""
SILENT = "-Xlog:disable -Xlog:all=error:stderr"
"""Classes that cannot be archived, and archives that do not fit (another Java, other jars), are no news."""


def archived() -> str:
    """What lets Spark's JVMs use the archive of classes; nothing if it was not written."""
    return f"-XX:SharedArchiveFile={CLASS_ARCHIVE} {SILENT}" if CLASS_ARCHIVE.is_file() else ""
