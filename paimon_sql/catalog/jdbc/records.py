"""Records of a JDBC catalog: one row per database property, table, table property and view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, delete, insert, select, union_all, update
from sqlalchemy.exc import IntegrityError

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.jdbc.database import LONGEST_VALUE, Database, Layout, layout_of
from paimon_sql.catalog.warehouse import RegisteredCatalog
from paimon_sql.errors import AlreadyExistsError
from paimon_sql.format.schema.catalog_objects import ViewSchema, parse_view

EXISTS = "exists"
"""The property by which a database exists without tables (Paimon: `JdbcCatalog.DATABASE_EXISTS_PROPERTY`)."""


class NameExistsError(AlreadyExistsError):
    """A row of that name exists already."""


@dataclass(frozen=True)
class Records:
    """The rows of a catalog (Paimon: `JdbcUtils`).

    Some databases consider ``T`` and ``t`` equal, unlike directories: names in results are compared once more.

    Attributes:
        database: the database.
        catalog_key: the key that distinguishes this catalog from others in the database.
    """

    database: Database
    catalog_key: str

    @property
    def layout(self) -> Layout:
        """The tables of the database."""
        return layout_of(self.database.backend)

    # Databases

    def databases(self) -> list[str]:
        """The names of all databases, sorted: those with properties, tables or views."""
        return sorted(self._database_names())

    def has_database(self, name: str) -> bool:
        """Whether a database exists."""
        return name in self._database_names(name)

    def properties(self, name: str) -> dict[str, str]:
        """The properties of a database."""
        table = self.layout.database_properties
        query = select(table.c.database_name, table.c.property_key, table.c.property_value)
        with self.database.transaction() as connection:
            rows = connection.execute(query.where(self._of_catalog(table, name))).all()
        return {k: v or "" for database, k, v in rows if database == name and k != EXISTS}

    def add_database(self, name: str, properties: Mapping[str, str]) -> None:
        """Add a database; NameExistsError if it exists."""
        with self._new(name) as connection:
            table = self.layout.database_properties
            self._add_properties(connection, table, {EXISTS: "true", **properties}, database_name=name)

    def change_database(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change the properties of a database; None removes one."""
        table = self.layout.database_properties
        with self._new(name) as connection:
            removed = and_(self._of_catalog(table, name), table.c.property_key.in_(changes))
            connection.execute(delete(table).where(removed))
            new = {k: v for k, v in changes.items() if v is not None}
            self._add_properties(connection, table, new, database_name=name)

    def drop_database(self, name: str) -> None:
        """Delete a database with all its tables and views."""
        with self.database.transaction() as connection:
            for table in (*self._of_databases(), self.layout.table_properties):
                connection.execute(delete(table).where(self._of_catalog(table, name)))

    # Tables

    def tables(self, database: str) -> list[str]:
        """The names of a database's tables, sorted."""
        return self._names(self.layout.tables, database)

    def has_table(self, database: str, name: str) -> bool:
        """Whether a table exists."""
        with self.database.transaction() as connection:
            return self._has(connection, self.layout.tables, database, name)

    def add_table(self, database: str, name: str, properties: Mapping[str, str]) -> None:
        """Add a table; NameExistsError if it exists."""
        with self._new(name) as connection:
            row = {"catalog_key": self.catalog_key, "database_name": database, "table_name": name}
            connection.execute(insert(self.layout.tables).values(row))
            self._put_table_properties(connection, database, name, properties)

    def drop_table(self, database: str, name: str) -> bool:
        """Delete a table; False if it does not exist."""
        return self._drop(database, name, self.layout.table_properties, self.layout.tables)

    @contextmanager
    def renaming_table(self, source: tuple[str, str], target: tuple[str, str]) -> Iterator[bool]:
        """Rename a table, committed if the body of the ``with`` succeeds; yields False if it does not exist.

        Raises:
            NameExistsError: a table of the new name exists.
        """
        with self._new(target[1]) as connection:
            values = {"database_name": target[0], "table_name": target[1]}
            exists = self._has(connection, self.layout.tables, *source)
            if exists:
                properties = self.layout.table_properties
                connection.execute(delete(properties).where(self._named(properties, *target)))
                for table in (self.layout.tables, properties):
                    connection.execute(update(table).where(self._named(table, *source)).values(values))
            yield exists

    def table_properties(self, database: str, name: str) -> dict[str, str]:
        """The properties of a table."""
        table = self.layout.table_properties
        query = select(table.c.table_name, table.c.property_key, table.c.property_value)
        with self.database.transaction() as connection:
            rows = connection.execute(query.where(self._named(table, database, name))).all()
        return {k: v or "" for found, k, v in rows if found == name}

    def kept_of(self, properties: Mapping[str, str]) -> dict[str, str]:
        """The properties of a table that are short enough for rows."""
        longest = self.layout.longest_option
        return {k: v for k, v in properties.items() if len(k) <= longest and len(v) <= LONGEST_VALUE}

    def set_table_properties(self, database: str, name: str, properties: Mapping[str, str]) -> None:
        """Replace all properties of a table; those that are too long are skipped."""
        with self._new(name) as connection:
            self._put_table_properties(connection, database, name, properties)

    # Views

    def views(self, database: str) -> list[str]:
        """The names of a database's views, sorted."""
        return self._names(self.layout.views, database)

    def view(self, database: str, name: str) -> str | None:
        """The definition of a view; None if it does not exist."""
        table = self.layout.views
        query = select(table.c.view_name, table.c.view_schema).where(self._named(table, database, name))
        with self.database.transaction() as connection:
            return next((text for found, text in connection.execute(query) if found == name), None)

    def add_view(self, database: str, name: str, definition: str) -> None:
        """Add a view; NameExistsError if it exists."""
        row = {"catalog_key": self.catalog_key, "database_name": database, "view_name": name}
        with self._new(name) as connection:
            connection.execute(insert(self.layout.views).values({**row, "view_schema": definition}))

    def put_view(self, database: str, name: str, definition: str) -> bool:
        """Replace the definition of a view; False if it does not exist."""
        table = self.layout.views
        with self.database.transaction() as connection:
            if not self._has(connection, table, database, name):
                return False
            connection.execute(update(table).where(self._named(table, database, name)).values(view_schema=definition))
        return True

    def drop_view(self, database: str, name: str) -> bool:
        """Delete a view; False if it does not exist."""
        return self._drop(database, name, self.layout.views)

    def rename_view(self, source: tuple[str, str], target: tuple[str, str]) -> bool:
        """Rename a view; False if it does not exist, NameExistsError if the new name exists."""
        table = self.layout.views
        with self._new(target[1]) as connection:
            if not self._has(connection, table, *source):
                return False
            values = {"database_name": target[0], "view_name": target[1]}
            return connection.execute(update(table).where(self._named(table, *source)).values(values)).rowcount > 0

    def _of_databases(self) -> tuple[Table, ...]:
        return self.layout.database_properties, self.layout.tables, self.layout.views

    def _database_names(self, name: str | None = None) -> set[str]:
        queries = (select(t.c.database_name).distinct().where(self._of_catalog(t, name)) for t in self._of_databases())
        with self.database.transaction() as connection:
            return set(connection.scalars(union_all(*queries)))

    def _of_catalog(self, table: Table, database: str | None = None) -> ColumnElement[bool]:
        condition = table.c.catalog_key == self.catalog_key
        return condition if database is None else and_(condition, table.c.database_name == database)

    def _named(self, table: Table, database: str, name: str) -> ColumnElement[bool]:
        return and_(self._of_catalog(table, database), _name_of(table) == name)

    def _names(self, table: Table, database: str) -> list[str]:
        query = select(table.c.database_name, _name_of(table)).where(self._of_catalog(table, database))
        with self.database.transaction() as connection:
            return sorted(name for found, name in connection.execute(query) if found == database)

    def _has(self, connection: Connection, table: Table, database: str, name: str) -> bool:
        query = select(table.c.database_name, _name_of(table)).where(self._named(table, database, name))
        return any((found, other) == (database, name) for found, other in connection.execute(query))

    def _drop(self, database: str, name: str, *tables: Table) -> bool:
        """Delete the rows of a name; False if the last of the tables has none."""
        with self.database.transaction() as connection:
            if not self._has(connection, tables[-1], database, name):
                return False
            for table in tables:
                result = connection.execute(delete(table).where(self._named(table, database, name)))
        return result.rowcount > 0

    def _add_properties(
        self, connection: Connection, table: Table, properties: Mapping[str, str], **names: str
    ) -> None:
        key = {"catalog_key": self.catalog_key, **names}
        rows = [{**key, "property_key": k, "property_value": v} for k, v in properties.items()]
        if rows:
            connection.execute(insert(table), rows)

    def _put_table_properties(
        self, connection: Connection, database: str, name: str, properties: Mapping[str, str]
    ) -> None:
        # Properties of a dropped table may remain: Java deletes them only if it is configured to write them.
        table = self.layout.table_properties
        connection.execute(delete(table).where(self._named(table, database, name)))
        self._add_properties(connection, table, self.kept_of(properties), database_name=database, table_name=name)

    @contextmanager
    def _new(self, name: str) -> Iterator[Connection]:
        """A transaction that adds rows; NameExistsError if they exist already."""
        try:
            with self.database.transaction() as connection:
                yield connection
        except IntegrityError:
            raise NameExistsError(
                f"{name} already exists in the catalog's database {self.database}.", name=name
            ) from None


def _name_of(table: Table) -> Column[str]:
    """The column with the name of a table or view."""
    return table.c["view_name" if "view_name" in table.c else "table_name"]


class ViewsInRecords(RegisteredCatalog):
    """Views as rows; the lock of a name excludes a table and a view of the same name."""

    records: Records

    def list_views(self, database: str) -> list[str]:
        self._require(database)
        return self.records.views(database)

    def view_exists(self, identifier: Identifier) -> bool:
        return self.records.view(identifier.database, identifier.object_name) is not None

    def _find_view(self, identifier: Identifier) -> ViewSchema | None:
        found = self.records.view(identifier.database, identifier.object_name)
        return None if found is None else parse_view(found, f"View {self.name}.{identifier}")

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
