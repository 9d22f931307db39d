"""Checks of the machine: Python and its packages, Java, Spark, space on the disk."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import paimon_sql
from paimon_sql.shell.doctor.base import Check, Finding, Place, State

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*>=\s*([\d.]+)")
_MIN_FREE_BYTES = 1 << 30


class PythonCheck(Check):
    """Python, and the versions of the packages that paimon-sql needs."""

    name = "python"

    def findings(self, place: Place) -> Iterator[Finding]:
        old = [found for found in map(_too_old, metadata.requires("paimon-sql") or ()) if found is not None]
        for found in old:
            yield Finding(State.FAILED, found, "pip install --upgrade paimon-sql")
        if not old:
            versions = f"paimon-sql {paimon_sql.__version__}, pyarrow {metadata.version('pyarrow')}"
            yield Finding(State.OK, f"Python {platform.python_version()} on {platform.platform()}, {versions}")


def _too_old(requirement: str) -> str | None:
    """What is wrong with an installed package; None if nothing is, or if it is only for an extra."""
    match = _REQUIREMENT.match(requirement)
    if match is None or ";" in requirement:
        return None
    name, bound = match.groups()
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    return None if _numbers(version) >= _numbers(bound) else f"{name} {version} is older than {bound}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


class JavaCheck(Check):
    """A Java that Spark runs on."""

    name = "java"

    def findings(self, place: Place) -> Iterator[Finding]:
        from paimon_sql.spark.session.prerequisites import check_java, java_version

        java = check_java()
        yield Finding(State.OK, f"Java {java_version(java)}, {java}")


class PySparkCheck(Check):
    """A supported PySpark, and no other Spark that would be started in its place."""

    name = "pyspark"

    def findings(self, place: Place) -> Iterator[Finding]:
        import pyspark

        from paimon_sql.spark.session.prerequisites import check_pyspark

        check_pyspark()
        home, own = os.environ.get("SPARK_HOME"), Path(pyspark.__file__).parent
        if home and Path(home).resolve() != own.resolve():
            yield Finding(
                State.WARNING,
                f"SPARK_HOME is {home}, so that PySpark {pyspark.__version__} starts the Spark that is there.",
                "Unset SPARK_HOME, or use the PySpark of that Spark.",
            )
        yield Finding(State.OK, f"PySpark {pyspark.__version__}")


class SparkCheck(Check):
    """Spark starts, and answers a query."""

    name = "spark"

    def findings(self, place: Place) -> Iterator[Finding]:
        if not place.starts_spark:
            yield Finding(State.SKIPPED, "Spark was not started.")
            return
        from paimon_sql.spark.session.class_archive import archive_of
        from paimon_sql.spark.session.prerequisites import check_java

        has_archive = bool(archive_of(check_java()).options())
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as warehouse:
            session = paimon_sql.connect(warehouse, **{"spark.ui.enabled": "false", **place.conf})
            session.sql("SELECT 1").collect()
            seconds = time.monotonic() - started
            session.stop()
        yield Finding(State.OK, f"Spark answers after {seconds:.1f} s.")
        if not has_archive:
            yield Finding(
                State.WARNING, "Spark starts without an archive of its classes.", "paimon-sql archive-classes"
            )


class DiskCheck(Check):
    """Room for what Spark and writers put into temporary directories."""

    name = "disk"

    def findings(self, place: Place) -> Iterator[Finding]:
        directory = tempfile.gettempdir()
        free = shutil.disk_usage(directory).free
        what = f"{free / (1 << 30):.1f} GiB are free in {directory}."
        if free < _MIN_FREE_BYTES:
            yield Finding(State.WARNING, what, "Free some space, or set TMPDIR to another directory.")
        else:
            yield Finding(State.OK, what)
