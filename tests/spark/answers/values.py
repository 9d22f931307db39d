"""Types of columns, and values of them that are hard on statistics, indexes and keys, as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Kind:
    """A type of columns.

    Attributes:
        name: the type, as SQL writes it.
        literals: values, as SQL writes them.
        is_ordered: whether rows can be compared by it.
        is_key: whether a primary key or a partition may be of it.
        cast: the type of values in queries, where it is called otherwise there.
        is_fixed: whether the literals are all of its values.
        near: types whose literals are compared with such a column, too.
        wider: types that it can be changed to.
    """

    name: str
    literals: Sequence[str]
    is_ordered: bool = True
    is_key: bool = True
    cast: str = ""
    is_fixed: bool = False
    near: Sequence[str] = ()
    wider: Sequence[str] = ()

    @property
    def is_floating(self) -> bool:
        """Whether it is a type of floating-point numbers."""
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_whole(self) -> bool:
        """Whether it is a type of whole numbers."""
        return self.name in ("TINYINT", "SMALLINT", "INT", "BIGINT")

    @property
    def is_text(self) -> bool:
        """Whether it is a type of texts."""
        return self.name.startswith(("STRING", "VARCHAR", "CHAR"))

    def any(self, chance: Random, nulls: float = 0.0) -> str:
        """Some value of the type, now and then one that no row has."""
        kind = KINDS.get(self.name, self) if chance.random() < 0.25 else self
        return kind.some(chance, nulls)

    def some(self, chance: Random, nulls: float = 0.0) -> str:
        """A value, NULL now and then."""
        if chance.random() < nulls:
            return f"CAST(NULL AS {self.cast or self.name})"
        if self.is_whole and not self.is_fixed and chance.random() < 0.5:
            return f"CAST({chance.randint(-9, 9)} AS {self.name})"
        return chance.choice(self.literals)


def quoted(text: str) -> str:
    """A text as a literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0").replace("\n", "\\n")
    return f"'{escaped}'"


def _cast(kind: str, values: Sequence[str]) -> list[str]:
    return [f"CAST({value} AS {kind})" for value in values]


def _texts(kind: str, texts: Sequence[str], length: int = 40) -> list[str]:
    short = [t for t in texts if len(t) <= length]
    if kind.startswith("CHAR"):
        # Spark pads a bare literal that is compared with a CHAR, but with a column of plain rows it does not.
        short = [t.ljust(length) for t in short]
    return [quoted(t) if kind == "STRING" else f"CAST({quoted(t)} AS {kind})" for t in short]


_WORDS = ["", " ", "a", "b", "ab", "A", "a ", "é", "日本", "😀", "a/b", "a=b", "%", "_a", "\\", "it's", "null", "ÿ"]
_WORDS += ["\uffff"]
_LONG = [
    "x" * 16,
    "x" * 16 + "y",
    "x" * 16 + "z",
    "x" * 17,
    "y" * 30,
    "x" * 15 + "\U0010ffff" * 3,
    "\U0010ffff" * 18,
    "x" * 15 + "\ud7ff" + "z",
    "é" * 20,
]
_WHOLE_NEAR = ("INT", "BIGINT", "DECIMAL(9, 2)", "DOUBLE")
_DAYS = ["0001-01-01", "1500-02-28", "1582-10-15", "1969-12-31", "1970-01-01", "1970-01-02", "2024-02-29", "9999-12-31"]
# The second before 1970 is left out: readers of ORC take it for the second after.
_TIMES = [
    "0001-01-01 00:00:00",
    "1582-10-04 12:00:00",
    "1900-01-01 00:00:00.000001",
    "1969-12-31 23:59:58.999999",
    "1969-12-31 23:59:58.001",
    "1970-01-01 00:00:00",
    "1970-01-01 00:00:00.000001",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "2024-11-03 01:30:00.123456",
    "9999-12-31 23:59:59.999999",
]
_COARSE_TIMES = [time for time in _TIMES if len(time.partition(".")[2]) <= 3]
_FLOATS = ["'NaN'", "'Infinity'", "'-Infinity'", "'-0.0'", "0.0", "1.5", "-2.25", "0.1", "1e10", "1e-40", "16777217"]
_BYTES = ["", "00", "FF", "7F80", "61", "6162", "FF" * 18, "61" * 16, "61" * 16 + "62", "61" * 15 + "FFFF"]

KINDS = {
    kind.name: kind
    for kind in (
        Kind("BOOLEAN", ["true", "false"]),
        Kind("TINYINT", _cast("TINYINT", ["-128", "127", "0", "1"]), near=_WHOLE_NEAR, wider=("INT", "BIGINT")),
        Kind("SMALLINT", _cast("SMALLINT", ["-32768", "32767", "0"]), near=_WHOLE_NEAR, wider=("INT", "BIGINT")),
        Kind("INT", ["-2147483648", "2147483647", "0", "300"], near=_WHOLE_NEAR, wider=("BIGINT", "DECIMAL(18, 4)")),
        Kind("BIGINT", ["-9223372036854775808", "9223372036854775807", "0L", "3000000000"], near=_WHOLE_NEAR),
        Kind("FLOAT", _cast("FLOAT", [*_FLOATS, "3.4e38"]), near=("DOUBLE", "INT"), wider=("DOUBLE",)),
        Kind("DOUBLE", _cast("DOUBLE", [*_FLOATS, "5e-324", "1.7e308"]), near=("INT", "FLOAT")),
        Kind(
            "DECIMAL(9, 2)",
            _cast("DECIMAL(9, 2)", ["-9999999.99", "9999999.99", "0", "1.5", "-0.01"]),
            near=("DECIMAL(18, 4)", "INT"),
            wider=("DECIMAL(18, 2)",),
        ),
        Kind("DECIMAL(18, 4)", _cast("DECIMAL(18, 4)", ["-99999999999999.9999", "0.0001", "0", "1.5"]), near=("INT",)),
        Kind(
            "DECIMAL(38, 10)",
            _cast("DECIMAL(38, 10)", ["'9999999999999999999999999999.9999999999'", "0", "-1.0000000001", "1.5"]),
            near=("DECIMAL(9, 2)",),
        ),
        Kind("DATE", [f"DATE '{day}'" for day in _DAYS], near=("TIMESTAMP", "TIMESTAMP_NTZ")),
        Kind("TIMESTAMP", [f"TIMESTAMP_LTZ '{time}'" for time in _TIMES], near=("DATE", "TIMESTAMP_NTZ")),
        Kind("TIMESTAMP_NTZ", [f"TIMESTAMP_NTZ '{time}'" for time in _TIMES], near=("DATE",)),
        Kind("TIMESTAMP(3)", [f"TIMESTAMP_NTZ '{time}'" for time in _COARSE_TIMES], cast="TIMESTAMP_NTZ"),
        Kind("TIMESTAMP(0)", [f"TIMESTAMP_NTZ '{time}'" for time in _COARSE_TIMES], cast="TIMESTAMP_NTZ"),
        Kind("TIMESTAMP(9)", [f"TIMESTAMP_NTZ '{time}'" for time in _TIMES[3:-1]], cast="TIMESTAMP_NTZ"),
        Kind("TIMESTAMP_LTZ(3)", [f"TIMESTAMP_LTZ '{time}'" for time in _COARSE_TIMES], cast="TIMESTAMP"),
        Kind("TIME(3)", ["0", "1", "86399999", "43200000"], cast="INT"),
        Kind("STRING", _texts("STRING", [*_WORDS, *_LONG])),
        Kind("VARCHAR(5)", _texts("VARCHAR(5)", _WORDS, 5), near=("STRING",), wider=("VARCHAR(9)", "STRING")),
        Kind("VARCHAR(40)", _texts("VARCHAR(40)", [*_WORDS, *_LONG])),
        Kind("CHAR(4)", _texts("CHAR(4)", _WORDS, 4)),
        Kind("CHAR(20)", _texts("CHAR(20)", [*_WORDS, *_LONG], 20)),
        Kind("BINARY", [f"X'{bits}'" for bits in _BYTES], is_key=False),
        Kind("VARBINARY(3)", [f"X'{bits}'" for bits in _BYTES if len(bits) <= 6], is_key=False, cast="BINARY"),
        Kind("ARRAY<INT>", ["array()", "array(1, NULL)", "array(7)"], is_ordered=False, is_key=False),
        Kind(
            "MAP<STRING, INT>",
            ["map('a', 1)", "map('a', 2, 'b', NULL)", "map('b', 1)", "CAST(map() AS MAP<STRING, INT>)"],
            is_ordered=False,
            is_key=False,
        ),
        Kind(
            "STRUCT<x: INT, y: STRING>",
            ["named_struct('x', 1, 'y', 'a')", "named_struct('x', CAST(NULL AS INT), 'y', 'b')"],
            is_ordered=False,
            is_key=False,
        ),
    )
}
"""The types by their names."""
