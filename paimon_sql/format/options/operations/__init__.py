"""Topics of options: reads, writes, commits, compaction, tags, snapshots."""
