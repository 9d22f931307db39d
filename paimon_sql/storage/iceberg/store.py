"""The folder of a table's Iceberg metadata: versions of the table metadata, a hint, manifests and their lists."""

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
"""What Java's connector leaves when a rollback begins, for the next commit to look for abandoned versions."""
_VERSION = re.compile(r"v(\d+)\.metadata\.json")
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_OWN = re.compile(rf"v\d+\.metadata\.json|{_UUID}-m\d+\.avro|snap-\d+-{_UUID}\.avro|{re.escape(HINT)}|{RETIRE_PENDING}")
"""The names of files of metadata, ours and those of Java's connector; nothing else is ever deleted."""


class MetadataStore:
    """Reads and writes the files of such a folder.

    Args:
        file_io: the file system.
        folder: the folder.
    """

    def __init__(self, file_io: FileIO, folder: str) -> None:
        self.file_io = file_io
        self.folder = folder
        self._run = uuid.uuid4()
        self._made = 0

    def path(self, name: str) -> str:
        """Where a file stands; of a whole path, its name counts alone."""
        return f"{self.folder}/{name_of(name)}"

    def version_path(self, version: int) -> str:
        """Where a version of the table metadata stands."""
        return self.path(f"v{version}.metadata.json")

    def versions(self) -> list[int]:
        """The versions that are there, in order."""
        found = (_VERSION.fullmatch(s.name) for s in self.file_io.list(self.folder) if not s.is_dir)
        return sorted(int(match[1]) for match in found if match)

    def read(self, version: int) -> TableMetadata | None:
        """A version of the table metadata; None if it is not there or damaged, so that it must be made anew."""
        path = self.version_path(version)
        try:
            return parse_table_metadata(self.file_io.read_bytes(path), path)
        except (MissingFileError, CorruptFileError):
            return None

    def write_version(self, version: int, metadata: TableMetadata, replaced: TableMetadata | None) -> bool:
        """Write a version of the table metadata: False if another process made it meanwhile.

        Args:
            version: its number.
            metadata: its content.
            replaced: what is there under that number already and is to be replaced; None if nothing is.
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
        """The version that readers look at first; None without a readable hint."""
        with suppress(MissingFileError, ValueError):
            return int(self.file_io.read_bytes(self.path(HINT)))
        return None

    def write_hint(self, version: int) -> None:
        """Let readers look at a version first."""
        self.file_io.write_bytes(self.path(HINT), str(version).encode())

    def write_manifest(self, data: bytes) -> str:
        """Write a manifest; its path."""
        self._made += 1
        path = self.path(f"{self._run}-m{self._made}.avro")
        self.file_io.write_bytes(path, data)
        return path

    def write_list(self, data: bytes) -> str:
        """Write a manifest list; its path."""
        self._made += 1
        path = self.path(f"snap-{self._made}-{self._run}.avro")
        self.file_io.write_bytes(path, data)
        return path

    def read_list(self, path: str) -> list[ManifestFile]:
        """The manifests that a list names."""
        own = self.path(path)
        return read_manifest_list(self.file_io.read_bytes(own), own)

    def read_manifest(self, path: str) -> tuple[bytes, str]:
        """A manifest's bytes, and where it stands."""
        own = self.path(path)
        return self.file_io.read_bytes(own), own

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files of metadata; those that are gone are passed over, and so are other files."""
        names = {name_of(path) for path in paths}
        self.file_io.delete_many(sorted(self.path(name) for name in names if _OWN.fullmatch(name)))

    def delete_versions(self, versions: Iterable[int]) -> None:
        """Remove versions of the table metadata."""
        self.delete([self.version_path(v) for v in versions])

    def clear(self) -> None:
        """Remove all files of metadata."""
        self.delete(status.name for status in self.file_io.list(self.folder) if not status.is_dir)
        self.file_io.delete_dir(self.folder)
