"""Files that hold the same rows: in tables with data evolution the columns of a row come from several files.

Files of the same range of row ids form a group. Each column is that of the newest file of its group that holds it, and
null where none does. Blobs lie in files of their own, each with a part of the range (spec: Data Evolution, File Group).
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


@dataclass(frozen=True)
class FileGroup:
    """The files that together hold some rows.

    Attributes:
        anchor: the oldest file that has all the rows; deletion vectors go by its name.
        files: those that are read, the newest first, files of blobs and vectors last.
    """

    anchor: DataFileMeta
    files: tuple[DataFileMeta, ...]

    @property
    def first_row_id(self) -> int:
        """The id of the first row; the others follow without a gap."""
        assert self.anchor.first_row_id is not None
        return self.anchor.first_row_id

    @property
    def row_count(self) -> int:
        """How many rows there are, deleted ones too."""
        return self.anchor.row_count

    @property
    def size(self) -> int:
        """The bytes of the files that are read."""
        return sum(f.file_size for f in self.files)

    @property
    def size_of_rows(self) -> int:
        """The bytes of the files that are read, those of blobs and vectors left aside."""
        return sum(f.file_size for f in self.files if not is_dedicated(f.file_name))

    @property
    def sequence_number(self) -> int:
        """The snapshot that changed the rows last, as far as the files that are read tell."""
        return max(f.max_sequence_number for f in self.files or (self.anchor,))

    def holding(self, fields_of: Callable[[DataFileMeta], Sequence[DataField]], wanted: Collection[int]) -> FileGroup:
        """The group with those files only that hold one of some columns, by their ids."""
        return replace(self, files=tuple(f for f in self.files if any(c.id in wanted for c in fields_of(f))))


def check_data_evolution(table: Table, what: str) -> None:
    """Nothing if a table's rows have ids and its columns files of their own.

    Args:
        table: the table.
        what: what needs that, in the plural.

    Raises:
        InvalidInputError: they have not.
    """
    for option in (ROW_TRACKING_ENABLED, DATA_EVOLUTION_ENABLED):
        if not table.options.get(option):
            raise InvalidInputError(
                f"{table.name} has not '{option.key}' = 'true', which {what} need.",
                remedy=f"Create the table with both '{ROW_TRACKING_ENABLED.key}' and '{DATA_EVOLUTION_ENABLED.key}'.",
            )


def has_data_evolution(table: Table) -> bool:
    """Whether rows of the table may lie in several files."""
    return bool(table.options.get(DATA_EVOLUTION_ENABLED))


def is_blob_file(file_name: str) -> bool:
    """Whether a file holds a column of blobs only, perhaps for a part of its group's rows."""
    return file_name.endswith(_BLOB_ENDING)


def is_dedicated(file_name: str) -> bool:
    """Whether a file holds a blob or a vector only, perhaps for a part of its group's rows."""
    return is_blob_file(file_name) or _VECTOR_MARK in file_name


def stored_fields(schema: TableSchema, file: DataFileMeta) -> tuple[DataField, ...]:
    """The columns of an append table's file that was written under a schema."""
    if file.write_cols is None:
        return schema.fields
    return tuple(f for f in (*schema.fields, *TRACKED) if f.name in file.write_cols)


def group_numbers(first: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The number of each file's group, in the order of row ids.

    Args:
        first: the files' first row ids; a file with a negative one stands alone.
        count: how many rows each has.
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
    """The number of the group of each of a table's manifest entries."""
    first = entries["first_row_id"].fill_null(-1).to_numpy().astype(np.int64, copy=False)
    return group_numbers(first, entries["row_count"].to_numpy().astype(np.int64, copy=False))


def file_groups(table: Table, files: Sequence[DataFileMeta]) -> tuple[list[FileGroup], list[DataFileMeta]]:
    """Files of one bucket by their rows.

    Returns:
        The groups in the order of row ids, and the files that have no row ids by their metadata.

    Raises:
        CorruptFileError: files of one group do not hold the same rows.
    """
    known = [f for f in files if f.first_row_id is not None]
    numbers = group_numbers(
        np.array([f.first_row_id for f in known], dtype=np.int64), np.array([f.row_count for f in known], np.int64)
    )
    members: dict[int, list[DataFileMeta]] = {}
    for i in np.argsort(numbers, kind="stable").tolist():
        members.setdefault(int(numbers[i]), []).append(known[i])
    return [_group(table, group) for group in members.values()], [f for f in files if f.first_row_id is None]


def _group(table: Table, files: Sequence[DataFileMeta]) -> FileGroup:
    whole = sorted((f for f in files if not is_dedicated(f.file_name)), key=_age)
    parts = sorted((f for f in files if is_dedicated(f.file_name)), key=lambda f: (f.first_row_id, _age(f)))
    if not whole:
        raise CorruptFileError(
            f"{table.name}: no data file holds the rows from id {parts[0].first_row_id} on.", path=parts[0].file_name
        )
    anchor = whole[0]
    assert anchor.first_row_id is not None
    end = anchor.first_row_id + anchor.row_count
    for file in whole:
        if (file.first_row_id, file.row_count) != (anchor.first_row_id, anchor.row_count):
            raise CorruptFileError(
                f"{table.name}: its {file.row_count} rows from id {file.first_row_id} on overlap the {anchor.row_count}"
                f" from id {anchor.first_row_id} on of {anchor.file_name}, and are not the same.",
                path=file.file_name,
            )
    for file in parts:
        assert file.first_row_id is not None
        if file.first_row_id < anchor.first_row_id or file.first_row_id + file.row_count > end:
            raise CorruptFileError(
                f"{table.name}: it holds columns of rows that {anchor.file_name} does not have.", path=file.file_name
            )
    return FileGroup(anchor, (*reversed(whole), *parts))


def _age(file: DataFileMeta) -> tuple[int, str]:
    return file.max_sequence_number, file.file_name
