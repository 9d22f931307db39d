"""Text of statements: splitting, tokens, positions of errors."""
