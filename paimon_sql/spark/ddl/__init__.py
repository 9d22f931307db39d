"""CREATE TABLE and ALTER TABLE: Spark's calls converted to schemas and schema changes."""
