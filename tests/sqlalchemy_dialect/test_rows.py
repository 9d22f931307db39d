"""Values on their way to the server and back, and rows of mapped classes."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from paimon_sql.sqlalchemy.conversion import ARRAY, MAP, STRUCT, VARIANT
from paimon_sql.sqlalchemy.type_compiler import SqlType
from tests.sqlalchemy_dialect.conftest import Connect

TEXTS = [
    "",
    "it's",
    'a "name"',
    "back\\slash",
    "\\'",
    "\\u0041 \\n",
    "100% %s %(x)s %%",
    "größe 漢字 😀",
    "two\r\nlines\tand\ftabs",
    "\x00\x1a\x7f",
    "${spark.app.name} ${env:PATH} $",
    "`; -- /* */ :name ?",
    " spaces ",
]
INSTANT = datetime(2024, 3, 31, 1, 30, 0, 1, tzinfo=timezone(timedelta(hours=1, minutes=30)))
VALUES: list[tuple[SqlType, list[object]]] = [
    (sa.String(), list(TEXTS)),
    (sa.Boolean(), [True, False]),
    (sa.SmallInteger(), [-(2**15), 2**15 - 1]),
    (sa.BigInteger(), [-(2**63), -1, 0, 2**63 - 1]),
    (sa.Float(), [0.1, -1.5, 1e300, 5e-324, math.inf, -math.inf]),
    (sa.Numeric(38, 10), [Decimal("0.0000000001"), Decimal("-9999999999999999999999999999.9999999999")]),
    (sa.LargeBinary(), [b"", b"\x00\xff'\\", bytes(range(256))]),
    (sa.Date(), [date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)]),
    (sa.DateTime(), [datetime(1, 1, 1), datetime(2024, 3, 31, 2, 30, 0, 1), datetime(9999, 12, 31, 23, 59, 59, 99)]),
    (sa.DateTime(timezone=True), [INSTANT, datetime(1800, 1, 1, tzinfo=timezone.utc)]),
    (sa.JSON(), [{"a": [1, None, "it's"]}, [1.5, "\\"]]),
    (sa.Enum("new", "it's old"), ["new", "it's old"]),
    (ARRAY(sa.String()), [[], ["a", None, 'quoted " and \\', "[,]"]]),
    (ARRAY(sa.Numeric(20, 2)), [[Decimal("123456789012345678.91"), None]]),
    (ARRAY(sa.Float()), [[0.1, math.inf]]),
    (ARRAY(sa.DateTime(timezone=True)), [[INSTANT]]),
    (ARRAY(sa.DateTime()), [[datetime(2024, 3, 31, 2, 30, 0, 1)]]),
    (MAP(sa.Integer(), sa.Date()), [{1: date(2024, 1, 1), -2: None}]),
    (MAP(sa.String(), ARRAY(sa.Boolean())), [{"it's": [True, None]}, {}]),
    (STRUCT({"x y": sa.Float(), "raw": sa.LargeBinary(), "in": STRUCT({"a": sa.Integer()})}), [
        {"x y": None, "raw": b"\x00\xff", "in": {"a": None}}, {"x y": 1.0, "raw": None, "in": None},
    ]),
    (VARIANT(), [{"a": [1, 1.5, "x", None, True]}, "text", 7]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda value: str(value)[:40])
def test_values_of_a_column_come_back_as_they_were(engine: sa.Engine, kind: SqlType, values: list[object]) -> None:
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("id", sa.Integer), sa.Column("v", kind))
    metadata.create_all(engine)
    expected = [*values, None]
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"id": i, "v": value} for i, value in enumerate(expected)])
        found = connection.execute(sa.select(table.c.v).order_by(table.c.id)).scalars().all()
        assert found == expected
        assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_values_are_exact_as_parameters_and_as_literals_in_any_time_zone(connect: Connect, zone: str) -> None:
    engine = connect(f"/default?spark.sql.session.timeZone={zone}")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT current_timezone()").scalar() == zone
        for kind, values in VALUES[:10]:
            for value in values:
                statement = sa.select(sa.literal(value, kind))
                assert connection.execute(statement).scalar() == value
                text = str(statement.compile(engine, compile_kwargs={"literal_binds": True})).replace("%%", "%")
                raw = connection.exec_driver_sql(text).scalar()
                assert (datetime.fromisoformat(raw) if isinstance(raw, str) and kind is VALUES[9][0] else raw) == value


def test_texts_are_found_by_themselves_alone(connect: Connect) -> None:
    with connect("/default").connect() as connection:
        for text in TEXTS:
            assert connection.execute(sa.text("SELECT :a = :b"), {"a": text, "b": text}).scalar() is True
            assert connection.exec_driver_sql("SELECT length(%(a)s)", {"a": text}).scalar() == len(text)
            assert connection.exec_driver_sql("SELECT %s IN %s", (text, ["x", text])).scalar() is True
            like = sa.literal(f"<{text}>").contains(text, autoescape=True)
            assert connection.execute(sa.select(like)).scalar() is True


def test_a_minus_is_no_comment_and_nan_no_name(connect: Connect) -> None:
    with connect("/default").connect() as connection:
        assert connection.exec_driver_sql("SELECT 1-%(a)s, 1-%(b)s", {"a": -1, "b": Decimal("-1.5")}).one() == (
            2,
            Decimal("2.5"),
        )
        assert math.isnan(connection.execute(sa.select(sa.literal(math.nan))).scalar_one())


def test_percent_signs_are_single_in_statements_without_parameters(connect: Connect) -> None:
    with connect("/default").connect() as connection:
        assert connection.exec_driver_sql("SELECT 'abc' LIKE 'a%', 7 % 4, '%%'").one() == (True, 3, "%%")
        assert connection.execute(sa.text("SELECT 'abc' LIKE 'a%', 7 % :n"), {"n": 4}).one() == (True, 3)
        assert connection.execute(sa.select(sa.literal(7) % 4, sa.literal("abc").like("a%"))).one() == (3, True)


def test_untyped_results_have_pythons_types(connect: Connect) -> None:
    text = (
        "SELECT true, 1Y, 2, 3L, 1.5F, 2.5D, 1.50BD, 'x', X'00ff', DATE'2024-02-29', TIMESTAMP'2024-01-01 10:00:00.5',"
        " TIMESTAMP_NTZ'2024-01-01 10:00:00.000001', NULL"
    )
    with connect("/default").connect() as connection:
        row = connection.exec_driver_sql(text).one()
    assert row == (
        *(True, 1, 2, 3, 1.5, 2.5, Decimal("1.50"), "x", b"\x00\xff", date(2024, 2, 29)),
        *(datetime(2024, 1, 1, 10, 0, 0, 500000), datetime(2024, 1, 1, 10, 0, 0, 1), None),
    )
    assert [type(value) for value in row[:4]] == [bool, int, int, int]
    assert (type(row[8]), type(row[9])) == (bytes, date)


def test_many_rows_and_their_nulls_come_in_order(connect: Connect) -> None:
    text = "SELECT id, IF(id % 3 = 0, NULL, CAST(id AS STRING)) FROM range(25001) ORDER BY id"
    with connect("/default").connect() as connection:
        rows = connection.exec_driver_sql(text).all()
    assert rows == [(i, None if i % 3 == 0 else str(i)) for i in range(25001)]


def test_a_statement_of_many_rows_is_few_snapshots(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"id": i, "v": f"v{i}"} for i in range(2000)])
        assert connection.exec_driver_sql("SELECT count(*) FROM t$snapshots WHERE commit_kind = 'APPEND'").scalar() == 1
        assert connection.execute(sa.select(sa.func.count(), sa.func.max(table.c.v)).select_from(table)).one() == (
            2000,
            "v999",
        )


class Base(DeclarativeBase):
    """Of the classes below."""


class Order(Base):
    """A row of a table with a key."""

    __tablename__ = "orders"
    __table_args__ = {"paimon_options": {"bucket": "1"}}

    id: Mapped[int] = mapped_column(primary_key=True)
    buyer: Mapped[str | None]
    price: Mapped[Decimal] = mapped_column(sa.Numeric(10, 2))
    day: Mapped[date]
    paid: Mapped[bool]
    tags: Mapped[list[str] | None] = mapped_column(ARRAY(sa.String))


def test_mapped_rows_are_inserted_replaced_updated_and_deleted(engine: sa.Engine) -> None:
    Base.metadata.create_all(engine)

    def order(number: int, buyer: str) -> Order:
        return Order(id=number, buyer=buyer, price=Decimal("1.50"), day=date(2024, 1, 1), paid=False, tags=[buyer])

    with Session(engine) as session:
        session.add_all([order(1, "Åsa"), order(2, "O'Neil"), order(3, "x")])
        session.commit()
        assert session.get_one(Order, 2).tags == ["O'Neil"]
    with Session(engine) as session:
        session.add(order(2, "Bo"))  # a row of the same key replaces the first
        session.commit()
        assert session.scalars(sa.select(Order.buyer).order_by(Order.id)).all() == ["Åsa", "Bo", "x"]
        first = session.get_one(Order, 1)
        first.price, first.paid, first.tags = Decimal("2.75"), True, ["a", "b"]
        session.delete(session.get_one(Order, 3))
        session.commit()
        assert (first.price, first.paid, first.tags, first.day) == (Decimal("2.75"), True, ["a", "b"], date(2024, 1, 1))
        session.execute(sa.update(Order).where(Order.buyer.in_(["Bo", "nobody"])).values(buyer=Order.buyer + "!"))
        session.execute(sa.delete(Order).where(Order.id.in_([])))
        paged = sa.select(Order.buyer).order_by(Order.id.desc()).limit(1).offset(1)
        assert session.scalars(paged).all() == ["Åsa"]
        assert session.scalars(sa.select(Order.buyer).where(Order.buyer.regexp_match("^B.!$"))).all() == ["Bo!"]


def test_instants_are_grouped_ordered_and_compared_as_such(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("at", sa.DateTime(timezone=True)), sa.Column("v", sa.Integer))
    metadata.create_all(engine)
    later = INSTANT + timedelta(hours=1)
    with engine.begin() as connection:
        connection.execute(table.insert(), [{"at": later, "v": 1}, {"at": INSTANT, "v": 2}, {"at": later, "v": 3}])
        grouped = sa.select(table.c.at, sa.func.sum(table.c.v)).group_by(table.c.at).order_by(table.c.at.desc())
        assert connection.execute(grouped).all() == [(later, 4), (INSTANT, 2)]
        assert connection.execute(sa.select(table.c.v).where(table.c.at == INSTANT)).all() == [(2,)]
        inner = sa.select(sa.func.max(table.c.at).label("last")).subquery()
        assert connection.execute(sa.select(inner.c.last)).scalar() == later
