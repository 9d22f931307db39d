"""Options of one read: OPTIONS hints, ``WITH (..)`` after a table, and those of a ``DataFrameReader``."""

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


def _locates_table(key: str) -> bool:
    return is_of_file_system(key) or key.lower() in (CATALOG_OPTION, DATABASE_OPTION, TABLE_OPTION)


def read_options(jvm: Jvm, options: Any) -> dict[str, str]:
    """The options in a ``CaseInsensitiveStringMap``, with keys in their original case, without those of Spark.

    For a table at a path, the options that locate it (file system, catalog, name) are left out as well.
    """
    if options is None or options.isEmpty():
        return {}
    given = jvm.strings_map(options.asCaseSensitiveMap())
    if option(given, "path") is not None:
        given = {k: v for k, v in given.items() if not _locates_table(k)}
    return {k: v for k, v in given.items() if not k.lower().startswith(_SPARK_PREFIXES)}


def with_read_options(jvm: Jvm, session: Any, table: Table, given: Mapping[str, str]) -> Table:
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
    return in_zone(table, lambda: session_zone(jvm, session))


def also_read(options: Any) -> frozenset[str]:
    """The columns that a scan reads even if the query does not need them."""
    columns = None if options is None else options.get(ALSO_READ)
    return frozenset(json.loads(columns)) if columns else frozenset()
