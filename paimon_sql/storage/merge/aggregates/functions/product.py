"""The function product."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.format.schema.types import DataType
from paimon_sql.storage.expressions.kernels.decimals import divided, scaled, unscaled
from paimon_sql.storage.expressions.kernels.segments import Mask
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps
from paimon_sql.storage.merge.aggregates.folding import Numbers, fold, spread, walk
from paimon_sql.storage.merge.aggregates.type_groups import NUMBERS


class Product(AggregateFunction):
    """The product of the values that are not null; what is taken back divides it, if there is something to divide.

    Whole numbers wrap around like Java's, and their quotients are cut off towards zero. Decimals are rounded to their
    scale at each step; one that needs more digits than its type has becomes null, and the next value begins anew.
    """

    name = "product"
    wants = "a number"
    can_retract = True

    @classmethod
    def takes(cls, data_type: DataType) -> bool:
        return isinstance(data_type, NUMBERS)

    def reduce(self, steps: Steps) -> pa.Array:
        steps = steps.only_valid()
        kind, segments = steps.values.type, steps.segments
        if not len(segments):
            return pa.nulls(segments.count, kind)
        with np.errstate(all="ignore"):
            if pa.types.is_decimal(kind):
                products, valid = self._walked(steps, unscaled(steps.values), 10**kind.scale, 10**kind.precision)
                return spread(segments, scaled(products, kind, valid))
            values = steps.values.to_numpy(zero_copy_only=False)
            if steps.effects is not None and steps.retracts.any():
                products, valid = self._walked(steps, values, None, None)
                return spread(segments, pa.array(products, kind, mask=~valid))
            if pa.types.is_floating(kind):
                products = fold(values, segments, np.multiply)
            else:
                products = np.multiply.reduceat(values, segments.starts, dtype=values.dtype)
        return spread(segments, pa.array(products, kind))

    def _walked(self, steps: Steps, values: Numbers, unit: int | None, bound: int | None) -> tuple[Numbers, Mask]:
        """The products and where there are any, a step at a time; ``unit`` and ``bound`` are given for decimals."""
        retracts = steps.retracts
        products = np.zeros(len(steps.segments.present), dtype=values.dtype)
        valid = np.zeros(len(products), dtype=np.bool_)

        def step(going: Indices, rows: Indices) -> None:
            back = retracts[rows]
            begin = going[~back & ~valid[going]]
            products[begin] = values[rows[~back & ~valid[going]]]
            known = valid[going]
            for taking, combine in ((~back & known, self._times), (back & known, self._over)):
                at = going[taking]
                made = combine(products[at], values[rows[taking]], unit)
                if bound is not None:
                    fits = (np.abs(made) < bound).astype(np.bool_)
                    valid[at], made = fits, np.where(fits, made, 0)
                products[at] = made
            valid[begin] = True

        walk(steps.segments, step)
        return products, valid

    @staticmethod
    def _times(left: Numbers, right: Numbers, unit: int | None) -> Numbers:
        return left * right if unit is None else divided(left * right, unit)

    def _over(self, left: Numbers, right: Numbers, unit: int | None) -> Numbers:
        if left.dtype.kind == "f":
            quotients: Numbers = left / right
            return quotients
        if (right == 0).any():
            raise ConstraintViolationError(
                f"The product in column '{self.column.name}' cannot take back a zero.",
                remedy=f"Set 'fields.{self.column.name}.ignore-retract' = 'true', or leave such rows out.",
            )
        if unit is not None:
            return divided(left * unit, right)
        # NumPy rounds down, Java towards zero.
        quotients = left // right
        quotients += ((left % right != 0) & ((left < 0) != (right < 0))).astype(left.dtype)
        return quotients
