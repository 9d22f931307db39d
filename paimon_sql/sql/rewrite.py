"""Rewriting of statements in Paimon's, Flink's or Spark's spelling to text for Spark's parser.

Text without any construct of the dialect is returned unchanged. Other text is parsed into a tree, whose nodes yield
edits at their positions. No statement is regenerated, so all that Spark parses keeps working. Nothing is evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

import paimon_sql.sql.statements  # noqa: F401  # its modules register their readers, writers and rewrites
from paimon_sql.sql.carried_statements import ExplainChange, RowChange, Statement, call_sql
from paimon_sql.sql.context import Reading, RewriteContext
from paimon_sql.sql.dialect.nodes import Explain, Script, span
from paimon_sql.sql.dialect.parser import READERS, PaimonParser
from paimon_sql.sql.dialect.session_dialect import PaimonDialect, skip_comments
from paimon_sql.sql.edits import Edit, apply, blanked, outside, relation_edits
from paimon_sql.sql.errors import RefusedError, SqlSyntaxError
from paimon_sql.sql.statements.base import REWRITES, Carried
from paimon_sql.sql.text.names import string_sql

__all__ = ["RewriteContext", "Rewritten", "may_need_rewrite", "read", "rewrite"]

_BEGINNINGS = frozenset(READERS) | {"DELETE", "UPDATE", "MERGE", "EXPLAIN", "EXECUTE", "BEGIN"}
_INSERT = re.compile(r"\binsert\b", re.IGNORECASE)
_ORDERED = re.compile(r"\bby\s+name\b|\bpartition\s*\(|\bwith\s+schema\s+evolution\b", re.IGNORECASE)
"""Clauses after INSERT that the dialect handles."""
_ORDERED_WORDS = ("name", "partition", "evolution")
"""Words of which `_ORDERED` needs one: searching for a word is much faster than for a pattern."""
_BY_NAME = re.compile(r"\bby\s+name\b", re.IGNORECASE)
_CHANGES = re.compile(r"\b(?:delete|update|merge)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:\s|--(?:\\\n|[^\r\n])*|\()*(\w*)")
_EXPLAIN_REWRITE = re.compile(r"explain\s+rewrite\s+", re.IGNORECASE)
_LABEL = re.compile(r"\s*\w+\s*:\s*BEGIN\b", re.IGNORECASE)


@dataclass(frozen=True)
class Rewritten:
    """The result of `rewrite`.

    Attributes:
        sql: the text for Spark's parser; identical to the input where there is nothing to rewrite.
        statements: the carried statements, in order; several only in a BEGIN .. END script.
        spark_sql: the text without CALLs, if Spark's grammar knows all carried statements. Parsing it first reports
            errors inside expressions, with their positions, before anything runs.
        has_parameters: whether a carried statement holds ``?`` or ``:name``. The caller must put their values into the
            original text and rewrite that, since Spark cannot bind inside a carried expression.
        warnings: what the user must know about the rewriting, one sentence each.
    """

    sql: str
    statements: tuple[Statement, ...] = ()
    spark_sql: str | None = None
    has_parameters: bool = False
    warnings: tuple[str, ...] = ()


def rewrite(text: str, context: RewriteContext) -> Rewritten:
    """Rewrite a statement to canonical Spark SQL.

    Args:
        text: one statement, with or without semicolons at the end; a script counts as one.
        context: the session that runs it.

    Raises:
        SqlSyntaxError: a construct of the dialect is malformed or cannot be supported.
    """
    if not may_need_rewrite(text) or _is_insert_for_spark(text, context):
        return Rewritten(text)
    if explained := _EXPLAIN_REWRITE.match(text, _start(text)):
        return Rewritten(_explained(rewrite(text[explained.end() :], context)))
    try:
        trees = read(text)
    except RefusedError as error:
        about = error.about and Reading(text, context).table(error.about)
        if error.about is not None and about is None:
            return Rewritten(text)
        raise SqlSyntaxError.of(error, text) from None
    except (ParseError, TokenError):
        return Rewritten(text)
    draft = _Draft(text, context, trees)
    for tree in trees:
        draft.add(tree)
    return draft.result()


def read(text: str) -> list[exp.Expr]:
    """Parse a text's statements shallowly.

    Raises:
        ParseError: the text cannot be parsed; a `RefusedError` if the fault is in a construct of the dialect.
        TokenError: a string, quoted name, hint or comment is never closed.
    """
    dialect = PaimonDialect()
    parser = PaimonParser(dialect=dialect)
    parser.shallow = True
    return [tree for tree in parser.parse(dialect.tokenize(text), text) if tree is not None]


def _explained(rewritten: Rewritten) -> str:
    """A query whose rows show a rewritten statement: the text for Spark, and the carried statements."""
    rows = [("executed by paimon-sql", repr(statement)) for statement in rewritten.statements]
    if not rows or rewritten.spark_sql is not None:
        rows.insert(0, ("parsed by Spark", rewritten.sql if not rows else rewritten.spark_sql or ""))
    rows += [("warning", warning) for warning in rewritten.warnings]
    values = ", ".join(f"({string_sql(who)}, {string_sql(what)})" for who, what in rows)
    return f"SELECT * FROM VALUES {values} AS rewritten(step, statement)"


class _Draft:
    """The rewriting of one text in progress.

    Attributes:
        edits: the edits that make the text canonical.
        plain: the same edits without CALLs.
    """

    def __init__(self, text: str, context: RewriteContext, trees: list[exp.Expr]) -> None:
        self.text, self.context = text, context
        self.edits = [edit for tree in trees for edit in relation_edits(tree, text)]
        self.plain = list(self.edits)
        self.reading = Reading(text, context, tuple(self.edits))
        self.carried: list[Statement] = []
        self.has_parameters = False

    def add(self, tree: exp.Expr) -> None:
        """Add a statement, or those of a script."""
        if isinstance(tree, Script):
            removed = [Edit(start, end, "") for start, end in tree.meta["removed"]]
            self.edits += removed
            self.plain += removed
            for each in tree.expressions:
                self.add(each)
            return
        node = tree.this if isinstance(tree, Explain) else tree
        rewrite = REWRITES.get(type(node))
        outcome = rewrite(node, self.reading) if rewrite is not None else None
        if not isinstance(outcome, Carried):
            self.edits += outcome or []
            self.plain += outcome or []
            return
        statement: Statement = outcome.statement
        catalog = _catalog(statement, self.context)
        if catalog is None:
            return
        start, stop = span(node)
        for edit in outcome.plain:
            self.plain = [*outside(self.plain, edit.start, edit.end), edit]
        if isinstance(statement, RowChange):
            # At its line and column in the user's text, for the positions of Spark's errors.
            text = blanked(self.text[:start]) + apply(self.text, self.plain, start, stop)
            statement = change = replace(statement, text=text)
            if isinstance(tree, Explain):
                statement = ExplainChange(change, (tree.args.get("mode") or "simple").lower())
                start = span(tree).start
        self.carried.append(statement)
        self.edits = [*outside(self.edits, start, stop), Edit(start, stop, call_sql(catalog, statement))]
        self.has_parameters = self.has_parameters or bool(node.meta.get("has_parameters"))

    def result(self) -> Rewritten:
        """The rewritten text."""
        knows_all = bool(self.carried) and all(statement.SPARK_PARSES for statement in self.carried)
        return Rewritten(
            apply(self.text, self.edits) if self.edits else self.text,
            tuple(self.carried),
            apply(self.text, self.plain) if knows_all else None,
            self.has_parameters,
            tuple(self.reading.warnings),
        )


def may_need_rewrite(text: str) -> bool:
    """Whether the text may hold a construct of the dialect; a cheap check that settles most statements."""
    first = _start(text)
    if "$" in text or "/*" in text[first:]:
        return True
    word = _first_word(text, first)
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


def _is_insert_for_spark(text: str, context: RewriteContext) -> bool:
    """Whether a text is an INSERT BY NAME that Spark executes, judged by its head: thousands of rows may follow."""
    first = _start(text)
    name = _BY_NAME.search(text, first)
    if _first_word(text, first) != "INSERT" or name is None or "$" in text or "/*" in text[first:]:
        return False
    if "paimon_incremental" in text.lower():
        return False
    head = f"{text[: name.end()]} TABLE x"
    try:
        (tree,) = read(head)
    except (ParseError, TokenError):
        return False
    return isinstance(tree, exp.Insert) and REWRITES[exp.Insert](tree, Reading(head, context)) is None


def _first_word(text: str, first: int) -> str:
    match = _FIRST_WORD.match(text, first)
    return match[1].upper() if match else ""


def _start(text: str) -> int:
    """The offset of the first token; the end of the text if there is none."""
    found = skip_comments(text)
    return len(text) if found is None else found


def _catalog(statement: Statement, context: RewriteContext) -> str | None:
    kinds = (getattr(statement, kind, None) for kind in ("table", "function", "database"))
    named = next((name for name in kinds if name), None)
    return named[0] if named else context.host
