"""Functions of ``sys``: bucket functions, ``max_pt``, and blob functions.

As functions of the catalog they are evaluated on the driver, when Spark folds constants. For calls over columns a
session registers the bucket and blob functions also as Arrow functions in Python workers (see ``sql.functions``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.bucket_functions import bucket_function
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog_objects.blob_functions import BlobFunctionProxy, over_columns
from paimon_sql.spark.catalog_objects.functions import BoundFunctionProxy, UnboundFunctionProxy
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import paimon_type
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.sql.functions.catalog_functions import BLOB_FUNCTIONS, BUCKET_FUNCTIONS, session_function
from paimon_sql.storage.branches.management import with_branch
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.format_tables import FormatTable, all_partitions
from paimon_sql.storage.format_tables.partitions import files_of, partition_columns
from paimon_sql.storage.scan.branches.all import newest_entries
from paimon_sql.storage.table.table import Table

_MAX_PARTITION = "max_pt"

FUNCTION_NAMES = (*BUCKET_FUNCTIONS, *BLOB_FUNCTIONS, _MAX_PARTITION)


def load_function(jvm: Jvm, name: str, context: Callable[[], Context]) -> UnboundFunctionProxy | None:
    """Return the function of a name, ignoring case; None if there is none.

    Args:
        jvm: the JVM.
        name: the name.
        context: the catalog and current database of a call.
    """
    lowered = name.lower()
    if lowered in BUCKET_FUNCTIONS:
        return BucketProxy(jvm, lowered)
    if lowered in BLOB_FUNCTIONS:
        return BlobFunctionProxy(jvm, lowered, context)
    return MaxPartitionProxy(jvm, context) if lowered == _MAX_PARTITION else None


def register_functions(session: SparkSession, names: Iterable[str]) -> None:
    """Register functions in a session, for calls over columns."""
    for name in names:
        if not session._jsparkSession.sessionState().catalog().isRegisteredFunction(_identifier(session, name)):
            function = (
                arrow_udf(_buckets(BUCKET_FUNCTIONS[name]), "int") if name in BUCKET_FUNCTIONS else over_columns(name)
            )
            session.udf.register(session_function(name), function)


def _identifier(session: SparkSession, name: str) -> Any:
    parser = session._jsparkSession.sessionState().sqlParser()
    return parser.parseFunctionIdentifier(session_function(name))


def _buckets(kind: str) -> Callable[..., pa.Array]:
    def buckets(counts: pa.Array, *columns: pa.Array) -> pa.Array:
        return bucket_numbers(kind, counts, columns, [_type_of(c.type) for c in columns])

    return buckets


def bucket_numbers(kind: str, counts: pa.Array, columns: Sequence[pa.Array], types: Sequence[t.DataType]) -> pa.Array:
    """Compute the bucket of each row; ``counts`` has the number of buckets per row.

    Raises:
        InvalidInputError: there is no column, a number of buckets is below 1, or the function does not support a type.
    """
    function = bucket_function(kind)
    numbers = np.zeros(len(counts), dtype=np.int32)
    for count in pc.unique(counts):
        if count.as_py() is None:
            raise InvalidInputError("The number of buckets is NULL.")
        has_count = pc.equal(counts, count)
        chosen = [c.filter(has_count) for c in columns]
        numbers[has_count.to_numpy(zero_copy_only=False)] = function.assign(chosen, types, count.as_py())
    return pa.array(numbers)


def _type_of(kind: pa.DataType) -> t.DataType:
    """The Paimon type of the values that Spark passes in an Arrow type."""
    for data_type in _PLAIN:
        if arrow_type(data_type) == kind:
            return data_type
    if pa.types.is_decimal(kind):
        return t.DecimalType(True, kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return t.TimestampType(True, 6) if kind.tz is None else t.LocalZonedTimestampType(True, 6)
    if pa.types.is_null(kind):
        return t.string_type()
    raise InvalidInputError(f"A column of type {kind} has no bucket.")


_PLAIN = (
    t.BooleanType(),
    t.TinyIntType(),
    t.SmallIntType(),
    t.IntType(),
    t.BigIntType(),
    t.FloatType(),
    t.DoubleType(),
    t.DateType(),
    t.string_type(),
    t.VarBinaryType(),
)


def largest_partition(table: AnyTable) -> str:
    """Return the largest value of the first partition column, in its type's order, of partitions that have files.

    Raises:
        InvalidInputError: the table has no partition columns, or no partition with a non-null value.
    """
    if not table.schema.partition_keys:
        raise InvalidInputError(f"{table.name} has no partition columns.", remedy="Use max_pt on a partitioned table.")
    field = table.schema.partition_fields[0]
    values = _directory_values(table) if isinstance(table, FormatTable) else _live_values(with_branch(table))
    found = values[field.name].drop_null()
    last = found.take(pc.sort_indices(found)[-1:])
    largest = cast(last, field.type, t.string_type())[0].as_py() if len(last) else None
    if largest is None:
        raise InvalidInputError(f"{table.name} has no partition that holds data.")
    return str(largest)


def _live_values(table: Table) -> dict[str, pa.Array]:
    return partition_values(table, pc.unique(newest_entries(table)["partition"]))


def _directory_values(table: FormatTable) -> dict[str, pa.Array]:
    # Strings sort differently from the values of the column's type, so all directories are converted.
    return partition_columns(table, [p for p in all_partitions(table) if files_of(table, [p])])


class BucketProxy(UnboundFunctionProxy):
    """A bucket function, such as ``bucket(count, column, ..)``."""

    def __init__(self, jvm: Jvm, name: str) -> None:
        super().__init__(jvm)
        self.function = name
        self.summary = f"{name}(count, key, ..): the bucket that the key's values fall into"
        self.example = f"SELECT sys.{name}(8, 10);"

    def _bound(self, types: list[Any]) -> BoundFunctionProxy:
        if len(types) < 2 or types[0] not in ("integer", "short", "byte"):
            raise InvalidInputError(
                f"{self.function} takes a number of buckets and the key's values.",
                remedy=f"Write sys.{self.function}(8, key).",
            )
        kinds = [t.string_type() if kind == "void" else paimon_type(kind) for kind in types]
        kind = BUCKET_FUNCTIONS[self.function]

        def result(row: Any) -> int:
            count, *key = row_values(row, kinds)
            columns = [pa.array([v], arrow_type(k)) for v, k in zip(key, kinds[1:], strict=True)]
            return int(bucket_numbers(kind, pa.array([count], pa.int32()), columns, kinds[1:])[0].as_py())

        return BoundFunctionProxy(self.jvm, self.function, types, "integer", result)

    class Java:
        implements = [f"{CONNECTOR}.catalog.functions.UnboundFunction"]


class MaxPartitionProxy(UnboundFunctionProxy):
    """``max_pt(table)``."""

    function = _MAX_PARTITION
    summary = "max_pt('db.t'): the largest value of a table's first partition column, of partitions that hold data"
    example = "SELECT * FROM db.t WHERE dt = sys.max_pt('db.t');"

    def __init__(self, jvm: Jvm, context: Callable[[], Context]) -> None:
        super().__init__(jvm)
        self._context = context

    def _bound(self, types: list[Any]) -> BoundFunctionProxy:
        if types != ["string"]:
            raise InvalidInputError("max_pt takes a table's name as a text.", remedy="Write sys.max_pt('db.t').")

        def result(row: Any) -> Any:
            largest = largest_partition(self._context().any_table(row.getUTF8String(0).toString()))
            return self.jvm.cls("org.apache.spark.unsafe.types.UTF8String").fromString(largest)

        return BoundFunctionProxy(self.jvm, self.function, types, "string", result)

    class Java:
        implements = [f"{CONNECTOR}.catalog.functions.UnboundFunction"]
