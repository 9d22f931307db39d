"""Functions of ``sys``: bucket functions, ``max_pt`` and blob functions, for constants and over columns.

As functions of the catalog they are evaluated on the driver, when Spark folds constants. For calls over columns a
session registers the bucket and blob functions also as Arrow functions in Python workers (see ``sql.functions``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf
from pyspark.sql.udf import UserDefinedFunction

from paimon_sql.catalog.table_types import AnyTable
from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.rows.blob_reference import BlobDescriptor, BlobView, decode_descriptor, views
from paimon_sql.format.rows.bucket_functions import bucket_function
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import BlobType
from paimon_sql.procedures.base import Context
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import TypeJson, paimon_type, struct_json
from paimon_sql.spark.java.catalyst import DataType, InternalRow, StructType
from paimon_sql.spark.java.session import SessionState
from paimon_sql.spark.jvm.gateway import CONNECTOR, DATA_TYPE, Jvm
from paimon_sql.spark.jvm.proxy import Proxy, raise_java
from paimon_sql.sql.functions import (
    BLOB_FUNCTIONS,
    BLOB_VIEW,
    BUCKET_FUNCTIONS,
    DESCRIPTOR_TO_STRING,
    PATH_TO_DESCRIPTOR,
    session_function,
    viewed_column,
)
from paimon_sql.storage.branches.selection import with_branch
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.partitions import all_partitions, files_of, partition_columns
from paimon_sql.storage.scan.layout import ScanLayout

_FUNCTIONS = f"{CONNECTOR}.catalog.functions"
_UTF8 = "org.apache.spark.unsafe.types.UTF8String"


@dataclass(eq=False)
class NamedFunction(Proxy):
    """A function for Spark.

    Attributes:
        function: the function's name.
    """

    function: str

    def toString(self) -> str:
        return self.function

    def name(self) -> str:
        return self.function


@dataclass(eq=False)
class UnboundFunctionProxy(NamedFunction):
    """A function that is not bound to argument types yet (Paimon: `PaimonFunctions`).

    Attributes:
        summary: its usage.
        example: a statement that calls it.
        bound: binds it to argument types, which are in Spark's JSON.
    """

    implements = [f"{_FUNCTIONS}.UnboundFunction"]
    summary: str
    example: str
    bound: Callable[[list[TypeJson]], BoundFunctionProxy]

    def description(self) -> str:
        return self.summary

    def bind(self, input_type: StructType) -> BoundFunctionProxy:
        try:
            return self.bound([f["type"] for f in struct_json(input_type)["fields"]])
        except PaimonError as error:
            raise_java(self.jvm.new("java.lang.UnsupportedOperationException", str(error)))


@dataclass(eq=False)
class BoundFunctionProxy(NamedFunction):
    """A function with known argument types, evaluated on the driver.

    Attributes:
        types: the argument types in Spark's JSON.
        result_type: the result type in Spark's JSON.
        result: computes the result for an ``InternalRow`` of arguments.
        null_for_null: whether the result is null if an argument is null; otherwise it is never null.
    """

    implements = [f"{_FUNCTIONS}.ScalarFunction"]
    types: list[TypeJson]
    result_type: str
    result: Callable[[InternalRow], object]
    null_for_null: bool = False

    def canonicalName(self) -> str:
        return f"paimon.{self.function}({', '.join(map(json.dumps, self.types))})"

    def inputTypes(self) -> Sequence[DataType]:
        return self.jvm.array(DATA_TYPE, [self.jvm.struct(kind) for kind in self.types])

    def resultType(self) -> DataType:
        return self.jvm.struct(self.result_type)

    def isResultNullable(self) -> bool:
        return self.null_for_null

    def isDeterministic(self) -> bool:
        return True

    def produceResult(self, row: InternalRow) -> object:
        if self.null_for_null and any(row.isNullAt(i) for i in range(len(self.types))):
            return None
        result = self.result(row)
        return self.jvm.cls(_UTF8).fromString(result) if isinstance(result, str) else result


def blob_column(context: Context, table: str, column: str) -> tuple[str, int]:
    """Return a table's name as ``db.t``, and the id of one of its blob columns.

    Args:
        context: resolves the name.
        table: the name, with the database and optionally the catalog.
        column: the column's name.

    Raises:
        InvalidInputError: the name has no database, or the table has no such blob column.
        NoSuchTableError: there is no such table.
    """
    if table.count(".") not in (1, 2):
        raise InvalidInputError(f"blob_view needs a table as db.t or catalog.db.t, not '{table}'.")
    found = context.table(table)
    field = next((f for f in found.schema.fields if f.name == column), None)
    if field is None or not isinstance(field.type, BlobType):
        raise InvalidInputError(f"{table} has no blob column '{column}'.")
    return ".".join(table.split(".")[-2:]), field.id


def over_columns(name: str) -> UserDefinedFunction:
    """The Arrow function of a session for calls over columns."""
    if name == PATH_TO_DESCRIPTOR:
        return arrow_udf(lambda paths: _distinct(paths, lambda p: BlobDescriptor(p).encode(), pa.binary()), "binary")
    if name == DESCRIPTOR_TO_STRING:
        return arrow_udf(lambda found: _distinct(found, lambda d: str(decode_descriptor(d)), pa.string()), "string")
    if name in BUCKET_FUNCTIONS:
        kind = BUCKET_FUNCTIONS[name]
        return arrow_udf(lambda n, *keys: bucket_numbers(kind, n, keys, [_type_of(k.type) for k in keys]), "int")
    table, field_id = viewed_column(name)
    return arrow_udf(lambda _, __, rows: views(table, field_id, rows.cast(pa.int64())), "binary")


def _distinct(values: pa.Array, convert: Callable[..., object], kind: pa.DataType) -> pa.Array:
    """Convert each distinct value once."""
    encoded = values.dictionary_encode()
    return pa.array([convert(v) for v in encoded.dictionary.to_pylist()], kind).take(encoded.indices)


@dataclass(frozen=True)
class _BlobFunction:
    """A blob function: its usage, the accepted types of each argument, and its result for a row of them."""

    summary: str
    example: str
    arguments: tuple[tuple[str, ...], ...]
    result_type: str
    result: Callable[[InternalRow, Callable[[], Context]], object]


def _blob_view(row: InternalRow, context: Callable[[], Context]) -> bytearray:
    table, column = (row.getUTF8String(i).toString() for i in (0, 1))
    return bytearray(BlobView(*blob_column(context(), table, column), row.getLong(2)).encode())


_BLOB_FUNCTIONS = {
    PATH_TO_DESCRIPTOR: _BlobFunction(
        "path_to_descriptor(path): a descriptor that refers to the bytes of a whole file",
        "INSERT INTO photos VALUES (1, sys.path_to_descriptor('/photos/1.jpg'));",
        arguments=(("string",),),
        result_type="binary",
        result=lambda row, _: bytearray(BlobDescriptor(row.getUTF8String(0).toString()).encode()),
    ),
    DESCRIPTOR_TO_STRING: _BlobFunction(
        "descriptor_to_string(descriptor): the location of the blob that a descriptor refers to",
        "SELECT sys.descriptor_to_string(sys.path_to_descriptor('/photos/1.jpg'));",
        arguments=(("binary",),),
        result_type="string",
        result=lambda row, _: str(decode_descriptor(bytes(row.getBinary(0)))),
    ),
    BLOB_VIEW: _BlobFunction(
        "blob_view('db.t', 'column', row_id): a reference to a blob of another table",
        "INSERT INTO thumbs SELECT id, sys.blob_view('db.photos', 'picture', _ROW_ID) FROM db.photos;",
        arguments=(("string",), ("string",), ("byte", "short", "integer", "long")),
        result_type="binary",
        result=_blob_view,
    ),
}


def _blob_function(jvm: Jvm, name: str, context: Callable[[], Context]) -> UnboundFunctionProxy:
    """A blob function for constant arguments."""
    function = _BLOB_FUNCTIONS[name]
    expected = function.arguments

    def bound(types: list[TypeJson]) -> BoundFunctionProxy:
        fits = len(types) == len(expected) and all(t in (*w, "void") for t, w in zip(types, expected, strict=True))
        if not fits:
            raise InvalidInputError(f"Invalid arguments of {name}.", remedy=f"Usage: {function.summary}.")
        declared: list[TypeJson] = [w[-1] for w in expected]
        return BoundFunctionProxy(
            jvm, name, declared, function.result_type, lambda row: function.result(row, context), null_for_null=True
        )

    return UnboundFunctionProxy(jvm, name, function.summary, function.example, bound)


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
        return _bucket_function(jvm, lowered)
    if lowered in BLOB_FUNCTIONS:
        return _blob_function(jvm, lowered, context)
    return _max_partition(jvm, context) if lowered == _MAX_PARTITION else None


def register_functions(session: SparkSession, names: Iterable[str]) -> None:
    """Register functions in a session, for calls over columns."""
    for name in names:
        state: SessionState = session._jsparkSession.sessionState()
        identifier = state.sqlParser().parseFunctionIdentifier(session_function(name))
        if not state.catalog().isRegisteredFunction(identifier):
            session.udf.register(session_function(name), over_columns(name))


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
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_decimal(kind):
        return t.DecimalType(True, kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return t.TimestampType(True, 6) if kind.tz is None else t.LocalZonedTimestampType(True, 6)
    if pa.types.is_null(kind):
        return t.string_type()
    raise InvalidInputError(f"A column of type {kind} cannot be a bucket key.")


_PLAIN: dict[pa.DataType, t.DataType] = {
    arrow_type(kind): kind
    for kind in (
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
}


def largest_partition(table: AnyTable) -> str:
    """Return the largest value of the first partition column, in its type's order, of partitions that have files.

    Raises:
        InvalidInputError: the table has no partition columns, or no partition with a non-null value.
    """
    if not table.schema.partition_keys:
        raise InvalidInputError(f"{table.name} has no partition columns.", remedy="Use max_pt on a partitioned table.")
    field = table.schema.partition_fields[0]
    if isinstance(table, FormatTable):
        # Strings sort differently from the values of the column's type, so all directories are converted.
        values = partition_columns(table, [p for p in all_partitions(table) if files_of(table, [p])])
    else:
        branch = with_branch(table)
        values = partition_values(branch, pc.unique(ScanLayout.of(branch).newest_entries(branch)["partition"]))
    found = values[field.name].drop_null()
    last = found.take(pc.sort_indices(found)[-1:])
    largest = cast(last, field.type, t.string_type())[0].as_py() if len(last) else None
    if largest is None:
        raise InvalidInputError(f"{table.name} has no partition with data.")
    return str(largest)


def _bucket_function(jvm: Jvm, name: str) -> UnboundFunctionProxy:
    """A bucket function, such as ``bucket(count, column, ..)``."""

    def bound(types: list[TypeJson]) -> BoundFunctionProxy:
        if len(types) < 2 or types[0] not in ("integer", "short", "byte"):
            raise InvalidInputError(
                f"{name} takes a number of buckets and the key's values.", remedy=f"Write sys.{name}(8, key)."
            )
        kinds = [t.string_type() if kind == "void" else paimon_type(kind) for kind in types]

        def result(row: InternalRow) -> int:
            count, *key = row_values(row, kinds)
            columns = [pa.array([v], arrow_type(k)) for v, k in zip(key, kinds[1:], strict=True)]
            counts = pa.array([count], pa.int32())
            return int(bucket_numbers(BUCKET_FUNCTIONS[name], counts, columns, kinds[1:])[0].as_py())

        return BoundFunctionProxy(jvm, name, types, "integer", result)

    summary = f"{name}(count, key, ..): the bucket of the key's values"
    return UnboundFunctionProxy(jvm, name, summary, f"SELECT sys.{name}(8, 10);", bound)


def _max_partition(jvm: Jvm, context: Callable[[], Context]) -> UnboundFunctionProxy:
    """``max_pt(table)``."""

    def bound(types: list[TypeJson]) -> BoundFunctionProxy:
        if types != ["string"]:
            raise InvalidInputError("max_pt takes a table name as a string.", remedy="Write sys.max_pt('db.t').")
        return BoundFunctionProxy(
            jvm,
            _MAX_PARTITION,
            types,
            "string",
            lambda row: largest_partition(context().any_table(row.getUTF8String(0).toString())),
        )

    summary = "max_pt('db.t'): the largest value of a table's first partition column, among partitions with data"
    example = "SELECT * FROM db.t WHERE dt = sys.max_pt('db.t');"
    return UnboundFunctionProxy(jvm, _MAX_PARTITION, summary, example, bound)
