"""Settings for writing a data file: compression, level, block size, and the options with the format's prefix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.table.data_file import ORC_PROPERTY, PARQUET_PROPERTY
from paimon_sql.format.options.values import parse_memory_size
from paimon_sql.format.variant.shredding.adaptive import ShapeHistory

_PROPERTIES = {"parquet": PARQUET_PROPERTY, "orc": ORC_PROPERTY}
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """The settings of one file.

    Attributes:
        format: the format's name, the prefix of its own options.
        compression: the codec's name in lower case, as set by the option.
        zstd_level: the level for zstd.
        block_size: ``file.block-size`` in bytes, None if not set.
        options: the table's options.
        history: variant statistics of earlier files of the same writer, if used.
    """

    format: str
    compression: str
    zstd_level: int
    block_size: int | None
    options: Mapping[str, str]
    history: ShapeHistory | None = None

    @classmethod
    def of(
        cls,
        name: str,
        options: Mapping[str, str] | None,
        compression: str | None,
        history: ShapeHistory | None = None,
    ) -> WriteSettings:
        """Create the settings from a table's options."""
        given = options or {}
        chosen = given.get(f"{name}.compression") or given.get(f"{name}.compress")
        block = given.get("file.block-size")
        return cls(
            name,
            (chosen or compression or given.get("file.compression", "zstd")).strip().lower(),
            whole_number(given, "file.compression.zstd-level", 1),
            None if block is None else memory_size("file.block-size", block),
            given,
            history,
        )

    def number(self, key: str, default: int) -> int:
        """Return an integer option with the format's prefix."""
        return whole_number(self.options, self._key(key), default)

    def size(self, key: str, default: int) -> int:
        """Return a size in bytes, of an option with the format's prefix."""
        full = self._key(key)
        return memory_size(full, self.options[full]) if full in self.options else default

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean option with the format's prefix."""
        return _flag(self._key(key), self.options.get(self._key(key)), default)

    def flags_by_column(self, key: str) -> dict[str, bool]:
        """Return the booleans of ``<format>.<key>#<column>``, by column."""
        prefix = f"{self._key(key)}#"
        return {k.removeprefix(prefix): _flag(k, v, False) for k, v in self.options.items() if k.startswith(prefix)}

    def texts_by_column(self, key: str) -> dict[str, str]:
        """Return the values of ``<format>.<key>#<column>``, by column."""
        prefix = f"{self._key(key)}#"
        return {k.removeprefix(prefix): v for k, v in self.options.items() if k.startswith(prefix)}

    def _key(self, key: str) -> str:
        return _PROPERTIES[self.format].for_name(key)

    def codec(self, codecs: Mapping[str, str]) -> str:
        """Return the writer's name of the compression.

        Raises:
            InvalidOptionError: the format does not support it.
        """
        if self.compression not in codecs:
            raise unknown_compression(self.format, self.compression, codecs)
        return codecs[self.compression]


def unknown_compression(format_name: str, compression: str, known: Iterable[str]) -> InvalidOptionError:
    """Return the error for an unsupported compression."""
    return InvalidOptionError(
        f"'{compression}' is no compression of {format_name} files.",
        key="file.compression",
        remedy=f"Choose one of {', '.join(sorted(known))}.",
    )


def memory_size(key: str, text: str) -> int:
    """Parse a size such as ``128 mb``, ``64kb`` or ``1048576``; units are multiples of 1024.

    Raises:
        InvalidOptionError: it is not a size.
    """
    try:
        return parse_memory_size(text)
    except ValueError as error:
        raise InvalidOptionError(f"'{key}' = '{text}' is no size: {error}.", key=key) from error


def whole_number(options: Mapping[str, str], key: str, default: int) -> int:
    """Return an integer option.

    Raises:
        InvalidOptionError: the value is not an integer.
    """
    text = options.get(key)
    if text is None:
        return default
    try:
        return int(text.strip())
    except ValueError:
        raise InvalidOptionError(f"'{key}' = '{text}' is no whole number.", key=key) from None


def _flag(key: str, text: str | None, default: bool) -> bool:
    if text is None:
        return default
    if text.strip().lower() not in _BOOLEANS:
        raise InvalidOptionError(f"'{key}' = '{text}' is neither true nor false.", key=key)
    return _BOOLEANS[text.strip().lower()]
