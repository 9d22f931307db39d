"""Texts of statements, drawn from the grammars that are declared."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from paimon_sql.sql.grammar import AnyOrder, Maybe, Named, Part, Series, SlotPart, Words

Texts = SearchStrategy[str]

NAMES = st.sampled_from(["a", "b_1", "`c d`", "`it``s`", "größe", "`select`", "Total"])
WORDS = st.sampled_from(["a", "b_1", "`c d`"])
STRINGS = st.sampled_from(["''", "'x'", "'it''s'", "'a\\\\b'", "'*/ -- $ é'", '"q"'])
TABLES = st.builds(lambda path, name: path + name, st.sampled_from(["", "db.", "cat.`my db`."]), NAMES)
NUMBERS = st.integers(0, 2**40).map(str)
OPTIONS = st.lists(st.builds("{} = {}".format, STRINGS.filter(lambda s: s != "''"), STRINGS), max_size=3).map(
    lambda pairs: f"({', '.join(pairs)})"
)
QUERIES = st.sampled_from(
    [
        "SELECT 1",
        "SELECT a, count(*) AS n FROM t$files AS f GROUP BY a",
        "SELECT * FROM t /*+ OPTIONS('a' = 'b') */ WHERE a > 1",
        "WITH c AS (SELECT * FROM t VERSION AS OF 1) SELECT * FROM c JOIN u ON c.a = u.a",
    ]
)


def listed(each: Texts) -> Texts:
    """Some of them with commas between."""
    return st.lists(each, min_size=1, max_size=3).map(", ".join)


def bracketed(each: Texts) -> Texts:
    """The same in brackets."""
    return listed(each).map("({})".format)


SLOTS: dict[str, Texts] = {
    **dict.fromkeys(("tag", "branch"), st.one_of(NAMES, st.sampled_from(["'2024-01-01'", "7"]))),
    "new_name": NAMES,
    "word": WORDS,
    "names": bracketed(NAMES),
    "list": listed(NAMES),
    "table": TABLES,
    "new_table": TABLES,
    "string": STRINGS,
    "number": NUMBERS,
    "options": OPTIONS,
    "lifetime": st.builds("{} {}".format, NUMBERS, st.sampled_from(["DAYS", "hour", "MINUTES"])),
    "function": TABLES,
    "definition": st.sampled_from(["AS 'a.B'", "AS 'a.B' LANGUAGE JAVA USING JAR 'x.jar'", "(x INT) RETURN x + 1"]),
    "bracket": st.sampled_from(["(a = 1)", "(a = 'x', `c d` = DATE '2024-01-01')"]),
    "partitions": st.lists(st.sampled_from(["PARTITION (a = 1)", "PARTITION (b = 'x')"]), min_size=1, max_size=2).map(
        ", ".join
    ),
    "spec": bracketed(st.one_of(NAMES, NAMES.map("{} = 'x'".format))),
    "key_columns": st.sampled_from(["(a, `c d` COMMENT 'x')", "(a, CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED)"]),
    "freshness": st.sampled_from(["INTERVAL '3' MINUTE", "INTERVAL 1 DAYS"]),
    "values": st.sampled_from(["(d = DATE '2024-01-01', h = -3)", "(a = 'x')"]),
    "defining": QUERIES,
    "database": st.sampled_from(["db", "cat.`my db`"]),
    **dict.fromkeys(
        ("load_format", "unload_format"), st.sampled_from(["(TYPE = CSV)", "(type = 'PARQUET', COMPRESSION = zstd)"])
    ),
    "raw": st.sampled_from(["'a\\d'", "'.*[.]csv'", "'it''s'"]),
    "path": st.sampled_from(["'/p/q r'", '"s3://b/é"']),
    "copied": TABLES,
    "source": TABLES,
    "features": st.sampled_from(["(EXCLUDING OPTIONS)", "(INCLUDING ALL EXCLUDING PARTITIONS)"]),
}
"""By the kind of a slot what can stand there."""


def texts_of(part: Part) -> Texts:
    """What a part of a grammar reads."""
    if isinstance(part, Words):
        return st.just(part.usage())
    if isinstance(part, Named):
        return st.sampled_from(list(part.choices))
    if isinstance(part, SlotPart):
        return SLOTS[part.kind]
    if isinstance(part, Maybe):
        return st.one_of(st.just(""), *map(texts_of, part.parts))
    if isinstance(part, AnyOrder):
        return st.permutations(part.parts).flatmap(lambda parts: st.tuples(*map(texts_of, parts))).map(" ".join)
    assert isinstance(part, Series)
    return st.tuples(*map(texts_of, part.parts)).map(" ".join)
