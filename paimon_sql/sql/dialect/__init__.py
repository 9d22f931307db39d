"""Paimon's sqlglot dialect, as a difference to sqlglot's Spark dialect.

Raises:
    SetupError: sqlglot's compiled modules are installed, whose classes cannot be extended.
"""

from __future__ import annotations

from sqlglot.parser import Parser

from paimon_sql.errors import SetupError


class _Probe(Parser):
    """Instantiable only if sqlglot's classes can be extended."""


def check_sqlglot() -> None:
    """Check that sqlglot's classes can be extended.

    Raises:
        SetupError: they cannot.
    """
    try:
        _Probe()
    except TypeError as error:
        raise SetupError(
            "sqlglot's compiled modules (sqlglotc) are installed, which no dialect of others works with.",
            remedy="Run: pip uninstall sqlglotc. sqlglot itself stays.",
        ) from error


check_sqlglot()
