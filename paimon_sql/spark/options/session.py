"""Options of a session (``SET spark.paimon.<key>``, also per table), and warnings about options without effect."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import tzinfo

from paimon_sql.cache import Cache
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.options import canonical, check_changes, find_option, validate
from paimon_sql.format.options.values import Scope, Support
from paimon_sql.process import share
from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.storage.merge.lookup_levels import check_merging
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import zone_of
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_PREFIX = "spark.paimon."
_TIMES = f"{CATALYST}.util.DateTimeUtils"


def session_options(session: JvmSession, catalog: str, identifier: Identifier) -> dict[str, str]:
    """The options of a table in a session's settings; those that name the table override the general ones.

    Args:
        session: the session.
        catalog: the name of the table's catalog.
        identifier: the table.
    """
    settings = session.conf
    # Most sessions have none: one string shows it.
    if _PREFIX not in settings.getAll().toString():
        return {}
    known = session.jvm.strings_map(settings.getAllAsJava())
    given = {k.removeprefix(_PREFIX): v for k, v in known.items() if k.startswith(_PREFIX)}
    general = {k: v for k, v in given.items() if find_option(k) is not None}
    special = _of_table(given, (catalog, identifier.database, identifier.table))
    validate(special, Scope.SPARK)
    return canonical({**general, **special})


def session_zone(session: JvmSession) -> tzinfo:
    """The time zone of a session."""
    name = session.state.conf().sessionLocalTimeZone()
    return zone_of(str(session.jvm.cls(_TIMES).getZoneId(name).normalized().getId()))


def _of_table(given: Mapping[str, str], name: tuple[str, ...]) -> dict[str, str]:
    """The options whose keys begin with a table's full name; each part may be ``*``, and fewer ``*`` win."""
    pattern = re.compile(r"\.".join(rf"({re.escape(part)}|\*)" for part in name) + r"\.(.+)", re.DOTALL)
    found = [(match, v) for k, v in given.items() if (match := pattern.fullmatch(k))]
    found.sort(key=lambda item: item[0].groups().count("*"), reverse=True)
    return {match[len(name) + 1]: v for match, v in found}


def with_session_options(table: Table, options: dict[str, str], *, writes: bool) -> Table:
    """The table with a session's options; for writes without those of time travel.

    Raises:
        InvalidOptionError: an option is immutable, or would merge the rows of existing files differently.
    """
    if writes:
        options = {k: v for k, v in options.items() if k not in TRAVEL_KEYS}
    check_changes(table.schema.options, options, has_snapshots=True)
    changed = table.with_options(options)
    check_merging(table.name, table.options, changed.options)
    return changed


_LOG = logging.getLogger("paimon_sql")
_MAX_REPORTED = 10_000
_reported = share(lambda: Cache[tuple[str, str], bool](_MAX_REPORTED))
"""The reported options, by the id of the session and the key."""


def warn_of_ineffective(session: JvmSession, keys: Iterable[str]) -> None:
    """Warn of the options that only other engines apply to the same table, once per session.

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
