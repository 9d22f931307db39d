"""Views as Spark has them, and as catalogs store them."""

from __future__ import annotations

import json
from dataclasses import replace

from paimon_sql.format.catalog_objects.view import ViewSchema
from paimon_sql.spark.catalog_objects.origins import OWN_PREFIX, Origin, shown_options
from paimon_sql.spark.conversion.types import paimon_fields, row_struct
from paimon_sql.spark.ddl.create_table import columns_json
from paimon_sql.spark.java.connector import View
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm

DIALECT = "spark"
"""The engine under which views and functions store their SQL for Spark."""

_QUERY_COLUMNS = f"{OWN_PREFIX}query-columns"
_SCHEMA_MODE = f"{OWN_PREFIX}schema-mode"
_RESERVED = frozenset({"comment", "owner", "table_type", "collation", "location", "provider"})
"""Properties that Spark reserves; they are not options of the view."""
EVOLVING = ("EVOLUTION", "TYPE EVOLUTION")


def view_schema(jvm: Jvm, view: View, catalog: str, old: ViewSchema | None = None) -> ViewSchema:
    """Convert Spark's view to the catalog's schema.

    Args:
        jvm: the JVM.
        view: the view.
        catalog: the name of the catalog.
        old: the view to replace; the queries of other engines are retained if Spark's query does not change.
    """
    text, properties = view.queryText(), jvm.strings_map(view.properties())
    origin = Origin.of(view.currentCatalog(), view.currentNamespace(), jvm.strings_map(view.sqlConfigs()), catalog)
    options = {k: v for k, v in properties.items() if k not in _RESERVED} | origin.options()
    options[_QUERY_COLUMNS] = json.dumps(list(view.queryColumnNames()), ensure_ascii=False)
    if mode := view.schemaMode():
        options[_SCHEMA_MODE] = mode
    fields = paimon_fields(columns_json(jvm, view.columns()))
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


def spark_view(jvm: Jvm, view: ViewSchema, catalog: str, database: str) -> View:
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
