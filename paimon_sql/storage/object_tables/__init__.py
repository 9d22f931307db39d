"""Object tables: the files of a folder as rows, listed by refreshes, each of which is a snapshot."""

from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS, object_location
from paimon_sql.storage.object_tables.refresh import Refreshed, refresh

__all__ = ["OBJECT_FIELDS", "Refreshed", "object_location", "refresh"]
