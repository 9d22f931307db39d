"""Execution of carried statements: one `Runner` class per kind of statement."""

from __future__ import annotations

from functools import cache

from paimon_sql.discovery import implementations
from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.carried_statements import Statement


@cache
def runners() -> dict[type[Statement], Runner[Statement]]:
    """The runners by the class of their statement."""
    kinds: list[type[Runner[Statement]]] = implementations(__name__, Runner)
    return {runner.statement: runner for runner in (kind() for kind in kinds)}


def run_statement(statement: Statement, context: StatementContext) -> Answer:
    """Execute a statement.

    Raises:
        UnsupportedError: there is no runner for the statement.
    """
    runner = runners().get(type(statement))
    if runner is None:
        raise UnsupportedError(f"The statement {type(statement).__name__} is not supported yet.")
    return runner.run(statement, context) or Answer()
