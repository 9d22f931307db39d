"""Registration of tables with ``metadata.iceberg.storage`` in Iceberg's Hive and REST catalogs."""

from __future__ import annotations

from functools import partial

from paimon_sql.catalog.kinds.base import of_extra
from paimon_sql.catalog.kinds.hive import HiveKind
from paimon_sql.catalog.kinds.rest import RestKind
from paimon_sql.format.options.table.iceberg import HIVE_CATALOG, REST_CATALOG
from paimon_sql.storage.iceberg.registration import REGISTRATIONS, Registration
from paimon_sql.storage.table.table import Table


def _registration(kind: str, extra: tuple[str, str], table: Table) -> Registration:
    """The registration of a table by a client that is an extra of this package, imported only then."""
    registration: Registration = of_extra(f"{__name__}.{kind}", *extra, table.name)(table)
    return registration


REGISTRATIONS[HIVE_CATALOG] = partial(_registration, "hive:HiveRegistration", HiveKind.extra)
REGISTRATIONS[REST_CATALOG] = partial(_registration, "rest:RestRegistration", RestKind.extra)
