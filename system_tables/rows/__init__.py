"""System tables whose rows are the table's own: audit log, binlog, read-optimized."""
