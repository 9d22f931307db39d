"""Parsing and formatting of values, durations and times."""
