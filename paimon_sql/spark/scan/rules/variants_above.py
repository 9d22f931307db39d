"""Extraction of variants above a scan: for scans that accepted the extraction, but are read by Python workers.

Spark pushes extractions before it requests metadata columns, which only workers can read. If the scan has a deletion
mask, another rule replaces it with Spark's own reader, which extracts the values itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakSet

from paimon_sql.errors import UnsupportedError
from paimon_sql.process import share
from paimon_sql.spark.conversion.types import TypeJson, spark_struct
from paimon_sql.spark.java.catalyst import Expression, LogicalPlan, StructType
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import EXPRESSIONS, PLANS
from paimon_sql.spark.rules.optimizer import PlanRule, new_alias, new_attribute, new_literal, with_parts, with_scans
from paimon_sql.spark.scan.proxies.planned import PlannedScanProxy, PlannedTraits
from paimon_sql.spark.scan.pushdown.inner_fields import (
    Extraction,
    VariantExtractions,
    VariantPath,
    is_struct,
    with_structs,
)
from paimon_sql.storage.scan.plan import ScanPlan


@dataclass(eq=False)
class PlaceholderScanProxy(PlannedScanProxy):
    """A placeholder with the extracted columns that Spark was promised; a rule must replace it.

    Its twin extracts the values itself.

    Attributes:
        whole: the scan by workers, whose rows have variants.
        wanted: the promised extractions.
    """

    whole: PlannedScanProxy
    wanted: VariantExtractions

    def __post_init__(self) -> None:
        super().__post_init__()
        _placeholders().add(self)

    def over(self, plan: ScanPlan, traits: PlannedTraits) -> PlannedScanProxy:
        twin = None if self.native_twin is None else self.native_twin.over(plan, traits)
        whole = self.whole.over(plan, traits)
        return replace(self, plan=plan, traits=traits, native_twin=twin, whole=whole)

    @property
    def partition_count(self) -> int:
        return self.whole.partition_count

    def readSchema(self) -> StructType:
        return self.jvm.struct(with_structs(spark_struct(self.columns), self.wanted.structs))

    def planInputPartitions(self) -> Sequence[JavaObject]:
        raise UnsupportedError(
            "Variant values cannot be extracted in a query that also reads metadata columns.",
            remedy="SET spark.sql.variant.pushVariantIntoScan = false.",
        )

    def createReaderFactory(self) -> JavaObject:
        return self.whole.createReaderFactory()


_placeholders = share(lambda: WeakSet[PlaceholderScanProxy]())
"""The live placeholders."""


class ExtractVariantsAbove(PlanRule):
    """Replaces a `PlaceholderScanProxy` with a scan of variants and a projection that extracts the values."""

    reads_scans = True

    def rewrite(self, plan: LogicalPlan) -> LogicalPlan:
        return with_scans(self.jvm, plan, self._above) if _placeholders() else plan

    def _above(self, relation: LogicalPlan, scan: object) -> LogicalPlan | None:
        if not isinstance(scan, PlaceholderScanProxy):
            return None
        jvm, extractions = self.jvm, scan.wanted.by_place
        kinds = {f["name"]: f["type"] for f in spark_struct(scan.columns)["fields"]}
        columns, projected = [], []
        for promised in jvm.items(relation.output()):
            name, column = promised.name(), promised
            extracted: Expression = promised
            if any(place[0] == name for place in extractions):
                column = new_attribute(jvm, name, kinds[name])
                struct = self._rebuilt(column, kinds[name], (name,), extractions)
                extracted = new_alias(jvm, struct, name, promised.exprId())
            columns.append(column)
            projected.append(extracted)
        read = with_parts(jvm, relation, scan=scan.whole, output=jvm.seq(columns))
        return jvm.new(f"{PLANS}.Project", jvm.seq(projected), read)

    def _rebuilt(
        self,
        value: Expression,
        kind: TypeJson,
        place: VariantPath,
        extractions: Mapping[VariantPath, Sequence[Extraction]],
    ) -> Expression:
        """A value with its variants replaced by structs of the extracted values."""
        if place in extractions:
            return self._struct(value, self._fields(value, extractions[place]))
        if not any(other[: len(place)] == place for other in extractions):
            return value
        assert is_struct(kind)
        fields = []
        for i, field in enumerate(kind["fields"]):
            inner: Expression = self.jvm.new(f"{EXPRESSIONS}.GetStructField", value, i, self.jvm.none)
            made = self._rebuilt(inner, field["type"], (*place, field["name"]), extractions)
            fields += [new_literal(self.jvm, field["name"]), made]
        return self._struct(value, fields)

    def _struct(self, value: Expression, fields: list[Expression]) -> Expression:
        """A struct of names and values; null where `value` is null."""
        jvm = self.jvm
        struct = jvm.new(f"{EXPRESSIONS}.CreateNamedStruct", jvm.seq(fields))
        null = jvm.singleton(f"{EXPRESSIONS}.Literal").create(None, struct.dataType())
        return jvm.new(f"{EXPRESSIONS}.If", jvm.new(f"{EXPRESSIONS}.IsNull", value), null, struct)

    def _fields(self, variant: Expression, extractions: Sequence[Extraction]) -> list[Expression]:
        """The names and values extracted from a variant."""
        fields: list[Expression] = []
        by_name = {str(i): e for i, e in enumerate(extractions)}
        for name, extraction in by_name.items():
            strict = by_name.get(extraction.error_of or "")
            made = self._error(variant, strict) if strict is not None else self._value(variant, extraction)
            fields += [new_literal(self.jvm, name), made]
        return fields

    def _value(self, variant: Expression, extraction: Extraction) -> Expression:
        """A value; null where the cast fails, which another field reports."""
        return self._get(variant, extraction, extraction.kind)

    def _error(self, variant: Expression, strict: Extraction) -> Expression:
        """The value of a failed cast as a string; null where the cast succeeds."""
        jvm = self.jvm
        text = jvm.struct("string")
        found = jvm.new(f"{EXPRESSIONS}.Cast", self._get(variant, strict, "variant"), text, jvm.some(strict.time_zone))
        null = jvm.singleton(f"{EXPRESSIONS}.Literal").create(None, text)
        failed = jvm.new(f"{EXPRESSIONS}.IsNull", self._value(variant, strict))
        return jvm.new(f"{EXPRESSIONS}.If", failed, found, null)

    def _get(self, variant: Expression, extraction: Extraction, kind: TypeJson) -> Expression:
        jvm = self.jvm
        path = new_literal(jvm, extraction.text)
        zone = jvm.some(extraction.time_zone)
        return jvm.new(f"{EXPRESSIONS}.variant.VariantGet", variant, path, jvm.struct(kind), False, zone)
