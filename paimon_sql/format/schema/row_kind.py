"""Row kinds of a changelog, as the ``_VALUE_KIND`` column stores them (spec: Data File)."""

from __future__ import annotations

from enum import IntEnum


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
