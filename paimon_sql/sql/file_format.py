"""FILE_FORMAT = (TYPE = .., ..) of COPY INTO: the options of each type of files, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.scan import Token, string_value, unquote_name

Direction = Literal["load", "unload"]
Value = str | tuple[str, ...]
_REMEDY = "Write FILE_FORMAT = (TYPE = CSV)."


@dataclass(frozen=True)
class _Kind:
    """What values an option takes: whether one is taken, in which form it is kept, and words for it."""

    takes: Callable[[str], bool]
    words: str
    upper: bool = False
    is_list: bool = False


def _one_of(*words: str, others: Callable[[str], bool] = lambda text: False) -> _Kind:
    known = frozenset(words)
    told = f"{', '.join(words[:-1])} or {words[-1]}"
    return _Kind(lambda text: text.upper() in known or others(text), told, upper=True)


_TEXT = _Kind(lambda text: text != "", "a text that is not empty")
_CHARACTER = _Kind(lambda text: len(text) <= 1, "one character, or '' for none")
_FLAG = _one_of("TRUE", "FALSE")
_LIST = _Kind(lambda text: True, "a text, or several in brackets", is_list=True)
_TEXT_CODEC = _one_of("NONE", "UNCOMPRESSED", "BZIP2", "DEFLATE", "GZIP", "LZ4", "SNAPPY", "ZSTD")
_PARQUET_CODEC = _one_of("NONE", "UNCOMPRESSED", "SNAPPY", "GZIP", "LZ4", "LZ4_RAW", "ZSTD", "BROTLI", "LZO")
_CSV = {"FIELD_DELIMITER": _TEXT, "QUOTE": _CHARACTER, "ESCAPE": _CHARACTER, "COMPRESSION": _TEXT_CODEC}
_NULLS = {"NULL_IF": _LIST, "EMPTY_FIELD_AS_NULL": _FLAG}
_PARQUET = {"COMPRESSION": _PARQUET_CODEC}

OPTIONS: Mapping[Direction, Mapping[str, Mapping[str, _Kind]]] = {
    "load": {
        "CSV": {**_CSV, "SKIP_HEADER": _one_of("0", "1"), **_NULLS},
        "JSON": {"MULTI_LINE": _FLAG, "COMPRESSION": _TEXT_CODEC, **_NULLS},
        "PARQUET": _PARQUET,
    },
    "unload": {
        "CSV": {**_CSV, "HEADER": _FLAG},
        "JSON": {"DATE_FORMAT": _TEXT, "TIMESTAMP_FORMAT": _TEXT, "COMPRESSION": _TEXT_CODEC},
        "PARQUET": _PARQUET,
    },
}
"""By direction and type of files the options beside TYPE."""


def file_format(cursor: Cursor, direction: Direction) -> dict[str, Value]:
    """The options by their names in upper case, and step over the clause; a list is a tuple.

    Raises:
        SqlSyntaxError: the clause is missing or malformed, or an option, a type or a value is not known.
    """
    at = cursor.peek()
    inside = cursor.group() if cursor.accept("FILE_FORMAT", "=") else None
    if inside is None:
        raise cursor.error("COPY INTO needs the format of the files.", remedy=_REMEDY)
    given: dict[str, tuple[Cursor, Cursor]] = {}
    for piece in inside.split():
        option, name = piece.fork(), piece.name()
        if name is None or not piece.accept("="):
            raise piece.error("An option of FILE_FORMAT is a name and a value.", remedy=_REMEDY)
        if name.upper() in given:
            raise option.error(f"FILE_FORMAT has {name.upper()} twice.")
        given[name.upper()] = option, piece
    if "TYPE" not in given:
        raise cursor.error("FILE_FORMAT needs TYPE.", at, remedy=_REMEDY)
    kinds = OPTIONS[direction]
    kind = _value(given["TYPE"][1], "TYPE", _one_of(*kinds))
    known = kinds[str(kind)]
    values: dict[str, Value] = {}
    for name, (option, value) in given.items():
        if name != "TYPE" and name not in known:
            doing = "reading" if direction == "load" else "writing"
            raise option.error(
                f"FILE_FORMAT has no option {name} for {doing} {kind} files.",
                remedy=f"It takes {', '.join(('TYPE', *known))}.",
            )
        values[name] = kind if name == "TYPE" else _value(value, name, known[name])
    return values


def _value(cursor: Cursor, name: str, kind: _Kind) -> Value:
    at = cursor.peek()
    group = cursor.group()
    if group is not None:
        values = tuple(_text(piece, name) for piece in group.split())
        if not kind.is_list or not values:
            raise cursor.error(f"{name} takes {kind.words}.", at)
    else:
        values = (_text(cursor, name),)
    if not cursor.done:
        raise cursor.error("An option of FILE_FORMAT has one value.", remedy=_REMEDY)
    if not all(map(kind.takes, values)):
        raise cursor.error(f"{name} takes {kind.words}, and not '{values[0]}'.", at)
    if kind.is_list:
        return values
    return values[0].upper() if kind.upper else values[0]


def _text(cursor: Cursor, name: str) -> str:
    token = cursor.peek()
    if token.kind not in ("string", "word", "quoted", "number"):
        raise cursor.error(f"{name} needs a value.", remedy=_REMEDY)
    cursor.next()
    return literal(token) if token.kind == "string" else unquote_name(token)


_ESCAPE = re.compile(r"\\([ntr\\'\"])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def literal(token: Token) -> str:
    """The value of a string of COPY INTO, in which most backslashes stay, as patterns and NULL_IF need them."""
    quote = token.text[0]
    if quote not in "'\"":
        return string_value(token)
    return _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), token.text[1:-1].replace(quote * 2, quote))
