"""The statements of Spark's own tests mean in a session with Paimon's catalogs what they mean in plain Spark.

A sample of them runs in the suite; ``PAIMON_TEST_EXAMPLES=20000`` takes them all.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest
from pyspark.sql import SparkSession

import paimon_sql
from paimon_sql.spark.jvm.gateway import CATALYST, EXECUTION, Jvm
from paimon_sql.sql.rewrite import RewriteContext, may_need_rewrite, rewrite
from tests import packages
from tests.sql.spark_inputs import ARTIFACT, Input, inputs_of, spark_inputs

EXAMPLES = int(os.environ.get("PAIMON_TEST_EXAMPLES", "1500"))
_SHOWN = 20

pytestmark = pytest.mark.skipif(not packages.available(ARTIFACT), reason="needs Maven, which fetches it once")


def sample(part: int = 1) -> tuple[Input, ...]:
    """Statements from all over, as many as are asked for or that part of them; all if so many are asked for."""
    found = spark_inputs()
    return found if len(found) <= EXAMPLES else found[:: max(1, round(len(found) * part / EXAMPLES))]


# How they are cut


def test_a_file_is_cut_as_spark_cuts_it() -> None:
    files = {
        "a.sql": "-- first;\n--SET spark.a = 1, spark.b=x y\n--IMPORT b.sql\n"
        "SELECT 1; SELECT ';\n' -- kept; here\n;SELECT '\\;'\n;\n  -- gone\nset spark.a=2;\nSELECT 2\n;\n",
        "b.sql": "--SET spark.c=3\n--QUERY-DELIMITER-START\nBEGIN\n  SELECT 1;\nEND;\n--QUERY-DELIMITER-END\n"
        "SELECT\n-- gone\n3;",
    }
    found = list(inputs_of("a.sql", files))
    assert [each.text for each in found] == [
        "BEGIN\n  SELECT 1;\nEND",
        "SELECT\n3",
        "SELECT 1",
        "SELECT '",
        "' -- kept",
        "here",
        "SELECT '\\;'",
        "set spark.a=2",
        "SELECT 2",
    ]
    before = (("spark.a", "1"), ("spark.b", "x y"))
    assert [each.settings for each in found] == [before] * 8 + [(("spark.a", "2"), ("spark.b", "x y"))]
    assert found[-1].place == "a.sql#9"


def test_of_what_is_set_one_at_a_time_the_last_is_taken() -> None:
    text = "--CONFIG_DIM1 a=1\n--CONFIG_DIM1 a=2,b=3\n--CONFIG_DIM2 c=4\nSELECT 1"
    (found,) = inputs_of("a.sql", {"a.sql": text})
    assert found.settings == (("a", "2"), ("b", "3"), ("c", "4"))


# What the rewrite makes of them


def test_each_statement_of_sparks_is_untouched(record_property: Callable[[str, object], None]) -> None:
    context = RewriteContext("spark_catalog", "default", frozenset({"paimon"}))
    found, touched = spark_inputs(), []
    assert len(found) > 17_000
    started = time.perf_counter()
    for each in found:
        try:
            became = rewrite(each.text, context).sql
        except Exception as error:
            touched.append((each, repr(error)))
        else:
            touched += [(each, became)] if became is not each.text else []
    seconds = time.perf_counter() - started
    read = sum(may_need_rewrite(each.text) for each in found)
    usage = f"{len(found)} statements of Spark's in {seconds:.1f} s; {read} pass the quick look"
    print(usage)
    record_property("rewrite", usage)
    assert touched[:_SHOWN] == []


# What the session's parser makes of them

_COMPARISON = "paimon.tests.Comparison"
_PARSER = f"{CATALYST}.parser.ParserInterface"
_NODE = f"{CATALYST}.trees.TreeNode"
_COLUMNS = f"{CATALYST}.expressions.NamedExpression$"
_IDS = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|@[0-9a-f]+"
"""What differs from run to run: labels that scripts are given, and addresses."""

_DIFFERENCE = f"""
    public static String difference(Object a, Object b, String where) {{
        if (a == b) return null;
        if (a == null || b == null || a.getClass() != b.getClass()) return where + ": " + a + " / " + b;
        if (a instanceof {_NODE}) {{
            Object here = (({_NODE}) a).origin(), there = (({_NODE}) b).origin();
            if (!here.equals(there)) return where + "/" + a.getClass() + ": at " + here + " / " + there;
        }}
        if (a instanceof scala.collection.Iterable) {{
            scala.collection.Iterator left = ((scala.collection.Iterable) a).iterator();
            scala.collection.Iterator right = ((scala.collection.Iterable) b).iterator();
            while (left.hasNext() && right.hasNext()) {{
                String found = difference(left.next(), right.next(), where);
                if (found != null) return found;
            }}
            return left.hasNext() || right.hasNext() ? where + ": " + a + " / " + b : null;
        }}
        if (a instanceof scala.Product) {{
            scala.Product left = (scala.Product) a, right = (scala.Product) b;
            for (int i = 0; i < left.productArity(); i++) {{
                String at = where + "/" + left.productPrefix() + "." + i;
                String found = difference(left.productElement(i), right.productElement(i), at);
                if (found != null) return found;
            }}
            return null;
        }}
        if (a.getClass().isArray()) {{
            int length = java.lang.reflect.Array.getLength(a);
            if (length != java.lang.reflect.Array.getLength(b)) return where + ": another length";
            for (int i = 0; i < length; i++) {{
                Object left = java.lang.reflect.Array.get(a, i), right = java.lang.reflect.Array.get(b, i);
                String found = difference(left, right, where);
                if (found != null) return found;
            }}
            return null;
        }}
        if (a.equals(b)) return null;
        boolean alike = a.toString().replaceAll("{_IDS}", "").equals(b.toString().replaceAll("{_IDS}", ""));
        return alike ? null : where + ": " + a + " / " + b;
    }}"""
"""Where two plans, or parts of them, differ in what they are made of or in where that stands in the text."""

_TOLD = """
    public static String told(Throwable error) {
        String text = error.getClass().getName();
        if (error instanceof org.apache.spark.SparkThrowable) {
            org.apache.spark.SparkThrowable sparks = (org.apache.spark.SparkThrowable) error;
            text += " " + sparks.getCondition() + " " + sparks.getSqlState();
            org.apache.spark.QueryContext[] places = sparks.getQueryContext();
            for (int i = 0; i < places.length; i++) text += " " + places[i];
        }
        return text + "\\n" + error.getMessage();
    }"""

_NEXT_ID = f"""
    public static java.util.concurrent.atomic.AtomicLong nextId() throws Exception {{
        java.lang.reflect.Field field = Class.forName("{_COLUMNS}").getDeclaredField("curId");
        field.setAccessible(true);
        return (java.util.concurrent.atomic.AtomicLong) field.get(null);
    }}"""
"""The id of the next column that a plan gives one to."""

_PARSED = f"""
    public static Object parsed({_PARSER} parser, String text, long id, long[] nanoseconds, int which)
            throws Exception {{
        nextId().set(id);
        long started = System.nanoTime();
        Object found = null;
        try {{ found = parser.parsePlan(text); }} catch (Throwable error) {{ found = error; }}
        nanoseconds[which] = System.nanoTime() - started;
        return found;
    }}"""
"""A plan or an error. Ids of columns begin anew, so that the plans of two parsers have the same ones."""

_COMPARED = f"""
    public static String compared({_PARSER} ours, {_PARSER} sparks, String text, boolean oursFirst)
            throws Exception {{
        long id = nextId().get();
        long[] nanoseconds = new long[2];
        Object first = oursFirst ? parsed(ours, text, id, nanoseconds, 0) : null;
        Object theirs = parsed(sparks, text, id, nanoseconds, 1);
        Object mine = oursFirst ? first : parsed(ours, text, id, nanoseconds, 0);
        String is = mine instanceof Throwable ? told((Throwable) mine) : "a plan: " + mine;
        String should = theirs instanceof Throwable ? told((Throwable) theirs) : "a plan: " + theirs;
        String found = null;
        if (mine instanceof Throwable || theirs instanceof Throwable) found = is.equals(should) ? null : "";
        else found = difference(mine, theirs, "");
        if (found != null && !(mine instanceof Throwable) && !(theirs instanceof Throwable)) {{
            Object again = parsed(sparks, text, id, new long[1], 0);
            if (difference(theirs, again, "") != null) found = null;
        }}
        String kind = theirs instanceof Throwable ? " error" : " plan";
        String both = found == null ? "" : found + "\\nours:    " + is + "\\nSpark's: " + should;
        return nanoseconds[0] + " " + nanoseconds[1] + kind + "\\n" + both;
    }}"""
"""What differs; nothing in a plan that plain Spark makes another way each time, as the one of ``timestamp'now'``."""


class Parsers:
    """A session's parser beside plain Spark's, both under the session's settings.

    Attributes:
        milliseconds: how long each took for a statement, ours first.
        refused: how many statements plain Spark refuses.
    """

    def __init__(self, session: SparkSession) -> None:
        jvm = Jvm(session.sparkContext)
        jvm.compiled_class(_COMPARISON, (_DIFFERENCE, _TOLD, _NEXT_ID, _PARSED, _COMPARED), beside=_NODE)
        self._compared, self._difference = (jvm.static(_COMPARISON, name) for name in ("compared", "difference"))
        self._session = session
        self._ours = session._jsparkSession.sessionState().sqlParser()
        self._sparks = jvm.new(f"{EXECUTION}.SparkSqlParser")
        self._settings: dict[str, str] = {}
        self.milliseconds: list[tuple[float, float]] = []
        self.refused = 0

    def difference(self, text: str) -> str:
        """What differs between the outcomes of both parsers; nothing if they are the same."""
        answer = str(self._compared(self._ours, self._sparks, text, len(self.milliseconds) % 2 == 1))
        figures, _, found = answer.partition("\n")
        ours, sparks, kind = figures.split()
        self.milliseconds.append((int(ours) / 1e6, int(sparks) / 1e6))
        self.refused += kind == "error"
        return found

    def difference_of_texts(self, one: str, other: str) -> str | None:
        """What differs between plain Spark's plans of two texts."""
        found = self._difference(self._sparks.parsePlan(one), self._sparks.parsePlan(other), "")
        return None if found is None else str(found)

    def set(self, settings: Iterable[tuple[str, str]]) -> None:
        """Let the session have these settings and no others of an input."""
        wanted = dict(settings)
        for key in self._settings.keys() - wanted.keys():
            self._session.conf.unset(key)
        for key, value in wanted.items():
            if self._settings.get(key) != value:
                self._session.conf.set(key, value)
        self._settings = wanted

    def figures(self) -> str:
        """What was compared, and how long that took."""
        ours, sparks = zip(*self.milliseconds, strict=True)
        return (
            f"{len(ours)} statements of Spark's, {self.refused} refused; median of a statement {median(ours):.2f} ms,"
            f" in plain Spark {median(sparks):.2f} ms; all {sum(ours) / 1e3:.1f} s and {sum(sparks) / 1e3:.1f} s"
        )


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Spark's parser asks the active session for its settings."""
    sessions = SparkSession._get_j_spark_session_class(session._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


@pytest.fixture(params=["paimon", "spark_catalog"])
def parsers(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[Parsers]:
    """Both parsers in a session in ``spark_catalog``, which has Paimon's catalog beside it or stands behind ours."""
    caplog.set_level(logging.CRITICAL, "py4j")  # which tells of each error that Python gives the JVM
    session = paimon_sql.install(spark.newSession(), {request.param: {"warehouse": str(tmp_path)}})
    session.catalog.setCurrentCatalog("spark_catalog")
    with active(session):
        made = Parsers(session)
        yield made
        made.set(())


def differences(parsers: Parsers, inputs: Iterable[Input], form: str = "{}") -> list[str]:
    """The statements of which both parsers do not make the same, each with both outcomes."""
    found = []
    for each in inputs:
        parsers.set(each.settings)
        text = form.format(each.text)
        if difference := parsers.difference(text):
            found.append(f"{each.place}: {text}\n{difference}\n")
    return found


@pytest.mark.parametrize("parsers", ["paimon"], indirect=True)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a FROM t", "SELECT b FROM t"),
        ("SELECT a FROM t", "SELECT A FROM t"),
        ("SELECT a FROM t", "SELECT  a FROM t"),
        ("SELECT a FROM t", "SELECT a FROM t "),
        ("SELECT 1", "SELECT 1L"),
        ("SELECT a FROM t WHERE b IN (1, 2)", "SELECT a FROM t WHERE b IN (1, 3)"),
        ("CREATE TABLE t (a INT)", "CREATE TABLE t (a INT COMMENT 'c')"),
        ("BEGIN SELECT 1; SELECT 2; END", "BEGIN SELECT 1; END"),
        ("BEGIN SELECT 1; END", "BEGIN SELECT 3; END"),
        ("DELETE FROM t", "TRUNCATE TABLE t"),
    ],
)
def test_unlike_plans_are_found_to_be_unlike(parsers: Parsers, one: str, other: str) -> None:
    assert parsers.difference_of_texts(one, other)


@pytest.mark.parametrize("parsers", ["paimon"], indirect=True)
def test_ids_that_differ_from_run_to_run_make_no_difference(parsers: Parsers) -> None:
    assert parsers.difference("SELECT a AS b FROM t") == ""
    assert parsers.difference("BEGIN SELECT a AS b FROM t; BEGIN SELECT 1 AS c; END; END") == ""


def test_each_statement_of_sparks_parses_as_in_plain_spark(
    parsers: Parsers, record_property: Callable[[str, object], None]
) -> None:
    started = time.perf_counter()
    found = differences(parsers, sample())
    usage = f"{parsers.figures()}, {time.perf_counter() - started:.1f} s in all"
    print(usage)
    record_property("parsers", usage)
    assert parsers.refused <= len(parsers.milliseconds) / 5
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:_SHOWN])


@pytest.mark.parametrize("form", ["BEGIN\n  {};\nEND", "EXPLAIN {}", "{} /* end */"])
def test_each_statement_of_sparks_parses_so_where_the_quick_look_gives_way(
    parsers: Parsers, form: str, record_property: Callable[[str, object], None]
) -> None:
    found = differences(parsers, sample(3), form)
    print(parsers.figures())
    record_property("parsers", parsers.figures())
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:_SHOWN])
