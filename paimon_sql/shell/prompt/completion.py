"""Completion at the cursor: keywords, names, procedures and their arguments, system tables, option keys."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from paimon_sql.format.options import OPTIONS
from paimon_sql.procedures import procedures
from paimon_sql.shell.commands import COMMANDS
from paimon_sql.shell.formats import formats
from paimon_sql.shell.prompt.keywords import KEYWORDS, OPENING
from paimon_sql.shell.prompt.names import Names
from paimon_sql.shell.text.splitter import split, tokens_of
from paimon_sql.shell.text.tokens import Token, unquote_name
from paimon_sql.sql.text.names import name_sql
from paimon_sql.system_tables import catalog_tables, system_tables

_PIECE = re.compile(r"((?:`[^`]*(?:`|\Z)|[\w$.])+)|[^`\w$.]+")
"""A word, partly quoted or unclosed at the end, or the text between two words."""
_BEFORE_TABLE = frozenset(
    {"FROM", "JOIN", "INTO", "TABLE", "UPDATE", "DESCRIBE", "DESC", "OVERWRITE", "USING", "VIEW", "EXISTS"}
)
_BEFORE_DATABASE = frozenset({"USE", "DATABASE", "SCHEMA", "NAMESPACE", "IN"})
_OPTION_LISTS = frozenset({"TBLPROPERTIES", "OPTIONS", "UNSET"})
_SYS = "sys"


class SqlCompleter(Completer):
    """Completes the statement at the cursor.

    Args:
        names: existing names.
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        statement = before[max((piece.end for piece in split(before) if piece.complete), default=0) :]
        line = document.current_line_before_cursor.lstrip()
        if line.lower().startswith("source "):
            yield from PathCompleter(expanduser=True).get_completions(Document(line[len("source ") :]), complete_event)
            return
        if line.startswith("."):
            yield from _of_command(line)
            return
        tokens, is_open = tokens_of(statement)
        if statement[tokens[-1].end if tokens else 0 :].strip():
            return  # a comment
        if is_open and tokens and tokens[-1].kind == "string":
            yield from self._of_string(tokens)
            return
        word = next((piece[1] or "" for piece in deque(_PIECE.finditer(statement), maxlen=1)), "")
        before_word = [token for token in tokens if token.end <= len(statement) - len(word)]
        yield from _matching(word, self._candidates(word, before_word, tokens, document.text_after_cursor))

    def _candidates(self, word: str, before_word: Sequence[Token], tokens: Sequence[Token], rest: str) -> Iterator[str]:
        previous = before_word[-1].word if before_word else ""
        path, dot, last = word.rpartition(".")
        parts = [unquote_name(token) for token in tokens_of(path)[0] if token.word != "."] if dot else []
        prefix = path + dot
        if "CALL" in {token.word for token in before_word[:1]}:
            yield from _of_call(before_word)
        elif "$" in last:
            table = last.strip("`").partition("$")[0]
            yield from (f"{prefix}`{table}${name}`" for name in system_tables())
        elif previous in _BEFORE_TABLE:
            yield from (prefix + name_sql(name) for name in self._in_path(parts, tables=True))
        elif previous in _BEFORE_DATABASE:
            yield from (prefix + name_sql(name) for name in self._in_path(parts, tables=previous == "IN"))
        elif parts:
            yield from (prefix + name_sql(name) for name in self._of_qualifier(parts, tokens, rest))
        elif not before_word:
            yield from OPENING
            yield from COMMANDS
        else:
            yield from (name_sql(name) for name in self._columns(tokens, rest))
            yield from KEYWORDS
            yield from (f"{name}(" for name in self._names.functions())

    def _of_string(self, tokens: Sequence[Token]) -> Iterator[Completion]:
        """Complete inside a string: option keys in ``TBLPROPERTIES (..)``, tables in argument ``table`` of a CALL."""
        written = tokens[-1].text[1:]
        before = [token.word for token in tokens[:-1]]
        if before[-2:] == ["TABLE", "=>"]:
            yield from _matching(written, self._names.tables())
        elif before[-1:] in (["("], [","]) and not _OPTION_LISTS.isdisjoint(before):
            for key, option in sorted(OPTIONS.items()):
                if written in key:
                    default = f" = {option.default_text}" if option.default_text else ""
                    yield Completion(key, -len(written), display_meta=f"{option.kind}{default}")

    def _in_path(self, parts: Sequence[str], *, tables: bool) -> Iterator[str]:
        """The names below a path of catalog and database."""
        if not parts:
            yield from self._names.tables() if tables else ()
            yield from self._names.databases()
            yield from self._names.catalogs()
        elif len(parts) == 1:
            yield from self._names.databases(parts[0]) if parts[0] in self._names.catalogs() else ()
            yield from self._names.tables(parts[0]) if tables and parts[0] in self._names.databases() else ()
        elif len(parts) == 2 and tables:
            yield from self._names.tables(*parts)
        if tables and parts and parts[-1].lower() == _SYS:
            yield from catalog_tables()

    def _of_qualifier(self, parts: Sequence[str], tokens: Sequence[Token], rest: str) -> Iterator[str]:
        named = dict(_tables_of([*tokens, *tokens_of(rest)[0]]))
        table = named.get(parts[0].lower()) if len(parts) == 1 else parts
        yield from self._names.columns(*(table or parts))

    def _columns(self, tokens: Sequence[Token], rest: str) -> Iterator[str]:
        for table in dict(_tables_of([*tokens, *tokens_of(rest)[0]])).values():
            yield from self._names.columns(*table)


def _tables_of(tokens: Sequence[Token]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The tables of a statement, by name and by alias."""
    i = 0
    while i < len(tokens):
        if tokens[i].word not in _BEFORE_TABLE:
            i += 1
            continue
        i += 1
        parts: list[str] = []
        while i < len(tokens) and tokens[i].kind in ("word", "quoted"):
            parts.append(unquote_name(tokens[i]))
            i += 1
            if i >= len(tokens) or tokens[i].word != ".":
                break
            i += 1
        if not parts:
            continue
        yield parts[-1].lower(), tuple(parts)
        if i < len(tokens) and tokens[i].word == "AS":
            i += 1
        if i < len(tokens) and tokens[i].kind in ("word", "quoted") and tokens[i].word not in KEYWORDS:
            yield unquote_name(tokens[i]).lower(), tuple(parts)


def _of_call(before_word: Sequence[Token]) -> Iterator[str]:
    opening = next((i for i, token in enumerate(before_word) if token.word == "("), None)
    if opening is None:
        yield from (f"{_SYS}.{name}(" for name in procedures())
        return
    procedure = procedures().get(unquote_name(before_word[opening - 1]))
    given = {token.text for token, arrow in pairwise(before_word) if arrow.word == "=>"}
    if procedure is not None and before_word[-1].word in ("(", ","):
        yield from (f"{a.name} => " for a in procedure.arguments if a.name not in given)


def _of_command(line: str) -> Iterator[Completion]:
    name, blank, rest = line.partition(" ")
    choices: Iterable[str] = [command for command in COMMANDS if command.startswith(".")]
    if blank:
        choices = formats() if name == ".format" else ("on", "off") if name == ".timing" else ()
    yield from _matching(rest if blank else line, choices)


def _matching(word: str, candidates: Iterable[str]) -> Iterator[Completion]:
    wanted = word.lower().replace("`", "")
    for candidate in sorted(dict.fromkeys(candidates)):
        if candidate.lower().replace("`", "").startswith(wanted) and candidate != word:
            keeps_case = word and word == word.lower() and candidate in KEYWORDS
            yield Completion(candidate.lower() if keeps_case else candidate, -len(word))
