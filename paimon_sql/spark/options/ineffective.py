"""Warnings about options without effect: logged once per session and option.

They are not errors, since other engines apply them to the same table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from paimon_sql.cache import Cache
from paimon_sql.format.options.registry import find_option
from paimon_sql.format.options.values import Support
from paimon_sql.process import share
from paimon_sql.spark.jvm.session import JvmSession

_LOG = logging.getLogger("paimon_sql")
_MAX_REPORTED = 10_000
_reported = share(lambda: Cache[tuple[str, str], bool](_MAX_REPORTED))
"""The reported options, by the id of the session and the key."""


def warn_of_ineffective(session: JvmSession, keys: Iterable[str]) -> None:
    """Warn of the options that only other engines apply, once per session.

    Args:
        session: the session.
        keys: the keys of a statement's options.
    """
    found = {key: option for key in keys if (option := find_option(key)) is not None}
    ineffective = {key: option.status for key, option in found.items() if option.status.standing is Support.KEPT}
    if not ineffective:
        return
    name, reported = session.java.sessionUUID(), _reported()
    for key, status in ineffective.items():
        if reported.get((name, key)) is None:
            reported.put((name, key), True)
            _LOG.warning("The option '%s' has no effect here: it is kept for %s.", key, status.by)
