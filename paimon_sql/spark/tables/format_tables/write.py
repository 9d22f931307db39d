"""Writes to format tables: Spark's own writers fill a hidden directory, whose files the commit publishes."""

from __future__ import annotations

import json
import uuid
from typing import Any

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.connector.interfaces import WriteInterface
from paimon_sql.spark.conversion.references import reference_to
from paimon_sql.spark.expressions.connector_predicates import partition_condition
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, EXECUTION, JavaObject, Jvm
from paimon_sql.spark.jvm.hadoop_files import check_table, hadoop_path, hadoop_settings
from paimon_sql.spark.jvm.running_tasks import RunningTasks
from paimon_sql.spark.tables.format_tables.formats import FORMATS
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import Replaced, discard, publish, staging_folder

_SOURCES = f"{EXECUTION}.datasources"
_COMMITTERS = "org.apache.spark.internal.io.FileCommitProtocol"


class FormatWriteBuilder(JavaObject):
    """Builder of a statement's write: append, or overwrite of all rows, some partitions, or those of the rows."""

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any, info: Any) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._struct = info.schema()
        check_table(jvm, session, table)
        self._replaced: Replaced | None = None

    def build(self) -> FormatWrite:
        return FormatWrite(self.jvm, self.table, self.session, self._struct, self._replaced)

    def buildForBatch(self) -> Any:
        return self.build()

    def buildForStreaming(self) -> Any:
        raise UnsupportedError(f"{self.table.name} is a format table, into which no stream is written.")

    def truncate(self) -> FormatWriteBuilder:
        self._replaced = Replaced()
        return self

    def canOverwrite(self, filters: Any) -> bool:
        return True

    def overwrite(self, filters: Any) -> FormatWriteBuilder:
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

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any, struct: Any, replaced: Replaced | None) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._struct = struct
        self._replaced = replaced
        self._staging = staging_folder(table)
        self._write: Any = None
        self._tasks = RunningTasks(jvm)

    def toString(self) -> str:
        return f"{self.table.format} {self.table.name}"

    def toBatch(self) -> Any:
        return self

    def requiredDistribution(self) -> Any:
        return self.jvm.cls(f"{CONNECTOR}.distributions.Distributions").unspecified()

    def distributionStrictlyRequired(self) -> bool:
        return False

    def requiredNumPartitions(self) -> int:
        return 0

    def advisoryPartitionSizeInBytes(self) -> int:
        return 0

    def requiredOrdering(self) -> Any:
        # Spark's writer has one file open at a time, that of the current partition.
        expressions = f"{CONNECTOR}.expressions"
        ascending = self.jvm.enum(f"{expressions}.SortDirection", "ASCENDING")
        orders = [
            self.jvm.cls(f"{expressions}.Expressions").sort(reference_to(self.jvm, f.name), ascending)
            for f in self.table.partition_fields
        ]
        return self.jvm.array(f"{expressions}.SortOrder", orders)

    def createBatchWriterFactory(self, info: Any) -> Any:
        self._write = self._spark_write()
        factory = self._write.createBatchWriterFactory(info)
        self._tasks.begin()
        return factory

    def useCommitCoordinator(self) -> bool:
        return False  # Spark's own write calls the coordinator

    def onDataWriterCommit(self, message: Any) -> None:
        pass

    def commit(self, messages: Any, *summary: Any) -> None:
        self._tasks.end()
        self._write.commit(messages)
        self._publish()

    def abort(self, messages: Any) -> None:
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

    def _spark_write(self) -> Any:
        """Spark's own write into the hidden directory, with one subdirectory per partition."""
        jvm, table, kind = self.jvm, self.table, FORMATS[self.table.format]
        given = kind.write_options(table)
        settings = hadoop_settings(table.file_io.options, [store_of(table.location)])
        options = jvm.scala_map(jvm.java_map({**settings, **given}))
        state = self.session.sessionState()
        job = jvm.cls("org.apache.hadoop.mapreduce.Job").getInstance(state.newHadoopConfWithOptions(options))
        void = jvm.java_class("java.lang.Void")
        job.setOutputKeyClass(void)
        job.setOutputValueClass(jvm.java_class(f"{CATALYST}.InternalRow"))
        directory = hadoop_path(jvm, self._staging)
        jvm.cls("org.apache.hadoop.mapreduce.lib.output.FileOutputFormat").setOutputPath(job, directory)
        columns = jvm.items(jvm.singleton(f"{CATALYST}.types.DataTypeUtils").toAttributes(self._struct))
        keys = list(table.schema.partition_keys)
        # Columns may be declared as NOT NULL from before `EmptyPartitionsAsNull` replaced empty strings by NULL.
        columns = [c.withNullability(True) if str(c.name()) in keys else c for c in columns]
        by_name = {str(c.name()): c for c in columns}
        data_columns = [name for name in by_name if name not in keys]
        fields = [f for f in json.loads(self._struct.json())["fields"] if f["name"] in data_columns]
        struct = {"type": "struct", "fields": fields}
        writers = jvm.new(kind.file_format).prepareWrite(self.session, job, options, jvm.struct(json.dumps(struct)))
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
            jvm.seq([]),
        )
        committer.setupJob(job)
        return jvm.new(f"{_SOURCES}.v2.FileBatchWrite", job, description, committer)

    class Java:
        implements = [f"{CONNECTOR}.write.RequiresDistributionAndOrdering", f"{CONNECTOR}.write.BatchWrite"]
