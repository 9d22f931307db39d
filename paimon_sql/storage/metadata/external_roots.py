"""External directories: those outside of a table's own that may hold its files.

A manifest may give a file an external path. Files are read and deleted there only if the path is below a directory that
some schema of the table, of any branch, names in ``data-file.external-paths`` or ``global-index.external-path``, or
that the statement's options name: files may be older than the current schema. The catalog's option
``external-paths.allowed-roots`` limits these directories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsafePathError
from paimon_sql.format.layout.paths import MAIN_BRANCH, TablePaths
from paimon_sql.format.options.engines.catalog import EXTERNAL_ALLOWED_ROOTS
from paimon_sql.format.options.table.data_file import DATA_FILE_EXTERNAL_PATHS
from paimon_sql.format.options.table.index import GLOBAL_INDEX_EXTERNAL_PATH
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.external.policy import ExternalAccess
from paimon_sql.storage.file_io.paths import is_under
from paimon_sql.storage.metadata.refs.branches import BranchManager
from paimon_sql.storage.metadata.schemas import SchemaManager


class ExternalRoots:
    """The external directories of one table; old schemas are read only for a path that is below none known so far.

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
                    f"it names {what} {external_path!r}, which stands in no directory of the table",
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
