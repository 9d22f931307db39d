"""Extraction of variants above a scan: for scans that accepted the extraction, but are read by Python workers.

Spark pushes extractions before it requests metadata columns, which only workers can read. If the scan has a deletion
mask, another rule replaces it with Spark's own reader, which extracts the values itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakSet

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.rules.optimizer import PlanRule, new_attribute, with_parts, with_scans
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy
from paimon_sql.spark.scan.proxies.python import PythonScanProxy
from paimon_sql.spark.scan.pushdown.variants import Extraction, VariantExtractions, VariantPath, with_structs
from paimon_sql.storage.scan.plan import ScanPlan

_EXPRESSIONS = f"{CATALYST}.expressions"


class PlaceholderScanProxy(PlannedScanProxy):
    """A placeholder with the extracted columns that Spark was promised; a rule must replace it.

    Args:
        whole: the scan by workers, whose rows have variants.
        twin: a scan that extracts the values itself; None without.
        wanted: the promised extractions.
    """

    waiting: ClassVar[WeakSet[PlaceholderScanProxy]] = WeakSet()
    """The live placeholders."""

    def __init__(
        self,
        whole: PythonScanProxy,
        twin: PlannedScanProxy | None,
        wanted: VariantExtractions,
    ) -> None:
        super().__init__(whole.jvm, whole.description(), whole.plan, whole.columns)
        self.whole = whole
        self.wanted = wanted
        self.native_twin = twin
        self.waiting.add(self)
        if twin is not None:
            self.with_native_twin.add(self)

    def over(self, plan: ScanPlan) -> PlannedScanProxy:
        twin = None if self.native_twin is None else self.native_twin.over(plan)
        return PlaceholderScanProxy(self.whole.over(plan), twin, self.wanted)

    @property
    def replacements(self) -> tuple[PlannedScanProxy, ...]:
        return (self.whole, *super().replacements)

    @property
    def partition_count(self) -> int:
        return self.whole.partition_count

    def readSchema(self) -> Any:
        return self.jvm.struct(json.dumps(with_structs(spark_struct(self.columns), self.wanted.structs)))

    def planInputPartitions(self) -> Any:
        raise UnsupportedError(
            "Values cannot be taken out of variants here beside hidden columns.",
            remedy="SET spark.sql.variant.pushVariantIntoScan = false.",
        )

    def createReaderFactory(self) -> Any:
        return self.whole.createReaderFactory()


class ExtractVariantsAbove(PlanRule):
    """Replaces a `PlaceholderScanProxy` with a scan of variants and a projection that extracts the values."""

    reads_scans = True

    def rewrite(self, plan: Any) -> Any:
        return with_scans(self.jvm, plan, self._above) if PlaceholderScanProxy.waiting else plan

    def _above(self, relation: Any, scan: Any) -> Any | None:
        if not isinstance(scan, PlaceholderScanProxy):
            return None
        jvm, extractions = self.jvm, scan.wanted.by_place
        kinds = {f["name"]: f["type"] for f in spark_struct(scan.columns)["fields"]}
        columns, projected, none = [], [], jvm.seq([])
        for promised in jvm.items(relation.output()):
            name = str(promised.name())
            if any(place[0] == name for place in extractions):
                column = new_attribute(jvm, name, kinds[name])
                struct = self._rebuilt(column, kinds[name], (name,), extractions)
                alias = (struct, name, promised.exprId(), none, jvm.none, none)
                promised, extracted = column, jvm.new(f"{_EXPRESSIONS}.Alias", *alias)
            else:
                extracted = promised
            columns.append(promised)
            projected.append(extracted)
        read = with_parts(jvm, relation, scan=scan.whole, output=jvm.seq(columns))
        return jvm.new(f"{CATALYST}.plans.logical.Project", jvm.seq(projected), read)

    def _rebuilt(
        self, value: Any, kind: Any, place: VariantPath, extractions: Mapping[VariantPath, Sequence[Extraction]]
    ) -> Any:
        """A value with its variants replaced by structs of the extracted values."""
        if place in extractions:
            return self._struct(value, self._fields(value, extractions[place]))
        if not any(other[: len(place)] == place for other in extractions):
            return value
        fields = []
        for i, field in enumerate(kind["fields"]):
            inner = self.jvm.new(f"{_EXPRESSIONS}.GetStructField", value, i, self.jvm.none)
            made = self._rebuilt(inner, field["type"], (*place, field["name"]), extractions)
            fields += [self._literal(field["name"]), made]
        return self._struct(value, fields)

    def _struct(self, value: Any, fields: list[Any]) -> Any:
        """A struct of names and values; null where `value` is null."""
        jvm = self.jvm
        struct = jvm.new(f"{_EXPRESSIONS}.CreateNamedStruct", jvm.seq(fields))
        null = jvm.singleton(f"{_EXPRESSIONS}.Literal").create(None, struct.dataType())
        return jvm.new(f"{_EXPRESSIONS}.If", jvm.new(f"{_EXPRESSIONS}.IsNull", value), null, struct)

    def _fields(self, variant: Any, extractions: Sequence[Extraction]) -> list[Any]:
        """The names and values extracted from a variant."""
        fields = []
        by_name = {str(i): e for i, e in enumerate(extractions)}
        for name, extraction in by_name.items():
            strict = by_name.get(extraction.error_of or "")
            made = self._error(variant, strict) if strict is not None else self._value(variant, extraction)
            fields += [self._literal(name), made]
        return fields

    def _value(self, variant: Any, extraction: Extraction) -> Any:
        """A value; null where the cast fails, which another field reports."""
        return self._get(variant, extraction, extraction.kind)

    def _error(self, variant: Any, strict: Extraction) -> Any:
        """The value of a failed cast as a string; null where the cast succeeds."""
        jvm = self.jvm
        text = self._type("string")
        found = jvm.new(f"{_EXPRESSIONS}.Cast", self._get(variant, strict, "variant"), text, jvm.some(strict.time_zone))
        null = jvm.singleton(f"{_EXPRESSIONS}.Literal").create(None, text)
        failed = jvm.new(f"{_EXPRESSIONS}.IsNull", self._value(variant, strict))
        return jvm.new(f"{_EXPRESSIONS}.If", failed, found, null)

    def _get(self, variant: Any, extraction: Extraction, kind: Any) -> Any:
        jvm = self.jvm
        path = self._literal(extraction.text)
        zone = jvm.some(extraction.time_zone)
        return jvm.new(f"{_EXPRESSIONS}.variant.VariantGet", variant, path, self._type(kind), False, zone)

    def _literal(self, text: str) -> Any:
        return self.jvm.singleton(f"{_EXPRESSIONS}.Literal").apply(text)

    def _type(self, kind: Any) -> Any:
        return self.jvm.struct(json.dumps(kind))
