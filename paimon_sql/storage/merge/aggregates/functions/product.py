"""The aggregate function ``product``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError
from paimon_sql.storage.expressions.kernels.sorting import Indices, Mask
from paimon_sql.storage.merge.aggregates.arithmetic import (
    NumberFunction,
    Numbers,
    divided,
    fold,
    scaled,
    spread,
    unscaled,
    walk,
)
from paimon_sql.storage.merge.aggregates.base import Steps


class Product(NumberFunction):
    """The product of the non-null values; a retraction divides it, if there is a product (Paimon: `FieldProductAgg`).

    Integers overflow as in Java, and their quotients truncate towards zero. Decimals are rounded to their scale at each
    step; one that exceeds its precision becomes null, and the next value starts a new product.
    """

    name = "product"

    def of_numbers(self, steps: Steps) -> pa.Array:
        kind, segments = steps.values.type, steps.segments
        with np.errstate(all="ignore"):
            if pa.types.is_decimal(kind):
                products, valid = self._step_by_step(steps, unscaled(steps.values), 10**kind.scale, 10**kind.precision)
                return spread(segments, scaled(products, kind, valid))
            values = steps.values.to_numpy(zero_copy_only=False)
            if steps.effects is not None and steps.retracts.any():
                products, valid = self._step_by_step(steps, values, None, None)
                return spread(segments, pa.array(products, kind, mask=~valid))
            return spread(segments, pa.array(fold(values, segments, np.multiply), kind))

    def _step_by_step(self, steps: Steps, values: Numbers, unit: int | None, bound: int | None) -> tuple[Numbers, Mask]:
        """Return the products and a mask of valid ones, step by step; ``unit`` and ``bound`` are set for decimals."""
        retracts = steps.retracts
        products = np.zeros(len(steps.segments.present), dtype=values.dtype)
        valid = np.zeros(len(products), dtype=np.bool_)

        def step(active: Indices, rows: Indices) -> None:
            retracted = retracts[rows]
            starting = active[~retracted & ~valid[active]]
            products[starting] = values[rows[~retracted & ~valid[active]]]
            has_value = valid[active]
            for mask, combine in ((~retracted & has_value, self._times), (retracted & has_value, self._over)):
                at = active[mask]
                results = combine(products[at], values[rows[mask]], unit)
                if bound is not None:
                    fits = (np.abs(results) < bound).astype(np.bool_)
                    valid[at], results = fits, np.where(fits, results, 0)
                products[at] = results
            valid[starting] = True

        walk(steps.segments, step)
        return products, valid

    @staticmethod
    def _times(left: Numbers, right: Numbers, unit: int | None) -> Numbers:
        return left * right if unit is None else divided(left * right, unit)

    def _over(self, left: Numbers, right: Numbers, unit: int | None) -> Numbers:
        if left.dtype.kind == "f":
            return left / right
        if (right == 0).any():
            raise ConstraintViolationError(
                f"The product in column '{self.column.name}' cannot retract a zero.",
                remedy=f"Set 'fields.{self.column.name}.ignore-retract' = 'true', or leave such rows out.",
            )
        if unit is not None:
            return divided(left * unit, right)
        # NumPy rounds down, Java towards zero.
        quotients = left // right
        quotients += ((left % right != 0) & ((left < 0) != (right < 0))).astype(left.dtype)
        return quotients
