"""Aggregate functions as plain Python: a value after the other, as the format's documents tell it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

ADD, RETRACT, LATE = 0, 1, 2
Step = tuple[Any, int]
Model = Callable[[Iterable[Step]], Any]
EXACT = Context(prec=200)


def wrapped(number: int, bits: int) -> int:
    """A whole number as that many bits keep it."""
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def folded(add: Callable[[Any, Any], Any], retract: Callable[[Any, Any], Any] | None = None) -> Model:
    """A function that passes nulls over and does not mind the order of what is late."""

    def model(steps: Iterable[Step]) -> Any:
        so_far = None
        for value, effect in steps:
            if value is None:
                continue
            if effect == RETRACT:
                assert retract is not None
                so_far = retract(so_far, value)
            else:
                so_far = value if so_far is None else add(so_far, value)
        return so_far

    return model


def integer_sum(bits: int) -> Model:
    return folded(lambda a, b: wrapped(a + b, bits), lambda a, b: wrapped(-b if a is None else a - b, bits))


def float_sum(kind: type) -> Model:
    def add(a: float, b: float) -> float:
        return float(kind(a) + kind(b))

    return folded(add, lambda a, b: -b if a is None else float(kind(a) - kind(b)))


def fitting(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """A decimal rounded to the scale, None if it has too many digits."""
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    return rounded if EXACT.abs(rounded.scaleb(scale, EXACT)) < 10**precision else None


def decimal_sum(precision: int, scale: int) -> Model:
    def add(a: Decimal, b: Decimal) -> Decimal | None:
        return fitting(EXACT.add(a, b), precision, scale)

    return folded(add, lambda a, b: EXACT.minus(b) if a is None else add(a, EXACT.minus(b)))


def integer_product(bits: int) -> Model:
    def divide(a: int | None, b: int) -> int | None:
        if a is None:
            return None
        size = abs(a) // abs(b)
        return wrapped(size if (a < 0) == (b < 0) else -size, bits)

    return folded(lambda a, b: wrapped(a * b, bits), divide)


def float_product() -> Model:
    def divide(a: float | None, b: float) -> float | None:
        return None if a is None else float(np.float64(a) / np.float64(b))

    return folded(lambda a, b: float(np.float64(a) * np.float64(b)), divide)


def decimal_product(precision: int, scale: int) -> Model:
    def times(a: Decimal, b: Decimal) -> Decimal | None:
        return fitting(EXACT.multiply(a, b), precision, scale)

    def divide(a: Decimal | None, b: Decimal) -> Decimal | None:
        return None if a is None else fitting(EXACT.divide(a, b), precision, scale)

    return folded(times, divide)


def ordered(value: Any) -> Any:
    """What compares like Java's values."""
    if isinstance(value, float):
        if math.isnan(value):
            return (2, 0.0, 0)
        return (1, value, 0 if math.copysign(1, value) < 0 else 1)
    return value.encode() if isinstance(value, str) else value


maximum = folded(lambda a, b: b if ordered(a) < ordered(b) else a)
minimum = folded(lambda a, b: a if ordered(a) < ordered(b) else b)


def last_value(steps: Iterable[Step]) -> Any:
    so_far = None
    for value, effect in steps:
        if effect != LATE:
            so_far = value if effect == ADD else None
    return so_far


def last_non_null_value(steps: Iterable[Step]) -> Any:
    so_far = None
    for value, effect in steps:
        if value is None or (effect == LATE and so_far is not None):
            continue
        so_far = None if effect == RETRACT else value
    return so_far


def first_value(steps: Iterable[Step]) -> Any:
    so_far, begun = None, False
    for value, effect in steps:
        if effect == LATE:
            so_far = value if begun else so_far
        elif not begun:
            so_far = value
        begun = True
    return so_far


def first_non_null_value(steps: Iterable[Step]) -> Any:
    so_far, begun = None, False
    for value, effect in steps:
        if effect == LATE:
            so_far = value if begun or so_far is None else so_far
        elif value is not None and not begun:
            so_far, begun = value, True
    return so_far


def listagg(delimiter: str = ",", distinct: bool = False) -> Model:
    def joined(old: str | None, new: str | None) -> str | None:
        if new is None or not new.strip():
            return old
        if old is None or not old.strip():
            return new
        if not distinct:
            return old + delimiter + new
        known = set(old.split(delimiter))
        for token in new.split(delimiter):
            if token.strip() and token not in known:
                known.add(token)
                old = old + delimiter + token
        return old

    def model(steps: Iterable[Step]) -> str | None:
        so_far = None
        for value, effect in steps:
            so_far = joined(value, so_far) if effect == LATE else joined(so_far, value)
        return so_far if so_far is None or so_far.strip() else None

    return model


def collect(distinct: bool = False) -> Model:
    def model(steps: Iterable[Step]) -> list[Any] | None:
        so_far: list[Any] | None = None
        for value, effect in steps:
            if value is None or (effect == RETRACT and so_far is None):
                continue
            if effect == RETRACT:
                assert so_far is not None
                for element in value:
                    if element in so_far:
                        so_far.remove(element)
                continue
            so_far = list(so_far or [])
            for element in value:
                if not distinct or element not in so_far:
                    so_far.append(element)
        return so_far

    return model


def merge_map(steps: Iterable[Step]) -> dict[Any, Any] | None:
    so_far: dict[Any, Any] | None = None
    for pairs, effect in steps:
        value = None if pairs is None else dict(pairs)
        if value is None:
            continue
        if effect == RETRACT:
            so_far = None if so_far is None else {k: v for k, v in so_far.items() if k not in value}
        else:
            so_far = {**value, **(so_far or {})} if effect == LATE else {**(so_far or {}), **value}
    return so_far


def merge_map_with_keytime(steps: Iterable[Step]) -> dict[Any, Any] | None:
    so_far: dict[Any, Any] | None = None
    for pairs, _ in steps:
        if pairs is None:
            continue
        if so_far is None:
            so_far = dict(pairs)
            continue
        for key, row in pairs:
            if row is None:
                so_far.pop(key, None)
                continue
            old = so_far.get(key)
            if row["ts"] is not None and (old is None or old["ts"] is None or row["ts"] > old["ts"]):
                so_far[key] = row
    return so_far


def nested_update(key: str | None = None, sequence: str | None = None, limit: int = 2**31) -> Model:
    def at_least(new: dict[str, Any], old: dict[str, Any]) -> bool:
        if sequence is None or old[sequence] is None:
            return True
        return new[sequence] is not None and new[sequence] >= old[sequence]

    def keyed(base: list[Any], over: list[Any], limited: bool) -> list[Any]:
        rows = {row[key]: row for row in base}
        for row in over:
            if row[key] in rows:
                rows[row[key]] = row if at_least(row, rows[row[key]]) else rows[row[key]]
            elif len(rows) < limit or not limited:
                rows[row[key]] = row
        return list(rows.values())

    def added(base: list[Any] | None, over: list[Any]) -> list[Any]:
        base, over = ([row for row in rows or [] if row is not None] for rows in (base, over))
        return keyed(keyed([], base, False), over, True) if key else (base + over)[: max(limit, len(base))]

    def model(steps: Iterable[Step]) -> list[Any] | None:
        so_far: list[Any] | None = None
        for value, effect in steps:
            if value is None or (effect == RETRACT and so_far is None):
                continue
            if effect == RETRACT:
                gone = [row if key is None else row[key] for row in value if row is not None]
                so_far = [row for row in so_far or [] if (row if key is None else row[key]) not in gone]
            elif effect == LATE and so_far is not None:
                so_far = added(value, so_far)
            else:
                so_far = added(so_far, value)
        return so_far

    return model


def nested_partial_update(key: str) -> Model:
    def model(steps: Iterable[Step]) -> list[Any] | None:
        so_far: list[Any] | None = None
        for value, effect in steps:
            if value is None:
                continue
            rows = [*(value if effect == LATE else so_far or []), *(so_far or [] if effect == LATE else value)]
            merged: dict[Any, Any] = {}
            for row in rows:
                if row is not None:
                    old = merged.setdefault(row[key], dict.fromkeys(row))
                    old |= {name: field for name, field in row.items() if field is not None}
            so_far = list(merged.values())
        return so_far

    return model
