"""Storage-partitioned joins, aggregations and windows: scans report their partitioning, so that Spark does not shuffle.

A scan that reports its partitioning can no longer pack files of several buckets into one task. So a rule examines the
whole plan, and a scan reports only where an operator could avoid a shuffle: a join if both sides have compatible
buckets, an aggregation or window if the bucket key is among its keys. Spark checks the reported partitioning against
what the operator requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from paimon_sql.spark.conversion.references import ascending
from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.objects import JavaMethod, JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, EXPRESSIONS, PLANS, Jvm
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.rules.compiled_rule import LOGICAL_PLAN
from paimon_sql.spark.rules.optimizer import PlanRule, scans_of, with_leaves, with_parts
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy, scans_in_buckets
from paimon_sql.spark.scan.reporting.partition_keys import PartitionKeys
from paimon_sql.storage.scan.key_order import in_key_order, ordered_columns
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing, form_of

_SETTINGS = "spark.sql.sources.v2.bucketing."
_PARTIALLY_CLUSTERED = f"{_SETTINGS}partiallyClusteredDistribution.enabled"
_STRICT_JOINS = ("spark.sql.requireAllClusterKeysForCoPartition", "true")
_STRICT_GROUPS = ("spark.sql.requireAllClusterKeysForDistribution", "false")
_PATTERNS = ("JOIN", "AGGREGATE", "WINDOW")
_ATTRIBUTE = f"{EXPRESSIONS}.AttributeReference"
_OPERATORS = "paimon.Operators"
_IDS = f"""
    public static String ids(scala.collection.Iterable expressions) {{
        StringBuilder text = new StringBuilder();
        scala.collection.Iterator each = expressions.iterator();
        while (each.hasNext()) {{
            Object e = each.next();
            text.append(e instanceof {_ATTRIBUTE} ? (({_ATTRIBUTE}) e).exprId().id() : -1L).append(",");
        }}
        return text.toString();
    }}"""
_RENAMED = f"""
    private static void renamed(scala.collection.Iterable expressions, StringBuilder lines) {{
        scala.collection.Iterator each = expressions.iterator();
        while (each.hasNext()) {{
            Object e = each.next();
            if (!(e instanceof {EXPRESSIONS}.Alias)) continue;
            {EXPRESSIONS}.Alias alias = ({EXPRESSIONS}.Alias) e;
            if (!(alias.child() instanceof {_ATTRIBUTE})) continue;
            lines.append("renamed;").append(alias.exprId().id()).append(";");
            lines.append((({_ATTRIBUTE}) alias.child()).exprId().id()).append("\\n");
        }}
    }}"""
_COLLECT = f"""
    private static void collect({LOGICAL_PLAN} plan, StringBuilder lines, java.util.List joins) {{
        scala.collection.Iterator children = plan.children().iterator();
        while (children.hasNext()) collect(({LOGICAL_PLAN}) children.next(), lines, joins);
        if (plan instanceof {PLANS}.Project) {{
            renamed((({PLANS}.Project) plan).projectList(), lines);
        }} else if (plan instanceof {PLANS}.Join) {{
            scala.Option keys = {CATALYST}.planning.ExtractEquiJoinKeys.unapply(({PLANS}.Join) plan);
            if (keys.isEmpty()) return;
            scala.Product found = (scala.Product) keys.get();
            lines.append("join;").append(joins.size()).append(";");
            lines.append(ids((scala.collection.Iterable) found.productElement(1))).append(";");
            lines.append(ids((scala.collection.Iterable) found.productElement(2))).append("\\n");
            joins.add(plan);
        }} else if (plan instanceof {PLANS}.Aggregate) {{
            {PLANS}.Aggregate aggregate = ({PLANS}.Aggregate) plan;
            lines.append("together;").append(ids(aggregate.groupingExpressions())).append("\\n");
            renamed(aggregate.aggregateExpressions(), lines);
        }} else if (plan instanceof {PLANS}.Window) {{
            lines.append("together;").append(ids((({PLANS}.Window) plan).partitionSpec())).append("\\n");
        }}
    }}"""
_DESCRIBE = f"""
    public static String describe({LOGICAL_PLAN} plan, java.util.List joins) {{
        StringBuilder lines = new StringBuilder();
        collect(plan, lines, joins);
        return lines.toString();
    }}"""
_TASKS_FOR_A_SHUFFLE = 16
"""Additional small tasks per running task that together take no longer than a shuffle."""


@dataclass(eq=False)
class _Side:
    """A bucketed scan of a plan.

    Attributes:
        leaf: the position of its leaf in the plan.
        relation: the leaf.
        scan: the scan.
        bucketing: the buckets of its rows.
        ids: Spark's ids of the scan's columns, by name.
    """

    leaf: int
    relation: LogicalPlan
    scan: PlannedScanProxy
    bucketing: Bucketing
    ids: dict[str, int]

    @property
    def key(self) -> int:
        """The id of the bucket key."""
        return self.ids[self.bucketing.column]

    @cached_property
    def partitions(self) -> tuple[int, ...]:
        """The ids of the partition columns; empty if one is not read, or Spark's equality differs from Paimon's."""
        fields = self.scan.plan.table.schema.partition_fields
        comparable = all(f.name in self.ids and form_of(f.type) is not None for f in fields)
        return tuple(self.ids[f.name] for f in fields) if comparable else ()


@dataclass
class _Group:
    """Scans that are joined with each other and so must have the same kind of keys.

    Attributes:
        sides: the scans.
        kinds: the kinds of keys that avoid a shuffle: True with partition columns, False by buckets only.
    """

    sides: list[_Side]
    kinds: frozenset[bool] = frozenset((True, False))


class StoragePartitioning(PlanRule):
    """Makes scans of tables with fixed buckets report their partitioning where that may avoid a shuffle."""

    reads_scans = True

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        if not scans_in_buckets() or not self._may_shuffle(plan):
            return plan
        sides = self._sides(plan)
        if not sides or not self._is_enabled():
            return plan
        groups = _Requirements(self.jvm, sides).of(plan)
        leaves = {side.leaf: self._reported(side, keys) for group in groups for side, keys in self._keyed(group)}
        return with_leaves(self.jvm, plan, leaves) if leaves else plan

    def _may_shuffle(self, plan: LogicalPlan) -> bool:
        """Whether the plan has an operator that requires a distribution of its rows."""
        return any(plan.containsPattern(self._pattern(name)) for name in _PATTERNS)

    def _pattern(self, name: str) -> JavaObject:
        patterns = f"{CATALYST}.trees.TreePattern"
        found: JavaObject = self.jvm.constant(
            f"{patterns}.{name}", lambda: getattr(self.jvm.singleton(patterns), name)()
        )
        return found

    def _is_enabled(self) -> bool:
        """Whether Spark uses reported partitioning, but not for shuffles: executors have no bucket function."""
        scans, shuffles = f"{_SETTINGS}enabled", f"{_SETTINGS}shuffle.enabled"
        return _is_on(self.jvm, scans, "true") and not _is_on(self.jvm, shuffles, "false")

    def _sides(self, plan: LogicalPlan) -> list[_Side]:
        found = []
        for number, leaf in scans_of(self.jvm, plan):
            scan = python_object(self.jvm, leaf.scan())
            bucketing = scan.traits.bucketing if isinstance(scan, PlannedScanProxy) else None
            if not isinstance(scan, PlannedScanProxy) or bucketing is None:
                continue
            if scan.keys is not None or leaf.keyGroupedPartitioning().isDefined():
                continue  # the rule has already run on the plan
            ids = _numbers(str(_operators(self.jvm, "ids")(leaf.output())))
            names = (f.name for f in scan.columns)  # metadata columns may follow in the output
            found.append(_Side(number, leaf, scan, bucketing, dict(zip(names, ids, strict=False))))
        return found

    def _keyed(self, group: _Group) -> Iterable[tuple[_Side, PartitionKeys]]:
        """The best keys of a group's scans; empty if a shuffle is better."""
        for partitioned in sorted(group.kinds, reverse=True):
            keys = [PartitionKeys(self.session, s.bucketing, partitioned) for s in group.sides]
            if all(self._is_worth(s.scan, k) for s, k in zip(group.sides, keys, strict=True)):
                return list(zip(group.sides, keys, strict=True))
        return ()

    def _is_worth(self, scan: PlannedScanProxy, keys: PartitionKeys) -> bool:
        """Whether there are enough keys for parallel reading, and not so many that starting tasks takes long."""
        parallelism = self.jvm.parallelism
        count = len({keys.of(split) for split in scan.plan.splits})
        maximum = scan.partition_count + _TASKS_FOR_A_SHUFFLE * parallelism
        if count > maximum:
            return False
        is_sequential = count < min(parallelism, scan.partition_count)
        # Partially clustered, Spark may split the rows of a key.
        return not is_sequential or _is_on(self.jvm, _PARTIALLY_CLUSTERED, "false")

    def _reported(self, side: _Side, keys: PartitionKeys) -> LogicalPlan:
        """A relation whose scan reports its partitioning, and its order if each key is one sorted run."""
        jvm, plan = self.jvm, side.scan.plan
        schema = plan.table.schema
        names = {side.bucketing.column, *schema.partition_keys, *schema.trimmed_primary_keys}
        output = jvm.as_list(side.relation.output())
        attributes = {name: output.get(i) for i, name in enumerate(side.ids) if name in names}
        reported: dict[str, object] = {"keyGroupedPartitioning": jvm.some(keys.expressions(plan, attributes))}
        # Partially clustered, Spark may split the rows of a key, which loses their order.
        columns = ordered_columns(schema, attributes)
        keeps_order = columns and not _is_on(jvm, _PARTIALLY_CLUSTERED, "false")
        in_order = in_key_order(plan, keys.of) if keeps_order else None
        if in_order is not None:
            reported["ordering"] = jvm.some(jvm.seq([ascending(jvm, attributes[name]) for name in columns]))
            keys, plan = replace(keys, in_order=True), in_order
        return with_parts(jvm, side.relation, scan=side.scan.with_keys(keys, plan), **reported)


def _is_on(jvm: Jvm, key: str, default: str) -> bool:
    """Whether a setting of Spark is true."""
    return jvm.settings.getConfString(key, default).lower() == "true"


def _operators(jvm: Jvm, method: str) -> JavaMethod:
    """A method of the compiled class that collects a plan's operators in one round trip."""
    jvm.compiled_class(_OPERATORS, (_IDS, _RENAMED, _COLLECT, _DESCRIBE), beside=LOGICAL_PLAN)
    return jvm.static(_OPERATORS, method)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


class _Requirements:
    """The distributions of rows that the operators of a plan require.

    Args:
        jvm: the JVM.
        sides: the bucketed scans.
    """

    def __init__(self, jvm: Jvm, sides: Sequence[_Side]) -> None:
        self._jvm = jvm
        self._by_key: dict[int, list[_Side]] = {}
        for side in sides:  # a union of a table with itself has the same ids twice
            self._by_key.setdefault(side.key, []).append(side)
        self._groups: dict[int, _Group] = {}

    def of(self, plan: LogicalPlan) -> list[_Group]:
        """The scans that could avoid a shuffle, grouped by joins."""
        joins = self._jvm.new("java.util.ArrayList")
        for line in str(_operators(self._jvm, "describe")(plan, joins)).splitlines():
            kind, *lists = line.split(";")
            ids = [_numbers(each) for each in lists]
            if kind == "renamed":
                ((new,), (old,)) = ids
                if old in self._by_key:
                    self._by_key[new] = self._by_key[old]
            elif kind == "together":
                self._cluster(set(ids[0]))
            else:
                ((number,), left, right) = ids
                self._join(set(zip(left, right, strict=True)), joins, number)
        return list({id(group): group for group in self._groups.values()}.values())

    def _cluster(self, ids: set[int]) -> None:
        """Require rows with equal values of columns in one partition."""
        for side in (side for i in ids for side in self._by_key.get(i, ())):
            partitioned = bool(side.partitions) and ids.issuperset(side.partitions)
            self._require([side], self._kinds(len(ids), len(side.partitions) if partitioned else None, _STRICT_GROUPS))

    def _join(self, pairs: set[tuple[int, int]], joins: JavaObject, number: int) -> None:
        """Require rows of both sides with equal values of each pair of columns in one partition."""
        by_key = self._by_key
        matches = [
            (one, other)
            for one, other in ((o, p) for i, j in pairs for o in by_key.get(i, ()) for p in by_key.get(j, ()))
            if self._match(one.bucketing, other.bucketing)
        ]
        if not matches or self._is_broadcast(joins.get(number)):
            return
        for one, other in matches:
            both = len(one.partitions) == len(other.partitions) > 0
            partitioned = both and pairs.issuperset(zip(one.partitions, other.partitions, strict=True))
            self._require(
                [one, other], self._kinds(len(pairs), len(one.partitions) if partitioned else None, _STRICT_JOINS)
            )

    def _match(self, one: Bucketing, other: Bucketing) -> bool:
        """Whether Spark can join the buckets of both without a shuffle."""
        if not one.is_like(other) or one.count == other.count:
            return one.is_like(other)
        compatible = _is_on(self._jvm, f"{_SETTINGS}allowCompatibleTransforms.enabled", "false")
        return compatible and gcd(one.count, other.count) > 1

    def _is_broadcast(self, join: LogicalPlan) -> bool:
        """Whether Spark will broadcast a side, by its size or a hint."""
        hint = str(join.hint().toString())
        if "strategy=" in hint:
            return "strategy=broadcast" in hint
        maximum = self._jvm.settings.autoBroadcastJoinThreshold()
        sides: tuple[LogicalPlan, LogicalPlan] = (join.left(), join.right())
        is_small = maximum >= 0 and any(int(str(side.stats().sizeInBytes())) <= maximum for side in sides)
        return is_small and str(join.joinType().toString()) != "FullOuter"

    def _kinds(self, required: int, partitions: int | None, setting: tuple[str, str]) -> frozenset[bool]:
        """The kinds of keys that satisfy an operator.

        Args:
            required: the number of columns by which it groups or joins.
            partitions: the number of partition columns, if all are among these; None otherwise.
            setting: the setting, and its default, by which Spark requires all of the operator's columns in the key.
        """
        counts = {False: 1} if partitions is None else {True: 1 + partitions, False: 1}
        strict = _is_on(self._jvm, *setting)
        return frozenset(kind for kind, count in counts.items() if count == required or not strict)

    def _require(self, sides: Sequence[_Side], kinds: frozenset[bool]) -> None:
        """Add an operator's requirement, unless it contradicts those of operators below."""
        known = [self._groups.get(side.leaf) or _Group([side]) for side in sides]
        remaining = kinds.intersection(*(group.kinds for group in known))
        if not remaining:
            return
        merged = _Group(list({side.leaf: side for group in known for side in group.sides}.values()), remaining)
        for side in merged.sides:
            self._groups[side.leaf] = merged
