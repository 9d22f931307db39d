"""Names for completion: catalogs, databases, tables, columns, functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import TimeoutError
from typing import TypeVar

from pyspark.sql import SparkSession

from paimon_sql.shell.engine.engine import Engine
from paimon_sql.sql.text.names import quote_name

T = TypeVar("T")

_TTL_SECONDS = 30.0
_TIMEOUT_SECONDS = 2.0
_WITHOUT_TTL = (("functions",), ("current_database",))


class Names:
    """Names from Spark, cached with a time to live and until `forget`.

    A name is looked up with a short timeout. While Spark starts, is busy or fails, there are no names.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[str, ...], tuple[float, list[str]]] = {}

    def forget(self) -> None:
        """Invalidate the cache after a statement; functions stay cached."""
        self._known = {key: value for key, value in self._known.items() if key == ("functions",)}

    def current_database(self) -> str | None:
        """The current catalog and database, ``catalog.database``."""
        found = self._ask(
            ("current_database",), lambda s: [f"{s.catalog.currentCatalog()}.{s.catalog.currentDatabase()}"]
        )
        return found[0] if found else None

    def catalogs(self) -> list[str]:
        """The catalogs."""
        return self._ask(("catalogs",), lambda session: [c.name for c in session.catalog.listCatalogs()])

    def databases(self, catalog: str | None = None) -> list[str]:
        """The databases of a catalog, or of the current one."""
        where = f" IN {quote_name(catalog)}" if catalog else ""
        return self._ask(("databases", catalog or ""), lambda session: _column(session, f"SHOW DATABASES{where}", 0))

    def tables(self, *database: str) -> list[str]:
        """The tables and views of a database, given as ``db`` or ``catalog, db``, or of the current one."""
        where = f" IN {_dotted(database)}" if database else ""
        return self._ask(("tables", *database), lambda session: _column(session, f"SHOW TABLES{where}", 1))

    def columns(self, *table: str) -> list[str]:
        """The columns of a table."""
        return self._ask(("columns", *table), lambda session: session.table(_dotted(table)).columns)

    def functions(self) -> list[str]:
        """The functions of Spark and the current database whose names are identifiers."""
        return [
            name for name in self._ask(("functions",), lambda s: _column(s, "SHOW FUNCTIONS", 0)) if name.isidentifier()
        ]

    def _ask(self, key: tuple[str, ...], question: Callable[[SparkSession], list[str]]) -> list[str]:
        cached_at, answer = self._known.get(key, (0.0, []))
        fresh = cached_at and (key in _WITHOUT_TTL or time.monotonic() - cached_at < _TTL_SECONDS)
        if self._engine.ready is None or fresh:
            return answer
        try:
            answer = self._engine.submit(question).result(timeout=_TIMEOUT_SECONDS)
        except TimeoutError:
            return answer
        except Exception:
            # Completion must not report errors.
            answer = []
        self._known[key] = (time.monotonic(), answer)
        return answer


def _column(session: SparkSession, statement: str, index: int) -> list[str]:
    return [str(row[index]) for row in session.sql(statement).collect()]


def _dotted(parts: tuple[str, ...]) -> str:
    return ".".join(map(quote_name, parts))
