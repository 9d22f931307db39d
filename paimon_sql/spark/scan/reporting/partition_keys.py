"""Partition keys: partitions of a scan by bucket, and by partition values, reported to Spark for joins without shuffle.

Small classes are compiled for the driver (decision 9): partitions that report their key, and the bucket function by
which Spark compares scans. Executors get Spark's own classes instead, and never evaluate the function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.spark.conversion.rows import internal_rows
from paimon_sql.spark.conversion.types import TypeJson, spark_type, without_lengths
from paimon_sql.spark.java.catalyst import Attribute, Expression, InternalRow
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.compat import transform_expression
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, DATA_TYPE, DATASOURCES, EXPRESSIONS, Jvm
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.scan.key_order import in_key_order
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing

_ROW = f"{CATALYST}.InternalRow"
_HAS_KEY = f"{CONNECTOR}.read.HasPartitionKey"
_FUNCTIONS = f"{CONNECTOR}.catalog.functions"
_FUNCTION = "paimon.BucketFunction"
_BUCKET = DataField(0, "bucket", IntType(False))

Key = tuple[bytes, int]
"""A serialized partition, empty if only buckets count, and a bucket."""


@dataclass(frozen=True)
class _Keyed:
    """A subclass of a Spark partition with a key; `parameters` are types and names of the parent's constructor."""

    name: str
    parent: str
    parameters: tuple[tuple[str, str], ...]

    def make(self, jvm: Jvm, key: InternalRow, *arguments: object) -> JavaObject:
        """A partition with a key; ``arguments`` are those of the parent's constructor."""
        jvm.compiled_class(self.name, self._members, beside=self.parent, parent=self.parent, interfaces=[_HAS_KEY])
        return jvm.new(self.name, *arguments, key)

    @cached_property
    def _members(self) -> Sequence[str]:
        simple = self.name.rpartition(".")[2]
        parameters = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        names = [name for _, name in self.parameters]
        return (
            f"private transient {_ROW} key;",
            f"public {simple}({parameters}, {_ROW} key) {{ super({', '.join(names)}); this.key = key; }}",
            f"public {_ROW} partitionKey() {{ return this.key; }}",
            f"public Object writeReplace() {{ return new {self.parent}({', '.join(f'{n}()' for n in names)}); }}",
        )


_FILES = f"{DATASOURCES}.PartitionedFile[]"
FILES = _Keyed("paimon.KeyedFilePartition", f"{DATASOURCES}.FilePartition", (("int", "index"), (_FILES, "files")))
"""Partitions of files for Spark's own reader."""
TASKS = _Keyed(
    "paimon.KeyedPythonPartition",
    f"{DATASOURCES}.v2.python.PythonInputPartition",
    (("int", "index"), ("byte[]", "pickedPartition")),
)
"""Partitions of tasks for Python workers."""


@dataclass(frozen=True)
class PartitionKeys:
    """The keys of a scan's partitions.

    Attributes:
        session: the session.
        bucketing: the buckets of the rows.
        partitioned: whether a key includes the values of all partition columns.
        in_order: whether there is one partition per key, with rows in the order of the primary key.
    """

    session: JvmSession = field(compare=False)
    bucketing: Bucketing
    partitioned: bool
    in_order: bool = False

    def of(self, split: Split) -> Key:
        """The key of a split."""
        return split.partition if self.partitioned else b"", split.bucket

    def arranged(self, plan: ScanPlan) -> ScanPlan:
        """A plan of the scan with one split per partition if rows must be in order; otherwise the plan itself."""
        arranged = in_key_order(plan, self.of) if self.in_order else plan
        assert arranged is not None, "files that are left of one sorted run are one, too"
        return arranged

    def columns(self, plan: ScanPlan) -> list[str]:
        """The columns of the key, in the order of `expressions`."""
        return [*(plan.table.schema.partition_keys if self.partitioned else ()), self.bucketing.column]

    def describe(self, plan: ScanPlan) -> str:
        """A description of the key for EXPLAIN."""
        *partition_keys, column = self.columns(plan)
        in_order = ", sorted by key" if self.in_order else ""
        return ", ".join([*partition_keys, f"bucket({self.bucketing.count}, {column})"]) + in_order

    def expressions(self, plan: ScanPlan, attributes: Mapping[str, Attribute]) -> Seq[Expression]:
        """The key as Catalyst's expressions over attributes by name."""
        jvm = self.session.jvm
        *partition_keys, column = self.columns(plan)
        kind = without_lengths(spark_type(plan.table.schema.field(column).type))
        function = _bucket_function(jvm, self.bucketing, kind)
        bucket = transform_expression(jvm, function, attributes[column])
        return jvm.seq([*(attributes[name] for name in partition_keys), bucket])

    def rows(self, plan: ScanPlan) -> dict[Key, InternalRow]:
        """The row of each key of a plan."""
        jvm = self.session.jvm
        keys = list(dict.fromkeys(map(self.of, plan.splits)))
        if not self.partitioned:
            # Integers need no conversion.
            row = f"{EXPRESSIONS}.GenericInternalRow"
            return {k: jvm.new(row, jvm.objects([k[1]])) for k in keys}
        values = partition_values(plan.table, pa.array([partition for partition, _ in keys], pa.binary()))
        buckets = pa.array([bucket for _, bucket in keys], pa.int32())
        table = pa.table([*values.values(), buckets], names=[*values, _BUCKET.name])
        rows = internal_rows(self.session.jvm, table, [*plan.table.schema.partition_fields, _BUCKET])
        return {key: rows[i] for i, key in enumerate(keys)}


_MEMBERS = (
    "private String family;",
    "private int count;",
    f"private {DATA_TYPE} input;",
    f"public {_FUNCTION.rpartition('.')[2]}(String family, int count, {DATA_TYPE} input)"
    " { super(); this.family = family; this.count = count; this.input = input; }",
    'public String name() { return "bucket"; }',
    'public String canonicalName() { return this.family + " of " + this.count; }',
    "public String toString() { return canonicalName(); }",
    f"public {DATA_TYPE}[] inputTypes() {{ return new {DATA_TYPE}[] {{ this.input }}; }}",
    f"public {DATA_TYPE} resultType() {{ return org.apache.spark.sql.types.DataTypes.IntegerType; }}",
    "public boolean isResultNullable() { return false; }",
    # A bucket is a remainder, so for any function that of 4 buckets follows from that of 8.
    "public Object reduce(Object bucket) { return Integer.valueOf(((Integer) bucket).intValue() % this.count); }",
    f"""
        public {_FUNCTIONS}.Reducer reducer({_FUNCTIONS}.ReducibleFunction other) {{
            if (!(other instanceof {_FUNCTION})) return null;
            {_FUNCTION} that = ({_FUNCTION}) other;
            if (!this.family.equals(that.family)) return null;
            int common = this.count;
            int rest = that.count;
            while (rest != 0) {{ int next = common % rest; common = rest; rest = next; }}
            if (common == this.count || common == 1) return null;
            return new {_FUNCTION}(this.family, common, this.input);
        }}""",
    # Executors do not have the class and do not need it.
    "public Object writeReplace() { return null; }",
)


def _bucket_function(jvm: Jvm, bucketing: Bucketing, kind: TypeJson) -> JavaObject:
    """The function by which Spark compares the partitioning of scans; those with equal names are equal."""
    interfaces = [f"{_FUNCTIONS}.{name}" for name in ("BoundFunction", "ReducibleFunction", "Reducer")]
    jvm.compiled_class(_FUNCTION, _MEMBERS, beside=interfaces[0], interfaces=interfaces)
    family = f"paimon.bucket.{bucketing.function}({bucketing.form})"
    return jvm.new(_FUNCTION, family, bucketing.count, jvm.struct(kind))
