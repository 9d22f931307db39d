"""What a query wants of variants, as Spark tells a scan: paths into them, and the types that the values become."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from paimon_sql.format.schema.types import DataField, RowType, VariantType
from paimon_sql.format.variant.paths import Path, parse_path, path_text
from paimon_sql.spark.jvm.gateway import Jvm

Place = tuple[str, ...]
"""Where a variant is: the name of its column, and of the fields of structs on the way to it."""
Structs = Mapping[Place, dict[str, Any]]
"""The structs that scans give in the place of variants, as Spark's JSON tells types, a field for each extraction."""
_METADATA = "__VARIANT_METADATA_KEY"


@dataclass(frozen=True)
class Extraction:
    """One value that is taken out of each variant.

    Attributes:
        column: where the variant is.
        kind: the type that the value becomes, as Spark's JSON tells it.
        metadata: what Spark keeps beside that type: the path, and how values are cast.
    """

    column: Place
    kind: Any
    metadata: dict[str, Any]

    @property
    def path(self) -> Path | None:
        """The path of the value inside of the variant; None if it cannot be told."""
        return parse_path(self.text)

    @property
    def text(self) -> str:
        """The path as the query has it."""
        return str(self.metadata[_METADATA]["path"])

    @property
    def time_zone(self) -> str:
        """The zone in which values are cast."""
        return str(self.metadata[_METADATA]["timeZoneId"])

    @property
    def may_fail(self) -> bool:
        """Whether a value that cannot be cast is an error."""
        return bool(self.metadata[_METADATA]["failOnError"]) and self.kind not in ("variant", "string")

    @property
    def error_of(self) -> str | None:
        """Of which field of the struct it tells the values that cannot be cast; None if it is a value itself."""
        found: str | None = self.metadata[_METADATA].get("castErrorFor")
        return found


def answers(jvm: Jvm, told: Any, taken: bool) -> Any:
    """A ``boolean[]`` that takes all of the extractions that Spark tells, or leaves all to it."""
    count = len(told)
    made = jvm.gateway.new_array(jvm.gateway.jvm.boolean, count)
    for i in range(count if taken else 0):
        made[i] = True
    return made


def extractions_of(told: Any) -> list[Extraction]:
    """Spark's ``VariantExtraction[]``."""
    return [
        Extraction(
            tuple(one.columnName()), json.loads(one.expectedDataType().json()), json.loads(one.metadata().json())
        )
        for one in told
    ]


class VariantsWanted:
    """What a query wants of a table's variants.

    Args:
        extractions: all that is taken out of them.

    Attributes:
        extracted: whether the scan itself gives these values; otherwise it gives variants, of which such parts as
            nobody wants may be missing.
    """

    extracted = False

    def __init__(self, extractions: Sequence[Extraction]) -> None:
        self._extractions = extractions

    @cached_property
    def paths(self) -> dict[Place, tuple[Path, ...]]:
        """The paths that are wanted of those variants of which not all is wanted."""
        found: dict[Place, list[Path] | None] = {}
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
        """Whether a scan that gives these values reads less, and fails only where the query itself would."""
        told = sum(e.error_of is not None for e in self._extractions)
        return bool(self.paths) and told == sum(e.may_fail for e in self._extractions)

    def of(self, columns: Sequence[DataField]) -> tuple[DataField, ...]:
        """Columns, of whose variants only what is wanted is asked for."""
        return tuple(self._narrow(f, (f.name,)) for f in columns)

    def _narrow(self, field: DataField, place: Place) -> DataField:
        if isinstance(field.type, VariantType):
            return replace(field, type=replace(field.type, paths=self.paths.get(place)))
        if isinstance(field.type, RowType):
            inner = tuple(self._narrow(f, (*place, f.name)) for f in field.type.fields)
            return replace(field, type=replace(field.type, fields=inner))
        return field

    @property
    def given(self) -> tuple[Extraction, ...]:
        """All that the scan itself takes out."""
        return tuple(self._extractions) if self.extracted else ()

    @property
    def by_place(self) -> dict[Place, list[Extraction]]:
        """What the scan itself takes out of which variant."""
        found: dict[Place, list[Extraction]] = {}
        for extraction in self.given:
            found.setdefault(extraction.column, []).append(extraction)
        return found

    @property
    def structs(self) -> Structs:
        """What stands in the place of variants."""
        return {place: _struct(extractions) for place, extractions in self.by_place.items()}


def with_structs(whole: dict[str, Any], structs: Structs, above: Place = ()) -> dict[str, Any]:
    """A struct, as Spark's JSON tells it, in which structs of values stand in the place of variants."""

    def placed(kind: Any, place: Place) -> Any:
        if place in structs:
            return structs[place]
        return with_structs(kind, structs, place) if is_struct(kind) else kind

    fields = [{**f, "type": placed(f["type"], (*above, f["name"]))} for f in whole["fields"]]
    return {**whole, "fields": fields}


def is_struct(kind: Any) -> bool:
    """Whether a type, as Spark's JSON tells it, is a struct."""
    return isinstance(kind, dict) and kind["type"] == "struct"


def _struct(extractions: Sequence[Extraction]) -> dict[str, Any]:
    fields = [
        {"name": str(i), "type": e.kind, "nullable": True, "metadata": e.metadata} for i, e in enumerate(extractions)
    ]
    return {"type": "struct", "fields": fields}


def paths_into(columns: Iterable[DataField], above: str = "") -> list[str]:
    """For EXPLAIN, which parts of variants are read."""
    found = []
    for f in columns:
        if isinstance(f.type, VariantType) and f.type.paths:
            found.append(f"variant {above}{f.name} at {', '.join(map(path_text, f.type.paths))}")
        elif isinstance(f.type, RowType):
            found += paths_into(f.type.fields, f"{above}{f.name}.")
    return found
