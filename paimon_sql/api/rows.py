"""Rows to write: Arrow data, or what exports it, as batches with the columns of a table in its order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from paimon_sql.api.columns import no_column
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.storage.table.partitions import conform_batch
from paimon_sql.storage.table.table import Table


@runtime_checkable
class ArrowStream(Protocol):
    """What exports Arrow data by its C interface, as Polars, pandas, DuckDB and Arrow do."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the data."""


ArrowLike: TypeAlias = ArrowStream | pa.RecordBatch | Sequence[Mapping[str, object]]
"""Arrow data, something that exports it, or a list of rows as dictionaries."""


def batches_of(table: Table, rows: ArrowLike) -> Iterator[pa.RecordBatch]:
    """Return rows as batches with the columns of a table; missing columns are null, or get their default value.

    Raises:
        InvalidInputError: the rows are no Arrow data, have a column twice, or one that the table has not.
    """
    wanted = arrow_schema(table.schema.fields)
    return (_in_order(batch, wanted) for batch in _reader(table, rows))


def keys_of(table: Table, rows: ArrowLike) -> pa.Table:
    """Return the primary keys of rows, without the other columns; rows without a key, which has no nulls, are left out.

    Raises:
        InvalidInputError: as `batches_of`; or a column of the key is missing, or has a value that does not fit.
    """
    reader, names = _reader(table, rows), table.schema.primary_keys
    kinds = pa.schema([f.with_nullable(True) for f in arrow_schema([table.schema.field(name) for name in names])])
    if not reader.schema.names:  # an empty list
        return kinds.empty_table()
    if missing := [name for name in names if name not in reader.schema.names]:
        raise InvalidInputError(
            f"The keys of {table.name} have no column {missing[0]}.", remedy=f"The key is {', '.join(names)}."
        )
    batches = [conform_batch(batch.select(list(names)), kinds) for batch in reader]
    return pa.Table.from_batches(batches, kinds).drop_null()


def value_of(table: Table, name: str, value: object) -> pa.Scalar:
    """Return a value of a column.

    Raises:
        InvalidInputError: it does not fit the column.
    """
    kind = arrow_type(table.schema.field(name).type)
    try:
        return value.cast(kind) if isinstance(value, pa.Scalar) else pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{value!r} is not a value of column {name} of {table.name}: {error}.") from None


def _reader(table: Table, rows: ArrowLike) -> pa.RecordBatchReader:
    if isinstance(rows, pa.RecordBatch):
        reader = pa.RecordBatchReader.from_batches(rows.schema, [rows])
    elif isinstance(rows, ArrowStream):
        reader = pa.RecordBatchReader.from_stream(rows)
    elif isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        reader = _of_dictionaries(table, rows)
    else:
        raise InvalidInputError(
            f"{type(rows).__name__} cannot be written to {table.name}.",
            remedy="Give Arrow data, a data frame, or a list of dictionaries.",
        )
    _check_names(table, reader.schema.names)
    return reader


def _of_dictionaries(table: Table, rows: Sequence[Mapping[str, object]]) -> pa.RecordBatchReader:
    names = dict.fromkeys(name for row in rows for name in row)
    _check_names(table, list(names))
    kinds = arrow_schema(table.schema.fields)
    schema = pa.schema([kinds.field(name).with_nullable(True) for name in names])
    try:
        made = pa.RecordBatch.from_pylist([dict(row) for row in rows], schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise InvalidInputError(f"The rows do not fit {table.name}: {error}.") from None
    return pa.RecordBatchReader.from_batches(schema, [made])


def _check_names(table: Table, names: Sequence[str]) -> None:
    known = set(table.schema.names)
    for name in names:
        if name not in known:
            raise no_column(table, name, table.schema.names)
    if len(set(names)) < len(names):
        raise InvalidInputError(f"The rows for {table.name} have a column twice.")


def _in_order(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    names = set(batch.schema.names)
    columns = [
        batch.column(field.name) if field.name in names else pa.nulls(batch.num_rows, field.type) for field in wanted
    ]
    return pa.RecordBatch.from_arrays(columns, names=wanted.names)
