"""File groups of tables with data evolution, where the columns of a row are in several files.

Files with the same range of row ids form a group. A column is read from the newest file of its group that contains it,
and is null if none does. Blob files contain a part of the range each (spec: Data Evolution, File Group).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.errors import CorruptFileError, InvalidInputError
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED, ROW_TRACKING_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import TRACKED
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.table.table import Table

_BLOB_ENDING, _VECTOR_MARK = ".blob", ".vector."


class FileSet:
    """Something made of data files, such as a sorted run, a split, or a task that reads them."""

    files: Sequence[DataFileMeta]

    @property
    def size(self) -> int:
        """The size of the files in bytes."""
        return sum(f.file_size for f in self.files)


@dataclass(frozen=True)
class FileGroup(FileSet):
    """The files with the columns of some rows.

    Attributes:
        anchor: the oldest file with all the rows; deletion vectors refer to its name.
        files: the files to read, the newest first, blob and vector files last.
    """

    anchor: DataFileMeta
    files: tuple[DataFileMeta, ...]

    @property
    def first_row_id(self) -> int:
        """The row id of the first row; row ids are consecutive."""
        assert self.anchor.first_row_id is not None
        return self.anchor.first_row_id

    @property
    def row_count(self) -> int:
        """The number of rows, including deleted ones."""
        return self.anchor.row_count

    @property
    def size_of_rows(self) -> int:
        """The bytes of the files to read, without blob and vector files."""
        return sum(f.file_size for f in self.files if not is_dedicated(f.file_name))

    @property
    def sequence_number(self) -> int:
        """The snapshot id of the newest of the files to read."""
        return max(f.max_sequence_number for f in self.files or (self.anchor,))

    def holding(self, fields_of: Callable[[DataFileMeta], Sequence[DataField]], wanted: Collection[int]) -> FileGroup:
        """Return the group with only the files that contain a column of these field ids."""
        return replace(self, files=tuple(f for f in self.files if any(c.id in wanted for c in fields_of(f))))


def check_data_evolution(table: Table, what: str) -> None:
    """Check that the table has row tracking and data evolution.

    Args:
        table: the table.
        what: what needs it, in the plural, for the message.

    Raises:
        InvalidInputError: it has not.
    """
    for option in (ROW_TRACKING_ENABLED, DATA_EVOLUTION_ENABLED):
        if not table.options.get(option):
            raise InvalidInputError(
                f"{table.name} does not have '{option.key}' = 'true', which {what} need.",
                remedy=f"Create the table with both '{ROW_TRACKING_ENABLED.key}' and '{DATA_EVOLUTION_ENABLED.key}'.",
            )


def is_blob_file(file_name: str) -> bool:
    """Whether a file contains only a blob column, possibly of a part of its group's rows."""
    return file_name.endswith(_BLOB_ENDING)


def is_dedicated(file_name: str) -> bool:
    """Whether a file contains only a blob or vector column, possibly of a part of its group's rows."""
    return is_blob_file(file_name) or _VECTOR_MARK in file_name


def stored_fields(schema: TableSchema, file: DataFileMeta) -> tuple[DataField, ...]:
    """Return the columns of a file of an append table, given the schema that it was written with."""
    if file.write_cols is None:
        return schema.fields
    return tuple(f for f in (*schema.fields, *TRACKED) if f.name in file.write_cols)


def group_numbers(first: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the index of each file's group, in the order of row ids.

    Args:
        first: the first row ids; a file with a negative one is a group of its own.
        count: the row counts.
    """
    order = np.argsort(first, kind="stable")
    starts = first[order]
    ends = np.maximum.accumulate(np.where(starts < 0, starts, starts + count[order]))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (starts[1:] >= ends[:-1]) | (starts[1:] < 0)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(fresh) - 1
    return numbers


def groups_of_entries(entries: pa.Table) -> npt.NDArray[np.int64]:
    """Return the index of each manifest entry's group."""
    first = entries["first_row_id"].fill_null(-1).to_numpy().astype(np.int64, copy=False)
    return group_numbers(first, entries["row_count"].to_numpy().astype(np.int64, copy=False))


def groups_of_files(files: Sequence[DataFileMeta]) -> list[int]:
    """Return the index of each file's group."""
    first = np.array([-1 if f.first_row_id is None else f.first_row_id for f in files], dtype=np.int64)
    numbers: list[int] = group_numbers(first, np.array([f.row_count for f in files], dtype=np.int64)).tolist()
    return numbers


def file_groups(table: Table, files: Sequence[DataFileMeta]) -> tuple[list[FileGroup], list[DataFileMeta]]:
    """Group the files of one bucket by rows.

    Returns:
        The groups in the order of row ids, and the files without row ids in their metadata.

    Raises:
        CorruptFileError: the row ranges of files overlap but differ.
    """
    tracked = [f for f in files if f.first_row_id is not None]
    first = np.array([f.first_row_id for f in tracked], np.int64)
    counts = np.array([f.row_count for f in tracked], np.int64)
    members: dict[int, list[DataFileMeta]] = {}
    for number, file in zip(group_numbers(first, counts).tolist(), tracked, strict=True):
        members.setdefault(number, []).append(file)
    return [_group(table, members[n]) for n in sorted(members)], [f for f in files if f.first_row_id is None]


def _group(table: Table, files: Sequence[DataFileMeta]) -> FileGroup:
    data_files = sorted((f for f in files if not is_dedicated(f.file_name)), key=_age)
    dedicated = sorted((f for f in files if is_dedicated(f.file_name)), key=lambda f: (f.first_row_id, _age(f)))
    if not data_files:
        raise CorruptFileError(
            f"{table.name}: no data file holds the rows from id {dedicated[0].first_row_id} on.",
            path=dedicated[0].file_name,
        )
    anchor = data_files[0]
    assert anchor.first_row_id is not None
    end = anchor.first_row_id + anchor.row_count
    for file in data_files:
        if (file.first_row_id, file.row_count) != (anchor.first_row_id, anchor.row_count):
            raise CorruptFileError(
                f"{table.name}: its {file.row_count} rows from id {file.first_row_id} on overlap the {anchor.row_count}"
                f" from id {anchor.first_row_id} on of {anchor.file_name}, and are not the same.",
                path=file.file_name,
            )
    for file in dedicated:
        assert file.first_row_id is not None
        if file.first_row_id < anchor.first_row_id or file.first_row_id + file.row_count > end:
            raise CorruptFileError(
                f"{table.name}: it holds columns of rows that {anchor.file_name} does not have.", path=file.file_name
            )
    return FileGroup(anchor, (*reversed(data_files), *dedicated))


def _age(file: DataFileMeta) -> tuple[int, str]:
    return file.max_sequence_number, file.file_name
