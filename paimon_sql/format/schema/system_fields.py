"""System fields that Paimon adds to data files, and their ids (spec: Data File; Paimon: `SpecialFields`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, TinyIntType

_MAX_ID = 2**31 - 1
KEY_PREFIX = "_KEY_"
KEY_ID_START = _MAX_ID // 2

SEQUENCE_NUMBER = DataField(_MAX_ID - 1, "_SEQUENCE_NUMBER", BigIntType(False))
VALUE_KIND = DataField(_MAX_ID - 2, "_VALUE_KIND", TinyIntType(False))
LEVEL = DataField(_MAX_ID - 3, "_LEVEL", IntType(False))
BUCKET = DataField(_MAX_ID, "_BUCKET", IntType(False))
"""The bucket that an assigner chose for a row; in memory only, never stored."""
ROW_ID = DataField(_MAX_ID - 5, "_ROW_ID", BigIntType(False))

TRACKED = tuple(replace(f, type=f.type.as_nullable()) for f in (ROW_ID, SEQUENCE_NUMBER))
"""The last columns of a data file with row tracking if its rows were moved: the row id, and the snapshot that changed
the row last, null for the one that added the file."""


def key_field(field: DataField) -> DataField:
    """A key column as data files of primary-key tables store it in addition to the value columns."""
    return replace(field, id=field.id + KEY_ID_START, name=KEY_PREFIX + field.name)


def key_value_fields(schema: TableSchema, *, thin: bool = False) -> tuple[DataField, ...]:
    """The columns of a data file of a primary-key table: key, sequence number, row kind, values.

    Args:
        schema: the schema of the file.
        thin: whether to omit the key columns, which are among the values, too (``data-file.thin-mode``).
    """
    keys: Sequence[DataField] = () if thin else [key_field(f) for f in schema.key_fields]
    return (*keys, SEQUENCE_NUMBER, VALUE_KIND, *schema.fields)
