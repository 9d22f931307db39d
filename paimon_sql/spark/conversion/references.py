"""Column references of Spark's connector interfaces, safe for names with any characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm

_EXPRESSIONS = f"{CONNECTOR}.expressions"


def reference_to(jvm: Jvm, column: str) -> Any:
    """A column as a ``NamedReference``; of a string Spark would parse the dots."""
    return jvm.cls(f"{_EXPRESSIONS}.FieldReference").apply(jvm.seq([column]))


def references_to(jvm: Jvm, columns: Iterable[str]) -> Any:
    """Columns as a ``NamedReference[]``."""
    return jvm.array(f"{_EXPRESSIONS}.NamedReference", [reference_to(jvm, name) for name in columns])


def partitioned_by(jvm: Jvm, columns: Iterable[str]) -> Any:
    """Partition columns as Spark's ``Transform[]``."""
    transforms = [jvm.new(f"{_EXPRESSIONS}.IdentityTransform", reference_to(jvm, name)) for name in columns]
    return jvm.array(f"{_EXPRESSIONS}.Transform", transforms)


def column_of(expression: Any) -> str | None:
    """The column that a connector's expression refers to; None if it is another expression or a nested field."""
    if expression.getClass().getSimpleName() != "FieldReference":
        return None
    names = list(expression.fieldNames())
    return str(names[0]) if len(names) == 1 else None
