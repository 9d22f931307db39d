"""Decoded rows that are kept between look-ups: a row group is decoded from its first row on, wherever a key lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_sql.cache import Cache
from paimon_sql.process import share

_MAX_BYTES = 128 * 1024 * 1024
_MAX_GROUP_BYTES = _MAX_BYTES // 4


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """The identity of what is decoded: data files never change.

    Attributes:
        path: the file.
        size: its size in bytes, None if unknown.
        group: the number of the row group.
        leaves: the numbers of the leaves of the columns.
    """

    path: str
    size: int | None
    group: int
    leaves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The first rows of a row group."""

    batches: tuple[pa.RecordBatch, ...] = ()

    @property
    def rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches)

    @property
    def nbytes(self) -> int:
        return sum(batch.nbytes for batch in self.batches)


_kept = share(lambda: Cache[GroupColumns, _Beginning](_MAX_BYTES, weigh=lambda beginning: beginning.nbytes))
"""Whoever reads them has opened the file itself, so that rows reach nobody who may not read the file."""


def kept_batches(
    wanted: GroupColumns, rows: int, decode: Callable[[], Iterable[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a row group; what is decoded until the caller stops is kept for the next one, within bounds.

    A caller that needs more rows than are kept has them decoded from the first row on, as without a cache.

    Args:
        wanted: the row group and its columns.
        rows: the number of its rows.
        decode: decodes its batches, lazily.
    """
    known = _kept().get(wanted) or _Beginning()
    yield from known.batches
    if known.rows >= rows:
        return
    decoded: list[pa.RecordBatch] = []
    free, at = _MAX_GROUP_BYTES, 0
    try:
        for batch in decode():
            free -= batch.nbytes
            if free >= 0:
                decoded.append(batch)
            at += batch.num_rows
            if at > known.rows:
                # Other reads may have made batches of other sizes.
                yield batch.slice(max(0, known.rows - (at - batch.num_rows)))
    finally:
        found = _Beginning(tuple(decoded))
        _kept().change(wanted, lambda other: found if other is None or found.rows > other.rows else other)
