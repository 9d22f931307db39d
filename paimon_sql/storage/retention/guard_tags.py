"""Guard tags, which retain a snapshot while a statement works with it.

A statement that is killed, or whose requests are executed late, therefore leaves nothing unreadable.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from paimon_sql.errors import CommitUnknownError, NoSuchSnapshotError, PaimonError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.metadata.directories import remove_if_dropped
from paimon_sql.storage.metadata.refs.tags import is_same_commit
from paimon_sql.storage.retention.tagged_files import free_tagged
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import is_retained

_TIME_RETAINED = timedelta(days=1)
_GUARD = re.compile(
    r"(?:(?:rollback|fast-forward)-to-\d+|branch-of-\d+|.+-(?:made|replaced))-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    re.DOTALL,
)


@contextmanager
def guard_tag(table: Table, snapshot: Snapshot, why: str) -> Iterator[str]:
    """Retain a snapshot in a context, by a tag with the prefix ``why``; its name is the context's value.

    The tag of a killed process expires after a day; others must not remove it, as the process may only be suspended.
    The same applies to a statement with an unknown outcome: its request may be executed later.

    Raises:
        NoSuchSnapshotError: the snapshot has expired.
    """
    guard = f"{why}-{uuid.uuid4()}"
    _create_guard(table, guard, snapshot)
    try:
        yield guard
    except (PaimonError, OSError) as error:
        if not isinstance(error, CommitUnknownError):
            _remove_guard(table, guard, snapshot)
        raise
    _remove_guard(table, guard, snapshot)


def _remove_guard(table: Table, guard: str, snapshot: Snapshot) -> None:
    with suppress(PaimonError, OSError):  # the tag expires otherwise
        if table.tags.remove(guard) and not is_referenced(table, snapshot):
            free_tagged(table, snapshot)


def is_guard(name: str) -> bool:
    """Whether a tag of that name is a guard tag."""
    return _GUARD.fullmatch(name) is not None


def is_referenced(table: Table, snapshot: Snapshot, *names: str) -> bool:
    """Whether a snapshot's files are certainly retained, by anything but tags of these names.

    An expiration first makes its intent visible, by the EARLIEST hint or by removing a tag, and then reads tags and
    branches. So if this is called after a tag or branch was created, either the expiration sees that, or this sees the
    intent.
    """
    if is_retained(table, snapshot):
        return True
    tags = (t for t in table.tags.of_snapshot(snapshot.id) if t.name not in names)
    return any(is_same_commit(t.snapshot, snapshot) for t in tags)


def _create_guard(table: Table, name: str, snapshot: Snapshot) -> None:
    try:
        table.tags.create(name, snapshot, _TIME_RETAINED)
        if is_referenced(table, snapshot, name):
            return
    except (PaimonError, OSError):
        raise
    except BaseException:
        with suppress(PaimonError, OSError):
            if table.tags.find(name) is not None and not is_referenced(table, snapshot, name):
                withdrawn(table, name, snapshot)
        raise
    raise withdrawn(table, name, snapshot)


def withdrawn(table: Table, name: str, snapshot: Snapshot) -> NoSuchSnapshotError:
    """Remove a tag that was created too late to retain its snapshot; return the error to raise."""
    table.tags.remove(name)
    free_tagged(table, snapshot)
    remove_if_dropped(table.file_io, table.paths.root)
    return NoSuchSnapshotError(
        f"{table.name}: snapshot {snapshot.id} expired meanwhile, so that no tag can keep it.",
        name=str(snapshot.id),
        remedy="Tag a later one.",
    )
