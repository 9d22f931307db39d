"""From a statement in Paimon's, Flink's or Spark's spelling to the text that goes to Spark's own parser.

Text that holds nothing of ours comes back as it is. Everything else is changed in as few places as can be, found on
tokens: what Spark parses keeps working whatever it is, since no statement is ever written anew. Nothing is evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from paimon_sql.sql.alter_table import alter_table
from paimon_sql.sql.analyze import analyze_table
from paimon_sql.sql.call import call
from paimon_sql.sql.carry import call_sql
from paimon_sql.sql.catalogs import (
    create_catalog,
    database_options,
    drop_catalog,
    set_option,
    show_create_view,
    use_catalog,
)
from paimon_sql.sql.changes import delete_from, update
from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.copy_into import copy_into
from paimon_sql.sql.create_table import create_table
from paimon_sql.sql.ctes import skip_ctes
from paimon_sql.sql.cursor import Cursor, Source
from paimon_sql.sql.describe_function import describe_function
from paimon_sql.sql.describe_partition import describe_partition
from paimon_sql.sql.edits import Edit, apply, outside
from paimon_sql.sql.functions_ddl import create_function, drop_function
from paimon_sql.sql.insert import insert
from paimon_sql.sql.materialized import (
    alter_materialized,
    create_materialized,
    drop_materialized,
    show_create_materialized,
    show_materialized,
)
from paimon_sql.sql.merge import merge_into
from paimon_sql.sql.outcome import Carried, Outcome, Reader
from paimon_sql.sql.parameters import has_parameters
from paimon_sql.sql.partitions import repair_table
from paimon_sql.sql.queries import read_queries
from paimon_sql.sql.scan import behind_comments, scan
from paimon_sql.sql.statements import ExplainChange, RowChange, Statement
from paimon_sql.sql.tags import show_tags

__all__ = ["RewriteContext", "Rewritten", "holds_ours", "rewrite"]

READERS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("CREATE", "CATALOG"), create_catalog),
    (("CREATE", "DATABASE|SCHEMA|NAMESPACE"), database_options),
    (("CREATE", "FUNCTION"), create_function),
    (("CREATE", "MATERIALIZED", "TABLE"), create_materialized),
    (("CREATE", "OR", "ALTER|REPLACE", "MATERIALIZED", "TABLE"), create_materialized),
    (("CREATE", "OR", "REPLACE", "FUNCTION"), create_function),
    (("CREATE|REPLACE", "TABLE|OR|TEMPORARY|TEMP|EXTERNAL"), create_table),
    (("ALTER", "TABLE"), alter_table),
    (("ALTER", "MATERIALIZED", "TABLE"), alter_materialized),
    (("ALTER", "DATABASE|SCHEMA|NAMESPACE"), database_options),
    (("DROP", "CATALOG"), drop_catalog),
    (("DROP", "MATERIALIZED", "TABLE"), drop_materialized),
    (("DROP", "FUNCTION"), drop_function),
    (("DELETE", "FROM"), delete_from),
    (("UPDATE",), update),
    (("MERGE", "INTO|WITH"), merge_into),
    (("INSERT", "INTO|OVERWRITE|WITH"), insert),
    (("ANALYZE", "TABLE"), analyze_table),
    (("MSCK", "REPAIR", "TABLE"), repair_table),
    (("REPAIR", "TABLE"), repair_table),
    (("SHOW", "TAGS|BRANCHES"), show_tags),
    (("SHOW", "CREATE", "VIEW"), show_create_view),
    (("SHOW", "CREATE", "MATERIALIZED", "TABLE"), show_create_materialized),
    (("SHOW", "MATERIALIZED", "TABLES"), show_materialized),
    (("DESCRIBE|DESC", "FUNCTION"), describe_function),
    (("DESCRIBE|DESC", "TABLE|EXTENDED|FORMATTED"), describe_partition),
    (("CALL",), call),
    (("COPY", "INTO"), copy_into),
    (("USE", "CATALOG"), use_catalog),
    (("SET|RESET",), set_option),
)
"""The statements that are more than queries, by the words that they begin with; a choice of words is ``A|B``."""

_BEGINNINGS = frozenset(w for words, _ in READERS for w in words[0].split("|")) - {"INSERT"} | {"EXPLAIN", "BEGIN"}
_INSERT = re.compile(r"\binsert\b", re.IGNORECASE)
_ORDERED = re.compile(r"\bby\s+name\b|\bpartition\s*\(|\bwith\s+schema\s+evolution\b", re.IGNORECASE)
"""What an INSERT of ours may have behind that word."""
_ORDERED_WORDS = ("name", "partition", "evolution")
"""One of these is in it then: texts are looked through for a word much sooner than for a pattern."""
_BY_NAME = re.compile(r"\bby\s+name\b", re.IGNORECASE)
_CHANGES = re.compile(r"\b(?:delete|update|merge)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:\s|--(?:\\\n|[^\r\n])*|\()*(\w*)")
_LABEL = re.compile(r"\s*\w+\s*:\s*BEGIN\b", re.IGNORECASE)
_OPENINGS = frozenset([";", "BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT"])
"""The words of a script behind which a statement may begin."""


@dataclass(frozen=True)
class Rewritten:
    """What a statement became.

    Attributes:
        sql: the text for Spark's parser; the very text that came in where nothing is ours.
        statements: the statements that the text carries to Python, in order; several only in a BEGIN .. END script.
        spark_sql: the text without CALLs, where Spark's grammar knows all statements that are carried. Parsing it first
            tells the user of errors inside expressions, with their place, before anything runs.
        has_parameters: a carried statement holds ``?`` or ``:name``. Their values are to be put into the original text
            before it is rewritten, since a carried expression is out of reach for Spark's own binding.
    """

    sql: str
    statements: tuple[Statement, ...] = ()
    spark_sql: str | None = None
    has_parameters: bool = False


def rewrite(text: str, context: RewriteContext) -> Rewritten:
    """Make a statement canonical Spark SQL.

    Args:
        text: one statement as the user wrote it, with or without semicolons at the end; a script counts as one.
        context: the session that it is run in.

    Raises:
        SqlSyntaxError: a construct of ours is malformed or cannot be kept.
    """
    if not holds_ours(text) or _keeps_insert(text, context):
        return Rewritten(text)
    tokens = scan(text)
    source = Source(text, tokens or [])
    if tokens is None or not source.tokens:
        return Rewritten(text)
    if not _is_raw(Cursor(source)):
        read_queries(source, tokens)
    draft = _Draft(source, context)
    for cursor in _statements(source):
        draft.add(cursor)
    return draft.result()


class _Draft:
    """What has become of a text so far.

    Attributes:
        edits: what it needs to become canonical.
        plain: the same without CALLs.
        done: the offset up to which statements are carried, so that nothing inside them is looked at again.
    """

    def __init__(self, source: Source, context: RewriteContext) -> None:
        self.source, self.context = source, context
        self.edits, self.plain = list(source.edits), list(source.edits)
        self.carried: list[Carried] = []
        self.has_parameters = False
        self.done = 0

    def add(self, cursor: Cursor) -> None:
        """Take in the statement at the cursor."""
        start, last = cursor.peek().start, self.source.tokens[cursor.end - 1].end
        stop = self.source.hinted.get(last, last)
        outcome = _read(cursor, self.context) if start >= self.done else None
        if not isinstance(outcome, Carried):
            self.edits += outcome or []
            self.plain += outcome or []
            return
        catalog = _catalog(outcome.statement, self.context)
        if catalog is not None:
            self.done = stop
            for edit in outcome.plain:
                self.plain = [*outside(self.plain, edit.start, edit.end), edit]
            if isinstance(outcome.statement, RowChange):
                change = replace(outcome.statement, text=self._in_place(start, stop))
                explained = _explained(self.source)
                outcome.statement = change if explained is None else ExplainChange(change, explained[1])
                start = start if explained is None else explained[0]
            self.carried.append(outcome)
            self.edits = [*outside(self.edits, start, stop), Edit(start, stop, call_sql(catalog, outcome.statement))]
            self.has_parameters = self.has_parameters or has_parameters(self.source.tokens, start, stop)

    def _in_place(self, start: int, stop: int) -> str:
        """A statement as Spark's parser takes it, with blanks for all that stands before it."""
        before = "".join(c if c == "\n" else " " for c in self.source.text[:start])
        return before + apply(self.source.text, self.plain, start, stop)

    def result(self) -> Rewritten:
        """The text as it is now."""
        text = self.source.text
        knows_all = bool(self.carried) and all(c.spark_parses for c in self.carried)
        return Rewritten(
            apply(text, self.edits) if self.edits else text,
            tuple(c.statement for c in self.carried),
            apply(text, self.plain) if knows_all else None,
            self.has_parameters,
        )


def holds_ours(text: str) -> bool:
    """A quick look: False where nothing of ours can be in the text; most statements need no more."""
    first = behind_comments(text)
    if "$" in text or "/*" in text[first:]:
        return True
    match = _FIRST_WORD.match(text, first)
    word = match[1].upper() if match else ""
    if word in _BEGINNINGS:
        return word not in ("SET", "RESET") or "'" in text or '"' in text or "spark.paimon." in text
    lowered = text.lower()
    if word in ("WITH", "INSERT") and any(each in lowered for each in _ORDERED_WORDS):
        inserted = _INSERT.search(text)
        if inserted is not None and _ORDERED.search(text, inserted.end()):
            return True
    if word == "WITH" and _CHANGES.search(text):
        return True
    return "paimon_incremental" in lowered or bool(_LABEL.match(text, first))


def _keeps_insert(text: str, context: RewriteContext) -> bool:
    """Whether a text is an INSERT BY NAME for Spark, by its beginning alone: rows may follow by the thousand."""
    first = behind_comments(text)
    match = _FIRST_WORD.match(text, first)
    name = _BY_NAME.search(text, first)
    if match is None or match[1].upper() != "INSERT" or name is None or "$" in text or "/*" in text[first:]:
        return False
    tokens = scan(text, first, name.end())
    if tokens is None or "paimon_incremental" in text.lower():
        return False
    return insert(Cursor(Source(text, tokens)), context) is None


def _is_raw(cursor: Cursor) -> bool:
    """Whether the rest of the statement is no SQL, such as the path behind ADD JAR."""
    if cursor.sees("SET", "VAR|VARIABLE") or cursor.sees("REFRESH", "TABLE|FUNCTION"):
        return False
    return cursor.sees("SET|RESET|ADD|LIST|DFS|REFRESH")


def _statements(source: Source) -> list[Cursor]:
    """A cursor for each statement: one, or in a script one for each place where a statement may begin."""
    cursor = Cursor(source)
    while cursor.end and source.tokens[cursor.end - 1].word == ";":
        cursor.end -= 1
    if cursor.accept("EXPLAIN"):
        cursor.accept("LOGICAL|FORMATTED|EXTENDED|CODEGEN|COST")
    begins = cursor.sees("BEGIN") or (cursor.peek(1).word == ":" and cursor.peek(2).word == "BEGIN")
    if not begins:
        return [] if cursor.done else [cursor]
    found: list[Cursor] = []
    while not cursor.done:
        if cursor.peek(-1 if cursor.position else 0).word in _OPENINGS:
            inner = cursor.fork()
            inner.seek((";",))
            found.append(cursor.fork(end=inner.position))
        cursor.skip()
    return found


def _explained(source: Source) -> tuple[int, str] | None:
    """Where EXPLAIN begins and its mode, if the text is one."""
    cursor = Cursor(source)
    if not cursor.accept("EXPLAIN"):
        return None
    mode = cursor.peek().word if cursor.sees("EXTENDED|FORMATTED|CODEGEN|COST") else "SIMPLE"
    return source.tokens[0].start, mode.lower()


def _read(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    ahead = cursor.fork()
    if cursor.sees("WITH"):
        skip_ctes(ahead)
        if not ahead.sees("DELETE|UPDATE|MERGE|INSERT"):
            return None
    for words, reader in READERS:
        if ahead.sees(*words):
            return reader(cursor, context)
    return None


def _catalog(statement: Statement, context: RewriteContext) -> str | None:
    kinds = (getattr(statement, kind, None) for kind in ("table", "function", "database"))
    named = next((name for name in kinds if name), None)
    return named[0] if named else context.host
