"""The parts of CREATE TABLE behind the table's name, found on tokens; clauses of Spark's are passed over."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.sql.columns import Span
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.properties import Property, read_properties

_QUERY = "AS|SELECT|FROM|VALUES|TABLE|MAP|REDUCE|("


@dataclass
class Definition:
    """What stands behind the table's name, up to the query, LIKE or the end.

    Attributes:
        end: the offset where it ends: where a clause can be added.
        columns: the bracket of the columns.
        options: the options of ``WITH (..)``, and the clause; None where there is none.
        properties: the properties of TBLPROPERTIES, and the offset of the bracket that closes them.
        is_partitioned: PARTITIONED BY is there.
        is_spark_style: USING, TBLPROPERTIES or OPTIONS is there, and no ``WITH (..)``.
        provider: the word behind USING, in upper case; None where it is not there.
    """

    end: int
    columns: Span | None = None
    options: tuple[list[Property], Span] | None = None
    properties: tuple[list[Property], int] | None = None
    is_partitioned: bool = False
    is_spark_style: bool = False
    provider: str | None = None

    @property
    def given(self) -> list[Property]:
        """All options, wherever they are said."""
        return (self.options[0] if self.options else []) + (self.properties[0] if self.properties else [])


def read_definition(cursor: Cursor) -> Definition:
    """Read the definition at the cursor, and go to the query, to LIKE or to the end."""
    found = Definition(end=cursor.peek(-1).end)
    if cursor.sees("(") and not _is_query(cursor):
        start = cursor.peek().start
        cursor.skip()
        found.columns = Span(start, cursor.peek(-1).end)
        found.end = found.columns.end
    spark_words = False
    while not cursor.done and not cursor.sees("LIKE"):
        start = cursor.peek().start
        if cursor.sees("WITH", "(") and found.options is None:
            cursor.next()
            found.options = read_options(cursor), Span(start, cursor.peek(-1).end)
        elif cursor.sees("TBLPROPERTIES", "(") and found.properties is None:
            cursor.next()
            found.properties = read_options(cursor), cursor.peek(-1).start
            spark_words = True
        elif cursor.sees("WITH") and not cursor.sees("WITH", "SERDEPROPERTIES"):
            break
        elif cursor.sees("STORED|CLUSTERED|CLUSTER|SKEWED|PARTITIONED", "AS|BY"):
            found.is_partitioned = found.is_partitioned or cursor.sees("PARTITIONED")
            is_clustered = cursor.sees("CLUSTERED")
            cursor.position += 2
            cursor.skip()
            if is_clustered:
                _skip_buckets(cursor)
        elif cursor.sees("OPTIONS|SERDEPROPERTIES", "("):
            spark_words = spark_words or cursor.sees("OPTIONS")
            cursor.next()
            cursor.skip()
        elif cursor.sees(_QUERY):
            break
        else:
            if cursor.sees("USING"):
                spark_words = True
                found.provider = cursor.peek(1).word
            cursor.skip()
        found.end = cursor.peek(-1).end
    found.is_spark_style = spark_words and found.options is None
    return found


def _skip_buckets(cursor: Cursor) -> None:
    """Step over what belongs to CLUSTERED BY (..): ``[SORTED BY (..)] INTO n BUCKETS``."""
    if cursor.sees("SORTED", "BY"):
        cursor.position += 2
        cursor.skip()
    if cursor.sees("INTO") and cursor.peek(2).word == "BUCKETS":
        cursor.position += 3


def read_options(cursor: Cursor) -> list[Property]:
    """The options in the bracket at the cursor, and step over it."""
    inside = cursor.group()
    if inside is None:
        raise cursor.error("The bracket of the options never closes.")
    return read_properties(inside)


def _is_query(cursor: Cursor) -> bool:
    """Whether the bracket at the cursor holds the query of CREATE TABLE t (SELECT ..), and not columns."""
    if cursor.sees("(", "WITH"):
        return cursor.peek(3).word in ("AS", "(")
    return cursor.sees("(", "SELECT|(") or cursor.sees("(", "VALUES", "(")
