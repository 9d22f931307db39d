"""What is said of options that are set and have no effect here: once a session for each, in the log.

They are none of errors: other engines heed them on the same table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from paimon_sql.format.options.registry import find_option
from paimon_sql.format.options.values import Standing

_LOG = logging.getLogger("paimon_sql")
_told: dict[str, set[str]] = {}
"""The options that were spoken of, by the id of the session."""


def warn_of_ineffective(session: Any, keys: Iterable[str]) -> None:
    """Say of those options that only other engines heed which ones these are, unless the session was told before.

    Args:
        session: the JVM's session.
        keys: the keys that a statement gives.
    """
    found = {key: option for key in keys if (option := find_option(key)) is not None}
    kept = {key: option.status for key, option in found.items() if option.status.standing is Standing.KEPT}
    if not kept:
        return
    told = _told.setdefault(str(session.sessionUUID()), set())
    for key, status in kept.items():
        if key not in told:
            told.add(key)
            _LOG.warning("The option '%s' has no effect here: it is kept for %s.", key, status.by)
