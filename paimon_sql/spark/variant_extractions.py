"""What a query wants of variants, as Spark tells a scan: paths into them, and the types that the values become."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from paimon_sql.format.types import DataField, VariantType
from paimon_sql.format.variant.paths import Path, parse_path, path_text
from paimon_sql.spark.java import Jvm

_METADATA = "__VARIANT_METADATA_KEY"


@dataclass(frozen=True)
class Extraction:
    """One value that is taken out of each variant.

    Attributes:
        column: the names of the column and of the fields of structs on the way to the variant.
        kind: the type that the value becomes, as Spark's JSON tells it.
        metadata: what Spark keeps beside that type: the path, and how values are cast.
    """

    column: tuple[str, ...]
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
    def paths(self) -> dict[str, tuple[Path, ...]]:
        """The paths that are wanted of those columns of which not all is wanted."""
        found: dict[str, list[Path] | None] = {}
        for extraction in (e for e in self._extractions if e.error_of is None):
            name, path = extraction.column[0], extraction.path
            known = found.setdefault(name, [])
            if not path or known is None or len(extraction.column) > 1:
                found[name] = None
            elif path not in known:
                known.append(path)
        return {name: tuple(sorted(paths, key=path_text)) for name, paths in found.items() if paths}

    @property
    def can_be_extracted(self) -> bool:
        """Whether a scan that gives these values reads less, and fails only where the query itself would."""
        values = [e for e in self._extractions if e.error_of is None]
        told = len(self._extractions) - len(values)
        return bool(self.paths) and all(len(e.column) == 1 for e in values) and told == sum(e.may_fail for e in values)

    def of(self, columns: Sequence[DataField]) -> tuple[DataField, ...]:
        """Columns, of whose variants only what is wanted is asked for."""
        return tuple(
            replace(f, type=replace(f.type, paths=self.paths[f.name]))
            if isinstance(f.type, VariantType) and f.name in self.paths
            else f
            for f in columns
        )

    @property
    def by_column(self) -> dict[str, list[Extraction]]:
        """What the scan itself takes out of which column."""
        found: dict[str, list[Extraction]] = {}
        for extraction in self._extractions if self.extracted else ():
            found.setdefault(extraction.column[0], []).append(extraction)
        return found

    @property
    def structs(self) -> dict[str, Any]:
        """By the names of columns what stands in the place of variants, as Spark's JSON tells types."""
        return {name: _struct(extractions) for name, extractions in self.by_column.items()}


def _struct(extractions: Sequence[Extraction]) -> dict[str, Any]:
    fields = [
        {"name": str(i), "type": e.kind, "nullable": True, "metadata": e.metadata} for i, e in enumerate(extractions)
    ]
    return {"type": "struct", "fields": fields}


def paths_into(columns: Iterable[DataField]) -> list[str]:
    """For EXPLAIN, which parts of variants are read."""
    return [
        f"variant {f.name} at {', '.join(map(path_text, f.type.paths))}"
        for f in columns
        if isinstance(f.type, VariantType) and f.type.paths
    ]
