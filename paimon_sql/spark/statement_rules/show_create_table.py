"""SHOW CREATE TABLE of Paimon's tables: the primary key is a clause, and types are exact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paimon_sql.format.options.table.table import PRIMARY_KEY
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.catalog.path_catalog import PATHS
from paimon_sql.spark.conversion.references import unquoted_parts
from paimon_sql.spark.conversion.types import CURRENT_DEFAULT, spark_struct, text_of
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.rules.optimizer import PlanRule
from paimon_sql.spark.statement_rules.catalog_listings import ROWS, row_of
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.sql.text.names import name_sql, quote_name, string_sql
from paimon_sql.sql.types import declared_type

_RESERVED = frozenset(("provider", "location", "external", "is_managed_location", "comment", "owner", "table_type"))
"""Properties that Spark reserves, which clauses show."""
_NOT_COLUMNS = frozenset(
    ("CHECK", "CONSTRAINT", "FOREIGN", "LIKE", "PERIOD", "PRIMARY", "SELECT", "UNIQUE", "WATERMARK")
)
"""Words that begin other things than columns."""


class ShowCreateTable(PlanRule):
    """Shows the statement of a table in the dialect, in the order of Spark's clauses."""

    roots = frozenset(("ShowCreateTable",))

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        resolved = plan.child()
        if plan.asSerde() or resolved.getClass().getSimpleName() != "ResolvedTable":
            return plan
        table, catalog = python_object(self.jvm, resolved.table()), str(resolved.catalog().name())
        if not isinstance(table, SchemaTable) or catalog == PATHS:
            return plan
        name = ".".join(map(name_sql, (catalog, *unquoted_parts(str(resolved.identifier().toString())))))
        # Values of some options are secret.
        properties = self.session.state.conf().redactOptions(self.jvm.scala_map(table.properties()))
        text = definition(name, table.table.schema, self.jvm.strings_map(self.jvm.as_map(properties)))
        return self.jvm.singleton(ROWS).fromExternalRows(plan.output(), row_of(self.jvm, text))


def definition(name: str, schema: TableSchema, properties: Mapping[str, str]) -> str:
    """The CREATE TABLE statement of a table.

    Args:
        name: the table's name, quoted.
        schema: the columns and keys.
        properties: options, and properties that Spark reserves.
    """
    defaults = [text_of(f, CURRENT_DEFAULT) for f in spark_struct(schema.fields)["fields"]]
    elements = [" ".join(_column(f, default)) for f, default in zip(schema.fields, defaults, strict=True)]
    if schema.has_key:
        elements.append(f"PRIMARY KEY ({', '.join(map(_column_name, schema.primary_keys))}) NOT ENFORCED")
    lines = [f"CREATE TABLE {name} ({_listed(elements)})", f"USING {properties['provider']}"]
    if schema.partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(map(_column_name, schema.partition_keys))})")
    if schema.comment is not None:
        lines.append(f"COMMENT {string_sql(schema.comment)}")
    if "location" in properties and properties.get("is_managed_location") != "true":
        lines.append(f"LOCATION {string_sql(properties['location'])}")
    options = {k: v for k, v in properties.items() if k not in _RESERVED and k != PRIMARY_KEY.key}
    if options:
        shown = [f"{string_sql(key)} = {string_sql(value)}" for key, value in sorted(options.items())]
        lines.append(f"TBLPROPERTIES ({_listed(shown)})")
    return "\n".join(lines) + "\n"


def _column(field: DataField, default: str | None) -> Iterator[str]:
    yield _column_name(field.name)
    yield declared_type(field.type)
    if not field.type.nullable:
        yield "NOT NULL"
    if default is not None:
        yield f"DEFAULT {default}"
    if field.description is not None:
        yield f"COMMENT {string_sql(field.description)}"


def _column_name(name: str) -> str:
    return quote_name(name) if name.upper() in _NOT_COLUMNS else name_sql(name)


def _listed(elements: list[str]) -> str:
    return "".join(f"\n  {element}{',' * (i < len(elements))}" for i, element in enumerate(elements, 1))
