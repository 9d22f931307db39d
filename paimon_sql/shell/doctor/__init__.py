"""``paimon-sql doctor``: what is missing or unusual on this machine, in the catalog and in its store."""
