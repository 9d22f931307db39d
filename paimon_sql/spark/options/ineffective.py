"""Warnings about options without effect: logged once per session and option.

They are not errors, since other engines apply them to the same table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from paimon_sql.format.options.registry import find_option
from paimon_sql.format.options.values import Support

_LOG = logging.getLogger("paimon_sql")
_reported: dict[str, set[str]] = {}
"""The reported options, by the id of the session."""


def warn_of_ineffective(session: Any, keys: Iterable[str]) -> None:
    """Warn of the options that only other engines apply, once per session.

    Args:
        session: the JVM's session.
        keys: the keys of a statement's options.
    """
    found = {key: option for key in keys if (option := find_option(key)) is not None}
    ineffective = {key: option.status for key, option in found.items() if option.status.standing is Support.KEPT}
    if not ineffective:
        return
    reported = _reported.setdefault(str(session.sessionUUID()), set())
    for key, status in ineffective.items():
        if key not in reported:
            reported.add(key)
            _LOG.warning("The option '%s' has no effect here: it is kept for %s.", key, status.by)
