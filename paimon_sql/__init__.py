"""Apache Paimon tables through SQL, on a stock PySpark.

>>> import paimon_sql
>>> spark = paimon_sql.connect("/tmp/warehouse")        # doctest: +SKIP
>>> spark.sql("CREATE TABLE t (k INT, v STRING)")       # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paimon_sql.api.catalog import open_catalog, open_table
    from paimon_sql.spark.jvm.errors import paimon_error_of
    from paimon_sql.spark.session.connect import connect, install

__version__ = "0.2.0"
__all__ = ["__version__", "connect", "install", "open_catalog", "open_table", "paimon_error_of"]

_LAZY = {
    "open_catalog": "paimon_sql.api.catalog",
    "open_table": "paimon_sql.api.catalog",
    "connect": "paimon_sql.spark.session.connect",
    "paimon_error_of": "paimon_sql.spark.jvm.errors",
    "install": "paimon_sql.spark.session.connect",
}


def __getattr__(name: str) -> object:
    # Imported on first use: storage and maintenance work without Spark, and start faster.
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(ipython: object) -> None:
    """Register ``%%sql`` in a notebook: the hook of ``%load_ext paimon_sql``."""
    magic = importlib.import_module("paimon_sql.shell.magic")
    magic.load(ipython)
