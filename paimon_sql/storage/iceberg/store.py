"""The directory of a table's Iceberg metadata: versions of table metadata, a version hint, manifests."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from contextlib import suppress

from paimon_sql.errors import CorruptFileError, MissingFileError, UnsupportedError
from paimon_sql.format.iceberg.manifests import ManifestFile, read_manifest_list
from paimon_sql.format.iceberg.table_metadata import TableMetadata, parse_table_metadata
from paimon_sql.storage.file_io import FileIO
from paimon_sql.storage.file_io.paths import name_of

HINT = "version-hint.text"
RETIRE_PENDING = "retire-pending"
"""A marker of Java's connector for a rollback, after which the next commit looks for abandoned versions."""
_VERSION = re.compile(r"v(\d+)\.metadata\.json")
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_OWN = re.compile(rf"v\d+\.metadata\.json|{_UUID}-m\d+\.avro|snap-\d+-{_UUID}\.avro|{re.escape(HINT)}|{RETIRE_PENDING}")
"""Names of metadata files, ours and those of Java's connector; no others are ever deleted."""


class MetadataStore:
    """Reads and writes the files of a metadata directory.

    Args:
        file_io: the file system.
        folder: the directory.
    """

    def __init__(self, file_io: FileIO, folder: str) -> None:
        self.file_io = file_io
        self.folder = folder
        self._run = uuid.uuid4()
        self._made = 0

    def path(self, name: str) -> str:
        """Return the path of a file, by its name or by the name in a path."""
        return f"{self.folder}/{name_of(name)}"

    def version_path(self, version: int) -> str:
        """Return the path of a version of the table metadata."""
        return self.path(f"v{version}.metadata.json")

    def versions(self) -> list[int]:
        """Return the existing versions, ascending."""
        found = (_VERSION.fullmatch(s.name) for s in self.file_io.list(self.folder) if not s.is_dir)
        return sorted(int(match[1]) for match in found if match)

    def read(self, version: int) -> TableMetadata | None:
        """Read a version of the table metadata; None if it is missing or corrupt, and must be rebuilt."""
        path = self.version_path(version)
        try:
            return parse_table_metadata(self.file_io.read_bytes(path), path)
        except (MissingFileError, CorruptFileError):
            return None

    def write_version(self, version: int, metadata: TableMetadata, replaced: TableMetadata | None) -> bool:
        """Write a version of the table metadata; return False if another process wrote it concurrently.

        Args:
            version: the version.
            metadata: its content.
            replaced: the existing content to replace; None if the version must not exist.
        """
        path, data = self.version_path(version), metadata.to_json().encode()
        if replaced is not None or version in self.versions():
            if self.read(version) != replaced:
                return False
            self.file_io.write_bytes(path, data)
            return True
        try:
            return self.file_io.try_create_exclusive(path, data)
        except UnsupportedError:
            self.file_io.write_bytes(path, data)
            return True

    def hint(self) -> int | None:
        """Return the version in the version hint; None without a readable hint."""
        with suppress(MissingFileError, ValueError):
            return int(self.file_io.read_bytes(self.path(HINT)))
        return None

    def write_hint(self, version: int) -> None:
        """Write the version hint, which is the version that readers open first."""
        self.file_io.write_bytes(self.path(HINT), str(version).encode())

    def write_manifest(self, data: bytes) -> str:
        """Write a manifest; return its path."""
        self._made += 1
        return self._written(f"{self._run}-m{self._made}.avro", data)

    def write_list(self, data: bytes) -> str:
        """Write a manifest list; return its path."""
        self._made += 1
        return self._written(f"snap-{self._made}-{self._run}.avro", data)

    def _written(self, name: str, data: bytes) -> str:
        path = self.path(name)
        self.file_io.write_bytes(path, data)
        return path

    def read_list(self, path: str) -> list[ManifestFile]:
        """Read the manifests of a manifest list."""
        own = self.path(path)
        return read_manifest_list(self.file_io.read_bytes(own), own)

    def read_manifest(self, path: str) -> tuple[bytes, str]:
        """Read the bytes of a manifest; return them with its path."""
        own = self.path(path)
        return self.file_io.read_bytes(own), own

    def delete(self, paths: Iterable[str]) -> None:
        """Delete metadata files; missing ones and other files are ignored."""
        names = {name_of(path) for path in paths}
        self.file_io.delete_many(sorted(self.path(name) for name in names if _OWN.fullmatch(name)))

    def clear(self) -> None:
        """Delete all metadata files."""
        self.delete(status.name for status in self.file_io.list(self.folder) if not status.is_dir)
        self.file_io.delete_dir(self.folder)
