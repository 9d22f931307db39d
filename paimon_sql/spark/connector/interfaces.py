"""Default methods of Spark's connector interfaces, in Python: one class per interface, and the equality of scans.

Py4J never falls back to a default method of a Java interface, so each needs a Python implementation. A test compares
these classes with the interfaces of the installed Spark, so a method that a new Spark adds fails there first, by name.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import StructJson, spark_struct
from paimon_sql.spark.java.catalyst import InternalRow, StructType
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.compat import HAS_VIEWS, v2_columns
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import SessionProxy
from paimon_sql.spark.options import STATE_KEYS

_METRIC = f"{CONNECTOR}.metric"
CATALYST_FILTERS = "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters"
"""The interface of scan builders that get filters as Catalyst's expressions."""


class MetricsInterface(SessionProxy):
    """Defaults of the metrics of tables, scans and writes: none."""

    def supportedCustomMetrics(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{_METRIC}.CustomMetric")

    def reportDriverMetrics(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{_METRIC}.CustomTaskMetric")


class CatalogInterface(Proxy):
    """Defaults of ``StagingTableCatalog``, ``SupportsNamespaces`` and ``ProcedureCatalog``."""

    implements = [
        f"{CATALOG}.StagingTableCatalog",
        f"{CATALOG}.SupportsNamespaces",
        f"{CATALOG}.ProcedureCatalog",
        f"{CATALOG}.FunctionCatalog",
        *([f"{CATALOG}.ViewCatalog"] if HAS_VIEWS else []),
    ]

    def initialize(self, name: str, options: object) -> None:
        pass

    def capabilities(self) -> Collection[JavaObject]:
        return self.jvm.java_set([self.jvm.enum(f"{CATALOG}.TableCatalogCapability", "SUPPORT_COLUMN_DEFAULT_VALUE")])

    def tableStateOptionKeys(self) -> Collection[str]:
        return self.jvm.constant("keys of states", lambda: self.jvm.java_set(sorted(STATE_KEYS)))

    def changelogStateOptionKeys(self) -> Collection[str]:
        return self.jvm.java_set([])

    def invalidateTable(self, ident: Ident) -> None:
        pass

    def useNullableQuerySchema(self) -> bool:
        return True

    def supportedCustomMetrics(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{_METRIC}.CustomMetric")


class TableInterface(MetricsInterface):
    """Defaults of ``Table``."""

    qualified_name: tuple[str, ...] = ()
    """The name by which Spark loaded the table, beginning with the catalog."""
    capability_names: tuple[str, ...] = ("BATCH_READ",)
    """The names of its ``TableCapability``."""

    @abstractmethod
    def name(self) -> str:
        """The table's name."""

    @property
    @abstractmethod
    def _struct(self) -> StructJson:
        """Its columns."""

    def toString(self) -> str:
        return self.name()

    def schema(self) -> StructType:
        return self.jvm.struct(self._struct)

    def columns(self) -> Sequence[JavaObject]:
        return self._columns

    @cached_property
    def _columns(self) -> Sequence[JavaObject]:
        return self.jvm.remember(f"columns {json.dumps(self._struct)}", lambda: v2_columns(self.jvm, self.schema()))

    def capabilities(self) -> Collection[JavaObject]:
        kind, names = f"{CATALOG}.TableCapability", self.capability_names
        return self.jvm.constant(
            f"capabilities {names}", lambda: self.jvm.java_set(self.jvm.enum(kind, name) for name in names)
        )

    def in_jvm(self) -> TableInterface | JavaObject:
        """The table as it is returned to Spark; by default Python answers all of its methods."""
        return self

    def has_changed(self) -> bool:
        """Whether a read would return other rows than the existing plan; by default it is assumed."""
        return True

    def id(self) -> None:
        return None

    def version(self) -> None:
        return None

    def constraints(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CATALOG}.constraints.Constraint")


@dataclass(frozen=True)
class ScanEquality:
    """The identity of a scan's rows.

    Attributes:
        path: the table's directory.
        columns: the names of the columns.
        filters: the filters that Spark pushed, from `plan_independent`.
        further: all other values that determine the rows.
    """

    path: str
    columns: tuple[str, ...]
    filters: tuple[str, ...] = field(hash=False)
    further: tuple[object, ...] = field(hash=False)


@dataclass(frozen=True)
class ScanTraits:
    """What a scan offers besides its rows.

    Attributes:
        stream: creates its micro-batch stream; None if it supports no streaming read.
        equality: the identity of its rows; None if it is equal only to itself.
    """

    stream: Callable[[], Proxy] | None = None
    equality: ScanEquality | None = None


NO_TRAITS = ScanTraits()


@dataclass(eq=False)
class ScanInterface(MetricsInterface):
    """Defaults of ``Scan``.

    Attributes:
        session: the session.
        columns: the columns of the rows, in order.
        what: a description for EXPLAIN.
        traits: what it offers besides its rows.
        is_stream: whether Spark has requested the stream.
    """

    columns: Sequence[DataField]
    what: str
    traits: ScanTraits = field(default=NO_TRAITS, kw_only=True)
    is_stream = False

    def _is_like(self, other: ScanInterface) -> bool:
        return self.traits.equality is not None and self.traits.equality == other.traits.equality

    def _trait(self) -> Hashable:
        return super()._trait() if self.traits.equality is None else self.traits.equality

    def toString(self) -> str:
        return self.what

    def description(self) -> str:
        return self.toString()

    def readSchema(self) -> StructType:
        return self.jvm.struct(spark_struct(self.columns))

    def toBatch(self) -> Proxy:
        return self

    def toMicroBatchStream(self, checkpoint: str) -> Proxy:
        if self.traits.stream is None:
            raise self._unsupported("streaming reads")
        self.is_stream = True
        return self.traits.stream()

    def toContinuousStream(self, checkpoint: str) -> Proxy:
        raise self._unsupported("continuous reads")

    def columnarSupportMode(self) -> JavaObject:
        return self.jvm.enum(f"{CONNECTOR}.read.Scan$ColumnarSupportMode", "PARTITION_DEFINED")

    def _unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.toString()} does not support {what} yet.")


class WriteInterface(MetricsInterface):
    """Defaults of ``V1Write``."""

    implements = [f"{CONNECTOR}.write.V1Write"]

    def description(self) -> str:
        return self.toString()

    def toBatch(self) -> Proxy:
        raise UnsupportedError("A V1 write has no batch form.")

    def toStreaming(self) -> Proxy:
        raise UnsupportedError("This write does not support streaming.")


class BatchWriteInterface(WriteInterface):
    """Defaults of a write with a batch form, ``RequiresDistributionAndOrdering`` and ``BatchWrite``: any partitions."""

    implements = [f"{CONNECTOR}.write.RequiresDistributionAndOrdering", f"{CONNECTOR}.write.BatchWrite"]

    def toBatch(self) -> Proxy:
        return self

    def requiredNumPartitions(self) -> int:
        return 0

    def advisoryPartitionSizeInBytes(self) -> int:
        return 0

    def onDataWriterCommit(self, message: object) -> None:
        pass


class PartitionInterface(SessionProxy, ABC):
    """Defaults of tables whose rows and partitions Spark writes and deletes (``SupportsAtomicPartitionManagement``).

    One partition is a list of one, without properties.
    """

    implements = [
        f"{CATALOG}.SupportsRead",
        f"{CATALOG}.SupportsWrite",
        f"{CATALOG}.SupportsAtomicPartitionManagement",
        f"{CATALOG}.TruncatableTable",
    ]
    table: AnyTable

    def partitionSchema(self) -> StructType:
        return self.jvm.struct(spark_struct(self.table.schema.partition_fields))

    def loadPartitionMetadata(self, row: InternalRow) -> Mapping[str, str]:
        return self.jvm.java_map({})

    def replacePartitionMetadata(self, row: InternalRow, properties: object) -> None:
        raise UnsupportedError(f"{self.table.name}: partition properties are not supported.")

    def renamePartition(self, source: InternalRow, target: InternalRow) -> bool:
        raise UnsupportedError(
            f"{self.table.name}: a partition cannot be renamed.",
            remedy="INSERT its rows into the new partition and drop the old one.",
        )

    def createPartition(self, row: InternalRow, properties: Mapping[str, str]) -> None:
        self.createPartitions([row], [properties])

    def createPartitions(self, rows: Sequence[InternalRow], properties: Sequence[Mapping[str, str]]) -> None:
        if any("location" in given for given in properties):
            raise UnsupportedError(
                f"{self.table.name}: partitions are always in the table's directory.", remedy="Leave LOCATION out."
            )
        self._create(rows)

    def dropPartition(self, row: InternalRow) -> bool:
        return self.dropPartitions([row])

    def purgePartition(self, row: InternalRow) -> bool:
        return self.dropPartitions([row])

    def purgePartitions(self, rows: Sequence[InternalRow]) -> bool:
        return self.dropPartitions(rows)

    def truncatePartition(self, row: InternalRow) -> bool:
        return self.truncatePartitions([row])

    @abstractmethod
    def _create(self, rows: Sequence[InternalRow]) -> None:
        """Add partitions."""

    @abstractmethod
    def dropPartitions(self, rows: Sequence[InternalRow]) -> bool: ...

    @abstractmethod
    def truncatePartitions(self, rows: Sequence[InternalRow]) -> bool: ...
