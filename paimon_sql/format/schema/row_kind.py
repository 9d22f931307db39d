"""The kinds of rows in a changelog, as the ``_VALUE_KIND`` column stores them (spec: Data File)."""

from __future__ import annotations

from enum import IntEnum


class RowKind(IntEnum):
    """What a row says happened to its key."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def short(self) -> str:
        """The kind as ``$audit_log`` and the option ``rowkind.field`` write it."""
        return ("+I", "-U", "+U", "-D")[self]

    @property
    def is_retract(self) -> bool:
        """Whether the row takes something back."""
        return self in (RowKind.UPDATE_BEFORE, RowKind.DELETE)
