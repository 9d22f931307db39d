"""The aggregate functions, one module a family."""
