"""Base class of read-only tables: system tables."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.compat import v2_columns
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR


class ReadOnlyTable(TableInterface):
    """A table that can only be scanned (Spark: ``Table``)."""

    reads: tuple[str, ...] = ("BATCH_READ",)
    """The names of its ``TableCapability``."""

    @abstractmethod
    def name(self) -> str:
        """The table's name."""

    @abstractmethod
    def fields(self) -> Sequence[DataField]:
        """The table's columns."""

    def toString(self) -> str:
        return self.name()

    def schema(self) -> Any:
        return self._struct

    def columns(self) -> Any:
        return v2_columns(self.jvm, self._struct)

    def partitioning(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.Transform")

    def properties(self) -> Any:
        return self.jvm.java_map({"provider": "paimon"})

    def capabilities(self) -> Any:
        return self.jvm.java_set([self.jvm.enum(f"{CATALOG}.TableCapability", name) for name in self.reads])

    @cached_property
    def _struct(self) -> Any:
        # Columns of the Java connector's system tables have no comments, and tools compare schemas.
        struct = spark_struct(replace(f, description=None) for f in self.fields())
        return self.jvm.struct(json.dumps(struct))
