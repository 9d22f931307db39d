"""SQL text that a catalog stores: the creation context of views and functions, and views as Spark has them.

Spark resolves names in such SQL text in the context of its creation and evaluates it with the settings of that session.
Paimon's JSON of views and functions has no members for it; options with a prefix of ours store it, which SQL hides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from paimon_sql.format.schema.catalog_objects import ViewSchema
from paimon_sql.spark.conversion.types import paimon_fields, row_struct
from paimon_sql.spark.ddl.create_table import columns_json
from paimon_sql.spark.java.connector import View
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm

OWN_PREFIX = "paimon-sql."
_CATALOG = f"{OWN_PREFIX}current-catalog"
_DATABASE = f"{OWN_PREFIX}current-database"
_SETTING = f"{OWN_PREFIX}setting."
_STORED = "spark.sql."
_NOT_STORED = ("spark.sql.catalog.", "spark.sql.defaultCatalog", "spark.sql.artifact.")
"""Settings of catalogs, which contain secrets, and settings that concern only one session."""


@dataclass(frozen=True)
class Origin:
    """The context in which SQL text was created.

    Attributes:
        catalog: the current catalog; None for the one that stores the text, which other sessions may name differently.
        database: the current database.
        settings: Spark's settings that affect the meaning of SQL.
    """

    catalog: str | None
    database: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(catalog: str, namespace: Iterable[str], settings: Mapping[str, str], home: str) -> Origin:
        """The origin that Spark reports for SQL text which the catalog ``home`` stores."""
        stored = {k: v for k, v in settings.items() if k.startswith(_STORED) and not k.startswith(_NOT_STORED)}
        return Origin(catalog if catalog and catalog != home else None, ".".join(namespace), stored)

    def options(self) -> dict[str, str]:
        """The options that store the origin."""
        found = {_DATABASE: self.database} | {_SETTING + k: v for k, v in self.settings.items()}
        return found if self.catalog is None else {_CATALOG: self.catalog} | found

    @staticmethod
    def read(options: Mapping[str, str], database: str) -> Origin:
        """The origin from options; text of another engine has no catalog, and the given database."""
        settings = {k.removeprefix(_SETTING): v for k, v in options.items() if k.startswith(_SETTING)}
        return Origin(options.get(_CATALOG), options.get(_DATABASE, database), settings)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options that SQL shows: those without our prefix."""
    return {k: v for k, v in options.items() if not k.startswith(OWN_PREFIX)}


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
    builder = builder.withSchema(jvm.struct(row_struct(view.fields)))
    builder = builder.withProperties(jvm.java_map(properties)).withQueryText(view.query_for(DIALECT))
    builder = builder.withCurrentCatalog(origin.catalog or catalog)
    builder = builder.withCurrentNamespace(jvm.strings([origin.database]))
    builder = builder.withSqlConfigs(jvm.java_map(origin.settings))
    if mode := view.options.get(_SCHEMA_MODE):
        builder = builder.withSchemaMode(mode)
    query_columns = json.loads(view.options.get(_QUERY_COLUMNS, "[]"))
    return builder.withQueryColumnNames(jvm.strings(query_columns)).build()
