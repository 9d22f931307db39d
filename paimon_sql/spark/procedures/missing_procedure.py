"""A procedure that does not exist, which says so when it is used.

An error that a catalog raises while Spark loads a procedure is hidden behind one that only says that loading failed. So
Spark is given something to load, and hears the error when it asks about it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from paimon_sql.errors import NotFoundError
from paimon_sql.spark.jvm.gateway import CATALOG, JavaObject, Jvm


class MissingProcedureProxy(JavaObject):
    """Stands where a procedure was looked for; everything that Spark asks it is answered with the error."""

    def __init__(self, jvm: Jvm, error: NotFoundError) -> None:
        super().__init__(jvm)
        self._error = error

    def toString(self) -> str:
        return self._error.name

    def name(self) -> NoReturn:
        raise self._error

    def description(self) -> NoReturn:
        raise self._error

    def bind(self, input_type: Any) -> NoReturn:
        raise self._error

    class Java:
        implements = [f"{CATALOG}.procedures.UnboundProcedure"]
