"""The kinds of file indexes, one module each."""
