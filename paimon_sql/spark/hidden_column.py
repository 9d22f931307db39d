"""A hidden column of a table as Spark's ``MetadataColumn``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from paimon_sql.format.types import DataField
from paimon_sql.spark.java import CATALOG, JavaObject, Jvm
from paimon_sql.spark.types import spark_type, type_inside


def hidden_columns(jvm: Jvm, fields: Sequence[DataField]) -> Any:
    """Hidden columns as a ``MetadataColumn[]``; most tables have the same, which are made once."""

    def make() -> Any:
        # Py4J puts Python objects into collections, not into arrays.
        columns = jvm.seq([HiddenColumnProxy(jvm, f) for f in fields])
        element = jvm.java_class(f"{CATALOG}.MetadataColumn")
        return columns.toArray(jvm.singleton("scala.reflect.ClassTag").apply(element))

    return jvm.constant(f"hidden columns {json.dumps([f.to_json() for f in fields])}", make)


class HiddenColumnProxy(JavaObject):
    """One column that ``*`` does not show."""

    def __init__(self, jvm: Jvm, field: DataField) -> None:
        super().__init__(jvm)
        self._field = field

    def toString(self) -> str:
        return self._field.name

    def name(self) -> str:
        return self._field.name

    @cached_property
    def _data_type(self) -> Any:
        # Spark replaces CHAR and VARCHAR in a table's own columns alone.
        kind = json.dumps(type_inside(spark_type(self._field.type)))
        return self.jvm.cls("org.apache.spark.sql.types.DataType").fromJson(kind)

    def dataType(self) -> Any:
        return self._data_type

    def isNullable(self) -> bool:
        return self._field.type.nullable

    def comment(self) -> str | None:
        return self._field.description

    def transform(self) -> Any:
        return None

    def metadataInJSON(self) -> str | None:
        return None

    class Java:
        implements = [f"{CATALOG}.MetadataColumn"]
