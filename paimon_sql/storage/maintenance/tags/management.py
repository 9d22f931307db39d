"""Tags made, replaced, renamed and deleted: the rules, and what a deleted tag frees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from paimon_sql.errors import InvalidInputError, NoSuchSnapshotError
from paimon_sql.format.metadata.snapshot import Snapshot, Tag
from paimon_sql.format.options.operations.tag import TAG_CREATE_SUCCESS_FILE, TAG_DEFAULT_TIME_RETAINED
from paimon_sql.storage.commit.partition_registration import register_tags
from paimon_sql.storage.iceberg import publish_quietly
from paimon_sql.storage.metadata.partial_changes import asked_for
from paimon_sql.storage.metadata.refs.success_files import write_success_file
from paimon_sql.storage.metadata.refs.tags import check_tag_name
from paimon_sql.storage.retention.files_to_delete import FilesToDelete
from paimon_sql.storage.retention.guard_tags import held, is_kept, withdrawn
from paimon_sql.storage.retention.tagged_files import files_of_tag, free_tagged
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import kept_snapshot


@dataclass
class DeletedTags:
    """What a deletion did, or would do.

    Attributes:
        deleted: the tags that went.
        unknown: names without a tag.
        freed: for each tag that went the files that nobody else kept any more.
    """

    deleted: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    freed: dict[str, FilesToDelete] = field(default_factory=dict)

    @property
    def files(self) -> FilesToDelete:
        """The files that went with all of the tags."""
        together = FilesToDelete()
        for files in self.freed.values():
            together.take(files)
        return together


def create_tag(
    table: Table,
    name: str,
    snapshot_id: int | None = None,
    time_retained: timedelta | None = None,
    *,
    ignore_if_exists: bool = False,
    dry_run: bool = False,
) -> Tag:
    """Keep a snapshot under a name.

    Args:
        table: the table or branch.
        name: the tag's name.
        snapshot_id: the snapshot, one that a tag keeps among them; the newest by default.
        time_retained: how long the tag lives; without it what ``tag.default-time-retained`` says, else for ever.
        ignore_if_exists: whether an existing tag of that name is left as it is and given back.
        dry_run: only say what would be done.

    Raises:
        AlreadyExistsError: there is a tag of that name.
        NoSuchSnapshotError: there is no such snapshot, or none at all.
        InvalidInputError: the name or the length of time can be none.
    """
    check_tag_name(name)
    if ignore_if_exists and (existing := table.tags.find(name)) is not None:
        return existing
    snapshot, retained = _snapshot(table, snapshot_id), _retained(table, time_retained)
    if dry_run:
        if table.tags.exists(name):
            raise table.tags.taken(name)
        return Tag(snapshot, None, retained)
    tag = _create(table, name, snapshot, retained)
    _tell(table, name)
    publish_quietly(table)
    return tag


def replace_tag(
    table: Table,
    name: str,
    snapshot_id: int | None = None,
    time_retained: timedelta | None = None,
    *,
    dry_run: bool = False,
) -> tuple[Tag, FilesToDelete]:
    """Let an existing tag keep another snapshot; the arguments are those of `create_tag`.

    Returns:
        The tag, and the files that only the tag had kept as it was before.

    Raises:
        NoSuchSnapshotError: there is no tag of that name, or no such snapshot.
        InvalidInputError: as `create_tag`.
    """
    before = table.tags.get(name)
    snapshot, retained = _snapshot(table, snapshot_id), _retained(table, time_retained)
    if dry_run:
        same = before.snapshot.id == snapshot.id
        return Tag(snapshot, None, retained), (
            FilesToDelete() if same else files_of_tag(table, before.snapshot, frozenset({name}))
        )
    # A tag of its own makes sure of the new snapshot while the old one is still kept: there is no way back later.
    with held(table, snapshot, f"{name}-replaced"):
        table.tags.replace(name, snapshot, retained)
    _tell(table, name)
    publish_quietly(table)
    return table.tags.get(name), free_tagged(table, before.snapshot)


def rename_tag(table: Table, name: str, target: str, *, dry_run: bool = False) -> Tag:
    """Give a tag another name; the tag.

    Raises:
        NoSuchSnapshotError: there is no tag of that name.
        AlreadyExistsError: there is a tag of the new name.
    """
    tag = table.tags.get(name)
    check_tag_name(target)
    if not dry_run:
        _unregister(table, name)
        table.tags.rename(name, target)
        _tell(table, target)
        publish_quietly(table)
    elif table.tags.exists(target):
        raise table.tags.taken(target)
    return tag


def delete_tags(table: Table, names: Sequence[str], *, dry_run: bool = False) -> DeletedTags:
    """Delete tags, and the files that only they kept; unknown names are passed over.

    The tag goes first: what a crash then leaves behind is found by the search for orphan files.

    Raises:
        PaimonError: the tag is deleted, but its files are not, as somebody who may need them cannot be read.
    """
    result = DeletedTags()
    for name in dict.fromkeys(names):
        tag = table.tags.find(name)
        if tag is not None and not dry_run:
            _unregister(table, name)
        if tag is None or not (dry_run or table.tags.remove(name)):
            result.unknown.append(name)
            continue
        result.deleted.append(name)
        if not dry_run:
            publish_quietly(table)  # readers go on to look for a snapshot's files until they are told
            result.freed[name] = free_tagged(table, tag.snapshot)
            continue
        files = files_of_tag(table, tag.snapshot, frozenset(result.deleted))
        files.leave(result.files)
        result.freed[name] = files
    return result


def _create(table: Table, name: str, snapshot: Snapshot, time_retained: timedelta | None) -> Tag:
    """Make a tag while another one keeps the snapshot: whatever becomes of this call, a tag that comes can be read."""
    with held(table, snapshot, f"{name}-made") as guard:
        with asked_for(f"{table.name}: tag '{name}'", table.file_io, table.tags.path(name)):
            tag = table.tags.create(name, snapshot, time_retained)
        stays = is_kept(table, snapshot, name, guard)
    if not stays:
        raise withdrawn(table, name, snapshot)
    return tag


def _tell(table: Table, name: str) -> None:
    """Say that a tag is complete, where the table wants it said."""
    register_tags(table, made=[name])
    if table.options.get(TAG_CREATE_SUCCESS_FILE):
        write_success_file(table.file_io, table.tags.success_path(name))


def _unregister(table: Table, name: str) -> None:
    """Say no longer that a tag is complete, before it goes."""
    register_tags(table, gone=[name])
    if table.options.get(TAG_CREATE_SUCCESS_FILE):
        table.file_io.delete(table.tags.success_path(name))


def _snapshot(table: Table, snapshot_id: int | None) -> Snapshot:
    if snapshot_id is None:
        latest = table.snapshots.latest()
        if latest is None:
            raise NoSuchSnapshotError(
                f"{table.name} has no snapshot yet that a tag could keep.", name="latest", remedy="Write rows first."
            )
        return latest
    return kept_snapshot(table, snapshot_id)


def _retained(table: Table, given: timedelta | None) -> timedelta | None:
    if given is not None and given <= timedelta():
        raise InvalidInputError("A tag must live longer than no time at all.", remedy="Write such as '7 d' or '36 h'.")
    default: timedelta | None = table.options.get(TAG_DEFAULT_TIME_RETAINED)
    return default if given is None else given
