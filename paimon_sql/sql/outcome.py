"""What a statement becomes: edits that leave Spark to execute it, or a statement of ours that a CALL carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from paimon_sql.sql.edits import Edit
from paimon_sql.sql.reading import Reading

if TYPE_CHECKING:
    from paimon_sql.sql.statements.base import Statement


@dataclass
class Carried:
    """A statement that a CALL carries.

    Attributes:
        statement: what Python executes.
        spark_parses: Spark's parser knows the statement, so that it can be asked for the errors inside it.
        plain: the edits that it needs for that beyond those of queries; they win over what they overlap.
    """

    statement: Statement
    spark_parses: bool = False
    plain: list[Edit] = field(default_factory=list)


Outcome = list[Edit] | Carried
Rewrite = Callable[[Any, Reading], Outcome | None]
"""What becomes of a node; None where it is for Spark as it stands."""

REWRITES: dict[type[exp.Expr], Rewrite] = {}
"""By the class of a statement's node."""


def rewrites(node: type[exp.Expr]) -> Callable[[Rewrite], Rewrite]:
    """Register what becomes of the nodes of a class."""

    def register(rewrite: Rewrite) -> Rewrite:
        REWRITES[node] = rewrite
        return rewrite

    return register
