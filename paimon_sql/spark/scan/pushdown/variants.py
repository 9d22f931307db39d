"""Variant push-down: paths into variants, and the types that Spark casts their values to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from paimon_sql.format.schema.types import DataField, RowType, VariantType
from paimon_sql.format.variant.paths import Path, parse_path, path_text
from paimon_sql.spark.jvm.gateway import Jvm

VariantPath = tuple[str, ...]
"""The path to a variant: the name of its column, then those of the fields of structs above it."""
Structs = Mapping[VariantPath, dict[str, Any]]
"""The structs that replace variants in a scan, in Spark's JSON form, with one field per extraction."""
_METADATA = "__VARIANT_METADATA_KEY"


@dataclass(frozen=True)
class Extraction:
    """A value to extract from each variant (Spark: `VariantExtraction`).

    Attributes:
        column: the path to the variant.
        kind: the type that the value is cast to, in Spark's JSON form.
        metadata: Spark's metadata of the extraction: the path, and how values are cast.
    """

    column: VariantPath
    kind: Any
    metadata: dict[str, Any]

    @property
    def path(self) -> Path | None:
        """The path of the value inside of the variant; None if it cannot be parsed."""
        return parse_path(self.text)

    @property
    def text(self) -> str:
        """The path as written in the query."""
        return str(self.metadata[_METADATA]["path"])

    @property
    def time_zone(self) -> str:
        """The time zone of casts."""
        return str(self.metadata[_METADATA]["timeZoneId"])

    @property
    def may_fail(self) -> bool:
        """Whether a value that cannot be cast is an error."""
        return bool(self.metadata[_METADATA]["failOnError"]) and self.kind not in ("variant", "string")

    @property
    def error_of(self) -> str | None:
        """The field of the struct whose failed casts it reports; None if it is a value itself."""
        found: str | None = self.metadata[_METADATA].get("castErrorFor")
        return found


def answers(jvm: Jvm, extractions: Any, accepted: bool) -> Any:
    """A ``boolean[]`` that accepts all extractions of Spark's, or none."""
    count = len(extractions)
    flags = jvm.gateway.new_array(jvm.gateway.jvm.boolean, count)
    for i in range(count if accepted else 0):
        flags[i] = True
    return flags


def extractions_of(extractions: Any) -> list[Extraction]:
    """Convert Spark's ``VariantExtraction[]``."""
    return [
        Extraction(
            tuple(one.columnName()), json.loads(one.expectedDataType().json()), json.loads(one.metadata().json())
        )
        for one in extractions
    ]


class VariantExtractions:
    """The values of a table's variants that a query needs.

    Args:
        extractions: all values that it extracts.

    Attributes:
        extracted: whether the scan itself returns these values; otherwise it returns variants, in which parts that the
            query does not need may be missing.
    """

    extracted = False

    def __init__(self, extractions: Sequence[Extraction]) -> None:
        self._extractions = extractions

    @cached_property
    def paths(self) -> dict[VariantPath, tuple[Path, ...]]:
        """The requested paths of each variant that is not requested as a whole."""
        found: dict[VariantPath, list[Path] | None] = {}
        for extraction in (e for e in self._extractions if e.error_of is None):
            path = extraction.path
            known = found.setdefault(extraction.column, [])
            if not path or known is None:
                found[extraction.column] = None
            elif path not in known:
                known.append(path)
        return {place: tuple(sorted(paths, key=path_text)) for place, paths in found.items() if paths}

    @property
    def can_be_extracted(self) -> bool:
        """Whether extraction by the scan reads less, and fails only where the query itself would."""
        reported = sum(e.error_of is not None for e in self._extractions)
        return bool(self.paths) and reported == sum(e.may_fail for e in self._extractions)

    def of(self, columns: Sequence[DataField]) -> tuple[DataField, ...]:
        """Columns with their variants narrowed to the requested paths."""
        return tuple(self._narrow(f, (f.name,)) for f in columns)

    def _narrow(self, field: DataField, place: VariantPath) -> DataField:
        if isinstance(field.type, VariantType):
            return replace(field, type=replace(field.type, paths=self.paths.get(place)))
        if isinstance(field.type, RowType):
            inner = tuple(self._narrow(f, (*place, f.name)) for f in field.type.fields)
            return replace(field, type=replace(field.type, fields=inner))
        return field

    @property
    def given(self) -> tuple[Extraction, ...]:
        """The extractions that the scan itself performs."""
        return tuple(self._extractions) if self.extracted else ()

    @property
    def by_place(self) -> dict[VariantPath, list[Extraction]]:
        """The extractions that the scan itself performs, by variant."""
        found: dict[VariantPath, list[Extraction]] = {}
        for extraction in self.given:
            found.setdefault(extraction.column, []).append(extraction)
        return found

    @property
    def structs(self) -> Structs:
        """The structs that replace variants."""
        return {place: _struct(extractions) for place, extractions in self.by_place.items()}


def with_structs(struct: dict[str, Any], structs: Structs, above: VariantPath = ()) -> dict[str, Any]:
    """A struct in Spark's JSON form with variants replaced by structs of values."""

    def replaced(kind: Any, place: VariantPath) -> Any:
        if place in structs:
            return structs[place]
        return with_structs(kind, structs, place) if is_struct(kind) else kind

    fields = [{**f, "type": replaced(f["type"], (*above, f["name"]))} for f in struct["fields"]]
    return {**struct, "fields": fields}


def is_struct(kind: Any) -> bool:
    """Whether a type in Spark's JSON form is a struct."""
    return isinstance(kind, dict) and kind["type"] == "struct"


def _struct(extractions: Sequence[Extraction]) -> dict[str, Any]:
    fields = [
        {"name": str(i), "type": e.kind, "nullable": True, "metadata": e.metadata} for i, e in enumerate(extractions)
    ]
    return {"type": "struct", "fields": fields}


def paths_into(columns: Iterable[DataField], above: str = "") -> list[str]:
    """Descriptions for EXPLAIN of the parts of variants that are read."""
    found = []
    for f in columns:
        if isinstance(f.type, VariantType) and f.type.paths:
            found.append(f"variant {above}{f.name} at {', '.join(map(path_text, f.type.paths))}")
        elif isinstance(f.type, RowType):
            found += paths_into(f.type.fields, f"{above}{f.name}.")
    return found
