"""Files that snapshots use: live data files, possibly restricted to some, and metadata files, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, UnsafePathError
from paimon_sql.format.metadata.data_file import FileSource
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind, ManifestFileMeta
from paimon_sql.format.metadata.snapshot import Changelog, Snapshot
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

FILE_COLUMNS = ("partition", "bucket", "file_name", "file_size", "external_path", "extra_files", "file_source")
"""The manifest columns that an expiration needs of a data file."""
_THREADS = 8
_NAMES = pa.schema([MANIFEST_SCHEMA.field("kind"), MANIFEST_SCHEMA.field("file_name")])

Lists = dict[str, list[ManifestFileMeta] | None]
"""Manifest lists that were read, by name; None for a missing or corrupt one."""

A = TypeVar("A")
R = TypeVar("R")


class UsedFiles:
    """The files that snapshots use; every manifest list and manifest is read only once.

    Args:
        table: the table, any branch of it.
        names: the names of data files and extra files to look for; None for all.
    """

    def __init__(self, table: Table, names: pa.Array | None = None) -> None:
        self._table = table
        self._names = names
        self._lists: dict[str, list[ManifestFileMeta]] = {}
        self._entries: dict[str, pa.Table] = {}

    def prefetch(self, snapshots: Iterable[Snapshot]) -> None:
        """Read the manifest lists of snapshots in parallel; missing ones are reported when they are needed."""
        names = {n for s in snapshots for n in (s.base_manifest_list, s.delta_manifest_list, s.changelog_manifest_list)}
        self._lists.update(lists_that_are_left(self._table, names))

    def live(self, snapshot: Snapshot) -> set[str]:
        """Return the names of a snapshot's live data files and extra files, among those looked for.

        A file is live if it was added more often than deleted, on any level: to move to another level, or to get
        another index, it is deleted and added again.

        Raises:
            MissingFileError: a manifest is missing, so that the live files are unknown.
        """
        if self._names is not None and not len(self._names):
            return set()
        metas = self.manifests(snapshot)
        unknown = [m.file_name for m in metas if m.file_name not in self._entries]
        for name, entries in zip(unknown, _each(self._table, self._table.manifests.read, unknown), strict=True):
            self._entries[name] = self._filtered(entries)
        entries = pa.concat_tables([_NAMES.empty_table(), *(self._entries[m.file_name] for m in metas)])
        if not len(entries):
            return set()
        files = entries["file_name"].combine_chunks().dictionary_encode()
        sign = np.where(entries["kind"].to_numpy() == int(FileKind.ADD), 1, -1)
        counts = np.bincount(files.indices.to_numpy(), weights=sign)
        return set(files.dictionary.filter(pa.array(counts > 0)).to_pylist())

    def metadata(self, snapshot: Snapshot, *, changelog: bool = False) -> set[str]:
        """Return the names of the metadata files that a snapshot uses: lists, manifests, indexes and statistics.

        Args:
            snapshot: the snapshot.
            changelog: whether to include those of its changelog that exist: the snapshot of a tag may have outlived
                them.

        Raises:
            MissingFileError: one of them that lists others is missing.
        """
        names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        names.update(m.file_name for m in self.manifests(snapshot))
        if changelog and snapshot.changelog_manifest_list:
            lists = lists_that_are_left(self._table, [snapshot.changelog_manifest_list])
            names.update(lists, (m.file_name for metas in lists.values() for m in metas))
        if snapshot.index_manifest:
            names.add(snapshot.index_manifest)
            names.update(e.file.file_name for e in index_entries(self._table, snapshot))
        if snapshot.statistics:
            names.add(snapshot.statistics)
        return names

    def manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """Return the manifests of a snapshot."""
        return [*self._list(snapshot.base_manifest_list), *self._list(snapshot.delta_manifest_list)]

    def _list(self, name: str) -> list[ManifestFileMeta]:
        if name not in self._lists:
            self._lists[name] = self._table.manifests.read_list(name)
        return self._lists[name]

    def _filtered(self, entries: pa.Table) -> pa.Table:
        owners = pc.list_parent_indices(entries["extra_files"].combine_chunks())
        kinds = entries["kind"].combine_chunks()
        names = pa.table([pa.concat_arrays([kinds, kinds.take(owners)]), named_files(entries)], schema=_NAMES)
        return names if self._names is None else names.filter(pc.is_in(names["file_name"], value_set=self._names))


def named_files(entries: pa.Table) -> pa.Array:
    """Return the names of data files, followed by those of their extra files, such as indexes."""
    extras = pc.list_flatten(entries["extra_files"].combine_chunks())
    return pa.concat_arrays([entries["file_name"].combine_chunks(), extras])


def live_entries(table: Table, snapshot: Snapshot) -> pa.Table:
    """Return the entries of a snapshot's live files; none if a metadata file is missing, as then they are unknown."""
    used = UsedFiles(table)
    try:
        live = pa.array(list(used.live(snapshot)), pa.string())
        parts = _each(table, table.manifests.read, [m.file_name for m in used.manifests(snapshot)])
    except UnsafePathError:
        raise  # crafted to have other files deleted
    except (MissingFileError, CorruptFileError):
        return MANIFEST_SCHEMA.empty_table()
    entries = pa.concat_tables([MANIFEST_SCHEMA.empty_table(), *parts])
    return entries.filter(pc.is_in(entries["file_name"], value_set=live))


def changelog_data(table: Table, changelog: Changelog) -> set[str]:
    """Return the names of a changelog's files, and of their extra files.

    These are its changelog files, otherwise the new rows of its commit. Files of compactions are not new rows; they
    expire with the snapshots.
    """
    changelog_list = changelog.changelog_manifest_list
    name = changelog_list or changelog.delta_manifest_list
    entries = manifests_that_are_left(table, lists_that_are_left(table, [name]).get(name, []))
    added = [with_kind(e, FileKind.ADD) for e in entries]
    return {n for e in added for n in named_files(e if changelog_list else new_rows(e)).to_pylist()}


def new_rows(entries: pa.Table) -> pa.Table:
    """Return the entries of files that were not written by compactions."""
    source = pc.fill_null(entries["file_source"], int(FileSource.APPEND))
    return entries.filter(pc.not_equal(source, int(FileSource.COMPACT)))


def changelog_metadata(table: Table, changelog: Changelog) -> set[str]:
    """Return the names of the manifest lists and manifests that a changelog needs."""
    changelog_list = changelog.changelog_manifest_list
    lists = lists_that_are_left(
        table, [changelog_list] if changelog_list else [changelog.base_manifest_list, changelog.delta_manifest_list]
    )
    return {*lists, *(meta.file_name for metas in lists.values() for meta in metas)}


def with_kind(entries: pa.Table, kind: FileKind) -> pa.Table:
    """Return the entries that add, or those that delete."""
    return entries.filter(pc.equal(entries["kind"], int(kind)))


def lists_that_are_left(
    table: Table, names: Iterable[str | None], known: Lists | None = None
) -> dict[str, list[ManifestFileMeta]]:
    """Return the manifests of manifest lists, by list, without missing or corrupt lists.

    For files that are deleted anyway: an interrupted run has deleted some already, in an order that leaves no file only
    they refer to.

    Args:
        table: the table.
        names: the names of the lists.
        known: lists that were read before, which are not read again; those read now are added.
    """
    known, names = {} if known is None else known, list(names)
    unread = sorted({name for name in names if name and name not in known})
    found = _each(table, lambda name: _if_left(table.manifests.read_list_once, name), unread)
    known.update(zip(unread, found, strict=True))
    existing = ((name, known[name]) for name in dict.fromkeys(names) if name)
    return {name: metas for name, metas in existing if metas is not None}


def manifests_that_are_left(table: Table, metas: Sequence[ManifestFileMeta]) -> list[pa.Table]:
    """Return the entries of manifests, with their kinds and `FILE_COLUMNS`, without missing or corrupt manifests."""
    found = _each(table, lambda meta: _if_left(table.manifests.read_once, meta.file_name), metas)
    return [entries.select(["kind", *FILE_COLUMNS]) for entries in found if entries is not None]


def _if_left(read: Callable[[str], R], name: str) -> R | None:
    try:
        return read(name)
    except UnsafePathError:
        raise
    except (MissingFileError, CorruptFileError):
        return None


def _each(table: Table, function: Callable[[A], R], items: Sequence[A]) -> list[R]:
    return map_in_threads(function, items, table.file_io.threads_for(table.path, len(items), _THREADS))
