"""What a statement becomes: edits that leave Spark to execute it, or a statement of ours that a CALL carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.statements import Statement


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
Reader = Callable[[Cursor, RewriteContext], Outcome | None]
"""Reads the statement at a cursor, whose end is the statement's; None where it is for Spark as it stands."""
