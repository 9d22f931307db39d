"""Options of one read: OPTIONS hints, ``WITH (..)`` behind a table, and those of a ``DataFrameReader``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from paimon_sql.format.options import Scope, canonical, check_changes, validate
from paimon_sql.format.options.engines.spark import READ_CHANGELOG
from paimon_sql.format.options.table.table import BRANCH
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.options.ineffective import warn_of_ineffective
from paimon_sql.spark.options.session import session_zone
from paimon_sql.storage.branches.management import moved_to_branch
from paimon_sql.storage.merge.lookup_levels import check_merging
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.local_times import in_zone
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_SPARKS_OWN = ("__", "path", "versionasof", "timestampasof")
"""How the options begin that Spark itself gives or answers to."""

ALSO_READ = "__paimon.also-read"
"""What a rule of ours tells a read: the columns, as JSON, that are read whether the query wants them or not."""

_OF_FILE_SYSTEMS = ("fs.", "s3.", "s3a.", "dfs.", "hadoop.")
"""How the options begin that say how a file system is reached."""

STATE_KEYS = frozenset((*TRAVEL_KEYS, BRANCH.key, READ_CHANGELOG.key, *READ_CHANGELOG.alternatives))
"""The options that decide which state of a table is seen, and so its columns."""


CATALOG_OPTION, DATABASE_OPTION, TABLE_OPTION = "catalog", "database", "table"
"""The options that say by which name of which catalog the table at a path is to be found."""


def option(options: Mapping[str, str], key: str) -> str | None:
    """What a ``DataFrameReader``'s or ``DataFrameWriter``'s options hold under a key, in whatever case."""
    return next((v for k, v in options.items() if k.lower() == key), None)


def is_of_file_system(key: str) -> bool:
    """Whether an option says how the file system is reached that holds a table at a path."""
    return key.startswith(_OF_FILE_SYSTEMS)


def _is_of_place(key: str) -> bool:
    return is_of_file_system(key) or key.lower() in (CATALOG_OPTION, DATABASE_OPTION, TABLE_OPTION)


def given_options(jvm: Jvm, options: Any) -> dict[str, str]:
    """What a ``CaseInsensitiveStringMap`` holds, by the keys as they were written, without what Spark adds.

    Where a path says which table is meant, options may tell how it is found, and are none of the read.
    """
    if options is None or options.isEmpty():
        return {}
    given = jvm.texts(options.asCaseSensitiveMap())
    if option(given, "path") is not None:
        given = {k: v for k, v in given.items() if not _is_of_place(k)}
    return {k: v for k, v in given.items() if not k.lower().startswith(_SPARKS_OWN)}


def under_options(jvm: Jvm, session: Any, table: Table, given: Mapping[str, str]) -> Table:
    """The table under the options of a read; times without a zone are read in the session's.

    Raises:
        InvalidInputError: a text is no time.
        NotFoundError: there is no such branch.
        InvalidOptionError: a key is no option, does not take its value, or is fixed for the life of a table.
    """
    if given:
        validate(given, Scope.SPARK)
        warn_of_ineffective(session, given)
        options = canonical(given)
        check_changes(table.schema.options, options, has_snapshots=True)
        stored = moved_to_branch(table, options)
        table = stored.with_options(options)
        check_merging(table.name, stored.options, table.options)
    return in_zone(table, lambda: session_zone(jvm, session))


def also_read(options: Any) -> frozenset[str]:
    """The columns that a read is told to read whatever the query wants."""
    told = None if options is None else options.get(ALSO_READ)
    return frozenset(json.loads(told)) if told else frozenset()
