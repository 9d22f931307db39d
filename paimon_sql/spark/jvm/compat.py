"""Differences between the supported Spark versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

import pyarrow as pa
import pyspark

from paimon_sql.spark.java.catalyst import Attribute, Expression, LogicalPlan, StructType
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.java.session import ClassicSession
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST, EXECUTION, EXPRESSIONS, PLANS, Jvm

_MAJOR, _MINOR = (int(part) for part in pyspark.__version__.split(".")[:2])
HAS_VIEWS = (_MAJOR, _MINOR) >= (4, 2)
"""Whether Spark asks catalogs for views and SQL functions; before 4.2 only its own catalog has them."""

HAS_CHANGE_QUERIES = (_MAJOR, _MINOR) >= (4, 2)
"""Whether Spark asks catalogs for the changes of a table (``CHANGES FROM VERSION …``)."""

HAS_PRUNED_VARIANTS = (_MAJOR, _MINOR) >= (4, 3)
"""Whether Spark prunes the columns of a scan that extracts values from variants; before 4.3 it then reads all."""

_CHANGES = re.compile(r"\bCHANGES\s+FROM\s+(?:SYSTEM_)?(?:VERSION|TIMESTAMP|TIME)\b", re.IGNORECASE)


def lacks_change_queries(text: str) -> bool:
    """Whether a statement that Spark cannot parse is a change query, which this version does not have."""
    return not HAS_CHANGE_QUERIES and _CHANGES.search(text) is not None


def builtin_function(name: str) -> str:
    """The name by which the text of a default value calls a built-in function of Spark.

    Since 4.2 an unqualified name is resolved on a path that begins with the current catalog. While parsing a default
    value, Spark would load that catalog anew by the name of a Java class.
    """
    return f"system.builtin.{name}" if (_MAJOR, _MINOR) >= (4, 2) else name


def version(jvm: Jvm) -> tuple[int, int]:
    """Spark's major and minor version."""
    major, minor = str(jvm.constant("version", lambda: jvm.context.version)).split(".")[:2]
    return int(major), int(minor)


def v2_columns(jvm: Jvm, struct: StructType) -> Sequence[JavaObject]:
    """A struct's fields as a table's ``Column[]``, without the ids that 4.2 offers to keep."""
    without_ids = (False,) if version(jvm) >= (4, 2) else ()
    util = jvm.singleton(f"{CATALOG}.CatalogV2Util")
    return cast("Sequence[JavaObject]", util.structTypeToV2Columns(struct, *without_ids))


def write_by_name(jvm: Jvm, plan: str, *arguments: object) -> LogicalPlan:
    """A plan that writes a query's columns into a table's columns of the same name.

    Further parameters of later versions allow Spark to add columns to the table; they are False.

    Args:
        jvm: the JVM.
        plan: the name of the plan's class.
        arguments: the table, the query, further members of the plan, the options of the write.
    """
    companion = jvm.singleton(f"{PLANS}.{plan}")
    count = next(int(m.getParameterCount()) for m in companion.getClass().getMethods() if m.getName() == "byName")
    return companion.byName(*arguments, *([False] * (count - len(arguments))))


def transform_expression(jvm: Jvm, function: JavaObject, column: Attribute) -> Expression:
    """A bound function over one column as Catalyst's ``TransformExpression``.

    Further parameters of later versions describe reduced keys; they are None.
    """
    name = f"{EXPRESSIONS}.TransformExpression"
    count = jvm.constant(f"members of {name}", lambda: jvm.java_class(name).getConstructors()[0].getParameterCount())
    return jvm.new(name, function, jvm.seq([column]), *([jvm.none] * (count - 2)))


def with_parameters(jvm: Jvm, text: str, parameters: JavaObject) -> str:
    """A statement with its parameters (``?`` and ``:name``) substituted as Spark does it."""
    handler = jvm.singleton(f"{CATALYST}.parser.ParameterHandler")
    return str(handler.substituteParameters(text, parameters)._1())


def local_batches(jvm: Jvm, relation: LogicalPlan) -> list[pa.RecordBatch]:
    """The rows of a ``LocalRelation`` as Arrow, without a job."""
    zone = jvm.settings.sessionLocalTimeZone()
    converters = jvm.singleton(f"{EXECUTION}.arrow.ArrowConverters")
    streams = converters.toBatchWithSchemaIterator(
        relation.data().iterator(), relation.schema(), 1_000_000, 64 * 1024 * 1024, zone, False, False
    )
    batches: list[pa.RecordBatch] = []
    while streams.hasNext():
        batches.extend(pa.ipc.open_stream(streams.next()))
    return batches


def uncache(manager: JavaObject, session: ClassicSession, name: Seq[str]) -> None:
    """Remove a table, and all plans that read it, from Spark's cache.

    A further parameter of later versions includes time-travelling reads; it is True.

    Args:
        manager: Spark's ``CacheManager``.
        session: the JVM's session.
        name: the parts of the table's name.
    """
    forget = next(m for m in manager.getClass().getMethods() if m.getName() == "uncacheTableOrView")
    manager.uncacheTableOrView(session, name, *([True] * (int(forget.getParameterCount()) - 2)))
