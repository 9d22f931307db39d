"""Format tables: folders of plain files of one format, partitioned by the names of folders, without snapshots."""

from paimon_sql.storage.format_tables.partitions import Partition, all_partitions, chosen_partitions
from paimon_sql.storage.format_tables.table import FORMATS, FormatTable

__all__ = ["FORMATS", "FormatTable", "Partition", "all_partitions", "chosen_partitions"]
