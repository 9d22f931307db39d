"""Functions of ``sys`` for blobs outside of the table: they create and print descriptors and blob views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql.functions import arrow_udf

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.rows.blob_reference import BlobDescriptor, BlobView, decode_descriptor, views
from paimon_sql.format.schema.types import BlobType
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog_objects.functions import BoundFunctionProxy, UnboundFunctionProxy
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.sql.functions.catalog_functions import (
    BLOB_VIEW,
    DESCRIPTOR_TO_STRING,
    PATH_TO_DESCRIPTOR,
    viewed_column,
)

_WHOLE_NUMBERS = ("byte", "short", "integer", "long")


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
        raise InvalidInputError(f"{table} has no column '{column}' of blobs.")
    return ".".join(table.split(".")[-2:]), field.id


def over_columns(name: str) -> Any:
    """The Arrow function of a session for calls over columns."""
    if name == PATH_TO_DESCRIPTOR:
        return arrow_udf(lambda paths: _distinct(paths, lambda p: BlobDescriptor(p).encode(), pa.binary()), "binary")
    if name == DESCRIPTOR_TO_STRING:
        return arrow_udf(lambda found: _distinct(found, lambda d: str(decode_descriptor(d)), pa.string()), "string")
    table, field_id = viewed_column(name)
    return arrow_udf(lambda _, __, rows: views(table, field_id, rows.cast(pa.int64())), "binary")


def _distinct(values: pa.Array, convert: Callable[[Any], Any], kind: pa.DataType) -> pa.Array:
    """Convert each distinct value once."""
    encoded = values.dictionary_encode()
    return pa.array([convert(v) for v in encoded.dictionary.to_pylist()], kind).take(encoded.indices)


class BlobFunctionProxy(UnboundFunctionProxy):
    """A blob function for constant arguments."""

    summaries: ClassVar[dict[str, str]] = {
        PATH_TO_DESCRIPTOR: "path_to_descriptor(path): a descriptor of a whole file, which stands for its bytes",
        DESCRIPTOR_TO_STRING: "descriptor_to_string(descriptor): where the blob lies that a descriptor stands for",
        BLOB_VIEW: "blob_view('db.t', 'column', row_id): a reference to a blob of another table",
    }
    examples: ClassVar[dict[str, str]] = {
        PATH_TO_DESCRIPTOR: "INSERT INTO photos VALUES (1, sys.path_to_descriptor('/photos/1.jpg'));",
        DESCRIPTOR_TO_STRING: "SELECT sys.descriptor_to_string(sys.path_to_descriptor('/photos/1.jpg'));",
        BLOB_VIEW: "INSERT INTO thumbs SELECT id, sys.blob_view('db.photos', 'picture', _ROW_ID) FROM db.photos;",
    }
    arguments: ClassVar[dict[str, tuple[tuple[str, ...], ...]]] = {
        PATH_TO_DESCRIPTOR: (("string",),),
        DESCRIPTOR_TO_STRING: (("binary",),),
        BLOB_VIEW: (("string",), ("string",), _WHOLE_NUMBERS),
    }

    def __init__(self, jvm: Jvm, name: str, context: Callable[[], Context]) -> None:
        super().__init__(jvm)
        self.function = name
        self.summary = self.summaries[name]
        self.example = self.examples[name]
        self._context = context

    def _bound(self, types: list[Any]) -> BoundFunctionProxy:
        expected = self.arguments[self.function]
        fits = len(types) == len(expected) and all(t in (*w, "void") for t, w in zip(types, expected, strict=True))
        if not fits:
            raise InvalidInputError(f"{self.function} is called otherwise.", remedy=f"{self.summary}.")
        declared = [w[-1] for w in expected]
        answer = "string" if self.function == DESCRIPTOR_TO_STRING else "binary"
        return BoundFunctionProxy(self.jvm, self.function, declared, answer, self._result, nullable=True)

    def _result(self, row: Any) -> Any:
        count = len(self.arguments[self.function])
        if any(row.isNullAt(i) for i in range(count)):
            return None
        if self.function == PATH_TO_DESCRIPTOR:
            return bytearray(BlobDescriptor(row.getUTF8String(0).toString()).encode())
        if self.function == DESCRIPTOR_TO_STRING:
            shown = str(decode_descriptor(bytes(row.getBinary(0))))
            return self.jvm.cls("org.apache.spark.unsafe.types.UTF8String").fromString(shown)
        table, column = (row.getUTF8String(i).toString() for i in (0, 1))
        return bytearray(BlobView(*blob_column(self._context(), table, column), row.getLong(2)).encode())

    class Java:
        implements = [f"{CONNECTOR}.catalog.functions.UnboundFunction"]
