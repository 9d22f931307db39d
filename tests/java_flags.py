"""What JVMs of tests are started with."""

from __future__ import annotations

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For queries that are many and short: compiling each thoroughly took half of their processors' time."""
