"""Texts of a given length in rows that Spark's own analysis of a write does not pass: filled up, or refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import row_struct, spark_struct
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm


def with_lengths(jvm: Jvm, session: Any, rows: DataFrame, fields: Sequence[DataField]) -> DataFrame:
    """The rows with each CHAR filled up with blanks; texts that are too long fail when the rows are read.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        rows: rows in these columns' order, their texts strings.
        fields: the columns.
    """
    struct = spark_struct(fields)
    if struct == row_struct(fields):
        return rows
    util = jvm.singleton(f"{CATALYST}.util.CharVarcharUtils")
    query = rows._jdf.queryExecution().analyzed()
    types = jvm.struct(json.dumps(struct)).fields()
    columns = [
        jvm.new(
            f"{CATALYST}.expressions.Alias",
            util.stringLengthCheck(column, types[at].dataType()),
            column.name(),
            jvm.singleton(f"{CATALYST}.expressions.NamedExpression").newExprId(),
            jvm.seq([]),
            jvm.none,
            jvm.seq([]),
        )
        for at, column in enumerate(jvm.items(query.output()))
    ]
    plan = jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(columns), query)
    dataset = jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(session, plan)
    return DataFrame(dataset, SparkSession(jvm.context, session))
