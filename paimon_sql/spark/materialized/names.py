"""Qualification of names in a query, so that it means the same in each session that executes it."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, NoSuchDatabaseError
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.sql.context import SESSION_CATALOG
from paimon_sql.sql.functions.calls import calls_in
from paimon_sql.sql.functions.name_locations import NameLocations
from paimon_sql.sql.text.edits import Edit, apply
from paimon_sql.sql.text.names import quote_name

_REGISTRIES = f"{CATALYST}.analysis"
_RELATION, _TRAVEL, _WITH = "UnresolvedRelation", "RelationTimeTravel", "UnresolvedWith"


class QualifiedNames:
    """Qualifies the names of tables, views and functions in queries.

    Args:
        jvm: the JVM.
        session: the JVM's session that resolves the names.
        catalog: the catalog whose functions are looked up.
    """

    def __init__(self, jvm: Jvm, session: Any, catalog: Catalog) -> None:
        self._jvm = jvm
        self._catalog = catalog
        self._state = session.sessionState()
        manager = self._state.catalogManager()
        self._current = str(manager.currentCatalog().name())
        self._database = tuple(str(part) for part in manager.currentNamespace())
        self._catalogs = set(jvm.items(manager.listCatalogs(jvm.none)))
        self._builtin_functions = (
            jvm.singleton(f"{_REGISTRIES}.FunctionRegistry").expressions(),
            jvm.singleton(f"{_REGISTRIES}.TableFunctionRegistry").logicalPlans(),
        )
        temporary = jvm.items(self._state.catalog().listTemporaryFunctions())
        self._temporary_functions = {str(function.funcName()).lower() for function in temporary}

    def of(self, text: str, plan: Any) -> str:
        """Qualify the names of a query; the rest of its text is unchanged.

        Args:
            text: the query.
            plan: the query as parsed by Spark.

        Raises:
            InvalidInputError: it refers to a temporary view or function, which only this session has.
        """
        locations = NameLocations(text)
        edits: dict[int, Edit] = {}
        for node in self._relations(plan):
            parts = [str(part) for part in self._jvm.items(node.multipartIdentifier())]
            start = node.origin().startIndex()
            location = locations.at(start.get()) if start.isDefined() else None
            if location is None or list(location.parts) != parts:
                raise InvalidInputError(
                    f"The query names {'.'.join(parts)} in a roundabout way.", remedy="Write the table's name plainly."
                )
            if not location.is_common_table:
                edits[location.start] = Edit(location.start, location.end, self._table(parts))
        for call in calls_in(text):
            qualified = self._function(call.name)
            if qualified is not None:
                edits[call.start] = Edit(call.start, call.end, qualified)
        return apply(text, edits.values()).strip()

    def _relations(self, plan: Any) -> list[Any]:
        """All relations of a parsed plan, including subqueries and common table expressions."""
        found, nodes = [], [plan]
        while nodes:
            node = nodes.pop()
            kind = node.getClass().getSimpleName()
            if kind == _RELATION:
                found.append(node)
            elif kind == _TRAVEL:
                nodes.append(node.relation())
            elif kind == _WITH:
                nodes += self._jvm.items(node.innerChildren())
            nodes += [*self._jvm.items(node.children()), *self._jvm.items(node.subqueries())]
        return found

    def _table(self, parts: list[str]) -> str:
        if self._state.catalog().isTempView(self._jvm.seq(parts)):
            raise InvalidInputError(
                f"{'.'.join(parts)} is a temporary view, which no other session has.",
                remedy="Create a view in the catalog, or write its query as a common table expression.",
            )
        if len(parts) == 1:
            return _sql([self._current, *self._database, *parts])
        if parts[0] in self._catalogs or len(parts) > 2 or not self._has_database(parts[0]):
            return _sql(parts)
        return _sql([self._current, *parts])

    def _has_database(self, name: str) -> bool:
        """Whether the current catalog has a database; otherwise the name may be a format: parquet.`/path`."""
        is_own = self._current == self._catalog.name
        if is_own and (self._catalog.database_exists(name) or name.lower() == "sys"):
            return True
        if self._current == SESSION_CATALOG:
            return bool(self._state.catalog().databaseExists(name))
        return not is_own

    def _function(self, name: tuple[str, ...]) -> str | None:
        """The qualified name of a function of the catalog; None if the name is another function's or is qualified."""
        if len(name) == 1:
            if name[0].lower() in self._temporary_functions:
                raise InvalidInputError(
                    f"{name[0]} is a temporary function, which no other session has.",
                    remedy="Create it in the catalog: CREATE FUNCTION.",
                )
            if any(known.contains(name[0].lower()) for known in self._builtin_functions):
                return None
        if self._current != self._catalog.name or len(name) > 2 or len(self._database) != 1:
            return None
        database = name[0] if len(name) == 2 else self._database[0]
        try:
            stored = self._catalog.function_name(Identifier(database, name[-1]))
        except NoSuchDatabaseError:
            return None
        return None if stored is None else _sql([self._current, database, name[-1]])


def _sql(parts: list[str]) -> str:
    return ".".join(map(quote_name, parts))
