"""Row-level statements that add columns (WITH SCHEMA EVOLUTION)."""
