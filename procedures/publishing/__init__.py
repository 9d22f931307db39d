"""Procedures that publish a table: Iceberg metadata, report page."""
