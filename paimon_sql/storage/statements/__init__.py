"""Whole statements on the rows of a table, each one transaction, for callers that bring the rows themselves."""
