"""Reads and writes of format tables by Spark's own sources, and the rules that complete them.

Reads select partitions. Spark's reader accepts a quoted number in JSON only as a string. So such columns are read as
strings, which accepts unquoted numbers as well, and cast above the scan. Writes fill a hidden directory, whose files
the commit publishes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import CATALYST_FILTERS, BatchWriteInterface
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.conversion.rows import internal_rows
from paimon_sql.spark.conversion.types import (
    StructJson,
    TypeJson,
    spark_struct,
    struct_json,
    struct_of,
    type_json,
    with_atoms,
)
from paimon_sql.spark.expressions.connector_predicates import partition_condition
from paimon_sql.spark.expressions.predicates import expression_text, translate_all
from paimon_sql.spark.java.catalyst import Attribute, Expression, InternalRow, LogicalPlan, StructType
from paimon_sql.spark.java.connector import ConnectorExpression, WriteInfo
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, DATASOURCES, EXPRESSIONS, OPTIONS_MAP, PLANS, Jvm
from paimon_sql.spark.jvm.hadoop_files import check_table, file_index, hadoop_path, hadoop_settings
from paimon_sql.spark.jvm.proxy import Proxy, python_object
from paimon_sql.spark.jvm.session import SessionProxy
from paimon_sql.spark.rules.optimizer import PlanRule, new_alias, new_id, scans_of, with_leaves, with_parts
from paimon_sql.spark.tables.format_tables.formats import FORMATS
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import discard, publish, staging_folder
from paimon_sql.storage.format_tables.partitions import Partition, chosen_partitions, folders_of, partition_columns
from paimon_sql.storage.staging.proposal import Overwrite

_COMMITTERS = "org.apache.spark.internal.io.FileCommitProtocol"


@dataclass(eq=False)
class FormatScanBuilder(SessionProxy):
    """Builder of one scan: Spark's own builder of the format, over the partitions that match the filters.

    Spark's builder takes the directories at its creation, so it is created after the filters are pushed.
    """

    implements = [f"{CONNECTOR}.read.SupportsPushDownRequiredColumns", CATALYST_FILTERS]
    table: FormatTable
    _builder: JavaObject | None = field(default=None, init=False)

    def pushFilters(self, expressions: Seq[Expression]) -> Seq[Expression]:
        types = {f.name: f.type for f in self.table.partition_fields}
        found = translate_all(expression_text(self.jvm, expressions), types) if types else []
        self._builder = self._create_builder(all_of([p for p in found if p is not None]))
        return self._builder.pushFilters(expressions)

    def pushedFilters(self) -> JavaObject:
        return self._spark_builder().pushedFilters()

    def pruneColumns(self, struct: StructType) -> None:
        self._spark_builder().pruneColumns(struct)

    def build(self) -> JavaObject:
        return self._spark_builder().build()

    def _spark_builder(self) -> JavaObject:
        """Spark's builder."""
        if self._builder is None:
            self._builder = self._create_builder(None)
        return self._builder

    def _create_builder(self, predicate: Predicate | None) -> JavaObject:
        jvm, table, kind = self.jvm, self.table, FORMATS[self.table.format]
        check_table(self.session, table)
        settings = hadoop_settings(table.file_io.options, [store_of(table.location)])
        options = jvm.java_map({**settings, **kind.read_options(table)})
        data, keys = self._struct(table.data_fields), self._struct(table.partition_fields)
        return jvm.new(
            kind.scan_builder,
            self.session.java,
            self._index(chosen_partitions(table, predicate), keys, options),
            self._struct((*table.data_fields, *table.partition_fields)),
            data,
            jvm.new(OPTIONS_MAP, options),
        )

    def _index(self, partitions: list[Partition], keys: StructType, options: Mapping[str, str]) -> JavaObject:
        """Spark's file index over the directories of partitions, with the partition values of each."""
        jvm = self.jvm
        found = map_in_threads(partial(folders_of, self.table), partitions, self.table.threads)
        directories = [Partition(path, p.texts) for p, below in zip(partitions, found, strict=True) for path in below]
        paths = [hadoop_path(jvm, d.path) for d in directories]
        specs = []
        if self.table.partition_fields:
            rows = self._rows(directories)
            specs = [jvm.new(f"{DATASOURCES}.PartitionPath", rows[i], path) for i, path in enumerate(paths)]
        spec = jvm.new(f"{DATASOURCES}.PartitionSpec", keys, jvm.seq(specs))
        return file_index(self.session, jvm.seq(paths), jvm.scala_map(options), spec)

    def _rows(self, partitions: list[Partition]) -> Sequence[InternalRow]:
        """The values of partitions."""
        fields = self.table.partition_fields
        columns = partition_columns(self.table, partitions)
        table = pa.table([columns[f.name] for f in fields], names=[f.name for f in fields])
        return internal_rows(self.jvm, table, fields)

    def _struct(self, fields: tuple[DataField, ...]) -> StructType:
        """Columns as Spark reads them from files: nullable, and strings without length."""
        # Other programs write files as well, so the constraints of the table may not hold in them.
        struct = spark_struct(replace(f, type=f.type.as_nullable()) for f in fields)
        types = self.jvm.singleton("org.apache.spark.sql.catalyst.util.CharVarcharUtils")
        return types.replaceCharVarcharWithStringInSchema(self.jvm.struct(struct))


_SCAN = f"{DATASOURCES}.v2.json.JsonScan"
_QUOTED = frozenset(("byte", "short", "integer", "long", "float", "double", "boolean"))
_PERMISSIVE, _FAIL = "PERMISSIVE", "FAILFAST"
_CORRUPT = "columnNameOfCorruptRecord"


class ReadQuotedValues(PlanRule):
    """Reads the numbers and booleans of JSON files as strings and casts them.

    A session without the rule fails on quoted values. The option ``mode`` decides how malformed values are handled; if
    it drops their rows or shows their lines, Spark's reader needs the types, and the plan is not changed.
    """

    reads_scans = True

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        read = {n: self._read_as_strings(leaf) for n, leaf in scans_of(self.jvm, plan) if self._is_ours(leaf)}
        replacements = {number: leaf for number, leaf in read.items() if leaf is not None}
        return with_leaves(self.jvm, plan, replacements) if replacements else plan

    def _is_ours(self, relation: LogicalPlan) -> bool:
        """Whether a relation reads JSON files of a format table."""
        if relation.scan().getClass().getName() != _SCAN:
            return False
        return isinstance(getattr(python_object(self.jvm, relation.relation().table()), "table", None), FormatTable)

    def _read_as_strings(self, relation: LogicalPlan) -> LogicalPlan | None:
        """A relation that reads strings, below a projection that casts them; None if none is needed or possible."""
        jvm, scan = self.jvm, relation.scan()
        struct, data = struct_json(scan.readDataSchema()), struct_json(scan.dataSchema())
        mode = str(scan.options().getOrDefault("mode", _PERMISSIVE)).upper()
        corrupt = scan.options().getOrDefault(_CORRUPT, jvm.settings.columnNameOfCorruptRecord())
        names = {f["name"] for f in struct["fields"]}
        if mode not in (_PERMISSIVE, _FAIL) or corrupt in names or struct_as_strings(struct) == struct:
            return None
        reads = jvm.new(
            _SCAN,
            scan.sparkSession(),
            scan.fileIndex(),
            jvm.struct(struct_as_strings(data)),
            jvm.struct(struct_as_strings(struct)),
            scan.readPartitionSchema(),
            scan.options(),
            jvm.array("org.apache.spark.sql.sources.Filter"),
            scan.partitionFilters(),
            jvm.nil,
        )
        evaluation = jvm.singleton(f"{EXPRESSIONS}.EvalMode")
        strict = evaluation.ANSI() if mode == _FAIL else evaluation.TRY()
        read: list[Attribute] = []
        shown: list[Attribute] = []
        for attribute in jvm.items(relation.output()):
            kind = type_json(attribute.dataType())
            text = as_strings(kind) if attribute.name() in names else kind
            if text == kind:
                read.append(attribute)
                shown.append(attribute)
                continue
            read.append(attribute.withDataType(jvm.struct(text)).newInstance())
            value: Expression = jvm.new(f"{EXPRESSIONS}.Cast", read[-1], attribute.dataType(), jvm.some("UTC"), strict)
            if not value.resolved():  # a malformed value would become null in a non-nullable field
                return None
            same = (attribute.exprId(), attribute.qualifier(), jvm.some(attribute.metadata()))
            shown.append(new_alias(jvm, value, attribute.name(), *same))
        of_strings = with_parts(jvm, relation, scan=reads, output=jvm.seq(read))
        return jvm.new(f"{PLANS}.Project", jvm.seq(shown), of_strings)


def struct_as_strings(struct: StructJson) -> StructJson:
    """As `as_strings`, for a struct."""
    return struct_of({**f, "type": as_strings(f["type"])} for f in struct["fields"])


def as_strings(kind: TypeJson) -> TypeJson:
    """A type in Spark's JSON with strings instead of numbers, booleans and the keys of maps."""
    return with_atoms(kind, lambda name: "string" if name in _QUOTED else name, keys="string")


@dataclass(eq=False)
class FormatWrite(BatchWriteInterface):
    """A statement's write, and its builder: append, or overwrite of all rows, some partitions, or those of the rows.

    Attributes:
        table: the table.
        info: the write.
        staged: gets the directory of the files if the statement's commit publishes them, since the table is replaced.
    """

    implements = [
        *BatchWriteInterface.implements,
        f"{CONNECTOR}.write.SupportsOverwrite",
        f"{CONNECTOR}.write.SupportsDynamicOverwrite",
    ]
    table: FormatTable
    info: WriteInfo
    staged: list[str] | None = None
    _replaced: Overwrite | None = field(default=None, init=False)
    _write: JavaObject | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_table(self.session, self.table)
        self._struct = self.info.schema()
        self._staging = staging_folder(self.table)
        self._tasks = RunningTasks(self.jvm)

    def build(self) -> FormatWrite:
        return self

    def buildForBatch(self) -> Proxy:
        return self

    def buildForStreaming(self) -> Proxy:
        raise UnsupportedError(f"{self.table.name} is a format table, which does not support streaming writes.")

    def truncate(self) -> FormatWrite:
        self._replaced = Overwrite()
        return self

    def canOverwrite(self, filters: Sequence[ConnectorExpression]) -> bool:
        return True

    def overwrite(self, filters: Sequence[ConnectorExpression]) -> FormatWrite:
        self._replaced = Overwrite(partition_condition(self.table, filters))
        return self

    def overwriteDynamicPartitions(self) -> FormatWrite:
        # A table without partition columns is one partition, so an overwrite replaces all rows.
        self._replaced = Overwrite(dynamic=bool(self.table.partition_fields))
        return self

    def toString(self) -> str:
        return f"{self.table.format} {self.table.name}"

    def requiredDistribution(self) -> JavaObject:
        return self.jvm.cls(f"{CONNECTOR}.distributions.Distributions").unspecified()

    def distributionStrictlyRequired(self) -> bool:
        return False

    def requiredOrdering(self) -> Sequence[JavaObject]:
        # Spark's writer has one file open at a time, that of the current partition.
        expressions = f"{CONNECTOR}.expressions"
        ascending = self.jvm.enum(f"{expressions}.SortDirection", "ASCENDING")
        orders = [
            self.jvm.cls(f"{expressions}.Expressions").sort(reference_to(self.jvm, f.name), ascending)
            for f in self.table.partition_fields
        ]
        return self.jvm.array(f"{expressions}.SortOrder", orders)

    def createBatchWriterFactory(self, info: object) -> JavaObject:
        self._write = self._spark_write()
        factory: JavaObject = self._write.createBatchWriterFactory(info)
        self._tasks.begin()
        return factory

    def useCommitCoordinator(self) -> bool:
        return False  # Spark's own write calls the coordinator

    def commit(self, messages: object, *summary: object) -> None:
        assert self._write is not None
        self._tasks.end()
        self._write.commit(messages)
        if self.staged is None:
            publish(self.table, self._staging, self._replaced)
        else:
            self.staged.append(self._staging)

    def abort(self, messages: object) -> None:
        try:
            if self._write is not None:
                self._tasks.end()
                self._tasks.wait()  # a task that opens a file would create the directory again
                self._write.abort(messages)
        finally:
            discard(self.table, self._staging)

    def _spark_write(self) -> JavaObject:
        """Spark's own write into the hidden directory, with one subdirectory per partition."""
        jvm, table, kind = self.jvm, self.table, FORMATS[self.table.format]
        given = kind.write_options(table)
        settings = hadoop_settings(table.file_io.options, [store_of(table.location)])
        options = jvm.scala_map(jvm.java_map({**settings, **given}))
        state = self.session.state
        job = jvm.cls("org.apache.hadoop.mapreduce.Job").getInstance(state.newHadoopConfWithOptions(options))
        void = jvm.java_class("java.lang.Void")
        job.setOutputKeyClass(void)
        job.setOutputValueClass(jvm.java_class(f"{CATALYST}.InternalRow"))
        directory = hadoop_path(jvm, self._staging)
        jvm.cls("org.apache.hadoop.mapreduce.lib.output.FileOutputFormat").setOutputPath(job, directory)
        attributes: Seq[Attribute] = jvm.singleton(f"{CATALYST}.types.DataTypeUtils").toAttributes(self._struct)
        keys = list(table.schema.partition_keys)
        # Columns may be declared as NOT NULL from before `EmptyPartitionsAsNull` replaced empty strings by NULL.
        columns = [c.withNullability(True) if c.name() in keys else c for c in jvm.items(attributes)]
        by_name = {c.name(): c for c in columns}
        data_columns = [name for name in by_name if name not in keys]
        struct = struct_of(f for f in struct_json(self._struct)["fields"] if f["name"] in data_columns)
        writers = jvm.new(kind.file_format).prepareWrite(self.session.java, job, options, jvm.struct(struct))
        committer = jvm.static(_COMMITTERS, "instantiate")(
            state.conf().fileCommitProtocolClass(), str(uuid.uuid4()), directory.toString(), False
        )
        description = jvm.new(
            f"{DATASOURCES}.WriteJobDescription",
            str(uuid.uuid4()),
            jvm.new("org.apache.spark.util.SerializableConfiguration", job.getConfiguration()),
            writers,
            jvm.seq(columns),
            jvm.seq(by_name[name] for name in data_columns),
            jvm.seq(by_name[name] for name in keys),
            jvm.none,
            directory.toString(),
            jvm.empty_map(),
            int(given.get("maxRecordsPerFile", state.conf().maxRecordsPerFile())),
            state.conf().sessionLocalTimeZone(),
            jvm.nil,
        )
        committer.setupJob(job)
        return jvm.new(f"{DATASOURCES}.v2.FileBatchWrite", job, description, committer)


_MAX_WAIT = 10.0
"""Seconds to wait for tasks that do not end."""
_MAX_DELAY = 1.0
"""Seconds to wait until Spark reports the job at all."""
_POLL_INTERVAL = 0.05
_RUNNING = "RUNNING"


class RunningTasks:
    """The tasks of one write.

    Spark reports events in their order: when the end of a job is reported, so are all tasks that it started.

    Args:
        jvm: the JVM.
    """

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._tag = f"write {uuid.uuid4()}"

    def begin(self) -> None:
        """Tag the jobs that this thread starts from now on."""
        self._jvm.context.addJobTag(self._tag)

    def end(self) -> None:
        """Stop tagging, after the job."""
        self._jvm.context.removeJobTag(self._tag)

    def wait(self) -> None:
        """Wait until none of the tasks runs, at most some seconds."""
        began = time.monotonic()
        while (jobs := self._jobs()) is None or any(map(self._runs, jobs)):
            if time.monotonic() - began > (_MAX_DELAY if jobs is None else _MAX_WAIT):
                return
            time.sleep(_POLL_INTERVAL)

    def _jobs(self) -> list[int] | None:
        """The ids of the jobs; None until Spark has reported one."""
        return list(self._jvm.context._jsc.sc().statusTracker().getJobIdsForTag(self._tag)) or None

    def _runs(self, number: int) -> bool:
        tracker = self._jvm.context.statusTracker()
        job = tracker.getJobInfo(number)
        if job is None:
            return False
        stages = [tracker.getStageInfo(stage) for stage in job.stageIds]
        return job.status == _RUNNING or any(stage.numActiveTasks for stage in stages if stage)


class EmptyPartitionsAsNull(PlanRule):
    """Replaces empty strings by NULL in the partition columns of rows written to a format table.

    Both have the same directory (Spark: ``ExternalCatalogUtils.getPartitionPathString``). Spark's writer has one file
    open at a time, and would create it twice if rows of one value follow those of the other. Spark adds a projection to
    writes into its own tables (Spark: ``V1WriteCommand``, ``Empty2Null``), but not into tables of a catalog.
    """

    roots = frozenset(("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"))

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        write = python_object(self.jvm, plan.write().get()) if plan.write().isDefined() else None
        done = self.jvm.new(f"{CATALYST}.trees.TreeNodeTag", type(self).__name__)
        if not isinstance(write, FormatWrite) or plan.getTagValue(done).isDefined():
            return plan
        names = {f.name for f in write.table.partition_fields}
        query = plan.query()
        columns = [
            c for c in self.jvm.items(query.output()) if c.name() in names and c.dataType().typeName() == "string"
        ]
        if not columns:
            return plan
        plan = plan.withNewChildren(self.jvm.seq([self._without_empty(query, columns)]))
        plan.setTagValue(done, True)
        return plan

    def _without_empty(self, query: LogicalPlan, columns: list[Attribute]) -> LogicalPlan:
        """The query with NULL for empty strings, projected below its sort by partitions."""
        jvm, replacements = self.jvm, {c.exprId().id(): self._null_if_empty(c) for c in columns}

        def of(attribute: Expression) -> Expression:
            found = replacements.get(int(attribute.exprId().id()))
            return found.toAttribute() if found is not None else attribute

        def order(of_rows: Expression) -> Expression:
            return of_rows.withNewChildren(jvm.seq(map(of, jvm.items(of_rows.children()))))

        is_sorted = query.getClass().getSimpleName() == "Sort"
        rows = query.child() if is_sorted else query
        shown = jvm.seq(replacements.get(c.exprId().id(), c) for c in jvm.items(rows.output()))
        projected = jvm.new(f"{PLANS}.Project", shown, rows)
        if not is_sorted:
            return projected
        orders = jvm.seq(map(order, jvm.items(query.order())))
        return jvm.new(f"{PLANS}.Sort", orders, getattr(query, "global")(), projected, query.hint())

    def _null_if_empty(self, column: Attribute) -> Attribute:
        jvm = self.jvm
        literals, kind = jvm.singleton(f"{EXPRESSIONS}.Literal"), column.dataType()
        is_empty = jvm.new(f"{EXPRESSIONS}.EqualTo", column, literals.create("", kind))
        value = jvm.new(f"{EXPRESSIONS}.If", is_empty, literals.create(None, kind), column)
        return new_alias(jvm, value, column.name(), new_id(jvm), column.qualifier(), jvm.none)
