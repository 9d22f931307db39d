"""Merging of manifests: the entries that remain when deletes cancel adds, in the order of the commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import PaimonError

_ADD, _DELETE = 0, 1
_IDENTITY = ("file_name", "bucket", "level", "partition", "embedded_index", "external_path")


def merge_entries(tables: Sequence[pa.Table], *, unmatched: Literal["refuse", "keep", "drop"] = "refuse") -> pa.Table:
    """The entries that remain when every DELETE cancels the ADD of its file, in their order.

    Two entries refer to the same file if partition, bucket, level, name, extra files, embedded index and external path
    are equal. A file that is added, deleted and added again has the position of its last ADD.

    Args:
        tables: manifests as tables of `MANIFEST_SCHEMA`, in the order of the commits.
        unmatched: how to treat a DELETE whose ADD is in none of the tables. All manifests of a snapshot must not have
            one (``refuse``), some of them may: a rewrite of manifests must ``keep`` it, a scan of selected files can
            ``drop`` it.

    Raises:
        PaimonError: a file is added while it exists, or a DELETE is unmatched and ``unmatched`` is ``refuse``.
    """
    if not tables:
        raise ValueError("no manifest was given")
    table = pa.concat_tables(tables).combine_chunks()
    if not pc.any(pc.equal(table["kind"], _DELETE)).as_py() and _distinct(table):
        return table
    kinds = table["kind"].to_numpy()
    files = _file_numbers(table)
    order = np.argsort(files, kind="stable")
    sorted_files = files[order]
    starts = np.flatnonzero(np.r_[True, sorted_files[1:] != sorted_files[:-1]])
    sizes = np.diff(np.r_[starts, len(order)])
    # Entries of one file must alternate: the 1st adds it, the 2nd deletes it, the 3rd adds it again.
    turn = np.arange(len(order)) - np.repeat(starts, sizes)
    again = order[(turn % 2 == 1) & (kinds[order] == _ADD)]
    if len(again):
        raise PaimonError(f"{_describe(table, again.min())} is added although the table holds it already.")
    remaining = np.sort(order[(starts + sizes - 1)[sizes % 2 == 1]])
    deletes = remaining[kinds[remaining] == _DELETE]
    if unmatched == "refuse" and len(deletes):
        raise PaimonError(
            f"{_describe(table, deletes.min())} is deleted although the table does not hold it.",
            remedy="Another job may have compacted or overwritten the same files: read the table again.",
        )
    if unmatched == "drop":
        remaining = remaining[kinds[remaining] == _ADD]
    return table if len(remaining) == len(table) else table.take(pa.array(remaining))


def _distinct(table: pa.Table) -> bool:
    return bool(pc.count_distinct(table["file_name"]).as_py() == len(table))


def _file_numbers(table: pa.Table) -> npt.NDArray[np.int64]:
    """A number per entry; equal for entries of the same file."""
    numbers: npt.NDArray[np.int64] = np.zeros(len(table), np.int64)
    for column in (*(table[name] for name in _IDENTITY), *_lists_as_scalars(table["extra_files"])):
        codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
        top = int(codes.max(initial=0))
        if top:
            numbers = np.unique(numbers * (top + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return numbers


def _lists_as_scalars(lists: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Two columns that are both equal in two rows exactly if the lists of names are."""
    return pc.list_value_length(lists), pc.binary_join(lists, "\0")


def _describe(table: pa.Table, index: int) -> str:
    entry = table.slice(index, 1).to_pylist()[0]
    return f"The file {entry['file_name']} of bucket {entry['bucket']} on level {entry['level']}"
