"""Apache Paimon tables through SQL, on a stock PySpark.

>>> import paimon_sql
>>> spark = paimon_sql.connect("/tmp/warehouse")        # doctest: +SKIP
>>> spark.sql("CREATE TABLE t (k INT, v STRING)")       # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_sql.spark.jvm.errors import paimon_error_of
    from paimon_sql.spark.session.connect import connect, install

__version__ = "0.1.0"
__all__ = ["__version__", "connect", "install", "paimon_error_of"]

_IN_SPARK = {
    "connect": "paimon_sql.spark.session.connect",
    "paimon_error_of": "paimon_sql.spark.jvm.errors",
    "install": "paimon_sql.spark.session.connect",
}


def __getattr__(name: str) -> Any:
    # Spark is imported on first use: storage and maintenance work without it, and start faster.
    if name in _IN_SPARK:
        return getattr(importlib.import_module(_IN_SPARK[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(ipython: Any) -> None:
    """Register ``%%sql`` in a notebook: the hook of ``%load_ext paimon_sql``."""
    magic = importlib.import_module("paimon_sql.shell.magic")
    magic.load(ipython)
