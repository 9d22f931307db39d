"""Base class of catalogs that register tables outside of the warehouse, which may contain tables they do not know."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.warehouse import WarehouseCatalog
from paimon_sql.errors import DatabaseExistsError


class RegisteredCatalog(WarehouseCatalog):
    """A catalog whose tables are those registered; other tables of the warehouse can be adopted."""

    def adopt(self, database: str | None = None, table: str | None = None, *, dry_run: bool = False) -> dict[str, str]:
        done: dict[str, str] = {}
        for db in self._database_folders() if database is None else [database]:
            found = [t for t in self._table_folders(db) if table in (None, t)]
            is_registered = self.database_exists(db)
            if (
                not is_registered
                and not dry_run
                and (found or table is None)
                and self.file_io.exists(self._database_path(db))
            ):
                with suppress(DatabaseExistsError):
                    self.create_database(db, {})
            for name in found:
                result = self._adopted(Identifier(db, name), dry_run=dry_run)
                if result is not None:
                    done[f"{db}.{name}"] = result
        return done

    @abstractmethod
    def _adopted(self, identifier: Identifier, *, dry_run: bool) -> str | None:
        """Update the catalog's entry by the files in a table's directory; return what was done, None for nothing."""
