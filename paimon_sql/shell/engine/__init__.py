"""How the shell runs statements: the Spark thread, results as a stream, errors, progress."""
