"""The command ``paimon-sql``: SQL from a prompt, a pipe, files or the command line."""
