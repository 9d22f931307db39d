"""A local file system that stops at any change, those of folders among them, and one that cannot rename folders."""

from __future__ import annotations

from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.interrupted_io import InterruptedFileIO


class InterruptedFolders(InterruptedFileIO):
    """Counts renaming too, and the removal of a folder file by file."""

    def rename(self, src: str, dst: str) -> bool:
        self._step()
        return super().rename(src, dst)

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        for status in list(self.walk(path)) if recursive else ():
            self.delete(status.path)
        self._step()
        return super().delete_dir(path, recursive)


class ObjectStoreIO(LocalFileIO):
    """Takes itself for an object store."""

    def is_object_store(self, path: str) -> bool:
        return True
