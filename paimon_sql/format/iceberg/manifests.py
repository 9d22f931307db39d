"""Iceberg's manifests and manifest lists: the data and delete files of a snapshot, as Avro files.

Entries and records of lists are dictionaries as in the Avro files. Dates, times and decimals in partition values are
raw, so that entries are rewritten unchanged. (Iceberg's specification, "Manifests".)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import IntEnum
from functools import lru_cache
from typing import Any, NotRequired, TypedDict, cast

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.avro.container import AvroContainer, open_container, write_container
from paimon_sql.format.avro.schemas import AvroRecord, without_logical_types
from paimon_sql.format.bytes.bounded import decoding
from paimon_sql.format.iceberg.schemas import FIRST_PARTITION_ID, RawValue, decimal_width
from paimon_sql.format.schema import types as t


class FileRecord(TypedDict):
    """The file of an entry; its further members depend on its content."""

    content: int
    file_path: str
    file_format: str
    partition: Mapping[str, RawValue]
    record_count: int
    file_size_in_bytes: int
    null_value_counts: NotRequired[list[dict[str, object]] | None]
    lower_bounds: NotRequired[list[dict[str, object]] | None]
    upper_bounds: NotRequired[list[dict[str, object]] | None]
    referenced_data_file: NotRequired[str | None]
    content_offset: NotRequired[int | None]
    content_size_in_bytes: NotRequired[int | None]
    first_row_id: NotRequired[int | None]


class Entry(TypedDict):
    """A manifest entry; as stored, its snapshot and sequence numbers may be inherited from the manifest's."""

    status: int
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    data_file: FileRecord


ROW_LINEAGE = 3
"""The first version of Iceberg's format with row lineage."""


class Status(IntEnum):
    """The status of an entry's file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


class Content(IntEnum):
    """The content of a manifest's files, or of a data file."""

    DATA = 0
    DELETES = 1


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """The bounds of a partition column over the files of a manifest."""

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """Metadata of a manifest in a manifest list."""

    manifest_path: str
    manifest_length: int
    partition_spec_id: int
    content: int
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int
    added_files_count: int
    existing_files_count: int
    deleted_files_count: int
    added_rows_count: int
    existing_rows_count: int
    deleted_rows_count: int
    partitions: tuple[PartitionSummary, ...] = ()
    first_row_id: int | None = None

    @property
    def live_files(self) -> int:
        """The number of live files."""
        return self.added_files_count + self.existing_files_count

    @property
    def live_rows(self) -> int:
        """The number of rows, or deletes, of the live files."""
        return self.added_rows_count + self.existing_rows_count


def is_live(entry: Entry) -> bool:
    """Whether an entry's file is live."""
    return bool(entry["status"] != Status.DELETED)


def _field(name: str, kind: object, number: int, *, nullable: bool = False) -> dict[str, object]:
    body = {"name": name, "type": ["null", kind] if nullable else kind, "field-id": number}
    return {**body, "default": None} if nullable else body


def _record(name: str, fields: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": fields}


def _map(key: int, value: int, kind: str) -> dict[str, object]:
    record = _record(f"k{key}_v{value}", [_field("key", "int", key), _field("value", kind, value)])
    return {"type": "array", "items": record, "logicalType": "map"}


_PARTITION_TYPES: dict[type[t.DataType], object] = {
    t.BooleanType: "boolean",
    **dict.fromkeys((t.TinyIntType, t.SmallIntType, t.IntType), "int"),
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    **dict.fromkeys(t.TEXTS, "string"),
    **dict.fromkeys(t.BYTES, "bytes"),
    t.DateType: {"type": "int", "logicalType": "date"},
    t.TimeType: {"type": "long", "logicalType": "time-micros"},
    t.TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    t.LocalZonedTimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
}


def _partition_type(data_type: t.DataType) -> object:
    if isinstance(data_type, t.DecimalType):
        return {
            "type": "fixed",
            "name": f"decimal_{data_type.precision}_{data_type.scale}",
            "size": decimal_width(data_type.precision),
            "logicalType": "decimal",
            "precision": data_type.precision,
            "scale": data_type.scale,
        }
    return _PARTITION_TYPES[type(data_type)]


def _partition_fields(columns: Sequence[t.DataField]) -> list[dict[str, object]]:
    return [
        _field(f.name, _partition_type(f.type), FIRST_PARTITION_ID + i, nullable=True) for i, f in enumerate(columns)
    ]


def _file_fields(columns: Sequence[t.DataField], format_version: int) -> list[dict[str, object]]:
    fields = [
        _field("content", "int", 134),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", _record("r102", _partition_fields(columns)), 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        _field("null_value_counts", _map(121, 122, "long"), 110, nullable=True),
        _field("lower_bounds", _map(126, 127, "bytes"), 125, nullable=True),
        _field("upper_bounds", _map(129, 130, "bytes"), 128, nullable=True),
        _field("referenced_data_file", "string", 143, nullable=True),
        _field("content_offset", "long", 144, nullable=True),
        _field("content_size_in_bytes", "long", 145, nullable=True),
    ]
    if format_version >= ROW_LINEAGE:
        fields.append(_field("first_row_id", "long", 142, nullable=True))
    return fields


def _entry_schema(columns: Sequence[t.DataField], format_version: int) -> dict[str, object]:
    fields = [
        _field("status", "int", 0),
        _field("snapshot_id", "long", 1, nullable=True),
        _field("sequence_number", "long", 3, nullable=True),
        _field("file_sequence_number", "long", 4, nullable=True),
        _field("data_file", _record("r2", _file_fields(columns, format_version)), 2),
    ]
    return _record("manifest_entry", fields)


@dataclass(frozen=True, eq=False)
class ManifestFormat:
    """The format of a table's manifests.

    Args:
        columns: the partition columns.
        format_version: the version of Iceberg's format.
        compression: the codec.
        schema: the table's schema, in Iceberg's form.
        spec: its partition spec, in Iceberg's form.
    """

    columns: tuple[t.DataField, ...]
    format_version: int
    compression: str
    schema: Mapping[str, object]
    spec: Mapping[str, object]

    def write(self, entries: Iterable[Entry], content: Content) -> bytes:
        """Encode a manifest."""
        text = json.dumps(_entry_schema(self.columns, self.format_version))
        metadata = {
            "schema": json.dumps(self.schema),
            "schema-id": str(self.schema["schema-id"]),
            "partition-spec": json.dumps(self.spec["fields"]),
            "partition-spec-id": str(self.spec["spec-id"]),
            "format-version": str(self.format_version),
            "content": content.name.lower(),
        }
        return write_container(text, entries, self.compression, coded_by=_raw(text), metadata=metadata)

    def read(self, data: bytes, path: str) -> list[Entry] | None:
        """Decode the entries of a manifest; None if its partition values have another encoding than this format's.

        Raises:
            CorruptFileError: the bytes are not a manifest.
        """
        container = open_container(data, path)
        with decoding("an Iceberg manifest", path):
            if _stored_partition(container.schema_text) != _comparable(_partition_fields(self.columns)):
                return None
            entries = cast("list[Entry]", _records(container))
            known = {str(f["name"]): None for f in _file_fields((), self.format_version)}
            for entry in entries:
                file = {**known, **{k: v for k, v in entry["data_file"].items() if k in known}}
                entry["data_file"] = cast("FileRecord", file)
            return entries


def _stored_partition(schema_text: str) -> object:
    fields = {f["name"]: f["type"] for f in json.loads(schema_text)["fields"]}
    file = {f["name"]: f["type"] for f in fields["data_file"]["fields"]}
    return _comparable(file["partition"]["fields"])


def _comparable(fields: Sequence[Mapping[str, object]]) -> list[tuple[object, object]]:
    """The names and types of fields, without other members of their schemas."""
    return [(f["name"], _bare(f["type"])) for f in fields]


def _bare(kind: object) -> object:
    if isinstance(kind, list):
        return next((_bare(k) for k in kind if k != "null"), None)
    if isinstance(kind, dict):
        values = tuple(str(kind.get(k)) for k in ("type", "logicalType", "size"))
        return values[0] if values[1:] == ("None", "None") else values
    return kind


_SUMMARY = [
    _field("contains_null", "boolean", 509),
    _field("contains_nan", "boolean", 518, nullable=True),
    _field("lower_bound", "bytes", 510, nullable=True),
    _field("upper_bound", "bytes", 511, nullable=True),
]
_COUNTS = {f"{kind}_data_files_count": f"{kind}_files_count" for kind in ("added", "existing", "deleted")}
"""The names of counts in Iceberg 1.4, and their names since."""


def _list_schema(format_version: int, *, legacy: bool) -> str:
    old = {new: name for name, new in _COUNTS.items()} if legacy else {}
    numbered = [
        ("manifest_path", "string", 500),
        ("manifest_length", "long", 501),
        ("partition_spec_id", "int", 502),
        ("content", "int", 517),
        ("sequence_number", "long", 515),
        ("min_sequence_number", "long", 516),
        ("added_snapshot_id", "long", 503),
        ("added_files_count", "int", 504),
        ("existing_files_count", "int", 505),
        ("deleted_files_count", "int", 506),
        ("added_rows_count", "long", 512),
        ("existing_rows_count", "long", 513),
        ("deleted_rows_count", "long", 514),
    ]
    fields = [_field(old.get(name, name), kind, number) for name, kind, number in numbered]
    summaries = {"type": "array", "items": _record("r508", _SUMMARY), "element-id": 508}
    fields.append(_field("partitions", summaries, 507, nullable=True))
    if format_version >= ROW_LINEAGE:
        fields.append(_field("first_row_id", "long", 520, nullable=True))
    return json.dumps(_record("manifest_file", fields))


def write_manifest_list(
    manifests: Iterable[ManifestFile],
    *,
    format_version: int,
    compression: str,
    legacy: bool,
    snapshot_id: int,
    parent_id: int | None,
) -> bytes:
    """Encode a manifest list.

    Args:
        manifests: the manifests.
        format_version: the version of Iceberg's format.
        compression: the codec.
        legacy: whether counts have the names of Iceberg 1.4.
        snapshot_id: the snapshot of the list, whose sequence number is the same.
        parent_id: the parent snapshot.
    """
    metadata = {
        "format-version": str(format_version),
        "snapshot-id": str(snapshot_id),
        "sequence-number": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_id is None else str(parent_id),
    }
    rows = [_as_record(m, legacy=legacy) for m in manifests]
    return write_container(_list_schema(format_version, legacy=legacy), rows, compression, metadata=metadata)


def _as_record(manifest: ManifestFile, *, legacy: bool) -> dict[str, object]:
    record = {**asdict(manifest), "partitions": [asdict(p) for p in manifest.partitions]}
    return {**record, **{old: record[new] for old, new in _COUNTS.items()}} if legacy else record


_KNOWN = {f.name for f in fields(ManifestFile)}


def read_manifest_list(data: bytes, path: str) -> list[ManifestFile]:
    """Decode the manifests of a manifest list.

    Raises:
        CorruptFileError: the bytes are not a manifest list.
    """
    container = open_container(data, path)
    with decoding("an Iceberg manifest list", path):
        found = []
        for record in _records(container):
            named: dict[str, Any] = {_COUNTS.get(name, name): value for name, value in record.items()}
            named["partitions"] = tuple(
                PartitionSummary(p["contains_null"], p.get("contains_nan"), p["lower_bound"], p["upper_bound"])
                for p in named.get("partitions") or ()
            )
            found.append(ManifestFile(**{name: value for name, value in named.items() if name in _KNOWN}))
        return found


def _records(container: AvroContainer) -> list[AvroRecord]:
    records = container.records(_raw(container.schema_text))
    if not all(isinstance(r, dict) for r in records):
        raise CorruptFileError("it holds no records", path=container.path)
    return records


@lru_cache(maxsize=64)
def _raw(schema_text: str) -> str:
    """The schema of the same encoding with which fastavro does not convert stored values."""
    return json.dumps(without_logical_types(json.loads(schema_text)))
