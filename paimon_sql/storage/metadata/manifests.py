"""Reading and writing of manifests, with a process-wide cache of decoded ones (spec: Manifest).

Manifests and manifest lists are immutable, so decoded ones are cached until the least recently used are evicted.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property

import pyarrow as pa

from paimon_sql.format.layout.paths import TablePaths
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry, read_index_manifest, write_index_manifest
from paimon_sql.format.metadata.manifest import (
    ManifestEntry,
    ManifestFileMeta,
    check_names,
    describe_manifest,
    manifest_table,
    read_manifest,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.scan import SCAN_MANIFEST_PARALLELISM
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import StatsCollector
from paimon_sql.format.statistics.modes import FULL
from paimon_sql.format.statistics.simple_stats import SimpleStats
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.external.policy import NO_ACCESS, ExternalAccess
from paimon_sql.storage.metadata.external_roots import ExternalRoots

CACHE_BYTES = 512 * 1024 * 1024
CACHED_METAS = 50_000


class ManifestCache:
    """Decoded manifests by path, bounded by their size in memory."""

    def __init__(self, capacity: int = CACHE_BYTES) -> None:
        self.capacity = capacity
        self._tables: OrderedDict[str, pa.Table] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, path: str) -> pa.Table | None:
        """Return the decoded manifest; None if not cached."""
        with self._lock:
            table = self._tables.get(path)
            if table is not None:
                self._tables.move_to_end(path)
            return table

    def put(self, path: str, table: pa.Table) -> None:
        """Cache a decoded manifest, unless it is larger than the whole cache."""
        if table.nbytes > self.capacity:
            return
        with self._lock:
            if path not in self._tables:
                self._tables[path] = table
                self._bytes += table.nbytes
            while self._bytes > self.capacity:
                _, evicted = self._tables.popitem(last=False)
                self._bytes -= evicted.nbytes


class ManifestListCache:
    """Decoded manifest lists by path and size in bytes, bounded by the number of their manifests."""

    def __init__(self, capacity: int = CACHED_METAS) -> None:
        self.capacity = capacity
        self._lists: OrderedDict[tuple[str, int], list[ManifestFileMeta]] = OrderedDict()
        self._metas = 0
        self._lock = threading.Lock()

    def get(self, path: str, size: int) -> list[ManifestFileMeta] | None:
        """Return the decoded list; None if not cached."""
        with self._lock:
            metas = self._lists.get((path, size))
            if metas is not None:
                self._lists.move_to_end((path, size))
            return metas

    def put(self, path: str, size: int, metas: list[ManifestFileMeta]) -> None:
        """Cache a decoded list."""
        with self._lock:
            if (path, size) not in self._lists:
                self._lists[path, size] = metas
                self._metas += len(metas) + 1
            while self._metas > self.capacity:
                _, evicted = self._lists.popitem(last=False)
                self._metas -= len(evicted) + 1


CACHE = ManifestCache()
LISTS = ManifestListCache()
_THREADS = 4


class ManifestStore:
    """The ``manifest`` directory of a table.

    Entries name only files in the table's directories: reads and writes raise `UnsafePathError` otherwise.
    """

    def __init__(
        self, file_io: FileIO, paths: TablePaths, schema: TableSchema, access: ExternalAccess = NO_ACCESS
    ) -> None:
        self._access = access
        self.file_io = file_io
        self._paths = paths
        self._schema = schema
        self._run = uuid.uuid4()
        self._threads: int = TableOptions(schema.options).get(SCAN_MANIFEST_PARALLELISM) or _THREADS
        self._numbers = {"manifest": 0, "manifest-list": 0, "index-manifest": 0}

    def path(self, name: str) -> str:
        """Return the path of a manifest or manifest list."""
        return self._paths.manifest(name)

    def new_name(self, prefix: str) -> str:
        """Return a unique name: ``manifest``, ``manifest-list`` or ``index-manifest``, a UUID and a number."""
        number = self._numbers[prefix]
        self._numbers[prefix] = number + 1
        return f"{prefix}-{self._run}-{number}"

    def read(self, name: str) -> pa.Table:
        """Return a manifest's entries as a table of ``MANIFEST_SCHEMA``."""
        path = self.path(name)
        table = CACHE.get(path)
        if table is None:
            table = self.read_uncached(name)
            CACHE.put(path, table)
        else:
            self._check_external(table, path)
        return table

    def read_uncached(self, name: str) -> pa.Table:
        """Read a manifest's entries from the file, ignoring the cache."""
        path = self.path(name)
        table = read_manifest(self.file_io.read_bytes(path), path)
        self._check_external(table, path)
        return table

    def cached(self, name: str) -> pa.Table | None:
        """Return a manifest's entries if they are cached."""
        return CACHE.get(self.path(name))

    def cache(self, name: str, entries: pa.Table) -> None:
        """Cache the entries of a manifest that was read elsewhere."""
        CACHE.put(self.path(name), entries)

    def read_once(self, name: str) -> pa.Table:
        """Read a manifest's entries without caching them: before it is deleted, or among very many."""
        return self.read(name) if CACHE.get(self.path(name)) is not None else self.read_uncached(name)

    def read_all(self, names: Sequence[str]) -> list[pa.Table]:
        """Read several manifests, in order; those that are not cached are read in parallel."""
        missing = [n for n in names if CACHE.get(self.path(n)) is None]
        read = dict(zip(missing, map_in_threads(self.read, missing, self._threads), strict=True))
        return [read[n] if n in read else self.read(n) for n in names]

    def read_list(self, name: str | None) -> list[ManifestFileMeta]:
        """Return the manifests of a manifest list; empty without a list."""
        if not name:
            return []
        path = self.path(name)
        # The cache is valid only while the file exists: callers rely on an error for a deleted list.
        status = self.file_io.status(path)
        metas = LISTS.get(path, status.size) if status else None
        if metas is None:
            data = self.file_io.read_bytes(path)
            metas = read_manifest_list(data, path)
            LISTS.put(path, len(data), metas)
        return list(metas)

    def read_list_once(self, name: str) -> list[ManifestFileMeta]:
        """Read the manifests of a manifest list without caching them, as in `read_once`."""
        path = self.path(name)
        return read_manifest_list(self.file_io.read_bytes(path), path)

    def write(self, entries: pa.Table | Iterable[ManifestEntry], schema_id: int) -> ManifestFileMeta:
        """Write one manifest; return its metadata for manifest lists."""
        table = entries if isinstance(entries, pa.Table) else manifest_table(entries)
        name = self.new_name("manifest")
        check_names(table, self.path(name))
        self._check_external(table, self.path(name))
        data = write_manifest(table, self._compression)
        self.file_io.write_bytes(self.path(name), data)
        CACHE.put(self.path(name), table)
        stats = partition_stats(table["partition"], self._schema.partition_fields)
        return describe_manifest(table, file_name=name, file_size=len(data), partition_stats=stats, schema_id=schema_id)

    def measure(self, entries: pa.Table) -> int:
        """Return the size in bytes of a manifest with these entries."""
        return len(write_manifest(entries, self._compression))

    def write_list(self, metas: Iterable[ManifestFileMeta]) -> tuple[str, int]:
        """Write a manifest list; return its name and size in bytes."""
        name, metas = self.new_name("manifest-list"), list(metas)
        data = write_manifest_list(metas, self._compression)
        self.file_io.write_bytes(self.path(name), data)
        LISTS.put(self.path(name), len(data), metas)
        return name, len(data)

    def write_indexes(self, entries: Iterable[IndexManifestEntry]) -> str:
        """Write an index manifest; return its name."""
        name = self.new_name("index-manifest")
        self.file_io.write_bytes(self.path(name), write_index_manifest(entries, self._compression))
        return name

    def read_indexes(self, name: str) -> list[IndexManifestEntry]:
        """Return the entries of an index manifest."""
        path = self.path(name)
        entries = read_index_manifest(self.file_io.read_bytes(path), path)
        external = pa.array([e.file.external_path for e in entries], pa.string())
        self.external_roots.check(external, "the index file", path)
        return entries

    @cached_property
    def external_roots(self) -> ExternalRoots:
        """The external directories of the table."""
        return ExternalRoots(self.file_io, self._paths, self._schema, self._access)

    def _check_external(self, entries: pa.Table, path: str) -> None:
        self.external_roots.check(entries["external_path"], "the data file", path)

    @property
    def _compression(self) -> str:
        return self._schema.options.get("manifest.compression", "zstd")


def partition_stats(partitions: pa.ChunkedArray, fields: Sequence[DataField]) -> SimpleStats:
    """Return the bounds of serialized partition rows per column (Paimon: `ManifestFileMeta`)."""
    columns = decode_columns([f.type for f in fields], partitions)
    collector = StatsCollector(fields, [FULL] * len(fields), file_format="avro", dense=False)
    if columns:
        collector.update(pa.table(columns, names=[f.name for f in fields]))
    return collector.finish()[0]
