"""Vectorized paths of data files, from the columns of manifests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.table.table import Table


def bucket_folders(table: Table, entries: pa.Table) -> pa.Array:
    """Return the bucket directory of each file, computed once per bucket.

    Args:
        table: the table.
        entries: files, with the columns ``partition`` and ``bucket`` of ``MANIFEST_SCHEMA``.
    """
    if not len(entries):
        return pa.array([], pa.string())
    partitions = _combined(entries["partition"]).dictionary_encode()
    buckets = _combined(entries["bucket"]).to_numpy().astype(np.int64)
    min_bucket = buckets.min()
    width = buckets.max() - min_bucket + 1
    owners = pa.array(partitions.indices.to_numpy() * width + (buckets - min_bucket)).dictionary_encode()
    distinct = [divmod(code, int(width)) for code in owners.dictionary.to_pylist()]
    directories = [table.locations.bucket(partitions.dictionary[p].as_py(), b + int(min_bucket)) for p, b in distinct]
    return pa.array(directories, pa.string()).take(owners.indices)


def data_file_paths(table: Table, entries: pa.Table) -> pa.Array:
    """Return the path of each file: its external path if it has one, else a path in its bucket's directory.

    Args:
        table: the table.
        entries: files, with the columns of `bucket_folders`, ``file_name`` and ``external_path``.
    """
    inside = pc.binary_join_element_wise(bucket_folders(table, entries), _combined(entries["file_name"]), "/")
    return pc.coalesce(_combined(entries["external_path"]), inside)


def extra_file_paths(table: Table, entries: pa.Table) -> pa.Array:
    """Return the paths of all extra files of data files: each beside its data file.

    Args:
        table: the table.
        entries: files, with the columns of `data_file_paths` and ``extra_files``.
    """
    extras = _combined(entries["extra_files"])
    names = pc.list_flatten(extras)
    if not len(names):
        return pa.array([], pa.string())
    owners = data_file_paths(table, entries).take(pc.list_parent_indices(extras))
    directories = pc.replace_substring_regex(owners, r"/[^/]*$", "")
    return pc.binary_join_element_wise(directories, names, "/")


def _combined(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
