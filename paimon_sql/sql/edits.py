"""Edits of a statement by position, and those that rewrite Paimon tables inside queries to Spark SQL.

- ``t /*+ OPTIONS('k' = 'v') */ x`` becomes ``t WITH ('k' = 'v') x``. Spark's grammar has options after a time-travel
  clause only, wherever the hint is. ``TABLE t`` takes no options in Spark and becomes ``SELECT * FROM t WITH (..)``.
- ``t$snapshots`` and ``db.t$branch_b`` are put in back-quotes.
- ``paimon_incremental_query('t', 1, 3)`` and its like become ``t WITH ('incremental-between' = '1,3')``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlglot import exp

from paimon_sql.sql.dialect.nodes import Incremental, Options, Span, option_lists, span
from paimon_sql.sql.dialect.relations import INCREMENTAL
from paimon_sql.sql.text.names import parts_in, quote_name, quote_path, string_sql


class Edit(NamedTuple):
    """Replacement of the characters from ``start`` up to ``end``; an insertion if both are equal."""

    start: int
    end: int
    text: str


def clause(text: str, start: int, end: int, replacement: str) -> Edit:
    """An edit that inserts words, with spaces where they would touch their neighbours."""
    before = "" if start == 0 or text[start - 1].isspace() else " "
    after = "" if end == len(text) or text[end].isspace() or text[end] in ",;)" else " "
    return Edit(start, end, before + replacement + after)


def apply(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """``text[start:end]`` with the edits inside it; edits may touch but not overlap.

    Insertions at one position keep their order.
    """
    end = len(text) if end is None else end
    parts: list[str] = []
    position = start
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < position or edit.end > end:
            continue
        parts += (text[position : edit.start], edit.text)
        position = edit.end
    parts.append(text[position:end])
    return "".join(parts)


def blanked(text: str) -> str:
    """The text with a space for every character but line breaks."""
    return re.sub(r"[^\n]", " ", text)


def outside(edits: Iterable[Edit], start: int, end: int) -> list[Edit]:
    """The edits outside of ``start`` to ``end``."""
    return [e for e in edits if e.end <= start or e.start >= end]


def relation_edits(tree: exp.Expr, text: str) -> Iterator[Edit]:
    """The edits of a tree's tables and names."""
    for node in tree.walk():
        if isinstance(node, exp.Identifier) and "$" in node.this and "start" in node.meta:
            position = span(node)
            if text[position.start] != "`":
                yield Edit(*position, quote_name(node.this))
        elif isinstance(node, exp.Table):
            yield from _table_edits(node, text)


def _table_edits(table: exp.Table, text: str) -> Iterator[Edit]:
    hints = [each for each in option_lists(table) if text.startswith("/*+", each.meta["start"])]
    options = [text[slice(*span(option))] for each in hints for option in each.expressions]
    if isinstance(table.this, Incremental):
        options.insert(0, incremental_option(table.this))
        name = quote_path(parts_in(table.this.expressions[0].name) or ())
        yield Edit(*span(table.this), f"{name} WITH ({', '.join(options)})")
        yield from (Edit(*span(each), "") for each in hints)
        return
    if not hints:
        return
    given, end = f"WITH ({', '.join(options)})" if options else "", table.args["version"].meta["travels_to"]
    runs = _runs(hints, text)
    if end is not None and runs[0][0] < end:
        yield Edit(*runs.pop(0), "")
        if not runs:
            yield clause(text, end + 1, end + 1, given)
    for number, run in enumerate(runs):
        yield clause(text, *run, given if number == 0 else "")
    yield from _readable(table)


def incremental_option(call: Incremental) -> str:
    """The option that is equivalent to a call of a table function."""
    option, _ = INCREMENTAL[call.name.upper()]
    return f"'{option}' = {string_sql(','.join(each.name for each in call.expressions[1:]))}"


def _runs(hints: list[Options], text: str) -> list[tuple[int, int]]:
    """The spans of hints; adjacent ones are merged."""
    runs: list[tuple[int, int]] = []
    for start, end in dict.fromkeys(span(hint) for hint in hints):
        if runs and not text[runs[-1][1] : start].strip():
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    return runs


def _readable(table: exp.Table) -> Iterator[Edit]:
    """Turn ``TABLE t`` into ``SELECT * FROM t``, which takes options in Spark."""
    keyword: Span | None = table.meta.get("keyword")
    if keyword is not None:
        yield Edit(*keyword, "SELECT * FROM")
    elif (bracket := table.meta.get("in_table_call")) is not None:
        yield Edit(bracket, bracket, "SELECT * FROM ")
