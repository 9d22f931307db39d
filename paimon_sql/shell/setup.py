"""Start of Spark for the shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import paimon_sql
from paimon_sql.sql.text.names import quote_path

if TYPE_CHECKING:  # `start` imports it
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Setup:
    """Settings of a new session.

    Attributes:
        warehouse: the warehouse of the catalog ``paimon``; by default ``./warehouse``.
        conf: Spark's settings.
        remote: the URL of a Spark Connect server, instead of a Spark of this process.
        database: the current database, ``db`` or ``catalog.db``.
        variables: values of ``${name}`` in statements.
    """

    warehouse: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    remote: str | None = None
    database: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> SparkSession:
        """Start Spark, or ask the server, and return the session."""
        session = paimon_sql.connect(self.warehouse, remote=self.remote, **self.conf)
        for name, value in self.variables.items():
            session.conf.set(name, value)
        if self.database:
            session.sql("USE " + quote_path(self.database.split(".")))
        return session
