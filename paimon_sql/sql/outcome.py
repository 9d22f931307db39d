"""Outcome of a rewrite: edits of a statement that Spark executes, or a statement that a CALL carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from paimon_sql.sql.grammar.statement import Statement
from paimon_sql.sql.reading import Reading
from paimon_sql.sql.text.edits import Edit


@dataclass
class Carried:
    """A carried statement.

    Attributes:
        statement: the statement that Python executes.
        spark_parses: whether Spark's parser knows the statement and can find errors inside it.
        plain: the edits that its parser needs for that, besides those of queries; they replace edits that they overlap.
    """

    statement: Statement
    spark_parses: bool = False
    plain: list[Edit] = field(default_factory=list)


Outcome = list[Edit] | Carried
Rewrite = Callable[[Any, Reading], Outcome | None]
"""The outcome of a node; None where Spark takes it unchanged."""

REWRITES: dict[type[exp.Expr], Rewrite] = {}
"""Rewrites by the class of the statement's node."""


def rewrites(node: type[exp.Expr]) -> Callable[[Rewrite], Rewrite]:
    """Register the rewrite of a class of nodes."""

    def register(rewrite: Rewrite) -> Rewrite:
        REWRITES[node] = rewrite
        return rewrite

    return register
