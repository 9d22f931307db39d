"""Integer terms over columns, and comparisons of them: rows are filtered before they are sent to Spark.

An overflow is an error in one mode of Spark and wraps around in another; here the rows are retained then.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.expressions.predicates import KERNELS, OPPOSITE, Predicate


class Term(ABC):
    """An integer per row."""

    @property
    def parts(self) -> tuple[Term, ...]:
        """The terms that it is computed from."""
        return tuple(part for part in vars(self).values() if isinstance(part, Term))

    @property
    def may_overflow(self) -> bool:
        """Whether it may exceed the range of its type."""
        return any(part.may_overflow for part in self.parts)

    def columns(self) -> frozenset[str]:
        """Return the columns that it reads."""
        return frozenset().union(*(part.columns() for part in self.parts))

    @abstractmethod
    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        """Return its values.

        Raises:
            pa.ArrowInvalid: a value exceeds the range of its type.
        """


@dataclass(frozen=True)
class ColumnTerm(Term):
    """A column."""

    column: str

    def columns(self) -> frozenset[str]:
        return frozenset([self.column])

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        return columns[self.column]

    def __str__(self) -> str:
        return self.column


@dataclass(frozen=True)
class Constant(Term):
    """A number that is not null."""

    value: pa.Scalar

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        return self.value

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Widened(Term):
    """A number cast to a wider type."""

    term: Term
    type: pa.DataType

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        return self.term.evaluate(columns).cast(self.type)

    def __str__(self) -> str:
        return str(self.term)


@dataclass(frozen=True)
class Arithmetic(Term):
    """Two numbers of one type combined by ``+``, ``-`` or ``*``."""

    operator: str
    left: Term
    right: Term

    @property
    def may_overflow(self) -> bool:
        return True

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        return ARITHMETIC[self.operator](self.left.evaluate(columns), self.right.evaluate(columns))

    def __str__(self) -> str:
        return f"({self.left} {self.operator} {self.right})"


@dataclass(frozen=True)
class Remainder(Term):
    """The remainder of a division by a constant: with the number's sign, or never below 0 with ``positive``."""

    term: Term
    divisor: int
    positive: bool = False

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        values = self.term.evaluate(columns)
        remainder = np.mod if self.positive else np.fmod
        if not values.null_count:
            return pa.array(remainder(values.to_numpy(), self.divisor))
        numbers = pc.fill_null(values, pa.scalar(0, values.type)).to_numpy()
        return pa.array(remainder(numbers, self.divisor), mask=pc.is_null(values).to_numpy(zero_copy_only=False))

    def __str__(self) -> str:
        return f"{self.term} % {self.divisor}"


ARITHMETIC: dict[str, Callable[..., pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}


@dataclass(frozen=True)
class TermComparison(Predicate):
    """A comparison of two numbers; also true if one overflows, because Spark evaluates the condition again."""

    left: Term
    operator: str
    right: Term

    @property
    def is_exact(self) -> bool:
        return not (self.left.may_overflow or self.right.may_overflow)

    def columns(self) -> frozenset[str]:
        return self.left.columns() | self.right.columns()

    def evaluate(self, columns: Mapping[str, pa.Array]) -> pa.Array:
        try:
            return KERNELS[self.operator](self.left.evaluate(columns), self.right.evaluate(columns))
        except pa.ArrowInvalid:
            return pa.array(np.ones(len(next(iter(columns.values()))), dtype=np.bool_))

    def negate(self) -> Predicate:
        return TermComparison(self.left, OPPOSITE[self.operator], self.right)

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"
