"""Validation of the options of a statement, before its execution.

A table property with a declared key is an option. Other keys are the user's properties, which are stored and otherwise
ignored, unless they are in Paimon's namespace and so must be a mistake:

- the part before the first dot is that of declared keys, as in ``snapshot.retain`` or
  ``fields.price.agregate-function``; or
- the key is very similar to a declared one, as in ``buckets``, ``merge_engine`` or ``source.split.targetsize``. Only
  this applies to keys without a dot and to those that begin with a common word (``source``, ``table``, ``write``).
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options.operations.compaction import CLUSTERING_COLUMNS, PK_CLUSTERING_OVERRIDE
from paimon_sql.format.options.registry import OPTIONS, PATTERNS, find_option, is_bare_alternative, nearest_key
from paimon_sql.format.options.table.bucket import BUCKET, BUCKET_KEY
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MODIFIABLE
from paimon_sql.format.options.table.merge_engine import IGNORE_DELETE, IGNORE_UPDATE_BEFORE
from paimon_sql.format.options.table.table import PARTITION, PATH, PRIMARY_KEY, TYPE
from paimon_sql.format.options.values import Option, Scope, TableOptions, comma_separated
from paimon_sql.format.text.durations import format_duration, parse_duration

_COMMON_WORDS = frozenset(
    (
        *("blob", "catalog", "csv", "file", "filesystem", "hive", "http", "jdbc", "json", "lance", "log", "metadata"),
        *("mosaic", "partition", "read", "source", "table", "text", "type", "variant", "vector", "write"),
    )
)
_OWN_WORDS = frozenset(option.key.split(".")[0] for option in (*OPTIONS.values(), *PATTERNS) if "." in option.key)
_SIMILAR, _VERY_SIMILAR = 0.6, 0.8
_FIXED_FROM_THE_START = (TYPE, PATH, PRIMARY_KEY, PARTITION)
_COLUMN_LISTS = (PRIMARY_KEY, PARTITION, BUCKET_KEY)


def validate(options: Mapping[str, str], scope: Scope = Scope.TABLE) -> None:
    """Check that options exist and that their values are valid.

    Args:
        options: the values as strings, by key.
        scope: where they are set: a ``TABLE`` (its properties), a statement or session (``SPARK``), where every key
            must be an option, or a ``CATALOG``.

    Raises:
        InvalidOptionError: one is not; the message has the key, the value, and allowed values or the similar key.
    """
    for key, text in options.items():
        option = find_option(key)
        if option is None:
            if scope is Scope.SPARK or _is_mistake(key):
                raise unknown_option(key)
        elif not is_bare_alternative(key) and (option.scope is Scope.CATALOG) == (scope is Scope.CATALOG):
            option.read(text, key)
        elif option.scope is Scope.CATALOG and scope is Scope.SPARK:
            raise InvalidOptionError(
                f"The option '{key}' belongs to a catalog.", key=key, remedy=f"Set spark.sql.catalog.<name>.{key}."
            )


def unknown_option(key: str) -> InvalidOptionError:
    """The error of an unknown key."""
    near = nearest_key(key, _SIMILAR)
    remedy = f"Did you mean '{near}'?" if near else "See the option reference for the keys that exist."
    return InvalidOptionError(f"There is no option '{key}'.", key=key, remedy=remedy)


def canonical(options: Mapping[str, str]) -> dict[str, str]:
    """Convert options of a user to the form that every implementation reads, to be stored.

    A key that is only a spelling of documents becomes the option's key, and an ISO duration gets the usual form.
    """
    stored: dict[str, str] = {}
    for key, text in options.items():
        option = find_option(key)
        own = option.key if option is not None and option.renamed else key
        if option is not None and option.kind == "Duration" and "P" in text.upper():
            text = format_duration(parse_duration(text))
        if own == key or own not in options:
            stored[own] = text
    return stored


def check_changes(current: Mapping[str, str], changes: Mapping[str, str | None], *, has_snapshots: bool) -> None:
    """Check that changes of options do not break a table.

    Args:
        current: the table's options, including ``primary-key`` and ``partition``.
        changes: the new values; None removes the option. Options of a statement or session are changes, too.
        has_snapshots: whether the table was written to; before that, nearly all may change.

    Raises:
        InvalidOptionError: an option is fixed, or must not change in this way.
    """
    for key, text in changes.items():
        option = find_option(key)
        if option is None or _same(option, current.get(key), text):
            continue
        if option in _FIXED_FROM_THE_START or (has_snapshots and option.immutable):
            raise InvalidOptionError(
                f"The {key.replace('-', ' ')} of a table ('{key}') is fixed when it is created.",
                key=key,
                remedy="Create a new table with the wanted value and copy the data into it.",
            )
        if has_snapshots:
            _check_transition(option, key, current, text)


def _is_mistake(key: str) -> bool:
    head, dot, _ = key.partition(".")
    if dot and head not in _COMMON_WORDS:
        return head.lower().replace("_", "-") in _OWN_WORDS
    near = nearest_key(key, _VERY_SIMILAR)
    return near is not None and (near == BUCKET.key or any(sign in near for sign in "-."))


def _same(option: Option[object], old: str | None, new: str | None) -> bool:
    if option in _COLUMN_LISTS:
        return comma_separated(old) == comma_separated(new)
    return old == new


def _check_transition(option: Option[object], key: str, current: Mapping[str, str], text: str | None) -> None:
    before = TableOptions(current)
    after = TableOptions({k: v for k, v in {**current, key: text}.items() if v is not None})
    if option is BUCKET:
        old, new = before.get(BUCKET), after.get(BUCKET)
        if text is None or (old != new and -1 in (old, new)):
            raise InvalidOptionError(
                f"The option 'bucket' of a table with data cannot change from {old} to {text or 'the default'}.",
                key=key,
                remedy="A table cannot change between dynamic buckets and a number; a number can change to another"
                " one.",
            )
    switched = before.get(DELETION_VECTORS_ENABLED) != after.get(DELETION_VECTORS_ENABLED)
    if option is DELETION_VECTORS_ENABLED and switched and not before.get(DELETION_VECTORS_MODIFIABLE):
        raise InvalidOptionError(
            f"The option '{key}' of a table with data cannot change: rows might appear twice.",
            key=key,
            remedy="Set 'deletion-vectors.modifiable' to true first, and compact the table fully.",
        )
    for switch in (IGNORE_DELETE, IGNORE_UPDATE_BEFORE):
        if option is switch and before.get(switch) and text is not None and not after.get(switch):
            raise InvalidOptionError(
                f"The option '{key}' cannot change from true to false: what was ignored is lost.", key=key
            )
    if option is CLUSTERING_COLUMNS and before.has(PK_CLUSTERING_OVERRIDE):
        raise InvalidOptionError(f"The option '{key}' is fixed for a table with 'pk-clustering-override'.", key=key)
