"""Metadata calls of JDBC: one class per call, which computes the rows of its result.

Spark's own operation returns the rows of its catalog and of temporary views, the listing those of Paimon's catalogs. A
new call is added to `CALLS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.defaults import default_sql
from paimon_sql.spark.conversion.types import spark_type
from paimon_sql.spark.thrift.column_types import jdbc_type, type_name
from paimon_sql.spark.thrift.listing import SYSTEM_TABLE, TABLE, VIEW, Listing, Relation
from paimon_sql.spark.thrift.patterns import NamePattern
from paimon_sql.sql.context import SESSION_CATALOG

Row = list[Any]
_SPARK = "org.apache.spark.sql.hive.thriftserver"
_HIVE = "org.apache.hive.service.cli.operation"
_NO_NULLS, _NULLABLE = 0, 1


class MetadataCall(ABC):
    """A metadata call of JDBC.

    Attributes:
        maker: the method of the server's ``OperationManager`` that creates its operation.
        operation: the class of the server's own operation.
        of_spark: whether that operation returns rows of Spark's own catalog.
    """

    maker: ClassVar[str]
    operation: ClassVar[str]
    of_spark: ClassVar[bool] = True

    @abstractmethod
    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        """All rows of the result, in the order that JDBC specifies.

        Args:
            listing: Paimon's catalogs.
            arguments: the arguments of the call.
            known: the rows of Spark's own operation.
        """


class GetCatalogs(MetadataCall):
    """``getCatalogs()``."""

    maker = "newGetCatalogsOperation"
    operation = f"{_SPARK}.SparkGetCatalogsOperation"

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        return [[name] for name in sorted({*listing.catalogs, SESSION_CATALOG})]


class GetSchemas(MetadataCall):
    """``getSchemas(catalog, schemaPattern)``."""

    maker = "newGetSchemasOperation"
    operation = f"{_SPARK}.SparkGetSchemasOperation"

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        catalog, database = arguments[0], NamePattern(arguments[1])
        own = [[found, of] for of, found in listing.databases(catalog, database)]
        sparks = [[found, SESSION_CATALOG] for found, of in known if _is_sparks(of, listing)]
        matching = [row for row in sparks if catalog in (None, "", SESSION_CATALOG) and database.matches(row[0])]
        # If spark_catalog is attached, both return its databases.
        return sorted([*own, *(row for row in matching if row not in own)], key=lambda row: (row[1], row[0]))


class GetTables(MetadataCall):
    """``getTables(catalog, schemaPattern, tableNamePattern, types)``; Hive's driver never sends the catalog."""

    maker = "newGetTablesOperation"
    operation = f"{_SPARK}.SparkGetTablesOperation"

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        catalog, database, name = arguments[0], NamePattern(arguments[1]), NamePattern(arguments[2])
        kinds = frozenset(arguments[3] or ()) or _kinds_by_name(database, name)
        found = listing.relations(catalog, database, name, kinds)
        own: list[Row] = [[r.catalog, r.database, r.name, r.kind, r.comment, *[None] * 5] for r in found]
        rows = [*own, *_of_spark(known, listing, catalog, database, name)]
        return sorted(rows, key=lambda row: [row[i] or "" for i in (3, 0, 1, 2)])


class GetColumns(MetadataCall):
    """``getColumns(catalog, schemaPattern, tableNamePattern, columnNamePattern)``."""

    maker = "newGetColumnsOperation"
    operation = f"{_SPARK}.SparkGetColumnsOperation"

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        catalog, database, name, column = arguments[0], *map(NamePattern, arguments[1:4])
        found = listing.relations(catalog, database, name, _kinds_by_name(database, name))
        own = [
            _column_row(relation, field, position)
            for relation in found
            for position, field in enumerate(relation.fields, 1)
            if column.matches(field.name)
        ]
        sparks = _of_spark(known, listing, catalog, database, name)
        rows = [*own, *(row for row in sparks if column.matches(row[3]))]
        # The sort is stable, so columns remain in their order.
        return sorted(rows, key=lambda row: [row[i] or "" for i in (0, 1, 2)])


class GetTableTypes(MetadataCall):
    """``getTableTypes()``."""

    maker = "newGetTableTypesOperation"
    operation = f"{_SPARK}.SparkGetTableTypesOperation"

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        return [[kind] for kind in sorted({SYSTEM_TABLE, TABLE, VIEW, *(row[0] for row in known)})]


class GetPrimaryKeys(MetadataCall):
    """``getPrimaryKeys(catalog, schema, table)``: names, not patterns; Spark's own catalog has no keys."""

    maker = "newGetPrimaryKeysOperation"
    operation = f"{_HIVE}.GetPrimaryKeysOperation"
    of_spark = False

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        rows: list[Row] = [
            [r.catalog, r.database, r.name, column, position, None]
            for r in listing.primary_keys(arguments[0], arguments[1], arguments[2] or "")
            for position, column in enumerate(r.primary_keys, 1)
        ]
        return sorted(rows, key=lambda row: row[3])


class GetCrossReference(MetadataCall):
    """``getImportedKeys`` and similar calls: there are no foreign keys, and Hive's operation needs a metastore."""

    maker = "newGetCrossReferenceOperation"
    operation = f"{_HIVE}.GetCrossReferenceOperation"
    of_spark = False

    def rows(self, listing: Listing, arguments: Sequence[Any], known: list[Row]) -> list[Row]:
        return []


CALLS: tuple[MetadataCall, ...] = (
    GetCatalogs(),
    GetSchemas(),
    GetTables(),
    GetColumns(),
    GetTableTypes(),
    GetPrimaryKeys(),
    GetCrossReference(),
)


def _kinds_by_name(database: NamePattern, name: NamePattern) -> frozenset[str]:
    """The kinds of tables if the call names none: system tables only if a pattern names them."""
    named = "$" in name.text or (database.name or "").lower() == SYSTEM_DATABASE
    return frozenset({TABLE, VIEW, SYSTEM_TABLE} if named else {TABLE, VIEW})


def _of_spark(
    known: list[Row], listing: Listing, catalog: str | None, database: NamePattern, name: NamePattern
) -> list[Row]:
    """Spark's own rows that match; temporary views, which have no catalog, only if all databases are requested."""
    found: list[Row] = []
    for of, namespace, *rest in known:
        if not name.matches(rest[0]):
            continue
        if namespace and _is_sparks(of, listing) and catalog in (None, "", SESSION_CATALOG):
            found += [[SESSION_CATALOG, namespace, *rest]] if database.matches(namespace) else []
        elif not namespace and not catalog and database.is_all:
            found.append([None, None, *rest])
    return found


def _is_sparks(catalog: str | None, listing: Listing) -> bool:
    """Whether a row of Spark is of its own catalog, for which the catalog may be missing."""
    return catalog not in listing.catalogs or catalog == SESSION_CATALOG


def _column_row(relation: Relation, field: DataField, position: int) -> Row:
    kind = spark_type(field.type)
    described = jdbc_type(kind)
    return [
        relation.catalog,
        relation.database,
        relation.name,
        field.name,
        described.code,
        type_name(kind),
        described.size,
        None,
        described.digits,
        described.radix,
        _NULLABLE if field.type.nullable else _NO_NULLS,
        field.description or "",
        default_sql(field),
        None,
        None,
        None,
        position,
        "YES" if field.type.nullable else "NO",
        None,
        None,
        None,
        None,
        "NO",
    ]
