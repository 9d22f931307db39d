"""Count the rows of a table."""

from __future__ import annotations

from bench.works.base import KEYED_TABLE, Marks
from bench.works.query import Query

_TEXT = "SELECT count(*) FROM {table}"

COUNT = Query("count", "append: count", ("insert",), marks=Marks(0.45, 0.91, 0.4), quick=3, text=_TEXT)
MERGED_COUNT = Query(
    "merged-count",
    "merge on read: count",
    ("upsert",),
    base="count",
    marks=Marks(7.6, 2.1, 2.1),
    quick=2,
    table=KEYED_TABLE,
    text=_TEXT,
)
