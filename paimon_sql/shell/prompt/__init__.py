"""The interactive prompt: history, syntax highlighting, completion."""
