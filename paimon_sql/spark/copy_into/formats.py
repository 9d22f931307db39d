"""The options of FILE_FORMAT as those of Spark's readers and writers."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.sql.statements.copy_into import Value

_SPARK = {
    "FIELD_DELIMITER": "sep",
    "QUOTE": "quote",
    "ESCAPE": "escape",
    "HEADER": "header",
    "MULTI_LINE": "multiLine",
    "COMPRESSION": "compression",
    "DATE_FORMAT": "dateFormat",
    "TIMESTAMP_FORMAT": "timestampFormat",
}
_FLAGS = frozenset({"HEADER", "MULTI_LINE", "COMPRESSION"})


class FileFormat:
    """Files of one type, as a statement describes them.

    Args:
        given: the checked options of FILE_FORMAT.
    """

    def __init__(self, given: Mapping[str, Value]) -> None:
        self._given = given
        self.kind = str(given["TYPE"])

    @property
    def source(self) -> str:
        """Spark's name of the format."""
        return self.kind.lower()

    def options(self) -> dict[str, str]:
        """What Spark's reader or writer is told."""
        found = {
            _SPARK[key]: str(value).lower() if key in _FLAGS else str(value)
            for key, value in self._given.items()
            if key in _SPARK
        }
        if "SKIP_HEADER" in self._given:
            found["header"] = str(self._given["SKIP_HEADER"] == "1").lower()
        return found

    def nulls(self) -> tuple[str, ...]:
        """The texts that stand for NULL."""
        texts = self._given.get("NULL_IF", ())
        empty = ("",) if self._given.get("EMPTY_FIELD_AS_NULL") == "TRUE" else ()
        return (*texts, *empty)
