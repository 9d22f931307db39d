"""The databases of a catalog (Spark: ``SupportsNamespaces``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from paimon_sql.catalog.iceberg.lifetimes import database_shown_no_more
from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.errors import DatabaseExistsError, DatabaseNotEmptyError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import DEFAULT_DATABASE
from paimon_sql.spark.catalog.base import CatalogPart
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.java.objects import JavaObject


class Namespaces(CatalogPart):
    """Databases: Spark's namespaces of one level."""

    def defaultNamespace(self) -> Sequence[str]:
        name = TableOptions(self.catalog.options).get(DEFAULT_DATABASE)
        return self.jvm.constant(f"namespace {name}", lambda: self.jvm.strings([name]))

    def listNamespaces(self, *parent: Sequence[str]) -> Sequence[Sequence[str]]:
        names = [] if parent and len(parent[0]) else self._databases()
        result: list[list[str]] = self.jvm.gateway.new_array(self.jvm.cls("java.lang.String"), len(names), 1)
        for i, name in enumerate(names):
            result[i][0] = name
        return result

    def namespaceExists(self, namespace: Sequence[str]) -> bool:
        return len(namespace) == 1 and self._database_exists(namespace[0])

    def loadNamespaceMetadata(self, namespace: Sequence[str]) -> Mapping[str, str]:
        name = namespace[0]
        if name == SYSTEM_DATABASE:
            return self.jvm.java_map({})
        return self.jvm.java_map(self._or_no_namespace(namespace, lambda: self.catalog.database_properties(name)))

    def createNamespace(self, namespace: Sequence[str], properties: Mapping[str, str]) -> None:
        given = self.jvm.strings_map(properties)
        if not self.catalog.keeps_owners:
            given.pop("owner", None)
        try:
            self.catalog.create_database(namespace[0], given)
        except DatabaseExistsError:
            self._raise_analysis("NamespaceAlreadyExists", namespace)

    def alterNamespace(self, namespace: Sequence[str], changes: Iterable[JavaObject]) -> None:
        given = {str(c.property()): str(c.value()) if hasattr(c, "value") else None for c in changes}
        self._or_no_namespace(namespace, lambda: self.catalog.alter_database(namespace[0], given))

    def dropNamespace(self, namespace: Sequence[str], cascade: bool) -> bool:
        if cascade:
            with database_shown_no_more(self.catalog, namespace[0]):
                self._or_no_namespace(namespace, lambda: self.catalog.drop_database(namespace[0], True))
            cached_tables.renew(self.session)
            return True
        try:
            self._or_no_namespace(namespace, lambda: self.catalog.drop_database(namespace[0], False))
        except DatabaseNotEmptyError:
            self._raise_analysis("NonEmptyNamespace", namespace)
        return True

    def _databases(self) -> list[str]:
        return sorted(set(self.catalog.list_databases()) - {SYSTEM_DATABASE})

    def _database_exists(self, name: str) -> bool:
        return name == SYSTEM_DATABASE or self.catalog.database_exists(name)
