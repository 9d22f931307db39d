"""Writes to format tables: Spark's own writers fill a hidden directory, whose files the commit publishes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.connector.interfaces import WriteInterface
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.conversion.types import struct_json, struct_of
from paimon_sql.spark.execution.running_tasks import RunningTasks
from paimon_sql.spark.expressions.connector_predicates import partition_condition
from paimon_sql.spark.java.catalyst import Attribute
from paimon_sql.spark.java.connector import ConnectorExpression, WriteInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.scala import Seq
from paimon_sql.spark.java.types import StructType
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, EXECUTION
from paimon_sql.spark.jvm.hadoop_files import check_table, hadoop_path, hadoop_settings
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.tables.format_tables.formats import FORMATS
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import Replaced, discard, publish, staging_folder

_SOURCES = f"{EXECUTION}.datasources"
_COMMITTERS = "org.apache.spark.internal.io.FileCommitProtocol"


class FormatWriteBuilder(Proxy):
    """Builder of a statement's write: append, or overwrite of all rows, some partitions, or those of the rows."""

    def __init__(self, session: JvmSession, table: FormatTable, info: WriteInfo) -> None:
        super().__init__(session.jvm)
        self.table = table
        self.session = session
        self._struct = info.schema()
        check_table(session, table)
        self._replaced: Replaced | None = None

    def build(self) -> FormatWrite:
        return FormatWrite(self.session, self.table, self._struct, self._replaced)

    def buildForBatch(self) -> Proxy:
        return self.build()

    def buildForStreaming(self) -> Proxy:
        raise UnsupportedError(f"{self.table.name} is a format table, which does not support streaming writes.")

    def truncate(self) -> FormatWriteBuilder:
        self._replaced = Replaced()
        return self

    def canOverwrite(self, filters: Sequence[ConnectorExpression]) -> bool:
        return True

    def overwrite(self, filters: Sequence[ConnectorExpression]) -> FormatWriteBuilder:
        self._replaced = Replaced(partition_condition(self.table, filters))
        return self

    def overwriteDynamicPartitions(self) -> FormatWriteBuilder:
        # A table without partition columns is one partition, so an overwrite replaces all rows.
        self._replaced = Replaced(dynamic=bool(self.table.partition_fields))
        return self

    class Java:
        implements = [f"{CONNECTOR}.write.SupportsOverwrite", f"{CONNECTOR}.write.SupportsDynamicOverwrite"]


class FormatWrite(WriteInterface):
    """One write."""

    def __init__(self, session: JvmSession, table: FormatTable, struct: StructType, replaced: Replaced | None) -> None:
        super().__init__(session.jvm)
        self.table = table
        self.session = session
        self._struct = struct
        self._replaced = replaced
        self._staging = staging_folder(table)
        self._write: JavaObject | None = None
        self._tasks = RunningTasks(session.jvm)

    def toString(self) -> str:
        return f"{self.table.format} {self.table.name}"

    def toBatch(self) -> Proxy:
        return self

    def requiredDistribution(self) -> JavaObject:
        return self.jvm.cls(f"{CONNECTOR}.distributions.Distributions").unspecified()

    def distributionStrictlyRequired(self) -> bool:
        return False

    def requiredNumPartitions(self) -> int:
        return 0

    def advisoryPartitionSizeInBytes(self) -> int:
        return 0

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

    def onDataWriterCommit(self, message: object) -> None:
        pass

    def commit(self, messages: object, *summary: object) -> None:
        assert self._write is not None
        self._tasks.end()
        self._write.commit(messages)
        self._publish()

    def abort(self, messages: object) -> None:
        try:
            if self._write is not None:
                self._tasks.end()
                self._tasks.wait()  # a task that opens a file would create the directory again
                self._write.abort(messages)
        finally:
            discard(self.table, self._staging)

    def _publish(self) -> None:
        """Make the files visible to readers."""
        publish(self.table, self._staging, self._replaced)

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
        writers = jvm.new(kind.file_format).prepareWrite(
            self.session.java, job, options, jvm.struct(json.dumps(struct))
        )
        committer = jvm.static(_COMMITTERS, "instantiate")(
            state.conf().fileCommitProtocolClass(), str(uuid.uuid4()), directory.toString(), False
        )
        description = jvm.new(
            f"{_SOURCES}.WriteJobDescription",
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
        return jvm.new(f"{_SOURCES}.v2.FileBatchWrite", job, description, committer)

    class Java:
        implements = [f"{CONNECTOR}.write.RequiresDistributionAndOrdering", f"{CONNECTOR}.write.BatchWrite"]
