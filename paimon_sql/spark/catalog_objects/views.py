"""Views of a catalog (Spark: ``ViewCatalog``, since 4.2)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import (
    InvalidInputError,
    NoSuchDatabaseError,
    NoSuchViewError,
    TableExistsError,
    UnsupportedError,
    ViewExistsError,
)
from paimon_sql.format.catalog_objects.view import ViewSchema
from paimon_sql.spark.catalog_objects.origins import OWN_PREFIX, Origin, shown_options
from paimon_sql.spark.conversion.types import paimon_fields, row_struct
from paimon_sql.spark.ddl.create_table import struct_json
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST, JavaObject, Jvm, raise_java

DIALECT = "spark"
"""The engine under which views and functions store their SQL for Spark."""

_QUERY_COLUMNS = f"{OWN_PREFIX}query-columns"
_SCHEMA_MODE = f"{OWN_PREFIX}schema-mode"
_RESERVED = frozenset({"comment", "owner", "table_type", "collation", "location", "provider"})
"""Properties that Spark reserves; they are not options of the view."""
_EVOLVING = ("EVOLUTION", "TYPE EVOLUTION")

_ANALYSIS = f"{CATALYST}.analysis"


def view_schema(jvm: Jvm, view: Any, catalog: str, old: ViewSchema | None = None) -> ViewSchema:
    """Convert Spark's view to the catalog's schema.

    Args:
        jvm: the JVM.
        view: the view.
        catalog: the name of the catalog.
        old: the view to replace; the queries of other engines are retained if Spark's query does not change.
    """
    text, properties = str(view.queryText()), jvm.strings_map(view.properties())
    origin = Origin.of(view.currentCatalog(), view.currentNamespace(), jvm.strings_map(view.sqlConfigs()), catalog)
    options = {k: v for k, v in properties.items() if k not in _RESERVED} | origin.options()
    options[_QUERY_COLUMNS] = json.dumps(list(view.queryColumnNames()), ensure_ascii=False)
    if view.schemaMode():
        options[_SCHEMA_MODE] = str(view.schemaMode())
    fields = paimon_fields(struct_json(jvm, view.columns()))
    schema = ViewSchema(
        fields=tuple(replace(f, id=i) for i, f in enumerate(fields)),
        query=text,
        dialects={DIALECT: text},
        comment=properties.get("comment"),
        options=options,
    )
    if old is None or old.query_for(DIALECT) != text:
        return schema
    return replace(schema, query=old.query, dialects=old.dialects)


def spark_view(jvm: Jvm, view: ViewSchema, catalog: str, database: str) -> Any:
    """Convert a view of a catalog's database to Spark's."""
    origin = Origin.read(view.options, database)
    properties = shown_options(view.options)
    if view.comment is not None:
        properties["comment"] = view.comment
    builder = jvm.new(f"{CATALOG}.View$Builder")
    builder = builder.withSchema(jvm.struct(json.dumps(row_struct(view.fields))))
    builder = builder.withProperties(jvm.java_map(properties)).withQueryText(view.query_for(DIALECT))
    builder = builder.withCurrentCatalog(origin.catalog or catalog)
    builder = builder.withCurrentNamespace(jvm.strings([origin.database]))
    builder = builder.withSqlConfigs(jvm.java_map(origin.settings))
    if mode := view.options.get(_SCHEMA_MODE):
        builder = builder.withSchemaMode(mode)
    query_columns = json.loads(view.options.get(_QUERY_COLUMNS, "[]"))
    return builder.withQueryColumnNames(jvm.strings(query_columns)).build()


class ViewsOfCatalog(JavaObject, ABC):
    """The methods of a catalog for its views."""

    catalog: Catalog

    @abstractmethod
    def _identifier(self, ident: Any) -> Identifier:
        """Spark's identifier as the catalog's."""

    def listViews(self, namespace: Any) -> Any:
        database = namespace[0] if len(namespace) else ""
        try:
            names = [] if database == SYSTEM_DATABASE else self.catalog.list_views(database)
        except NoSuchDatabaseError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchNamespaceException", namespace))
        identifiers = self.jvm.cls(f"{CATALOG}.Identifier")
        return self.jvm.array(f"{CATALOG}.Identifier", [identifiers.of(namespace, name) for name in names])

    def loadView(self, ident: Any) -> Any:
        try:
            identifier = self._identifier(ident)
            view = self.catalog.view(identifier)
        except (NoSuchViewError, NoSuchDatabaseError, InvalidInputError):
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchViewException", ident))
        return spark_view(self.jvm, view, self.catalog.name, identifier.database)

    def viewExists(self, ident: Any) -> bool:
        try:
            return self.catalog.view_exists(self._identifier(ident))
        except (NoSuchDatabaseError, InvalidInputError):
            return False

    def invalidateView(self, ident: Any) -> None:
        pass

    def createView(self, ident: Any, view: Any) -> Any:
        return self._create_view(ident, view, replace=False)

    def createOrReplaceView(self, ident: Any, view: Any) -> Any:
        return self._create_view(ident, view, replace=True)

    def replaceView(self, ident: Any, view: Any) -> Any:
        if not self.viewExists(ident):
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchViewException", ident))
        return self._create_view(ident, view, replace=True)

    def dropView(self, ident: Any) -> bool:
        try:
            self.catalog.drop_view(self._identifier(ident))
        except (NoSuchViewError, NoSuchDatabaseError):
            return False
        return True

    def renameView(self, source: Any, target: Any) -> None:
        try:
            self.catalog.rename_view(self._identifier(source), self._identifier(target))
        except NoSuchViewError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchViewException", source))
        except (ViewExistsError, TableExistsError):
            raise_java(self.jvm.new(f"{_ANALYSIS}.ViewAlreadyExistsException", target))

    def _create_view(self, ident: Any, view: Any, *, replace: bool) -> Any:
        identifier = self._identifier(ident)
        if identifier.database == SYSTEM_DATABASE:
            raise UnsupportedError(f"No view can be made in {SYSTEM_DATABASE}: it is the catalog's own.")
        if (view.schemaMode() or "").upper() in _EVOLVING:
            raise UnsupportedError(
                f"View {identifier} cannot be WITH SCHEMA {view.schemaMode()}: Spark carries the schema of such a view"
                " on in its own catalog only.",
                remedy="Leave it out, and replace the view when its query gives other columns.",
            )
        replaced = self.catalog.view(identifier) if replace and self.catalog.view_exists(identifier) else None
        try:
            schema = view_schema(self.jvm, view, self.catalog.name, replaced)
            self.catalog.create_view(identifier, schema, replace=replace)
        except (ViewExistsError, TableExistsError):
            raise_java(self.jvm.new(f"{_ANALYSIS}.ViewAlreadyExistsException", ident))
        except NoSuchDatabaseError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchNamespaceException", ident.namespace()))
        return view
