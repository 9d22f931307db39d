"""CREATE TABLE: the first version of a schema, from Spark's call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from py4j.java_collections import JavaArray

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.registry import catalog_kind
from paimon_sql.catalog.table_types import kind_named
from paimon_sql.errors import InvalidOptionError, InvalidSchemaError, UnsupportedError
from paimon_sql.format.options import canonical
from paimon_sql.format.options.engines.catalog import TABLE_DEFAULT_PROPERTY
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.table import PARTITION, PATH, PRIMARY_KEY, PRIMARY_KEY_NULLABLE, TYPE
from paimon_sql.format.options.values import TableOptions, comma_separated
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.spark.conversion.types import (
    CURRENT_DEFAULT,
    StructJson,
    paimon_fields,
    struct_json,
    struct_of,
    text_of,
)
from paimon_sql.spark.expressions.folding import folded
from paimon_sql.spark.java.catalyst import StructType
from paimon_sql.spark.java.connector import ConnectorExpression, TableInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.sql.types import take_types
from paimon_sql.storage.columns.blobs_and_vectors import blobs_and_vectors
from paimon_sql.storage.columns.defaults import stored_default
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.format_tables import FORMATS
from paimon_sql.storage.materialized.definition import is_materialized, shown_options
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.schema.changes.base import Context
from paimon_sql.storage.schema.validation import validate_schema

PROVIDER = "paimon"
_TABLE_DEFAULT = TABLE_DEFAULT_PROPERTY.for_name("")
_OPTION = "option."
_RESERVED = frozenset(("provider", "location", "external", "is_managed_location", "comment", "table_type", "collation"))


Columns = StructType | Sequence[JavaObject]
"""A struct, or Spark's ``Column[]``."""
Members = tuple[Columns, Sequence[ConnectorExpression], Mapping[str, str]]
"""Columns, partition transforms and properties."""


def members_of(definition: tuple[object, ...]) -> Members:
    """The parts of a definition: a ``TableInfo`` alone, or the parts themselves."""
    if len(definition) > 1:
        return cast(Members, definition)
    info = cast(TableInfo, definition[0])
    return info.columns(), info.partitions(), info.properties()


def schema_of_create(
    session: JvmSession, catalog: Catalog, definition: tuple[object, ...], named: Mapping[str, str]
) -> TableSchema:
    """Return the validated schema of a ``createTable`` call.

    Exact types, which the dialect passes in reserved properties, replace Spark's; LOCATION becomes the option ``path``,
    which the catalog validates.

    Args:
        session: the session. The provider that its ``saveAsTable`` passes by default means a Paimon table unless the
            option ``type`` is set, as it is for a statement with USING.
        catalog: the table's catalog; its options ``table-default.*`` are defaults of the statement's options. If it
            stores locations, a statement without columns means the table at its location.
        definition: a ``TableInfo``, or columns, partition transforms and properties.
        named: properties that are part of the table's name.

    Raises:
        InvalidSchemaError: a column, key or partition is invalid.
        InvalidOptionError: an option does not exist, has an invalid value, or contradicts another.
        UnsupportedError: USING names an unknown provider.
    """
    jvm, (columns, partitions, properties) = session.jvm, members_of(definition)
    struct = columns_json(jvm, columns)
    given = {**named, **jvm.strings_map(properties)}
    if given.get("provider") == session.conf.get("spark.sql.sources.default") and TYPE.key not in given:
        given.pop("provider", None)
    location = given.get("location") or given.get(PATH.key)
    if location and catalog.stores_locations and not struct["fields"] and not _kind_of(given.get("provider")):
        return _existing_definition(catalog, location, _table_options(given, catalog.options))
    schema = build_schema(
        _with_literal_defaults(jvm, struct),
        [_partition_column(p) for p in partitions],
        given,
        catalog_options=catalog.options,
        case_sensitive=session.case_sensitive,
    )
    if is_materialized(schema):
        raise UnsupportedError(
            "A materialized table requires a query.", remedy="Use CREATE MATERIALIZED TABLE .. AS SELECT .."
        )
    return schema


def _existing_definition(catalog: Catalog, location: str, options: Mapping[str, str]) -> TableSchema:
    """The definition of the table at a location, with the statement's options.

    Raises:
        InvalidSchemaError: there is no table.
    """
    found = SchemaManager(file_io_of(location, catalog.options), location.rstrip("/")).latest()
    if found is None:
        raise InvalidSchemaError(f"There is no table in {location}, and a new table requires at least one column.")
    return replace(found, id=0, options={**canonical(options), PATH.key: location})


def _table_options(properties: Mapping[str, str], catalog_options: Mapping[str, str]) -> dict[str, str]:
    """The properties that are options of the table."""
    kind = catalog_kind(catalog_options)
    reserved = _RESERVED - {"external"} if kind is not None and kind.stores_external else _RESERVED
    return {k: v for k, v in properties.items() if k not in reserved and not k.startswith(_OPTION)}


def build_schema(
    struct: StructJson,
    partitions: Sequence[str],
    properties: Mapping[str, str],
    *,
    catalog_options: Mapping[str, str],
    case_sensitive: bool,
) -> TableSchema:
    """As `schema_of_create`, with the columns as Spark's struct and the names of the partition columns."""
    exact, given = take_types(properties)
    options = {
        **{k.removeprefix(_TABLE_DEFAULT): v for k, v in catalog_options.items() if k.startswith(_TABLE_DEFAULT)},
        **_table_options(given, catalog_options),
        **_kind_of(given.get("provider")),
    }
    if location := given.get("location"):
        options[PATH.key] = location
    context = Context(case_sensitive=case_sensitive)
    fields = _with_exact_types(paimon_fields(struct), exact, context)
    fields = [stored_default(f, sql) for f, sql in zip(fields, _defaults(struct), strict=True)]
    fields = list(kind_named(TableOptions(options).get(TYPE)).columns(fields))
    fields, options = blobs_and_vectors(fields, options)
    names = [f.name for f in fields]
    primary_keys = _as_declared(comma_separated(options.pop(PRIMARY_KEY.key, None)), names, context)
    declared = _as_declared(comma_separated(options.pop(PARTITION.key, None)), names, context)
    partition_keys = _as_declared(partitions, names, context) or declared
    if declared and declared != partition_keys:
        raise InvalidOptionError(
            f"The partition columns are specified twice, as ({', '.join(partition_keys)}) and ({', '.join(declared)}).",
            key=PARTITION.key,
            remedy="Specify them only in PARTITIONED BY.",
        )
    return _validated(fields, partition_keys, primary_keys, options, given.get("comment"))


def schema_like(
    source: TableSchema, properties: Mapping[str, str], features: Sequence[str] = (), *, case_sensitive: bool = False
) -> TableSchema:
    """Return the schema of a table LIKE another: its columns, keys, comment and options, unless overridden.

    Args:
        source: the other table's schema.
        properties: properties that override those of the other table.
        features: ``EXCLUDING OPTIONS``, ``EXCLUDING PARTITIONS``, ``EXCLUDING CONSTRAINTS`` or ``EXCLUDING ALL``; those
            that begin with INCLUDING or OVERWRITING have no effect.
        case_sensitive: whether ``A`` and ``a`` are two columns.

    Raises:
        InvalidSchemaError, InvalidOptionError: as `schema_of_create`.
    """
    excluded = {f.upper().removeprefix("EXCLUDING ") for f in features if f.upper().startswith("EXCLUDING ")}

    def includes(feature: str) -> bool:
        return not excluded & {feature, "ALL"}

    source_options = shown_options(source) if is_materialized(source) else source.options
    inherited = {k: v for k, v in source_options.items() if k not in (PATH.key, "owner")}
    given = {k: v for k, v in properties.items() if k not in _RESERVED and not k.startswith(_OPTION)}
    options = {**(inherited if includes("OPTIONS") else {}), **given, **_kind_of(properties.get("provider"))}
    if location := properties.get("location"):
        options[PATH.key] = location
    context = Context(case_sensitive=case_sensitive)
    declared_key = _as_declared(comma_separated(options.pop(PRIMARY_KEY.key, None)), source.names, context)
    declared_partition = _as_declared(comma_separated(options.pop(PARTITION.key, None)), source.names, context)
    partition_keys = declared_partition or (source.partition_keys if includes("PARTITIONS") else ())
    primary_keys = declared_key or (source.primary_keys if includes("CONSTRAINTS") else ())
    return _validated(source.fields, partition_keys, primary_keys, options, properties.get("comment", source.comment))


def columns_json(jvm: Jvm, columns: Columns) -> StructJson:
    """Spark's columns as a struct's JSON; their metadata has default values."""
    if isinstance(columns, JavaArray):
        return struct_json(jvm.singleton(f"{CATALOG}.CatalogV2Util").v2ColumnsToStructType(columns))
    return struct_json(cast(StructType, columns))


def _with_exact_types(fields: Iterable[DataField], exact: Mapping[str, DataType], context: Context) -> list[DataField]:
    """The columns with the exact types, which Spark's types cannot express, and the nullability that Spark declares.

    Raises:
        InvalidSchemaError: a type is given for a column that does not exist.
    """
    named = [(field, context.find(field.name, exact)) for field in fields]
    for unused in exact.keys() - {name for _, name in named}:
        raise InvalidSchemaError(f"A type is specified for '{unused}', which is not a column.")
    return [f if name is None else replace(f, type=exact[name].as_nullable(f.type.nullable)) for f, name in named]


def _with_literal_defaults(jvm: Jvm, struct: StructJson) -> StructJson:
    """The struct with default values folded to literals where Spark can evaluate them."""
    return struct_of(
        f if default is None else {**f, "metadata": {**f["metadata"], CURRENT_DEFAULT: folded(jvm, default)}}
        for f, default in zip(struct["fields"], _defaults(struct), strict=True)
    )


def _defaults(struct: StructJson) -> list[str | None]:
    return [text_of(f, CURRENT_DEFAULT) for f in struct["fields"]]


def _kind_of(provider: str | None) -> dict[str, str]:
    """The options that a provider (USING) implies.

    Raises:
        UnsupportedError: the provider is unknown.
    """
    kind = (provider or PROVIDER).lower()
    if kind == PROVIDER:
        return {}
    if kind in FORMATS:
        return {TYPE.key: "format-table", FILE_FORMAT.key: kind}
    raise UnsupportedError(
        f"USING {provider}: a Paimon catalog supports the provider '{PROVIDER}', and the file formats"
        f" {', '.join(FORMATS)}.",
        remedy="Leave USING out.",
    )


def _as_declared(names: Sequence[str], columns: Sequence[str], context: Context) -> tuple[str, ...]:
    """The names in the case of the columns; names of no column are unchanged, for validation to refuse."""
    return tuple(context.find(name, columns) or name for name in names)


def _validated(
    fields: Sequence[DataField],
    partition_keys: Sequence[str],
    primary_keys: Sequence[str],
    options: Mapping[str, str],
    comment: str | None,
) -> TableSchema:
    """A new schema, validated, with nullable key columns if its option allows that; else they are NOT NULL."""
    schema = new_schema(
        fields,
        partition_keys=partition_keys,
        primary_keys=primary_keys,
        options=canonical(options),
        comment=comment,
    )
    if schema.options.get(PRIMARY_KEY_NULLABLE.key, "false").strip().lower() == "true":
        columns = (replace(f, type=f.type.as_nullable()) if f.name in primary_keys else f for f in schema.fields)
        schema = replace(schema, fields=tuple(columns))
    validate_schema(schema)
    return schema


def _partition_column(transform: ConnectorExpression) -> str:
    if transform.name() == "cluster_by":
        raise InvalidSchemaError(
            "Paimon tables do not support CLUSTER BY.", remedy="Set the option 'clustering.columns'."
        )
    if transform.name() in ("bucket", "sorted_bucket"):
        raise InvalidSchemaError(
            f"{transform.toString()}: Paimon tables do not support buckets in PARTITIONED BY or CLUSTERED BY .. INTO"
            " .. BUCKETS.",
            remedy="Set the options 'bucket' and 'bucket-key'; rows are sorted by 'clustering.columns', or by the"
            " primary key.",
        )
    if transform.name() != "identity":
        raise InvalidSchemaError(
            f"PARTITIONED BY {transform.toString()}: Paimon partitions by columns, not by expressions of them.",
            remedy="Add a column that holds the expression's value and partition by it.",
        )
    return transform.references()[0].fieldNames()[0]
