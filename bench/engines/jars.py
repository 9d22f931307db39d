"""Jars by name from Maven Central, fetched once by Spark itself and kept beside the environment of the peers."""

from __future__ import annotations

import sys
from pathlib import Path


def jar_settings(coordinates: str) -> dict[str, str]:
    """Spark's settings that put a jar, with what it needs, on the class path."""
    return {"spark.jars.packages": coordinates, "spark.jars.ivy": str(Path(sys.prefix) / "ivy")}
