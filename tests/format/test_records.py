"""Records: the columns that dataclasses declare, and their values as Arrow tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.records import Int, Long, StringMap, Timestamp, column, columns_of, to_arrow
from paimon_sql.format.schema.types import DataField


@dataclass(frozen=True)
class Named:
    database: str = column("its database")


@dataclass(frozen=True)
class Event:
    number: Long = column("its number")
    at: Timestamp | None = column("its time")
    labels: StringMap | None = column("its labels", default=None)


@dataclass(frozen=True)
class NamedEvent(Event, Named):
    """An event after its name."""


@dataclass(frozen=True)
class Stated:
    never_none: Int = column("nullable all the same", nullable=True)
    perhaps_none: str | None = column("not nullable all the same", nullable=False)
    plain: bool = column("as the caller says")


def test_fields_declare_columns() -> None:
    assert columns_of(Event) == (
        DataField(-1, "number", t.BigIntType(False), "its number"),
        DataField(-1, "at", t.TimestampType(True, 3), "its time"),
        DataField(-1, "labels", t.MapType(True, t.string_type(), t.string_type()), "its labels"),
    )


def test_inherited_fields_come_first() -> None:
    assert columns_of(NamedEvent) == (*columns_of(Named), *columns_of(Event))


def test_a_column_may_state_whether_it_is_nullable() -> None:
    assert [c.type.nullable for c in columns_of(Stated)] == [True, False, False]
    assert [c.type.nullable for c in columns_of(Stated, nullable=True)] == [True, False, True]


def test_records_become_arrow_columns() -> None:
    at = datetime(2024, 2, 29, 12)
    found = to_arrow(columns_of(Event), [Event(1, at, {"a": "b"}), Event(2, None)])
    assert found.to_pylist() == [
        {"number": 1, "at": at, "labels": [("a", "b")]},
        {"number": 2, "at": None, "labels": None},
    ]
    assert found.schema.field("number") == pa.field("number", pa.int64(), False)
    assert to_arrow(columns_of(Event)[:1], []).schema == found.schema.remove(2).remove(1)
