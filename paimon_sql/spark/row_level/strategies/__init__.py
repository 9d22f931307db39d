"""How rows change: appended, columns written beside, deletion vectors, upserts."""
