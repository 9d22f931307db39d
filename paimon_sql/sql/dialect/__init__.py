"""Paimon's dialect of sqlglot, as a difference to sqlglot's Spark.

Raises:
    SetupError: sqlglot is there in its compiled form alone, whose classes nobody can extend.
"""

from __future__ import annotations

from sqlglot.parser import Parser

from paimon_sql.errors import SetupError


class _Probe(Parser):
    """Can be made where sqlglot's classes can be extended."""


def check_sqlglot() -> None:
    """Nothing if sqlglot's classes can be extended."""
    try:
        _Probe()
    except TypeError as error:
        raise SetupError(
            "sqlglot's compiled modules (sqlglotc) are installed, which no dialect of others works with.",
            remedy="Run: pip uninstall sqlglotc. sqlglot itself stays.",
        ) from error


check_sqlglot()
