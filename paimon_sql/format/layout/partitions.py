"""Partitions as strings: directories of their files, and values in system tables.

Spec: Data Layout, "Partition"; options ``partition.default-name`` and ``partition.legacy-name``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.partition import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from paimon_sql.format.options.values import TableOptions
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.values import cast_text, java_text, parse_text

DEFAULT_NAME_KEY = PARTITION_DEFAULT_NAME.key
DEFAULT_NAME = PARTITION_DEFAULT_NAME.default
"""The directory name of null, empty and blank values; the default of ``partition.default-name``."""

_ESCAPES = {code: f"%{code:02X}" for code in (*range(0x20), 0x7F, *map(ord, "\"#%'*/:=?\\{}[]^"))}
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
_NOT_BLANK_IN_JAVA = "\x85\u00a0\u2007\u202f"


def escape_path_name(text: str) -> str:
    """Escape a column's name or value for a directory name (Paimon: `PartitionPathUtils.escapePathName`)."""
    return text.translate(_ESCAPES)


def unescape_path_name(text: str) -> str:
    """Unescape a column's name or value in a directory name; a lone ``%`` remains."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


class PartitionPaths:
    """Conversion of a table's partitions to strings and back.

    A partition is a serialized row, as in manifests, or a sequence of values of ``RowCodec``.

    Args:
        fields: the partition columns.
        default_name: the string for null, empty and blank values (``partition.default-name``).
        legacy_name: whether values in paths are formatted like Java's ``toString``, a date as its day number
            (``partition.legacy-name``); otherwise like a cast to STRING.
    """

    def __init__(
        self,
        fields: Sequence[t.DataField],
        *,
        default_name: str = DEFAULT_NAME,
        legacy_name: bool = True,
    ) -> None:
        self.fields = tuple(fields)
        self.default_name = default_name
        self._codec = RowCodec([f.type for f in self.fields])
        self._legacy_name = legacy_name

    @classmethod
    def of(cls, schema: TableSchema) -> PartitionPaths:
        """Create the conversion from a table's partition columns and options.

        Raises:
            InvalidOptionError: ``partition.legacy-name`` is not a boolean.
        """
        options = TableOptions(schema.options)
        default_name, legacy_name = options.get(PARTITION_DEFAULT_NAME), options.get(PARTITION_LEGACY_NAME)
        return cls(schema.partition_fields, default_name=default_name, legacy_name=legacy_name)

    def spec(self, partition: bytes | Sequence[object]) -> dict[str, str]:
        """The partition spec: values as in paths, but not escaped, by column."""
        values = {f.name: self._path_text(value, f.type) for f, value in self._pairs(partition)}
        return {name: self.default_name if _is_blank(text) else text for name, text in values.items()}

    def path(self, partition: bytes | Sequence[object]) -> str:
        """The partition's directory relative to the table, such as ``dt=2024-01-01/h=1``; empty if not partitioned."""
        return "/".join(
            f"{escape_path_name(name)}={escape_path_name(text)}" for name, text in self.spec(partition).items()
        )

    def name(self, partition: bytes | Sequence[object]) -> str:
        """The partition as in ``$partitions``: ``dt=2024-01-01/h=1``, not escaped, values cast to STRING."""
        return "/".join(
            f"{f.name}={self._cast_text(value, f.type, self.default_name)}" for f, value in self._pairs(partition)
        )

    def label(self, partition: bytes | Sequence[object]) -> str:
        """The partition as in ``$files`` and ``$buckets``: ``{2024-01-01, 1}``, with ``null`` for null."""
        return "{" + ", ".join(self._cast_text(value, f.type, "null") for f, value in self._pairs(partition)) + "}"

    def parse(self, path: str) -> tuple[object, ...]:
        """Parse a directory relative to the table; the default name, also of empty and blank values, becomes null.

        Raises:
            InvalidInputError: its names are not the partition columns.
        """
        parts = [part.partition("=") for part in path.strip("/").split("/") if part]
        return self.values({unescape_path_name(name): unescape_path_name(text) for name, _, text in parts})

    def values(self, spec: Mapping[str, str | None]) -> tuple[object, ...]:
        """Parse the values of a complete partition spec; the default name and None become null.

        Raises:
            InvalidInputError: its names are not the partition columns.
        """
        names = [f.name for f in self.fields]
        if sorted(spec) != sorted(names):
            raise InvalidInputError(
                f"Partition spec ({', '.join(spec)}) does not match the partition keys ({', '.join(names)})."
            )
        strings = [spec[name] for name in names]
        return tuple(
            None if text is None or text == self.default_name else parse_text(text, f.type)
            for f, text in zip(self.fields, strings, strict=True)
        )

    def _pairs(self, partition: bytes | Sequence[object]) -> list[tuple[t.DataField, object]]:
        values = self._codec.decode(partition) if isinstance(partition, bytes) else partition
        if len(values) != len(self.fields):
            raise InvalidInputError(f"A partition of {len(self.fields)} columns was given {len(values)} values.")
        return list(zip(self.fields, values, strict=True))

    def _path_text(self, value: object, data_type: t.DataType) -> str:
        if value is None:
            return self.default_name
        # Java prints the address of bytes, from which no directory can be found; the cast to STRING is stable.
        if self._legacy_name and not isinstance(value, bytes):
            return java_text(value, data_type)
        return cast_text(value, data_type)

    def _cast_text(self, value: object, data_type: t.DataType, null: str) -> str:
        return null if value is None else cast_text(value, data_type)


def _is_blank(text: str) -> bool:
    return not text.strip() and not any(c in _NOT_BLANK_IN_JAVA for c in text)
