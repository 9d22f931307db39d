"""Format tables: directories of plain files of one format, without snapshots (Paimon: Format Table)."""

from paimon_sql.storage.format_tables.table import FORMATS, FormatTable

__all__ = ["FORMATS", "FormatTable"]
