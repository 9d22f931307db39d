"""Wrapper of Spark's parser that converts undeclared checked exceptions to the declared one.

Spark's parser raises some checked exceptions that ``ParserInterface`` does not declare, such as that about a
timestamp's precision. Raised by a proxy, the JVM would wrap them in an exception without a message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from paimon_sql.errors import UnsupportedError
from paimon_sql.spark.jvm.compat import lacks_change_queries
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm, raise_java

T = TypeVar("T")

_PARSE_EXCEPTION = f"{CATALYST}.parser.ParseException"


class DeclaredErrors:
    """A parser of the JVM whose methods raise only ``ParseException`` or unchecked exceptions."""

    def __init__(self, jvm: Jvm, parser: Any) -> None:
        self._jvm = jvm
        self._parser = parser

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._parser, name)

        def call(text: str, *arguments: Any) -> Any:
            return self.call_catching(lambda: method(text, *arguments), text)

        return call

    def call_catching(self, ask: Callable[[], T], text: str) -> T:
        """The result of a parser call for a text; errors are converted to declared ones."""
        try:
            return ask()
        except (Py4JJavaError, CapturedException) as error:
            origin = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
            if self._is_hidden(origin):
                raise_java(self._declared(origin, text))
            if lacks_change_queries(text):
                raise UnsupportedError(
                    "CHANGES FROM needs PySpark 4.2 or newer.",
                    remedy="Read the table's $audit_log with the option 'incremental-between'.",
                ) from None
            raise

    def _is_hidden(self, exception: Any) -> bool:
        """Whether the JVM would hide the exception from a proxy's caller, and it can be converted."""
        gateway = self._jvm.gateway
        return (
            exception is not None
            and is_instance_of(gateway, exception, "org.apache.spark.SparkThrowable")
            and not is_instance_of(gateway, exception, "java.lang.RuntimeException")
            and not is_instance_of(gateway, exception, _PARSE_EXCEPTION)
        )

    def _declared(self, exception: Any, text: str) -> Any:
        jvm = self._jvm
        parameters = jvm.scala_map(exception.getMessageParameters())
        return jvm.new(
            _PARSE_EXCEPTION,
            jvm.some(text),
            jvm.cls(f"{CATALYST}.trees.CurrentOrigin").get(),
            exception.getCondition(),
            parameters,
        )
