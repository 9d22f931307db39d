"""Catalogs for sessions that Spark makes from an equipped one: they are there before anyone can ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_sql.spark.jvm.gateway import EXECUTION, JavaObject, Jvm, private_field


class CatalogsBuilder(JavaObject):
    """What ``SparkSessionExtensions.injectCheckRule`` takes: a function from a session to a check of its plans.

    Spark asks for it while it builds a session's analyzer, through which everyone gets to the session's catalogs. So
    this is where they are made, and the check is one of Spark's own, which it makes anyway.

    ``catalogs`` are the settings of the session that was equipped first; sessions made from it start with them.
    ``attach`` takes a new session, these settings and its ``CatalogManager``.
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
        self._attach(session, self._catalogs, _manager_in_the_making(session.sessionState()))
        return self.jvm.singleton(f"{EXECUTION}.datasources.PreWriteCheck")

    class Java:
        implements = ["scala.Function1"]


def _manager_in_the_making(state: Any) -> Any:
    """The ``CatalogManager`` of a session whose analyzer is being built.

    The session's state would ask the analyzer for it, which is not there yet; the builder of both has it.
    """
    _, build_analyzer = private_field(state, "analyzerBuilder")
    (captured,) = build_analyzer.getClass().getDeclaredFields()
    captured.setAccessible(True)
    return captured.get(build_analyzer).catalogManager()
