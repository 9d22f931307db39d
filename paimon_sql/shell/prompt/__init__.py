"""The interactive prompt: history, colours, completion."""
