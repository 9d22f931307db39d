"""Row-level statements that bring columns (WITH SCHEMA EVOLUTION)."""
