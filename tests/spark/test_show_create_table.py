"""SHOW CREATE TABLE shows a statement that makes the same table again; DESCRIBE EXTENDED shows the key."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.spark.conftest import Sql

TYPES = (
    *(
        "BOOLEAN",
        "TINYINT",
        "BIGINT",
        "DOUBLE",
        "DECIMAL(12, 3)",
        "STRING",
        "CHAR(3)",
        "VARCHAR(9)",
        "BYTES",
        "BINARY(4)",
    ),
    *("VARBINARY(7)", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(0)"),
    *("TIMESTAMP_LTZ(6)", "VARIANT", "MULTISET<STRING>", "ARRAY<INT NOT NULL>", "MAP<STRING, ARRAY<TIMESTAMP(3)>>"),
    *("ROW<`a b` INT NOT NULL COMMENT 'it''s', c TIMESTAMP(6), d MAP<INT NOT NULL, TIME(0)>>", "VECTOR<FLOAT, 3>"),
    *("MAP<STRING NOT NULL, INT>", "ARRAY<MAP<STRING, INT>>"),
)
DEFAULTS = {
    "BIGINT": "-5",
    "STRING": "'it''s \\\\ one'",
    "DATE": "DATE '2026-01-31'",
    "TIMESTAMP(3)": "TIMESTAMP '2026-01-31 01:02:03.5'",
    "DECIMAL(12, 3)": "1.5",
}
NAMES = st.sampled_from(["a", "B", "select", "primary", "watermark", "key", "x y", "it's", "a.b", "größe", "1st"])
OPTIONS = {
    "manifest.target-file-size": "4 mb",
    "snapshot.time-retained": "2 h",
    "my own": "it's \\ a 'value'",
    "owner team": "blue",
}


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A table ``t`` with some columns, or none of its kind: key, partitions, defaults, comments, options."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
    columns = []
    for name in names:
        kind = draw(st.sampled_from(TYPES))
        parts = [f"`{name}` {kind}", draw(st.sampled_from(["", " NOT NULL"]))]
        if kind in DEFAULTS and draw(st.booleans()):
            parts.append(f" DEFAULT {DEFAULTS[kind]}")
        parts.append(draw(st.sampled_from(["", " COMMENT 'c'", " COMMENT 'it''s; \"so\"'"])))
        columns.append("".join(parts))
    is_keyed, is_partitioned = draw(st.booleans()), draw(st.booleans())
    columns += ["id BIGINT"] if is_keyed else []
    columns += ["`d t` STRING"] if is_partitioned else []
    if is_keyed:
        columns.append(f"PRIMARY KEY ({'id, `d t`' if is_partitioned else 'id'}) NOT ENFORCED")
    chosen = {key: OPTIONS[key] for key in draw(st.lists(st.sampled_from(sorted(OPTIONS)), unique=True))}
    given = [f"'{key}' = '" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" for key, value in chosen.items()]
    text = f"CREATE TABLE t ({', '.join(columns)})"
    text += draw(st.sampled_from(["", " COMMENT 'a table''s'"]))
    text += " PARTITIONED BY (`d t`)" if is_partitioned else ""
    return text + f" WITH ({', '.join(given)})"


def stored(sql: Sql) -> tuple[object, ...]:
    """All that the schema of table ``t`` says, but its time and the order of its options."""
    ((*found, options),) = sql(
        "SELECT schema_id, fields, partition_keys, primary_keys, comment, options FROM t$schemas"
    )
    return *found, json.loads(str(options))


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=tables())
def test_the_shown_statement_makes_the_same_table(sql: Sql, text: str) -> None:
    sql("DROP TABLE IF EXISTS t")
    sql(text)
    before, ((shown,),) = stored(sql), sql("SHOW CREATE TABLE t")
    sql("DROP TABLE t")
    sql(str(shown))
    assert stored(sql) == before, shown
    assert sql("SHOW CREATE TABLE t") == [(shown,)]


def test_it_is_shown_as_people_write_it(sql: Sql) -> None:
    database = sql("SELECT current_database()")[0][0]
    sql(
        "CREATE TABLE t (id BIGINT, name STRING COMMENT 'who', at TIMESTAMP(3), seen TIMESTAMP_LTZ(6), dt STRING,"
        " PRIMARY KEY (dt, id) NOT ENFORCED) COMMENT 'all' PARTITIONED BY (dt) WITH ('bucket' = '2')"
    )
    assert sql("SHOW CREATE TABLE t") == [
        (
            f"CREATE TABLE paimon.{database}.t (\n"
            "  id BIGINT NOT NULL,\n"
            "  name STRING COMMENT 'who',\n"
            "  at TIMESTAMP(3),\n"
            "  seen TIMESTAMP_LTZ,\n"
            "  dt STRING NOT NULL,\n"
            "  PRIMARY KEY (dt, id) NOT ENFORCED)\n"
            "USING paimon\n"
            "PARTITIONED BY (dt)\n"
            "COMMENT 'all'\n"
            "TBLPROPERTIES (\n"
            "  'bucket' = '2')\n",
        )
    ]


def test_secret_options_are_not_shown(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT) WITH ('my.password' = 'abc')")
    ((shown,),) = sql("SHOW CREATE TABLE t")
    assert "abc" not in str(shown) and "'my.password' = '*********(redacted)'" in str(shown)


@pytest.mark.smoke
def test_describe_extended_shows_the_key(sql: Sql) -> None:
    sql("CREATE TABLE t (id BIGINT, n INT, PRIMARY KEY (n, id) NOT ENFORCED) WITH ('bucket' = '1')")
    sql("CREATE TABLE without (id BIGINT)")
    plain = sql("DESCRIBE t")
    assert plain == [("id", "bigint", None), ("n", "int", None)]
    for mode in ("EXTENDED", "FORMATTED"):
        shown = [str(row[1]) for row in sql(f"DESCRIBE {mode} t") if row[0] == "primary_key"]
        assert [text.removesuffix(" NORELY") for text in shown] == ["PRIMARY KEY (n, id) NOT ENFORCED"]  # since 4.2
    assert not any("PRIMARY KEY" in str(row) for row in sql("DESCRIBE EXTENDED without"))
    sql("INSERT INTO t VALUES (1, 1), (1, 1)")
    assert sql("SELECT * FROM t") == [(1, 1)]
