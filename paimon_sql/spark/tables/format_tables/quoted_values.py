"""JSON files with quoted numbers and booleans, as the Java connector writes them, or unquoted ones, as Spark does.

Spark's reader accepts a quoted number only as a string. So such columns are read as strings, which accepts unquoted
numbers as well, and cast above the scan.
"""

from __future__ import annotations

import json
from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, Jvm, python_object
from paimon_sql.spark.rules.optimizer import PlanRule, add_rules, scans_of, with_leaves
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
    def ensure(cls, jvm: Jvm, session: Any) -> None:
        """Add the rule to a session that lacks it; call this before a plan is optimized."""

        def add() -> bool:
            add_rules(jvm, session, [cls(jvm)])
            return True

        jvm.constant(f"{cls.__name__} of {session.sessionUUID()}", add)

    def rewrite(self, plan: Any) -> Any:
        replacements: dict[int, Any] = {}
        for number, leaf in scans_of(self.jvm, plan):
            if self._is_ours(leaf):
                replacement = self._read_as_strings(leaf)
                if replacement is not None:
                    replacements[number] = replacement
        return with_leaves(self.jvm, plan, replacements) if replacements else plan

    def _is_ours(self, relation: Any) -> bool:
        """Whether a relation reads JSON files of a format table."""
        if relation.scan().getClass().getName() != _SCAN:
            return False
        return isinstance(getattr(python_object(self.jvm, relation.relation().table()), "table", None), FormatTable)

    def _read_as_strings(self, relation: Any) -> Any:
        """A relation that reads strings, below a projection that casts them; None if none is needed or possible."""
        jvm, scan = self.jvm, relation.scan()
        struct, data = json.loads(scan.readDataSchema().json()), json.loads(scan.dataSchema().json())
        mode = str(scan.options().getOrDefault("mode", _PERMISSIVE)).upper()
        corrupt = scan.options().getOrDefault(_CORRUPT, jvm.settings.columnNameOfCorruptRecord())
        names = {f["name"] for f in struct["fields"]}
        if mode not in (_PERMISSIVE, _FAIL) or corrupt in names or as_strings(struct) == struct:
            return None
        expressions = jvm.seq([])
        reads = jvm.new(
            _SCAN,
            scan.sparkSession(),
            scan.fileIndex(),
            jvm.struct(json.dumps(as_strings(data))),
            jvm.struct(json.dumps(as_strings(struct))),
            scan.readPartitionSchema(),
            scan.options(),
            jvm.array("org.apache.spark.sql.sources.Filter"),
            scan.partitionFilters(),
            expressions,
        )
        evaluation = jvm.singleton(f"{_EXPRESSIONS}.EvalMode")
        strict = evaluation.ANSI() if mode == _FAIL else evaluation.TRY()
        read, shown = [], []
        for attribute in jvm.items(relation.output()):
            kind = attribute.dataType()
            text = as_strings(json.loads(kind.json())) if attribute.name() in names else None
            if text is None or text == json.loads(kind.json()):
                read.append(attribute)
                shown.append(attribute)
                continue
            read.append(attribute.withDataType(jvm.struct(json.dumps(text))).newInstance())
            value = jvm.new(f"{_EXPRESSIONS}.Cast", read[-1], kind, jvm.some("UTC"), strict)
            if not value.resolved():  # a malformed value would become null in a non-nullable field
                return None
            same = (attribute.exprId(), attribute.qualifier(), jvm.some(attribute.metadata()), jvm.seq([]))
            shown.append(jvm.new(f"{_EXPRESSIONS}.Alias", value, attribute.name(), *same))
        parts = jvm.items(relation.productIterator().toSeq())
        parts[1:3] = [reads, jvm.seq(read)]
        copied = relation.makeCopy(jvm.array("java.lang.Object", parts))
        return jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(shown), copied)


def as_strings(kind: Any) -> Any:
    """A type in Spark's JSON with strings instead of numbers, booleans and the keys of maps."""
    if not isinstance(kind, dict):
        return "string" if kind in _QUOTED else kind
    if kind["type"] == "struct":
        return {**kind, "fields": [{**f, "type": as_strings(f["type"])} for f in kind["fields"]]}
    if kind["type"] == "array":
        return {**kind, "elementType": as_strings(kind["elementType"])}
    if kind["type"] == "map":
        return {**kind, "keyType": "string", "valueType": as_strings(kind["valueType"])}
    return kind
