"""Registration of tables with ``metadata.iceberg.storage`` in Iceberg's Hive and REST catalogs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from paimon_sql.errors import SetupError
from paimon_sql.format.options.table.iceberg import HIVE_CATALOG, REST_CATALOG
from paimon_sql.storage.iceberg.registration import REGISTRATIONS, Registration
from paimon_sql.storage.table.table import Table


def _of_extra(extra: str, kind: str, client: str) -> Callable[[Table], Registration]:
    """A kind whose client is an extra of this package, imported when a table is registered."""

    def made(table: Table) -> Registration:
        try:
            module = import_module(f"{__name__}.{extra}")
        except ModuleNotFoundError as error:
            raise SetupError(
                f"{table.name}: {client} is not installed ({error}).",
                remedy=f"Run: pip install 'paimon-sql[{extra}]'.",
            ) from error
        registration: Registration = getattr(module, kind)(table)
        return registration

    return made


REGISTRATIONS[HIVE_CATALOG] = _of_extra("hive", "HiveRegistration", "the client of Hive's metastore")
REGISTRATIONS[REST_CATALOG] = _of_extra("rest", "RestRegistration", "the client of REST catalogs")
