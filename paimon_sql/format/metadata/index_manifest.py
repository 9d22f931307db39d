"""Index manifests: all index files of a snapshot, and global indexes (spec: Manifest, Table Index).

Index files are hash indexes of dynamic buckets, deletion vectors of buckets, and global indexes over rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from paimon_sql.errors import CommitConflictError
from paimon_sql.format.avro.schemas import AvroField
from paimon_sql.format.bytes.bounded import check_range, decoding
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.metadata.manifest_records import (
    RecordLayout,
    array_of,
    nested_record,
    optional,
    optional_fields,
    required,
    required_fields,
)

HASH_INDEX = "HASH"
DELETION_VECTORS_INDEX = "DELETION_VECTORS"
_SOURCE_MAGIC = b"DEIX"
"""Prefix of the source metadata of a global index over a data-evolution table."""


@dataclass(frozen=True, slots=True)
class DeletionVectorRange:
    """Location of a data file's deletion vector in its index file.

    ``offset`` is its first byte, and ``length`` the length as the writer counts it (see `index_files`);
    ``cardinality``, the number of deleted rows, is None in files of older versions.
    """

    data_file_name: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True)
class GlobalIndexMeta:
    """Rows and columns that a global index file covers; both ends of the row range are inclusive.

    ``index_meta`` and ``source_meta`` are specific to the kind of index.
    """

    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexFileMeta:
    """One index file; ``row_count`` is the number of its entries (hashes, or deletion vectors)."""

    index_type: str
    file_name: str
    file_size: int
    row_count: int
    deletion_vectors: tuple[DeletionVectorRange, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndexMeta | None = None


@dataclass(frozen=True, slots=True)
class IndexManifestEntry:
    """An index file that a commit added or deleted; ``partition`` is the serialized partition row."""

    kind: FileKind
    partition: bytes
    bucket: int
    file: IndexFileMeta

    def as_delete(self) -> IndexManifestEntry:
        """The entry that deletes this one's file."""
        return replace(self, kind=FileKind.DELETE)


_RANGE_FIELDS = {
    "data_file_name": required("f0", "string"),
    "offset": required("f1", "int"),
    "length": required("f2", "int"),
    "cardinality": optional("_CARDINALITY", "long"),
}
_RANGE = nested_record("_DELETIONS_VECTORS_RANGES", *_RANGE_FIELDS.values())
_GLOBAL_FIELDS = {
    **required_fields(row_range_start="long", row_range_end="long", index_field_id="int"),
    **optional_fields(extra_field_ids=array_of("int"), index_meta="bytes", source_meta="bytes"),
}

_LAYOUT = RecordLayout(
    what="an index manifest",
    version=1,
    fields={
        **required_fields(kind="int", partition="bytes", bucket="int"),
        **required_fields(index_type="string", file_name="string", file_size="long", row_count="long"),
        "deletion_vectors": optional("_DELETIONS_VECTORS_RANGES", array_of(["null", _RANGE])),
        **optional_fields(external_path="string"),
        "global_index": optional("_GLOBAL_INDEX", nested_record("_GLOBAL_INDEX", *_GLOBAL_FIELDS.values())),
    },
    file_names={"file_name": "the index file", "deletion_vectors.f0": "the data file"},
    external_paths={"external_path": "the index file"},
    counts=("file_size", "row_count"),
    tinyints=("kind",),
)


def read_index_manifest(data: bytes, path: str) -> list[IndexManifestEntry]:
    """Decode the entries of an index manifest, in their order.

    Raises:
        CorruptFileError: the bytes are not an index manifest.
        UnsafePathError: an entry names a file outside of its directory.
    """
    table = _LAYOUT.read(data, path)
    with decoding(_LAYOUT.what, path):
        return [_entry(row) for row in table.to_pylist()]


def write_index_manifest(entries: Iterable[IndexManifestEntry], compression: str = "zstd") -> bytes:
    """Encode entries as an index manifest, an Avro file."""
    return _LAYOUT.write(map(_row, entries), compression)


def combine(
    previous: Sequence[IndexManifestEntry], changes: Sequence[IndexManifestEntry], *, bucket_unaware: bool
) -> list[IndexManifestEntry]:
    """Apply the changes of a commit to the index files before it (Paimon: `IndexManifestFileHandler`).

    The hash index and the deletion vectors of a bucket are one file each: a new file replaces the old one. A table
    without buckets has any number of deletion vector files, and so has every table of global indexes: these remain
    until they are deleted by name.

    Args:
        previous: the index manifest before the commit.
        changes: the entries that the commit adds and deletes.
        bucket_unaware: whether the table has no buckets (an append table with ``bucket`` -1).

    Raises:
        CommitConflictError: a file to delete is missing, a file or a data file's vector to add exists, or a global
            index covers rows that another one covers.
    """
    kinds = dict.fromkeys(entry.file.index_type for entry in (*previous, *changes))
    remaining: list[IndexManifestEntry] = []
    for kind in kinds:
        old = [entry for entry in previous if entry.file.index_type == kind]
        new = [entry for entry in changes if entry.file.index_type == kind]
        if kind == DELETION_VECTORS_INDEX and bucket_unaware:
            remaining += _by_file_name(old, new)
        elif kind in (HASH_INDEX, DELETION_VECTORS_INDEX):
            remaining += _by_bucket(old, new)
        else:
            remaining += _global(old, new)
    return remaining


def _by_bucket(old: list[IndexManifestEntry], new: list[IndexManifestEntry]) -> Iterable[IndexManifestEntry]:
    current = {(entry.partition, entry.bucket): entry for entry in old}
    for entry in sorted(new, key=lambda e: e.kind, reverse=True):  # deletes first: they refer to older files
        if entry.kind is FileKind.DELETE:
            current.pop((entry.partition, entry.bucket), None)
        else:
            current[entry.partition, entry.bucket] = entry
    return current.values()


def _by_file_name(old: list[IndexManifestEntry], new: list[IndexManifestEntry]) -> Iterable[IndexManifestEntry]:
    current = {entry.file.file_name: entry for entry in old}
    covered = {v.data_file_name for entry in old for v in entry.file.deletion_vectors or ()}
    for entry in new:
        name = entry.file.file_name
        vectors = {v.data_file_name for v in entry.file.deletion_vectors or ()}
        if entry.kind is FileKind.DELETE:
            _require(name in current, f"The deletion vector file {name} is deleted but not part of the table.")
            for deleted in vectors - covered:
                raise CommitConflictError(f"The deletion vector of {deleted} is deleted but not part of the table.")
            covered -= vectors
            del current[name]
        else:
            _require(name not in current, f"The deletion vector file {name} is part of the table already.")
            for duplicate in vectors & covered:
                raise CommitConflictError(f"The data file {duplicate} has a deletion vector already.")
            covered |= vectors
            current[name] = entry
    return current.values()


def _global(old: list[IndexManifestEntry], new: list[IndexManifestEntry]) -> Iterable[IndexManifestEntry]:
    current = {entry.file.file_name: entry for entry in old}
    added = [entry for entry in new if entry.kind is FileKind.ADD]
    for entry in new:
        if entry.kind is FileKind.DELETE:
            name = entry.file.file_name
            _require(name in current, f"The index file {name} is deleted but not part of the table.")
            del current[name]
    for entry in added:
        for other in current.values():
            if _overlap(entry.file.global_index, other.file.global_index):
                raise CommitConflictError(
                    f"The index file {entry.file.file_name} covers rows that {other.file.file_name} covers already.",
                    remedy="Drop that index first.",
                )
    current.update((entry.file.file_name, entry) for entry in added)
    return current.values()


def _overlap(one: GlobalIndexMeta | None, other: GlobalIndexMeta | None) -> bool:
    if one is None or other is None or one.index_field_id != other.index_field_id:
        return False
    sources = (one.source_meta, other.source_meta)
    if all(source is not None and not source.startswith(_SOURCE_MAGIC) for source in sources):
        return False  # indexes over data files of a primary-key table identify rows by file
    if one.extra_field_ids != other.extra_field_ids:
        return True
    return one.row_range_start <= other.row_range_end and other.row_range_start <= one.row_range_end


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CommitConflictError(message)


def _row(entry: IndexManifestEntry) -> dict[str, object]:
    file = entry.file
    vectors, index = file.deletion_vectors, file.global_index
    return {
        "kind": entry.kind,
        "partition": entry.partition,
        "bucket": entry.bucket,
        **{f.name: getattr(file, f.name) for f in fields(file)},
        "deletion_vectors": None if vectors is None else [_stored(v, _RANGE_FIELDS) for v in vectors],
        "global_index": None if index is None else _stored(index, _GLOBAL_FIELDS),
    }


def _stored(meta: DeletionVectorRange | GlobalIndexMeta, names: Mapping[str, AvroField]) -> dict[str, object]:
    values = {names[name]["name"]: value for name, value in asdict(meta).items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _entry(row: dict[str, Any]) -> IndexManifestEntry:
    kind, partition, bucket = (row.pop(name) for name in ("kind", "partition", "bucket"))
    if (vectors := row["deletion_vectors"]) is not None:
        row["deletion_vectors"] = tuple(DeletionVectorRange(**_named(v, _RANGE_FIELDS)) for v in vectors)
    if (index := row["global_index"]) is not None:
        row["global_index"] = GlobalIndexMeta(**_named(index, _GLOBAL_FIELDS))
    return IndexManifestEntry(FileKind(kind), partition, bucket, IndexFileMeta(**row))


def _named(stored: Mapping[str, Any], names: Mapping[str, AvroField]) -> dict[str, Any]:
    values = {name: stored[f["name"]] for name, f in names.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


_VERSION = 1
_FIRST_IS_NULL, _LAST_IS_NULL = 1, 2
_SOURCE = struct.Struct(">4siq")


@dataclass(frozen=True)
class KeyRange:
    """The min and the max key of a file, as bytes; None if all keys are null."""

    first: bytes | None
    last: bytes | None
    has_nulls: bool

    def write(self) -> bytes:
        """Encode the range for the manifest."""
        ends = [self.first or b"", self.last or b""]
        flags = (_FIRST_IS_NULL if self.first is None else 0) | (_LAST_IS_NULL if self.last is None else 0)
        sized = b"".join(struct.pack("<i", len(end)) + end for end in ends)
        return sized + struct.pack("<BBB", self.has_nulls, _VERSION, flags)

    @classmethod
    def read(cls, data: bytes) -> KeyRange:
        """Decode a range; older versions do not distinguish null from an empty key.

        Raises:
            ValueError: the bytes are not such a range.
        """
        try:
            ends, at = [], 0
            for _ in range(2):
                (size,) = struct.unpack_from("<i", data, at)
                check_range(at + 4, size, len(data), "a key")
                ends.append(data[at + 4 : at + 4 + size])
                at += 4 + size
            has_nulls = data[at] == 1
        except (struct.error, IndexError) as error:
            raise ValueError(f"the range of keys ends too early: {error}") from error
        first, last = ends
        rest = data[at + 1 :]
        if len(rest) >= 2:
            flags = rest[1] if rest[0] == _VERSION else 0
            none = bool(flags & _FIRST_IS_NULL), bool(flags & _LAST_IS_NULL)
        else:
            none = (has_nulls and not first and not last,) * 2
        return cls(None if none[0] else first, None if none[1] else last, has_nulls)


def written_source(snapshot_id: int) -> bytes:
    """Encode the source metadata of an index that was built from a snapshot."""
    return _SOURCE.pack(_SOURCE_MAGIC, 1, snapshot_id)


def source_snapshot(data: bytes | None) -> int | None:
    """The snapshot from which an index was built; None if it is not recorded."""
    if data is None or len(data) != _SOURCE.size:
        return None
    magic, version, snapshot_id = _SOURCE.unpack(data)
    return snapshot_id if magic == _SOURCE_MAGIC and version == 1 else None
