"""Views of a JDBC catalog: rows of ``paimon_views``, with definitions in the JSON of REST catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.jdbc.records import NameExistsError, Records
from paimon_sql.catalog.registered import RegisteredCatalog
from paimon_sql.format.catalog_objects.view import ViewSchema, parse_view


class ViewsInRecords(RegisteredCatalog):
    """Views as rows; the lock of a name excludes a table and a view of the same name."""

    records: Records

    def list_views(self, database: str) -> list[str]:
        self._require(database)
        return self.records.views(database)

    def view_exists(self, identifier: Identifier) -> bool:
        return self.records.view(identifier.database, identifier.object_name) is not None

    def view(self, identifier: Identifier) -> ViewSchema:
        found = self.records.view(identifier.database, identifier.object_name)
        if found is None:
            raise self._no_view(identifier)
        return parse_view(found, f"View {self.name}.{identifier}")

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        with self._new_view(identifier):
            definition = view.to_json()
            if replace and self.records.put_view(identifier.database, identifier.table, definition):
                return
            self.records.add_view(identifier.database, identifier.table, definition)

    def alter_view(self, identifier: Identifier, change: Callable[[ViewSchema], ViewSchema]) -> ViewSchema:
        with self._alone(identifier):
            changed = change(self.view(identifier))
            if not self.records.put_view(identifier.database, identifier.object_name, changed.to_json()):
                raise self._no_view(identifier)
        return changed

    def drop_view(self, identifier: Identifier) -> None:
        with self._alone(identifier):
            if not self.records.drop_view(identifier.database, identifier.object_name):
                raise self._no_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        if not self.view_exists(source):
            raise self._no_view(source)
        with self._new_view(target, source):
            names = (source.database, source.object_name), (target.database, target.table)
            if not self.records.rename_view(*names):
                raise self._no_view(source)

    @contextmanager
    def _new_view(self, identifier: Identifier, *others: Identifier) -> Iterator[None]:
        """Add a view with a name that neither a table nor another view has."""
        self._require(identifier.database)
        self._check_view_name(identifier)
        try:
            with self._alone(identifier, *others):
                if self.records.has_table(identifier.database, identifier.table):
                    raise self._taken_table(identifier)
                yield
        except NameExistsError:
            raise self._taken_view(identifier) from None
