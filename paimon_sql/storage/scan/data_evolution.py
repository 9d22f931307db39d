"""The splits of a table with data evolution: groups of files, with those of their files that are needed."""

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
    place: tuple[bytes, int],
    files: Sequence[DataFileMeta],
    columns: Collection[str] | None,
    sizes: SplitSize,
    is_wanted: Callable[[DataFileMeta], bool],
) -> Iterable[Split]:
    """The splits of a bucket: files that stand alone are raw, groups of files come with those that are needed.

    Args:
        table: the table.
        place: the partition and the bucket.
        files: the files of the bucket.
        columns: the names of the columns that are read; all by default.
        sizes: how large the splits are.
        is_wanted: tells of a file whether it is read; a group is if one of its files is.
    """
    known, alone = file_groups(table, files)
    needed = [needed_files(table, g, columns) for g in known if any(map(is_wanted, g.files))]
    several = [g for g in needed if g.files != (g.anchor,)]
    alone = [*(g.anchor for g in needed if g.files == (g.anchor,)), *filter(is_wanted, alone)]
    for part in pack(alone, lambda f: f.file_size, sizes.target, sizes.open_cost):
        yield Split(*place, tuple(part), raw=True)
    by_all = table.options.get(BLOB_SPLIT_BY_FILE_SIZE)
    if by_all is None:
        by_all = not table.options.get(BLOB_AS_DESCRIPTOR)  # blobs that are not read take no time
    weight = (lambda g: g.size) if by_all else (lambda g: g.size_of_rows)
    for packed in pack(several, weight, sizes.target, sizes.open_cost):
        yield DataEvolutionSplit(*place, tuple(f for g in packed for f in g.files), raw=False, groups=tuple(packed))


def needed_files(table: Table, group: FileGroup, columns: Collection[str] | None) -> FileGroup:
    """The group with the files that hold one of the columns; with all of them where none of the table's is read."""
    wanted = {f.id for f in table.schema.fields if columns is None or f.name in columns}
    if not wanted:
        return group

    def fields_of(file: DataFileMeta) -> Sequence[DataField]:
        return stored_fields(table.schemas.get(file.schema_id), file)

    return group.holding(fields_of, wanted)


def whole_and_beside(table: Table, files: Sequence[DataFileMeta]) -> tuple[list[DataFileMeta], list[DataFileMeta]]:
    """Files that one commit brought: those that together hold whole rows, and those that hold some of their columns."""
    left: dict[int, set[str]] = {}
    numbers = group_numbers(
        np.array([-1 if f.first_row_id is None else f.first_row_id for f in files], dtype=np.int64),
        np.array([f.row_count for f in files], dtype=np.int64),
    ).tolist()
    for number, file in zip(numbers, files, strict=True):
        names = table.schemas.get(file.schema_id).names
        left.setdefault(number, set(names)).difference_update(names if file.write_cols is None else file.write_cols)
    numbered = list(zip(numbers, files, strict=True))
    return [f for number, f in numbered if not left[number]], [f for number, f in numbered if left[number]]


def grown_splits(table: Table, place: tuple[bytes, int], files: Sequence[DataFileMeta], size: int) -> Iterable[Split]:
    """The splits of files that one commit brought to a bucket, which must hold whole rows.

    Args:
        table: the table.
        place: the partition and the bucket.
        files: the files.
        size: the bytes that one reader takes.

    Raises:
        UnsupportedError: files hold some columns of rows that were there before: told alone, they would give rows that
            there are not.
    """
    if whole_and_beside(table, files)[1]:
        raise UnsupportedError(
            f"{table.name}: columns were changed in files of their own (data evolution), so the changes cannot be told"
            " row by row.",
            remedy="Read the table itself, or changes of a time in which rows were only added, or use Spark's CHANGES.",
        )
    known, alone = file_groups(table, files)
    alone = [*alone, *(g.anchor for g in known if g.files == (g.anchor,))]
    for part in pack(alone, lambda f: f.file_size, size, 0):
        yield ChangelogSplit(*place, tuple(part), False)
    for packed in pack([g for g in known if g.files != (g.anchor,)], lambda g: g.size, size, 0):
        yield DataEvolutionSplit(*place, tuple(f for g in packed for f in g.files), raw=False, groups=tuple(packed))
