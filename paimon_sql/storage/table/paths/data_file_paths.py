"""The paths of many data files at once, from the columns of manifests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.table.table import Table


def bucket_folders(table: Table, entries: pa.Table) -> pa.Array:
    """The folder of each file's bucket; a bucket's folder is worked out once.

    Args:
        table: the table.
        entries: files, with the columns ``partition`` and ``bucket`` of ``MANIFEST_SCHEMA``.
    """
    if not len(entries):
        return pa.array([], pa.string())
    partitions = _one(entries["partition"]).dictionary_encode()
    buckets = _one(entries["bucket"]).to_numpy().astype(np.int64)
    least = buckets.min()
    width = buckets.max() - least + 1
    owners = pa.array(partitions.indices.to_numpy() * width + (buckets - least)).dictionary_encode()
    known = [divmod(code, int(width)) for code in owners.dictionary.to_pylist()]
    folders = [table.locations.bucket(partitions.dictionary[p].as_py(), b + int(least)) for p, b in known]
    return pa.array(folders, pa.string()).take(owners.indices)


def data_file_paths(table: Table, entries: pa.Table) -> pa.Array:
    """The path of each file: its external path when it has one, else in its bucket's folder.

    Args:
        table: the table.
        entries: files, with the columns that `bucket_folders` needs, ``file_name`` and ``external_path``.
    """
    inside = pc.binary_join_element_wise(bucket_folders(table, entries), _one(entries["file_name"]), "/")
    return pc.coalesce(_one(entries["external_path"]), inside)


def extra_file_paths(table: Table, entries: pa.Table) -> pa.Array:
    """The paths of all extra files of data files: each beside the file that it belongs to.

    Args:
        table: the table.
        entries: files, with the columns that `data_file_paths` needs and ``extra_files``.
    """
    extras = _one(entries["extra_files"])
    names = pc.list_flatten(extras)
    if not len(names):
        return pa.array([], pa.string())
    owners = data_file_paths(table, entries).take(pc.list_parent_indices(extras))
    folders = pc.replace_substring_regex(owners, r"/[^/]*$", "")
    return pc.binary_join_element_wise(folders, names, "/")


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
