"""Default methods of Spark's connector interfaces, in Python: one class per interface, and the equality of scans.

Py4J never falls back to a default method of a Java interface, so each needs a Python implementation. A test compares
these classes with the interfaces of the installed Spark, so a method that a new Spark adds fails there first, by name.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.catalyst import InternalRow, StructType
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.compat import HAS_VIEWS
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.options import STATE_KEYS

_METRIC = f"{CONNECTOR}.metric"


class MetricsInterface(Proxy):
    """Defaults of the metrics of tables, scans and writes: none."""

    def supportedCustomMetrics(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{_METRIC}.CustomMetric")

    def reportDriverMetrics(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{_METRIC}.CustomTaskMetric")


class CatalogInterface(Proxy):
    """Defaults of ``StagingTableCatalog``, ``SupportsNamespaces`` and ``ProcedureCatalog``."""

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

    class Java:
        implements = [
            f"{CATALOG}.StagingTableCatalog",
            f"{CATALOG}.SupportsNamespaces",
            f"{CATALOG}.ProcedureCatalog",
            f"{CATALOG}.FunctionCatalog",
            *([f"{CATALOG}.ViewCatalog"] if HAS_VIEWS else []),
        ]


class TableInterface(MetricsInterface):
    """Defaults of ``Table``."""

    qualified_name: tuple[str, ...] = ()
    """The name by which Spark loaded the table, beginning with the catalog."""

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
class ScanTraits:
    """What a scan offers besides its rows.

    Attributes:
        stream: creates its micro-batch stream; None if it supports no streaming read.
        equality: the identity of its rows; None if it is equal only to itself.
    """

    stream: Callable[[], Proxy] | None = None
    equality: ScanEquality | None = None


NO_TRAITS = ScanTraits()


class ScanInterface(MetricsInterface):
    """Defaults of ``Scan``."""

    is_stream = False
    """Whether Spark has requested the stream."""

    def __init__(self, jvm: Jvm, traits: ScanTraits) -> None:
        super().__init__(jvm)
        self.traits = traits

    def _is_like(self, other: ScanInterface) -> bool:
        return self.traits.equality is not None and self.traits.equality == other.traits.equality

    def _trait(self) -> Hashable:
        return super()._trait() if self.traits.equality is None else self.traits.equality.trait

    def description(self) -> str:
        return self.toString()

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


class StreamingWriteInterface(Proxy):
    """Defaults of ``StreamingWrite``."""

    def useCommitCoordinator(self) -> bool:
        return True

    class Java:
        implements = [f"{CONNECTOR}.write.streaming.StreamingWrite"]


class WriteInterface(MetricsInterface):
    """Defaults of ``V1Write``."""

    def description(self) -> str:
        return self.toString()

    def toBatch(self) -> Proxy:
        raise UnsupportedError("A V1 write has no batch form.")

    def toStreaming(self) -> Proxy:
        raise UnsupportedError("This write does not support streaming.")

    class Java:
        implements = [f"{CONNECTOR}.write.V1Write"]


class PartitionInterface(Proxy, ABC):
    """Defaults of ``SupportsAtomicPartitionManagement``: one partition is a list of one, without properties."""

    table: AnyTable

    def partitionSchema(self) -> StructType:
        return self.jvm.struct(json.dumps(spark_struct(self.table.schema.partition_fields)))

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


_PLAN_SPECIFIC = re.compile(r'"(?:exprId":\{[^{}]*\}|qualifier":(?:\[[^\[\]]*\]|"(?:[^"\\]|\\.)*"))')
"""The parts of Spark's JSON of expressions that differ between plans: ids and qualifiers.

It cannot match inside a string value, where quotation marks are escaped.
"""


class ScanEquality:
    """The identity of a scan's rows.

    Args:
        path: the table's directory.
        columns: the names of the columns.
        filters: the filters that Spark pushed, serialized by `expression_text`.
        further: all other values that determine the rows.
    """

    def __init__(self, path: str, columns: tuple[str, ...], filters: Sequence[str], *further: object) -> None:
        self.trait: Hashable = (path, columns)
        self._filters = filters
        self._further = further

    @cached_property
    def _conditions(self) -> list[str]:
        return [_PLAN_SPECIFIC.sub("", text) for text in self._filters]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScanEquality) or self.trait != other.trait or self._further != other._further:
            return False
        return self._conditions == other._conditions

    def __hash__(self) -> int:
        return hash(self.trait)
