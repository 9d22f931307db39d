"""What the parts of a catalog's proxy share: names, and Spark's errors for names of nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from paimon_sql.catalog.catalog import ALONE, Catalog, Host
from paimon_sql.catalog.identifier import Identifier, parse_identifier
from paimon_sql.errors import NoSuchDatabaseError, PaimonError
from paimon_sql.spark.connector.interfaces import CatalogInterface
from paimon_sql.spark.conversion.references import unquoted_parts
from paimon_sql.spark.execution.carried_statement import SessionCatalogs
from paimon_sql.spark.execution.executor import SparkExecutor
from paimon_sql.spark.java.connector import Ident
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST, Jvm
from paimon_sql.spark.jvm.proxy import raise_java
from paimon_sql.spark.jvm.session import JvmSession

T = TypeVar("T")


def host_in(jvm: Jvm, is_used_outside: Callable[[Identifier], bool] = ALONE.is_used_outside) -> Host:
    """What Spark provides to a catalog: its executors, if there are several.

    Args:
        jvm: the JVM.
        is_used_outside: whether a name belongs to a table outside of the catalog.
    """
    return Host(SparkExecutor(jvm) if jvm.context.defaultParallelism > 1 else None, is_used_outside)


class CatalogPart(CatalogInterface, ABC):
    """One topic of one catalog of one session.

    Args:
        session: the session.
        catalog: the catalog.
        session_catalogs: all Paimon catalogs of the session.
    """

    def __init__(self, session: JvmSession, catalog: Catalog, session_catalogs: SessionCatalogs) -> None:
        super().__init__(session.jvm)
        self.session = session
        self.catalog = catalog
        self.session_catalogs = session_catalogs

    @abstractmethod
    def viewExists(self, ident: Ident) -> bool: ...

    def _identifier(self, ident: Ident) -> Identifier:
        """The identifier of a table, from Spark's.

        Raises:
            NoSuchDatabaseError: it does not have exactly one database.
        """
        *namespace, name = unquoted_parts(ident.toString())
        if len(namespace) != 1:
            raise NoSuchDatabaseError(
                f"{'.'.join([*namespace, name])} is not a table of catalog {self.catalog.name}: expected"
                " database.table.",
                name=".".join(namespace),
            )
        return parse_identifier(namespace[0], name)

    def _ident(self, namespace: Sequence[str], name: str) -> Ident:
        return self.jvm.cls(f"{CATALOG}.Identifier").of(namespace, name)

    def _idents(self, namespace: Sequence[str], names: Iterable[str]) -> Sequence[Ident]:
        return self.jvm.array(f"{CATALOG}.Identifier", [self._ident(namespace, name) for name in names])

    def _raise_analysis(self, kind: str, name: object) -> NoReturn:
        """Raise an exception of Spark's analysis, which every method of a catalog may throw."""
        raise_java(self.jvm.new(f"{CATALYST}.analysis.{kind}Exception", name))

    @contextmanager
    def _analysis_error(self, kind: str, name: object, *errors: type[PaimonError]) -> Iterator[None]:
        """Raise an exception of Spark's analysis instead of some of our errors."""
        try:
            yield
        except errors:
            self._raise_analysis(kind, name)

    def _or_no_namespace(self, namespace: Sequence[str], action: Callable[[], T]) -> T:
        with self._analysis_error("NoSuchNamespace", namespace, NoSuchDatabaseError):
            return action()


def identifier_of(catalog: CatalogPart, ident: Ident) -> Identifier:
    """The identifier of a table in a catalog, from Spark's; errors are Python's."""
    return catalog._identifier(ident)
