"""A table: its identity, directories, statistics and time travel."""
