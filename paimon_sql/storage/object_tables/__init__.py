"""Object tables: the files of a directory as rows; each refresh is a snapshot (Paimon: Table Types)."""

from paimon_sql.storage.object_tables.refresh import OBJECT_FIELDS, Refreshed, object_location, refresh

__all__ = ["OBJECT_FIELDS", "Refreshed", "object_location", "refresh"]
