"""One row in a thousand by a column that the files are not ordered by."""

from __future__ import annotations

from bench.works.base import KEYED_TABLE, Marks
from bench.works.query import Query

_TEXT = "SELECT count(*), sum(amount), max(note) FROM {table} WHERE customer_id BETWEEN 100 AND 199"

FILTER = Query(
    "filter",
    "append: selective filter",
    ("insert",),
    marks=Marks(0.96, 0.81, 0.8),
    text=_TEXT,
)
MERGED_FILTER = Query(
    "merged-filter",
    "merge on read: selective filter",
    ("upsert",),
    base="filter",
    marks=Marks(4.1, 1.4, 1.2),
    table=KEYED_TABLE,
    text=_TEXT,
)
COMPACTED_FILTER = Query(
    "compacted-filter",
    "compacted: selective filter",
    ("compact",),
    base="filter",
    marks=Marks(1.4, 0.74, 1.0),
    table=KEYED_TABLE,
    text=_TEXT,
)
