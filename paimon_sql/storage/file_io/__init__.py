"""Access to files: one interface over local files, object stores and HDFS, selected by a path's scheme."""

from paimon_sql.storage.file_io.arrow import ArrowFileIO
from paimon_sql.storage.file_io.base import FileIO, FileStatus
from paimon_sql.storage.file_io.local import LocalFileIO
from paimon_sql.storage.file_io.resolving import ResolvingFileIO, file_io_of

__all__ = ["ArrowFileIO", "FileIO", "FileStatus", "LocalFileIO", "ResolvingFileIO", "file_io_of"]
