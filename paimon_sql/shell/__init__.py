"""The ``paimon-sql`` command: SQL from a prompt, a pipe, files or the command line."""
