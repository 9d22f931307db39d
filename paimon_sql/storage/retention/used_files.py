"""What a snapshot uses: its live data files, among some that are asked for, and its metadata files, by name."""

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
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

FILE_COLUMNS = ("partition", "bucket", "file_name", "file_size", "external_path", "extra_files", "file_source")
"""The columns of manifests that expiry needs of a data file."""
_THREADS = 8
_NAMES = pa.schema([MANIFEST_SCHEMA.field("kind"), MANIFEST_SCHEMA.field("file_name")])

Lists = dict[str, list[ManifestFileMeta] | None]
"""Manifest lists that were read, by name; None for one that is gone or broken."""

A = TypeVar("A")
R = TypeVar("R")


class UsedFiles:
    """Tells what snapshots use; every list and manifest is read once, whatever number of snapshots names it.

    Args:
        table: the table, any branch of it.
        names: the names of the data files, and of their extra files, that are asked for; None for all files.
    """

    def __init__(self, table: Table, names: pa.Array | None = None) -> None:
        self._table = table
        self._names = names
        self._lists: dict[str, list[ManifestFileMeta]] = {}
        self._entries: dict[str, pa.Table] = {}

    def prefetch(self, snapshots: Iterable[Snapshot]) -> None:
        """Read the manifest lists of snapshots at once; what is not there is found out by whoever asks for it."""
        names = {n for s in snapshots for n in (s.base_manifest_list, s.delta_manifest_list, s.changelog_manifest_list)}
        self._lists.update(lists_that_are_left(self._table, names))

    def live(self, snapshot: Snapshot) -> set[str]:
        """The names of the data files and extra files that are live in a snapshot, among those asked for.

        A file is live when it was added more often than it was taken away, on whatever level: it moves from one to
        another by being taken away from the one and added to the other, and so it gets other indexes.

        Raises:
            MissingFileError: a manifest is not there, so that nobody can say what the snapshot uses.
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
        """The names of the metadata files that a snapshot uses: lists, manifests, indexes and statistics.

        Args:
            snapshot: the snapshot.
            changelog: whether those of its changelog count, as far as they are left: a snapshot that comes from a tag
                may have outlived them.

        Raises:
            MissingFileError: one of them that tells of others is not there.
        """
        names = {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        names.update(m.file_name for m in self.manifests(snapshot))
        if changelog and snapshot.changelog_manifest_list:
            left = lists_that_are_left(self._table, [snapshot.changelog_manifest_list])
            names.update(left, (m.file_name for metas in left.values() for m in metas))
        if snapshot.index_manifest:
            names.add(snapshot.index_manifest)
            names.update(e.file.file_name for e in index_entries(self._table, snapshot))
        if snapshot.statistics:
            names.add(snapshot.statistics)
        return names

    def manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """The manifests that make up a snapshot."""
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
    """The names of data files, and behind them those of their extra files, such as indexes."""
    extras = pc.list_flatten(entries["extra_files"].combine_chunks())
    return pa.concat_arrays([entries["file_name"].combine_chunks(), extras])


def live_entries(table: Table, snapshot: Snapshot) -> pa.Table:
    """The entries of a snapshot's live files; none if it is not left whole, as then nobody can tell what is live."""
    used = UsedFiles(table)
    try:
        live = pa.array(list(used.live(snapshot)), pa.string())
        parts = _each(table, table.manifests.read, [m.file_name for m in used.manifests(snapshot)])
    except UnsafePathError:
        raise  # somebody wrote it to have other files deleted
    except (MissingFileError, CorruptFileError):
        return MANIFEST_SCHEMA.empty_table()
    entries = pa.concat_tables([MANIFEST_SCHEMA.empty_table(), *parts])
    return entries.filter(pc.is_in(entries["file_name"], value_set=live))


def changelog_data(table: Table, changelog: Changelog) -> set[str]:
    """The names of the files that a changelog consists of, and of their extra files.

    These are its changelog files, else the new rows of its commit.

    What a compaction wrote are no new rows; it goes with the snapshots.
    """
    own = changelog.changelog_manifest_list
    name = own or changelog.delta_manifest_list
    entries = manifests_that_are_left(table, lists_that_are_left(table, [name]).get(name, []))
    added = [with_kind(e, FileKind.ADD) for e in entries]
    return {n for e in added for n in named_files(e if own else new_rows(e)).to_pylist()}


def new_rows(entries: pa.Table) -> pa.Table:
    """The entries of files that no compaction wrote."""
    source = pc.fill_null(entries["file_source"], int(FileSource.APPEND))
    return entries.filter(pc.not_equal(source, int(FileSource.COMPACT)))


def changelog_metadata(table: Table, changelog: Changelog) -> set[str]:
    """The names of the manifest lists and manifests that a changelog needs."""
    own = changelog.changelog_manifest_list
    left = lists_that_are_left(table, [own] if own else [changelog.base_manifest_list, changelog.delta_manifest_list])
    return {*left, *(meta.file_name for metas in left.values() for meta in metas)}


def with_kind(entries: pa.Table, kind: FileKind) -> pa.Table:
    """The entries that add, or those that delete."""
    return entries.filter(pc.equal(entries["kind"], int(kind)))


def lists_that_are_left(
    table: Table, names: Iterable[str | None], known: Lists | None = None
) -> dict[str, list[ManifestFileMeta]]:
    """The manifests that manifest lists name, by list; lists that are gone or broken are left out.

    For files that go anyway: a run that was interrupted has removed some of them already, in an order that leaves
    nothing behind of what they alone could tell.

    Args:
        table: the table.
        names: the names of the lists.
        known: what was read before, which is not read again; what is read now is put there.
    """
    known, names = {} if known is None else known, list(names)
    wanted = sorted({name for name in names if name and name not in known})
    found = _each(table, lambda name: _if_left(table.manifests.read_list_once, name), wanted)
    known.update(zip(wanted, found, strict=True))
    left = ((name, known[name]) for name in dict.fromkeys(names) if name)
    return {name: metas for name, metas in left if metas is not None}


def manifests_that_are_left(table: Table, metas: Sequence[ManifestFileMeta]) -> list[pa.Table]:
    """The entries of manifests, with their kinds and `FILE_COLUMNS`; what is gone or broken is left out as above."""
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
    return spread(function, items, table.file_io.threads_for(table.path, len(items), _THREADS))
