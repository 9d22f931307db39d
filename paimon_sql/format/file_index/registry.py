"""The table of all kinds of file indexes, by name."""

from __future__ import annotations

from paimon_sql.format.file_index.base import FileIndexKind
from paimon_sql.format.file_index.kinds.bitmap import Bitmap
from paimon_sql.format.file_index.kinds.bloom_filter import BloomFilter
from paimon_sql.format.file_index.kinds.bsi import BitSliced
from paimon_sql.format.file_index.kinds.range_bitmap import RangeBitmap

KINDS: dict[str, FileIndexKind] = {kind.name: kind for kind in (BloomFilter(), Bitmap(), BitSliced(), RangeBitmap())}
"""The kinds by name."""
