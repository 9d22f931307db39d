"""A session of Spark in the JVM: what most code needs of it, and calls of the JVM under other settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

from pyspark.sql import DataFrame, SparkSession

from paimon_sql.spark.java.catalyst import LogicalPlan
from paimon_sql.spark.java.session import ClassicSession, Dataset, QueryExecution, RuntimeConfig, SessionState, SQLConf
from paimon_sql.spark.jvm.gateway import EXECUTION, SETTINGS, Jvm
from paimon_sql.spark.jvm.proxy import Proxy, ScalaFunction


@dataclass(frozen=True, eq=False)
class JvmSession:
    """A session of Spark.

    Attributes:
        jvm: the JVM.
        java: the session in the JVM.
    """

    jvm: Jvm
    java: ClassicSession

    @cached_property
    def python(self) -> SparkSession:
        """PySpark's object of the session."""
        return SparkSession(self.jvm.context, self.java)

    @property
    def conf(self) -> RuntimeConfig:
        """The settings."""
        return self.java.conf()

    @property
    def state(self) -> SessionState:
        """The state: catalogs, parser, analyzer and others."""
        return self.java.sessionState()

    @property
    def case_sensitive(self) -> bool:
        """Whether names that differ only in case are different."""
        return self.state.conf().caseSensitiveAnalysis()

    def parsed(self, text: str) -> LogicalPlan:
        """The plan of a statement from Spark's own parser."""
        return self.jvm.new(f"{EXECUTION}.SparkSqlParser").parsePlan(text)

    def execution(self, plan: LogicalPlan) -> QueryExecution:
        """The execution of a plan, which analyzes and optimizes it: commands in it do not run."""
        return self.state.executePlan(plan, self.jvm.singleton(f"{EXECUTION}.CommandExecutionMode").SKIP())

    def explained(self, execution: QueryExecution, mode: str) -> str:
        """The text of EXPLAIN; modes are ``simple``, ``extended``, ``codegen``, ``cost`` and ``formatted``."""
        util = self.jvm.cls("org.apache.spark.sql.api.python.PythonSQLUtils")
        return str(util.explainString(execution, mode))

    def frame(self, plan: LogicalPlan) -> DataFrame:
        """A plan as a DataFrame; commands in it run.

        Raises:
            AnalysisException: Spark refuses the plan.
        """
        return DataFrame(self.dataset(plan), self.python)

    def dataset(self, plan: LogicalPlan) -> Dataset:
        """As `frame`, as an object of the JVM."""
        return self.jvm.cls("org.apache.spark.sql.classic.Dataset").ofRows(self.java, plan)


@dataclass(eq=False)
class SessionProxy(Proxy):
    """A proxy of one session.

    Attributes:
        session: the session.
    """

    jvm: Jvm = field(init=False)
    session: JvmSession

    def __post_init__(self) -> None:
        self.jvm = self.session.jvm


@contextmanager
def changed_settings(conf: SQLConf, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session during the block."""
    before = {key: conf.getConfString(key) if conf.contains(key) else None for key in settings}
    try:
        for key, value in settings.items():
            conf.setConfString(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                conf.unsetConf(key)
            else:
                conf.setConfString(key, old)


T = TypeVar("T")


def with_settings(jvm: Jvm, settings: Mapping[str, str], run: Callable[[], T]) -> T:
    """The result of a call of the JVM with some settings changed, on this thread only."""
    changed = jvm.settings.clone()
    for key, value in settings.items():
        changed.setConfString(key, value)
    return cast(T, jvm.singleton(SETTINGS).withExistingConf(changed, ScalaFunction(jvm, run)))
