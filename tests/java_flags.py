"""What JVMs of tests are started with."""

from __future__ import annotations

QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m -XX:+UseSerialGC"
"""For queries that are many and short: compiling each thoroughly took half of their processors' time.

Such compilation has little room by default: a JVM of hundreds of tests compiled the same again and again.
"""
