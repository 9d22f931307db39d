"""The commit protocol: changes become a snapshot, exactly once, against any number of rivals."""
