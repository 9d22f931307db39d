"""What may be set: checks of the options that a statement gives, before anything is done.

A property of a table is an option when its key is declared. A key that is not declared is the user's own, kept and
otherwise passed over, unless it lies in Paimon's name space, where it must be a mistake:

- the part before its first dot begins declared keys (``snapshot.retain``, ``fields.price.agregate-function``); where that
  part is an everyday word (``source``, ``table``, ``user``), only if the whole key is much like a declared one;
- it has no dot and is much like a declared key (``bukcet``, ``merge_engine``).
"""

from __future__ import annotations

from collections.abc import Mapping

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.durations import format_duration, parse_duration
from paimon_sql.format.options.bucket import BUCKET
from paimon_sql.format.options.compaction import CLUSTERING_COLUMNS, PK_CLUSTERING_OVERRIDE
from paimon_sql.format.options.index import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MODIFIABLE
from paimon_sql.format.options.merge_engine import IGNORE_DELETE, IGNORE_UPDATE_BEFORE
from paimon_sql.format.options.registry import OPTIONS, PATTERNS, find_option, is_bare_alternative, nearest_key
from paimon_sql.format.options.table import PATH, TYPE
from paimon_sql.format.options.table_options import TableOptions
from paimon_sql.format.options.values import Option, Scope

_EVERYDAY_WORDS = frozenset(
    ("blob", "catalog", "csv", "end-input", "file", "filesystem", "hive", "json", "log", "lance", "lumina", "mosaic")
    + ("partition", "path", "read", "source", "table", "text", "type", "uri", "variant", "vector", "write", "metadata")
)
_OWN_WORDS = frozenset(key.split(".")[0] for key in (*OPTIONS, *(p.key for p in PATTERNS)) if "." in key)
_ALIKE, _MUCH_ALIKE = 0.6, 0.85

_DISALLOWED_FOR_STATEMENTS = (Scope.CATALOG, Scope.FLINK)


def validate(options: Mapping[str, str], scope: Scope = Scope.TABLE) -> None:
    """Refuse options that do not exist or do not take their values.

    Args:
        options: the texts by key.
        scope: what they are given for: a ``TABLE`` (its properties), a statement or session of ``SPARK`` (where nothing
            but options makes sense), or a ``CATALOG``.

    Raises:
        InvalidOptionError: naming the key, the value, what is allowed and the key that was likely meant.
    """
    for key, text in options.items():
        option = find_option(key)
        if option is None or (scope is Scope.SPARK and option.scope is Scope.CATALOG):
            if scope is Scope.SPARK or _is_mistake(key):
                raise unknown_option(key)
        elif _means_option(key, option, scope):
            option.read(text, key)


def unknown_option(key: str) -> InvalidOptionError:
    """The error for a key that no option has."""
    near = nearest_key(key, _ALIKE)
    remedy = f"Did you mean '{near}'?" if near else "See the option reference for the keys that exist."
    return InvalidOptionError(f"There is no option '{key}'.", key=key, remedy=remedy)


def canonical(options: Mapping[str, str]) -> dict[str, str]:
    """The options as every implementation reads them: to be stored in place of what the user wrote.

    A key that only documents spell so becomes the option's own, and an ISO duration the usual form.
    """
    stored = {}
    for key, text in options.items():
        option = find_option(key)
        own = key if option is None or not option.renamed else option.key
        if option is not None and option.kind == "Duration" and text.strip().upper().startswith(("P", "-P", "+P")):
            text = format_duration(parse_duration(text))
        if own == key or own not in options:
            stored[own] = text
    return stored


def check_changes(
    current: Mapping[str, str], changes: Mapping[str, str | None], *, has_snapshots: bool, dynamic: bool = False
) -> None:
    """Refuse changes of options that would break a table.

    Args:
        current: the table's options, with its keys (``primary-key``, ``partition``) among them.
        changes: the new texts; None removes the option.
        has_snapshots: whether the table was written to; before that, nearly all may change.
        dynamic: whether the change holds for a statement or session only.

    Raises:
        InvalidOptionError: an option is fixed, or must not change in this way.
    """
    for key, text in changes.items():
        old = current.get(key)
        if old == text or (text is None and old is None):
            continue
        option = find_option(key)
        if option in (TYPE, PATH) and not (dynamic and option is PATH):
            raise _fixed(key)
        if has_snapshots and option is not None:
            if option.immutable:
                raise _fixed(key)
            _check_transition(option, key, current, text)


def _means_option(key: str, option: Option[object], scope: Scope) -> bool:
    if is_bare_alternative(key):
        return False
    if scope is Scope.CATALOG:
        return option.scope is Scope.CATALOG
    return option.scope is not Scope.CATALOG


def _is_mistake(key: str) -> bool:
    head, dot, _ = key.partition(".")
    if not dot or head in _EVERYDAY_WORDS:
        return nearest_key(key, _MUCH_ALIKE) is not None
    return head.lower().replace("_", "-") in _OWN_WORDS


def _fixed(key: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"The option '{key}' is fixed when a table is created and cannot change any more.",
        key=key,
        remedy="Create a new table with the wanted value and copy the data into it.",
    )


def _check_transition(option: Option[object], key: str, current: Mapping[str, str], text: str | None) -> None:
    before = TableOptions(current)
    after = TableOptions({k: v for k, v in {**current, key: text}.items() if v is not None})
    if option is BUCKET:
        if text is None:
            raise InvalidOptionError("The option 'bucket' of a table with data cannot be removed.", key=key)
        if (before.get(BUCKET) == -1) != (after.get(BUCKET) == -1):
            raise InvalidOptionError(
                f"The option 'bucket' of a table with data cannot change from {before.get(BUCKET)} to {after.get(BUCKET)}.",
                key=key,
                remedy="A table stays with or without dynamic buckets.",
            )
    if option is DELETION_VECTORS_ENABLED and before.get(DELETION_VECTORS_ENABLED) != after.get(
        DELETION_VECTORS_ENABLED
    ):
        if not before.get(DELETION_VECTORS_MODIFIABLE):
            raise InvalidOptionError(
                "Deletion vectors cannot be switched on or off for a table with data: rows might appear twice.",
                key=key,
                remedy="Set 'deletion-vectors.modifiable' to true first, and compact the table fully.",
            )
    for switch in (IGNORE_DELETE, IGNORE_UPDATE_BEFORE):
        if option is switch and before.get(switch) and not after.get(switch):
            raise InvalidOptionError(
                f"The option '{key}' cannot change from true to false: rows that were passed over are lost.", key=key
            )
    if option is CLUSTERING_COLUMNS and before.has(PK_CLUSTERING_OVERRIDE):
        raise InvalidOptionError(f"The option '{key}' is fixed for a table with 'pk-clustering-override'.", key=key)
