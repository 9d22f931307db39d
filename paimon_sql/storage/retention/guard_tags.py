"""Guards: tags that keep a snapshot for as long as a statement works with it.

A statement that is killed, or whose requests are carried out late, so leaves nothing behind that cannot be read.
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

_LONGEST_HELD = timedelta(days=1)
_GUARD = re.compile(
    r"(?:(?:rollback|fast-forward)-to-\d+|branch-of-\d+|.+-(?:made|replaced))-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    re.DOTALL,
)


@contextmanager
def held(table: Table, snapshot: Snapshot, why: str) -> Iterator[str]:
    """Keep a snapshot meanwhile, by a tag whose name begins with ``why`` and is given.

    What a killed process leaves behind of it ends in a day. Nobody else removes it: who made it may only stand still.
    So does that of a statement whose outcome is unknown: what it asked for may be carried out later.

    Raises:
        NoSuchSnapshotError: it has expired.
    """
    guard = f"{why}-{uuid.uuid4()}"
    _create_guard(table, guard, snapshot)
    try:
        yield guard
    except (PaimonError, OSError) as error:
        if not isinstance(error, CommitUnknownError):
            _let_go(table, guard, snapshot)
        raise
    _let_go(table, guard, snapshot)


def _let_go(table: Table, guard: str, snapshot: Snapshot) -> None:
    with suppress(PaimonError, OSError):  # its time comes
        if table.tags.remove(guard) and not is_kept(table, snapshot):
            free_tagged(table, snapshot)


def is_guard(name: str) -> bool:
    """Whether a tag of that name was made by `held`, for as long as a statement runs."""
    return _GUARD.fullmatch(name) is not None


def is_kept(table: Table, snapshot: Snapshot, *names: str) -> bool:
    """Whether a snapshot's files surely stay, for another reason than tags of these names.

    Who lets it go first says so, by the hint of the earliest snapshot or by removing a tag, and then looks for tags and
    branches. So where this is asked once one of those is there, that one has seen it, or this sees what was said.
    """
    if is_retained(table, snapshot):
        return True
    tags = (t for t in table.tags.of_snapshot(snapshot.id) if t.name not in names)
    return any(is_same_commit(t.snapshot, snapshot) for t in tags)


def _create_guard(table: Table, name: str, snapshot: Snapshot) -> None:
    try:
        table.tags.create(name, snapshot, _LONGEST_HELD)
        if is_kept(table, snapshot, name):
            return
    except (PaimonError, OSError):
        raise
    except BaseException:
        with suppress(PaimonError, OSError):
            if table.tags.find(name) is not None and not is_kept(table, snapshot, name):
                withdrawn(table, name, snapshot)
        raise
    raise withdrawn(table, name, snapshot)


def withdrawn(table: Table, name: str, snapshot: Snapshot) -> NoSuchSnapshotError:
    """Remove a tag that came too late to keep its snapshot: the error that says so."""
    table.tags.remove(name)
    free_tagged(table, snapshot)
    remove_if_dropped(table.file_io, table.paths.root)
    return NoSuchSnapshotError(
        f"{table.name}: snapshot {snapshot.id} expired meanwhile, so that no tag can keep it.",
        name=str(snapshot.id),
        remedy="Tag a later one.",
    )
