"""JSON files with quoted numbers and booleans, as the Java connector writes them, or unquoted ones, as Spark does.

Spark's reader accepts a quoted number only as a string. So such columns are read as strings, which accepts unquoted
numbers as well, and cast above the scan.
"""

from __future__ import annotations

import json

from paimon_sql.spark.conversion.types import StructJson, TypeJson, struct_json, struct_of, type_json
from paimon_sql.spark.java.catalyst import Attribute, Expression, LogicalPlan
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION
from paimon_sql.spark.jvm.proxy import python_object
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.rules.optimizer import PlanRule, add_rules, new_alias, scans_of, with_leaves
from paimon_sql.storage.format_tables import FormatTable

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

    @classmethod
    def ensure(cls, session: JvmSession) -> None:
        """Add the rule to a session that lacks it; call this before a plan is optimized."""

        def add() -> bool:
            add_rules(session, [cls(session.jvm)])
            return True

        session.jvm.constant(f"{cls.__name__} of {session.java.sessionUUID()}", add)

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        replacements: dict[int, LogicalPlan] = {}
        for number, leaf in scans_of(self.jvm, plan):
            if self._is_ours(leaf):
                replacement = self._read_as_strings(leaf)
                if replacement is not None:
                    replacements[number] = replacement
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
            jvm.struct(json.dumps(struct_as_strings(data))),
            jvm.struct(json.dumps(struct_as_strings(struct))),
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
            read.append(attribute.withDataType(jvm.struct(json.dumps(text))).newInstance())
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
