"""Default methods of Spark's connector interfaces, in Python: one class per interface.

Py4J never falls back to a default method of a Java interface, so each needs a Python implementation. A test compares
these classes with the interfaces of the installed Spark, so a method that a new Spark adds fails there first, by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.connector.equality import ScanEquality
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, JavaObject
from paimon_sql.spark.options.read import STATE_KEYS

_METRIC = f"{CONNECTOR}.metric"


class CatalogInterface(JavaObject):
    """Defaults of ``StagingTableCatalog``, ``SupportsNamespaces`` and ``ProcedureCatalog``."""

    def initialize(self, name: str, options: Any) -> None:
        pass

    def capabilities(self) -> Any:
        return self.jvm.java_set([self.jvm.enum(f"{CATALOG}.TableCatalogCapability", "SUPPORT_COLUMN_DEFAULT_VALUE")])

    def tableStateOptionKeys(self) -> Any:
        return self.jvm.constant("keys of states", lambda: self.jvm.java_set(sorted(STATE_KEYS)))

    def changelogStateOptionKeys(self) -> Any:
        return self.jvm.java_set([])

    def invalidateTable(self, ident: Any) -> None:
        pass

    def useNullableQuerySchema(self) -> bool:
        return True

    def supportedCustomMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomMetric")

    class Java:
        implements = [
            f"{CATALOG}.StagingTableCatalog",
            f"{CATALOG}.SupportsNamespaces",
            f"{CATALOG}.ProcedureCatalog",
            f"{CATALOG}.FunctionCatalog",
            *([f"{CATALOG}.ViewCatalog"] if HAS_VIEWS else []),
        ]


class TableInterface(JavaObject):
    """Defaults of ``Table``."""

    qualified_name: tuple[str, ...] = ()
    """The name by which Spark loaded the table, beginning with the catalog."""

    def has_changed(self) -> bool:
        """Whether a read would return other rows than the existing plan; by default it is assumed."""
        return True

    def id(self) -> Any:
        return None

    def version(self) -> Any:
        return None

    def constraints(self) -> Any:
        return self.jvm.array(f"{CATALOG}.constraints.Constraint")

    def supportedCustomMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomMetric")

    def reportDriverMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomTaskMetric")


class ScanInterface(JavaObject):
    """Defaults of ``Scan``."""

    stream: Callable[[], Any] | None = None
    """Creates the micro-batch stream of the scan; None if it supports no streaming read."""
    is_stream = False
    """Whether Spark has requested the stream."""
    equality: ScanEquality | None = None
    """The identity of the scan's rows; None if the scan is equal only to itself."""

    def _is_like(self, other: ScanInterface) -> bool:
        return self.equality is not None and self.equality == other.equality

    def _trait(self) -> Hashable:
        return super()._trait() if self.equality is None else self.equality.trait

    def toBatch(self) -> Any:
        return self

    def toMicroBatchStream(self, checkpoint: str) -> Any:
        if self.stream is None:
            raise self._unsupported("a streaming read")
        self.is_stream = True
        return self.stream()

    def toContinuousStream(self, checkpoint: str) -> Any:
        raise self._unsupported("a continuous read")

    def supportedCustomMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomMetric")

    def reportDriverMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomTaskMetric")

    def columnarSupportMode(self) -> Any:
        return self.jvm.enum(f"{CONNECTOR}.read.Scan$ColumnarSupportMode", "PARTITION_DEFINED")

    def _unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.toString()} does not offer {what} yet.")


class StreamingWriteInterface(JavaObject):
    """Defaults of ``StreamingWrite``."""

    def useCommitCoordinator(self) -> bool:
        return True

    class Java:
        implements = [f"{CONNECTOR}.write.streaming.StreamingWrite"]


class WriteInterface(JavaObject):
    """Defaults of ``V1Write``."""

    def description(self) -> str:
        return self.toString()

    def toBatch(self) -> Any:
        raise UnsupportedError("A V1 write has no batch form.")

    def toStreaming(self) -> Any:
        raise UnsupportedError("This write takes no stream.")

    def supportedCustomMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomMetric")

    def reportDriverMetrics(self) -> Any:
        return self.jvm.array(f"{_METRIC}.CustomTaskMetric")

    class Java:
        implements = [f"{CONNECTOR}.write.V1Write"]


class PartitionInterface(JavaObject, ABC):
    """Defaults of ``SupportsAtomicPartitionManagement``: one partition is a list of one, without properties."""

    table: Any

    def loadPartitionMetadata(self, row: Any) -> Any:
        return self.jvm.java_map({})

    def replacePartitionMetadata(self, row: Any, properties: Any) -> None:
        raise UnsupportedError(f"{self.table.name}: partitions have no properties of their own.")

    def renamePartition(self, source: Any, target: Any) -> bool:
        raise UnsupportedError(
            f"{self.table.name}: a partition cannot be renamed.", remedy="INSERT its rows anew and drop the old one."
        )

    def createPartition(self, row: Any, properties: Any) -> None:
        self.createPartitions([row], [properties])

    def dropPartition(self, row: Any) -> bool:
        return self.dropPartitions([row])

    def purgePartition(self, row: Any) -> bool:
        return self.dropPartitions([row])

    def purgePartitions(self, rows: Any) -> bool:
        return self.dropPartitions(rows)

    def truncatePartition(self, row: Any) -> bool:
        return self.truncatePartitions([row])

    @abstractmethod
    def createPartitions(self, rows: Any, properties: Any) -> None: ...

    @abstractmethod
    def dropPartitions(self, rows: Any) -> bool: ...

    @abstractmethod
    def truncatePartitions(self, rows: Any) -> bool: ...
