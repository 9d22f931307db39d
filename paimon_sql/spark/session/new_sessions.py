"""Catalogs of new sessions: attached before a session that Spark creates from an attached one can be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_sql.spark.jvm.gateway import EXECUTION, JavaObject, Jvm, private_field


class CatalogsBuilder(JavaObject):
    """A function from a session to a check of its plans, for ``SparkSessionExtensions.injectCheckRule``.

    Spark calls it while it builds a session's analyzer, which all access to the session's catalogs goes through. So the
    catalogs are attached here; the returned check is one that Spark runs anyway.

    Args:
        jvm: the JVM.
        catalogs: the catalog settings of the first session; sessions created from it start with them.
        attach: called with a new session, these settings and its ``CatalogManager``.
    """

    MARK = "paimon-sql catalogs builder"

    def __init__(
        self, jvm: Jvm, catalogs: Mapping[str, str], attach: Callable[[Any, Mapping[str, str], Any], object]
    ) -> None:
        super().__init__(jvm)
        self._attach = attach
        self._catalogs = catalogs

    def toString(self) -> str:
        return self.MARK

    def apply(self, session: Any) -> Any:
        self._attach(session, self._catalogs, _manager_of(session.sessionState()))
        return self.jvm.singleton(f"{EXECUTION}.datasources.PreWriteCheck")

    class Java:
        implements = ["scala.Function1"]


def _manager_of(state: Any) -> Any:
    """The ``CatalogManager`` of a session whose analyzer is being built.

    The session's state gets it from the analyzer, which does not exist yet; their common builder has it.
    """
    _, build_analyzer = private_field(state, "analyzerBuilder")
    (captured,) = build_analyzer.getClass().getDeclaredFields()
    captured.setAccessible(True)
    return captured.get(build_analyzer).catalogManager()
