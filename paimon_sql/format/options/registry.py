"""Registry of all options: every `Option` that a topic module declares, by its key."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from types import ModuleType

from paimon_sql.format.options.engines import catalog, flink, spark
from paimon_sql.format.options.operations import changelog, commit, compaction, scan, snapshot, write
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
    "Merge engines": merge_engine,
    "Changelogs": changelog,
    "Snapshots, tags and consumers": snapshot,
    "Commits and manifests": commit,
    "Compaction and clustering": compaction,
    "Writing": write,
    "Reading": scan,
    "Data files": data_file,
    "Partitions and record expiration": partition,
    "Indexes and deletion vectors": index,
    "Row tracking and blobs": row_tracking,
    "Materialized tables": materialized_table,
    "Format tables": format_table,
    "Iceberg": iceberg,
    "Spark": spark,
    "Catalogs": catalog,
    "Flink and lookups": flink,
}
"""The topic modules in the order of the reference."""


def declared(module: ModuleType) -> Iterator[Option[object]]:
    """Yield the options of a topic: those with a name, as it declares them, then those that only other engines read."""
    yield from (value for value in vars(module).values() if isinstance(value, Option))
    yield from getattr(module, "KEPT", ())


_DECLARED = [option for topic in TOPICS.values() for option in declared(topic)]
OPTIONS: dict[str, Option[object]] = {option.key: option for option in _DECLARED if option.pattern is None}
"""The options by key, without the patterns."""

PATTERNS: tuple[Option[object], ...] = tuple(
    sorted((o for o in _DECLARED if o.pattern is not None), key=lambda o: len(o.for_name("", "", "")), reverse=True)
)
"""The options with a pattern as key, those with the longest fixed text first."""

_ALTERNATIVES: dict[str, Option[object]] = {
    key: option for option in OPTIONS.values() for key in option.alternatives if key not in OPTIONS
}


def find_option(key: str) -> Option[object] | None:
    """Find the option of a key, which may be an alternative key or match a pattern; None if there is none."""
    if option := OPTIONS.get(key) or _ALTERNATIVES.get(key):
        return option
    return next((p for p in PATTERNS if p.pattern is not None and p.pattern.fullmatch(key)), None)


def is_bare_alternative(key: str) -> bool:
    """Whether a key is an alternative of one plain word, such as ``header``, an option of some tables only."""
    return key in _ALTERNATIVES and not any(sign in key for sign in ".-")


def nearest_key(key: str, similarity: float = 0.6) -> str | None:
    """Find the known key that is most similar to a mistyped one; None if none is similar.

    Args:
        key: the mistyped key.
        similarity: min similarity, from 0 to 1.
    """
    normalized = _normalized(key)
    by_normalized = {_normalized(known): known for known in (*OPTIONS, *_ALTERNATIVES)}
    if normalized in by_normalized:
        return by_normalized[normalized]
    patterns = {_normalized(filled): filled for filled in _filled_patterns(key)}
    close = difflib.get_close_matches(normalized, [*by_normalized, *patterns], n=1, cutoff=similarity)
    return {**patterns, **by_normalized}[close[0]] if close else None


def _normalized(key: str) -> str:
    return key.lower().replace("_", "-")


def _filled_patterns(key: str) -> Iterator[str]:
    """Yield the keys of patterns with as many parts as ``key``, filled with its names."""
    parts = key.split(".")
    for option in PATTERNS:
        names = option.key.split(".")
        if len(parts) >= 3 and len(names) == len(parts) and names[0] == parts[0]:
            yield ".".join(part if name.startswith("<") else name for name, part in zip(names, parts, strict=True))
