"""Paths of data files: of those in manifests, and of new ones in external directories."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import NotAllowedError
from paimon_sql.format.layout.external_paths import external_placer
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.catalog import EXTERNAL_ALLOWED_ROOTS
from paimon_sql.format.options.table import data_file
from paimon_sql.format.options.values import comma_separated
from paimon_sql.storage.expressions.kernels.sorting import combined
from paimon_sql.storage.file_io.paths import scheme_of
from paimon_sql.storage.metadata.definition import conflict
from paimon_sql.storage.table.table import Table


def bucket_folders(table: Table, entries: pa.Table) -> pa.Array:
    """Return the bucket directory of each file, computed once per bucket.

    Args:
        table: the table.
        entries: files, with the columns ``partition`` and ``bucket`` of ``MANIFEST_SCHEMA``.
    """
    if not len(entries):
        return pa.array([], pa.string())
    partitions = combined(entries["partition"]).dictionary_encode()
    buckets = combined(entries["bucket"]).to_numpy().astype(np.int64)
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
    inside = pc.binary_join_element_wise(bucket_folders(table, entries), combined(entries["file_name"]), "/")
    return pc.coalesce(combined(entries["external_path"]), inside)


def extra_file_paths(table: Table, entries: pa.Table) -> pa.Array:
    """Return the paths of all extra files of data files: each beside its data file.

    Args:
        table: the table.
        entries: files, with the columns of `data_file_paths` and ``extra_files``.
    """
    extras = combined(entries["extra_files"])
    names = pc.list_flatten(extras)
    if not len(names):
        return pa.array([], pa.string())
    owners = data_file_paths(table, entries).take(pc.list_parent_indices(extras))
    directories = pc.replace_substring_regex(owners, r"/[^/]*$", "")
    return pc.binary_join_element_wise(directories, names, "/")


def external_placement(options: TableOptions) -> tuple[str, tuple[str, ...], tuple[int, ...] | None]:
    """Return the strategy of a table for new files, its external directories, and their weights if it uses any.

    Without directories, files are in the table's own.

    Raises:
        InvalidOptionError: a directory has no scheme, none has the requested one, or weights do not match.
    """
    strategy = options.get(data_file.DATA_FILE_EXTERNAL_PATHS_STRATEGY)
    roots = tuple(root.rstrip("/") for root in comma_separated(options.get(data_file.DATA_FILE_EXTERNAL_PATHS)))
    if strategy == "none" or not roots:
        return "none", (), None
    if plain := [root for root in roots if ":" not in root.partition("/")[0]]:
        message = f"names '{plain[0]}', which has no scheme."
        raise conflict(data_file.DATA_FILE_EXTERNAL_PATHS, message, "Use file:///.. or s3://..")
    if strategy == "specific-fs":
        scheme = (options.get(data_file.DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS) or "").strip().lower()
        roots = tuple(root for root in roots if scheme_of(root) == scheme)
        if not roots:
            message = "must be the scheme of one of 'data-file.external-paths'."
            raise conflict(data_file.DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS, message, f"It is '{scheme}'.")
    return strategy, roots, (_weights(options, len(roots)) if strategy == "weight-robin" else None)


def external_place(table: Table, partition: bytes, bucket: int) -> Callable[[str], str] | None:
    """Return a function from the name of a bucket's new data file to its path; None if it is in the table's directory.

    Raises:
        InvalidOptionError: the table's options are invalid.
        NotAllowedError: its catalog does not allow the directory.
    """
    if table.options.get(data_file.DATA_FILE_EXTERNAL_PATHS_STRATEGY) == "none":
        return None
    strategy, roots, weights = external_placement(table.options)
    for root in roots:
        if not table.access.allows_root(root):
            raise NotAllowedError(
                f"{table.name}: no file may be written to '{root}'.",
                remedy=f"List it in the catalog's option '{EXTERNAL_ALLOWED_ROOTS.key}'.",
            )
    if (place := external_placer(strategy, roots, weights)) is None:
        return None
    directory = table.paths.relative_bucket(table.locations.partition(partition), bucket)
    return lambda name: place(directory, name)


def _weights(options: TableOptions, roots: int) -> tuple[int, ...] | None:
    text = options.get(data_file.DATA_FILE_EXTERNAL_PATHS_WEIGHTS)
    if text is None:
        return None
    parts = comma_separated(text)
    if len(parts) != roots or not all(part.isdecimal() and int(part) > 0 for part in parts):
        option, remedy = data_file.DATA_FILE_EXTERNAL_PATHS_WEIGHTS, f"Use {roots} positive integers."
        raise conflict(option, f"cannot be '{text}'.", remedy)
    return tuple(map(int, parts))
