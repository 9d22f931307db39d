"""Rules about buckets: their number, key and function."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.operations.compaction import FULL_COMPACTION_DELTA_COMMITS
from paimon_sql.format.options.table.bucket import BUCKET, BUCKET_FUNCTION_TYPE, BUCKET_KEY
from paimon_sql.format.schema.types import BigIntType, IntType
from paimon_sql.storage.merge.aggregates.type_groups import UNORDERED
from paimon_sql.storage.schema.validation.definition import Definition, conflict, quoted_list


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
                BUCKET_KEY, f"names '{name}', which is no column.", f"Columns are {quoted_list(schema.names)}."
            )
        elif name in schema.partition_keys:
            yield conflict(BUCKET_KEY, f"names the partition column '{name}', which is the same for all buckets.")
        elif schema.primary_keys and name not in schema.primary_keys:
            yield conflict(
                BUCKET_KEY,
                f"names '{name}', which is not in the primary key: rows of one key would lie in several buckets.",
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
