"""ANALYZE TABLE of a format table: what its partitions hold is told the catalog that keeps their register."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError, NoSuchPartitionError, UnsupportedError
from paimon_sql.format.options.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.spark.statements.base import Surroundings
from paimon_sql.spark.statements.partitions import read_partition
from paimon_sql.sql.names import quote_name
from paimon_sql.sql.statements.partitions import AnalyzeTable
from paimon_sql.storage.format_tables import FormatTable, chosen_partitions
from paimon_sql.storage.format_tables.figures import measured
from paimon_sql.storage.format_tables.registration import report_figures


def analyze_partitions(statement: AnalyzeTable, table: FormatTable, surroundings: Surroundings) -> None:
    """Measure the partitions that a statement names; with NOSCAN no file is looked into, so that rows are not counted.

    Raises:
        UnsupportedError: nobody would keep what is found out.
        InvalidInputError: values are given for partition columns behind one without.
        NoSuchPartitionError: no registered partition has such values.
    """
    if table.register is None:
        raise UnsupportedError(
            f"ANALYZE TABLE is not supported for {table.name}, a format table whose partitions no catalog lists.",
            remedy=f"A REST catalog lists those of tables made with '{METASTORE_PARTITIONED_TABLE.key}' = 'true'.",
        )
    if statement.all_columns or statement.columns:
        raise UnsupportedError(
            f"{table.name} is a format table: no statistics of its columns are kept.", remedy="Leave FOR COLUMNS out."
        )
    text = _leading_values(statement, table, surroundings)
    predicate = read_partition(surroundings, statement.table, table.schema, text)[0] if text else None
    chosen = chosen_partitions(table, predicate)
    if text and not chosen:
        raise NoSuchPartitionError(
            f"{table.name} has no partition {text}.", name=text, remedy=f"SHOW PARTITIONS {table.name} lists them."
        )
    report_figures(table, measured(table, chosen, rows=not statement.noscan))


def _leading_values(statement: AnalyzeTable, table: FormatTable, surroundings: Surroundings) -> str:
    """The values that PARTITION gives, as ``(a = 1, b = 2)``; empty without any."""
    exact = bool(surroundings.session.sessionState().conf().caseSensitiveAnalysis())
    keys = {key if exact else key.lower(): key for key in table.schema.partition_keys}
    given: dict[str, str] = {}
    for name, value in statement.partition or ():
        key = keys.get(name if exact else name.lower())
        if key is None:
            raise InvalidInputError(
                f"{name} is no partition column of {table.name}.",
                remedy=f"Its partition columns are {', '.join(table.schema.partition_keys)}.",
            )
        if value is not None:
            given[key] = value
    leading = list(table.schema.partition_keys)[: len(given)]
    if set(leading) != set(given):
        raise InvalidInputError(
            f"ANALYZE TABLE {table.name} PARTITION takes values for a leading run of its partition columns"
            f" [{', '.join(table.schema.partition_keys)}], and not for {', '.join(given)} alone."
        )
    return f"({', '.join(f'{quote_name(key)} = {given[key]}' for key in leading)})" if given else ""
