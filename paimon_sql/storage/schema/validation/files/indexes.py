"""Rules about file indexes, and about indexes of tables with a primary key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.file_index.declared import split_name, value_type
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.options.operations.compaction import PK_CLUSTERING_OVERRIDE
from paimon_sql.format.options.table import index
from paimon_sql.format.options.table.merge_engine import FIELD_MAP_STORAGE_LAYOUT
from paimon_sql.format.options.values import TableOptions, comma_separated
from paimon_sql.format.schema import types as t
from paimon_sql.storage.columns.in_options import GLOBAL_INDEXES
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.metadata.definition import Definition, conflict, quoted_list

_SEARCHED_TYPES = (
    (index.PK_FULL_TEXT_INDEX_COLUMNS, (t.CharType, t.VarCharType), "a string"),
    (index.PK_MULTIVALUE_INDEX_COLUMNS, (t.ArrayType,), "an array"),
)
_DISTANCES = ("l2", "cosine", "inner_product")


def file_indexes(table: Definition) -> Iterator[PaimonError]:
    """File indexes are of a known kind that supports their columns' types, and settings are of declared indexes."""
    declared: set[tuple[str, str]] = set()
    for (kind,), columns in table.options.matching(index.FILE_INDEX_COLUMNS):
        key = index.FILE_INDEX_COLUMNS.for_name(kind)
        if kind not in KINDS:
            yield conflict(key, f"has the unknown file index type '{kind}'.", f"Use one of {', '.join(KINDS)}.")
            continue
        for name in comma_separated(columns):
            head, map_key = split_name(name)
            declared |= {(kind, name), (kind, head)}
            field = table.columns.get(head)
            if field is None:
                continue
            indexed = value_type(field.type, map_key)
            if indexed is None:
                yield conflict(key, f"names '{name}', but '{head}' is {field.type.sql()}, not a map with string keys.")
                continue
            if map_key is not None and table.options.get(FIELD_MAP_STORAGE_LAYOUT, head) == "shared-shredding":
                yield conflict(key, f"names '{name}', but the keys of '{head}' share columns.")
            if not KINDS[kind].supports(indexed):
                yield conflict(key, f"names '{name}' of type {indexed.sql()}, which the index does not support.")
    yield from _index_settings(table, declared)


def _index_settings(table: Definition, declared: set[tuple[str, str]]) -> Iterator[PaimonError]:
    settings: dict[tuple[str, str], dict[str, str]] = {}
    for names, value in table.options.matching(index.FILE_INDEX_PROPERTY):
        kind, column, setting = names
        if kind not in KINDS:
            continue
        key = index.FILE_INDEX_PROPERTY.for_name(*names)
        if (kind, column) not in declared:
            yield conflict(
                key,
                f"sets an index of column '{column}' that is not declared.",
                f"Name the column in '{index.FILE_INDEX_COLUMNS.for_name(kind)}'.",
            )
            continue
        option = next((o for o in KINDS[kind].settings if o.key == setting), None)
        if option is None:
            available = ", ".join(o.key for o in KINDS[kind].settings)
            yield conflict(key, "is not a setting of the index.", f"A {kind} index has {available or 'no settings'}.")
            continue
        option.read(value or "", key)
        settings.setdefault((kind, column), {})[setting] = value or ""
    for (kind, column), values in settings.items():
        if (problem := KINDS[kind].check(TableOptions(values))) is not None:
            yield conflict(index.FILE_INDEX_PROPERTY.for_name(kind, column, next(iter(values))), f"{problem}.")


def table_indexes(table: Definition) -> Iterator[PaimonError]:
    """Indexes over tables with a primary key need rows that do not move."""
    owners: dict[str, str] = {}
    for option in GLOBAL_INDEXES:
        columns = table.names_of(option)
        if not columns:
            continue
        for name, times in Counter(columns).items():
            if times > 1 or name in owners:
                yield conflict(option, f"names the column '{name}', which can have one such index.")
            owners[name] = option.key
        if not table.has_key:
            yield conflict(option, "is for tables with a primary key.", "Define one.")
        searched = option in (index.PK_VECTOR_INDEX_COLUMNS, index.PK_FULL_TEXT_INDEX_COLUMNS)
        vectors = table.is_on(index.DELETION_VECTORS_ENABLED)
        if not vectors and not (searched and engine_of(table.options).keeps_first):
            yield conflict(option, f"needs '{index.DELETION_VECTORS_ENABLED.key}' = 'true'.")
        if vectors and table.is_on(index.DELETION_VECTORS_MERGE_ON_READ):
            yield conflict(option, f"needs '{index.DELETION_VECTORS_MERGE_ON_READ.key}' = 'false'.")
        if table.bucket == -1:
            yield conflict(option, "needs fixed or postponed buckets.", "Set 'bucket' to a number above 0, or to -2.")
        if table.is_on(PK_CLUSTERING_OVERRIDE):
            yield conflict(option, f"cannot be combined with '{PK_CLUSTERING_OVERRIDE.key}'.")
        if searched and len(columns) > 1:
            yield conflict(option, f"requires one column, but names {quoted_list(columns)}.")
    yield from _searched_types(table)


def _searched_types(table: Definition) -> Iterator[PaimonError]:
    for option, kinds, wanted in _SEARCHED_TYPES:
        for name in table.names_of(option):
            if name in table.columns and not isinstance(table.columns[name].type, kinds):
                yield conflict(option, f"names '{name}', which is not {wanted}.")
    for name in table.names_of(index.PK_VECTOR_INDEX_COLUMNS):
        kind = table.columns[name].type if name in table.columns else None
        if kind is not None and not (isinstance(kind, t.VectorType) and isinstance(kind.element, t.FloatType)):
            yield conflict(
                index.PK_VECTOR_INDEX_COLUMNS, f"names '{name}' of type {kind.sql()}.", "It must be a VECTOR<FLOAT>."
            )
        type_key, metric_key = f"fields.{name}.pk-vector.index.type", f"fields.{name}.pk-vector.distance.metric"
        if not table.schema.options.get(type_key, "").strip():
            yield conflict(index.PK_VECTOR_INDEX_COLUMNS, f"needs '{type_key}'.")
        metric = table.schema.options.get(metric_key, "l2")
        if metric not in _DISTANCES:
            yield conflict(metric_key, f"cannot be '{metric}'.", f"Use one of {', '.join(_DISTANCES)}.")
