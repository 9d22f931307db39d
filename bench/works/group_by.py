"""Group a table by a column of few values."""

from __future__ import annotations

from bench.works.base import KEYED_TABLE, Marks
from bench.works.query import Query

_TEXT = "SELECT state, count(*), sum(amount), sum(quantity), max(price) FROM {table} GROUP BY state ORDER BY state"

GROUP_BY = Query("group-by", "append: group-by", ("insert",), marks=Marks(1.2, 1.1, 1.0), text=_TEXT)
MERGED_GROUP_BY = Query(
    "merged-group-by",
    "merge on read: group-by",
    ("upsert",),
    base="group-by",
    marks=Marks(2.2, 1.6, 0.8),
    table=KEYED_TABLE,
    text=_TEXT,
)
