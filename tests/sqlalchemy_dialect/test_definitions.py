"""Tables, databases and comments that SQLAlchemy defines."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.schema import CreateSchema, CreateTable, DropSchema, SetColumnComment, SetTableComment

from paimon_sql.sqlalchemy.conversion import ARRAY, MAP, STRUCT, VARIANT
from paimon_sql.sqlalchemy.dialect import PaimonDialect
from paimon_sql.sqlalchemy.type_compiler import SqlType


def properties(connection: sa.Connection, table: str) -> dict[str, str]:
    """The options of a table."""
    rows = connection.exec_driver_sql(f"SHOW TBLPROPERTIES {table}")
    return {str(key): str(value) for key, value in rows}


def test_a_table_has_its_key_options_partitions_and_comments(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table(
        "orders",
        metadata,
        sa.Column("id", sa.BigInteger, primary_key=True, comment="it's 100% its \\ number"),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("buyer", sa.String(20), server_default="no'body"),
        sa.Column("amount", sa.Integer, server_default=sa.text("7")),
        comment='what was "sold"',
        paimon_options={"bucket": 2, "deletion-vectors.enabled": True, "merge-engine": "deduplicate"},
        paimon_partitioned_by=["day"],
    )
    metadata.create_all(engine)
    inspector = sa.inspect(engine)
    columns = {column["name"]: column for column in inspector.get_columns("orders")}
    assert inspector.get_pk_constraint("orders")["constrained_columns"] == ["id", "day"]
    assert columns["id"]["comment"] == "it's 100% its \\ number"
    assert (columns["buyer"]["default"], columns["amount"]["default"]) == ("'no\\'body'", "7")
    assert inspector.get_table_comment("orders") == {"text": 'what was "sold"'}
    with engine.connect() as connection:
        found = properties(connection, "orders")
        assert (found["bucket"], found["deletion-vectors.enabled"]) == ("2", "true")
        described = connection.exec_driver_sql("DESCRIBE orders").all()
        assert ("# Partition Information", "", "") in [tuple(row) for row in described]
    metadata.create_all(engine)  # what exists is left alone
    metadata.drop_all(engine)
    assert not sa.inspect(engine).has_table("orders")


def test_types_are_those_that_hold_their_values(engine: sa.Engine) -> None:
    types: dict[str, SqlType] = {
        "BOOLEAN": sa.Boolean(),
        "SMALLINT": sa.SmallInteger(),
        "INT": sa.Integer(),
        "BIGINT": sa.BigInteger(),
        "DOUBLE": sa.Float(),
        "FLOAT": sa.Float(23),
        "DECIMAL(38, 18)": sa.Numeric(),
        "DECIMAL(10, 2)": sa.Numeric(10, 2),
        "STRING": sa.Text(),
        "VARCHAR(20)": sa.Unicode(20),
        "CHAR(32)": sa.Uuid(),
        "BINARY": sa.LargeBinary(),
        "DATE": sa.Date(),
        "TIMESTAMP_NTZ": sa.DateTime(),
        "TIMESTAMP_LTZ": sa.DateTime(timezone=True),
        "ARRAY<INT>": ARRAY(sa.Integer),
        "MAP<STRING, DECIMAL(5, 1)>": MAP(sa.String, sa.Numeric(5, 1)),
        "STRUCT<`a b`: BINARY>": STRUCT({"a b": sa.LargeBinary()}),
        "VARIANT": VARIANT(),
    }
    metadata = sa.MetaData()
    key = sa.Column("id", sa.Integer, primary_key=True)
    for name, first in (("keyed", (key,)), ("plain", ())):
        sa.Table(name, metadata, *first, *(sa.Column(f"c{i}", kind) for i, kind in enumerate(types.values())))
    metadata.create_all(engine)
    for table in ("keyed", "plain"):
        found = [c["type"].compile(engine.dialect) for c in sa.inspect(engine).get_columns(table)]
        assert found[-len(types) :] == list(types)


def test_an_index_and_a_foreign_key_are_left_out(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table(
        "buyers", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String, index=True)
    )
    buyer: sa.Column[int] = sa.Column("buyer", sa.ForeignKey("buyers.id"))
    sa.Table("orders", metadata, sa.Column("id", sa.Integer, primary_key=True), buyer)
    metadata.create_all(engine)
    assert sa.inspect(engine).get_table_names() == ["buyers", "orders"]
    metadata.drop_all(engine)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer, unique=True)), "Paimon has no UNIQUE constraint"),
        (sa.Table("t", sa.MetaData(), sa.Column("a", sa.Time)), "no times of day"),
        (sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer), sa.CheckConstraint("a > 0")), "no CHECK constraint"),
    ],
)
def test_what_a_table_cannot_have_is_refused(table: sa.Table, problem: str) -> None:
    with pytest.raises(sa.exc.CompileError, match=problem):
        CreateTable(table).compile(dialect=PaimonDialect())


def test_names_are_quoted_whatever_they_are(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    odd = sa.Table(
        "select from%",
        metadata,
        sa.Column("a`b", sa.Integer, primary_key=True),
        sa.Column("sum(x) %", sa.String),
        sa.Column("größe:", sa.Integer),
    )
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(odd.insert(), [{"a`b": 1, "sum(x) %": "x", "größe:": 2}])
        connection.execute(odd.update().where(odd.c["a`b"] == 1).values({"größe:": odd.c["größe:"] + 1}))
        assert connection.execute(sa.select(odd)).one()._mapping == {"a`b": 1, "sum(x) %": "x", "größe:": 3}
        labelled = sa.select(sa.func.count().label("100% of `them`"))
        assert list(connection.execute(labelled).keys()) == ["100% of `them`"]
    assert sa.inspect(engine).has_table("select from%")


def test_tables_of_other_databases_and_catalogs_are_used_by_their_schema(engine: sa.Engine) -> None:
    schema = "archive.`x.y`"
    with engine.begin() as connection:
        connection.execute(CreateSchema(schema))
        metadata = sa.MetaData(schema=schema)
        rows = sa.Table("rows", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("v", sa.String))
        metadata.create_all(connection)
        connection.execute(rows.insert(), [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
        connection.execute(rows.update().where(rows.c.id == 1).values(v="c"))
        connection.execute(rows.delete().where(rows.c.id == 2))
        assert connection.execute(sa.select(rows)).all() == [(1, "c")]
        alias = rows.alias("r")
        assert connection.execute(sa.select(alias.c.v).where(alias.c.id == 1)).scalar() == "c"
        connection.execute(DropSchema(schema, cascade=True))
        assert schema not in sa.inspect(connection).get_schema_names(catalog="archive")


def test_comments_are_set_later(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    table = sa.Table("t", metadata, sa.Column("a", sa.Integer), comment="one")
    metadata.create_all(engine)
    table.comment, table.c.a.comment = "it's two", "a '%'"
    with engine.begin() as connection:
        connection.execute(SetTableComment(table))
        connection.execute(SetColumnComment(table.c.a))
    assert sa.inspect(engine).get_table_comment("t") == {"text": "it's two"}
    assert sa.inspect(engine).get_columns("t")[0]["comment"] == "a '%'"


def test_a_table_of_files_is_made_by_its_format(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    sa.Table("files", metadata, sa.Column("a", sa.Integer), paimon_using="parquet")
    metadata.create_all(engine)
    with engine.connect() as connection:
        assert properties(connection, "files")["type"] == "format-table"
