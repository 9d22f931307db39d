"""Statements of the Spark Connect server: their log, by the events that Spark's service posts.

A small class in the JVM (decision 9) listens, so that Python is called for these events only.
"""

from __future__ import annotations

from typing import cast

from pyspark import SparkContext

from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.proxy import ScalaFunction
from paimon_sql.spark.statement_log import Statement, StatementLog

_SERVICE = "org.apache.spark.sql.connect.service"
_PROTO = "org.apache.spark.connect.proto"
_EVENT = f"{_SERVICE}.SparkListenerConnectOperation"
_PARENT = "org.apache.spark.scheduler.SparkListener"
_CLASS = "io.github.paimon_sql.connect.StatementEvents"
_MEMBERS = (
    "public scala.Function2 handler;",
    # The client's SQL where the plan is one statement, otherwise Spark's text of the plan.
    f"""public static String text({_EVENT}Started event) {{
        if (event.planRequest().isDefined()) {{
            {_PROTO}.Plan plan = (({_PROTO}.ExecutePlanRequest) event.planRequest().get()).getPlan();
            {_PROTO}.Relation relation = plan.getRoot();
            if (plan.hasCommand() && plan.getCommand().hasSqlCommand()) {{
                if (plan.getCommand().getSqlCommand().getSql().length() > 0)
                    return plan.getCommand().getSqlCommand().getSql();
                relation = plan.getCommand().getSqlCommand().getInput();
            }}
            if (relation.hasSql())
                return relation.getSql().getQuery();
        }}
        return event.statementText();
    }}""",
    f"""public void onOtherEvent(org.apache.spark.scheduler.SparkListenerEvent event) {{
        String name = event.getClass().getName();
        if (name.startsWith("{_EVENT}"))
            handler.apply(name.substring("{_EVENT}".length()), event);
    }}""",
)


class LoggedStatements:
    """Logs the statements of a Connect server from now on.

    Args:
        jvm: the JVM.
        log: the log.
    """

    def __init__(self, jvm: Jvm, log: StatementLog) -> None:
        self._jvm = jvm
        self._log = log
        self._context: SparkContext = jvm.context
        made = jvm.compiled_class(_CLASS, _MEMBERS, beside=_SERVICE + ".SparkConnectService", parent=_PARENT)
        self._listener = jvm.compiled_object(made, handler=ScalaFunction(jvm, self._handle))
        self._context._jsc.sc().addSparkListener(self._listener)

    def stop(self) -> None:
        """Stop logging."""
        self._context._jsc.sc().removeSparkListener(self._listener)

    def _handle(self, kind: str, event: JavaObject) -> None:
        statement_id = str(event.operationId())
        if kind == "Started":
            text = str(self._jvm.static(_CLASS, "text")(event))
            self._log.started(
                statement_id, Statement(text, str(event.sessionId()), str(event.userName() or event.userId()))
            )
        elif kind == "Finished":
            count = event.producedRowCount()
            self._log.finished(statement_id, cast(int, count.get()) if count.isDefined() else None)
        elif kind == "Failed":
            self._log.failed(statement_id, str(event.errorMessage()))
        elif kind in ("Canceled", "Closed"):
            self._log.canceled(statement_id, kind.lower())
