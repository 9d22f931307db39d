"""System fields of data files, and ids of nested elements (spec: Data File; Paimon: `SpecialFields`).

They are counted from a quarter of the positive 32-bit range: upwards for array elements and map values, downwards for
map keys, by 1024 times the id of the column plus the depth within it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum

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
RESERVED_NAMES = frozenset((*(f.name for f in (SEQUENCE_NUMBER, VALUE_KIND, LEVEL, ROW_ID)), "rowkind"))
"""The names of columns that Paimon adds."""

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


class RowKind(IntEnum):
    """The kind of a change of a row (Paimon: `RowKind`)."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def short(self) -> str:
        """The kind as in ``$audit_log`` and in the column of the option ``rowkind.field``."""
        return ("+I", "-U", "+U", "-D")[self]

    @property
    def is_retract(self) -> bool:
        """Whether the row is a retraction."""
        return self in (RowKind.UPDATE_BEFORE, RowKind.DELETE)


_BASE = (2**31 - 1) // 4
_STEP = 1024


def element_id(field_id: int, depth: int) -> int:
    """The id of an array's element or a map's value, ``depth`` levels (from 1) below the field ``field_id``."""
    return _BASE + field_id * _STEP + depth


def key_id(field_id: int, depth: int) -> int:
    """The id of a map's key; the arguments are those of `element_id`."""
    return _BASE - field_id * _STEP - depth
