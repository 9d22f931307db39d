"""Columns that a predicate restricts to few values, and bucket pruning by them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.format.rows.bucket_functions import bucket_function
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.expressions.predicates import Comparison, In, Predicate, conjuncts

MOST_COMBINATIONS = 1000


def pinned_values(predicate: Predicate | None, columns: Sequence[str]) -> dict[str, pa.Array]:
    """Return the possible values of each column under the predicate; columns without a finite set are absent."""
    found: dict[str, pa.Array] = {}
    for part in conjuncts(predicate):
        if isinstance(part, Comparison) and part.operator == "=" and part.column in columns:
            found[part.column] = pa.repeat(part.value, 1)
        elif isinstance(part, In) and part.column in columns:
            found.setdefault(part.column, part.values)
    return found


def pins_key(schema: TableSchema, predicate: Predicate | None) -> bool:
    """Whether the predicate restricts the whole primary key to few values."""
    keys = schema.trimmed_primary_keys
    found = pinned_values(predicate, keys)
    return bool(keys) and len(found) == len(keys) and _combinations(list(found.values())) <= 100


def prune_buckets(schema: TableSchema, entries: pa.Table, predicate: Predicate | None) -> pa.Table:
    """Return the entries of buckets that may contain rows with the pinned key (Paimon: `BucketSelectConverter`)."""
    keys = schema.bucket_keys
    found = pinned_values(predicate, keys)
    if not keys or len(found) < len(keys) or not len(entries):
        return entries
    types = [schema.field(k).type for k in keys]
    values = [found[k].cast(arrow_type(t)) for k, t in zip(keys, types, strict=True)]
    # Equal floats may have different bits, and so different buckets: 0.0 and -0.0.
    if any(pa.types.is_floating(v.type) for v in values) or _combinations(values) > MOST_COMBINATIONS:
        return entries
    picked = np.meshgrid(*(np.arange(len(v)) for v in values), indexing="ij")
    columns = [v.take(pa.array(p.ravel())) for v, p in zip(values, picked, strict=True)]
    function = bucket_function(schema.options.get("bucket-function.type", "default"))
    keep = np.ones(len(entries), dtype=bool)
    totals = entries["total_buckets"].to_numpy()
    buckets = entries["bucket"].to_numpy()
    for total in np.unique(totals):
        if total > 1:
            wanted = np.unique(function.assign(columns, types, int(total)))
            keep &= (totals != total) | np.isin(buckets, wanted)
    return entries if keep.all() else entries.filter(pa.array(keep))


def _combinations(values: Sequence[pa.Array]) -> int:
    return math.prod(max(1, len(array)) for array in values)
