"""DESCRIBE EXTENDED of a partition: Spark's rows, and those of column defaults and NOT NULL as for a table."""

from __future__ import annotations

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.spark.jvm.errors import refusals
from paimon_sql.sql.statements.tables.partitions import DescribePartition
from paimon_sql.sql.text.names import quote_path
from paimon_sql.sql.types import spark_type

_COLUMNS = ("col_name", "data_type", "comment")


class RunDescribePartition(Runner[DescribePartition]):
    """DESCRIBE {EXTENDED | FORMATTED} t PARTITION (..)."""

    def run(self, statement: DescribePartition, context: StatementContext) -> Answer:
        session, name = context.session, quote_path(statement.table)
        plan = session.parsed(f"DESCRIBE TABLE EXTENDED {name} PARTITION {statement.partition}")
        with refusals():
            described = session.dataset(plan).collectAsList()
        rows = [tuple(row.get(i) for i in range(len(_COLUMNS))) for row in described]
        schema = context.table(statement.table).schema
        fields = tuple(DataField(-1, column, string_type()) for column in _COLUMNS)
        return Answer(fields, [*rows, *_of_columns(schema)])


def _of_columns(schema: TableSchema) -> list[tuple[str, str, str]]:
    defaults = [(f.name, spark_type(f.type).lower(), f.default) for f in schema.fields if f.default is not None]
    filled = [(f.name, spark_type(f.type).lower(), "NOT NULL") for f in schema.fields if not f.type.nullable]
    empty = ("", "", "")
    rows = [empty, ("# Column Default Values", "", ""), *defaults] if defaults else []
    return rows + ([empty, ("# Column Not Null", "", ""), *filled] if filled else [])
