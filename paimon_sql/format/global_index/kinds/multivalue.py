"""Global index ``multivalue``: for each element of arrays the bitmap of the rows whose array contains it.

Files have the layout of the kind ``bitmap``. Rows with a null array, an empty one or one of nulls are in none of the
bitmaps, so the index cannot distinguish them.
Source: Paimon's multivalue global index files.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Longs
from paimon_sql.format.global_index.keys import IndexKeys, keys_of
from paimon_sql.format.global_index.kinds.bitmap import Bitmap
from paimon_sql.format.options.table import index as settings
from paimon_sql.format.schema import types as t


class MultiValue(Bitmap):
    """A bitmap for each element of a column of arrays: for searches of arrays by an element."""

    name = "multivalue"
    is_of_elements = True
    compression = settings.MULTIVALUE_INDEX_COMPRESSION
    compression_level = settings.MULTIVALUE_INDEX_COMPRESSION_LEVEL
    block_size = settings.MULTIVALUE_INDEX_DICTIONARY_BLOCK_SIZE

    def supports(self, data_type: t.DataType) -> bool:
        return isinstance(data_type, t.ArrayType) and IndexKeys.supports(data_type.element)

    def keyed(self, data_type: t.DataType, values: pa.Array, rows: Longs) -> tuple[pa.Array, Longs]:
        elements = pc.list_flatten(values)
        known = pc.is_valid(elements)
        owners = rows[pc.list_parent_indices(values).filter(known).to_numpy().astype(np.int64)]
        keys = keys_of(data_type).ordered(elements.filter(known))
        numbers = keys.dictionary_encode().indices.to_numpy()
        order = np.lexsort((numbers, owners))
        same = (np.diff(owners[order]) == 0) & (np.diff(numbers[order]) == 0)
        distinct = order[np.append(np.ones(min(1, len(order)), np.bool_), ~same)]
        return keys.take(pa.array(distinct)), owners[distinct]
