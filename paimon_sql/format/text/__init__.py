"""Values, durations and times as strings."""
