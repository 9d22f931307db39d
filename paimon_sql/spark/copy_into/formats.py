"""File formats of COPY INTO: the options of FILE_FORMAT translated to Spark's."""

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
    """The file format of a statement.

    Args:
        given: the validated options of FILE_FORMAT.
    """

    def __init__(self, given: Mapping[str, Value]) -> None:
        self._given = given
        self.kind = str(given["TYPE"])

    @property
    def source(self) -> str:
        """Spark's name of the format."""
        return self.kind.lower()

    def options(self) -> dict[str, str]:
        """The options of Spark's reader or writer."""
        found = {
            _SPARK[key]: str(value).lower() if key in _FLAGS else str(value)
            for key, value in self._given.items()
            if key in _SPARK
        }
        if "SKIP_HEADER" in self._given:
            found["header"] = str(self._given["SKIP_HEADER"] == "1").lower()
        return found

    def nulls(self) -> tuple[str, ...]:
        """The strings that are read as NULL."""
        values = self._given.get("NULL_IF", ())
        empty = ("",) if self._given.get("EMPTY_FIELD_AS_NULL") == "TRUE" else ()
        return (*values, *empty)
