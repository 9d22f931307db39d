"""Spark sessions with Paimon catalogs: ``connect`` starts one, ``install`` configures an existing one."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from paimon_sql.catalog.registry import (
    CATALOG_PREFIX,
    DEFAULT_CATALOG,
    DEFAULT_WAREHOUSE,
    IMPLEMENTATION,
    normalized_warehouse,
)
from paimon_sql.errors import InvalidInputError
from paimon_sql.spark.session.notebook import in_notebook, show_in_notebook
from paimon_sql.spark.session.prerequisites import check_pyspark
from paimon_sql.spark.session.remote import connect_remote

_WAREHOUSE = f"{CATALOG_PREFIX}{DEFAULT_CATALOG}.warehouse"
_NOTEBOOK_SETTINGS = {"spark.sql.repl.eagerEval.enabled": "true", "spark.sql.repl.eagerEval.truncate": "200"}
"""A DataFrame as the last line of a cell is displayed as a table of its first rows."""


def connect(
    warehouse: str | os.PathLike[str] | None = None, *, remote: str | None = None, **spark_conf: object
) -> SparkSession:
    """Start an embedded Spark, or join a running one, with the catalog ``paimon`` over a warehouse directory.

    The catalog is the current one, and its database ``default`` exists. Calls with other warehouses in one process
    return separate sessions in the same Spark.

    Args:
        warehouse: a directory or URI; ``./warehouse`` by default. It is created if it does not exist.
        remote: the URL of a Spark Connect server, such as ``sc://host:15002``, instead of an embedded Spark: the
            session is the server's, with its catalogs, and this process needs no Java.
        **spark_conf: Spark's settings by name, for example ``**{"spark.sql.shuffle.partitions": "4"}``;
            ``spark.sql.catalog.<name>.<option>`` adds further catalogs.

    Raises:
        SetupError: Java or PySpark is missing or too old; no server answers at the URL.
        InvalidInputError: a name is not a setting of Spark, or Spark runs already and accepts it only at its start.
    """
    settings = {k: str(v) for k, v in spark_conf.items()}
    if foreign := [key for key in settings if not key.startswith("spark.")]:
        raise InvalidInputError(
            f"'{foreign[0]}' is not a setting of Spark, which would ignore it.",
            remedy=f"Names of settings begin with spark., as in **{{'spark.{foreign[0]}': …}}.",
        )
    if in_notebook():
        settings = _NOTEBOOK_SETTINGS | settings
    if remote is not None:
        if warehouse is not None:
            raise InvalidInputError(
                "A session of a server has the server's warehouse.",
                remedy="Leave out warehouse, or run CREATE CATALOG.",
            )
        session = connect_remote(remote, settings)
        _say_errors_once()
        show_in_notebook()
        return session
    return install(_embedded(warehouse, settings))


def install(spark: SparkSession, catalogs: Mapping[str, Mapping[str, str]] | None = None) -> SparkSession:
    """Add Paimon's catalogs, SQL and procedures to a session, and to every session created from it.

    Args:
        spark: any classic session.
        catalogs: options by catalog name; they override the session's settings
            ``spark.sql.catalog.<name>.<option>``. A catalog named in neither is not changed.

    Returns:
        The same session.
    """
    from paimon_sql.spark.session.bridge import Bridge

    check_pyspark()
    for name, options in (catalogs or {}).items():
        spark.conf.set(CATALOG_PREFIX + name, IMPLEMENTATION)
        for key, value in options.items():
            spark.conf.set(f"{CATALOG_PREFIX}{name}.{key}", str(value))
    Bridge.of(spark.sparkContext).attach(spark._jsparkSession)
    _say_errors_once()
    show_in_notebook()
    return spark


def _say_errors_once() -> None:
    """Keep PySpark from logging each failing statement as a JSON line with its Java stack, besides its error."""
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)


def _embedded(warehouse: str | os.PathLike[str] | None, settings: dict[str, str]) -> SparkSession:
    """A session of the Spark of this process, which is started unless it runs."""
    # Sessions of servers need no JVM, nor what PySpark has for one.
    from pyspark import SparkContext

    from paimon_sql.spark.session.embedded import join_spark, start_spark

    prefix = f"{CATALOG_PREFIX}{DEFAULT_CATALOG}."
    path = normalized_warehouse(
        warehouse if warehouse is not None else settings.get(_WAREHOUSE, DEFAULT_WAREHOUSE),
        {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)},
    )
    settings = settings | {_WAREHOUSE: path}
    settings.setdefault(CATALOG_PREFIX + DEFAULT_CATALOG, IMPLEMENTATION)
    settings.setdefault("spark.sql.defaultCatalog", DEFAULT_CATALOG)
    running = SparkContext._active_spark_context
    return join_spark(running, settings) if running is not None else start_spark(settings)
