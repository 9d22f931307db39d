"""Splits of a table with data evolution: groups of files, each with the files that are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.row_tracking import BLOB_AS_DESCRIPTOR, BLOB_SPLIT_BY_FILE_SIZE
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.file_groups import FileGroup, file_groups, group_numbers, stored_fields
from paimon_sql.storage.data_files.packing import pack
from paimon_sql.storage.scan.split import ChangelogSplit, DataEvolutionSplit, Split
from paimon_sql.storage.scan.split_size import SplitSize
from paimon_sql.storage.table.table import Table


def data_evolution_splits(
    table: Table,
    bucket: tuple[bytes, int],
    files: Sequence[DataFileMeta],
    columns: Collection[str] | None,
    sizes: SplitSize,
    is_wanted: Callable[[DataFileMeta], bool],
) -> Iterable[Split]:
    """The splits of a bucket: single files are raw; groups hold the files with columns that are read.

    Args:
        table: the table.
        bucket: partition and bucket.
        files: the files of the bucket.
        columns: the names of the columns that are read; all by default.
        sizes: the size of the splits.
        is_wanted: whether a file is read; a group is read if one of its files is.
    """
    known, alone = file_groups(table, files)
    needed = [needed_files(table, g, columns) for g in known if any(map(is_wanted, g.files))]
    several = [g for g in needed if g.files != (g.anchor,)]
    alone = [*(g.anchor for g in needed if g.files == (g.anchor,)), *filter(is_wanted, alone)]
    for part in pack(alone, lambda f: f.file_size, sizes.target, sizes.open_cost):
        yield Split(*bucket, tuple(part), raw=True)
    by_all = table.options.get(BLOB_SPLIT_BY_FILE_SIZE)
    if by_all is None:
        by_all = not table.options.get(BLOB_AS_DESCRIPTOR)  # descriptors are read without the blobs' bytes
    weight = (lambda g: g.size) if by_all else (lambda g: g.size_of_rows)
    for packed in pack(several, weight, sizes.target, sizes.open_cost):
        yield DataEvolutionSplit(*bucket, tuple(f for g in packed for f in g.files), raw=False, groups=tuple(packed))


def needed_files(table: Table, group: FileGroup, columns: Collection[str] | None) -> FileGroup:
    """The group with the files that hold one of the columns; with all files if no column of the table is read."""
    wanted = {f.id for f in table.schema.fields if columns is None or f.name in columns}
    if not wanted:
        return group

    def fields_of(file: DataFileMeta) -> Sequence[DataField]:
        return stored_fields(table.schemas.get(file.schema_id), file)

    return group.holding(fields_of, wanted)


def complete_and_partial(table: Table, files: Sequence[DataFileMeta]) -> tuple[list[DataFileMeta], list[DataFileMeta]]:
    """Divide one commit's files: those that together hold complete rows, and those that hold only some columns."""
    missing: dict[int, set[str]] = {}
    numbers = group_numbers(
        np.array([-1 if f.first_row_id is None else f.first_row_id for f in files], dtype=np.int64),
        np.array([f.row_count for f in files], dtype=np.int64),
    ).tolist()
    for number, file in zip(numbers, files, strict=True):
        names = table.schemas.get(file.schema_id).names
        missing.setdefault(number, set(names)).difference_update(names if file.write_cols is None else file.write_cols)
    numbered = list(zip(numbers, files, strict=True))
    return [f for number, f in numbered if not missing[number]], [f for number, f in numbered if missing[number]]


def added_splits(table: Table, bucket: tuple[bytes, int], files: Sequence[DataFileMeta], size: int) -> Iterable[Split]:
    """The splits of the files that one commit added to a bucket, which must hold complete rows.

    Args:
        table: the table.
        bucket: partition and bucket.
        files: the files.
        size: the bytes of one split.

    Raises:
        UnsupportedError: files hold only some columns, of existing rows: read alone, they would give incomplete rows.
    """
    if complete_and_partial(table, files)[1]:
        raise UnsupportedError(
            f"{table.name}: columns were changed in files of their own (data evolution), so the changes cannot be told"
            " row by row.",
            remedy="Read the table itself, or changes of a time in which rows were only added, or use Spark's CHANGES.",
        )
    known, alone = file_groups(table, files)
    alone = [*alone, *(g.anchor for g in known if g.files == (g.anchor,))]
    for part in pack(alone, lambda f: f.file_size, size, 0):
        yield ChangelogSplit(*bucket, tuple(part), False)
    for packed in pack([g for g in known if g.files != (g.anchor,)], lambda g: g.size, size, 0):
        yield DataEvolutionSplit(*bucket, tuple(f for g in packed for f in g.files), raw=False, groups=tuple(packed))
