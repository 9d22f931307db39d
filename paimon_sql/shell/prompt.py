"""The prompt: multi-line statements with history and highlighting, and completion at the cursor.

Completed are keywords, names from Spark, procedures and arguments, system tables, option keys.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, TimeoutError
from itertools import pairwise
from pathlib import Path

import pyspark
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Always, Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.cache import Cache
from paimon_sql.format.options import OPTIONS
from paimon_sql.procedures import procedures
from paimon_sql.shell.commands import COMMANDS
from paimon_sql.shell.engine.engine import Engine, Interrupted
from paimon_sql.shell.engine.listings import databases_in, functions_of, tables_in
from paimon_sql.shell.formats import formats
from paimon_sql.shell.pieces import Source, Token, is_complete, split, tokens_of, unquote_name
from paimon_sql.shell.runner import ExitShell, Runner
from paimon_sql.sql.text.names import name_sql, quote_path
from paimon_sql.system_tables import catalog_tables, system_tables

_STYLES = {"string": "class:string", "number": "class:number", "quoted": "class:quoted"}


class SqlLexer(Lexer):
    """Highlights keywords, strings, numbers, quoted names and comments, also in unfinished text."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = list(split_lines(fragments(document.text)))
        return lambda number: lines[number] if number < len(lines) else []


def fragments(text: str) -> StyleAndTextTuples:
    """Split a text into styled parts."""
    parts: StyleAndTextTuples = []
    position = 0
    tokens, _ = tokens_of(text)
    for token in tokens:
        parts.append(_between(text[position : token.start]))
        style = "class:keyword" if token.word in KEYWORDS else _STYLES.get(token.kind, "")
        parts.append((style, text[token.start : token.end]))
        position = token.end
    parts.append(_between(text[position:]))
    return [part for part in parts if part[1]]


def _between(text: str) -> tuple[str, str]:
    return ("" if text.isspace() else "class:comment", text)


STYLE = Style.from_dict(
    {
        "keyword": "ansibrightblue",
        "string": "ansigreen",
        "number": "ansicyan",
        "comment": "ansibrightblack italic",
        "quoted": "ansiyellow",
        "rprompt": "ansibrightblack",
    }
)
"""How the prompt shows the classes of `fragments`."""


class Prompt:
    """Prompts for statements until the user leaves; an error ends the statement, not the shell.

    Args:
        runner: runs the statements.
        before: sources to run first.
        warehouse: the given warehouse, for the greeting.
    """

    def __init__(self, runner: Runner, before: Sequence[Source], warehouse: str | None) -> None:
        self._runner = runner
        self._before = before
        self._warehouse = warehouse
        self._place = "paimon-sql"
        self._names = Names(runner.engine)

    def run(self) -> None:
        """Run the prompt; Spark starts in the background."""
        if not self._runner.settings.silent:
            self._runner.report.note(
                f"paimon-sql {paimon_sql.__version__} on Spark {pyspark.__version__}, "
                f"warehouse {self._warehouse or './warehouse'}. Type help for help, quit to leave."
            )
        try:
            if self._before and not (
                self._runner.start_engine() and all(self._runner.run(each.pieces, each.origin) for each in self._before)
            ):
                return
            session = self._session()
            self._runner.engine.session.add_done_callback(lambda answer: _started(session, answer))
            while True:
                self._ask(session)
        except (ExitShell, EOFError):
            # The user has seen the errors: they do not make the exit status.
            self._runner.failures = 0
        except _StartError as error:
            self._runner.fail(error.reason)

    def _ask(self, session: PromptSession[str]) -> None:
        try:
            text = session.prompt(self._message)
        except KeyboardInterrupt:
            return
        try:
            self._runner.run(split(text))
        except (Interrupted, KeyboardInterrupt) as error:
            abandoned = isinstance(error, Interrupted) and error.abandoned
            self._runner.report.note(
                "Stopped waiting: the statement may still run and succeed." if abandoned else "Interrupted."
            )
        self._names.invalidate()

    def _session(self) -> PromptSession[str]:
        engine = self._runner.engine
        session: PromptSession[str] = PromptSession(
            history=_history(),
            lexer=SqlLexer(),
            completer=SqlCompleter(self._names),
            complete_in_thread=True,
            complete_while_typing=False,
            complete_style=CompleteStyle.MULTI_COLUMN,
            auto_suggest=AutoSuggestFromHistory(),
            multiline=Condition(lambda: not is_complete(get_app().current_buffer.text)),
            prompt_continuation=lambda width, line, wrapped: " " * (width - 3) + "-> ",
            rprompt=lambda: "" if engine.session.done() else "starting Spark …",
            style=STYLE,
            enable_open_in_editor=True,
        )
        # A new line begins without the indentation of the last one: pasted lines bring their own.
        session.app.paste_mode = Always()
        return session

    def _message(self) -> StyleAndTextTuples:
        if (place := self._names.current_database()) is not None:
            self._place = place
        return [("", f"{self._place}> ")]


class _StartError(Exception):
    def __init__(self, reason: BaseException) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _started(session: PromptSession[str], answer: Future[SparkSession]) -> None:
    """Update a waiting prompt when Spark has started, or end it if Spark did not start."""
    app = session.app
    loop = app.loop
    if loop is None or not app.is_running:
        return
    if (reason := answer.exception()) is None:
        app.invalidate()
    else:
        loop.call_soon_threadsafe(lambda: app.exit(exception=_StartError(reason)))


def _history() -> History:
    """The history in the user's state directory; in memory if that is not writable."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "paimon-sql" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


_PIECE = re.compile(r"((?:`[^`]*(?:`|\Z)|[\w$.])+)|[^`\w$.]+")
"""A word, partly quoted or unclosed at the end, or the text between two words."""
_BEFORE_TABLE = frozenset(
    {"FROM", "JOIN", "INTO", "TABLE", "UPDATE", "DESCRIBE", "DESC", "OVERWRITE", "USING", "VIEW", "EXISTS"}
)
_BEFORE_DATABASE = frozenset({"USE", "DATABASE", "SCHEMA", "NAMESPACE", "IN"})
_OPTION_LISTS = frozenset({"TBLPROPERTIES", "OPTIONS", "WITH", "SET", "RESET"})
"""Words before a bracket with options."""
_HINT = "/*+"
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
        query, hint, inside = statement.rpartition(_HINT)
        if hint and "*/" not in inside and not tokens_of(query)[1]:
            yield from self._of_hint(inside)
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
            tables = dict(_tables_of([*tokens, *tokens_of(rest)[0]])).values()
            yield from (name_sql(name) for table in tables for name in self._names.columns(*table))
            yield from KEYWORDS
            yield from (f"{name}(" for name in self._names.functions())

    def _of_string(self, tokens: Sequence[Token]) -> Iterator[Completion]:
        """Complete inside a string: option keys in ``TBLPROPERTIES (..)``, tables in argument ``table`` of a CALL."""
        written = tokens[-1].text[1:]
        before = [token.word for token in tokens[:-1]]
        if before[-2:] == ["TABLE", "=>"]:
            yield from _matching(written, self._names.tables())
        elif before[-1:] in (["("], [","]) and _before_bracket(before) in _OPTION_LISTS:
            for key, option in sorted(OPTIONS.items()):
                if written in key:
                    default = f" = {option.default_text}" if option.default_text else ""
                    yield Completion(key, -len(written), display_meta=f"{option.kind}{default}")

    def _of_hint(self, inside: str) -> Iterator[Completion]:
        """Complete inside a hint: OPTIONS and its keys."""
        tokens, is_open = tokens_of(inside)
        if is_open and tokens and tokens[-1].kind == "string":
            yield from self._of_string(tokens)
        elif len(tokens) < 2:
            yield from _matching(tokens[0].text if tokens else "", ["OPTIONS('"])

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


def _before_bracket(before: Sequence[str]) -> str:
    """The word before the bracket that is open at the end of some words, or before its EXISTS; empty without one."""
    depth = 0
    for i in range(len(before) - 1, 0, -1):
        depth += (before[i] == "(") - (before[i] == ")")
        if depth > 0:
            return before[i - 3] if before[i - 2 : i] == ["IF", "EXISTS"] and i > 2 else before[i - 1]
    return ""


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


_TTL_SECONDS = 30.0
_TIMEOUT_SECONDS = 2.0
_MAX_CACHED = 1000
_FUNCTIONS = ("functions",)
_WITHOUT_TTL = (_FUNCTIONS, ("current_database",))


class Names:
    """Names from Spark, cached with a time to live and until `invalidate`.

    A name is looked up with a short timeout. While Spark starts, is busy or fails, there are no names.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known = Cache[tuple[str, ...], tuple[float, list[str]]](_MAX_CACHED)

    def invalidate(self) -> None:
        """Drop all names after a statement, except those of functions."""
        functions = self._known.get(_FUNCTIONS)
        self._known.clear()
        if functions is not None:
            self._known.put(_FUNCTIONS, functions)

    def current_database(self) -> str | None:
        """The current catalog and database, ``catalog.database``."""
        found = self._ask(
            ("current_database",), lambda s: [f"{s.catalog.currentCatalog()}.{s.catalog.currentDatabase()}"]
        )
        return found[0] if found else None

    def catalogs(self) -> list[str]:
        """The catalogs."""
        return self._ask(("catalogs",), lambda session: [c.name for c in session.catalog.listCatalogs()])

    def databases(self, catalog: str | None = None) -> list[str]:
        """The databases of a catalog, or of the current one."""
        parts = (catalog,) if catalog else ()
        return self._ask(("databases", catalog or ""), lambda session: databases_in(session, parts))

    def tables(self, *database: str) -> list[str]:
        """The tables and views of a database, given as ``db`` or ``catalog, db``, or of the current one."""
        return self._ask(("tables", *database), lambda session: tables_in(session, database))

    def columns(self, *table: str) -> list[str]:
        """The columns of a table."""
        return self._ask(("columns", *table), lambda session: session.table(quote_path(table)).columns)

    def functions(self) -> list[str]:
        """The functions of Spark and the current database whose names are identifiers."""
        return list(filter(str.isidentifier, self._ask(_FUNCTIONS, functions_of)))

    def _ask(self, key: tuple[str, ...], question: Callable[[SparkSession], list[str]]) -> list[str]:
        cached_at, answer = self._known.get(key) or (0.0, [])
        fresh = cached_at and (key in _WITHOUT_TTL or time.monotonic() - cached_at < _TTL_SECONDS)
        if self._engine.ready is None or fresh:
            return answer
        try:
            answer = self._engine.submit(question).result(timeout=_TIMEOUT_SECONDS)
        except TimeoutError:
            return answer
        except Exception:
            # Completion must not report errors.
            answer = []
        self._known.put(key, (time.monotonic(), answer))
        return answer


_KEYWORDS = """
ADD AFTER ALL ALTER ANALYZE AND ANTI ANY ARRAY AS ASC AT BEGIN BETWEEN BIGINT BINARY BOOLEAN BRANCH BUCKET BUCKETS BY
CACHE CALL CASE CAST CATALOG CATALOGS CHANGE CLEAR CLUSTER COLUMN COLUMNS COMMENT COMPUTE COPY CREATE CROSS CUBE CURRENT
CURRENT_CATALOG CURRENT_DATABASE CURRENT_DATE CURRENT_TIMESTAMP DATA DATABASE DATABASES DATE DECIMAL DECLARE DEFAULT
DELETE DESC DESCRIBE DISTINCT DISTRIBUTE DO DOUBLE DROP ELSE END ESCAPE EXCEPT EXECUTE EXISTS EXPLAIN EXTENDED FALSE
FILE_FORMAT FILTER FIRST FLOAT FOR FORCE FORMATTED FROM FULL FUNCTION FUNCTIONS GROUP GROUPING HAVING IDENTIFIER IF
ILIKE IMMEDIATE IN INNER INSERT INT INTERSECT INTERVAL INTO IS JOIN KEY LAST LATERAL LEFT LIKE LIMIT LOCATION LOOP MAP
MATCHED MERGE MINUS NAMESPACE NAMESPACES NATURAL NOT NULL NULLS OF OFFSET ON ON_ERROR OPTIONS OR ORDER OUTER OVER
OVERWRITE PARTITION PARTITIONED PARTITIONS PIVOT PRIMARY PROCEDURE PROCEDURES QUALIFY RECURSIVE REFRESH RENAME REPEAT
REPLACE RESET RIGHT RLIKE ROLLUP ROW ROWS SCHEMA SCHEMAS SELECT SEMI SET SHOW SMALLINT SORT SOURCE STATISTICS STRING
STRUCT SYSTEM_TIME SYSTEM_VERSION TABLE TABLES TABLESAMPLE TAG TBLPROPERTIES TEMPORARY THEN TIMESTAMP TIMESTAMP_LTZ
TIMESTAMP_NTZ TINYINT TO TRUE TRUNCATE TYPE UNBOUNDED UNCACHE UNION UNPIVOT UNSET UPDATE USE USING VALUES VARIANT
VERSION VIEW VIEWS WATERMARK WHEN WHERE WHILE WINDOW WITH WITHIN
"""
_OPENING = """
ALTER ANALYZE BEGIN CACHE CALL COPY CREATE DECLARE DELETE DESCRIBE DROP EXECUTE EXPLAIN INSERT MERGE REFRESH RESET
SELECT SET SHOW TRUNCATE UNCACHE UPDATE USE VALUES WITH
"""

KEYWORDS = frozenset(_KEYWORDS.split())
"""In upper case."""

OPENING = tuple(_OPENING.split())
"""First words of statements."""
