"""Environments of other libraries' own, each made once and kept for later runs.

``python -m tests.environments`` makes all of them, which a test does otherwise when it first needs one.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

from tests.packages import CACHE

REQUIREMENTS = {
    "dbt": ("dbt-core==1.11.16", "dbt-spark[pyhive]==1.11.0", "dbt-tests-adapter==1.20.0", "pytest>=8.3,<10"),
    "pyiceberg": ("pyiceberg[snappy,pyarrow,hive]==0.12.0",),
    "pypaimon": ("pypaimon==2.1.0", "pyarrow==19.0.1"),
    "pyspark-client": ("pyspark-client", "setuptools"),
    "superset": (
        *("apache-superset==6.1.0", "pyhive>=0.7", "pure-sasl>=0.6.2", "thrift-sasl>=0.4.3", "thrift>=0.20"),
        *("flask-caching<2.4", "cachetools"),  # it needs them and does not say so
    ),
}
"""What pip installs for each library."""
IMPORTED_THERE = frozenset({"paimon_sql.sqlalchemy.superset"})
"""Modules of the package that only such a library can import."""


def environment(library: str) -> Path:
    """The interpreter of a library's environment.

    Raises:
        RuntimeError: it cannot be made; the message holds what pip said.
    """
    requirements = REQUIREMENTS[library]
    made_of = "\n".join([*requirements, sys.version, sys.prefix])
    name = f"{library}-{zlib.crc32(made_of.encode()):08x}"
    folder = CACHE / name
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        # Several test processes begin at once: one makes it, the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(library, folder)
            (folder / "complete").touch()
    return folder / "bin" / "python"


def _make(library: str, folder: Path) -> None:
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS[library]],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"{library}'s environment, in which it is tested, could not be made in {folder}: "
                f"`{' '.join(command)}` said:\n{done.stdout}{done.stderr}"
            )


if __name__ == "__main__":
    for each in REQUIREMENTS:
        environment(each)
