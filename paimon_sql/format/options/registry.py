"""The table of all options: every `Option` that a topic module declares, by its key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from paimon_sql.format.options.engines import catalog, flink, lookup, spark
from paimon_sql.format.options.operations import changelog, commit, compaction, scan, snapshot, tag, write
from paimon_sql.format.options.table import (
    bucket,
    data_file,
    format_table,
    iceberg,
    index,
    materialized_table,
    merge_engine,
    partition,
    row_tracking,
    table,
)
from paimon_sql.format.options.values import Option

TOPICS: dict[str, ModuleType] = {
    "Tables": table,
    "Buckets": bucket,
    "Merging rows of a key": merge_engine,
    "Changelogs": changelog,
    "Snapshots and consumers": snapshot,
    "Tags": tag,
    "Commits and manifests": commit,
    "Compaction and clustering": compaction,
    "Writing": write,
    "Reading": scan,
    "Data files": data_file,
    "Partitions and expiry of rows": partition,
    "Indexes and deletion vectors": index,
    "Row tracking and blobs": row_tracking,
    "Look-ups": lookup,
    "Materialized tables": materialized_table,
    "Format tables": format_table,
    "Iceberg": iceberg,
    "Spark": spark,
    "Catalogs": catalog,
    "Flink": flink,
}
"""The topic modules in the order of the reference."""


def declared(module: ModuleType) -> Iterator[Option[Any]]:
    """The options of a topic in the order of their declaration."""
    return (value for value in vars(module).values() if isinstance(value, Option))


OPTIONS: dict[str, Option[Any]] = {
    option.key: option for topic in TOPICS.values() for option in declared(topic) if option.pattern is None
}
"""The options by key, without the patterns."""

PATTERNS: tuple[Option[Any], ...] = tuple(
    sorted(
        (option for topic in TOPICS.values() for option in declared(topic) if option.pattern is not None),
        key=lambda option: len(option.for_name("", "", "")),
        reverse=True,
    )
)
"""The patterns, those with the longest fixed text first."""

_ALTERNATIVES: dict[str, Option[Any]] = {
    key: option for option in OPTIONS.values() for key in option.alternatives if key not in OPTIONS
}


def find_option(key: str) -> Option[Any] | None:
    """The option that a key means: by its own key, by an alternative one, or by a pattern; None when it means none."""
    if option := OPTIONS.get(key) or _ALTERNATIVES.get(key):
        return option
    return next((p for p in PATTERNS if p.pattern is not None and p.pattern.fullmatch(key)), None)


def is_bare_alternative(key: str) -> bool:
    """Whether a key is a plain word such as ``header``, which only some tables take for an option."""
    return key in _ALTERNATIVES and not any(sign in key for sign in ".-")


def nearest_key(key: str, likeness: float = 0.6) -> str | None:
    """The known key that a mistyped one was most likely meant to be; None when none is alike.

    Args:
        key: the mistyped key.
        likeness: how alike the two must be, from 0 to 1.
    """
    wanted = _plain(key)
    by_plain = {_plain(known): known for known in (*OPTIONS, *_ALTERNATIVES)}
    if wanted in by_plain:
        return by_plain[wanted]
    patterns = {_plain(filled): filled for filled in _filled_patterns(key)}
    close = difflib.get_close_matches(wanted, [*by_plain, *patterns], n=1, cutoff=likeness)
    return {**patterns, **by_plain}[close[0]] if close else None


def _plain(key: str) -> str:
    return key.lower().replace("_", "-")


def _filled_patterns(key: str) -> Iterator[str]:
    """The keys that patterns of as many parts would have with the names of this one."""
    parts = key.split(".")
    for option in PATTERNS:
        wanted = option.key.split(".")
        if len(parts) >= 3 and len(wanted) == len(parts) and wanted[0] == parts[0]:
            yield ".".join(part if name.startswith("<") else name for name, part in zip(wanted, parts, strict=True))
