"""One row in a thousand by a column that the files are not ordered by."""

from __future__ import annotations

from bench.works.base import Marks
from bench.works.query import Query

FILTER = Query(
    "filter",
    "append: selective filter",
    ("insert",),
    marks=Marks(1.4, 1.1, 0.9),
    text="SELECT count(*), sum(amount), max(note) FROM {table} WHERE customer_id BETWEEN 100 AND 199",
)
