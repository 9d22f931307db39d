"""Options of one read: OPTIONS hints, ``WITH (..)`` behind a table, and those of a ``DataFrameReader``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_sql.format.options import Scope, canonical, check_changes, validate
from paimon_sql.spark.java import Jvm
from paimon_sql.spark.session_options import session_zone
from paimon_sql.storage.branching import moved_to_branch
from paimon_sql.storage.local_times import in_zone
from paimon_sql.storage.table import Table

_SPARKS_OWN = ("__", "path", "versionasof", "timestampasof")
"""How the options begin that Spark itself gives or answers to."""


def given_options(options: Any) -> dict[str, str]:
    """What a ``CaseInsensitiveStringMap`` holds, by the keys as they were written, without what Spark adds."""
    if options is None or options.isEmpty():
        return {}
    return {k: v for k, v in dict(options.asCaseSensitiveMap()).items() if not k.lower().startswith(_SPARKS_OWN)}


def under_options(jvm: Jvm, session: Any, table: Table, given: Mapping[str, str]) -> Table:
    """The table under the options of a read; times without a zone are read in the session's.

    Raises:
        InvalidInputError: a text is no time.
        NotFoundError: there is no such branch.
        InvalidOptionError: a key is no option, does not take its value, or is fixed for the life of a table.
    """
    if given:
        validate(given, Scope.SPARK)
        options = canonical(given)
        check_changes(table.schema.options, options, has_snapshots=True)
        table = moved_to_branch(table, options).with_options(options)
    return in_zone(table, lambda: session_zone(jvm, session))
