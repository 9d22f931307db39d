"""Staged tables: created or replaced together with their rows (CREATE TABLE AS SELECT, REPLACE TABLE)."""
