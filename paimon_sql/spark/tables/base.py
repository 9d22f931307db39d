"""Base class of table proxies: name, columns, partitioning and properties from a table's schema."""

from __future__ import annotations

import json
from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.format.options.table.table import PATH
from paimon_sql.spark.connector.interfaces import TableInterface
from paimon_sql.spark.conversion.references import partitioned_by
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.compat import v2_columns
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm


class SchemaTable(TableInterface):
    """A table of the catalog, of any kind, in one statement.

    Attributes:
        capability_names: the names of its ``TableCapability``.
    """

    capability_names: ClassVar[tuple[str, ...]]

    def __init__(self, jvm: Jvm, table: AnyTable, session: Any) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session

    def _is_like(self, other: SchemaTable) -> bool:
        mine, theirs = self.table, other.table
        return (mine.name, mine.path, mine.schema) == (theirs.name, theirs.path, theirs.schema)

    def _trait(self) -> Hashable:
        return type(self).__name__, self.table.path

    def toString(self) -> str:
        return self.table.name

    def name(self) -> str:
        return self.table.name

    @cached_property
    def _struct(self) -> str:
        return json.dumps(spark_struct(self.table.schema.fields))

    def schema(self) -> Any:
        return self.jvm.struct(self._struct)

    def columns(self) -> Any:
        return self._columns

    @cached_property
    def _columns(self) -> Any:
        return self.jvm.remember(f"columns {self._struct}", lambda: v2_columns(self.jvm, self.schema()))

    def partitioning(self) -> Any:
        return partitioned_by(self.jvm, self.table.schema.partition_keys)

    def properties(self) -> Any:
        schema = self.table.schema
        known = {**schema.options, **self._own_properties()}
        known.pop(PATH.key, None)
        if schema.primary_keys:
            known["primary-key"] = ",".join(schema.primary_keys)
        if schema.comment is not None:
            known["comment"] = schema.comment
        return self.jvm.java_map(known)

    def _own_properties(self) -> dict[str, str]:
        """The properties that Spark reserves (Spark: ``TableCatalog.PROP_*``)."""
        return {"provider": "paimon", "location": self.table.path, "is_managed_location": "true"}

    def capabilities(self) -> Any:
        kind, names = f"{CATALOG}.TableCapability", self.capability_names
        return self.jvm.constant(
            f"capabilities {names}", lambda: self.jvm.java_set(self.jvm.enum(kind, name) for name in names)
        )
