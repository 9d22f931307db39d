"""The layer ``processes``: real processes on one table, through the storage core, with real kills and suspensions."""
