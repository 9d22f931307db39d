"""The kinds of global indexes, one module each."""
