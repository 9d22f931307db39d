"""The live data files of golden tables and what the golden tables say of their rows."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_sql.format.metadata.manifest import FileKind, entries, read_manifest, read_manifest_list
from paimon_sql.format.metadata.snapshot import parse_snapshot
from paimon_sql.format.schema.schema import TableSchema, parse_schema
from paimon_sql.format.schema.system_fields import key_value_fields
from paimon_sql.format.schema.types import DataField


@dataclass(frozen=True)
class LiveFile:
    """A data file of a snapshot with the schema that it was written under and the table's newest."""

    path: Path
    written: TableSchema
    newest: TableSchema
    rows: int

    @property
    def fields(self) -> Sequence[DataField]:
        """The columns that the file holds."""
        thin = self.written.options.get("data-file.thin-mode") == "true"
        return key_value_fields(self.written, thin=thin) if self.written.primary_keys else self.written.fields

    @property
    def format(self) -> str:
        """The file's format by its suffix."""
        return self.path.suffix[1:]


def table_root(golden: Path, case: str) -> Path:
    """The directory of a case's table."""
    return next((golden / case / "warehouse").glob("*.db/*"))


def live_files(golden: Path, case: str, snapshot: int | None = None) -> Iterator[LiveFile]:
    """The files of a snapshot, the newest if none is named."""
    root = table_root(golden, case)
    schemas = {s.id: s for s in (parse_schema(p.read_bytes(), str(p)) for p in root.glob("schema/schema-*"))}
    chosen = snapshot or max(int(p.name.removeprefix("snapshot-")) for p in root.glob("snapshot/snapshot-*"))
    path = root / "snapshot" / f"snapshot-{chosen}"
    read = parse_snapshot(path.read_bytes(), str(path))
    live: dict[str, Any] = {}
    for name in (read.base_manifest_list, read.delta_manifest_list):
        at = root / "manifest" / name
        for meta in read_manifest_list(at.read_bytes(), str(at)):
            manifest = root / "manifest" / meta.file_name
            for entry in entries(read_manifest(manifest.read_bytes(), str(manifest))):
                if entry.kind == FileKind.ADD:
                    live[entry.file.file_name] = entry.file
                else:
                    live.pop(entry.file.file_name, None)
    found = {p.name: p for p in root.glob("**/data-*")}
    for name, file in sorted(live.items()):
        yield LiveFile(found[name], schemas[file.schema_id], schemas[max(schemas)], file.row_count)


def expected_rows(golden: Path, case: str, read: str = "all rows") -> list[list[str]]:
    """The rows that a read of a case gives, as text, sorted."""
    reads = json.loads((golden / case / "expected.json").read_text())["reads"]
    return sorted(next(r["rows"] for r in reads if r["name"] == read))


def rendered(table: pa.Table) -> list[list[str]]:
    """A table's rows as text, in the way of the golden tables, sorted."""
    columns = [[_render(value, field.type) for value in table[field.name].to_pylist()] for field in table.schema]
    return sorted(map(list, zip(*columns, strict=True)))


def _render(value: Any, kind: pa.DataType) -> str:
    if value is None:
        return "NULL"
    if pa.types.is_map(kind):
        pairs = (f"{_render(k, kind.key_type)}: {_render(v, kind.item_type)}" for k, v in value)
        return "{" + ", ".join(sorted(pairs)) + "}"
    if pa.types.is_list(kind):
        return "[" + ", ".join(_render(v, kind.value_type) for v in value) + "]"
    if pa.types.is_struct(kind):
        inner = (kind.field(i) for i in range(kind.num_fields))
        return "(" + ", ".join(f"{f.name}={_render(value[f.name], f.type)}" for f in inner) + ")"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    return str(value) or "(empty)"
