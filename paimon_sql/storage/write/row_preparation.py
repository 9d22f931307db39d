"""Preparation of rows for writing: precision of timestamps, row kinds, and checks of blob references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import ConstraintViolationError, InvalidInputError, UnsupportedError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.merge_engine import IGNORE_DELETE, IGNORE_UPDATE_BEFORE, ROWKIND_FIELD
from paimon_sql.format.options.table.row_tracking import BLOB_DESCRIPTOR_FIELD, BLOB_VIEW_FIELD
from paimon_sql.format.rows.blob_reference import are_descriptors, are_views
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.storage.columns.blobs_and_vectors import descriptor_columns, managed_by_key, view_columns
from paimon_sql.storage.expressions.kernels.conform import conform
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.table.table import Table

_MILLIS = 3
"""The max precision of timestamps that are stored as milliseconds (spec: BinaryRow, "Timestamp")."""


def cut_to_precision(rows: pa.RecordBatch, fields: Sequence[t.DataField]) -> pa.RecordBatch:
    """Truncate timestamps of precision up to 3 to milliseconds, rounding down.

    Binary rows of partitions, keys and statistics store these as milliseconds, and so do Parquet and Avro. ORC would
    store more digits, so files and metadata would have different values.

    Args:
        rows: the columns of the fields, optionally with others after them.
        fields: the columns.
    """
    for i, field in enumerate(fields):
        if any(_is_coarse(kind) for kind in t.walk(field.type)):
            column = rows.column(i)
            truncated = conform(conform(column, _in_millis(field.type, column.type)), column.type)
            rows = rows.set_column(i, rows.schema.field(i), truncated)
    return rows


def _is_coarse(kind: t.DataType) -> bool:
    return isinstance(kind, t.TimestampType | t.LocalZonedTimestampType) and kind.precision <= _MILLIS


def _in_millis(kind: t.DataType, arrow: pa.DataType) -> pa.DataType:
    """The Arrow type with these timestamps as milliseconds."""
    if _is_coarse(kind):
        return pa.timestamp("ms", arrow.tz)
    if isinstance(kind, t.RowType):
        inner = [arrow.field(i).with_type(_in_millis(f.type, arrow.field(i).type)) for i, f in enumerate(kind.fields)]
        return pa.struct(inner)
    if isinstance(kind, t.ArrayType):
        return pa.list_(arrow.value_field.with_type(_in_millis(kind.element, arrow.value_type)))
    if isinstance(kind, t.MapType):
        key, item = _in_millis(kind.key, arrow.key_type), _in_millis(kind.value, arrow.item_type)
        return pa.map_(arrow.key_field.with_type(key), arrow.item_field.with_type(item))
    if isinstance(kind, t.MultisetType):
        return pa.map_(arrow.key_field.with_type(_in_millis(kind.element, arrow.key_type)), arrow.item_field)
    return arrow


def check_references(schema: TableSchema, rows: pa.RecordBatch) -> None:
    """Check that all values of reference columns are references.

    Raises:
        InvalidInputError: one is not.
    """
    for columns_of, test, what, remedy in _REFERENCES:
        for name in sorted(columns_of(schema).intersection(rows.schema.names)):
            if not pc.all(test(rows.column(name)), skip_nulls=True, min_count=0).as_py():
                raise InvalidInputError(f"Column '{name}' holds {what}, and got other bytes.", remedy=f"Use {remedy}.")


_REFERENCES = (
    (
        descriptor_columns,
        are_descriptors,
        f"descriptors of blobs ('{BLOB_DESCRIPTOR_FIELD.key}')",
        "sys.path_to_descriptor(path), or read a blob column with 'blob-as-descriptor' = 'true'",
    ),
    (
        view_columns,
        are_views,
        f"references to blobs of other tables ('{BLOB_VIEW_FIELD.key}')",
        "sys.blob_view(table, column, row_id), or read such a column with 'blob-view.resolve.enabled' = 'false'",
    ),
)
"""Kinds of reference columns: those of a schema, the test of their values, and what they are and how to get them."""


def refuse_managed(schema: TableSchema, name: str) -> None:
    """Refuse primary-key tables that manage blobs, which cannot be written yet.

    Raises:
        UnsupportedError: the table does.
    """
    if managed := managed_by_key(schema):
        raise UnsupportedError(
            f"{name}: blob column '{managed[0]}' of a table with a primary key can be read, but not written.",
            remedy=f"Name it in '{BLOB_DESCRIPTOR_FIELD.key}', or leave the primary key out.",
        )


_SHORT = tuple(kind.short for kind in RowKind)


class RowKindReader:
    """Adds row kinds to batches of a primary-key table, and drops the rows that its options ignore."""

    def __init__(self, table: Table) -> None:
        options = TableOptions(table.schema.options)
        self._name, self._keys = table.name, table.schema.primary_keys
        self._engine = merge_engine(table.schema)
        self._column = options.get(ROWKIND_FIELD)
        self._ignored = [RowKind.UPDATE_BEFORE] if options.get(IGNORE_UPDATE_BEFORE) else []
        if options.get(IGNORE_DELETE):
            self._ignored = [RowKind.UPDATE_BEFORE, RowKind.DELETE]

    def given(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows to write, with their kinds in the column ``_VALUE_KIND``.

        If the batch has this column already, the option ``rowkind.field`` has no effect.

        Raises:
            ConstraintViolationError: a key column holds a null, a value of the row kind column is not a kind, or the
                merge engine rejects a kind.
        """
        for name in self._keys:
            if rows.column(name).null_count:
                raise ConstraintViolationError(
                    f"{self._name}: column {name} of the primary key is null in a row.",
                    remedy="Leave such rows out, or give them a value.",
                )
        if VALUE_KIND.name not in rows.schema.names:
            rows = rows.append_column(VALUE_KIND.name, self._kinds_of(rows))
        kinds = rows.column(VALUE_KIND.name).to_numpy(zero_copy_only=False)
        if not kinds.any():
            return rows
        if self._ignored:
            applied = ~np.isin(kinds, self._ignored)
            rows, kinds = rows.filter(pa.array(applied)), kinds[applied]
        if problem := self._engine.write_error(kinds):
            raise problem
        return rows

    def _kinds_of(self, rows: pa.RecordBatch) -> pa.Array:
        if self._column is None:
            inserts: npt.NDArray[np.int8] = np.full(rows.num_rows, RowKind.INSERT, dtype=np.int8)
            return pa.array(inserts)
        strings = rows.column(self._column)
        kinds = pc.index_in(strings, value_set=pa.array(_SHORT, strings.type))
        if kinds.null_count:
            wrong = strings.filter(kinds.is_null())[0].as_py()
            what = "null" if wrong is None else f"'{wrong}'"
            raise ConstraintViolationError(
                f"{self._name}: column {self._column}, which the option 'rowkind.field' names, is {what} in a row.",
                remedy="It must be '+I', '-U', '+U' or '-D'.",
            )
        return kinds.cast(pa.int8())
