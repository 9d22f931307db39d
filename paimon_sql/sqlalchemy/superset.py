"""What Superset knows of the dialect: its time grains, its literals of time, and how its SQL is parsed.

Superset finds the class by the entry point ``superset.db_engine_specs``, in an environment of its own.
"""

from __future__ import annotations

import re
from datetime import datetime

from sqlalchemy.engine import URL
from sqlalchemy.types import Date, DateTime
from sqlglot import exp
from sqlglot.dialects.databricks import Databricks
from superset import db
from superset.constants import QUERY_CANCEL_KEY
from superset.db_engine_specs.base import BaseEngineSpec
from superset.db_engine_specs.spark import time_grain_expressions
from superset.models.sql_lab import Query
from superset.sql.parse import SQLGLOT_DIALECTS

from paimon_sql.sqlalchemy.dialect import PaimonDialect
from paimon_sql.sqlalchemy.driver import Cursor, Error
from paimon_sql.sqlalchemy.literals import literal

_OPTIONS = re.compile(r"\s*OPTIONS\s*\(\s*'[^']*'\s*=")


class SupersetSql(Databricks):
    """The SQL of the server, in the sqlglot of Superset, which is older than our own dialect of it needs.

    Superset writes each statement anew: names quoted as others quote them would not be found, and a hint that became a
    comment would read another state of the table.
    """

    class Generator(Databricks.Generator):  # type: ignore[valid-type, misc]  # newer ones have it as an attribute
        """Writes statements."""

        def table_parts(self, expression: exp.Table) -> str:
            """The name of a table with its hint OPTIONS, which the parser takes for a comment."""
            comments = expression.comments or []
            hints = [text for text in comments if _OPTIONS.match(text)]
            expression.comments = [text for text in comments if text not in hints]
            return " ".join([super().table_parts(expression), *(f"/*+{text}*/" for text in hints)])


SQLGLOT_DIALECTS.setdefault(PaimonDialect.name, SupersetSql)


class PaimonEngineSpec(BaseEngineSpec):
    """The kind of database that a URL of the dialect names."""

    engine = PaimonDialect.name
    engine_name = "Apache Paimon"
    _time_grain_expressions = time_grain_expressions
    supports_dynamic_schema = True

    @classmethod
    def adjust_engine_params(
        cls, uri: URL, connect_args: dict[str, object], catalog: str | None = None, schema: str | None = None
    ) -> tuple[URL, dict[str, object]]:
        """The URL of a connection in the chosen database."""
        return (uri.set(database=schema) if schema else uri), connect_args

    @classmethod
    def get_schema_from_engine_params(cls, sqlalchemy_uri: URL, connect_args: dict[str, object]) -> str | None:
        """The database of such a connection, for which permissions are checked."""
        return str(sqlalchemy_uri.database) if sqlalchemy_uri.database else None

    @classmethod
    def execute_with_cursor(cls, cursor: Cursor, sql: str, query: Query) -> None:
        """Run a statement of SQL Lab, which another worker may stop meanwhile."""
        cursor.start(sql)
        query.set_extra_json_key(QUERY_CANCEL_KEY, cursor.statement_id)
        db.session.commit()
        cursor.wait()

    @classmethod
    def cancel_query(cls, cursor: Cursor, query: Query, cancel_query_id: str) -> bool:
        """Stop a statement by a connection of its own; whether it was still running."""
        try:
            cursor.cancel_statement(cancel_query_id)
        except Error:
            return False
        return True

    @classmethod
    def convert_dttm(cls, target_type: str, dttm: datetime, db_extra: dict[str, object] | None = None) -> str | None:
        """A time as a literal of the type of the column that it is compared with; None for a column of another type."""
        column = cls.get_sqla_column_type(target_type, db_extra=db_extra)
        if isinstance(column, Date):
            return literal(dttm.date())
        if isinstance(column, DateTime):
            return literal(dttm)
        return None

    @classmethod
    def epoch_to_dttm(cls) -> str:
        """A number of seconds as a time."""
        return "timestamp_seconds({col})"
