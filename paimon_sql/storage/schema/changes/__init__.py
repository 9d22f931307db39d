"""Schema changes: one class per kind of change, one new schema version per statement."""
