"""The paths of data files: partition, bucket and file name put together."""

from __future__ import annotations

from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.layout.paths import TablePaths, beside, data_file
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.schema.schema import TableSchema


class Locations:
    """Where the files of each bucket of a table stand; a partition's path is worked out once."""

    def __init__(self, paths: TablePaths, schema: TableSchema) -> None:
        self.paths = paths
        self._partitions = PartitionPaths.of(schema)
        self._known: dict[bytes, str] = {}

    def partition(self, partition: bytes) -> str:
        """The partition's path below the table, such as ``dt=x/h=1``; empty without partitions.

        Args:
            partition: the serialised partition row.
        """
        if partition not in self._known:
            self._known[partition] = self._partitions.path(partition)
        return self._known[partition]

    def bucket(self, partition: bytes, bucket: int) -> str:
        """A bucket's folder."""
        return self.paths.bucket(self.partition(partition), bucket)

    def data_file(self, partition: bytes, bucket: int, file: DataFileMeta) -> str:
        """A data file's path."""
        return data_file(self.bucket(partition, bucket), file.file_name, file.external_path)

    def files_of(self, partition: bytes, bucket: int, file: DataFileMeta) -> list[str]:
        """The paths of a data file and of the extra files that belong to it."""
        return [self.data_file(partition, bucket, file), *self.extra_files_of(partition, bucket, file)]

    def extra_files_of(self, partition: bytes, bucket: int, file: DataFileMeta) -> list[str]:
        """The paths of the extra files that belong to a data file, such as its indexes."""
        folder = self.bucket(partition, bucket)
        return [beside(folder, name, file.external_path) for name in file.extra_files]
