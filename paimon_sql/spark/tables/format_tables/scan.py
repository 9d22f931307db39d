"""Reads of format tables: selected partitions, whose files Spark's own source reads, with quoted values in JSON.

Spark's reader accepts a quoted number only as a string. So such columns are read as strings, which accepts unquoted
numbers as well, and cast above the scan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.interfaces import CATALYST_FILTERS
from paimon_sql.spark.conversion.rows import internal_rows
from paimon_sql.spark.conversion.types import StructJson, TypeJson, spark_struct, struct_json, struct_of, type_json
from paimon_sql.spark.expressions.predicates import expression_text, translate_all
from paimon_sql.spark.java.catalyst import Attribute, Expression, InternalRow, LogicalPlan, StructType
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, EXECUTION
from paimon_sql.spark.jvm.hadoop_files import check_table, file_index, hadoop_path, hadoop_settings
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.jvm.session import SessionProxy
from paimon_sql.spark.rules.optimizer import PlanRule, new_alias, scans_of, with_leaves
from paimon_sql.spark.tables.format_tables.formats import FORMATS
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.format_tables import FormatTable, Partition, chosen_partitions
from paimon_sql.storage.format_tables.partitions import folders_of, partition_columns

_SOURCES = f"{EXECUTION}.datasources"


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
            jvm.new("org.apache.spark.sql.util.CaseInsensitiveStringMap", options),
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
            specs = [jvm.new(f"{_SOURCES}.PartitionPath", rows[i], path) for i, path in enumerate(paths)]
        spec = jvm.new(f"{_SOURCES}.PartitionSpec", keys, jvm.seq(specs))
        return file_index(self.session, jvm.seq(paths), jvm.scala_map(options), spec)

    def _rows(self, partitions: list[Partition]) -> Sequence[InternalRow]:
        """The values of partitions."""
        fields = self.table.partition_fields
        columns = partition_columns(self.table, partitions)
        table = pa.table([columns[f.name] for f in fields], names=[f.name for f in fields])
        return internal_rows(self.session, table, fields)

    def _struct(self, fields: tuple[DataField, ...]) -> StructType:
        """Columns as Spark reads them from files: nullable, and strings without length."""
        # Other programs write files as well, so the constraints of the table may not hold in them.
        struct = spark_struct(replace(f, type=f.type.as_nullable()) for f in fields)
        types = self.jvm.singleton("org.apache.spark.sql.catalyst.util.CharVarcharUtils")
        return types.replaceCharVarcharWithStringInSchema(self.jvm.struct(struct))


_EXPRESSIONS = f"{CATALYST}.expressions"
_SCAN = f"{EXECUTION}.datasources.v2.json.JsonScan"
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
        evaluation = jvm.singleton(f"{_EXPRESSIONS}.EvalMode")
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
            value: Expression = jvm.new(f"{_EXPRESSIONS}.Cast", read[-1], attribute.dataType(), jvm.some("UTC"), strict)
            if not value.resolved():  # a malformed value would become null in a non-nullable field
                return None
            same = (attribute.exprId(), attribute.qualifier(), jvm.some(attribute.metadata()))
            shown.append(new_alias(jvm, value, attribute.name(), *same))
        parts = jvm.items(relation.productIterator().toSeq())
        parts[1:3] = [reads, jvm.seq(read)]
        return jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(shown), relation.makeCopy(jvm.objects(parts)))


def struct_as_strings(struct: StructJson) -> StructJson:
    """As `as_strings`, for a struct."""
    return struct_of({**f, "type": as_strings(f["type"])} for f in struct["fields"])


def as_strings(kind: TypeJson) -> TypeJson:
    """A type in Spark's JSON with strings instead of numbers, booleans and the keys of maps."""
    if isinstance(kind, str):
        return "string" if kind in _QUOTED else kind
    if kind["type"] == "struct":
        return struct_as_strings(kind)
    if kind["type"] == "array":
        return {**kind, "elementType": as_strings(kind["elementType"])}
    if kind["type"] == "map":
        return {**kind, "keyType": "string", "valueType": as_strings(kind["valueType"])}
    return kind
