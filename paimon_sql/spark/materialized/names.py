"""The names in a query made whole, so that it means the same wherever and whenever it is worked out."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, NoSuchDatabaseError
from paimon_sql.spark.java import CATALYST, Jvm
from paimon_sql.sql.calls import calls_in
from paimon_sql.sql.context import SESSION_CATALOG
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.name_places import NamePlaces
from paimon_sql.sql.names import quote_name

_REGISTRIES = f"{CATALYST}.analysis"
_RELATION, _TRAVEL, _WITH = "UnresolvedRelation", "RelationTimeTravel", "UnresolvedWith"


class WholeNames:
    """Makes the names of tables, views and functions in queries whole.

    Args:
        jvm: the JVM.
        session: the JVM's session, in which the names have a meaning now.
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
        """The query with whole names, everything else as it was written.

        Args:
            text: the query.
            plan: the query as Spark's parser reads it.

        Raises:
            InvalidInputError: it names what only this session has: a temporary view or function.
        """
        places = NamePlaces(text)
        edits: dict[int, Edit] = {}
        for node in self._relations(plan):
            parts = [str(part) for part in self._jvm.items(node.multipartIdentifier())]
            start = node.origin().startIndex()
            place = places.at(start.get()) if start.isDefined() else None
            if place is None or list(place.parts) != parts:
                raise InvalidInputError(
                    f"The query names {'.'.join(parts)} in a roundabout way.", remedy="Write the table's name plainly."
                )
            if not place.is_common_table:
                edits[place.start] = Edit(place.start, place.end, self._table(parts))
        for call in calls_in(text):
            whole = self._function(call.name)
            if whole is not None:
                edits[call.start] = Edit(call.start, call.end, whole)
        return apply(text, edits.values()).strip()

    def _relations(self, plan: Any) -> list[Any]:
        """All names of tables in a parsed plan, those in subqueries and common table expressions too."""
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
        """Whether the current catalog has that database; a name that is none may be a format: parquet.`/path`."""
        is_own = self._current == self._catalog.name
        if is_own and (self._catalog.database_exists(name) or name.lower() == "sys"):
            return True
        if self._current == SESSION_CATALOG:
            return bool(self._state.catalog().databaseExists(name))
        return not is_own

    def _function(self, name: tuple[str, ...]) -> str | None:
        """The whole name of a function of the catalog; None where a name is something else or whole."""
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
            kept = self._catalog.function_name(Identifier(database, name[-1]))
        except NoSuchDatabaseError:
            return None
        return None if kept is None else _sql([self._current, database, name[-1]])


def _sql(parts: list[str]) -> str:
    return ".".join(map(quote_name, parts))
