"""The parser that Spark asks first: Paimon's and Flink's spellings become Spark's, everything else passes untouched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimon_sql.spark.java import CATALYST, JavaObject, Jvm

if TYPE_CHECKING:
    from paimon_sql.spark.bridge import Bridge


class ParserProxy(JavaObject):
    """One session's parser in front of Spark's own."""

    MARK = "paimon-sql parser"

    def __init__(self, jvm: Jvm, bridge: Bridge, session: Any, delegate: Any) -> None:
        super().__init__(jvm)
        self._bridge = bridge
        self._session = session
        self._delegate = delegate
        self._attached = False

    def _prepare(self, text: str) -> str:
        if not self._attached:
            self._bridge.attach_catalogs(self._session)
            self._attached = True
        return text

    def toString(self) -> str:
        return self.MARK

    def parsePlan(self, text: str) -> Any:
        return self._delegate.parsePlan(self._prepare(text))

    def parsePlanWithParameters(self, text: str, parameters: Any) -> Any:
        return self._delegate.parsePlanWithParameters(self._prepare(text), parameters)

    def parseQuery(self, text: str) -> Any:
        return self._delegate.parseQuery(self._prepare(text))

    def parseExpression(self, text: str) -> Any:
        return self._delegate.parseExpression(text)

    def parseTableIdentifier(self, text: str) -> Any:
        return self._delegate.parseTableIdentifier(text)

    def parseFunctionIdentifier(self, text: str) -> Any:
        return self._delegate.parseFunctionIdentifier(text)

    def parseMultipartIdentifier(self, text: str) -> Any:
        return self._delegate.parseMultipartIdentifier(self._prepare(text))

    def parseTemporalTableIdentifier(self, text: str) -> Any:
        return self._delegate.parseTemporalTableIdentifier(self._prepare(text))

    def parseTableSchema(self, text: str) -> Any:
        return self._delegate.parseTableSchema(text)

    def parseDataType(self, text: str) -> Any:
        return self._delegate.parseDataType(text)

    def parseRoutineParam(self, text: str) -> Any:
        return self._delegate.parseRoutineParam(text)

    def splitStatements(self, text: str) -> Any:
        return self._delegate.splitStatements(text)

    class Java:
        implements = [f"{CATALYST}.parser.ParserInterface"]


class ParserBuilder(JavaObject):
    """What ``SparkSessionExtensions.injectParser`` takes: a function from session and parser to parser."""

    def __init__(self, jvm: Jvm, bridge: Bridge) -> None:
        super().__init__(jvm)
        self._bridge = bridge

    def apply(self, session: Any, delegate: Any) -> ParserProxy:
        return ParserProxy(self.jvm, self._bridge, session, delegate)

    class Java:
        implements = ["scala.Function2"]
