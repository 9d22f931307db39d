"""ANALYZE TABLE: Spark counts, a snapshot of its own keeps the numbers."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format import types as t
from paimon_sql.format.binary_field import from_epoch_nanos
from paimon_sql.format.options.scan import SCAN_BUCKET, SCAN_SNAPSHOT_ID
from paimon_sql.format.table_statistics import ColumnStatistics, TableStatistics
from paimon_sql.format.value_text import cast_text, java_text
from paimon_sql.spark.java import EXECUTION, Jvm
from paimon_sql.spark.statements.analyze_partitions import analyze_partitions
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.names import quote_name
from paimon_sql.sql.statements.partitions import AnalyzeTable
from paimon_sql.storage.chains import Chain
from paimon_sql.storage.commit import operations
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table import Table

_WITHOUT = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.VariantType, t.BlobType)
_NANOS_OF_MICRO = 1_000


class RunAnalyzeTable(Runner):
    """ANALYZE TABLE .. COMPUTE STATISTICS [FOR COLUMNS ..]. A table without rows of any snapshot is left as it is."""

    statement = AnalyzeTable

    def run(self, statement: AnalyzeTable, surroundings: Surroundings) -> Answer:
        any_table = surroundings.catalog.any_table(surroundings.identifier(statement.table))
        if isinstance(any_table, FormatTable):
            analyze_partitions(statement, any_table, surroundings)
            return Answer()
        table = surroundings.table(statement.table)
        if statement.partition is not None:
            raise UnsupportedError(
                "ANALYZE TABLE .. PARTITION is not offered.", remedy="Leave PARTITION out: statistics are the table's."
            )
        if statement.noscan:
            raise UnsupportedError("NOSCAN does not help: the size of the files is known.", remedy="Leave NOSCAN out.")
        if table.options.has(SCAN_BUCKET):
            raise InvalidInputError(
                f"Statistics are those of all buckets, and '{SCAN_BUCKET.key}' reads one.", remedy="Unset the option."
            )
        chain = Chain.read_by(table)
        if chain is not None:
            raise UnsupportedError(
                f"{table.name} is a chain table, whose rows no snapshot holds that could keep statistics of them.",
                remedy=f"Analyze {table.name}$branch_{chain.snapshot_branch} or $branch_{chain.delta_branch}.",
            )
        columns = self._columns(statement, table, surroundings)
        latest = table.snapshots.latest()
        if latest is None:
            return Answer()
        # The snapshot knows nothing of columns that came or got their names after it.
        then = {(f.id, f.name) for f in table.schemas.get(latest.schema_id).fields}
        known = [f for f in columns if (f.id, f.name) in then]
        counted, found = _counted(surroundings, statement.table, latest.id, known)
        plan = plan_scan(table, snapshot=latest)
        size = sum(f.file_size for split in plan.splits for f in split.files)
        held = latest.total_record_count or 0
        share = min(1.0, counted / held) if held else 1.0
        statistics = TableStatistics(latest.id, latest.schema_id, counted, int(size * share), found)
        with Transaction(table) as transaction:
            operations.set_statistics(transaction, statistics)
        return Answer()

    @staticmethod
    def _columns(statement: AnalyzeTable, table: Table, surroundings: Surroundings) -> list[t.DataField]:
        exact = bool(surroundings.session.sessionState().conf().caseSensitiveAnalysis())
        known = {f.name if exact else f.name.lower(): f for f in table.schema.fields}
        chosen = list(table.schema.fields) if statement.all_columns else []
        for name in statement.columns:
            field = known.get(name if exact else name.lower())
            if field is None:
                raise InvalidInputError(
                    f"{table.name} has no column {name} to analyze.",
                    remedy=f"Its columns are {', '.join(table.schema.names)}.",
                )
            chosen.append(field)
        for field in chosen:
            if isinstance(field.type, _WITHOUT):
                raise UnsupportedError(
                    f"Column {field.name} of {table.name} is {field.type.sql()}, of which no statistics are kept.",
                    remedy="Name the columns to analyze: FOR COLUMNS a, b.",
                )
        return chosen


def _counted(
    surroundings: Surroundings, name: tuple[str, ...], snapshot: int, columns: list[t.DataField]
) -> tuple[int, dict[str, ColumnStatistics]]:
    """The merged rows of a snapshot, and what Spark finds out of the columns."""
    jvm = surroundings.jvm
    rows = surroundings.session.read().option(SCAN_SNAPSHOT_ID.key, str(snapshot))
    relation = rows.table(".".join(map(quote_name, name))).queryExecution().analyzed()
    by_name = {a.name(): a for a in jvm.items(relation.output())}
    attributes = jvm.seq([by_name[f.name] for f in columns])
    command = jvm.singleton(f"{EXECUTION}.command.CommandUtils")
    answer = command.computeColumnStats(surroundings.session, relation, attributes)
    found = answer._2()
    return int(answer._1()), {f.name: _statistics(jvm, f, found.apply(by_name[f.name])) for f in columns}


def _statistics(jvm: Jvm, field: t.DataField, found: Any) -> ColumnStatistics:
    def number(option: Any) -> int | None:
        return int(str(option.get())) if option.isDefined() else None

    def bound(option: Any) -> str | None:
        return _text(option.get(), field.type) if option.isDefined() else None

    return ColumnStatistics(
        field.id,
        number(found.distinctCount()),
        bound(found.min()),
        bound(found.max()),
        number(found.nullCount()),
        number(found.avgLen()),
        number(found.maxLen()),
    )


def _text(value: Any, data_type: t.DataType) -> str:
    """A value of Spark's as a text of the file."""
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return cast_text(from_epoch_nanos(value * _NANOS_OF_MICRO, data_type.precision), data_type)
    if isinstance(data_type, t.FloatType | t.DoubleType | t.BooleanType):
        return java_text(value, data_type)
    return str(value)
