"""Files that surely hold none of the first rows are left out, and no others."""

from __future__ import annotations

from operator import itemgetter
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.storage.expressions.predicates import ColumnStats
from paimon_sql.storage.scan.top_n import TopN, wanted_files

Value = int | None
VALUES = st.one_of(st.none(), st.integers(0, 6))
FILES = st.lists(st.tuples(st.lists(VALUES, min_size=1, max_size=5), st.integers(0, 5), st.booleans()), max_size=7)


@given(FILES, st.booleans(), st.booleans(), st.integers(1, 9), st.booleans(), st.randoms())
def test_the_first_rows_lie_in_the_files_that_are_wanted(
    files: list[tuple[list[Value], int, bool]],
    descending: bool,
    nulls_first: bool,
    limit: int,
    alone: bool,
    chance: Random,
) -> None:
    """A file is its rows, how many of them (any) are deleted, and whether its statistics are known."""
    top = TopN("c", descending, nulls_first, limit, alone)
    known = [[v for v in rows if v is not None] if told else [] for rows, _, told in files]
    stats = ColumnStats(
        pa.array([min(v, default=None) for v in known], pa.int64()),
        pa.array([max(v, default=None) for v in known], pa.int64()),
        pa.array([rows.count(None) if told else None for rows, _, told in files], pa.int64()),
        pa.array([len(rows) for rows, _, _ in files], pa.int64()),
    )
    live = [chance.sample(rows, max(len(rows) - deleted, 0)) for rows, deleted, _ in files]
    wanted, condition = wanted_files(top, stats, np.array([len(rows) for rows in live], np.int64))

    def place(row: tuple[Value, int, int]) -> tuple[bool, int]:
        value = row[0]
        return (value is None) != nulls_first, 0 if value is None else -value if descending else value

    # What stands behind the column decides among equal ones; a file's number stands for it, either way round.
    for sign in (0,) if alone else (1, -1):
        rows = [(value, sign * i, i) for i, held in enumerate(live) for value in held]
        first, left = (
            sorted(some, key=lambda row: (place(row), row[1]))[:limit]
            for some in (rows, [r for r in rows if wanted[r[2]]])
        )
        told = itemgetter(0) if alone else itemgetter(0, 1)
        assert list(map(told, left)) == list(map(told, first))
        if condition is not None:
            assert (
                condition.holds(pa.record_batch({"c": pa.array([row[0] for row in left], pa.int64())})).false_count == 0
            )
