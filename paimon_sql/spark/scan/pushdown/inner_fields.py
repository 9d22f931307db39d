"""Push-down of inner fields: the fields of nested columns and the paths into variants that a query needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeGuard

from paimon_sql.format.schema.types import ArrayType, DataField, DataType, MapType, RowType, VariantType
from paimon_sql.format.variant.paths import Path, parse_path, path_text
from paimon_sql.spark.conversion.types import StructJson, TypeJson, struct_of, type_json
from paimon_sql.spark.java.connector import VariantExtraction
from paimon_sql.spark.jvm.gateway import Jvm


def narrowed(column: DataField, wanted: TypeJson | None) -> DataField:
    """A column with only those inner fields, at any depth, that a type in Spark's JSON form has."""
    return replace(column, type=_part(column.type, wanted)) if column.type.children() else column


def parts_of(columns: Iterable[DataField], full: Iterable[DataField]) -> tuple[DataField, ...]:
    """The columns that have only some of their inner fields."""
    types = {f.name: f.type for f in full}
    return tuple(f for f in columns if f.name in types and types[f.name] != f.type)


def _part(kind: DataType, wanted: TypeJson | None) -> DataType:
    if wanted is None or isinstance(wanted, str):
        return kind
    match kind:
        case RowType() if wanted["type"] == "struct":
            types = {f["name"]: f["type"] for f in wanted["fields"]}
            inner = tuple(replace(f, type=_part(f.type, types[f.name])) for f in kind.fields if f.name in types)
            return replace(kind, fields=inner) if inner else kind
        case ArrayType() if wanted["type"] == "array":
            return replace(kind, element=_part(kind.element, wanted["elementType"]))
        case MapType() if wanted["type"] == "map":
            return replace(kind, key=_part(kind.key, wanted["keyType"]), value=_part(kind.value, wanted["valueType"]))
    return kind


VariantPath = tuple[str, ...]
"""The path to a variant: the name of its column, then those of the fields of structs above it."""
Structs = Mapping[VariantPath, StructJson]
"""The structs that replace variants in a scan, in Spark's JSON form, with one field per extraction."""


@dataclass(frozen=True)
class Extraction:
    """A value to extract from each variant (Spark: `VariantExtraction`).

    Attributes:
        column: the path to the variant.
        kind: the type that the value is cast to, in Spark's JSON form.
        metadata: Spark's metadata of the extraction: the path, and how values are cast.
        text: the path of the value inside of the variant, as written in the query.
        time_zone: the time zone of casts.
        may_fail: whether a value that cannot be cast is an error.
        error_of: the field of the struct whose failed casts it reports; None if it is a value itself.
    """

    column: VariantPath
    kind: TypeJson
    metadata: dict[str, object]
    text: str
    time_zone: str
    may_fail: bool
    error_of: str | None

    @property
    def path(self) -> Path | None:
        """The path of the value inside of the variant; None if it cannot be parsed."""
        return parse_path(self.text)


def answers(jvm: Jvm, extractions: Sequence[VariantExtraction], accepted: bool) -> Sequence[bool]:
    """A ``boolean[]`` that accepts all extractions of Spark's, or none."""
    count = len(extractions)
    flags: list[bool] = jvm.gateway.new_array(jvm.gateway.jvm.boolean, count)
    for i in range(count if accepted else 0):
        flags[i] = True
    return flags


def extraction_of(extraction: VariantExtraction) -> Extraction:
    """Convert Spark's ``VariantExtraction``."""
    column, kind = tuple(extraction.columnName()), type_json(extraction.expectedDataType())
    metadata = json.loads(extraction.metadata().json())
    details = metadata["__VARIANT_METADATA_KEY"]
    may_fail = details["failOnError"] and kind not in ("variant", "string")
    path, time_zone, error_of = details["path"], details["timeZoneId"], details.get("castErrorFor")
    return Extraction(column, kind, metadata, path, time_zone, may_fail, error_of)


@dataclass(frozen=True)
class VariantExtractions:
    """The values of a table's variants that a query needs.

    Attributes:
        extractions: all values that it extracts.
        extracted: whether the scan itself returns these values; otherwise it returns variants, in which parts that the
            query does not need may be missing.
    """

    extractions: tuple[Extraction, ...]
    extracted: bool = False

    @cached_property
    def paths(self) -> dict[VariantPath, tuple[Path, ...]]:
        """The requested paths of each variant that is not requested as a whole."""
        found: dict[VariantPath, list[Path] | None] = {}
        for extraction in (e for e in self.extractions if e.error_of is None):
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
        reported = sum(e.error_of is not None for e in self.extractions)
        return bool(self.paths) and reported == sum(e.may_fail for e in self.extractions)

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
        return self.extractions if self.extracted else ()

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


def with_structs(struct: StructJson, structs: Structs, above: VariantPath = ()) -> StructJson:
    """A struct in Spark's JSON form with variants replaced by structs of values."""

    def replaced(kind: TypeJson, place: VariantPath) -> TypeJson:
        if place in structs:
            return structs[place]
        return with_structs(kind, structs, place) if is_struct(kind) else kind

    return struct_of({**f, "type": replaced(f["type"], (*above, f["name"]))} for f in struct["fields"])


def is_struct(kind: TypeJson) -> TypeGuard[StructJson]:
    """Whether a type in Spark's JSON form is a struct."""
    return isinstance(kind, dict) and kind["type"] == "struct"


def _struct(extractions: Sequence[Extraction]) -> StructJson:
    return struct_of(
        {"name": str(i), "type": e.kind, "nullable": True, "metadata": e.metadata} for i, e in enumerate(extractions)
    )


def paths_into(columns: Iterable[DataField], above: str = "") -> list[str]:
    """Descriptions for EXPLAIN of the parts of variants that are read."""
    found = []
    for f in columns:
        if isinstance(f.type, VariantType) and f.type.paths:
            found.append(f"variant {above}{f.name} at {', '.join(map(path_text, f.type.paths))}")
        elif isinstance(f.type, RowType):
            found += paths_into(f.type.fields, f"{above}{f.name}.")
    return found
