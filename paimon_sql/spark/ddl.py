"""CREATE TABLE as Spark hands it over, as the first version of a schema."""

from __future__ import annotations

import json
from typing import Any

from py4j.java_collections import JavaArray

from paimon_sql.errors import InvalidSchemaError
from paimon_sql.format.schema import TableSchema, new_schema
from paimon_sql.spark.java import CATALOG, Jvm
from paimon_sql.spark.types import paimon_fields

_SPARKS_OWN = frozenset({"provider", "owner", "location", "external", "is_managed_location", "comment"})


def schema_of_create(jvm: Jvm, definition: tuple[Any, ...]) -> TableSchema:
    """The schema that a ``createTable`` call describes.

    Args:
        jvm: the JVM.
        definition: a ``TableInfo``, or columns, partition transforms and properties.

    Raises:
        InvalidSchemaError: a column, key or partition is not possible.
    """
    if len(definition) == 1:
        info = definition[0]
        columns, partitions, properties = info.columns(), info.partitions(), info.properties()
    else:
        columns, partitions, properties = definition
    given = {key: properties.get(key) for key in properties.keySet()}
    fields = paimon_fields(struct_json(jvm, columns))
    primary_keys = _names(given.pop("primary-key", ""))
    partition_keys = [_partition_column(p) for p in partitions] or _names(given.pop("partition", ""))
    options = {key: value for key, value in given.items() if key not in _SPARKS_OWN and not key.startswith("option.")}
    if owner := given.get("owner"):
        options["owner"] = owner
    return new_schema(
        fields,
        partition_keys=partition_keys,
        primary_keys=primary_keys,
        options=options,
        comment=given.get("comment"),
    )


def struct_json(jvm: Jvm, columns: Any) -> dict[str, Any]:
    """Spark's columns as a struct's JSON; defaults stand in their metadata."""
    if isinstance(columns, JavaArray):
        columns = jvm.singleton(f"{CATALOG}.CatalogV2Util").v2ColumnsToStructType(columns)
    body: dict[str, Any] = json.loads(columns.json())
    return body


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _partition_column(transform: Any) -> str:
    if transform.name() != "identity":
        raise InvalidSchemaError(
            f"PARTITIONED BY {transform.describe()}: Paimon partitions by columns, not by expressions of them.",
            remedy="Add a column that holds the expression's value and partition by it.",
        )
    return str(transform.references()[0].fieldNames()[0])
