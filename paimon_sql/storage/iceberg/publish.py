"""Publication of a table to Iceberg: its metadata are updated to the newest snapshot, from any state.

Each snapshot becomes an Iceberg snapshot with the same id. Changes since the newest common snapshot are applied to its
manifests, so that the work is proportional to them; without a common snapshot the metadata are built from all files.
Every publication thereby completes what a killed process left unfinished.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError, MissingFileError, UnsupportedError
from paimon_sql.format.iceberg.manifests import ROW_LINEAGE, Content, ManifestFile, ManifestFormat, write_manifest_list
from paimon_sql.format.iceberg.schemas import (
    FIRST_PARTITION_ID,
    IcebergStruct,
    iceberg_schema,
    partition_spec,
    reads_as,
)
from paimon_sql.format.iceberg.table_metadata import COMMIT_IDENTITY, IcebergSnapshot, TableMetadata, commit_identity
from paimon_sql.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from paimon_sql.format.metadata.manifest import MANIFEST_SCHEMA, FileKind
from paimon_sql.format.metadata.snapshot import FIRST_SNAPSHOT_ID, CommitKind, Snapshot
from paimon_sql.format.options.table import iceberg as iceberg_options
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.file_io.paths import without_scheme
from paimon_sql.storage.iceberg.entries import MIN_LEVEL, Visibility, data_entries, deletion_entries
from paimon_sql.storage.iceberg.location import is_published, metadata_folder
from paimon_sql.storage.iceberg.manifest_sets import (
    DivergedError,
    ManifestWriter,
    Removal,
    compacted,
    numbered,
    paths_of,
    take_out,
)
from paimon_sql.storage.iceberg.registration import registration_of
from paimon_sql.storage.iceberg.store import RETIRE_PENDING, MetadataStore
from paimon_sql.storage.metadata.refs.tags import NamedTag
from paimon_sql.storage.retention.tags import is_guard
from paimon_sql.storage.table.index_files import index_entries
from paimon_sql.storage.table.table import Table

_ATTEMPTS = 3
_MAX_STEPS = 100
"""Max number of commits to apply one by one; beyond that the metadata are built from all files."""


def publish(table: Table, *, dry_run: bool = False) -> bool:
    """Publish the table to Iceberg; return whether anything was written.

    Args:
        table: the table; ignored unless `is_published`.
        dry_run: only return the result.

    Raises:
        UnsupportedError: Iceberg readers cannot read the table; they see its former state.
        InvalidOptionError: the options contradict the location of the metadata.
    """
    if not is_published(table):
        return False
    for _ in range(_ATTEMPTS - 1):
        with suppress(MissingFileError):  # another process published concurrently
            return Publication(table).run(dry_run=dry_run)
    return Publication(table).run(dry_run=dry_run)


@dataclass
class _State:
    """An Iceberg snapshot, and what is needed to build the next one on it."""

    snapshot: IcebergSnapshot
    manifests: list[ManifestFile]
    paimon: Snapshot
    next_row_id: int

    def of(self, content: Content) -> list[ManifestFile]:
        return [m for m in self.manifests if m.content == content]


@dataclass
class Publication:
    """One attempt to publish a table."""

    table: Table
    lists: list[str] = field(default_factory=list)
    latest: Snapshot = field(init=False)
    """The table's latest snapshot."""
    versions: list[int] = field(init=False)
    """The versions of the metadata before."""
    newest: TableMetadata | None = field(init=False)
    """The newest metadata before, which the new ones follow."""
    location: str = ""
    """The table's directory as spelled in the metadata."""

    def run(self, *, dry_run: bool) -> bool:
        latest = self.table.snapshots.latest()
        self.versions = self.store.versions()
        if latest is None:
            # A table without a snapshot has no rows: the metadata are of one that was dropped or purged.
            if self.versions and not dry_run:
                self.store.clear()
            return bool(self.versions)
        self.latest = latest
        if latest.id == FIRST_SNAPSHOT_ID and self.versions and not self._is_of(self.versions[-1]):
            if not dry_run:
                self.store.clear()
            self.versions = []
        existing = self.store.read(latest.id) if latest.id in self.versions else None
        self.newest = next((m for v in reversed(self.versions) if (m := self.store.read(v)) is not None), None)
        self.location = self._spelled_location()
        base = None if self.newest is None else self._base(self.newest)
        if dry_run and (base is None or base.snapshot.id != latest.id):
            return True
        try:
            metadata = self._build(base)
        except BaseException:
            self._discard()
            raise
        same = existing is not None and replace(metadata, last_updated_millis=existing.last_updated_millis) == existing
        return not same if dry_run else self._put(metadata, existing, is_same=same)

    def _discard(self) -> None:
        """Delete the files that this attempt has written."""
        self.store.delete([*self.writer.made, *self.lists])

    def _spelled_location(self) -> str:
        """Return the table's directory as the last writer spells it, with or without a scheme.

        Java's connector compares paths as strings to find deleted files, and spells its warehouse as configured.
        """
        newest = self.newest
        if newest is None or _plain(newest.location) != _plain(self.table.path):
            return self.table.path
        if MIN_LEVEL in newest.current.summary:
            return newest.location
        lists, directory = newest.current.manifest_list, _plain(self.store.folder)
        start = lists.find(f"{directory}/")
        return newest.location if start < 0 else lists[:start] + _plain(self.table.path)

    def _is_of(self, version: int) -> bool:
        metadata = self.store.read(version)
        return metadata is not None and any(self._matches(metadata, s, self.latest) for s in metadata.snapshots)

    @cached_property
    def store(self) -> MetadataStore:
        return MetadataStore(self.table.file_io, metadata_folder(self.table))

    @cached_property
    def format_version(self) -> int:
        return self.table.options.get(iceberg_options.METADATA_ICEBERG_FORMAT_VERSION)

    @cached_property
    def schema(self) -> TableSchema:
        """The newest schema, which is the current one in Iceberg."""
        return self.table.schemas.newest()

    @cached_property
    def visibility(self) -> Visibility:
        return Visibility.of(self.table)

    @cached_property
    def writer(self) -> ManifestWriter:
        form = ManifestFormat(
            self.schema.partition_fields,
            self.format_version,
            self.table.options.get(iceberg_options.METADATA_ICEBERG_MANIFEST_COMPRESSION),
            iceberg_schema(self.schema, self.format_version),
            partition_spec(self.schema),
        )
        return ManifestWriter(self.table, self.store, form)

    def _base(self, newest: TableMetadata) -> _State | None:
        """Return the newest snapshot that Iceberg's metadata and the table have in common; None if it is not usable."""
        if (
            newest.format_version != self.format_version
            or newest.location != self.location
            or (self.format_version >= ROW_LINEAGE and newest.next_row_id is None)
            or dict(newest.spec) != partition_spec(self.schema)
            or not self._knows_schemas(newest)
        ):
            return None
        for snapshot in sorted(newest.snapshots, key=lambda s: -s.id):
            paimon = self._paimon(snapshot.id)
            if paimon is None or not self._matches(newest, snapshot, paimon):
                continue  # rolled back, and the id was reused by another commit
            if self.latest.id - snapshot.id > _MAX_STEPS:
                return None
            if snapshot.summary.get(MIN_LEVEL, str(self.visibility.least_level)) != str(self.visibility.least_level):
                return None
            try:
                manifests = self.store.read_list(snapshot.manifest_list)
            except (CorruptFileError, MissingFileError):
                return None
            return _State(snapshot, manifests, paimon, newest.next_row_id or 0)
        return None

    def _paimon(self, snapshot_id: int) -> Snapshot | None:
        """Return the table's snapshot of an id up to the latest one; None if it is not retained."""
        if snapshot_id >= self.latest.id:
            return self.latest if snapshot_id == self.latest.id else None
        return self.table.snapshots.find(snapshot_id)

    def _matches(self, metadata: TableMetadata, snapshot: IcebergSnapshot, paimon: Snapshot) -> bool:
        """Whether an Iceberg snapshot was created from the commit that has its id now."""
        if snapshot.id != paimon.id:
            return False
        if snapshot.identity is None:  # of an older version of Java's connector
            return metadata.last_updated_millis >= paimon.time_millis
        return snapshot.identity == commit_identity(paimon)

    def _knows_schemas(self, newest: TableMetadata) -> bool:
        ids = set(self.table.schemas.ids())
        return all(
            schema["schema-id"] in ids and schema == self._schema(schema["schema-id"])
            for schema in newest.schemas
            if schema["schema-id"] <= self.schema.id
        )

    def _schema(self, schema_id: int) -> IcebergStruct:
        return iceberg_schema(self.table.schemas.get(schema_id), self.format_version)

    def _located(self, path: str) -> str:
        """Return a path as spelled in the metadata."""
        root = f"{self.table.path}/"
        return f"{self.location}/{path.removeprefix(root)}" if path.startswith(root) else path

    def _build(self, base: _State | None) -> TableMetadata:
        """Build the metadata of the newest snapshot."""
        self._check_schemas()
        steps: list[_State] = []
        before: list[IcebergSnapshot] = []
        if base is not None and self.newest is not None:
            with suppress(DivergedError, CorruptFileError, MissingFileError):
                steps = self._steps(base)
                before = [s for s in self.newest.snapshots if s.id < steps[0].snapshot.id]
        steps = steps or [self._from_all_files()]
        return self._metadata_of(steps[-1], self._retained([*before, *(s.snapshot for s in steps)]))

    def _check_schemas(self) -> None:
        """Check that all files are readable with the newest schema, whatever schema they were written with."""
        current = self._schema(self.schema.id)
        incompatible = [s.id for s in self.table.schemas.all() if not self._reads_as(s, current)]
        if not incompatible:
            return
        files = self.visibility.seen(live_files(self.table, self.latest).entries)
        if pc.any(pc.is_in(files["schema_id"], value_set=pa.array(incompatible, pa.int64()))).as_py():
            raise UnsupportedError(
                f"{self.table.name}: the type of a column was changed to one as which Iceberg's readers cannot"
                " read older files.",
                remedy="Compact the table fully, so that all of its files are of the new type.",
            )

    def _reads_as(self, schema: TableSchema, current: IcebergStruct) -> bool:
        """Whether files of a schema are readable with another one, apart from columns that were dropped since."""
        ids = {f["id"] for f in current["fields"]}
        fields = tuple(f for f in schema.fields if f.id in ids)
        try:
            return reads_as(iceberg_schema(replace(schema, fields=fields), self.format_version), current)
        except UnsupportedError:
            return False

    def _steps(self, base: _State) -> list[_State]:
        """Return the state after each commit since the base; the base if there was none."""
        steps = [base]
        for snapshot_id in range(base.snapshot.id + 1, self.latest.id + 1):
            commit = self._paimon(snapshot_id)
            if commit is None:
                raise DivergedError
            steps.append(self._step(steps[-1], commit))
        return steps[1:] or [base]

    def _step(self, before: _State, commit: Snapshot) -> _State:
        changes = self._changes(commit)
        seen = self.visibility.seen(changes)
        is_add = pc.equal(seen["kind"], FileKind.ADD)
        added, removed = seen.filter(is_add), seen.filter(pc.invert(is_add))
        retained = pc.is_in(removed["file_name"], value_set=added["file_name"].combine_chunks())
        deleted = removed.filter(pc.invert(retained))
        moved = removed.filter(retained)["file_name"].combine_chunks()
        new = added.filter(pc.invert(pc.is_in(added["file_name"], value_set=moved)))
        removal = Removal.of(self.table, deleted)
        manifests = [m for m in before.of(Content.DATA) if m.live_files]
        if removal.names:
            manifests = take_out(self.writer, manifests, removal, commit.id)
        entries = data_entries(self.table, new, commit.id, self._located)
        manifests += self.writer.write(entries, Content.DATA, commit.id)
        if commit is self.latest:
            manifests = compacted(self.writer, manifests, commit.id)
        deletes = before.of(Content.DELETES)
        if commit.index_manifest != before.paimon.index_manifest:
            known = {e["data_file"]["file_path"] for m in deletes for e in self.writer.read(m)}
            deletes = self._deletions(commit, known)
        operation = "append"
        if removal.names:
            operation = "replace" if commit.commit_kind is CommitKind.COMPACT else "overwrite"
        size = before.snapshot.total("files-size")  # missing in those of older versions of Java's connector
        total_size = {} if size is None else {"total-files-size": str(size + _sum(new, "file_size") - removal.size)}
        summary = _summary(operation, new, removal, seen) | total_size
        state = self._state(commit, [*manifests, *deletes], before.next_row_id, before.snapshot.id, summary)
        self._check_total(state, commit)
        return state

    def _check_total(self, state: _State, commit: Snapshot) -> None:
        """Check that the manifests have as many rows as the table, where that is known."""
        if not self.table.schema.has_key and commit.total_record_count is not None:
            live_rows = sum(m.live_rows for m in state.of(Content.DATA))
            if live_rows != commit.total_record_count:
                raise DivergedError

    def _changes(self, commit: Snapshot) -> pa.Table:
        manifests = self.table.manifests.read_list(commit.delta_manifest_list)
        tables = self.table.manifests.read_all([m.file_name for m in manifests])
        return pa.concat_tables(tables) if tables else MANIFEST_SCHEMA.empty_table()

    def _deletions(self, commit: Snapshot, known: set[str]) -> list[ManifestFile]:
        """Return the manifests of a snapshot's deletion vectors."""
        indexes = index_entries(self.table, commit)
        if not self.visibility.with_deletions:
            if not self.visibility.ignores_deletions and any(
                i.file.index_type == DELETION_VECTORS_INDEX and i.file.deletion_vectors for i in indexes
            ):
                raise UnsupportedError(
                    f"{self.table.name}: rows are deleted by deletion vectors that cannot be published to"
                    " Iceberg's readers.",
                    remedy="Set 'metadata.iceberg.format-version' to '3' and 'deletion-vectors.bitmap64' to 'true', or"
                    " compact the table fully.",
                )
            return []
        entries = deletion_entries(self.table, indexes, commit.id, self._located, known)
        return self.writer.write(entries, Content.DELETES, commit.id)

    def _from_all_files(self) -> _State:
        """Build the state of the latest snapshot from all of its files."""
        commit = self.latest
        files = self.visibility.seen(live_files(self.table, commit).entries)
        entries = data_entries(self.table, files, commit.id, self._located)
        manifests = self.writer.write(entries, Content.DATA, commit.id)
        summary = _summary("append", files, Removal(set(), []), files) | {
            "total-files-size": str(_sum(files, "file_size"))
        }
        first_row_id = 0 if self.newest is None else self.newest.next_row_id or 0
        return self._state(commit, [*manifests, *self._deletions(commit, set())], first_row_id, None, summary)

    def _state(
        self,
        commit: Snapshot,
        manifests: list[ManifestFile],
        next_row_id: int,
        parent_id: int | None,
        summary: Mapping[str, str],
    ) -> _State:
        first, added = None, None
        if self.format_version >= ROW_LINEAGE:
            first = next_row_id
            manifests, next_row_id = numbered(manifests, first)
            added = next_row_id - first
        deletes = [m for m in manifests if m.content == Content.DELETES]
        data = write_manifest_list(
            manifests,
            format_version=self.format_version,
            compression=self.table.options.get(iceberg_options.METADATA_ICEBERG_MANIFEST_COMPRESSION),
            legacy=self.table.options.get(iceberg_options.METADATA_ICEBERG_MANIFEST_LEGACY_VERSION),
            snapshot_id=commit.id,
            parent_id=parent_id,
        )
        path = self.store.write_list(data)
        self.lists.append(path)
        data_manifests = [m for m in manifests if m.content == Content.DATA]
        full = {
            **(commit.properties or {}),
            **summary,
            "total-data-files": str(sum(m.live_files for m in data_manifests)),
            "total-records": str(sum(m.live_rows for m in data_manifests)),
            "total-delete-files": str(sum(m.live_files for m in deletes)),
            "total-position-deletes": str(sum(m.live_rows for m in deletes)),
            "total-equality-deletes": "0",
            COMMIT_IDENTITY: commit_identity(commit),
            MIN_LEVEL: str(self.visibility.least_level),
        }
        made = IcebergSnapshot(commit.id, commit.time_millis, path, commit.schema_id, full, parent_id, first, added)
        return _State(made, manifests, commit, next_row_id)

    def _retained(self, snapshots: Sequence[IcebergSnapshot]) -> list[IcebergSnapshot]:
        """Return the snapshots whose files are retained: by a snapshot of the table, or by a tag."""
        latest = self.latest.id
        earliest = self.table.snapshots.earliest_id() or latest
        existing = {v for v in self.table.snapshots.directory.versions() if v >= earliest}
        tagged = {t.snapshot.id for t in self._tags}
        return [s for s in snapshots if s.id == latest or s.id in existing or s.id in tagged]

    @cached_property
    def _tags(self) -> list[NamedTag]:
        return [t for t in self.table.tags.all() if not is_guard(t.name)]

    def _metadata_of(self, state: _State, snapshots: Sequence[IcebergSnapshot]) -> TableMetadata:
        """Return the table metadata for these snapshots, of which the last is current."""
        newest = self.newest
        schema_ids = sorted({self.schema.id, *(s.schema_id for s in snapshots)})
        tags = {t.name: t.snapshot.id for t in self._tags if self._has_commit(t.snapshot, snapshots)}
        given = self.table.options.matching(iceberg_options.METADATA_ICEBERG_TABLE_PROPERTIES)
        properties = {name: text for (name,), text in given if text is not None}
        highest = max(s.highest_field_id for s in self.table.schemas.all())
        return TableMetadata(
            format_version=self.format_version,
            table_uuid=str(uuid.uuid4()) if newest is None else newest.table_uuid,
            location=self.location,
            last_updated_millis=max(current_millis(), *(s.timestamp_millis for s in snapshots)),
            last_column_id=max(highest, 0 if newest is None else newest.last_column_id),
            schemas=[self._schema(i) for i in schema_ids],
            current_schema_id=self.schema.id,
            spec=partition_spec(self.schema),
            last_partition_id=FIRST_PARTITION_ID + len(self.schema.partition_keys) - 1,
            snapshots=snapshots,
            current_snapshot_id=state.snapshot.id,
            properties=properties,
            tags=tags,
            next_row_id=state.next_row_id if self.format_version >= ROW_LINEAGE else None,
        )

    def _has_commit(self, tagged: Snapshot, snapshots: Sequence[IcebergSnapshot]) -> bool:
        return any(s.id == tagged.id and s.identity in (None, commit_identity(tagged)) for s in snapshots)

    def _put(self, metadata: TableMetadata, existing: TableMetadata | None, *, is_same: bool) -> bool:
        """Write the metadata, make them current, and delete files that no version needs any longer.

        Args:
            metadata: the metadata.
            existing: the metadata of this version when the attempt began.
            is_same: whether they are equal apart from the time, and need not be written.
        """
        version = metadata.current_snapshot_id
        if not is_same and not self.store.write_version(version, metadata, existing):
            self._discard()
            raise MissingFileError(
                "Iceberg's metadata was published concurrently.", path=self.store.version_path(version)
            )
        if self.store.hint() != version:
            self.store.write_hint(version)
        registration_of(self.table).register(self.store, existing if existing is not None and is_same else metadata)
        self._clean(version)
        if self.newest is not None:
            self._drop(self.newest.snapshots, metadata.snapshots)
        return not is_same

    def _clean(self, version: int) -> None:
        """Delete other versions that are abandoned or need not be retained."""
        abandoned = [v for v in self.versions if v > version]
        old = [v for v in self.versions if v < version]
        if self.table.options.get(iceberg_options.METADATA_ICEBERG_DELETE_AFTER_COMMIT):
            max_versions = self.table.options.get(iceberg_options.METADATA_ICEBERG_PREVIOUS_VERSIONS_MAX)
            if self.table.options.get(iceberg_options.METADATA_ICEBERG_STORAGE) == iceberg_options.REST_CATALOG:
                max_versions = max(max_versions, 1)  # readers of the catalog may have started with the previous one
            abandoned += old[: len(old) - max_versions] if max_versions else old
        self.store.delete(map(self.store.version_path, abandoned))
        self.store.delete([RETIRE_PENDING])  # last, for an interrupt to leave no version that nobody looks for

    def _drop(self, before: Sequence[IcebergSnapshot], now: Sequence[IcebergSnapshot]) -> None:
        """Delete the lists of dropped snapshots, and the manifests that only they refer to."""
        retained_lists = {s.manifest_list for s in now}
        dropped = [s for s in before if s.manifest_list not in retained_lists]
        if not dropped:
            return
        # Manifests are inherited from snapshot to snapshot: the neighbours of dropped ones have all that are needed.
        ids = [s.id for s in dropped]
        below = max((s.id for s in now if s.id < ids[0]), default=None)
        above = min((s.id for s in now if s.id > ids[-1]), default=None)
        neighbours = {
            s.manifest_list for s in now if s is now[-1] or s.id in (below, above) or min(ids) < s.id < max(ids)
        }
        needed = set().union(*(paths_of(self.store.read_list(path)) for path in neighbours))
        unused: set[str] = set()
        for snapshot in dropped:
            with suppress(MissingFileError, CorruptFileError):
                unused |= paths_of(self.store.read_list(snapshot.manifest_list)) - needed
        self.store.delete([*unused, *(s.manifest_list for s in dropped)])


def _plain(path: str) -> str:
    return "".join(without_scheme(path)).rstrip("/")


def _sum(files: pa.Table, column: str) -> int:
    return int(pc.sum(files[column]).as_py() or 0)


def _summary(operation: str, added: pa.Table, deleted: Removal, changed: pa.Table) -> dict[str, str]:
    """The summary of a commit that adds and deletes files."""
    return {
        "operation": operation,
        "added-data-files": str(len(added)),
        "added-records": str(_sum(added, "row_count")),
        "added-files-size": str(_sum(added, "file_size")),
        "deleted-data-files": str(len(deleted.names)),
        "deleted-records": str(deleted.rows),
        "removed-files-size": str(deleted.size),
        "changed-partition-count": str(len(pc.unique(changed["partition"]))),
    }
