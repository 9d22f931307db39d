"""The data files of golden tables as their manifests describe them, read without the project's own manifest reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema, parse_schema
from paimon_sql.format.schema.types import DataField


@dataclass(frozen=True)
class GoldenFile:
    """A manifest entry, the schema that its file was written with, and the file if it is still there."""

    case: str
    schema: TableSchema
    partition: bytes
    bucket: int
    meta: dict[str, Any]
    path: Path | None

    @property
    def format(self) -> str:
        return str(self.meta["_FILE_NAME"]).rsplit(".", 1)[1]

    def table(self, fields: tuple[DataField, ...]) -> pa.Table:
        """The columns of the file in the Arrow types of the format room."""
        assert self.path is not None
        names = [f.name for f in fields]
        types = [arrow_type(f.type) for f in fields]
        if self.format == "avro":
            with self.path.open("rb") as stream:
                records = list(fastavro.reader(stream))
            columns = [pa.array([r[n] for r in records], d) for n, d in zip(names, types, strict=True)]
        else:
            read = pq.read_table if self.format == "parquet" else orc.read_table
            table = read(str(self.path), columns=names)
            columns = [table.column(n).cast(d) for n, d in zip(names, types, strict=True)]
        return pa.table(columns, names=names)


def golden_files(golden: Path, case: str = "*") -> Iterator[GoldenFile]:
    """Every entry of every manifest of the cases that match."""
    for root in sorted(golden.glob(f"{case}/warehouse/*.db/*")):
        if not (root / "schema").is_dir():
            continue
        schemas = {
            int(p.name.removeprefix("schema-")): parse_schema(p.read_bytes(), str(p))
            for p in root.glob("schema/schema-*")
        }
        files = {p.name: p for p in root.glob("**/data-*")}
        for manifest in sorted(root.glob("manifest/manifest-*")):
            if manifest.name.startswith("manifest-list"):
                continue
            with manifest.open("rb") as stream:
                for entry in fastavro.reader(stream):
                    meta = entry["_FILE"]
                    yield GoldenFile(
                        root.name,
                        schemas[meta["_SCHEMA_ID"]],
                        entry["_PARTITION"],
                        entry["_BUCKET"],
                        meta,
                        files.get(meta["_FILE_NAME"]),
                    )
