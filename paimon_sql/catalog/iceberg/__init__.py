"""Registration of tables with ``metadata.iceberg.storage`` in Iceberg's Hive and REST catalogs."""

from __future__ import annotations

from collections.abc import Callable

from paimon_sql.catalog.kinds import hive, rest
from paimon_sql.catalog.kinds.base import module_of_extra
from paimon_sql.format.options.table.iceberg import HIVE_CATALOG, REST_CATALOG
from paimon_sql.storage.iceberg.registration import REGISTRATIONS, Registration
from paimon_sql.storage.table.table import Table


def _of_extra(extra: str, kind: str, client: str) -> Callable[[Table], Registration]:
    """A kind whose client is an extra of this package, imported when a table is registered."""

    def made(table: Table) -> Registration:
        module = module_of_extra(f"{__name__}.{extra}", extra, client, table.name)
        registration: Registration = getattr(module, kind)(table)
        return registration

    return made


REGISTRATIONS[HIVE_CATALOG] = _of_extra("hive", "HiveRegistration", hive.CLIENT)
REGISTRATIONS[REST_CATALOG] = _of_extra("rest", "RestRegistration", rest.CLIENT)
