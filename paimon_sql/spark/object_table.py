"""An object table as Spark's ``Table``: it is read as any other, and no statement writes into it."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.spark.java import CATALOG
from paimon_sql.spark.staged_table import CreatedTableProxy
from paimon_sql.spark.table import TableProxy
from paimon_sql.spark.write import WriteBuilderProxy


class ObjectTableProxy(TableProxy):
    """An object table as one statement sees it."""

    def newWriteBuilder(self, info: Any) -> WriteBuilderProxy:
        taking_rows(self.table)
        return super().newWriteBuilder(info)

    def truncateTable(self, *options: Any) -> bool:
        taking_rows(self.table)
        return super().truncateTable(*options)

    class Java:
        implements = TableProxy.Java.implements


class CreatedObjectTable(ObjectTableProxy, CreatedTableProxy):
    """An object table that CREATE TABLE .. AS SELECT has made; as it takes no rows, it goes again."""

    class Java:
        implements = [*TableProxy.Java.implements, f"{CATALOG}.StagedTable"]
