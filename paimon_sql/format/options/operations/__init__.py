"""Options of what is done with a table: reads, writes, commits, compaction, tags, snapshots."""
