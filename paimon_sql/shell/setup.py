"""How Spark is started for the shell."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.sql.names import quote_name


@dataclass(frozen=True)
class Setup:
    """What the session shall be.

    Attributes:
        warehouse: the warehouse of the catalog ``paimon``; ``./warehouse`` without one.
        conf: settings of Spark.
        database: the current database, ``db`` or ``catalog.db``.
        variables: what ``${name}`` stands for in statements.
    """

    warehouse: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    database: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> SparkSession:
        """Start Spark, and make the session so."""
        session = paimon_sql.connect(self.warehouse, **self.conf)
        # PySpark would print every error beside raising it.
        logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
        for name, value in self.variables.items():
            session.conf.set(name, value)
        if self.database:
            session.sql("USE " + ".".join(map(quote_name, self.database.split("."))))
        return session
