"""Files that no metadata leads to: found, and removed once everything that may need them was read."""
