"""The text that users type: statements, tokens, positions of errors."""
