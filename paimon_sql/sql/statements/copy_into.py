"""COPY INTO, from files into a Paimon table, and from a table or query into files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.carried_statements import OfTable, Statement
from paimon_sql.sql.context import Reading
from paimon_sql.sql.dialect.nodes import Names, Verbatim, span
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.grammar import READS, SLOTS, Slot, name_in
from paimon_sql.sql.statements.base import declared

OnError = Literal["ABORT_STATEMENT", "CONTINUE", "SKIP_FILE"]
"""Handling of unreadable rows: fail, skip them, or skip their files."""
Value = str | tuple[str, ...]
_REMEDY = "Write FILE_FORMAT = (TYPE = CSV)."


@dataclass(frozen=True)
class _Kind:
    """The values of an option: check, normal form, and a noun phrase for errors."""

    takes: Callable[[str], bool]
    words: str
    upper: bool = False
    is_list: bool = False


def _one_of(*words: str) -> _Kind:
    usage = f"{', '.join(words[:-1])} or {words[-1]}"
    return _Kind(lambda text: text.upper() in words, usage, upper=True)


_TEXT = _Kind(lambda text: text != "", "a non-empty string")
_CHARACTER = _Kind(lambda text: len(text) <= 1, "one character, or '' for none")
_FLAG = _one_of("TRUE", "FALSE")
_LIST = _Kind(lambda text: True, "a string, or several in parentheses", is_list=True)
_TEXT_CODEC = _one_of("NONE", "UNCOMPRESSED", "BZIP2", "DEFLATE", "GZIP", "LZ4", "SNAPPY", "ZSTD")
_PARQUET_CODEC = _one_of("NONE", "UNCOMPRESSED", "SNAPPY", "GZIP", "LZ4", "LZ4_RAW", "ZSTD", "BROTLI", "LZO")
_CSV = {"FIELD_DELIMITER": _TEXT, "QUOTE": _CHARACTER, "ESCAPE": _CHARACTER, "COMPRESSION": _TEXT_CODEC}
_NULLS = {"NULL_IF": _LIST, "EMPTY_FIELD_AS_NULL": _FLAG}
_PARQUET = {"COMPRESSION": _PARQUET_CODEC}
LOADED: Mapping[str, Mapping[str, _Kind]] = {
    "CSV": {**_CSV, "SKIP_HEADER": _one_of("0", "1"), **_NULLS},
    "JSON": {"MULTI_LINE": _FLAG, "COMPRESSION": _TEXT_CODEC, **_NULLS},
    "PARQUET": _PARQUET,
}
"""Options of files to read besides TYPE, by type."""
UNLOADED: Mapping[str, Mapping[str, _Kind]] = {
    "CSV": {**_CSV, "HEADER": _FLAG},
    "JSON": {"DATE_FORMAT": _TEXT, "TIMESTAMP_FORMAT": _TEXT, "COMPRESSION": _TEXT_CODEC},
    "PARQUET": _PARQUET,
}
"""Options of files to write besides TYPE, by type."""


class _FileFormat:
    """``(TYPE = .., ..)``: a file type and its options."""

    def __init__(self, kinds: Mapping[str, Mapping[str, _Kind]], doing: str) -> None:
        self._kinds, self._doing = kinds, doing

    def parse(self, parser: PaimonParser) -> Names | None:
        at, close, found = parser.token_at(-2), parser.enter(), dict[str, exp.EQ]()
        if close is None:
            return None
        while parser.index < close or parser.sees(",", ahead=-1):
            first, name = parser.token, parser.identifier()
            if name is None or not parser.accept("="):
                raise parser.refusal("Expected a name and a value of an option of FILE_FORMAT", first, _REMEDY)
            key = name.name.upper()
            if key in found:
                raise parser.refusal(f"FILE_FORMAT specifies {key} twice", first)
            found[key] = parser.placed(exp.EQ(this=name, expression=self._value(parser, key)), first)
            self._end_value(parser, close)
        if "TYPE" not in found:
            raise parser.refusal("FILE_FORMAT needs TYPE", at, _REMEDY)
        self._check(parser, found)
        parser.step()
        return Names(expressions=list(found.values()))

    def _value(self, parser: PaimonParser, key: str) -> exp.Expr:
        first, close, values = parser.token, parser.enter(), list[exp.Expr]()
        if close is None:
            return self._single(parser, key)
        while parser.index < close:
            values.append(self._single(parser, key))
            self._end_value(parser, close)
        parser.step()
        return parser.placed(exp.Tuple(expressions=values), first)

    def _end_value(self, parser: PaimonParser, close: int) -> None:
        if not parser.accept(",") and parser.index < close:
            raise parser.refusal("An option of FILE_FORMAT has one value", remedy=_REMEDY)

    def _single(self, parser: PaimonParser, key: str) -> exp.Expr:
        first = parser.token
        value = raw_text(parser) or parser.identifier(TokenType.NUMBER)
        if value is None:
            raise parser.refusal(f"{key} needs a value", remedy=_REMEDY)
        return parser.placed(value, first)

    def _check(self, parser: PaimonParser, found: Mapping[str, exp.EQ]) -> None:
        type_ = found["TYPE"].expression
        self._check_values(parser, "TYPE", type_, _one_of(*self._kinds))
        known = self._known(type_)
        for key, option in found.items():
            if key not in known:
                problem = f"FILE_FORMAT has no option {key} for {self._doing} {type_.name.upper()} files"
                raise parser.refusal_of(option, problem, f"It takes {', '.join(known)}.")
            self._check_values(parser, key, option.expression, known[key])

    def _known(self, file_type: exp.Expr) -> dict[str, _Kind]:
        """The options of files of a type, with TYPE."""
        return {"TYPE": _one_of(*self._kinds), **self._kinds[file_type.name.upper()]}

    def _check_values(self, parser: PaimonParser, key: str, node: exp.Expr, kind: _Kind) -> None:
        values = _texts(node)
        if isinstance(node, exp.Tuple) and (not kind.is_list or not values):
            raise parser.refusal_of(node, f"{key} takes {kind.words}")
        if not all(map(kind.takes, values)):
            raise parser.refusal_of(node, f"{key} takes {kind.words}, not '{values[0]}'")

    def value(self, node: exp.Expr, reading: Reading) -> dict[str, Value]:
        given = {each.this.name.upper(): each.expression for each in node.expressions}
        known = self._known(given["TYPE"])
        return {key: _normalized(_texts(option), known[key]) for key, option in given.items()}


def _texts(node: exp.Expr) -> list[str]:
    return [each.name for each in node.expressions] if isinstance(node, exp.Tuple) else [node.name]


def _normalized(values: list[str], kind: _Kind) -> Value:
    if kind.is_list:
        return tuple(values)
    return values[0].upper() if kind.upper else values[0]


_ESCAPE = re.compile(r"\\([ntr\\'\"])")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def raw_text(parser: PaimonParser) -> exp.Literal | None:
    """Parse a string of COPY INTO, in which most backslashes stay, as patterns and NULL_IF need them."""
    written, node = parser.text_of_token(), parser.string()
    if node is not None and written[0] in "'\"":
        quote = written[0]
        value = _ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), written[1:-1].replace(quote * 2, quote))
        node.set("this", value)
    return node


def _path(parser: PaimonParser) -> exp.Literal | None:
    first, path = parser.token, raw_text(parser)
    if path is not None and not path.name.strip():
        raise parser.refusal("COPY INTO needs a path in quotes", first)
    return path


def _source(parser: PaimonParser) -> Verbatim | None:
    """Parse a table, or a query in brackets."""
    first, inside = parser.token, parser.bracket()
    if inside is not None:
        if inside[1] == inside[0]:
            raise parser.refusal("COPY INTO a path needs a query in the parentheses", first)
        if not parser.sees(*READS, ahead=1):
            problem = "COPY INTO a path copies the rows of a query that only reads"
            raise parser.refusal(problem, parser.token_at(1), "Write a SELECT.")
        return parser.text_up_to(inside[1] + 1)
    start, parts = parser.index, parser.parts()
    if parts is None:
        return None
    end = parser.index
    parser.move_to(start)
    return parser.text_up_to(end)


def _is_query(source: exp.Expr) -> bool:
    return source.name.startswith("(")


def _source_text(node: exp.Expr, reading: Reading) -> str:
    start, end = span(node)
    return reading.part(start + 1, end - 1).strip() if _is_query(node) else reading.text(node)


def _format_slot(kinds: Mapping[str, Mapping[str, _Kind]], doing: str) -> Slot:
    form = _FileFormat(kinds, doing)
    return Slot("the format of the files", form.parse, form.value, "(TYPE = CSV)")


SLOTS |= {
    "load_format": _format_slot(LOADED, "reading"),
    "unload_format": _format_slot(UNLOADED, "writing"),
    "raw": Slot("a string in quotes", raw_text, name_in, "'{}'"),
    "path": Slot("a path in quotes", _path, name_in, "'{}'"),
    "copied": Slot("a table or a query in parentheses", _source, _source_text, "table|(query)"),
}


@declared(
    "COPY INTO {table} [{columns:names}]! FROM {path} FILE_FORMAT = {file_format:load_format}"
    " (* [PATTERN = {pattern:raw}] [FORCE = <force: TRUE | FALSE>]"
    " [ON_ERROR = <on_error: ABORT_STATEMENT | CONTINUE | SKIP_FILE>] *)"
)
class CopyIntoTable(OfTable):
    """COPY INTO table FROM 'path'.

    ``file_format`` is validated, with keys (``TYPE`` is one) and keywords in upper case; lists are tuples.
    """

    path: str
    file_format: Mapping[str, Value]
    columns: tuple[str, ...] = ()
    pattern: str | None = None
    force: bool = False
    on_error: OnError = "ABORT_STATEMENT"


@declared(
    "COPY INTO {path}! FROM {source:copied} FILE_FORMAT = {file_format:unload_format}"
    " [OVERWRITE = <overwrite: TRUE | FALSE>]"
)
class CopyIntoLocation(Statement):
    """COPY INTO 'path' FROM table or (query); ``source`` is the table's SQL or the query without its parentheses."""

    path: str
    source: str
    is_query: bool = False
    file_format: Mapping[str, Value] = field(default_factory=dict)
    overwrite: bool = False

    def completed(self, node: exp.Expr, reading: Reading) -> Statement:
        return replace(self, is_query=_is_query(node.args["source"]))
