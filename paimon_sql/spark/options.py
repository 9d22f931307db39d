"""Options that Spark passes: of sessions, and of one read or write.

A session sets them by ``SET spark.paimon.<key>``, also per table. Those of one read or write come from hints,
``WITH (..)``, readers and writers of data frames, and time travel.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import tzinfo
from typing import cast

from paimon_sql.cache import Cache
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.options import Scope, canonical, check_changes, find_option, validate
from paimon_sql.format.options.engines.spark import READ_CHANGELOG
from paimon_sql.format.options.operations.commit import DYNAMIC_PARTITION_OVERWRITE
from paimon_sql.format.options.table.table import BRANCH, PARTITION, PATH, PRIMARY_KEY, TYPE
from paimon_sql.format.options.values import Support
from paimon_sql.process import share
from paimon_sql.spark.java.connector import StringMap
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.storage.branches.selection import moved_to_branch
from paimon_sql.storage.merge.lookup_levels import check_merging
from paimon_sql.storage.scan.layout import ScanLayout
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import in_zone, zone_of
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_PREFIX = "spark.paimon."
_SETTINGS, _SESSION = "paimon.SessionSettings", "org.apache.spark.sql.classic.SparkSession"
_MENTIONED = f"""
    public static boolean mentioned({_SESSION} session, String prefix) {{
        return session.conf().getAll().toString().contains(prefix);
    }}"""
_TIMES = f"{CATALYST}.util.DateTimeUtils"


def session_options(session: JvmSession, catalog: str, identifier: Identifier) -> dict[str, str]:
    """The options of a table in a session's settings; those that name the table override the general ones.

    Args:
        session: the session.
        catalog: the name of the table's catalog.
        identifier: the table.
    """
    # Most sessions have none.
    session.jvm.compiled_class(_SETTINGS, (_MENTIONED,), beside=_SESSION)
    if not session.jvm.static(_SETTINGS, "mentioned")(session.java, _PREFIX):
        return {}
    known = session.jvm.strings_map(session.conf.getAllAsJava())
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


_SPARK_PREFIXES = ("__", "path", "versionasof", "timestampasof")
"""Prefixes of the options that Spark adds or applies itself."""

ALSO_READ = "__paimon.also-read"
"""Set by one of our rules: the columns, as JSON, that a scan reads even if the query does not need them."""

_FILE_SYSTEM_PREFIXES = ("fs.", "s3.", "s3a.", "dfs.", "hadoop.")
"""Prefixes of the options of file systems."""

STATE_KEYS = frozenset((*TRAVEL_KEYS, BRANCH.key, READ_CHANGELOG.key, *READ_CHANGELOG.alternatives))
"""The options that choose the state of a table to read, and thereby its columns."""


CATALOG_OPTION, DATABASE_OPTION, TABLE_OPTION = "catalog", "database", "table"
"""The options that name the catalog, database and table of the table at a path."""


def option(options: Mapping[str, str], key: str) -> str | None:
    """An option of a ``DataFrameReader`` or ``DataFrameWriter`` by its lower-case key; None if it is not set."""
    return next((v for k, v in options.items() if k.lower() == key), None)


def is_of_file_system(key: str) -> bool:
    """Whether an option configures the file system of a table at a path."""
    return key.startswith(_FILE_SYSTEM_PREFIXES)


def read_options(jvm: Jvm, options: StringMap | None) -> dict[str, str]:
    """The options in a ``CaseInsensitiveStringMap``, with keys in their original case, without those of Spark.

    For a table at a path, the options that locate it (file system, catalog, name) are left out as well.
    """
    if options is None or options.isEmpty():
        return {}
    given = jvm.strings_map(options.asCaseSensitiveMap())
    if option(given, "path") is not None:
        names = (CATALOG_OPTION, DATABASE_OPTION, TABLE_OPTION)
        given = {k: v for k, v in given.items() if not (is_of_file_system(k) or k.lower() in names)}
    return {k: v for k, v in given.items() if not k.lower().startswith(_SPARK_PREFIXES)}


def with_read_options(session: JvmSession, table: Table, given: Mapping[str, str]) -> Table:
    """The table with the options of a read; times without a zone are in the session's time zone.

    Raises:
        InvalidInputError: a value is not a valid time.
        NotFoundError: there is no such branch.
        InvalidOptionError: an option is unknown, has an invalid value, or is immutable.
    """
    if given:
        validate(given, Scope.SPARK)
        warn_of_ineffective(session, given)
        options = canonical(given)
        check_changes(table.schema.options, options, has_snapshots=True)
        stored = moved_to_branch(table, options)
        table = stored.with_options(options)
        check_merging(table.name, stored.options, table.options)
    return in_zone(table, lambda: session_zone(session))


def also_read(options: StringMap | None) -> frozenset[str]:
    """The columns that a scan reads even if the query does not need them."""
    columns = None if options is None else options.get(ALSO_READ)
    return frozenset(json.loads(columns)) if columns else frozenset()


_CREATION_KEYS = frozenset((PRIMARY_KEY.key, PARTITION.key, PATH.key, TYPE.key))
"""Options that ``saveAsTable`` passes both to the table that it creates and to the write that fills it."""


def write_options(jvm: Jvm, table: Table, options: StringMap) -> dict[str, str]:
    """The Paimon options of a write that differ from the table's, and always that of dynamic partition overwrite.

    Unknown options are ignored, since a ``DataFrameWriter`` gets Spark's options as well.

    Raises:
        InvalidOptionError: an option has an invalid value or is immutable.
    """
    known = {k: v for k, v in read_options(jvm, options).items() if find_option(k) is not None}
    validate(known, Scope.SPARK)
    stored = table.schema.options
    requested = {k: v for k, v in canonical(known).items() if k not in _CREATION_KEYS | TRAVEL_KEYS}
    check_changes(stored, requested, has_snapshots=True)
    check_merging(table.name, table.options, table.with_options(requested).options)
    return {k: v for k, v in requested.items() if stored.get(k) != v or k == DYNAMIC_PARTITION_OVERWRITE.key}


_VERSION, _MILLIS = "scan.version", "scan.timestamp-millis"
_NO_TRAVEL = re.compile(r"TableContext\{timeTravel=null, writePrivileges=\[([A-Z_, ]*)\]\}")


def informative(context: tuple[object, ...]) -> tuple[object, ...]:
    """The arguments of a ``loadTable`` call after the name; none if they tell nothing, as those of most reads.

    Whoever asks for what they tell then calls the JVM no more.
    """
    options = _options_in(context)
    is_empty = bool(context) and _privileges(context) == "" and (options is None or options.isEmpty())
    return () if is_empty else context


def travel_options(jvm: Jvm, context: tuple[object, ...]) -> dict[str, str]:
    """The options of time travel in the arguments of a ``loadTable`` call after the name.

    Spark passes a version as a string, a time as microseconds, and privileges as a set, which is ignored here. Since
    4.3 a ``TableContext`` contains all of them.
    """
    if not context:
        return {}
    options, first = _options_in(context), context[0]
    if _privileges(context) is not None and (options is None or options.isEmpty()):
        return {}
    if isinstance(first, str):
        return {_VERSION: first}
    if isinstance(first, int):
        return {_MILLIS: str(first // 1000)}
    if isinstance(first, JavaObject) and first.getClass().getSimpleName() == "TableContext":
        by_option = {key: value for key, value in read_options(jvm, options).items() if key in TRAVEL_KEYS}
        if by_option:
            return by_option
        travel = first.timeTravel()
        if travel.isPresent():
            point = travel.get()
            if point.getClass().getSimpleName() == "AsOfVersion":
                return {_VERSION: str(point.version())}
            return {_MILLIS: str(int(point.micros()) // 1000)}
    return {}


def relation_options(jvm: Jvm, context: tuple[object, ...]) -> dict[str, str]:
    """The relation's options in a ``loadTable`` call, by their canonical names."""
    return canonical(read_options(jvm, _options_in(context)))


def _options_in(context: tuple[object, ...]) -> StringMap | None:
    """The relation's options in a ``loadTable`` call; None before 4.3, which passes none."""
    is_given = len(context) > 1 and isinstance(context[1], JavaObject)
    return cast(StringMap, context[1]) if is_given else None


def _privileges(context: tuple[object, ...]) -> str | None:
    """The privileges in a ``TableContext`` without time travel: one call to the JVM instead of one per member."""
    given = _NO_TRAVEL.fullmatch(str(context[0].toString())) if isinstance(context[0], JavaObject) else None
    return None if given is None else given[1]


def as_of(table: Table, options: Mapping[str, str], zone: Callable[[], tzinfo], *, for_streams: bool = False) -> Table:
    """The table with options of time travel, and the columns of that time.

    Args:
        table: the table.
        options: the options.
        zone: returns the session's time zone.
        for_streams: whether a stream may read it. A stream continues from its checkpoint even if its start snapshot has
            expired, so a missing snapshot is not an error here; a batch read raises it in planning.
    """
    if not options:
        return table
    moved = table.with_options(options)
    zoned = in_zone(moved, zone)
    try:
        return ScanLayout.of(zoned).scanned_version(zoned).of(moved)
    except NoSuchSnapshotError:
        if for_streams:
            return moved
        raise


def is_write(context: tuple[object, ...]) -> bool:
    """Whether a ``loadTable`` call is for a statement that writes: only then Spark passes privileges."""
    if not context or not isinstance(context[0], JavaObject):
        return False
    given = _privileges(context)
    if given is not None:
        return bool(given)
    kind = context[0].getClass().getSimpleName()
    privileges = context[0].writePrivileges() if kind == "TableContext" else context[0]
    return hasattr(privileges, "isEmpty") and not privileges.isEmpty()
