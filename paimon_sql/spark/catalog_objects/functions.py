"""Functions of a catalog: unbound, and bound to argument types (Spark: ``UnboundFunction``, ``ScalarFunction``)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from paimon_sql.errors import PaimonError
from paimon_sql.spark.jvm.gateway import CONNECTOR, JavaObject, Jvm, raise_java

_FUNCTIONS = f"{CONNECTOR}.catalog.functions"
_DATA_TYPE = "org.apache.spark.sql.types.DataType"


class UnboundFunctionProxy(JavaObject, ABC):
    """A function that is not bound to argument types yet."""

    function: str
    summary: str
    example: str

    def toString(self) -> str:
        return self.function

    def name(self) -> str:
        return self.function

    def description(self) -> str:
        return self.summary

    def bind(self, input_type: Any) -> BoundFunctionProxy:
        types = [f["type"] for f in json.loads(input_type.json())["fields"]]
        try:
            return self._bound(types)
        except PaimonError as error:
            raise_java(self.jvm.new("java.lang.UnsupportedOperationException", str(error)))
            raise

    @abstractmethod
    def _bound(self, types: list[Any]) -> BoundFunctionProxy:
        """The function bound to argument types, which are in Spark's JSON."""


class BoundFunctionProxy(JavaObject):
    """A function with known argument types, evaluated on the driver.

    Args:
        jvm: the JVM.
        name: the function's name.
        types: the argument types in Spark's JSON.
        result_type: the result type in Spark's JSON.
        result: computes the result for an ``InternalRow`` of arguments.
        nullable: whether the result may be null.
    """

    def __init__(
        self,
        jvm: Jvm,
        name: str,
        types: list[Any],
        result_type: str,
        result: Callable[[Any], Any],
        *,
        nullable: bool = False,
    ) -> None:
        super().__init__(jvm)
        self._name = name
        self._types = types
        self._result_type = result_type
        self._result = result
        self._nullable = nullable

    def toString(self) -> str:
        return self._name

    def name(self) -> str:
        return self._name

    def canonicalName(self) -> str:
        return f"paimon.{self._name}({', '.join(map(json.dumps, self._types))})"

    def inputTypes(self) -> Any:
        kind = self.jvm.cls(_DATA_TYPE)
        return self.jvm.array(_DATA_TYPE, [kind.fromJson(json.dumps(name)) for name in self._types])

    def resultType(self) -> Any:
        return self.jvm.cls(_DATA_TYPE).fromJson(json.dumps(self._result_type))

    def isResultNullable(self) -> bool:
        return self._nullable

    def isDeterministic(self) -> bool:
        return True

    def produceResult(self, row: Any) -> Any:
        return self._result(row)

    class Java:
        implements = [f"{_FUNCTIONS}.ScalarFunction"]
