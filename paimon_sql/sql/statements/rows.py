"""UPDATE, DELETE and MERGE of Paimon tables: sqlglot's trees, whose expressions stay text."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from sqlglot import exp

from paimon_sql.sql.carried_statements import Node, Options, RowChange
from paimon_sql.sql.context import Reading, TableName, names_of
from paimon_sql.sql.dialect.nodes import Verbatim, option_lists, options_of, span
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.statements.base import Carried, Outcome, rewrites
from paimon_sql.sql.text.names import quote_name

Rows = Literal["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"]


class Assignment(Node):
    """``column = value``: the column's parts, and an expression or ``DEFAULT``."""

    column: tuple[str, ...]
    value: str


class DeleteFrom(RowChange):
    """DELETE FROM; all rows without ``where``. ``ctes`` is the text ``WITH a AS (..), ..`` before it, or empty."""

    alias: str | None = None
    where: str | None = None
    ctes: str = ""
    options: Options = field(default_factory=dict)


class Update(RowChange):
    """UPDATE .. SET; all rows without ``where``."""

    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: str | None = None
    ctes: str = ""
    options: Options = field(default_factory=dict)


class MergeClause(Node):
    """One WHEN clause of a MERGE.

    Attributes:
        rows: the rows that it applies to.
        action: the action on them; the ``*`` forms take all columns of the source.
        condition: the expression after AND.
        assignments: the columns to set or insert, in order; empty for DELETE and the ``*`` forms.
    """

    rows: Rows
    action: Literal["UPDATE", "UPDATE *", "DELETE", "INSERT", "INSERT *"]
    condition: str | None = None
    assignments: tuple[Assignment, ...] = ()


class MergeInto(RowChange):
    """MERGE INTO; for each row, the first clause whose condition holds is applied.

    ``source`` is the text after USING without the alias: a table with options and time travel, or a query in brackets.
    ``source_alias`` is the text of the alias, with its column names.
    """

    source: str
    on: str
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    schema_evolution: bool = False
    ctes: str = ""
    options: Options = field(default_factory=dict)


RowStatement: TypeAlias = DeleteFrom | Update | MergeInto
"""A statement that changes existing rows."""


@rewrites(exp.Delete)
def delete_from(node: exp.Delete, reading: Reading) -> Outcome | None:
    """Rewrite ``[WITH ..] DELETE FROM t [[AS] a] [WHERE ..]``."""
    target = _Target(node.this, reading) if isinstance(node.this, exp.Table) else None
    if target is None or target.table is None or node.args.get("using") or node.args.get("tables"):
        return None
    where = _where(node, reading)
    statement = DeleteFrom(target.table, target.alias, where, _ctes(node, reading), target.options)
    return Carried(statement, target.plain)


@rewrites(exp.Update)
def update(node: exp.Update, reading: Reading) -> Outcome | None:
    """Rewrite ``[WITH ..] UPDATE t [[AS] a] SET c = e, .. [WHERE ..]``."""
    target = _Target(node.this, reading) if isinstance(node.this, exp.Table) else None
    if target is None or target.table is None or node.args.get("from_"):
        return None
    changes = _assignments(node, reading)
    if not changes:
        return None
    where = _where(node, reading)
    statement = Update(target.table, changes, target.alias, where, _ctes(node, reading), target.options)
    return Carried(statement, target.plain)


@rewrites(exp.Merge)
def merge_into(node: exp.Merge, reading: Reading) -> Outcome | None:
    """Rewrite ``[WITH ..] MERGE [WITH SCHEMA EVOLUTION] INTO t USING s ON .. WHEN ..``."""
    target = _Target(node.this, reading) if isinstance(node.this, exp.Table) else None
    using, on = node.args.get("using"), node.args.get("on")
    if target is None or target.table is None or using is None or not isinstance(on, Verbatim):
        return None
    whens = node.args["whens"].expressions
    clauses = [_clause(when, reading) for when in whens]
    if not clauses or None in clauses:
        return None
    source, plain = _source(using, reading)
    statement = MergeInto(
        target.table,
        source,
        reading.text(on),
        tuple(c for c in clauses if c is not None),
        target.alias,
        _text(using.args.get("alias"), reading),
        bool(node.meta.get("evolves")),
        _ctes(node, reading),
        target.options,
    )
    return Carried(statement, target.plain + plain)


class _Target:
    """The target table of a statement, with its alias and the options of its hint."""

    def __init__(self, node: exp.Table, reading: Reading) -> None:
        self.table: TableName | None = reading.table(node)
        self.alias: str | None = node.alias or None
        lists, self.options = option_lists(node), options_of(node)
        # Spark's grammar has no options before an alias here.
        self.plain = [Edit(span(node).end, span(lists[-1]).end, "")] if lists else []


def _source(node: exp.Expr, reading: Reading) -> tuple[str, list[Edit]]:
    """The text of a MERGE's source, and the edits that Spark's parser needs, which takes only a name here."""
    version, names = node.args.get("version"), names_of(node)
    if version is None:
        return reading.text(node), []
    begin, end = span(node).start, span(version).end
    sql = reading.part(begin, end)
    alias = f" AS {quote_name(names[-1])}" if names and node.args.get("alias") is None else ""
    return sql, [Edit(begin, end, f"(SELECT * FROM {sql}){alias}")]


def _text(node: exp.Expr | None, reading: Reading) -> str | None:
    return None if node is None else reading.text(node)


def _ctes(node: exp.Expr, reading: Reading) -> str:
    return _text(node.args.get("with_"), reading) or ""


def _where(node: exp.Expr, reading: Reading) -> str | None:
    where = node.args.get("where")
    return _text(where and where.this, reading)


def _assignments(node: exp.Expr, reading: Reading) -> tuple[Assignment, ...]:
    """The assignments ``a.b = expression, ..``; empty if an element is not one."""
    found: list[Assignment] = []
    for each in node.expressions:
        column = names_of(each.this) if isinstance(each, exp.EQ) else None
        if column is None or not isinstance(each.expression, Verbatim):
            return ()
        found.append(Assignment(column, reading.text(each.expression)))
    return tuple(found)


def _clause(when: exp.When, reading: Reading) -> MergeClause | None:
    rows: Rows = "MATCHED" if when.args["matched"] else "NOT MATCHED"
    if rows == "NOT MATCHED" and when.args.get("source"):
        rows = "NOT MATCHED BY SOURCE"
    condition = _text(when.args.get("condition"), reading)
    then = when.args["then"]
    if isinstance(then, exp.Var):
        return MergeClause(rows, "DELETE", condition) if then.name.upper() == "DELETE" else None
    if isinstance(then, exp.Update):
        if any(isinstance(each, exp.Star) for each in then.expressions):
            return MergeClause(rows, "UPDATE *", condition)
        changes = _assignments(then, reading)
        return MergeClause(rows, "UPDATE", condition, changes) if changes else None
    if isinstance(then, exp.Insert):
        if isinstance(then.this, exp.Star):
            return MergeClause(rows, "INSERT *", condition)
        columns, values = then.this, then.expression
        if not isinstance(columns, exp.Tuple) or not isinstance(values, exp.Tuple):
            return None
        names = [names_of(each) for each in columns.expressions]
        values_sql = [reading.text(each) for each in values.expressions]
        if len(names) != len(values_sql) or None in names:
            return None
        inserted = tuple(Assignment(n, text) for n, text in zip(names, values_sql, strict=True) if n)
        return MergeClause(rows, "INSERT", condition, inserted)
    return None
