"""Data types and schema files (spec: Schema, Data Types)."""
