"""ANALYZE TABLE: Spark computes the statistics, and a separate snapshot stores them."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError, NoSuchPartitionError, UnsupportedError, did_you_mean
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.operations.scan import SCAN_BUCKET, SCAN_SNAPSHOT_ID
from paimon_sql.format.rows.binary_field import from_epoch_nanos
from paimon_sql.format.schema import types as t
from paimon_sql.format.statistics.table_statistics import ColumnStatistics, TableStatistics
from paimon_sql.format.text.values import cast_text, java_text
from paimon_sql.spark.execution.carried_statement import Runner, StatementContext
from paimon_sql.spark.java.catalyst import Attribute, LogicalPlan
from paimon_sql.spark.java.objects import JavaObject, Option, ScalaMap, Tuple
from paimon_sql.spark.jvm.gateway import EXECUTION
from paimon_sql.spark.statements.tables.partitions import read_partition
from paimon_sql.sql.statements.tables.partitions import AnalyzeTable
from paimon_sql.sql.text.names import quote_name, quote_path
from paimon_sql.storage.branches.chains import Chain
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.partitions import chosen_partitions, report_measured
from paimon_sql.storage.operations import operations
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table


def analyze_partitions(statement: AnalyzeTable, table: FormatTable, context: StatementContext) -> None:
    """Measure partitions and report them to the partition registry; with NOSCAN no file is opened to count rows.

    Raises:
        UnsupportedError: there is no registry to store the statistics.
        InvalidInputError: the values are not those of leading partition columns.
        NoSuchPartitionError: no registered partition has these values.
    """
    if table.register is None:
        raise UnsupportedError(
            f"ANALYZE TABLE is not supported for {table.name}, a format table whose partitions no catalog registers.",
            remedy=f"A REST catalog registers partitions of tables with '{METASTORE_PARTITIONED_TABLE.key}' = 'true'.",
        )
    if statement.all_columns or statement.columns:
        raise UnsupportedError(
            f"{table.name} is a format table: column statistics are not supported.", remedy="Leave FOR COLUMNS out."
        )
    text = _leading_values(statement, table, context)
    predicate = read_partition(context, statement.table, table.schema, text)[0] if text else None
    chosen = chosen_partitions(table, predicate)
    if text and not chosen:
        raise NoSuchPartitionError(
            f"{table.name} has no partition {text}.", name=text, remedy=f"SHOW PARTITIONS {table.name} lists them."
        )
    report_measured(table, chosen, rows=not statement.noscan)


def _leading_values(statement: AnalyzeTable, table: FormatTable, context: StatementContext) -> str:
    """The values of PARTITION, as ``(a = 1, b = 2)``; empty without any.

    Raises:
        InvalidInputError: a column is not a partition column, or the columns are not leading ones.
    """
    folded = str if context.session.case_sensitive else str.lower
    keys = {folded(key): key for key in table.schema.partition_keys}
    given: dict[str, str] = {}
    for name, value in statement.partition or ():
        key = keys.get(folded(name))
        if key is None:
            raise InvalidInputError(
                f"{name} is not a partition column of {table.name}.",
                remedy=f"Its partition columns are {', '.join(table.schema.partition_keys)}.",
            )
        if value is not None:
            given[key] = value
    leading = list(table.schema.partition_keys)[: len(given)]
    if set(leading) != set(given):
        raise InvalidInputError(
            f"ANALYZE TABLE {table.name} PARTITION requires values of its leading partition columns in"
            f" [{', '.join(table.schema.partition_keys)}], not of {', '.join(given)} alone."
        )
    return f"({', '.join(f'{quote_name(key)} = {given[key]}' for key in leading)})" if given else ""


_WITHOUT_STATISTICS = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.VariantType, t.BlobType)
_NANOS_OF_MICRO = 1_000


class RunAnalyzeTable(Runner[AnalyzeTable]):
    """ANALYZE TABLE .. COMPUTE STATISTICS [FOR COLUMNS ..]; a table without snapshots is not changed."""

    def run(self, statement: AnalyzeTable, context: StatementContext) -> None:
        any_table = context.catalog.any_table(context.identifier(statement.table))
        if isinstance(any_table, FormatTable):
            analyze_partitions(statement, any_table, context)
            return
        table = context.table(statement.table)
        if statement.partition is not None:
            raise UnsupportedError(
                "ANALYZE TABLE .. PARTITION is not supported.",
                remedy="Leave PARTITION out: statistics are of the whole table.",
            )
        if statement.noscan:
            raise UnsupportedError(
                "NOSCAN is not supported: the size of the files is already known.", remedy="Leave NOSCAN out."
            )
        if table.options.has(SCAN_BUCKET):
            raise InvalidInputError(
                f"Statistics require all buckets, but '{SCAN_BUCKET.key}' selects one.", remedy="Unset the option."
            )
        chain = Chain.read_by(table)
        if chain is not None:
            raise UnsupportedError(
                f"{table.name} is a chain table: statistics require one snapshot with all of its rows.",
                remedy=f"Analyze {table.name}$branch_{chain.snapshot_branch} or $branch_{chain.delta_branch}.",
            )
        columns = self._columns(statement, table, context)
        latest = table.snapshots.latest()
        if latest is None:
            return
        # The snapshot's schema lacks columns that were added or renamed after it.
        in_snapshot = {(f.id, f.name) for f in table.schemas.get(latest.schema_id).fields}
        known = [f for f in columns if (f.id, f.name) in in_snapshot]
        counted, found = _compute(context, statement.table, latest.id, known)
        plan = plan_scan(table, snapshot=latest)
        size = sum(f.file_size for split in plan.splits for f in split.files)
        total = latest.total_record_count or 0
        share = min(1.0, counted / total) if total else 1.0
        statistics = TableStatistics(latest.id, latest.schema_id, counted, int(size * share), found)
        with Transaction(table) as transaction:
            operations.set_statistics(transaction, statistics)

    @staticmethod
    def _columns(statement: AnalyzeTable, table: Table, context: StatementContext) -> list[t.DataField]:
        folded = str if context.session.case_sensitive else str.lower
        known = {folded(f.name): f for f in table.schema.fields}
        chosen = list(table.schema.fields) if statement.all_columns else []
        for name in statement.columns:
            field = known.get(folded(name))
            if field is None:
                raise InvalidInputError(
                    f"{table.name} has no column {name} to analyze.",
                    remedy=did_you_mean(name, table.schema.names)
                    or f"Its columns are {', '.join(table.schema.names)}.",
                )
            chosen.append(field)
        for field in chosen:
            if isinstance(field.type, _WITHOUT_STATISTICS):
                raise UnsupportedError(
                    f"Column {field.name} of {table.name} is {field.type.sql()}, which does not support statistics.",
                    remedy="Name the columns to analyze: FOR COLUMNS a, b.",
                )
        return chosen


def _compute(
    context: StatementContext, name: tuple[str, ...], snapshot: int, columns: list[t.DataField]
) -> tuple[int, dict[str, ColumnStatistics]]:
    """The number of merged rows of a snapshot, and Spark's statistics of the columns."""
    session, jvm = context.session, context.session.jvm
    rows = session.java.read().option(SCAN_SNAPSHOT_ID.key, str(snapshot))
    relation: LogicalPlan = rows.table(quote_path(name)).queryExecution().analyzed()
    by_name = {a.name(): a for a in jvm.items(relation.output())}
    attributes = jvm.seq([by_name[f.name] for f in columns])
    command = jvm.singleton(f"{EXECUTION}.command.CommandUtils")
    answer: Tuple[int, ScalaMap[Attribute, JavaObject]] = command.computeColumnStats(session.java, relation, attributes)
    found = answer._2()
    return int(answer._1()), {f.name: _statistics(f, found.apply(by_name[f.name])) for f in columns}


def _statistics(field: t.DataField, found: JavaObject) -> ColumnStatistics:
    def number(option: Option[object]) -> int | None:
        return int(str(option.get())) if option.isDefined() else None

    def bound(option: Option[object]) -> str | None:
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


def _text(value: object, data_type: t.DataType) -> str:
    """A value of Spark as a string of the statistics file."""
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType) and isinstance(value, int):
        return cast_text(from_epoch_nanos(value * _NANOS_OF_MICRO, data_type.precision), data_type)
    if isinstance(data_type, t.FloatType | t.DoubleType | t.BooleanType):
        return java_text(value, data_type)
    return str(value)
