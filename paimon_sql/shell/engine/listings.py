"""Names that a session lists, databases, tables and functions, and suggestions for those that do not exist."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from paimon_sql.errors import did_you_mean
from paimon_sql.shell.engine.problem import Missing
from paimon_sql.sql.text.names import parts_in, quote_path


def databases_in(session: SparkSession, catalog: Sequence[str]) -> list[str]:
    """Return the databases of a catalog, given as one name, or of the current one."""
    return _column(session, f"SHOW DATABASES{_in(catalog)}", 0)


def tables_in(session: SparkSession, database: Sequence[str]) -> list[str]:
    """Return the tables and views of a database, given as ``db`` or ``catalog, db``, or of the current one."""
    return _column(session, f"SHOW TABLES{_in(database)}", 1)


def functions_of(session: SparkSession) -> list[str]:
    """Return the functions of Spark and the current database."""
    return _column(session, "SHOW FUNCTIONS", 0)


def similar_name(session: SparkSession, missing: Missing) -> str | None:
    """A remedy with the existing name that is most similar to a missing one; None without.

    For a table in a database that does not exist, it is a database.
    """
    *parents, last = parts_in(missing.name) or ("",)
    if missing.kind == "table":
        try:
            return did_you_mean(last, tables_in(session, parents))
        except AnalysisException:
            *parents, last = parents or [""]
    return did_you_mean(last, databases_in(session, parents))


def _in(parts: Sequence[str]) -> str:
    return f" IN {quote_path(parts)}" if parts else ""


def _column(session: SparkSession, statement: str, index: int) -> list[str]:
    return [str(row[index]) for row in session.sql(statement).collect()]
