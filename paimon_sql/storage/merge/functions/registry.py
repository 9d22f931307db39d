"""The aggregate functions by name."""

from __future__ import annotations

from paimon_sql.storage.merge.functions.adding import Count, Sum
from paimon_sql.storage.merge.functions.base import AggregateFunction
from paimon_sql.storage.merge.functions.choosing import (
    FirstNonNullValue,
    FirstNotNullValue,
    FirstValue,
    LastNonNullValue,
    LastValue,
    PrimaryKey,
)
from paimon_sql.storage.merge.functions.collecting import Collect
from paimon_sql.storage.merge.functions.extremes import BoolAnd, BoolOr, Maximum, Minimum
from paimon_sql.storage.merge.functions.listing import ListAgg
from paimon_sql.storage.merge.functions.mapping import MergeMap, MergeMapWithKeytime
from paimon_sql.storage.merge.functions.multiplying import Product
from paimon_sql.storage.merge.functions.nested import NestedPartialUpdate, NestedUpdate
from paimon_sql.storage.merge.functions.uniting import HllSketch, RoaringBitmap32, RoaringBitmap64, ThetaSketch

FUNCTIONS: dict[str, type[AggregateFunction]] = {
    function.name: function
    for function in (
        *(Sum, Product, Count, Maximum, Minimum, BoolAnd, BoolOr, PrimaryKey),
        *(FirstValue, FirstNonNullValue, FirstNotNullValue, LastValue, LastNonNullValue),
        *(ListAgg, Collect, MergeMap, MergeMapWithKeytime, NestedUpdate, NestedPartialUpdate),
        *(RoaringBitmap32, RoaringBitmap64, HllSketch, ThetaSketch),
    )
}
