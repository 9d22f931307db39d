"""The aggregate functions by name."""

from __future__ import annotations

from paimon_sql.storage.merge.aggregates.base import AggregateFunction
from paimon_sql.storage.merge.aggregates.functions.collect import Collect
from paimon_sql.storage.merge.aggregates.functions.first_last import (
    FirstNonNullValue,
    FirstNotNullValue,
    FirstValue,
    LastNonNullValue,
    LastValue,
    PrimaryKey,
)
from paimon_sql.storage.merge.aggregates.functions.listagg import ListAgg
from paimon_sql.storage.merge.aggregates.functions.max_min import BoolAnd, BoolOr, Maximum, Minimum
from paimon_sql.storage.merge.aggregates.functions.merge_map import MergeMap, MergeMapWithKeytime
from paimon_sql.storage.merge.aggregates.functions.nested_update import NestedPartialUpdate, NestedUpdate
from paimon_sql.storage.merge.aggregates.functions.product import Product
from paimon_sql.storage.merge.aggregates.functions.sketches import (
    HllSketch,
    RoaringBitmap32,
    RoaringBitmap64,
    ThetaSketch,
)
from paimon_sql.storage.merge.aggregates.functions.sums import Count, Sum

FUNCTIONS: dict[str, type[AggregateFunction]] = {
    function.name: function
    for function in (
        *(Sum, Product, Count, Maximum, Minimum, BoolAnd, BoolOr, PrimaryKey),
        *(FirstValue, FirstNonNullValue, FirstNotNullValue, LastValue, LastNonNullValue),
        *(ListAgg, Collect, MergeMap, MergeMapWithKeytime, NestedUpdate, NestedPartialUpdate),
        *(RoaringBitmap32, RoaringBitmap64, HllSketch, ThetaSketch),
    )
}
