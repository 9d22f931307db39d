"""Execution of statements in the shell: the Spark thread, streamed results, errors, progress."""
