"""Joins, groups and windows without a shuffle: scans tell Spark which of their rows are together already.

To tell it costs a scan the freedom to pack files of several buckets into one task. So a rule looks at the whole plan,
and a scan tells it only where an operator could do without a shuffle: a join if both of its sides are in like buckets,
an aggregation or window if the bucket key is among its keys. Spark checks by itself what it is told against what it
needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

from paimon_sql.spark.jvm.compiled_class import compiled_class
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm, behind
from paimon_sql.spark.rules.optimizer import PlanRule, scans_of, with_leaves, with_parts
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy
from paimon_sql.spark.scan.pushdown.sort_orders import ascending
from paimon_sql.spark.scan.reporting.partition_keys import PartitionKeys
from paimon_sql.storage.scan.key_order import in_key_order, ordered_columns
from paimon_sql.storage.write.buckets.reported_partitioning import Bucketing, form_of

_SETTINGS = "spark.sql.sources.v2.bucketing."
_DIVIDED = f"{_SETTINGS}partiallyClusteredDistribution.enabled"
_FOR_SEVERAL = ("spark.sql.requireAllClusterKeysForCoPartition", "true")
_FOR_ONE = ("spark.sql.requireAllClusterKeysForDistribution", "false")
_PATTERNS = ("JOIN", "AGGREGATE", "WINDOW")
_PLANS = f"{CATALYST}.plans.logical"
_PLAN = f"{_PLANS}.LogicalPlan"
_ATTRIBUTE = f"{CATALYST}.expressions.AttributeReference"
_OPERATORS = "paimon.Operators"
_IDS = f"""
    public static String ids(scala.collection.Iterable expressions) {{
        StringBuilder told = new StringBuilder();
        scala.collection.Iterator each = expressions.iterator();
        while (each.hasNext()) {{
            Object e = each.next();
            told.append(e instanceof {_ATTRIBUTE} ? (({_ATTRIBUTE}) e).exprId().id() : -1L).append(",");
        }}
        return told.toString();
    }}"""
_RENAMED = f"""
    private static void renamed(scala.collection.Iterable expressions, StringBuilder told) {{
        scala.collection.Iterator each = expressions.iterator();
        while (each.hasNext()) {{
            Object e = each.next();
            if (!(e instanceof {CATALYST}.expressions.Alias)) continue;
            {CATALYST}.expressions.Alias alias = ({CATALYST}.expressions.Alias) e;
            if (!(alias.child() instanceof {_ATTRIBUTE})) continue;
            told.append("renamed;").append(alias.exprId().id()).append(";");
            told.append((({_ATTRIBUTE}) alias.child()).exprId().id()).append("\\n");
        }}
    }}"""
_LOOKED_AT = f"""
    private static void lookAt({_PLAN} plan, StringBuilder told, java.util.List joins) {{
        scala.collection.Iterator children = plan.children().iterator();
        while (children.hasNext()) lookAt(({_PLAN}) children.next(), told, joins);
        if (plan instanceof {_PLANS}.Project) {{
            renamed((({_PLANS}.Project) plan).projectList(), told);
        }} else if (plan instanceof {_PLANS}.Join) {{
            scala.Option keys = {CATALYST}.planning.ExtractEquiJoinKeys.unapply(({_PLANS}.Join) plan);
            if (keys.isEmpty()) return;
            scala.Product found = (scala.Product) keys.get();
            told.append("join;").append(joins.size()).append(";");
            told.append(ids((scala.collection.Iterable) found.productElement(1))).append(";");
            told.append(ids((scala.collection.Iterable) found.productElement(2))).append("\\n");
            joins.add(plan);
        }} else if (plan instanceof {_PLANS}.Aggregate) {{
            {_PLANS}.Aggregate aggregate = ({_PLANS}.Aggregate) plan;
            told.append("together;").append(ids(aggregate.groupingExpressions())).append("\\n");
            renamed(aggregate.aggregateExpressions(), told);
        }} else if (plan instanceof {_PLANS}.Window) {{
            told.append("together;").append(ids((({_PLANS}.Window) plan).partitionSpec())).append("\\n");
        }}
    }}"""
_TOLD = f"""
    public static String told({_PLAN} plan, java.util.List joins) {{
        StringBuilder told = new StringBuilder();
        lookAt(plan, told, joins);
        return told.toString();
    }}"""
_TASKS_FOR_A_SHUFFLE = 16
"""So many small tasks more for each that runs at a time take no longer than a shuffle would."""


@dataclass(eq=False)
class _Side:
    """A scan of a plan whose rows are in buckets.

    Attributes:
        leaf: the number of the plan's leaf that it is.
        relation: the leaf.
        scan: the scan.
        bucketing: in which buckets its rows are.
        ids: Spark's ids of the columns that are read.
    """

    leaf: int
    relation: Any
    scan: PlannedScanProxy
    bucketing: Bucketing
    ids: dict[str, int]

    @property
    def key(self) -> int:
        """That of the bucket key."""
        return self.ids[self.bucketing.column]

    @cached_property
    def partitions(self) -> tuple[int, ...]:
        """Those of the partition columns; none where Spark's equality of one is not that of partitions."""
        fields = self.scan.plan.table.schema.partition_fields
        told = all(f.name in self.ids and form_of(f.type) is not None for f in fields)
        return tuple(self.ids[f.name] for f in fields) if told else ()


@dataclass
class _Group:
    """Scans that must tell their partitions apart in one way, as they are joined with each other.

    Attributes:
        sides: the scans.
        ways: the ways that spare a shuffle: by partition columns too, or by buckets alone.
    """

    sides: list[_Side]
    ways: frozenset[bool] = frozenset((True, False))


class StoragePartitioning(PlanRule):
    """Lets scans of tables with fixed buckets say what they are partitioned by, where that may spare a shuffle.

    Args:
        jvm: the JVM.
        session: the JVM's session.
    """

    reads_scans = True

    def __init__(self, jvm: Jvm, session: Any) -> None:
        super().__init__(jvm)
        self._session = session

    def rewritten(self, plan: Any) -> Any:
        if not PlannedScanProxy.in_buckets or not self._may_shuffle(plan):
            return plan
        sides = self._sides(plan)
        if not sides or not self._is_asked_for():
            return plan
        groups = _Wishes(self.jvm, sides).of(plan)
        told = {side.leaf: self._reported(side, keys) for group in groups for side, keys in self._keyed(group)}
        return with_leaves(self.jvm, plan, told) if told else plan

    def _may_shuffle(self, plan: Any) -> bool:
        """Whether an operator is in the plan that wants rows together."""
        return any(plan.containsPattern(self._pattern(name)) for name in _PATTERNS)

    def _pattern(self, name: str) -> Any:
        patterns = f"{CATALYST}.trees.TreePattern"
        return self.jvm.constant(f"{patterns}.{name}", lambda: getattr(self.jvm.singleton(patterns), name)())

    def _is_asked_for(self) -> bool:
        """Whether Spark uses what scans say, and only here: executors do not know the bucket function."""
        on, elsewhere = f"{_SETTINGS}enabled", f"{_SETTINGS}shuffle.enabled"
        return self._is_on(on, "true") and not self._is_on(elsewhere, "false")

    def _is_on(self, key: str, default: str) -> bool:
        return str(self.jvm.settings.getConfString(key, default)).lower() == "true"

    def _sides(self, plan: Any) -> list[_Side]:
        found = []
        for number, leaf in scans_of(self.jvm, plan):
            scan = behind(self.jvm, leaf.scan())
            if not isinstance(scan, PlannedScanProxy) or scan.bucketing is None:
                continue
            if scan.keys is not None or leaf.keyGroupedPartitioning().isDefined():
                continue  # the plan is looked at once more
            ids = _numbers(_operators(self.jvm, "ids")(leaf.output()))
            names = (f.name for f in scan.columns)  # hidden ones may follow in the output
            found.append(_Side(number, leaf, scan, scan.bucketing, dict(zip(names, ids, strict=False))))
        return found

    def _keyed(self, group: _Group) -> Iterable[tuple[_Side, PartitionKeys]]:
        """How the scans of a group are partitioned best; nothing where a shuffle is the better way."""
        for partitioned in sorted(group.ways, reverse=True):
            keys = [PartitionKeys(self.jvm, self._session, s.bucketing, partitioned) for s in group.sides]
            if all(self._is_worth(s.scan, k) for s, k in zip(group.sides, keys, strict=True)):
                return list(zip(group.sides, keys, strict=True))
        return ()

    def _is_worth(self, scan: PlannedScanProxy, keys: PartitionKeys) -> bool:
        """Whether there are keys enough for all who could read, and not so many that starting tasks takes long."""
        parallelism = int(self.jvm.constant("parallelism", lambda: self.jvm.context.defaultParallelism))
        count = len({keys.of(split) for split in scan.plan.splits})
        most = scan.partition_count + _TASKS_FOR_A_SHUFFLE * parallelism
        if count > most:
            return False
        few = count < min(parallelism, scan.partition_count)
        # Spark may divide the rows of a key again.
        return not few or self._is_on(_DIVIDED, "false")

    def _reported(self, side: _Side, keys: PartitionKeys) -> Any:
        """A relation whose scan says how it is partitioned."""
        jvm, plan = self.jvm, side.scan.plan
        schema = plan.table.schema
        wanted = {side.bucketing.column, *schema.partition_keys, *schema.trimmed_primary_keys}
        output = jvm.as_java(side.relation.output())
        attributes = {name: output.get(i) for i, name in enumerate(side.ids) if name in wanted}
        told = {"keyGroupedPartitioning": jvm.some(keys.expressions(plan, attributes))}
        # Spark may divide the rows of a key again, which leaves no order.
        columns = ordered_columns(schema, attributes)
        in_order = None if not columns or self._is_on(_DIVIDED, "false") else in_key_order(plan, keys.of)
        if in_order is not None:
            told["ordering"] = jvm.some(jvm.seq([ascending(jvm, attributes[name]) for name in columns]))
            keys, plan = keys.reported_in_order(), in_order
        return with_parts(jvm, side.relation, scan=side.scan.keyed(keys, plan), **told)


def _operators(jvm: Jvm, method: str) -> Any:
    """A method of the compiled class that looks at the operators of a plan in one call."""

    def compiled() -> Any:
        compiled_class(jvm, _OPERATORS, (_IDS, _RENAMED, _LOOKED_AT, _TOLD), beside=_PLAN)
        return jvm.static(_OPERATORS, method)

    return jvm.constant(f"{_OPERATORS}.{method}", compiled)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


class _Wishes:
    """What the operators of a plan want together.

    Args:
        jvm: the JVM.
        sides: the scans whose rows are in buckets.
    """

    def __init__(self, jvm: Jvm, sides: Sequence[_Side]) -> None:
        self._jvm = jvm
        self._by_key: dict[int, list[_Side]] = {}
        for side in sides:  # a table that is united with itself has the same ids twice
            self._by_key.setdefault(side.key, []).append(side)
        self._groups: dict[int, _Group] = {}

    def of(self, plan: Any) -> list[_Group]:
        """The scans that could spare operators a shuffle, those that are joined with each other together."""
        joins = self._jvm.new("java.util.ArrayList")
        for line in str(_operators(self._jvm, "told")(plan, joins)).splitlines():
            kind, *told = line.split(";")
            ids = [_numbers(each) for each in told]
            if kind == "renamed":
                ((new,), (old,)) = ids
                if old in self._by_key:
                    self._by_key[new] = self._by_key[old]
            elif kind == "together":
                self._together(set(ids[0]))
            else:
                ((number,), left, right) = ids
                self._join(set(zip(left, right, strict=True)), joins, number)
        return list({id(group): group for group in self._groups.values()}.values())

    def _together(self, ids: set[int]) -> None:
        """Rows of equal values are wanted together."""
        for side in (side for i in ids for side in self._by_key.get(i, ())):
            whole = bool(side.partitions) and ids.issuperset(side.partitions)
            self._want([side], self._ways(len(ids), len(side.partitions) if whole else None, _FOR_ONE))

    def _join(self, pairs: set[tuple[int, int]], joins: Any, number: int) -> None:
        """Rows of both sides are wanted together where the values of each pair are equal."""
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
            whole = both and pairs.issuperset(zip(one.partitions, other.partitions, strict=True))
            self._want([one, other], self._ways(len(pairs), len(one.partitions) if whole else None, _FOR_SEVERAL))

    def _match(self, one: Bucketing, other: Bucketing) -> bool:
        """Whether Spark can bring the buckets of both together as they are."""
        if not one.is_like(other) or one.count == other.count:
            return one.is_like(other)
        compatible = self._jvm.settings.getConfString(f"{_SETTINGS}allowCompatibleTransforms.enabled", "false")
        return str(compatible).lower() == "true" and gcd(one.count, other.count) > 1

    def _is_broadcast(self, join: Any) -> bool:
        """Whether a side is so small, or said to be, that it is sent everywhere."""
        hint = str(join.hint().toString())
        if "strategy=" in hint:
            return "strategy=broadcast" in hint
        most = int(self._jvm.settings.autoBroadcastJoinThreshold())
        sides = (join.left(), join.right())
        is_small = most >= 0 and any(int(str(side.stats().sizeInBytes())) <= most for side in sides)
        return is_small and str(join.joinType().toString()) != "FullOuter"

    def _ways(self, wanted: int, partitions: int | None, rule: tuple[str, str]) -> frozenset[bool]:
        """How partitions may be told apart for an operator that wants rows together.

        Args:
            wanted: of how many columns it wants equal values together.
            partitions: how many of these are all partition columns of the scans; None if some are missing.
            rule: the setting, and its default, by which Spark wants no fewer columns than the operator names.
        """
        counts = {False: 1} if partitions is None else {True: 1 + partitions, False: 1}
        strict = str(self._jvm.settings.getConfString(*rule)).lower() == "true"
        return frozenset(way for way, count in counts.items() if count == wanted or not strict)

    def _want(self, sides: Sequence[_Side], ways: frozenset[bool]) -> None:
        """Note what an operator wants, unless operators below want it otherwise."""
        known = [self._groups.get(side.leaf) or _Group([side]) for side in sides]
        left = ways.intersection(*(group.ways for group in known))
        if not left:
            return
        merged = _Group(list({side.leaf: side for group in known for side in group.sides}.values()), left)
        for side in merged.sides:
            self._groups[side.leaf] = merged
