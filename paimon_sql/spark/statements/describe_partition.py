"""DESCRIBE EXTENDED of a partition: what Spark tells of it, and of its columns what it tells of the table."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.types import DataField, string_type
from paimon_sql.spark.java import EXECUTION
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.names import quote_name
from paimon_sql.sql.statements.partitions import DescribePartition
from paimon_sql.sql.types import spark_type

_COLUMNS = ("col_name", "data_type", "comment")


class RunDescribePartition(Runner):
    """DESCRIBE {EXTENDED | FORMATTED} t PARTITION (..)."""

    statement = DescribePartition

    def run(self, statement: DescribePartition, surroundings: Surroundings) -> Answer:
        jvm = surroundings.jvm
        parser = jvm.new(f"{EXECUTION}.SparkSqlParser")
        name = ".".join(map(quote_name, statement.table))
        plan = parser.parsePlan(f"DESCRIBE TABLE EXTENDED {name} PARTITION {statement.partition}")
        try:
            told = jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(surroundings.session, plan).collectAsList()
        except AnalysisException as error:
            # A procedure may not throw Spark's own exception.
            raise InvalidInputError(str(error).split(";\n", 1)[0]) from None
        rows = [tuple(row.get(i) for i in range(len(_COLUMNS))) for row in told]
        schema = surroundings.table(statement.table).schema
        fields = tuple(DataField(-1, column, string_type()) for column in _COLUMNS)
        return Answer(fields, [*rows, *_of_columns(schema)])


def _of_columns(schema: TableSchema) -> list[tuple[str, str, str]]:
    defaults = [(f.name, spark_type(f.type).lower(), f.default) for f in schema.fields if f.default is not None]
    filled = [(f.name, spark_type(f.type).lower(), "NOT NULL") for f in schema.fields if not f.type.nullable]
    empty = ("", "", "")
    rows = [empty, ("# Column Default Values", "", ""), *defaults] if defaults else []
    return rows + ([empty, ("# Column Not Null", "", ""), *filled] if filled else [])
