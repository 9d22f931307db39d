"""Options of a session: ``SET spark.paimon.<key>`` and ``SET spark.paimon.<catalog>.<db>.<table>.<key>``.

Catalog, database and table may be ``*``, for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.options import canonical, check_changes, find_option, validate
from paimon_sql.format.options.values import Scope
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.storage.merge.lookup_levels import check_merging
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import zone_of
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_PREFIX = "spark.paimon."
_TIMES = f"{CATALYST}.util.DateTimeUtils"


def session_options(jvm: Jvm, session: Any, catalog: str, identifier: Identifier) -> dict[str, str]:
    """The options of a table in a session's settings; those that name the table override the general ones.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        catalog: the name of the table's catalog.
        identifier: the table.
    """
    settings = session.conf()
    # Most sessions have none: one string shows it.
    if _PREFIX not in settings.getAll().toString():
        return {}
    known = jvm.strings_map(settings.getAllAsJava())
    given = {k.removeprefix(_PREFIX): v for k, v in known.items() if k.startswith(_PREFIX)}
    general = {k: v for k, v in given.items() if find_option(k) is not None}
    special = _of_table(given, (catalog, identifier.database, identifier.table))
    validate(special, Scope.SPARK)
    return canonical({**general, **special})


def session_zone(jvm: Jvm, session: Any) -> tzinfo:
    """The time zone of a session."""
    name = session.sessionState().conf().sessionLocalTimeZone()
    return zone_of(str(jvm.cls(_TIMES).getZoneId(name).normalized().getId()))


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
