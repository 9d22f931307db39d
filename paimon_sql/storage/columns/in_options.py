"""Options that name columns, and their update when a column is renamed or dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paimon_sql.format.options import Option, find_option
from paimon_sql.format.options.operations import changelog, compaction
from paimon_sql.format.options.table import bucket, data_file, index, merge_engine, partition
from paimon_sql.storage.columns.blobs_and_vectors import BLOB_OPTIONS

GLOBAL_INDEXES = (
    index.PK_BTREE_INDEX_COLUMNS,
    index.PK_BITMAP_INDEX_COLUMNS,
    index.PK_MULTIVALUE_INDEX_COLUMNS,
    index.PK_FULL_TEXT_INDEX_COLUMNS,
    index.PK_VECTOR_INDEX_COLUMNS,
)
"""The options that define global indexes of columns."""

_STORAGE_LISTS = (*BLOB_OPTIONS, index.VECTOR_FIELD)
_STORAGE_KEYS = (
    merge_engine.FIELD_MAP_STORAGE_LAYOUT,
    merge_engine.FIELD_MAP_SHARED_SHREDDING_MAX_COLUMNS,
    merge_engine.FIELD_MAP_SHARED_SHREDDING_PLACEMENT,
)
_LISTS: frozenset[Option[object]] = frozenset(
    (
        *(bucket.BUCKET_KEY, data_file.ORC_COLUMN_ENCODING_DIRECT, index.FILE_INDEX_COLUMNS),
        *(merge_engine.SEQUENCE_FIELD, merge_engine.FIELD_SEQUENCE_GROUP, merge_engine.ROWKIND_FIELD),
        *(merge_engine.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP, partition.RECORD_LEVEL_TIME_FIELD),
        *(changelog.CHANGELOG_PRODUCER_ROW_DEDUPLICATE_IGNORE_FIELDS, compaction.CLUSTERING_COLUMNS),
        *GLOBAL_INDEXES,
        *_STORAGE_LISTS,
    )
)
"""The options whose values are lists of columns."""
_MEMBERS = (merge_engine.FIELD_NESTED_KEY, merge_engine.FIELD_NESTED_SEQUENCE_FIELD, merge_engine.FIELD_TS_FIELD)
_VECTOR_DIM = re.compile(r"field\.(.+)\.vector-dim")
_PLACEHOLDER = re.compile(r"<([^<>]+)>")


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column that an option names; ``in_key``: in its key, not in its value."""

    key: str
    option: Option[object] | None
    column: str
    in_key: bool


def named_columns(options: Mapping[str, str]) -> Iterator[NamedColumn]:
    """Yield all columns that the options name, in keys and values."""
    for key, text in options.items():
        option = find_option(key)
        for start, end in _column_spans(key):
            yield from (NamedColumn(key, option, name, True) for name, _ in _split(key[start:end]))
        if option in _LISTS:
            yield from (NamedColumn(key, option, name, False) for name, _ in _split(text))


def options_naming(options: Mapping[str, str], column: str) -> list[str]:
    """Return the keys of the options that name a column."""
    return list(dict.fromkeys(named.key for named in named_columns(options) if named.column == column))


def global_index_of(options: Mapping[str, str], column: str) -> str | None:
    """Return the key of the option that defines a global index of the column; None without one."""
    named = named_columns(options)
    return next((n.key for n in named if n.column == column and n.option in GLOBAL_INDEXES), None)


def rename_column(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """Replace a column's name in the options."""
    changed: dict[str, str] = {}
    for key, text in options.items():
        renamed = _renamed(text, old, new) if find_option(key) in _LISTS else text
        for start, end in reversed(_column_spans(key)):
            key = key[:start] + _renamed(key[start:end], old, new) + key[end:]
        changed[key] = renamed
    return changed


def rename_member(options: Mapping[str, str], path: tuple[str, ...], new: str) -> dict[str, str]:
    """Replace the name of a field inside a column in the options."""
    keys = {option.for_name(path[0]) for option in _MEMBERS}
    return {key: _renamed(text, path[-1], new) if key in keys else text for key, text in options.items()}


def forget_storage(options: Mapping[str, str], column: str) -> dict[str, str]:
    """Remove the options that define how a column is stored, such as for a dropped column."""
    removed = {option.for_name(column) for option in _STORAGE_KEYS} | {f"field.{column}.vector-dim"}
    retained: dict[str, str] = {}
    for key, text in options.items():
        if find_option(key) in _STORAGE_LISTS:
            text = ",".join(name for name, _ in _split(text) if name != column)
            if not text:
                continue
        if key not in removed:
            retained[key] = text
    return retained


def _column_spans(key: str) -> list[tuple[int, int]]:
    """Return the spans of column names in a key."""
    if match := _VECTOR_DIM.fullmatch(key):
        return [match.span(1)]
    option = find_option(key)
    match = option.pattern.fullmatch(key) if option is not None and option.pattern is not None else None
    if option is None or match is None:
        return []
    placeholders = _PLACEHOLDER.findall(option.key)
    return [match.span(i) for i, name in enumerate(placeholders, 1) if name in ("column", "columns")]


def _renamed(text: str, old: str, new: str) -> str:
    names = _split(text)
    if not any(name == old for name, _ in names):
        return text
    return ",".join((new if name == old else name) + key for name, key in names)


def _split(text: str) -> list[tuple[str, str]]:
    """Split comma-separated names, each with an optional map key, as in ``attributes[color]``."""
    found = []
    for item in text.split(","):
        head, bracket, key = item.strip().partition("[")
        has_key = bracket and key.endswith("]")
        if item.strip():
            found.append((head, bracket + key) if has_key else (item.strip(), ""))
    return found
