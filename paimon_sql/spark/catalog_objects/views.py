"""The views of a catalog as Spark's ``ViewCatalog``, which Spark asks since 4.2."""

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
"""The engine whose queries and definitions Spark reads."""

_QUERY_COLUMNS = f"{OWN_PREFIX}query-columns"
_SCHEMA_MODE = f"{OWN_PREFIX}schema-mode"
_RESERVED = frozenset({"comment", "owner", "table_type", "collation", "location", "provider"})
"""Properties with which Spark says what is no property of the view's own."""
_EVOLVING = ("EVOLUTION", "TYPE EVOLUTION")

_ANALYSIS = f"{CATALYST}.analysis"


def view_schema(jvm: Jvm, view: Any, catalog: str, kept: ViewSchema | None = None) -> ViewSchema:
    """Spark's view as the catalog keeps it.

    Args:
        jvm: the JVM.
        view: the view.
        catalog: the name of the catalog.
        kept: the view whose place it takes; the queries of other engines stay as long as Spark's stays.
    """
    text, properties = str(view.queryText()), jvm.texts(view.properties())
    origin = Origin.of(view.currentCatalog(), view.currentNamespace(), jvm.texts(view.sqlConfigs()), catalog)
    options = {k: v for k, v in properties.items() if k not in _RESERVED} | origin.options()
    options[_QUERY_COLUMNS] = json.dumps(list(view.queryColumnNames()), ensure_ascii=False)
    if view.schemaMode():
        options[_SCHEMA_MODE] = str(view.schemaMode())
    fields = paimon_fields(struct_json(jvm, view.columns()))
    made = ViewSchema(
        fields=tuple(replace(f, id=i) for i, f in enumerate(fields)),
        query=text,
        dialects={DIALECT: text},
        comment=properties.get("comment"),
        options=options,
    )
    if kept is None or kept.query_for(DIALECT) != text:
        return made
    return replace(made, query=kept.query, dialects=kept.dialects)


def spark_view(jvm: Jvm, view: ViewSchema, catalog: str, database: str) -> Any:
    """A view of a catalog's database as Spark's."""
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
    named = json.loads(view.options.get(_QUERY_COLUMNS, "[]"))
    return builder.withQueryColumnNames(jvm.strings(named)).build()


class ViewsOfCatalog(JavaObject, ABC):
    """What Spark asks a catalog about its views."""

    catalog: Catalog

    @abstractmethod
    def _identifier(self, ident: Any) -> Identifier:
        """A name of Spark's as the catalog's."""

    def listViews(self, namespace: Any) -> Any:
        database = namespace[0] if len(namespace) else ""
        try:
            names = [] if database == SYSTEM_DATABASE else self.catalog.list_views(database)
        except NoSuchDatabaseError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchNamespaceException", namespace))
        made = self.jvm.cls(f"{CATALOG}.Identifier")
        return self.jvm.array(f"{CATALOG}.Identifier", [made.of(namespace, name) for name in names])

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
        return self._make(ident, view, replace=False)

    def createOrReplaceView(self, ident: Any, view: Any) -> Any:
        return self._make(ident, view, replace=True)

    def replaceView(self, ident: Any, view: Any) -> Any:
        if not self.viewExists(ident):
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchViewException", ident))
        return self._make(ident, view, replace=True)

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

    def _make(self, ident: Any, view: Any, *, replace: bool) -> Any:
        identifier = self._identifier(ident)
        if identifier.database == SYSTEM_DATABASE:
            raise UnsupportedError(f"No view can be made in {SYSTEM_DATABASE}: it is the catalog's own.")
        if (view.schemaMode() or "").upper() in _EVOLVING:
            raise UnsupportedError(
                f"View {identifier} cannot be WITH SCHEMA {view.schemaMode()}: Spark carries the schema of such a view"
                " on in its own catalog only.",
                remedy="Leave it out, and replace the view when its query gives other columns.",
            )
        kept = self.catalog.view(identifier) if replace and self.catalog.view_exists(identifier) else None
        try:
            schema = view_schema(self.jvm, view, self.catalog.name, kept)
            self.catalog.create_view(identifier, schema, replace=replace)
        except (ViewExistsError, TableExistsError):
            raise_java(self.jvm.new(f"{_ANALYSIS}.ViewAlreadyExistsException", ident))
        except NoSuchDatabaseError:
            raise_java(self.jvm.new(f"{_ANALYSIS}.NoSuchNamespaceException", ident.namespace()))
        return view
