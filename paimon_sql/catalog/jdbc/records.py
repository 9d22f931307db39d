"""What a database says of a catalog: its databases, tables and views, a row each.

Some databases take ``T`` and ``t`` for one name, which folders do not: names that come back are compared once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from paimon_sql.catalog.jdbc.engines import Database
from paimon_sql.catalog.jdbc.layout import LONGEST_VALUE, Layout, layout_of
from paimon_sql.errors import AlreadyExistsError

EXISTS = "exists"
"""The property that a database has so that it is there without tables."""


class NameExistsError(AlreadyExistsError):
    """The database has a row of that name already."""


@dataclass(frozen=True)
class Records:
    """The rows of one catalog.

    Attributes:
        database: where they are.
        catalog_key: what tells this catalog from others in the same database.
    """

    database: Database
    catalog_key: str

    @property
    def layout(self) -> Layout:
        """The tables that hold them."""
        return layout_of(self.database.backend)

    # Databases

    def databases(self) -> list[str]:
        """The names of all databases, sorted: those with properties, tables or views."""
        with self.database.transaction() as connection:
            found: set[str] = set()
            for table in self._of_databases():
                asked = select(table.c.database_name).distinct().where(self._mine(table))
                found.update(connection.scalars(asked))
        return sorted(found)

    def has_database(self, name: str) -> bool:
        """Whether there is a database of that name."""
        with self.database.transaction() as connection:
            return any(
                name in connection.scalars(select(t.c.database_name).distinct().where(self._mine(t, name)))
                for t in self._of_databases()
            )

    def properties(self, name: str) -> dict[str, str]:
        """What is kept about a database."""
        table = self.layout.database_properties
        asked = select(table.c.database_name, table.c.property_key, table.c.property_value)
        with self.database.transaction() as connection:
            rows = connection.execute(asked.where(self._mine(table, name))).all()
        return {k: v or "" for database, k, v in rows if database == name and k != EXISTS}

    def add_database(self, name: str, properties: Mapping[str, str]) -> None:
        """Keep a new database; NameTakenError if there is one."""
        with self._new(name) as connection:
            self._add_properties(connection, name, {EXISTS: "true", **properties})

    def change_database(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Change what is kept about a database; None forgets a property."""
        table = self.layout.database_properties
        with self._new(name) as connection:
            gone = and_(self._mine(table, name), table.c.property_key.in_(changes))
            connection.execute(delete(table).where(gone))
            self._add_properties(connection, name, {k: v for k, v in changes.items() if v is not None})

    def drop_database(self, name: str) -> None:
        """Forget a database with all tables and views that are left in it."""
        with self.database.transaction() as connection:
            for table in (*self._of_databases(), self.layout.table_properties):
                connection.execute(delete(table).where(self._mine(table, name)))

    # Tables

    def tables(self, database: str) -> list[str]:
        """The names of a database's tables, sorted."""
        return self._names(self.layout.tables, "table_name", database)

    def has_table(self, database: str, name: str) -> bool:
        """Whether there is such a table."""
        with self.database.transaction() as connection:
            return self._has(connection, self.layout.tables, "table_name", database, name)

    def add_table(self, database: str, name: str, properties: Mapping[str, str]) -> None:
        """Keep a new table; NameTakenError if there is one."""
        with self._new(name) as connection:
            row = {"catalog_key": self.catalog_key, "database_name": database, "table_name": name}
            connection.execute(insert(self.layout.tables).values(row))
            self._put_table_properties(connection, database, name, properties)

    def drop_table(self, database: str, name: str) -> bool:
        """Forget a table; False if there is none."""
        with self.database.transaction() as connection:
            if not self._has(connection, self.layout.tables, "table_name", database, name):
                return False
            for table in (self.layout.table_properties, self.layout.tables):
                gone = connection.execute(delete(table).where(self._named(table, "table_name", database, name)))
        return gone.rowcount > 0

    @contextmanager
    def renaming_table(self, source: tuple[str, str], target: tuple[str, str]) -> Iterator[bool]:
        """Give a table another name, for good if what the caller does meanwhile succeeds; False if there is none.

        Raises:
            NameTakenError: there is a table of the other name.
        """
        with self._new(target[1]) as connection:
            values = {"database_name": target[0], "table_name": target[1]}
            is_there = self._has(connection, self.layout.tables, "table_name", *source)
            if is_there:
                properties = self.layout.table_properties
                connection.execute(delete(properties).where(self._named(properties, "table_name", *target)))
                for table in (self.layout.tables, properties):
                    old = self._named(table, "table_name", *source)
                    connection.execute(update(table).where(old).values(values))
            yield is_there

    def table_properties(self, database: str, name: str) -> dict[str, str]:
        """What is kept about a table."""
        table = self.layout.table_properties
        asked = select(table.c.table_name, table.c.property_key, table.c.property_value)
        with self.database.transaction() as connection:
            rows = connection.execute(asked.where(self._named(table, "table_name", database, name))).all()
        return {k: v or "" for found, k, v in rows if found == name}

    def kept_of(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Those of a table's properties that rows can hold."""
        longest = self.layout.longest_option
        return {k: v for k, v in properties.items() if len(k) <= longest and len(v) <= LONGEST_VALUE}

    def set_table_properties(self, database: str, name: str, properties: Mapping[str, str]) -> None:
        """Keep these properties of a table, in the place of all that it had; those that are too long are left out."""
        with self._new(name) as connection:
            self._put_table_properties(connection, database, name, properties)

    # Views

    def views(self, database: str) -> list[str]:
        """The names of a database's views, sorted."""
        return self._names(self.layout.views, "view_name", database)

    def view(self, database: str, name: str) -> str | None:
        """The definition of a view; None if there is none."""
        table = self.layout.views
        asked = select(table.c.view_name, table.c.view_schema).where(self._named(table, "view_name", database, name))
        with self.database.transaction() as connection:
            return next((text for found, text in connection.execute(asked) if found == name), None)

    def add_view(self, database: str, name: str, definition: str) -> None:
        """Keep a new view; NameTakenError if there is one."""
        row = {
            "catalog_key": self.catalog_key,
            "database_name": database,
            "view_name": name,
            "view_schema": definition,
        }
        with self._new(name) as connection:
            connection.execute(insert(self.layout.views).values(row))

    def put_view(self, database: str, name: str, definition: str) -> bool:
        """Give a view another definition; False if there is none."""
        table = self.layout.views
        with self.database.transaction() as connection:
            if not self._has(connection, table, "view_name", database, name):
                return False
            mine = self._named(table, "view_name", database, name)
            connection.execute(update(table).where(mine).values(view_schema=definition))
        return True

    def drop_view(self, database: str, name: str) -> bool:
        """Forget a view; False if there is none."""
        table = self.layout.views
        with self.database.transaction() as connection:
            if not self._has(connection, table, "view_name", database, name):
                return False
            return connection.execute(delete(table).where(self._named(table, "view_name", database, name))).rowcount > 0

    def rename_view(self, source: tuple[str, str], target: tuple[str, str]) -> bool:
        """Give a view another name; False if there is none, NameTakenError if there is one of that name."""
        table = self.layout.views
        with self._new(target[1]) as connection:
            if not self._has(connection, table, "view_name", *source):
                return False
            values = {"database_name": target[0], "view_name": target[1]}
            old = self._named(table, "view_name", *source)
            return connection.execute(update(table).where(old).values(values)).rowcount > 0

    def _of_databases(self) -> tuple[Table, ...]:
        return self.layout.database_properties, self.layout.tables, self.layout.views

    def _mine(self, table: Table, database: str | None = None) -> ColumnElement[bool]:
        mine = table.c.catalog_key == self.catalog_key
        return mine if database is None else and_(mine, table.c.database_name == database)

    def _named(self, table: Table, column: str, database: str, name: str) -> ColumnElement[bool]:
        return and_(self._mine(table, database), table.c[column] == name)

    def _names(self, table: Table, column: str, database: str) -> list[str]:
        asked = select(table.c.database_name, table.c[column]).where(self._mine(table, database))
        with self.database.transaction() as connection:
            return sorted(name for found, name in connection.execute(asked) if found == database)

    def _has(self, connection: Connection, table: Table, column: str, database: str, name: str) -> bool:
        asked = select(table.c.database_name, table.c[column]).where(self._named(table, column, database, name))
        return any((found, other) == (database, name) for found, other in connection.execute(asked))

    def _add_properties(self, connection: Connection, database: str, properties: Mapping[str, str]) -> None:
        rows = [
            {
                "catalog_key": self.catalog_key,
                "database_name": database,
                "property_key": key,
                "property_value": value,
            }
            for key, value in properties.items()
        ]
        if rows:
            connection.execute(insert(self.layout.database_properties), rows)

    def _put_table_properties(
        self, connection: Connection, database: str, name: str, properties: Mapping[str, str]
    ) -> None:
        # Others may have left some behind: Java forgets them only where it keeps them itself.
        table = self.layout.table_properties
        connection.execute(delete(table).where(self._named(table, "table_name", database, name)))
        rows = [
            {
                "catalog_key": self.catalog_key,
                "database_name": database,
                "table_name": name,
                "property_key": key,
                "property_value": value,
            }
            for key, value in self.kept_of(properties).items()
        ]
        if rows:
            connection.execute(insert(table), rows)

    @contextmanager
    def _new(self, name: str) -> Iterator[Connection]:
        """A transaction that adds rows; NameTakenError where they are there already."""
        try:
            with self.database.transaction() as connection:
                yield connection
        except IntegrityError:
            raise NameExistsError(
                f"{name} is taken already in the catalog's database {self.database}.", name=name
            ) from None
