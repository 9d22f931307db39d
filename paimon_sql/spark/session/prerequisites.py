"""What Spark needs: a supported PySpark, and a Java that is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pyspark

from paimon_sql.errors import SetupError

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
