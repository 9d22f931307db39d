"""Report of a table: its statistics, charts and HTML page."""
