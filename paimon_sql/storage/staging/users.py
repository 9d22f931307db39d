"""Commit users: the names by which snapshots tell their writers apart."""

from __future__ import annotations

import uuid

from paimon_sql.format.options.operations.commit import COMMIT_USER_PREFIX
from paimon_sql.storage.table.table import Table


def new_user(table: Table) -> str:
    """A name that no other writer has, after the prefix that ``commit.user-prefix`` asks for."""
    prefix = table.options.get(COMMIT_USER_PREFIX)
    return str(uuid.uuid4()) if prefix is None else f"{prefix}_{uuid.uuid4()}"
