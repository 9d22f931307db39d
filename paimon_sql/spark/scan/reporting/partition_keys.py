"""Spark's partitions of a scan whose rows have something in common: a bucket, perhaps values of partition columns.

Small classes are compiled for the driver (decision 9): partitions that tell their key, and the bucket function by which
Spark compares scans. Executors get Spark's own classes in their place, and never evaluate the function.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.spark.conversion.internal_rows import internal_rows
from paimon_sql.spark.conversion.types import spark_type, type_inside
from paimon_sql.spark.jvm.compat import transform_expression
from paimon_sql.spark.jvm.compiled_class import compiled_class
from paimon_sql.spark.jvm.gateway import CATALYST, CONNECTOR, EXECUTION, Jvm
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.scan.key_order import in_key_order
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing

_ROW = f"{CATALYST}.InternalRow"
_HAS_KEY = f"{CONNECTOR}.read.HasPartitionKey"
_TYPE = "org.apache.spark.sql.types.DataType"
_FUNCTIONS = f"{CONNECTOR}.catalog.functions"
_FUNCTION = "paimon.BucketFunction"
_BUCKET = DataField(0, "bucket", IntType(False))

Key = tuple[bytes, int]
"""A serialised partition, empty where it does not matter, and a bucket."""


@dataclass(frozen=True)
class _Keyed:
    """A class of Spark's partitions that gets a key: its constructor's parameters, and the members they are."""

    name: str
    parent: str
    parameters: tuple[tuple[str, str], ...]

    def make(self, jvm: Jvm, key: Any, *arguments: Any) -> Any:
        """A partition with a key; ``arguments`` are what the parent's constructor takes."""
        jvm.constant(f"compiled {self.name}", lambda: self._compiled(jvm))
        return jvm.new(self.name, *arguments, key)

    def _compiled(self, jvm: Jvm) -> Any:
        simple = self.name.rpartition(".")[2]
        given = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        names = [name for _, name in self.parameters]
        members = (
            f"private transient {_ROW} key;",
            f"public {simple}({given}, {_ROW} key) {{ super({', '.join(names)}); this.key = key; }}",
            f"public {_ROW} partitionKey() {{ return this.key; }}",
            f"public Object writeReplace() {{ return new {self.parent}({', '.join(f'{n}()' for n in names)}); }}",
        )
        return compiled_class(jvm, self.name, members, beside=self.parent, parent=self.parent, interfaces=[_HAS_KEY])


_FILES = f"{EXECUTION}.datasources.PartitionedFile[]"
FILES = _Keyed(
    "paimon.KeyedFilePartition", f"{EXECUTION}.datasources.FilePartition", (("int", "index"), (_FILES, "files"))
)
"""Files for Spark's own reader."""
TASKS = _Keyed(
    "paimon.KeyedPythonPartition",
    f"{EXECUTION}.datasources.v2.python.PythonInputPartition",
    (("int", "index"), ("byte[]", "pickedPartition")),
)
"""Tasks for Python workers."""


class PartitionKeys:
    """How the partitions of a scan are told apart.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        bucketing: in which bucket each row is.
        partitioned: whether the values of all partition columns count as well.
        in_order: whether there is one partition of each key, whose rows are in the order of the primary key.
    """

    def __init__(
        self, jvm: Jvm, session: Any, bucketing: Bucketing, partitioned: bool, *, in_order: bool = False
    ) -> None:
        self._jvm = jvm
        self._session = session
        self._bucketing = bucketing
        self._partitioned = partitioned
        self.in_order = in_order

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionKeys) and self._reported == other._reported

    def __hash__(self) -> int:
        return hash(self._reported)

    @property
    def _reported(self) -> tuple[Bucketing, bool, bool]:
        return self._bucketing, self._partitioned, self.in_order

    def of(self, split: Split) -> Key:
        """What the rows of a split have in common."""
        return split.partition if self._partitioned else b"", split.bucket

    def arranged(self, plan: ScanPlan) -> ScanPlan:
        """A plan of the scan whose splits are as the partitions are to be."""
        made = in_key_order(plan, self.of) if self.in_order else plan
        assert made is not None, "files that are left of one sorted run are one, too"
        return made

    def reported_in_order(self) -> PartitionKeys:
        """The same keys for partitions whose rows are in order."""
        return PartitionKeys(self._jvm, self._session, self._bucketing, self._partitioned, in_order=True)

    def columns(self, plan: ScanPlan) -> list[str]:
        """The columns of which the key is made, as the expressions are."""
        return [*(plan.table.schema.partition_keys if self._partitioned else ()), self._bucketing.column]

    def describe(self, plan: ScanPlan) -> str:
        """The key in words, for EXPLAIN."""
        *whole, column = self.columns(plan)
        in_order = ", in the order of their keys" if self.in_order else ""
        return ", ".join([*whole, f"bucket({self._bucketing.count}, {column})"]) + in_order

    def expressions(self, plan: ScanPlan, attributes: Mapping[str, Any]) -> Any:
        """The key as a Catalyst ``Seq`` over the attributes by their names."""
        *whole, column = self.columns(plan)
        kind = type_inside(spark_type(plan.table.schema.field(column).type))
        function = _bucket_function(self._jvm, self._bucketing, kind)
        made = transform_expression(self._jvm, function, attributes[column])
        return self._jvm.seq([*(attributes[name] for name in whole), made])

    def rows(self, plan: ScanPlan) -> dict[Key, Any]:
        """The ``InternalRow`` of each key of a plan."""
        keys = list(dict.fromkeys(map(self.of, plan.splits)))
        if not self._partitioned:
            # Numbers need no conversion.
            row = f"{CATALYST}.expressions.GenericInternalRow"
            return {k: self._jvm.new(row, self._jvm.array("java.lang.Object", [k[1]])) for k in keys}
        values = partition_values(plan.table, pa.array([partition for partition, _ in keys], pa.binary()))
        buckets = pa.array([bucket for _, bucket in keys], pa.int32())
        table = pa.table([*values.values(), buckets], names=[*values, _BUCKET.name])
        made = internal_rows(self._jvm, self._session, table, [*plan.table.schema.partition_fields, _BUCKET])
        return {key: made[i] for i, key in enumerate(keys)}


def _bucket_function(jvm: Jvm, bucketing: Bucketing, kind: Any) -> Any:
    """The function by which Spark compares scans: alike are those of one name."""
    jvm.constant(f"compiled {_FUNCTION}", lambda: _compiled(jvm))
    family = f"paimon.bucket.{bucketing.function}({bucketing.form})"
    data_type = jvm.static(_TYPE, "fromJson")(json.dumps(kind))
    return jvm.new(_FUNCTION, family, bucketing.count, data_type)


def _compiled(jvm: Jvm) -> Any:
    number, function = "org.apache.spark.sql.types.DataTypes.IntegerType", _FUNCTION.rpartition(".")[2]
    bound, reducible, reducer = (f"{_FUNCTIONS}.{name}" for name in ("BoundFunction", "ReducibleFunction", "Reducer"))
    members = (
        "private String family;",
        "private int count;",
        f"private {_TYPE} input;",
        f"public {function}(String family, int count, {_TYPE} input)"
        " { super(); this.family = family; this.count = count; this.input = input; }",
        'public String name() { return "bucket"; }',
        'public String canonicalName() { return this.family + " of " + this.count; }',
        "public String toString() { return canonicalName(); }",
        f"public {_TYPE}[] inputTypes() {{ return new {_TYPE}[] {{ this.input }}; }}",
        f"public {_TYPE} resultType() {{ return {number}; }}",
        "public boolean isResultNullable() { return false; }",
        # The bucket out of 4 follows from that out of 8, whatever the function: it is a remainder.
        "public Object reduce(Object bucket) { return Integer.valueOf(((Integer) bucket).intValue() % this.count); }",
        f"""
            public {reducer} reducer({reducible} other) {{
                if (!(other instanceof {_FUNCTION})) return null;
                {_FUNCTION} that = ({_FUNCTION}) other;
                if (!this.family.equals(that.family)) return null;
                int common = this.count;
                int rest = that.count;
                while (rest != 0) {{ int next = common % rest; common = rest; rest = next; }}
                if (common == this.count || common == 1) return null;
                return new {_FUNCTION}(this.family, common, this.input);
            }}""",
        # Executors do not know the class, and need not.
        "public Object writeReplace() { return null; }",
    )
    return compiled_class(jvm, _FUNCTION, members, beside=bound, interfaces=[bound, reducible, reducer])
