"""Rules about primary keys and buckets: merging, aggregate functions, changelogs, snapshot retention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.layout.paths import POSTPONE_BUCKET
from paimon_sql.format.options import Option
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_NUM_RETAINED_MAX,
    CHANGELOG_NUM_RETAINED_MIN,
    CHANGELOG_PRODUCER,
)
from paimon_sql.format.options.operations.compaction import FULL_COMPACTION_DELTA_COMMITS, WRITE_ONLY
from paimon_sql.format.options.operations.scan import (
    STREAMING_READ_APPEND_OVERWRITE,
    STREAMING_READ_OVERWRITE,
    TABLE_READ_SEQUENCE_NUMBER_ENABLED,
)
from paimon_sql.format.options.operations.snapshot import SNAPSHOT_NUM_RETAINED_MAX, SNAPSHOT_NUM_RETAINED_MIN
from paimon_sql.format.options.table.bucket import BUCKET, BUCKET_FUNCTION_TYPE, BUCKET_KEY
from paimon_sql.format.options.table.merge_engine import (
    FIELD_AGG_FUNCTION,
    FIELD_SEQUENCE_GROUP,
    FIELDS_DEFAULT_AGG_FUNCTION,
    ROWKIND_FIELD,
    SEQUENCE_FIELD,
    SEQUENCE_SNAPSHOT_ORDERING,
)
from paimon_sql.format.options.table.partition import RECORD_LEVEL_TIME_FIELD
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.types import BigIntType, IntType
from paimon_sql.storage.merge.aggregates.base import UNORDERED
from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS
from paimon_sql.storage.merge.registry import engine_of
from paimon_sql.storage.metadata.definition import Definition, conflict, quoted_list
from paimon_sql.storage.table.changelog_producer import changelog_producer


def bucket_number(table: Definition) -> Iterator[PaimonError]:
    """Postponed buckets need a primary key, and delta commits need buckets."""
    if table.bucket == -2 and not table.has_key:
        yield conflict(
            BUCKET, "can be -2 (postponed) only for a table with a primary key.", "Use -1 or a number above 0."
        )
    if table.bucket == -1 and not table.has_key and table.options.has(FULL_COMPACTION_DELTA_COMMITS):
        yield conflict(
            FULL_COMPACTION_DELTA_COMMITS, "is not for append tables without fixed buckets.", "Leave it out."
        )


def bucket_key(table: Definition) -> Iterator[PaimonError]:
    """The bucket key consists of hashable columns, which are in the primary key if there is one."""
    schema = table.schema
    given = table.names_of(BUCKET_KEY)
    if table.bucket == -1 and table.options.has(BUCKET_KEY):
        yield conflict(
            BUCKET_KEY,
            "has no meaning for dynamic buckets ('bucket' = -1).",
            "Leave it out, or set a number of buckets.",
        )
    if table.bucket > 0 and not table.has_key and not given:
        yield conflict(
            BUCKET_KEY,
            f"is needed to spread the rows of an append table over {table.bucket} buckets.",
            "Set it to a column, or set 'bucket' = '-1'.",
        )
    for name in given:
        if name not in table.columns:
            yield conflict(
                BUCKET_KEY, f"names '{name}', which is not a column.", f"Columns are {quoted_list(schema.names)}."
            )
        elif name in schema.partition_keys:
            yield conflict(BUCKET_KEY, f"names the partition column '{name}', which is the same for all buckets.")
        elif schema.has_key and name not in schema.primary_keys:
            yield conflict(
                BUCKET_KEY,
                f"names '{name}', which is not in the primary key: rows of one key would be in several buckets.",
                f"Choose among {quoted_list(k for k in schema.primary_keys if k not in schema.partition_keys)}.",
            )
        elif isinstance(table.columns[name].type, UNORDERED):
            yield conflict(BUCKET_KEY, f"names '{name}' of type {table.columns[name].type.sql()}, which has no hash.")


def bucket_function(table: Definition) -> Iterator[PaimonError]:
    """The bucket function "mod" is for one integer column."""
    if table.options.get(BUCKET_FUNCTION_TYPE) != "mod":
        return
    schema = table.schema
    names = table.names_of(BUCKET_KEY) or tuple(k for k in schema.primary_keys if k not in schema.partition_keys)
    types = [table.columns[name].type for name in names if name in table.columns]
    if len(types) != 1 or not isinstance(types[0], IntType | BigIntType):
        yield conflict(BUCKET_FUNCTION_TYPE, "can be 'mod' only for a bucket key of one INT or BIGINT column.")


def sequence_fields(table: Definition) -> Iterator[PaimonError]:
    """Sequence fields are comparable, have no aggregate function, and are not for cross-partition keys."""
    for name, times in Counter(table.sequence_fields).items():
        if times > 1:
            yield conflict(SEQUENCE_FIELD, f"names the column '{name}' twice.")
        if table.options.get(FIELD_AGG_FUNCTION, name) is not None:
            yield conflict(
                FIELD_AGG_FUNCTION.for_name(name), "is given for a sequence field, which takes the latest value."
            )
        if name in table.columns and isinstance(table.columns[name].type, UNORDERED):
            yield conflict(
                SEQUENCE_FIELD, f"names '{name}' of type {table.columns[name].type.sql()}, which has no order."
            )
    if table.sequence_fields and table.is_cross_partition:
        yield conflict(
            SEQUENCE_FIELD,
            "is not for a table whose primary key lacks a partition column: a late row cannot be compared across"
            " partitions.",
            f"Add {quoted_list(table.schema.partition_keys)} to the primary key.",
        )


def engine(table: Definition) -> Iterator[PaimonError]:
    """The merge engine's own rules hold."""
    yield from engine_of(table.options).problems(table)


_NAMED_TYPES: tuple[tuple[Option[str | None], tuple[type[t.DataType], ...], str], ...] = (
    (ROWKIND_FIELD, t.TEXTS, "a STRING"),
    (RECORD_LEVEL_TIME_FIELD, (t.IntType, t.BigIntType, *t.TIMESTAMPS), "INT, BIGINT or a timestamp"),
)


def named_types(table: Definition) -> Iterator[PaimonError]:
    """The row kind column is a string, the record time column a number or a timestamp."""
    for option, kinds, wanted in _NAMED_TYPES:
        field = table.columns.get(table.options.get(option) or "")
        if field is not None and not isinstance(field.type, kinds):
            yield conflict(option, f"names '{field.name}' of type {field.type.sql()}.", f"It must be {wanted}.")


def aggregate_functions(table: Definition) -> Iterator[PaimonError]:
    """Functions exist and support their column's type, and the rules of each function hold."""
    if not table.has_key or not engine_of(table.options).aggregates:
        return
    excluded = {*table.schema.primary_keys, *table.sequence_fields}
    for names, _ in table.options.matching(FIELD_SEQUENCE_GROUP):
        excluded |= set(comma_separated(names[0]))
    default = table.options.get(FIELDS_DEFAULT_AGG_FUNCTION)
    for name, field in table.columns.items():
        own = table.options.get(FIELD_AGG_FUNCTION, name)
        function = own or default
        key = FIELD_AGG_FUNCTION.for_name(name) if own else FIELDS_DEFAULT_AGG_FUNCTION.key
        if function is None or (name in excluded and own is None):
            continue
        if function not in FUNCTIONS:
            yield conflict(
                key,
                f"names '{function}', which is not an aggregate function.",
                f"Use one of {', '.join(sorted(FUNCTIONS))}.",
            )
            continue
        kind = FUNCTIONS[function]
        if name not in excluded and not kind.supports(field.type):
            yield conflict(
                key,
                f"names '{function}', which supports {kind.supported_types}, for column '{name}' of type"
                f" {field.type.sql()}.",
            )
        elif name not in excluded:
            yield from kind.problems(table, field)


def producers(table: Definition) -> Iterator[PaimonError]:
    """Changelog producers need a primary key, conflict with some options of reads, and have rules of their own."""
    producer = changelog_producer(table.options)
    if producer.produces and not table.has_key:
        yield conflict(
            CHANGELOG_PRODUCER, f"cannot be '{producer.name}' for a table without a primary key.", "Define one."
        )
    if table.is_on(STREAMING_READ_OVERWRITE):
        if producer.from_compactions:
            yield conflict(
                STREAMING_READ_OVERWRITE,
                f"cannot be true with '{CHANGELOG_PRODUCER.key}' = '{producer.name}': changes would be read twice.",
            )
        if not table.has_key:
            yield conflict(
                STREAMING_READ_OVERWRITE,
                "is for tables with a primary key.",
                f"Use '{STREAMING_READ_APPEND_OVERWRITE.key}'.",
            )
    yield from producer.problems(table)
    if table.is_on(TABLE_READ_SEQUENCE_NUMBER_ENABLED) and not table.has_key:
        yield conflict(TABLE_READ_SEQUENCE_NUMBER_ENABLED, "is for tables with a primary key.", "Leave it out.")


def snapshot_ordering(table: Definition) -> Iterator[PaimonError]:
    """Snapshot ordering excludes sequence fields, and compactions must see the snapshots of their input."""
    if not table.is_on(SEQUENCE_SNAPSHOT_ORDERING):
        return
    if not table.has_key:
        yield conflict(SEQUENCE_SNAPSHOT_ORDERING, "is for tables with a primary key.", "Define one.")
    if table.options.get(SEQUENCE_FIELD):
        yield conflict(
            SEQUENCE_SNAPSHOT_ORDERING, f"cannot be combined with '{SEQUENCE_FIELD.key}'.", "Leave one of them out."
        )
    if not table.is_on(WRITE_ONLY):
        yield conflict(
            SEQUENCE_SNAPSHOT_ORDERING,
            "needs tables that writers do not compact: rows are compacted when they have their snapshots.",
            f"Set '{WRITE_ONLY.key}' = 'true', and CALL sys.compact of the table.",
        )
    if table.bucket == POSTPONE_BUCKET:
        yield conflict(
            SEQUENCE_SNAPSHOT_ORDERING,
            "cannot be combined with postponed buckets, whose rows get the snapshot of a compaction.",
            f"Set '{BUCKET.key}' to a number above 0, or to -1.",
        )


def retention(table: Definition) -> Iterator[PaimonError]:
    """The min number of retained versions is not above the max; changelogs default to the values of snapshots."""
    low: int | None = None
    high: int | None = None
    for min_option, max_option in (
        (SNAPSHOT_NUM_RETAINED_MIN, SNAPSHOT_NUM_RETAINED_MAX),
        (CHANGELOG_NUM_RETAINED_MIN, CHANGELOG_NUM_RETAINED_MAX),
    ):
        is_set = table.options.has(min_option)
        low = table.options.get(min_option) or low
        high = table.options.get(max_option) or high
        if low is not None and high is not None and low > high and (is_set or table.options.has(max_option)):
            yield conflict(
                max_option,
                f"cannot be {high}, less than '{min_option.key}', which is {low}{'' if is_set else ' by default'}.",
                f"Set '{min_option.key}' to {high} or less.",
            )
