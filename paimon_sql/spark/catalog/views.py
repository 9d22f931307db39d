"""The views of a catalog (Spark: ``ViewCatalog``, since 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.errors import (
    InvalidInputError,
    NoSuchDatabaseError,
    NoSuchViewError,
    TableExistsError,
    UnsupportedError,
    ViewExistsError,
)
from paimon_sql.spark.catalog.base import CatalogPart
from paimon_sql.spark.catalog_objects.views import EVOLVING, spark_view, view_schema
from paimon_sql.spark.java.connector import Ident, View


class Views(CatalogPart):
    """Views by name."""

    def listViews(self, namespace: Sequence[str]) -> Sequence[Ident]:
        database = namespace[0] if len(namespace) else ""
        if database == SYSTEM_DATABASE:
            return self._idents(namespace, ())
        return self._idents(namespace, self._or_no_namespace(namespace, lambda: self.catalog.list_views(database)))

    def loadView(self, ident: Ident) -> View:
        try:
            identifier = self._identifier(ident)
            view = self.catalog.view(identifier)
        except (NoSuchViewError, NoSuchDatabaseError, InvalidInputError):
            self._raise_analysis("NoSuchView", ident)
        return spark_view(self.jvm, view, self.catalog.name, identifier.database)

    def viewExists(self, ident: Ident) -> bool:
        try:
            return self.catalog.view_exists(self._identifier(ident))
        except (NoSuchDatabaseError, InvalidInputError):
            return False

    def invalidateView(self, ident: Ident) -> None:
        pass

    def createView(self, ident: Ident, view: View) -> View:
        return self._create_view(ident, view, replace=False)

    def createOrReplaceView(self, ident: Ident, view: View) -> View:
        return self._create_view(ident, view, replace=True)

    def replaceView(self, ident: Ident, view: View) -> View:
        if not self.viewExists(ident):
            self._raise_analysis("NoSuchView", ident)
        return self._create_view(ident, view, replace=True)

    def dropView(self, ident: Ident) -> bool:
        try:
            self.catalog.drop_view(self._identifier(ident))
        except (NoSuchViewError, NoSuchDatabaseError):
            return False
        return True

    def renameView(self, source: Ident, target: Ident) -> None:
        try:
            self.catalog.rename_view(self._identifier(source), self._identifier(target))
        except NoSuchViewError:
            self._raise_analysis("NoSuchView", source)
        except (ViewExistsError, TableExistsError):
            self._raise_analysis("ViewAlreadyExists", target)

    def _create_view(self, ident: Ident, view: View, *, replace: bool) -> View:
        identifier = self._identifier(ident)
        if identifier.database == SYSTEM_DATABASE:
            raise UnsupportedError(f"No view can be created in {SYSTEM_DATABASE}: it is the system database.")
        if (view.schemaMode() or "").upper() in EVOLVING:
            raise UnsupportedError(
                f"View {identifier} cannot be WITH SCHEMA {view.schemaMode()}: Spark evolves the schema of such a"
                " view only in its own catalog.",
                remedy="Leave it out, and replace the view when the columns of its query change.",
            )
        replaced = self.catalog.view(identifier) if replace and self.catalog.view_exists(identifier) else None
        try:
            schema = view_schema(self.jvm, view, self.catalog.name, replaced)
            self.catalog.create_view(identifier, schema, replace=replace)
        except (ViewExistsError, TableExistsError):
            self._raise_analysis("ViewAlreadyExists", ident)
        except NoSuchDatabaseError:
            self._raise_analysis("NoSuchNamespace", ident.namespace())
        return view
