"""Procedures that show a table to others: Iceberg's readers, a report."""
