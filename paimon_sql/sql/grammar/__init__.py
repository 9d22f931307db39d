"""Statements declared by a line of grammar."""
