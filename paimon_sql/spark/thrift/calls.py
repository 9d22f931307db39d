"""JDBC's metadata calls: a class each, with the rows that answer it.

Spark answers for its own catalog and for temporary views, the listing for Paimon's catalogs. A new call is added to
`CALLS`.
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
    """One of JDBC's metadata calls.

    Attributes:
        maker: the method of the server's ``OperationManager`` that makes its operation.
        operation: the class of the operation that answers it without us.
        of_spark: whether that operation can answer for Spark's own catalog.
    """

    maker: ClassVar[str]
    operation: ClassVar[str]
    of_spark: ClassVar[bool] = True

    @abstractmethod
    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        """All rows of the answer, in the order that JDBC wants.

        Args:
            listing: Paimon's catalogs.
            asked: the arguments of the call.
            known: the rows of Spark's own operation.
        """


class GetCatalogs(MetadataCall):
    """``getCatalogs()``."""

    maker = "newGetCatalogsOperation"
    operation = f"{_SPARK}.SparkGetCatalogsOperation"

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        return [[name] for name in sorted({*listing.catalogs, SESSION_CATALOG})]


class GetSchemas(MetadataCall):
    """``getSchemas(catalog, schemaPattern)``."""

    maker = "newGetSchemasOperation"
    operation = f"{_SPARK}.SparkGetSchemasOperation"

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        catalog, database = asked[0], NamePattern(asked[1])
        own = [[found, of] for of, found in listing.databases(catalog, database)]
        sparks = [[found, SESSION_CATALOG] for found, of in known if _is_sparks(of, listing)]
        wanted = [row for row in sparks if catalog in (None, "", SESSION_CATALOG) and database.matches(row[0])]
        # Databases of a spark_catalog that is Paimon's too are known to both.
        return sorted([*own, *(row for row in wanted if row not in own)], key=lambda row: (row[1], row[0]))


class GetTables(MetadataCall):
    """``getTables(catalog, schemaPattern, tableNamePattern, types)``; Hive's driver never sends the catalog."""

    maker = "newGetTablesOperation"
    operation = f"{_SPARK}.SparkGetTablesOperation"

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        catalog, database, name = asked[0], NamePattern(asked[1]), NamePattern(asked[2])
        kinds = frozenset(asked[3] or ()) or _kinds_by_name(database, name)
        found = listing.relations(catalog, database, name, kinds)
        own: list[Row] = [[r.catalog, r.database, r.name, r.kind, r.comment, *[None] * 5] for r in found]
        rows = [*own, *_of_spark(known, listing, catalog, database, name)]
        return sorted(rows, key=lambda row: [row[i] or "" for i in (3, 0, 1, 2)])


class GetColumns(MetadataCall):
    """``getColumns(catalog, schemaPattern, tableNamePattern, columnNamePattern)``."""

    maker = "newGetColumnsOperation"
    operation = f"{_SPARK}.SparkGetColumnsOperation"

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        catalog, database, name, column = asked[0], *map(NamePattern, asked[1:4])
        found = listing.relations(catalog, database, name, _kinds_by_name(database, name))
        own = [
            _column_row(relation, field, position)
            for relation in found
            for position, field in enumerate(relation.fields, 1)
            if column.matches(field.name)
        ]
        sparks = _of_spark(known, listing, catalog, database, name)
        rows = [*own, *(row for row in sparks if column.matches(row[3]))]
        # Sorting is stable, and columns come in their order.
        return sorted(rows, key=lambda row: [row[i] or "" for i in (0, 1, 2)])


class GetTableTypes(MetadataCall):
    """``getTableTypes()``."""

    maker = "newGetTableTypesOperation"
    operation = f"{_SPARK}.SparkGetTableTypesOperation"

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        return [[kind] for kind in sorted({SYSTEM_TABLE, TABLE, VIEW, *(row[0] for row in known)})]


class GetPrimaryKeys(MetadataCall):
    """``getPrimaryKeys(catalog, schema, table)``: full names, no patterns. Spark keeps no keys."""

    maker = "newGetPrimaryKeysOperation"
    operation = f"{_HIVE}.GetPrimaryKeysOperation"
    of_spark = False

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
        rows: list[Row] = [
            [r.catalog, r.database, r.name, column, position, None]
            for r in listing.primary_keys(asked[0], asked[1], asked[2] or "")
            for position, column in enumerate(r.primary_keys, 1)
        ]
        return sorted(rows, key=lambda row: row[3])


class GetCrossReference(MetadataCall):
    """``getImportedKeys`` and its like: there are no foreign keys, and Hive asks a metastore."""

    maker = "newGetCrossReferenceOperation"
    operation = f"{_HIVE}.GetCrossReferenceOperation"
    of_spark = False

    def rows(self, listing: Listing, asked: Sequence[Any], known: list[Row]) -> list[Row]:
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
    """The kinds of tables that are meant where none is said: system tables only where they are named."""
    named = "$" in name.text or (database.name or "").lower() == SYSTEM_DATABASE
    return frozenset({TABLE, VIEW, SYSTEM_TABLE} if named else {TABLE, VIEW})


def _of_spark(
    known: list[Row], listing: Listing, catalog: str | None, database: NamePattern, name: NamePattern
) -> list[Row]:
    """Spark's own rows that are asked for; its temporary views, which are in no catalog, only among everything."""
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
    """Whether a row of Spark's own is of its own catalog, as which it may give none."""
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
