"""Catalogs whose names stand elsewhere than in the warehouse, which can therefore hold what they do not know."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.warehouse import WarehouseCatalog
from paimon_sql.errors import DatabaseExistsError


class RegisteredCatalog(WarehouseCatalog):
    """A table is there if its name is registered; what is in the warehouse besides can be taken up."""

    def adopt(self, database: str | None = None, table: str | None = None, *, dry_run: bool = False) -> dict[str, str]:
        done: dict[str, str] = {}
        for one in self._database_folders() if database is None else [database]:
            found = [t for t in self._table_folders(one) if table in (None, t)]
            known = self.database_exists(one)
            if not known and not dry_run and (found or table is None) and self.file_io.exists(self._database_path(one)):
                with suppress(DatabaseExistsError):
                    self.create_database(one, {})
            for name in found:
                said = self._adopted(Identifier(one, name), dry_run=dry_run)
                if said is not None:
                    done[f"{one}.{name}"] = said
        return done

    @abstractmethod
    def _adopted(self, identifier: Identifier, *, dry_run: bool) -> str | None:
        """What was to be done to let the catalog know what stands in a table's folder; None for nothing."""
