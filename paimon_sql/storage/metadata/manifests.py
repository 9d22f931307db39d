"""Manifests of a table, cached when decoded, and the external directories that their files may lie in."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.cache import Cache
from paimon_sql.errors import UnsafePathError
from paimon_sql.format.layout.paths import MAIN_BRANCH, TablePaths
from paimon_sql.format.metadata import manifest
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry, read_index_manifest, write_index_manifest
from paimon_sql.format.metadata.manifest import ManifestEntry, ManifestFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import EXTERNAL_ALLOWED_ROOTS
from paimon_sql.format.options.operations.scan import SCAN_MANIFEST_PARALLELISM
from paimon_sql.format.options.table.data_file import DATA_FILE_EXTERNAL_PATHS
from paimon_sql.format.options.table.index import GLOBAL_INDEX_EXTERNAL_PATH
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.statistics.column_statistics import FULL, SimpleStats, StatsCollector
from paimon_sql.process import share
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.external.locations import NO_ACCESS, ExternalAccess
from paimon_sql.storage.file_io.paths import is_under
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.schemas import SchemaManager

_MAX_BYTES = 512 * 1024 * 1024
_MAX_METAS = 50_000

ManifestCache = Cache[str, pa.Table]
manifest_cache = share(lambda: ManifestCache(_MAX_BYTES, weigh=lambda table: int(table.nbytes)))
"""Decoded manifests by path."""
list_cache = share(
    lambda: Cache[tuple[str, int], list[ManifestFileMeta]](_MAX_METAS, weigh=lambda metas: len(metas) + 1)
)
"""Decoded manifest lists by path and size in bytes."""
_THREADS = 4


class ManifestStore:
    """The ``manifest`` directory of a table (spec: Manifest).

    Manifests and manifest lists are immutable, so decoded ones are cached until the least recently used are evicted.
    Entries name only files in the table's directories: reads and writes raise `UnsafePathError` otherwise.

    Attributes:
        external_roots: the external directories of the table.
    """

    def __init__(
        self, file_io: FileIO, paths: TablePaths, schema: TableSchema, access: ExternalAccess = NO_ACCESS
    ) -> None:
        self.file_io = file_io
        self.external_roots = ExternalRoots(file_io, paths, schema, access)
        self._paths = paths
        self._schema = schema
        self._run = uuid.uuid4()
        self._threads: int = TableOptions(schema.options).get(SCAN_MANIFEST_PARALLELISM) or _THREADS
        self._numbers = {"manifest": count(), "manifest-list": count(), "index-manifest": count()}

    def path(self, name: str) -> str:
        """Return the path of a manifest or manifest list."""
        return self._paths.manifest(name)

    def new_name(self, prefix: str) -> str:
        """Return a unique name: ``manifest``, ``manifest-list`` or ``index-manifest``, a UUID and a number."""
        return f"{prefix}-{self._run}-{next(self._numbers[prefix])}"

    def read(self, name: str) -> pa.Table:
        """Return a manifest's entries as a table of ``MANIFEST_SCHEMA``."""
        table = self.cached(name)
        if table is None:
            table = self.read_uncached(name)
            self.cache(name, table)
        else:
            self._check_external(table, self.path(name))
        return table

    def read_uncached(self, name: str) -> pa.Table:
        """Read a manifest's entries from the file, ignoring the cache."""
        path = self.path(name)
        table = manifest.read_manifest(self.file_io.read_bytes(path), path)
        self._check_external(table, path)
        return table

    def cached(self, name: str) -> pa.Table | None:
        """Return a manifest's entries if they are cached."""
        return manifest_cache().get(self.path(name))

    def cache(self, name: str, entries: pa.Table) -> None:
        """Cache the entries of a manifest that was read elsewhere."""
        manifest_cache().put(self.path(name), entries)

    def read_once(self, name: str) -> pa.Table:
        """Read a manifest's entries without caching them: before it is deleted, or among very many."""
        return self.read_uncached(name) if self.cached(name) is None else self.read(name)

    def read_all(self, names: Sequence[str]) -> list[pa.Table]:
        """Read several manifests, in order; those that are not cached are read in parallel."""
        missing = [n for n in names if self.cached(n) is None]
        read = dict(zip(missing, map_in_threads(self.read, missing, self._threads), strict=True))
        return [read[n] if n in read else self.read(n) for n in names]

    def read_list(self, name: str | None) -> list[ManifestFileMeta]:
        """Return the manifests of a manifest list; empty without a list."""
        if not name:
            return []
        path = self.path(name)
        # The cache is valid only while the file exists: callers rely on an error for a deleted list.
        status = self.file_io.status(path)
        if status is None:
            return self.read_list_once(name)
        return [*list_cache().compute((path, status.size), lambda: self.read_list_once(name), once=False)]

    def read_list_once(self, name: str) -> list[ManifestFileMeta]:
        """Read the manifests of a manifest list without caching them, as in `read_once`."""
        path = self.path(name)
        return manifest.read_manifest_list(self.file_io.read_bytes(path), path)

    def write(self, entries: pa.Table | Iterable[ManifestEntry], schema_id: int) -> ManifestFileMeta:
        """Write one manifest; return its metadata for manifest lists."""
        table = entries if isinstance(entries, pa.Table) else manifest.manifest_table(entries)
        name = self.new_name("manifest")
        manifest.check_names(table, self.path(name))
        self._check_external(table, self.path(name))
        data = manifest.write_manifest(table, self._compression)
        self.file_io.write_bytes(self.path(name), data)
        self.cache(name, table)
        stats = partition_stats(table["partition"], self._schema.partition_fields)
        return manifest.describe_manifest(
            table, file_name=name, file_size=len(data), partition_stats=stats, schema_id=schema_id
        )

    def measure(self, entries: pa.Table) -> int:
        """Return the size in bytes of a manifest with these entries."""
        return len(manifest.write_manifest(entries, self._compression))

    def write_list(self, metas: Iterable[ManifestFileMeta]) -> tuple[str, int]:
        """Write a manifest list; return its name and size in bytes."""
        name, metas = self.new_name("manifest-list"), list(metas)
        data = manifest.write_manifest_list(metas, self._compression)
        self.file_io.write_bytes(self.path(name), data)
        list_cache().put((self.path(name), len(data)), metas)
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


class ExternalRoots:
    """The external directories of one table; old schemas are read only for a path that is below none known so far.

    A manifest may give a file an external path. Files are read and deleted there only if the path is below a directory
    that some schema of the table, of any branch, names in ``data-file.external-paths`` or
    ``global-index.external-path``, or that the statement's options name: files may be older than the current schema.
    The catalog's option ``external-paths.allowed-roots`` limits these directories.

    Args:
        file_io: the file system of the table.
        paths: the paths of any branch of the table.
        schema: the schema with the options of the statement.
        access: the catalog's policy.
    """

    def __init__(self, file_io: FileIO, paths: TablePaths, schema: TableSchema, access: ExternalAccess) -> None:
        self._access = access
        self._file_io = file_io
        self._paths = paths
        self._schema = schema

    def check(self, external_paths: pa.Array | pa.ChunkedArray, what: str, path: str) -> None:
        """Check that every path of a column is below an external directory; null is the table's directory.

        Args:
            external_paths: paths of files, without ``..``.
            what: kind of the files, for the error.
            path: the manifest that names them.

        Raises:
            UnsafePathError: a path is elsewhere.
        """
        if external_paths.null_count == len(external_paths):
            return
        unchecked = pc.unique(external_paths.drop_null())
        for root in self._own:
            unchecked = unchecked.filter(pc.invert(pc.starts_with(unchecked, f"{root}/")))
        for external_path in unchecked.to_pylist():
            if not any(is_under(external_path, root) for root in self._all()):
                limited = self._access.table_roots is not None
                and_allow = f" and list it in the catalog's '{EXTERNAL_ALLOWED_ROOTS.key}'" if limited else ""
                raise UnsafePathError(
                    f"it names {what} {external_path!r}, which is in no directory of the table",
                    path=path,
                    remedy=f"If its directory belongs to the table, set '{DATA_FILE_EXTERNAL_PATHS.key}' to"
                    f" it{and_allow}.",
                )

    def root_of(self, path: str) -> str | None:
        """Return the table's directory or the external one that a path is below; None without one."""
        if path.startswith(f"{self._paths.root}/"):
            return self._paths.root
        return next((root for root in self._all() if is_under(path, root)), None)

    @cached_property
    def _own(self) -> list[str]:
        return list(filter(self._access.allows_root, _directories(self._schema.options)))

    def _all(self) -> Iterator[str]:
        yield from self._own
        yield from self._of_all_schemas

    @cached_property
    def _of_all_schemas(self) -> list[str]:
        branches = [MAIN_BRANCH, *BranchManager(self._file_io, self._paths).names()]
        managers = (SchemaManager(self._file_io, self._paths.of_branch(b).branch_root) for b in branches)
        named = {root for m in managers for schema in m.all() for root in _directories(schema.options)}
        return sorted(filter(self._access.allows_root, named))


def data_directories(options: Mapping[str, str], access: ExternalAccess) -> list[str]:
    """Return the external directories of data files that options name and the catalog allows, without trailing slashes.

    Args:
        options: the options of a schema.
        access: the catalog's policy.
    """
    return list(filter(access.allows_root, _roots(options.get(DATA_FILE_EXTERNAL_PATHS.key, ""))))


def _roots(text: str) -> list[str]:
    return [root for part in text.split(",") if (root := part.strip().rstrip("/"))]


def _directories(options: Mapping[str, str]) -> list[str]:
    index = options.get(GLOBAL_INDEX_EXTERNAL_PATH.key, "").strip().rstrip("/")
    return [*_roots(options.get(DATA_FILE_EXTERNAL_PATHS.key, "")), *([index] if index else [])]
