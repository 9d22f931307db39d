"""Rows as an INSERT would write them: cast and checked by Spark's own rules, and not yet written."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.spark.java import EXECUTION, Jvm
from paimon_sql.sql.names import quote_name


def inserted_rows(jvm: Jvm, session: Any, table: Sequence[str], rows: DataFrame) -> DataFrame:
    """The rows in the columns and types of a table, as ``INSERT INTO .. BY NAME`` makes them.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        table: the parts of the table's name.
        rows: the rows.

    Raises:
        AnalysisException: Spark refuses to write such rows into the table.
    """
    view, spark = f"__paimon_rows_{uuid.uuid4().hex}", SparkSession(jvm.context, session)
    rows.createOrReplaceTempView(view)
    try:
        name = ".".join(map(quote_name, table))
        parsed = jvm.new(f"{EXECUTION}.SparkSqlParser").parsePlan(f"INSERT INTO {name} BY NAME SELECT * FROM {view}")
        # The statement is analysed and never run.
        mode = jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP()
        query = session.sessionState().executePlan(parsed, mode).analyzed().query()
        dataset = jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(session, query)
        return DataFrame(dataset, spark)
    finally:
        spark.catalog.dropTempView(view)
