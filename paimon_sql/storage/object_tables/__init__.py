"""Object tables: the files of a directory as rows; each refresh is a snapshot (Paimon: Table Types)."""
