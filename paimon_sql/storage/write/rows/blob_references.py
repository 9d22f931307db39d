"""Checks of columns that store references to blobs: only valid references may be written."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.options.table.row_tracking import BLOB_DESCRIPTOR_FIELD, BLOB_VIEW_FIELD
from paimon_sql.format.rows.blob_reference import are_descriptors, are_views
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.columns.blobs import descriptor_columns, managed_by_key, view_columns


def check_references(schema: TableSchema, rows: pa.RecordBatch) -> None:
    """Check that all values of reference columns are references.

    Raises:
        InvalidInputError: one is not.
    """
    names = rows.schema.names
    _check(
        rows,
        descriptor_columns(schema).intersection(names),
        are_descriptors,
        f"holds descriptors of blobs ('{BLOB_DESCRIPTOR_FIELD.key}')",
        "sys.path_to_descriptor(path), or read a column of blobs with 'blob-as-descriptor' = 'true'",
    )
    _check(
        rows,
        view_columns(schema).intersection(names),
        are_views,
        f"holds references to blobs of other tables ('{BLOB_VIEW_FIELD.key}')",
        "sys.blob_view(table, column, row_id), or read such a column with 'blob-view.resolve.enabled' = 'false'",
    )


def _check(
    rows: pa.RecordBatch, columns: Collection[str], test: Callable[[pa.Array], pa.Array], what: str, remedy: str
) -> None:
    for name in sorted(columns):
        if not pc.all(test(rows.column(name)), skip_nulls=True, min_count=0).as_py():
            raise InvalidInputError(f"Column '{name}' {what}, and got other bytes.", remedy=f"Use {remedy}.")


def refuse_managed(schema: TableSchema, name: str) -> None:
    """Refuse primary-key tables that manage blobs, which cannot be written yet.

    Raises:
        UnsupportedError: the table does.
    """
    if managed := managed_by_key(schema):
        raise UnsupportedError(
            f"{name}: column '{managed[0]}' of blobs beside a primary key is read, and not written yet.",
            remedy=f"Name it in '{BLOB_DESCRIPTOR_FIELD.key}', or leave the primary key out.",
        )
